"""The families of spreadsheet tasks: each builder turns a generator and a number into a Draft."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from families import columns, lookups, sheets, totals
from families.draft import Draft

Builder = Callable[[Random, int], Draft]

FAMILIES: Mapping[str, Builder] = {
    "text_numbers": totals.text_numbers,
    "date_order": totals.date_order,
    "visible_rows": totals.visible_rows,
    "skip_subtotals": totals.skip_subtotals,
    "find_header": totals.find_header,
    "merged_fill": totals.merged_fill,
    "trim_keys": totals.trim_keys,
    "blank_not_zero": totals.blank_not_zero,
    "percent_fraction": totals.percent_fraction,
    "duplicate_keys": lookups.duplicate_keys,
    "missing_keys": lookups.missing_keys,
    "write_formulas": columns.write_formulas,
    "absolute_refs": columns.absolute_refs,
    "number_formats": columns.number_formats,
    "round_half_up": columns.round_half_up,
    "keep_sheets": sheets.keep_sheets,
    "output_place": totals.output_place,
}

REGRESSION: tuple[Builder, ...] = (
    sheets.sum_range,
    sheets.rename_sheet,
    sheets.write_text,
    sheets.correct_value,
    sheets.sum_range,
    sheets.write_text,
    sheets.correct_value,
    sheets.rename_sheet,
    sheets.sum_range,
    sheets.correct_value,
)
