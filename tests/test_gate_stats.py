"""The tests and intervals of the gates, against other programs, closed forms and laws they must obey."""

from __future__ import annotations

import math
import random
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from skillopt.gates.stats import (
    draw_distribution,
    fisher_worse_p,
    fixed_interval,
    mean_interval,
    on_grid,
    pairs_to_settle,
    task_differences,
    task_interval,
    task_t_p,
    within_task_p,
)

Runs = list[list[float]]


def runs(passes: list[int], of: int) -> Runs:
    """Pass counts per task as pass/fail scores."""
    return [[1.0] * count + [0.0] * (of - count) for count in passes]


def discordant(gains: int, losses: int, concordant: int = 0) -> tuple[Runs, Runs]:
    """One run each way: tasks that only the new arm passes, tasks that only the old one passes, and ties."""
    ties = [[float(index % 2)] for index in range(concordant)]
    return (
        [[1.0]] * gains + [[0.0]] * losses + ties,
        [[0.0]] * gains + [[1.0]] * losses + ties,
    )


C_NEW = runs([8, 8, 5, 0, 3, 7, 8, 8, 1, 6, 8, 4, 2, 8, 8, 0, 5, 7, 8, 6], 8)
C_OLD = runs([6, 8, 4, 0, 1, 7, 8, 5, 1, 5, 8, 2, 2, 8, 7, 0, 3, 6, 8, 5], 8)


# R 4: mantelhaen.test(exact = TRUE, alternative = "greater") on the 2 x 2 x tasks table.
@pytest.mark.parametrize(
    ("new", "old", "p"),
    [
        (runs([3, 2, 3, 1, 0, 3, 2, 3, 1, 2], 3), runs([2, 2, 1, 1, 0, 3, 0, 2, 1, 1], 3), 0.038176),
        (
            runs([1, 2, 2, 0, 1, 2, 2, 2, 0, 1, 2, 2], 2),
            runs([3, 8, 5, 1, 2, 8, 6, 7, 0, 4, 8, 5], 8),
            0.143232967657,
        ),
        (C_NEW, C_OLD, 0.00710461874688),
        (runs([1, 1, 1, 1, 1, 0, 1, 0, 1, 0], 1), runs([0, 0, 0, 0, 0, 1, 1, 0, 0, 0], 1), 0.0625),
    ],
    ids=["3 runs each", "2 against 8 runs", "8 runs each", "one run each"],
)
def test_exact_p_agrees_with_r_mantelhaen(new: Runs, old: Runs, p: float) -> None:
    assert within_task_p(new, old) == pytest.approx(p, abs=1e-9)


# R 4: binom.test(b, b + c, alternative = "greater") and the same less half of dbinom.
@pytest.mark.parametrize(
    ("gains", "losses", "exact", "mid"),
    [
        (10, 2, 0.019287109375, 0.01123046875),
        (8, 1, 0.01953125, 0.0107421875),
        (6, 1, 0.0625, 0.03515625),
        (5, 0, 0.03125, 0.015625),
        (15, 6, 0.039176940918, 0.0262393951416),
        (30, 18, 0.0557014455305, 0.0427165665787),
    ],
)
def test_with_one_run_each_way_it_is_mcnemars_test(gains: int, losses: int, exact: float, mid: float) -> None:
    new, old = discordant(gains, losses, concordant=7)
    assert within_task_p(new, old) == pytest.approx(exact, abs=1e-10)
    assert within_task_p(new, old, mid=True) == pytest.approx(mid, abs=1e-10)


# Fagerland, Lydersen, Laake (2013), the data of Bentur et al.: b = 7, c = 1; two-sided .0703, mid-p .0391.
def test_published_mcnemar_example() -> None:
    new, old = discordant(7, 1)
    assert 2 * within_task_p(new, old) == pytest.approx(0.0703125, abs=1e-12)
    assert 2 * within_task_p(new, old, mid=True) == pytest.approx(0.0390625, abs=1e-12)


# R 4: t.test on the task means: p one-sided .000662308564103, 95 % interval [.0443382754628, .155661724537].
def test_task_t_test_and_interval_agree_with_r() -> None:
    differences = task_differences(C_NEW, C_OLD)
    assert float(differences.mean()) == pytest.approx(0.1)
    assert task_t_p(differences) == pytest.approx(0.000662308564103, abs=1e-12)
    assert task_interval(differences) == pytest.approx((0.0443382754628, 0.155661724537), abs=1e-10)


# R 4: fisher.test(alternative = "greater") on (new fails, new runs, old fails, old runs).
@pytest.mark.parametrize(
    ("new_fail", "new_n", "old_fail", "old_n", "p"),
    [
        (2, 5, 0, 13, 0.0653594771242),
        (3, 5, 0, 13, 0.0122549019608),
        (1, 5, 0, 13, 0.277777777778),
        (4, 8, 1, 8, 0.141025641026),
        (3, 8, 0, 8, 0.1),
    ],
)
def test_fisher_agrees_with_r(new_fail: int, new_n: int, old_fail: int, old_n: int, p: float) -> None:
    new = [False] * new_fail + [True] * (new_n - new_fail)
    old = [False] * old_fail + [True] * (old_n - old_fail)
    assert fisher_worse_p(new, old) == pytest.approx(p, abs=1e-9)


# R exactRankTests::perm.test on paired differences: 0.060546875; with one run each way the labels are signs.
def test_graded_scores_agree_with_the_sign_flip_test() -> None:
    differences = [3, 1, -1, 2, 0, 4, -2, 1, 1, 2]
    new = [[0.5 + d / 10] for d in differences]
    old: Runs = [[0.5]] * len(differences)
    assert within_task_p(new, old) == pytest.approx(0.060546875, abs=1e-10)


def by_enumeration(new: Runs, old: Runs) -> tuple[float, float]:
    """P(at least) and P(equal) over all ways to hand out the labels, in exact hundredths."""
    ways = []
    for a, b in zip(new, old, strict=True):
        pooled = [round(score * 100) for score in [*a, *b]]
        ways.append([sum(pooled[i] for i in chosen) for chosen in combinations(range(len(pooled)), len(a))])
    observed = sum(round(score * 100) for task in new for score in task)
    sums = [sum(parts) for parts in product(*ways)]
    return sum(s >= observed for s in sums) / len(sums), sum(s == observed for s in sums) / len(sums)


def test_graded_scores_agree_with_full_enumeration() -> None:
    rng = random.Random(3)
    for _ in range(10):
        new = [[rng.randrange(0, 101, 5) / 100 for _ in range(2)] for _ in range(3)]
        old = [[rng.randrange(0, 101, 5) / 100 for _ in range(3)] for _ in range(3)]
        at_least, equal = by_enumeration(new, old)
        assert within_task_p(new, old) == pytest.approx(at_least, abs=1e-12)
        assert within_task_p(new, old, mid=True) == pytest.approx(at_least - equal / 2, abs=1e-12)


def arms(scores: st.SearchStrategy[float], empty: bool = False) -> st.SearchStrategy[list[tuple[Runs, Runs]]]:
    """Tasks as pairs of score lists."""
    one = st.lists(scores, min_size=0 if empty else 1, max_size=3)
    return st.lists(st.tuples(one, one), min_size=1, max_size=4)


PASS_FAIL = st.sampled_from([0.0, 1.0])
GRADED = st.integers(0, 20).map(lambda n: n / 20)
Tasks = list[tuple[list[float], list[float]]]


def split(tasks: Tasks) -> tuple[Runs, Runs]:
    return [new for new, _ in tasks], [old for _, old in tasks]


@settings(max_examples=60, deadline=None)
@given(arms(GRADED))
def test_swapped_arms_share_only_the_observed_point(tasks: Tasks) -> None:
    new, old = split(tasks)
    _, equal = by_enumeration(new, old)
    assert within_task_p(new, old) + within_task_p(old, new) == pytest.approx(1 + equal, abs=1e-9)
    both = within_task_p(new, old, mid=True) + within_task_p(old, new, mid=True)
    assert both == pytest.approx(1, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(arms(GRADED), st.randoms(use_true_random=False))
def test_order_of_tasks_and_of_runs_changes_nothing(tasks: Tasks, rng: random.Random) -> None:
    shuffled = [(rng.sample(new, len(new)), rng.sample(old, len(old))) for new, old in tasks]
    rng.shuffle(shuffled)
    assert within_task_p(*split(shuffled)) == pytest.approx(within_task_p(*split(tasks)), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(arms(PASS_FAIL), st.lists(PASS_FAIL, max_size=6))
def test_tasks_that_agree_change_nothing(tasks: Tasks, ties: list[float]) -> None:
    single = [(new[:1], old[:1]) for new, old in tasks]
    more = single + [([score], [score]) for score in ties]
    assert within_task_p(*split(more)) == pytest.approx(within_task_p(*split(single)), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(arms(PASS_FAIL, empty=True))
def test_a_task_without_a_result_in_one_arm_is_left_out(tasks: Tasks) -> None:
    full = [(new, old) for new, old in tasks if new and old]
    expected = within_task_p(*split(full)) if full else 1.0
    assert within_task_p(*split(tasks)) == pytest.approx(expected, abs=1e-9)
    assert len(task_differences(*split(tasks))) == len(full)


@settings(max_examples=40, deadline=None)
@given(arms(PASS_FAIL), st.integers(0, 3))
def test_one_more_pass_of_the_new_arm_never_raises_p(tasks: Tasks, which: int) -> None:
    new, old = split(tasks)
    better = [list(task) for task in new]
    task = better[which % len(better)]
    task[0] = 1.0
    assert within_task_p(better, old) <= within_task_p(new, old) + 1e-9


def test_nothing_shared_gives_no_evidence() -> None:
    assert within_task_p([], []) == 1.0
    assert within_task_p([[1.0], []], [[], [0.0]]) == 1.0


def test_scores_are_put_on_the_coarsest_grid_that_holds_them() -> None:
    assert on_grid([[1.0, 0.0]], [[0.0]]) == [[[1, 0]], [[0]]]
    assert on_grid([[0.5]], [[1.0]]) == [[[1]], [[2]]]
    assert on_grid([[0.0]], [[0.0]]) == [[[0]], [[0]]]


def test_drawing_follows_the_hypergeometric_distribution() -> None:
    found = draw_distribution([1] * 5 + [0] * 7, 4)
    expected = scipy_stats.hypergeom(12, 5, 4).pmf(np.arange(5))
    assert found == pytest.approx(expected, abs=1e-12)


def test_large_tables_keep_small_p_values() -> None:
    new, old = discordant(100, 0)
    assert within_task_p(new, old) < 1e-12
    assert within_task_p(old, new) == pytest.approx(1.0)


def test_task_t_needs_two_tasks_and_survives_equal_ones() -> None:
    assert task_t_p(np.array([0.5])) is None
    assert task_t_p(np.array([0.5, 0.5])) == 0.0
    assert task_t_p(np.array([0.0, 0.0])) == 1.0
    assert task_t_p(np.array([-0.5, -0.5])) == 1.0
    assert task_interval(np.array([0.5])) == (-1.0, 1.0)


def test_mean_interval_is_wilsons_for_single_runs() -> None:
    # Wilson's closed form for 8 of 10.
    z = scipy_stats.norm.ppf(0.975)
    center = (0.8 + z * z / 20) / (1 + z * z / 10)
    half = z * math.sqrt(0.8 * 0.2 / 10 + z * z / 400) / (1 + z * z / 10)
    found = mean_interval([[1.0]] * 8 + [[0.0]] * 2)
    assert found == pytest.approx((0.8, center - half, center + half))


def test_mean_interval_takes_repeats_of_a_task_as_one_cluster() -> None:
    once = [[0.25], [0.75], [0.5]]
    often = [task * 10 for task in once]
    assert mean_interval(often) == pytest.approx(mean_interval(once))
    mean, low, high = mean_interval([[], []])
    assert math.isnan(mean)
    assert (low, high) == (0.0, 1.0)


def test_fixed_interval_covers_the_true_difference_of_these_tasks() -> None:
    rng = np.random.default_rng(1)
    new_rates, old_rates = np.array([0.9, 0.2, 0.6]), np.array([0.5, 0.2, 0.7])
    truth, inside, trials = float((new_rates - old_rates).mean()), 0, 300
    for _ in range(trials):
        new = [list(map(float, rng.random(12) < rate)) for rate in new_rates]
        old = [list(map(float, rng.random(12) < rate)) for rate in old_rates]
        low, high = fixed_interval(new, old)
        inside += low <= truth <= high
    assert inside >= scipy_stats.binom.ppf(0.001, trials, 0.95)
    low, high = fixed_interval([[1.0] * 4], [[1.0] * 4])
    assert low < 0 < high  # Four equal runs do not prove that nothing varies.


def test_pairs_to_settle_has_the_power_it_promises() -> None:
    differences = np.array([1.0, 1.0, 0.0, 0.0, 0.0, -1.0, 1.0, 0.0, 0.0, 0.0])
    needed = pairs_to_settle(differences, 0.05)
    gain, spread = float(differences.mean()), float(differences.std(ddof=1))
    assert needed is not None
    power = scipy_stats.norm.cdf(gain * math.sqrt(needed) / spread - scipy_stats.norm.ppf(0.95))
    assert 0.8 <= power < 0.82
    assert pairs_to_settle(-differences, 0.05) is None
    assert pairs_to_settle(np.array([1.0]), 0.05) is None
