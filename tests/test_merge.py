"""From answers of the optimizer to patches: reading, merging, ranking, the budget's schedule."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.skill import parse_skill
from skillopt.patch import Edit
from skillopt.reflect.merge import Schedule, edit_budget, make_patches, merge, similarity, words
from skillopt.reflect.prompt import read_edits, reflection_messages


def rule(text: str, support: int = 1, *sources: str) -> Edit:
    return Edit(op="append", text=text, support=support, sources=sources)


DATES = "Find out whether the day or the month comes first."
DATES_AGAIN = "Find out whether the month or the day comes first, then parse."
SUMS = "Convert text numbers to real numbers."
KEYS = "Strip blanks from keys before a lookup."


def test_the_same_rule_in_other_words_is_merged_with_the_support_of_all() -> None:
    found = merge([rule(DATES_AGAIN, 1, "t1"), rule(SUMS, 1, "t2"), rule(DATES, 1, "t3", "t1")])
    assert [(edit.text, edit.support) for edit in found] == [(DATES, 2), (SUMS, 1)]
    assert found[0].sources == ("t1", "t3")


def test_most_support_comes_first_and_ties_keep_their_order() -> None:
    found = merge([rule(SUMS), rule(KEYS), rule(DATES), rule(DATES)])
    assert [edit.text for edit in found] == [DATES, SUMS, KEYS]


def test_the_shortest_wording_is_kept_also_when_it_comes_first() -> None:
    assert merge([rule(DATES), rule(DATES_AGAIN)])[0].text == DATES


def test_deletions_merge_only_with_deletions_of_the_same_text() -> None:
    delete = Edit(op="delete", anchor=SUMS)
    found = merge([delete, rule(SUMS), delete, Edit(op="delete", anchor=KEYS)])
    assert [(edit.op, edit.anchor, edit.support) for edit in found] == [
        ("delete", SUMS, 2),
        ("append", "", 1),
        ("delete", KEYS, 1),
    ]


def test_nothing_merges_to_nothing() -> None:
    assert merge([]) == []


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from([DATES, DATES_AGAIN, SUMS, KEYS]), max_size=8))
def test_no_support_is_lost(texts: list[str]) -> None:
    found = merge([rule(text) for text in texts])
    assert sum(edit.support for edit in found) == len(texts)
    assert [edit.support for edit in found] == sorted((edit.support for edit in found), reverse=True)


def test_similarity_is_the_share_of_common_words() -> None:
    assert similarity("Read the sheet.", "the SHEET, read!") == 1
    assert similarity("a b c", "b c d") == 0.5
    assert similarity("a", "b") == 0
    assert similarity("", "...") == 1
    assert words("Don't use A1-B2") == {"don", "t", "use", "a1", "b2"}


@pytest.mark.parametrize(
    ("schedule", "budgets"),
    [
        ("constant", [8, 8, 8, 8, 8]),
        ("linear", [8, 6, 4, 3, 1]),  # 8, 6.25, 4.5, 2.75, 1
        ("cosine", [8, 7, 4, 2, 1]),  # 8, 6.97, 4.5, 2.03, 1
    ],
)
def test_the_edit_budget_falls_as_its_schedule_says(schedule: Schedule, budgets: list[int]) -> None:
    assert [edit_budget(step, 5, 8, 1, schedule) for step in range(5)] == budgets


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine"])
def test_a_run_of_one_step_has_the_whole_budget(schedule: Schedule) -> None:
    assert edit_budget(0, 1, 8, 1, schedule) == 8


def test_supported_edits_go_together_up_to_the_budget_and_single_ones_alone() -> None:
    edits = [rule(name, 2) for name in "abc"] + [rule(name) for name in "de"]
    patches = make_patches(edits, budget=2, count=9)
    assert [[edit.text for edit in patch.edits] for patch in patches] == [["a", "b"], ["c"], ["d"], ["e"]]
    assert {patch.origin for patch in patches} == {"reflection"}


def test_no_more_patches_than_asked_for_and_the_best_supported_first() -> None:
    edits = [rule("d"), rule("a", 3), rule("b", 2)]
    patches = make_patches(edits, budget=8, count=2)
    assert [[edit.text for edit in patch.edits] for patch in patches] == [["a", "b"], ["d"]]
    assert make_patches(edits, budget=8, count=0) == []
    assert make_patches([], budget=8, count=3) == []


GOOD = {"op": "append", "text": SUMS, "why": "they were text"}


def answer(*edits: object) -> str:
    return json.dumps({"edits": list(edits)})


@pytest.mark.parametrize(
    "text",
    [
        answer(GOOD),
        f"Here it is:\n```json\n{answer(GOOD)}\n```\nGood luck.",
        f"The sheet had {{A1}} and {{}} in it. {answer(GOOD)} I hope {{this}} helps.",
        "<think>{not json}</think>" + answer(GOOD),
    ],
)
def test_edits_are_read_from_an_answer_with_talk_around_it(text: str) -> None:
    (edit,) = read_edits(text, 5, ["t1", "t2"])
    assert (edit.op, edit.text, edit.why) == ("append", SUMS, "they were text")
    assert edit.sources == ("t1", "t2")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no JSON at all",
        "{",
        '{"edits": [',
        "[1, 2]",
        '"edits"',
        '{"edits": {}}',
        '{"edits": null}',
        '{"edit": []}',
        answer(),
        answer(1, "x", None, []),
        answer({"op": "rewrite", "text": "x"}),
        answer({"text": "no op"}),
        answer({"op": "append", "text": ["x"]}),
        answer({"op": "append", "text": "  \n"}),
        "{" * 5000,
        '{"edits":' * 5000,
        "[" * 100_000,
    ],
    ids=range(18),
)
def test_a_bad_answer_holds_no_edits(text: str) -> None:
    assert read_edits(text, 5, []) == []


def test_bad_edits_of_an_answer_do_not_take_good_ones_with_them() -> None:
    found = read_edits(answer({"op": "nonsense"}, GOOD, {"op": "delete", "anchor": "x"}), 5, [])
    assert [edit.op for edit in found] == ["append", "delete"]


def test_an_answer_gives_no_more_edits_than_asked_for() -> None:
    many = [{**GOOD, "text": f"rule {number}"} for number in range(9)]
    assert [edit.text for edit in read_edits(answer(*many), 3, [])] == ["rule 0", "rule 1", "rule 2"]


def test_the_optimizer_cannot_claim_support_or_sources() -> None:
    (edit,) = read_edits(answer({**GOOD, "support": 99, "sources": ["secret-task"]}), 5, ["t1"])
    assert edit.support == 1
    assert edit.sources == ("t1",)


def test_the_request_holds_skill_runs_and_refused_texts_inside_its_marks() -> None:
    skill = parse_skill("---\nname: s\ndescription: private words\n---\n# Body\n")
    system, user = reflection_messages(skill, ["RUN ONE", "RUN TWO"], ["append: old"], 4, "m123")
    assert (system["role"], user["role"]) == ("system", "user")
    assert "At most 4 edits" in system["content"]
    assert "<current-skill-m123>\n# Body\n</current-skill-m123>" in user["content"]
    assert "RUN ONE\n\nRUN TWO" in user["content"]
    assert "- append: old" in user["content"]
    assert "- none" in reflection_messages(skill, [], [], 4, "m")[1]["content"]
