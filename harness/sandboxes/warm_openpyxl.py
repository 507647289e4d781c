"""Preloaded beside openpyxl in a sandbox: one small workbook written and read before the first fork.

What openpyxl imports late and what the interpreter specialises on first use is then ready in every call;
a call that opens a workbook costs 10 ms in place of 18 (bench/rollouts.py).
"""

import io

import openpyxl


def warm_up() -> None:
    """Write and read a workbook in memory."""
    book = openpyxl.Workbook()
    sheet = book.active
    for row in range(1, 12):
        sheet.append([row, f"text {row}", row / 7, None, f"=A{row}+1"])
    sheet["C1"].number_format = "0.00%"
    for _ in range(3):
        stream = io.BytesIO()
        book.save(stream)
        stream.seek(0)
        book = openpyxl.load_workbook(stream)
