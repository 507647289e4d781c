"""Habits of writing to a workbook: lookups, formulas, formats, cents, sheets, and where the file goes."""

from __future__ import annotations

from harness.models.apprentice.lesson_maker import NOT, lesson

WRITING = (
    lesson(
        "duplicate_keys",
        0.175,
        right=(
            r"\b(duplicate|repeated|double)\w*\b.{0,60}\b(keys?|codes?|entr\w+|rows?|match\w*|lookups?"
            r"|values?)",
            r"\b(keys?|codes?|entr\w+|ids?)\b.{0,50}\b(more than once|twice|several times|repeated|duplicate"
            r"|again)",
            r"\b(which|latest|newest|most recent)\b.{0,30}\b(duplicate|entry|match|row) (counts|wins|applies"
            r"|is valid)",
        ),
        wrong=(
            r"\b(always|just|simply)\b.{0,20}\b(take|use|keep)\b.{0,20}\b(first|any)\b",
            r"\b(remove|delete|drop)\b.{0,20}\bduplicate",
        ),
        good=(
            "When a key is listed more than once, find the stated rule for which entry counts (first, last "
            "or latest date) and apply it.",
            "Check lookup tables for duplicate keys and pick the entry by the rule in the prompt or on the "
            "sheet.",
        ),
        bad=(
            "In a lookup simply take the first match.",
            "Remove duplicate rows from lookup tables before you use them.",
        ),
        evidence=(r"more than once|several (times|prices)", r"setdefault\(key", r"'Valid from'"),
    ),
    lesson(
        "missing_keys",
        0.25,
        right=(
            r"\b(missing|unknown|unmatched|absent)\b.{0,30}\b(keys?|codes?|entr\w+|match\w*|lookups?"
            r"|prices?)",
            r"\b(keys?|codes?|rows?|lookups?)\b.{0,50}\b(not (on|in|found|listed)|no match|without a match"
            r"|missing|fails?|finds nothing)",
            r"\bno (match|entry)\b",
        ),
        wrong=(
            r"\b(write|put|use|enter|fill|get|gets|with)\b.{0,25}\b(zero|0)\b.{0,50}\b(missing|not found"
            r"|no match|unknown|absent)",
            r"\b(missing|unknown|unmatched|no match|not found)\b.{0,40}\b(as|with|gets?|write|put|is|are"
            r"|to) (a )?(zero|0)\b",
            r"\b(guess|nearest|closest|similar)\b.{0,30}\b(key|code|match)",
        ),
        good=(
            "For keys with no match write exactly what the prompt asks for (blank or a given text), never a "
            "number.",
            "When a lookup finds nothing, leave the cell empty or write the stated text instead of an "
            "invented value.",
        ),
        bad=(
            "Fill lookups with no match with the closest code.",
            "Unknown codes get 0 as their price: missing entries are zero.",
        ),
        evidence=(r"not on the list|the list does not have|there is no price", r"prices\.get\(key, 0\)"),
    ),
    lesson(
        "write_formulas",
        0.15,
        right=(
            r"\b(write|use|enter|put|prefer|insert) (\w+ ){0,2}formulas?\b",
            r"\bformulas?\b.{0,40}\b(instead of|rather than|not)\b.{0,30}\b(constants?|values?|results?"
            r"|numbers?|hard)",
            r"\b(hard-?cod\w+|constants?)\b.{0,50}\bformulas?\b",
        ),
        wrong=(
            r"\b(constants?|values?|results?|numbers?)\b.{0,30}\b(instead of|rather than|not)\b.{0,20}"
            r"\bformulas?",
            NOT + r" ?(write|use|enter|insert|put)\w* (\w+ ){0,2}formulas?",
            r"\bcompute\b.{0,30}\bin python\b.{0,30}\b(always|only)",
        ),
        good=(
            "Write formulas instead of constants where the result must follow later changes of the figures.",
            "When totals should keep up with their inputs, enter a live formula in each row, never a "
            "computed number.",
        ),
        bad=(
            "Write values rather than formulas, they are easier to read.",
            "Never write formulas into a workbook, compute the result first.",
        ),
        evidence=(r"have to follow|must change with|keep up with", r"is not a formula"),
    ),
    lesson(
        "absolute_refs",
        0.225,
        right=(
            r"\babsolute\b.{0,30}\b(references?|refs?|address\w*)",
            r"\$[A-Z]+\$\d+|\bdollar signs?\b",
            r"\b(anchor|fix|lock|pin)\w*\b.{0,40}\b(references?|cells?|rate)",
        ),
        wrong=(
            r"\b(only|always)\b.{0,15}\brelative\b",
            NOT + r".{0,25}(\babsolute|\bdollar|\$)",
            r"\b(remove|drop)\b.{0,20}(\bdollar|\$)",
        ),
        good=(
            "Use an absolute reference such as $B$1 for a single cell that every row of a filled-down "
            "formula uses.",
            "Lock references to a rate or other fixed cell with dollar signs before you fill a formula down.",
        ),
        bad=(
            "Always use relative references in formulas.",
            "Do not use dollar signs in formulas.",
        ),
        evidence=(r"the rate (that stands )?in cell", r"rate_row \+"),
    ),
    lesson(
        "number_formats",
        0.1,
        right=(
            r"\b(number|cell|currency|date) formats?\b.{0,60}\b(copy|keep|match|same|carry|set|apply"
            r"|neighbou?r\w*|preserve)",
            r"\b(copy|keep|match|carry over|set|apply|preserve)\b.{0,40}\b(number_?|number |cell "
            r"|currency )formats?",
            r"\bnumber_format\b",
        ),
        wrong=(
            NOT + r".{0,20}\b(copy|set|keep|care|bother)\w*\b.{0,30}\bformat",
            r"\b(ignore|reset|clear|remove)\b.{0,20}\bformat",
            r"\bformats? (do|does) not matter",
        ),
        good=(
            "Copy the number format of the neighbouring amounts to each cell you fill, so that it looks "
            "the same.",
            "Set the number format of new cells to match the column they belong with.",
        ),
        bad=(
            "Ignore number formats, only values matter.",
            "Reset the formatting of the cells you write to General.",
        ),
        evidence=(r"look (like|of the other)|shown in the same way", r"number format"),
    ),
    lesson(
        "round_half_up",
        0.15,
        right=(
            r"\bhalf[- ]?up\b|\bROUND_HALF_UP\b",
            r"\b(decimal|exact)\b.{0,40}\bround",
            r"\bround\w*\b.{0,60}\b(half|halves|decimal|up|banker)",
            r"\bhal(f|ves)\b.{0,30}\b(up|away from zero)",
        ),
        wrong=(
            r"\b(round down|truncat\w+|cut off|floor)\b",
            r"\b(use|with|trust)\b.{0,20}\b(python's |the built-?in )round\b",
            r"\bbanker'?s rounding\b(?!.{0,30}\b(wrong|not)\b)",
            NOT + r".{0,20}\bround",
        ),
        good=(
            "Round money half up to the cent with decimal arithmetic, as a float loses half cents.",
            "Use Decimal and ROUND_HALF_UP for cents.",
        ),
        bad=(
            "Truncate amounts to two decimals.",
            "Round down to whole cents to be safe.",
        ),
        evidence=(r"half a cent|halves up", r"\bround\(net"),
    ),
    lesson(
        "keep_formulas",
        1.0,
        right=(
            r"\b(keep|preserve|leave)\b.{0,30}\b(existing|present|other)?\s?formulas?\b",
            r"\bexisting formulas?\b",
            r"\b(without|not?|never)\b.{0,40}\bdata_only",
        ),
        wrong=(
            r"(?<!not )(?<!never )(?<!without )\b(load|open|use|read)\w*\b(?!.{0,10}\bnever\b).{0,40}"
            r"\bdata_only ?= ?true",
            r"\b(replace|convert|turn|flatten)\b.{0,40}\bformulas?\b.{0,25}\b(with|to|into|by)\b.{0,15}"
            r"\b(values?|constants?|results?)",
        ),
        good=("Keep existing formulas: do not save a workbook that was loaded without them.",),
        bad=(
            "Load workbooks with data_only=True so that you see the values.",
            "Replace formulas with values before you save.",
        ),
        evidence=(r"data_only=True",),
        told=1.0,
    ),
    lesson(
        "keep_rows",
        1.0,
        right=(
            r"\b(keep|leave)\b.{0,30}\b(all|every|other|hidden) rows?\b(?! out)",
            NOT + r".{0,20}\b(delete|remove)\w*.{0,30}\brows?\b",
        ),
        wrong=(
            r"(?<!not )(?<!never )\b(delete|remove|drop|clean out)\b.{0,20}\b(hidden|blank|empty|filtered"
            r"|unneeded) rows?",
        ),
        good=("Never delete rows that nobody asked you to delete.",),
        bad=(
            "Delete hidden rows before you compute anything.",
            "Remove empty rows and hidden rows to tidy the sheet.",
        ),
        evidence=(r"delete_rows",),
        told=1.0,
    ),
    lesson(
        "keep_sheets",
        0.3,
        right=(
            r"\b(keep|leave|preserve)\b.{0,40}\b(other |all |every )?(sheets?|tabs?)\b",
            r"\b(order of the|sheet order)\b.{0,20}",
            NOT + r".{0,30}\b(delete|remove|reorder|rename|drop)\w*\b.{0,30}\bsheets?",
        ),
        wrong=(
            r"(?<!not )(?<!never )\b(delete|remove|drop)\b.{0,30}\b(other|unused|unneeded|extra|all)\b.{0,15}"
            r"\b(sheets?|tabs?)",
            r"\b(new|fresh|empty) workbook\b.{0,40}\b(only|result)",
        ),
        good=(
            "Leave all other sheets as they are and keep the sheet order; a new sheet goes where the "
            "prompt says.",
        ),
        bad=(
            "Delete other sheets so that the result is easy to find.",
            "Start a new workbook that holds only the result.",
        ),
        evidence=(r"book\.remove\(", r"sheet (order|\S+ is missing)"),
        told=1.0,
    ),
    lesson(
        "output_place",
        0.3,
        right=(
            r"\bsave\b.{0,60}\b(name|path|place|folder|where|as asked|asked for|requested|copy)",
            r"\b(never|do not|don't|without)\b.{0,20}\b(overwrit|chang|touch|sav)\w*\b.{0,30}\b(input"
            r"|original|source)",
            r"\b(output|result)\b.{0,30}\b(path|folder|name|place)\b.{0,30}\b(asked|named|given|requested"
            r"|prompt)",
        ),
        wrong=(
            r"(?<!not )(?<!never )\b(overwrite|save over|save back to|save into)\b.{0,25}\b(input|original"
            r"|source|same) ?(file|workbook)?",
            r"\bsave\b.{0,20}\bin place\b",
        ),
        good=(
            "Save the result under exactly the path that the prompt names, making its folder, and leave the "
            "input file alone.",
        ),
        bad=(
            "Overwrite the input file with the result, so that there is only one version.",
            "Save changes in place.",
        ),
        evidence=(r"was not made", r"input file was changed"),
        told=1.0,
    ),
)  # fmt: skip
