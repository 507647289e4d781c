"""Sandboxes: where the agent's tool calls run. `local` (bubblewrap) is the default, `none` only by name."""
