"""How fast are rollouts? The warm sandbox beside a naive one, in the same run, on the same tasks.

    .venv/bin/python bench/rollouts.py --n 102

Both arms run the apprentice (scripted, offline) on the selection split of the spreadsheet tasks, in the same
bubblewrap sandbox, with the same verifiers. They differ in one thing: how a `python` tool call is run.
`warm` is the product's way: a fork of an interpreter that has openpyxl in memory. `naive` starts a fresh
interpreter for each call, which imports openpyxl again. The arms take turns, so that load hits both alike.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from harness.adapters.builtin import BuiltinAgent  # noqa: E402
from harness.models.endpoints import Endpoint, open_model  # noqa: E402
from harness.rollout import World, rollout  # noqa: E402
from harness.sandboxes.pool import SandboxPool  # noqa: E402
from harness.skill import Skill, load_skill  # noqa: E402
from harness.store import TrajectoryStore  # noqa: E402
from harness.task import Task, TaskSet, load_taskset  # noqa: E402
from harness.verifiers.checkers import checker_pool  # noqa: E402

BLOCKS = 4
INTERPRETER = f"python{sys.version_info.major}.{sys.version_info.minor}"


class TimedSandbox:
    """A sandbox that times its `python` calls; `fresh` runs each in a new interpreter."""

    def __init__(self, inner: Any, calls: list[float], fresh: bool) -> None:
        self._inner, self._calls, self._fresh = inner, calls, fresh

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def python(self, source: str, *, timeout: float | None = None) -> Any:
        started = time.monotonic()
        if self._fresh:
            result = await self._inner.exec([INTERPRETER, "-c", source], timeout=timeout)
        else:
            result = await self._inner.python(source, timeout=timeout)
        self._calls.append((time.monotonic() - started) * 1000)
        return result


class TimedAgent(BuiltinAgent):
    """The builtin agent in a TimedSandbox."""

    def __init__(self, fresh: bool) -> None:
        self.name = "naive" if fresh else "warm"
        self.fresh = fresh
        self.calls: list[float] = []

    async def run(self, task: Task, skill: Skill | None, sandbox: Any, model: Any, *, seed: int) -> Any:
        return await super().run(task, skill, TimedSandbox(sandbox, self.calls, self.fresh), model, seed=seed)


@dataclass
class Arm:
    """One way to run rollouts, and what was measured of it."""

    name: str
    agent: TimedAgent
    world: World
    wall: float = 0.0
    cpu: float = 0.0
    scores: list[float] = field(default_factory=list)
    missing: int = 0

    @property
    def count(self) -> int:
        return len(self.scores) + self.missing


def descendants(root: int) -> Iterator[list[str]]:
    """The fields of /proc/PID/stat after the name, of every process below `root`."""
    rows: dict[int, list[str]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            text = Path(f"/proc/{name}/stat").read_text()
        except OSError:
            continue
        rows[int(name)] = text.rpartition(")")[2].split()
    wanted = {root}
    while more := {pid for pid, row in rows.items() if int(row[1]) in wanted} - wanted:
        wanted |= more
    yield from (row for pid, row in rows.items() if pid in wanted and pid != root)


def cpu_seconds() -> float:
    """CPU of this process and of all sandboxes, with the children that they have waited for."""
    ticks = sum(int(tick) for row in descendants(os.getpid()) for tick in row[11:15])
    own = os.times()
    return time.process_time() + own.children_user + own.children_system + ticks / os.sysconf("SC_CLK_TCK")


async def open_arm(stack: AsyncExitStack, name: str, taskset: TaskSet, folder: Path, size: int) -> Arm:
    preload = [package for package in taskset.packages if package != "et_xmlfile"]
    pool = SandboxPool("local", size, packages=taskset.packages, preload=preload)
    store = TrajectoryStore(folder / f"{name}.db")
    agent = TimedAgent(fresh=name == "naive")
    world = World(
        adapter=agent,
        model=open_model(Endpoint(), {}, store=store, run_id=name),
        address="embedded",
        sandboxes=await stack.enter_async_context(pool),
        checkers=await stack.enter_async_context(checker_pool("local", max(1, size // 2))),
        store=store,
        run_id=name,
    )
    await pool.check()
    return Arm(name, agent, world)


async def run_block(arm: Arm, skill: Skill, jobs: list[tuple[int, Task]], size: int) -> None:
    """Run some rollouts of one arm side by side and add up what they took."""
    gate = asyncio.Semaphore(size)

    async def one(attempt: int, task: Task) -> float | None:
        async with gate:
            return (await rollout(arm.world, task, skill, stream="bench", attempt=attempt)).score

    cpu, wall = cpu_seconds(), time.monotonic()
    scores = await asyncio.gather(*(one(attempt, task) for attempt, task in jobs))
    arm.wall += time.monotonic() - wall
    arm.cpu += cpu_seconds() - cpu
    arm.scores += [score for score in scores if score is not None]
    arm.missing += sum(score is None for score in scores)


async def measure(count: int, size: int) -> list[Arm]:
    taskset = load_taskset(ROOT / "tasksets" / "spreadsheet")
    skill = load_skill(ROOT / "skills" / "spreadsheet")
    tasks = taskset.split("selection")
    jobs = [divmod(number, len(tasks)) for number in range(count)]
    work = [(attempt, tasks[place]) for attempt, place in jobs]
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        arms = [await open_arm(stack, name, taskset, folder, size) for name in ("warm", "naive")]
        for arm in arms:  # Sandboxes start and caches fill outside the measurement.
            await run_block(arm, skill, [(10_000, task) for task in tasks[:size]], size)
            arm.wall, arm.cpu, arm.scores, arm.missing = 0.0, 0.0, [], 0
            arm.agent.calls.clear()
        for block in range(BLOCKS):
            for arm in arms:
                await run_block(arm, skill, work[block::BLOCKS], size)
    return arms


def main() -> None:
    parser = argparse.ArgumentParser(description="Rollouts per second, warm sandbox beside a naive one.")
    parser.add_argument("--n", type=int, default=51, help="rollouts per arm (default: 51)")
    parser.add_argument("--concurrency", type=int, default=max(2, min(8, 2 * (os.cpu_count() or 2))))
    options = parser.parse_args()
    if options.n < BLOCKS or options.concurrency < 1:
        parser.error(f"--n must be at least {BLOCKS} and --concurrency at least 1")
    arms = asyncio.run(measure(options.n, options.concurrency))
    print(
        f"apprentice: scripted, offline; spreadsheet selection split; {options.n} rollouts per arm, "
        f"{options.concurrency} at a time; {os.cpu_count()} CPUs, Python {platform.python_version()}"
    )
    print(
        f"{'arm':<8}{'rollouts/s':>12}{'CPU ms/rollout':>16}{'ms/python call':>16}{'score':>8}{'missing':>9}"
    )
    for arm in arms:
        score = f"{statistics.mean(arm.scores):.1%}" if arm.scores else "-"
        print(
            f"{arm.name:<8}{arm.count / arm.wall:>12.2f}{arm.cpu / arm.count * 1000:>16.0f}"
            f"{statistics.median(arm.agent.calls):>16.0f}{score:>8}{arm.missing:>9}"
        )
    warm, naive = arms
    print(
        f"ratio   {naive.wall / warm.wall:>11.1f}x{naive.cpu / warm.cpu:>15.1f}x"
        f"{statistics.median(naive.agent.calls) / statistics.median(warm.agent.calls):>15.1f}x"
    )


if __name__ == "__main__":
    main()
