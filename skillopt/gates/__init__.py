"""Gates: pure functions from recorded scores to a decision. No clock, no I/O, no global state."""
