"""harness: run an agent on a task in a sandbox and score what it made. Read `protocols.py` first."""
