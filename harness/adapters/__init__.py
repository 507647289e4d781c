"""HarnessAdapters: agents that work on a task. `builtin` is the loop of this package."""
