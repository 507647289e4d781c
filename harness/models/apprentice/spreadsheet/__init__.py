"""The apprentice at spreadsheet work: reads the prompt, looks at the workbook, writes a script."""

from harness.models.apprentice.spreadsheet.worker import next_move

__all__ = ["next_move"]
