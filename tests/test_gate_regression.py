"""The regression gates: what worked must go on working, a flake is not a loss, a new violation always is."""

from __future__ import annotations

import pytest

from skillopt.gates.regression import (
    CONFIRM_RUNS,
    SuiteRun,
    broken,
    judge_suite,
    new_violations,
    triggers,
)

Suite = dict[str, SuiteRun]


def run(task_id: str, *scores: float | None, critical: bool = True, broke: tuple[str, ...] = ()) -> SuiteRun:
    return SuiteRun(task_id=task_id, critical=critical, scores=list(scores), violations=list(broke))


def suite(*runs: SuiteRun) -> Suite:
    return {one.task_id: one for one in runs}


PASS, FAIL = [1.0] * CONFIRM_RUNS, [0.0] * CONFIRM_RUNS


def test_a_suite_that_both_arms_pass_is_passed() -> None:
    arms = suite(run("a", 1.0), run("b", 1.0))
    found = judge_suite("domain", (arms, arms), {})
    assert found.passed
    assert (found.suite, found.checks, found.reasons, found.notes) == ("domain", 2, [], [])


def test_a_critical_task_that_now_always_fails_refuses() -> None:
    new, old = suite(run("a", 0.0), run("b", 1.0)), suite(run("a", 1.0), run("b", 1.0))
    assert triggers(new, old) == ["a"]
    found = judge_suite("domain", (new, old), {"a": (run("a", *FAIL), run("a", *PASS))})
    assert not found.passed
    assert found.reasons == ["critical task a passes 0/4, before 4/4"]


def test_a_failure_that_the_incumbent_shares_is_not_held_against_the_candidate() -> None:
    arms = suite(run("a", 0.0), run("b", 1.0))
    assert triggers(arms, arms) == []
    assert judge_suite("domain", (arms, arms), {}).passed


def test_a_flake_is_confirmed_away_and_noted() -> None:
    new, old = suite(run("a", 0.0)), suite(run("a", 1.0))
    found = judge_suite("runtime", (new, old), {"a": (run("a", *PASS), run("a", *PASS))})
    assert found.passed
    assert found.notes == ["a failed once; fresh runs 4/4, before 4/4"]


@pytest.mark.parametrize(
    ("new", "old", "refused"),
    # One-sided Fisher on 4 against 4 runs: 0/4 v 4/4 1/70, 1/4 v 4/4 1/14, 2/4 v 4/4 3/14, 0/4 v 3/4 1/14.
    [(0, 4, True), (1, 4, True), (2, 4, False), (0, 3, True), (0, 2, False), (4, 4, False), (4, 0, False)],
)
def test_fresh_runs_confirm_a_loss_at_one_in_ten(new: int, old: int, refused: bool) -> None:
    fresh_new = run("a", *[1.0] * new, *[0.0] * (4 - new))
    fresh_old = run("a", *[1.0] * old, *[0.0] * (4 - old))
    assert broken(fresh_new, fresh_old) is refused
    found = judge_suite("domain", (suite(run("a", 0.0)), suite(run("a", 1.0))), {"a": (fresh_new, fresh_old)})
    assert found.passed is not refused


def test_half_a_score_is_no_pass() -> None:
    assert triggers(suite(run("a", 0.99)), suite(run("a", 1.0))) == ["a"]


def test_only_critical_tasks_are_confirmed_one_by_one() -> None:
    new, old = suite(run("a", 0.0, critical=False)), suite(run("a", 1.0, critical=False))
    assert triggers(new, old) == []
    assert judge_suite("domain", (new, old), {}).passed


def test_many_small_losses_refuse_the_suite_as_a_whole() -> None:
    # Exact sign test: five losses and no gain have p = 1/32, four have 1/16.
    names = "abcdefgh"
    old = suite(*(run(name, 1.0, critical=False) for name in names))
    for losses, passed in ((4, True), (5, False)):
        new = suite(*(run(n, 0.0 if i < losses else 1.0, critical=False) for i, n in enumerate(names)))
        found = judge_suite("domain", (new, old), {})
        assert found.passed is passed
    assert found.reasons == ["the suite as a whole got worse (p = 0.031)"]


def test_getting_better_never_refuses() -> None:
    old = suite(*(run(name, 0.0) for name in "abcdefgh"))
    new = suite(*(run(name, 1.0) for name in "abcdefgh"))
    found = judge_suite("domain", (new, old), {})
    assert found.passed
    assert found.checks == 8


def test_a_new_violation_refuses_whatever_the_scores() -> None:
    old = suite(run("a", 0.0), run("b", 0.0))
    new = suite(run("a", 1.0, broke=("privilege",)), run("b", 1.0))
    found = judge_suite("safety", (new, old), {})
    assert not found.passed
    assert found.reasons == ["new policy violation in a: privilege"]


def test_a_violation_of_both_arms_is_not_new_but_another_rule_is() -> None:
    old = suite(run("a", 0.0, broke=("privilege",)))
    assert new_violations(suite(run("a", 0.0, broke=("privilege", "privilege"))), old) == []
    both = suite(run("a", 0.0, broke=("privilege", "data-leaves")))
    assert new_violations(both, old) == ["a: data-leaves"]


def test_a_violation_on_one_task_does_not_excuse_another_task() -> None:
    old = suite(run("a", 1.0, broke=("privilege",)), run("b", 1.0))
    new = suite(run("a", 1.0), run("b", 1.0, broke=("privilege",)))
    assert new_violations(new, old) == ["b: privilege"]


def test_a_violation_counts_when_the_incumbent_has_no_result_or_the_score_is_missing() -> None:
    assert new_violations(suite(run("a", None, broke=("privilege",))), {}) == ["a: privilege"]
    new, old = suite(run("a", None, broke=("x",)), run("b", 1.0)), suite(run("a", 1.0), run("b", 1.0))
    assert "new policy violation in a: x" in judge_suite("safety", (new, old), {}).reasons


@pytest.mark.parametrize(
    ("new", "old"),
    [({}, {}), (suite(run("a", None)), suite(run("a", 1.0))), (suite(run("a", 1.0)), suite(run("a", None)))],
    ids=["no tasks", "candidate missing", "incumbent missing"],
)
def test_a_suite_that_compared_nothing_refuses(new: Suite, old: Suite) -> None:
    found = judge_suite("runtime", (new, old), {})
    assert not found.passed
    assert found.checks == 0
    assert found.reasons == ["the runtime suite ran no check"]


def test_a_critical_task_without_a_result_refuses_and_another_one_does_not() -> None:
    old = suite(run("a", 1.0), run("b", 1.0, critical=False), run("c", 1.0))
    lacks_critical = suite(run("a", None), run("b", 1.0, critical=False), run("c", 1.0))
    found = judge_suite("domain", (lacks_critical, old), {})
    assert found.reasons == ["1 critical tasks have no result"]
    assert found.checks == 2
    lacks_other = suite(run("a", 1.0), run("b", None, critical=False), run("c", 1.0))
    assert judge_suite("domain", (lacks_other, old), {}).passed


def test_a_critical_task_that_the_candidate_never_ran_refuses() -> None:
    old = suite(run("a", 1.0), run("b", 1.0))
    found = judge_suite("domain", (suite(run("b", 1.0)), old), {})
    assert found.reasons == ["1 critical tasks have no result"]


def test_a_confirmation_without_results_does_not_clear_a_critical_failure() -> None:
    new, old = suite(run("a", 0.0), run("b", 1.0)), suite(run("a", 1.0), run("b", 1.0))
    nothing = (run("a", *[None] * CONFIRM_RUNS), run("a", *[None] * CONFIRM_RUNS))
    assert not judge_suite("domain", (new, old), {"a": nothing}).passed


def test_a_trigger_that_was_never_confirmed_refuses() -> None:
    new, old = suite(run("a", 0.0), run("b", 1.0)), suite(run("a", 1.0), run("b", 1.0))
    assert not judge_suite("domain", (new, old), {}).passed


def test_want_of_data_is_told_from_a_loss() -> None:
    nothing = judge_suite("runtime", ({}, {}), {})
    assert (nothing.passed, nothing.only_missing) == (False, True)
    passing = SuiteRun(task_id="a", critical=True, scores=[1.0])
    breach = passing.model_copy(update={"violations": ["privilege"]})
    gone = SuiteRun(task_id="b", critical=True, scores=[None])
    worse = judge_suite("safety", ({"a": breach, "b": gone}, {"a": passing, "b": gone}), {})
    assert (worse.passed, worse.only_missing) == (False, False)
    fine = judge_suite("safety", ({"a": passing}, {"a": passing}), {})
    assert (fine.passed, fine.only_missing) == (True, False)
