"""Toolsets that the builtin agent offers: `terminal`, `files`, `python`."""
