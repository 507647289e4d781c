"""The tests and intervals of the gates. Scores are in [0, 1]; an arm is one list of scores per task."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray
from scipy import signal
from scipy import stats as scipy_stats

GRID = 100
Arm = Sequence[Sequence[float]]
Floats = NDArray[np.float64]


def on_grid(*arms: Arm) -> list[list[list[int]]]:
    """Scores as integers: hundredths, divided by what all of them share (pass/fail becomes 0 and 1)."""
    whole = [[[round(score * GRID) for score in task] for task in arm] for arm in arms]
    step = math.gcd(*(score for arm in whole for task in arm for score in task)) or 1
    return [[[score // step for score in task] for task in arm] for arm in whole]


def draw_distribution(pooled: Sequence[int], size: int) -> Floats:
    """Probability of each sum of `size` values drawn from `pooled` without replacement."""
    top = sum(sorted(pooled)[-size:])
    ways = np.zeros((size + 1, top + 1))
    ways[0, 0] = 1.0
    for value in pooled:
        for count in range(size, 0, -1):
            ways[count, value:] += ways[count - 1, : top + 1 - value]
    chances: Floats = ways[size] / math.comb(len(pooled), size)
    return chances


def within_task_p(new: Arm, old: Arm, *, mid: bool = False) -> float:
    """One-sided exact p-value that `new` is not better than `old` on these tasks.

    The labels new/old are exchanged within each task, all ways at once: the sum over tasks of the new
    scores is compared with its exact permutation distribution. For pass/fail scores this is the exact
    conditional (Cochran-Mantel-Haenszel) test, and with one run each way it is McNemar's exact test.
    `mid` counts half of the observed point (Lancaster's mid-p).
    """
    shared = [(a, b) for a, b in zip(new, old, strict=True) if a and b]
    if not shared:
        return 1.0
    grid_new, grid_old = on_grid([a for a, _ in shared], [b for _, b in shared])
    observed = sum(sum(task) for task in grid_new)
    parts = [draw_distribution([*a, *b], len(a)) for a, b in zip(grid_new, grid_old, strict=True)]
    total = reduce(signal.convolve, parts)
    tail = float(total[observed:].sum())
    if mid:
        tail -= float(total[observed]) / 2
    return min(1.0, max(0.0, tail))


def task_differences(new: Arm, old: Arm) -> Floats:
    """Mean difference of each task that has scores in both arms."""
    pairs = [(a, b) for a, b in zip(new, old, strict=True) if a and b]
    return np.array([sum(a) / len(a) - sum(b) / len(b) for a, b in pairs])


def task_t_p(differences: Floats) -> float | None:
    """One-sided p-value of a t test over tasks; None when fewer than two tasks have data."""
    if len(differences) < 2:
        return None
    if np.ptp(differences) < 1e-12:
        return 0.0 if differences.mean() > 0 else 1.0
    error = float(differences.std(ddof=1)) / math.sqrt(len(differences))
    return float(scipy_stats.t.sf(float(differences.mean()) / error, len(differences) - 1))


def task_interval(differences: Floats, level: float = 0.95) -> tuple[float, float]:
    """Two-sided t interval of the mean difference over tasks, cut to [-1, 1]."""
    count = len(differences)
    if count < 2:
        return -1.0, 1.0
    center = float(differences.mean())
    error = float(differences.std(ddof=1)) / math.sqrt(count)
    half = float(scipy_stats.t.ppf((1 + level) / 2, count - 1)) * error
    return max(-1.0, center - half), min(1.0, center + half)


def mean_interval(scores: Arm, level: float = 0.95) -> tuple[float, float, float]:
    """Mean over tasks and its interval. Task means are clusters; pass/fail with one run uses Wilson's."""
    means = np.array([np.mean(task) for task in scores if task])
    if len(means) == 0:
        return math.nan, 0.0, 1.0
    center = float(means.mean())
    if all(len(task) <= 1 and set(task) <= {0.0, 1.0} for task in scores):
        found = scipy_stats.binomtest(int(means.sum()), len(means)).proportion_ci(level, method="wilson")
        return center, float(found.low), float(found.high)
    low, high = task_interval(means, level)
    return center, max(0.0, low), high


def fixed_interval(new: Arm, old: Arm, level: float = 0.95) -> tuple[float, float]:
    """Normal interval of the mean difference on these very tasks: only chance in the runs counts."""
    pairs = [(a, b) for a, b in zip(new, old, strict=True) if a and b]
    center = float(task_differences(new, old).mean())
    runs = [*(a for a, _ in pairs), *(b for _, b in pairs)]
    # Add-one smoothing: a few equal scores do not prove that a task never varies.
    spread = sum((sum(r) + 1) / (len(r) + 2) * (1 - (sum(r) + 1) / (len(r) + 2)) / len(r) for r in runs)
    half = float(scipy_stats.norm.ppf((1 + level) / 2)) * math.sqrt(spread) / len(pairs)
    return max(-1.0, center - half), min(1.0, center + half)


def fisher_worse_p(new: Sequence[bool], old: Sequence[bool]) -> float:
    """One-sided Fisher exact p-value that `new` passes less often than `old`."""
    table = [[len(new) - sum(new), sum(new)], [len(old) - sum(old), sum(old)]]
    return float(scipy_stats.fisher_exact(table, alternative="greater").pvalue)


def pairs_to_settle(differences: Floats, level: float, power: float = 0.8) -> int | None:
    """Tasks-times-rounds that would show the estimated gain at `level`; None when there is no gain."""
    gain = float(differences.mean())
    if gain <= 0 or len(differences) < 2:
        return None
    spread = float(differences.std(ddof=1))
    quantiles = float(scipy_stats.norm.ppf(1 - level) + scipy_stats.norm.ppf(power))
    needed = quantiles**2 * (spread / gain) ** 2
    return max(1, math.ceil(needed))
