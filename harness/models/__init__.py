"""Chat models: any OpenAI-compatible endpoint, and the embedded apprentice behind the same client."""
