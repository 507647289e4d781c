"""Habits of reading a sheet: what counts, what does not, what a value means."""

from __future__ import annotations

from harness.models.apprentice.lesson_maker import NOT, lesson

READING = (
    lesson(
        "text_numbers",
        0.15,
        right=(
            r"\b(numbers?|amounts?|figures?|values?|digits|prices?)\b.{0,40}\b(stored|kept|entered|typed|held"
            r"|saved|"
            r"formatted|written|present) as (text|strings?)",
            r"\b(convert|coerce|parse|turn|clean|cast)\w*\b.{0,60}\b(text|strings?)\b.{0,60}\b(numbers?"
            r"|numeric|floats?)",
            r"\btext\b.{0,50}\b(convert|coerce|parse|read|cast)\w*.{0,40}\b(numbers?|numeric|floats?)",
            r"\bnumeric (strings?|text)|\btext[- ]numbers?|\bthousands? separators?",
            r"\bnumbers?\b.{0,30}\b(are|is|may be|can be|look like) (text|strings?)",
        ),
        wrong=(
            NOT + r".{0,25}\b(convert|coerc|pars|cast|chang)\w*.{0,40}\b(text|strings?)",
            r"\b(skip|ignore|leave out|drop|exclude)\b.{0,50}\b(text|strings?|non-?numeric)",
            r"\bonly\b.{0,20}\b(true|real|genuine|numeric)\b.{0,20}\b(numbers?|cells?|values?)",
        ),
        good=(
            "Numbers may be stored as text: strip spaces and thousands separators and convert numeric "
            "strings to numbers.",
            "Before you add up a column, convert text that looks like a number to a real number, so that it "
            "is counted.",
            "Check the type of each value; amounts that are stored as text count too, after they were "
            "parsed as numbers.",
        ),
        bad=(
            "Ignore cells that hold text when you add up a column.",
            "Only real numeric values belong in a calculation; skip text.",
        ),
        evidence=(r"'\s?\d[\d,]*\.\d\d\s?'",),
    ),
    lesson(
        "date_order",
        0.125,
        right=(
            r"\b(day|month|dd|mm)\b.{0,25}\b(first|order|comes first|convention)\b",
            r"\b(day[/ -]month|month[/ -]day|dd/mm|mm/dd)\b",
            r"\b(order|format|convention) of (the )?(day|month|date)s?",
            r"\bdates?\b.{0,60}\b(order|ambiguous|convention|which format|day first)",
            r"\bambiguous dates?",
        ),
        wrong=(
            r"\b(always|assume|expect)\b.{0,50}\b(month first|mm/dd|month[/ -]day|us (date|format|order)"
            r"|american)",
            r"\b(treat|parse|read)\w* (all |every )?dates? as (month|mm|us\b|american)",
            r"\b(us|american)\b.{0,20}\b(dates?|order|format)\b.{0,30}\b(always|default)",
        ),
        good=(
            "Dates kept as text: find out from the prompt or a note on the sheet whether the day or the "
            "month comes first.",
            "Read the date order (day/month or month/day) that the file states before you parse dates such "
            "as 03/04/2024.",
            "Treat dates such as 03/04/2024 as ambiguous; look for the stated order of day and month and "
            "parse with it.",
        ),
        bad=(
            "Always parse dates as month/day/year.",
            "Assume that dates written with slashes are in the American format.",
        ),
        evidence=(r"'\d\d/\d\d/\d{4}'", r"\b(day/month|month/day)/year\b", r"month, day = "),
    ),
    lesson(
        "visible_rows",
        0.1,
        right=(
            r"\b(visible|shown|displayed|unhidden) (rows?|lines?|cells?)",
            r"\b(hidden|filtered)\b.{0,30}\b(rows?|lines?|lists?|out|range)\b",
            r"\b(rows?|lines?)\b.{0,30}\b(hidden|filtered|visible)",
            r"\brow_dimensions\b",
        ),
        wrong=(
            r"\b(include|unhide|keep in)\b.{0,40}\b(hidden|filtered)",
            r"\b(count|add|sum|use)\w* (up )?(all|every|the hidden|hidden)\b.{0,40}(hidden|filter"
            r"|visible or not)",
            r"\b(ignore|disregard|clear|remove|forget)\b.{0,20}\bfilters?\b",
            r"(?<!not )(?<!never )\b(delete|remove|drop)\b.{0,30}\b(hidden|filtered)\b",
        ),
        good=(
            "When the prompt speaks of shown, visible or filtered rows, leave hidden rows out of the figure.",
            "Check row_dimensions for hidden rows and count only visible rows when a filter is meant to "
            "apply.",
        ),
        bad=(
            "Count all rows, hidden or not; a filter is only for display.",
            "Ignore any filter on the sheet and include hidden rows.",
        ),
        evidence=(r"\bfilter(ed)?\b", r"hidden rows: \d", r"\bvisible\b|\brows that are shown\b"),
    ),
    lesson(
        "skip_subtotals",
        0.175,
        right=(
            r"\b(sub-?totals?|total (rows?|lines?)|sum rows?)\b",
            r"\btotals?\b.{0,40}\b(twice|double|already)",
            r"\b(count|add)\w*.{0,20}\btwice\b",
        ),
        wrong=(
            r"\b(add|include|count|sum)\b.{0,30}\bsub-?totals?\b(?!.{0,20}\btwice)",
            r"\b(remove|delete)\b.{0,20}\bsub-?total",
        ),
        good=(
            "Leave subtotal rows out of totals, or their amounts are counted twice.",
            "Look for rows such as Subtotal or Total inside a list and skip them when you compute a grand "
            "total.",
        ),
        bad=(
            "Include every row with a number in a grand total; count subtotal lines as well.",
            "Add the subtotals to the total as they are part of the list.",
        ),
        evidence=(r"'(Subtotal|Total) \w|\w subtotal'",),
    ),
    lesson(
        "find_header",
        0.25,
        right=(
            r"\bheaders?\b.{0,60}\b(row 1|first row|not|may|might|below|title|find|search|which row|locate)",
            r"\b(find|locate|search|look for|detect|identify)\b.{0,40}\bheaders?\b",
            r"\btitle (block|rows?|lines?)",
        ),
        wrong=(
            r"\b(assume|expect|treat|take)\b.{0,30}\b(row 1|first row)\b",
            r"\bheaders?\b.{0,20}\b(is|are) always\b",
            r"\b(ignore|skip)\b.{0,15}\bheaders?\b",
        ),
        good=(
            "Find the header row by its column names; it may not be row 1, and figures above it are not "
            "part of the list.",
            "Search for the header row first: lists often start below a title block with figures of its own.",
        ),
        bad=(
            "Assume that row 1 is the header and all other rows are data.",
            "The header is always the first row of a sheet.",
        ),
        evidence=(r"'(Plan for the year|Last year|Printed on)'", r"\n +1: \['[^']+', None, None"),
    ),
    lesson(
        "merged_fill",
        0.125,
        right=(
            r"\bmerged?\b.{0,60}\b(cells?|rows?|ranges?|areas?|values?|fill)",
            r"\bfill(ed)? down\b.{0,40}\bmerge",
        ),
        wrong=(
            r"\bunmerge\b",
            r"\b(ignore|skip|leave out)\b.{0,30}\bmerged?\b",
            r"\bmerged?\b.{0,40}\b(belongs? to|counts? for) (only )?(the|its) first row",
        ),
        good=(
            "A merged cell gives its value to every row it covers: fill it down in memory before you group "
            "or filter.",
            "Look at merged ranges; only the first cell of one holds the value, and it stands for all "
            "its rows.",
        ),
        bad=(
            "Unmerge all cells before you start.",
            "Ignore merged cells; rows without a value of their own do not count.",
        ),
        evidence=(r"merged: [A-Z]+\d+:",),
    ),
    lesson(
        "trim_keys",
        0.15,
        right=(
            r"\b(trim|strip)\b(?!.*\b(numbers?|numeric|separators?)\b).{0,50}\b(spaces?|whitespace|keys?"
            r"|names?|text|blanks)",
            r"\b(trailing|leading|extra|stray) (spaces?|blanks|whitespace)",
            r"\b(case|capitals?|upper|lower)\b.{0,40}\b(ignor|insensitiv|regardless|compar|differ|same)",
            r"\b(ignor|regardless of|insensitive)\w*\b.{0,20}\b(case|capitals)\b|\bcase[- ]insensitive|"
            r"\bcasefold",
        ),
        wrong=(
            r"\b(compare|match) (keys?|names?|codes?|text|values?|them)\b.{0,20}\b(exactly|byte for byte"
            r"|character for character|as they stand)",
            NOT + r".{0,15}\b(trim|strip)",
            r"\bexact (match|spelling)\b.{0,20}\bonly\b",
        ),
        good=(
            "Compare names and keys after you trim spaces and ignore case, since the same key is often "
            "typed differently.",
            "Strip leading and trailing spaces from text before you match it, and match regardless of "
            "capitals.",
        ),
        bad=(
            "Compare keys exactly as they stand in the cells.",
            "Do not trim text; a key with a space is another key.",
        ),
        evidence=(r"'[A-Za-z][\w ]* +'(?=[,\]])|(?<=[\[ ])' +[A-Za-z][\w ]*'(?=[,\]])",),
    ),
    lesson(
        "blank_not_zero",
        0.2,
        right=(
            r"\b(blanks?|empty|missing)\b.{0,60}\b(not|never|aren't|isn't|differ|unlike)\b.{0,20}\b(zeros?"
            r"|nought|0)\b",
            r"\b(leave|skip|ignore|exclude)\b.{0,20}\b(blanks?|empty|missing)\b.{0,60}\b(averages?|means?"
            r"|counts?|entries|cells?)",
            r"\b(averages?|means?)\b.{0,60}\b(blanks?|empty|missing)\b",
            NOT + r".{0,5}\b(treat|count|read|regard|replace|fill)\w*\b.{0,30}\b(blanks?|empty)\b.{0,25}"
            r"\b(zeros?|0)\b",
            r"\bdistinguish\b.{0,30}\b(blank|empty)\b",
        ),
        wrong=(
            r"(?<!not )(?<!never )(?<!don't )\b(treat|count|read|regard|replace|take|fill)\w*\b.{0,30}"
            r"\b(blanks?|empty)\b.{0,25}"
            r"\b(as|with|by) (a )?(zeros?|nought|0)\b",
            r"\b(blanks?|empty cells?) (are|is|count as|mean) (a )?(zero|nought|0)\b",
        ),
        good=(
            "A blank cell is not zero: leave blanks out of averages and counts, but keep real zeros in.",
            "Skip empty cells in an average; a zero that was entered does count.",
        ),
        bad=(
            "Treat blank cells as zero.",
            "For averages, replace empty cells with 0 first.",
        ),
        evidence=(r"\baverage\b|\bmean\b", r"value or 0"),
    ),
    lesson(
        "percent_fraction",
        0.2,
        right=(
            r"(\bpercent(ages?)?\b|%).{0,60}\b(fractions?|decimal|divide|0\.\d+)",
            r"\b(fractions?|shares?)\b.{0,60}(\bpercent|%)",
        ),
        wrong=(
            r"\b(multiply|times)\b.{0,25}\b(100|hundred)\b",
            r"\b(write|enter|store)\b.{0,40}\b(whole|plain) (percent|number)",
        ),
        good=(
            "A cell in a percent format holds a fraction: write 0.25, not 25, and check the number format "
            "of the cell first.",
            "Store shares as fractions and let the percent format show them.",
        ),
        bad=(
            "Multiply shares by 100 before you write them.",
            "Write percentages as whole percent figures such as 25.",
        ),
        evidence=(r"\bshare\b", r"\* 100\b"),
    ),
)  # fmt: skip
