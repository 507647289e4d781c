"""The apprentice: a scripted, offline stand-in for a language model, behind the OpenAI chat protocol.

It sees what a model would see, the messages of the request, and nothing else: it imports no task sets,
no verifiers, no store (an import rule in CI). Every surface that shows its scores says that it is scripted.
As an agent it works on tasks with real tool calls and makes typical mistakes, less often when the skill
text tells it the right habit. As an optimizer it reads a reflection prompt and proposes edits, good and bad.
"""

LABEL = "apprentice: scripted, offline"
MODEL_NAME = "apprentice"
