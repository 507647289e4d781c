"""The selection gate: what it accepts, refuses and leaves open, and that it errs as seldom as it promises."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats as scipy_stats

from skillopt.gates.decision import Look, Selection
from skillopt.gates.selection import ErrorBudget, GateRule, covered, decide, take_look, within_reach

Runs = list[list[float]]
RULE = GateRule()
TASKS = 50


def runs(rates: list[float], rounds: int) -> Runs:
    """Scores of `rounds` runs per task with exactly these pass rates."""
    return [[1.0] * round(rate * rounds) + [0.0] * (rounds - round(rate * rounds)) for rate in rates]


def judge(new: Runs, old: Runs, rounds: int, rule: GateRule = RULE) -> tuple[Selection | None, Look]:
    """The verdict at the look after `rounds`, as if the looks before it had been open."""
    looks = rule.looks(len(new))
    look = take_look(new, old, rounds, rule.look_level(len(new)))
    earlier = [look] * looks.index(rounds)
    return decide(rule, [*earlier, look], new, old, covered(new, old, rounds, rule.coverage)), look


def test_a_clear_gain_is_accepted_at_the_first_look() -> None:
    new, old = runs([1.0] * 30 + [0.0] * 20, 1), runs([1.0] * 10 + [0.0] * 40, 3)
    found, look = judge(new, old, 1)
    assert found is not None
    assert found.verdict == "accepted"
    assert found.claim == "tasks like these"
    assert found.rollouts_to_settle is None
    assert look.delta == pytest.approx(0.4)
    assert (look.tasks, look.pairs) == (50, 50)
    assert (look.candidate_mean, look.incumbent_mean) == (pytest.approx(0.6), pytest.approx(0.2))


@pytest.mark.parametrize("rounds", [1, 2, 4])
@pytest.mark.parametrize("rate", [0.0, 0.5, 1.0])
def test_a_tie_is_never_accepted(rate: float, rounds: int) -> None:
    passing = [1.0] * round(rate * TASKS) + [0.0] * (TASKS - round(rate * TASKS))
    found, look = judge(runs(passing, rounds), runs(passing, rounds), rounds)
    assert look.delta == 0
    assert found is not None
    assert found.verdict == "rejected"


def test_a_loss_is_rejected_at_once_whatever_the_rule() -> None:
    new, old = runs([1.0] * 10 + [0.0] * 40, 1), runs([1.0] * 30 + [0.0] * 20, 3)
    found, _ = judge(new, old, 1, GateRule(futility=(1.0, 1.0, 1.0, 1.0), alpha=0.5, tests=1))
    assert found is not None
    assert found.verdict == "rejected"
    assert "no sign of a gain" in found.reason


def test_a_gain_that_is_most_likely_luck_is_rejected_early() -> None:
    new, old = runs([1.0] * 26 + [0.0] * 24, 1), runs([1.0] * 25 + [0.0] * 25, 1)
    shuffled = [*old[10:], *old[:10]]
    found, look = judge(new, shuffled, 1)
    assert look.delta > 0
    assert max(look.p_mid, look.p_tasks or 0) > RULE.futility[0]
    assert found is not None
    assert found.verdict == "rejected"


def test_a_promising_gain_asks_for_the_next_look() -> None:
    new, old = runs([1.0] * 31 + [0.0] * 19, 1), runs([1.0] * 25 + [0.0] * 25, 1)
    found, look = judge(new, old, 1)
    assert look.level < look.p < RULE.futility[0]
    assert found is None


def test_the_last_look_leaves_it_open_and_says_how_many_rollouts_would_settle_it() -> None:
    rates = [0.75] * 16 + [0.5] * 30 + [0.25] * 4
    new, old = runs(rates, 4), runs([0.5] * 50, 4)
    found, look = judge(new, old, 4)
    assert look.level < look.p < RULE.futility[2]
    assert found is not None
    assert found.verdict == "undecided"
    # The usual sample size for a mean, by hand: z of the level and of 80 % power, times spread over gain.
    differences = np.array([0.25] * 16 + [0.0] * 30 + [-0.25] * 4)
    quantiles = scipy_stats.norm.isf(look.level) + scipy_stats.norm.isf(0.2)
    pairs = math.ceil((quantiles * differences.std(ddof=1) / differences.mean()) ** 2) * 4
    assert found.rollouts_to_settle == pairs - 200
    assert "possible" in found.reason


def test_a_gain_out_of_reach_stops_before_the_last_look() -> None:
    # +4 points on 50 tasks at look 1: more runs of the same could not reach the level.
    new, old = runs([1.0] * 27 + [0.0] * 23, 1), runs([1.0] * 25 + [0.0] * 25, 1)
    strict = GateRule(alpha=1e-6, futility=(0.5, 0.5, 0.5, 0.5))
    found, look = judge(new, old, 1, strict)
    assert not within_reach(look, 4)
    assert found is not None
    assert found.verdict == "undecided"
    assert "too small" in found.reason


def test_within_reach_grows_with_the_gain_and_never_depends_on_the_p_value() -> None:
    def look(delta: float) -> Look:
        figures = {"low": delta - 0.2, "high": delta + 0.2, "delta": delta, "level": 0.004, "rounds": 1}
        means = {"candidate_mean": 0.5, "incumbent_mean": 0.5, "pairs": 50, "tasks": 50}
        return Look.model_validate({**figures, **means, "p_within": 1, "p_mid": 1, "p_tasks": 1})

    # Standard error .102; with four times the runs .051; z(.004) = 2.65, so .1353 - .102 = .033 is the edge.
    assert not within_reach(look(0.03), 4)
    assert within_reach(look(0.036), 4)
    assert not within_reach(look(0.036), 2)


def test_both_p_values_must_reach_the_level() -> None:
    # One task with 16 runs each is sure on these very runs, and says little about tasks like these.
    new = [[1.0] * 16] + [[1.0] * 16] * 9
    old = [[0.0] * 16] + [[1.0] * 16] * 9
    look = take_look(new, old, 16, 0.05)
    assert look.p_within < 0.001
    assert look.p_tasks is not None
    assert look.p_tasks > 0.1
    assert look.p == look.p_tasks


@pytest.mark.parametrize("missing", ["candidate", "incumbent"])
def test_too_many_missing_results_are_undecided_and_never_a_verdict(missing: str) -> None:
    full, holes = runs([1.0] * 50, 2), [*runs([1.0] * 30, 2), *([[]] * 20)]
    new, old = (
        (holes, runs([0.0] * 50, 2)) if missing == "candidate" else (full, [[0.0, 0.0]] * 30 + [[]] * 20)
    )
    assert not covered(new, old, 2, 0.8)
    found, _ = judge(new, old, 2)
    assert found is not None
    assert found.verdict == "undecided"
    assert "missing" in found.reason


def test_coverage_counts_runs_against_what_they_should_be() -> None:
    ten = [[1.0]] * 10
    assert covered([*ten[:8], [], []], ten, 1, 0.8)
    assert not covered([*ten[:7], [], [], []], ten, 1, 0.8)
    assert not covered(ten, ten, 2, 0.8)


def test_missing_results_are_dropped_in_both_arms() -> None:
    new: Runs = [[1.0], [], [1.0], [0.0]]
    old: Runs = [[0.0], [0.0], [], [0.0]]
    look = take_look(new, old, 1, 0.01)
    assert (look.tasks, look.pairs) == (2, 2)
    assert (look.candidate_mean, look.incumbent_mean, look.delta) == (0.5, 0.0, 0.5)


def test_few_tasks_speak_for_themselves_only() -> None:
    new, old = runs([1.0] * 4, 16), runs([0.5] * 4, 16)
    found, look = judge(new, old, 16)
    assert look.p_tasks is None
    assert found is not None
    assert (found.verdict, found.claim) == ("accepted", "these tasks only")
    assert "these tasks only" in found.reason
    five, _ = judge(runs([1.0] * 5, 16), runs([0.5] * 5, 16), 16)
    assert five is not None
    assert five.claim == "tasks like these"


def test_a_single_task_can_be_decided_but_only_for_itself() -> None:
    found, _ = judge([[1.0] * 16], [[0.0] * 16], 16)
    assert found is not None
    assert (found.verdict, found.claim) == ("accepted", "these tasks only")


@pytest.mark.parametrize("tasks", [1, 9, 10, 39, 40, 200])
def test_looks_grow_and_share_the_level_of_a_test(tasks: int) -> None:
    looks = RULE.looks(tasks)
    assert list(looks) == sorted(set(looks))
    assert len(looks) <= len(RULE.futility)
    assert RULE.look_level(tasks) * len(looks) == pytest.approx(0.10 / 8)
    assert RULE.pool_rounds(tasks) >= looks[0]


def test_the_error_budget_pays_for_planned_tests_and_no_more() -> None:
    budget = ErrorBudget(alpha=0.10, level=0.10 / 8)
    for tests in range(8):
        assert budget.open
        assert budget.left == pytest.approx(0.10 - tests * 0.0125)
        budget = budget.after(accepted=False)
    assert not budget.open
    assert budget.left == pytest.approx(0)


def test_an_accepted_test_gives_its_level_back() -> None:
    budget = ErrorBudget(alpha=0.05, level=0.05)
    assert budget.after(accepted=True).open
    assert not budget.after(accepted=False).open
    assert ErrorBudget(alpha=0.3, level=0.1).after(False).after(True).after(False).spent == pytest.approx(0.2)


Floats = NDArray[np.float64]


def accepts_any(rng: np.random.Generator, rates: Floats, shifts: Floats) -> bool:
    """One run: candidates with rates + their shift meet one pool; whether any of them is accepted."""
    tasks, looks = len(rates), RULE.looks(len(rates))
    level = RULE.look_level(tasks)
    pool_rounds = [max(rounds, RULE.pool_rounds(tasks)) for rounds in looks]
    pool = (rng.random((tasks, pool_rounds[-1])) < rates[:, None]).astype(float)
    for shift in shifts:
        mine = (rng.random((tasks, looks[-1])) < np.clip(rates + shift, 0, 1)[:, None]).astype(float)
        taken: list[Look] = []
        for rounds, pooled in zip(looks, pool_rounds, strict=True):
            new, old = mine[:, :rounds].tolist(), pool[:, :pooled].tolist()
            taken.append(take_look(new, old, rounds, level))
            found = decide(RULE, taken, new, old, True)
            if found is not None:
                break
        assert found is not None
        if found.verdict == "accepted":
            return True
    return False


def test_a_whole_run_of_idle_edits_accepts_one_no_more_often_than_alpha() -> None:
    rng, trials = np.random.default_rng(20), 300
    false = sum(accepts_any(rng, rng.beta(0.5, 0.5, 10), np.zeros((8, 1))) for _ in range(trials))
    assert false <= scipy_stats.binom.ppf(0.999, trials, RULE.alpha)


def test_edits_that_help_some_tasks_and_hurt_others_are_idle_too() -> None:
    rng, trials = np.random.default_rng(21), 60
    false = 0
    for _ in range(trials):
        shifts = rng.permuted(np.tile([0.4, -0.4], (8, 10)), axis=1)
        false += accepts_any(rng, np.full(20, 0.5), shifts)
    assert false <= scipy_stats.binom.ppf(0.999, trials, RULE.alpha)


def test_an_edit_that_helps_is_found_nearly_always() -> None:
    rng, trials = np.random.default_rng(22), 40
    found = sum(accepts_any(rng, np.full(50, 0.4), np.full((1, 50), 0.35)) for _ in range(trials))
    assert found >= 36
