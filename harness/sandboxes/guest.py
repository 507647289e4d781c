"""The program that runs inside a sandbox as process 1, speaking frames over stdin and stdout.

It imports the slow packages once and forks for every call, so a call costs milliseconds and starts
from the same clean memory. It uses the standard library only: it is mounted alone into the sandbox.

Frame: 4 bytes big-endian header length, JSON header, then `header["size"]` bytes of payload.
Operations: `run`, `call`, `read`, `write`, `list`, `reset` (see the functions of these names).
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import resource
import select
import shutil
import signal
import stat
import struct
import sys
import time
import traceback
import types
from collections.abc import Callable
from typing import Any

Header = dict[str, Any]
Reply = tuple[Header, bytes]
Body = Callable[[bytes], int]
PR_SET_DUMPABLE = 4
POLL_SEC = 0.05
MAX_ENTRIES = 2000


def set_dumpable(value: int) -> None:
    """Non-dumpable: processes of the same uid can neither trace this one nor open its memory or files."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_DUMPABLE, value, 0, 0, 0)


def read_exactly(fd: int, size: int) -> bytes:
    chunks = []
    while size:
        chunk = os.read(fd, min(size, 1 << 20))
        if not chunk:
            raise EOFError
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)


def read_frame(fd: int) -> tuple[Header, bytes]:
    (length,) = struct.unpack(">I", read_exactly(fd, 4))
    header = json.loads(read_exactly(fd, length))
    return header, read_exactly(fd, header.get("size", 0))


def write_frame(fd: int, header: Header, payload: bytes = b"") -> None:
    raw = json.dumps({**header, "size": len(payload)}).encode()
    view = memoryview(struct.pack(">I", len(raw)) + raw + payload)
    while view:
        view = view[os.write(fd, view) :]


def process_ids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]


def tree_memory(pids: list[int], limit: int) -> int:
    """Bytes held by `pids`: resident size first, the exact shared-once figure only when that is too much."""
    page = os.sysconf("SC_PAGE_SIZE")
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/statm") as file:
            total += int(file.read().split()[1]) * page
    if total <= limit:
        return total
    exact = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup") as file:
                exact += sum(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))
        except (OSError, ValueError):
            continue
    return exact


def kill_all(namespaced: bool, child: int) -> None:
    """Kill every process of the sandbox but this one; without a pid namespace, the child's group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if namespaced:
            os.kill(-1, signal.SIGKILL)
        elif child:
            os.killpg(child, signal.SIGKILL)


def reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def end_all(namespaced: bool, child: int) -> None:
    """Kill everything and wait until it is gone: a dead process that nobody collected still counts as one."""
    for _ in range(50):
        kill_all(namespaced, child)
        reap()
        if not namespaced or not process_ids():
            return
        time.sleep(0.01)


def apply_limits(limits: dict[str, int]) -> None:
    for name, value in limits.items():
        which = getattr(resource, "RLIMIT_" + name.upper())
        hard = resource.getrlimit(which)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (value, value))


def enter_child(header: Header, stdin_fd: int, out_fd: int, err_fd: int) -> None:
    os.setsid()
    for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.dup2(stdin_fd, 0)
    os.dup2(out_fd, 1)
    os.dup2(err_fd, 2)
    os.closerange(3, 256)
    apply_limits(header.get("limits", {}))
    os.chdir(header.get("cwd") or "/")
    os.environ.update(header.get("env") or {})
    set_dumpable(1)


def run_python(source: bytes) -> int:
    """Run `source` as a script in this forked process; returns the exit code."""
    module = types.ModuleType("__main__")
    module.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = module
    sys.argv = ["script.py"]
    sys.path.insert(0, os.getcwd())
    for name in ("stdin", "stdout", "stderr"):
        mode, fd = ("r", 0) if name == "stdin" else ("w", 1 if name == "stdout" else 2)
        setattr(sys, name, open(fd, mode, encoding="utf-8", errors="replace", closefd=False))  # noqa: SIM115
    try:
        exec(compile(source, "script.py", "exec"), module.__dict__)  # noqa: S102
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else (0 if stop.code is None else 1)
        if isinstance(stop.code, str):
            print(stop.code, file=sys.stderr)
    except BaseException as error:
        trace = error.__traceback__.tb_next if error.__traceback__ else None
        traceback.print_exception(type(error), error, trace)
        code = 1
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    return code & 0xFF


def exec_argv(argv: list[str]) -> int:
    try:
        os.execvpe(argv[0], argv, os.environ)  # noqa: S606
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
    return 127


class Collector:
    """Reads the pipes of a child up to a cap; what is over the cap is counted and dropped."""

    def __init__(self, fds: list[int], cap: int) -> None:
        self.open = set(fds)
        self.data = {fd: bytearray() for fd in fds}
        self.dropped = dict.fromkeys(fds, 0)
        self.cap = cap
        for fd in fds:
            os.set_blocking(fd, False)

    def poll(self, timeout: float) -> None:
        ready, _, _ = select.select(list(self.open), [], [], timeout)
        for fd in ready:
            try:
                chunk = os.read(fd, 1 << 16)
            except BlockingIOError:
                continue
            if not chunk:
                self.open.discard(fd)
                continue
            room = max(0, self.cap - len(self.data[fd]))
            self.data[fd] += chunk[:room]
            self.dropped[fd] += len(chunk) - len(chunk[:room])


def supervise(child: int, collector: Collector, header: Header, namespaced: bool) -> tuple[int, str | None]:
    """Wait for the child under the time, memory and process limits: (status, name of a broken limit)."""
    deadline = time.monotonic() + header.get("timeout", 60)
    memory, processes = header.get("memory", 0), header.get("processes", 0)
    next_check = time.monotonic() + 0.1
    broken: str | None = None
    status: int | None = None
    while status is None:
        collector.poll(POLL_SEC if collector.open else 0)
        done, raw = os.waitpid(child, os.WNOHANG)
        if done:
            status = raw
            break
        if not collector.open:
            time.sleep(0.002)
        now = time.monotonic()
        if now >= deadline:
            broken = "time"
        elif now >= next_check:
            next_check = now + 0.1
            pids = process_ids() if namespaced else [child]
            if processes and len(pids) > processes:
                broken = "processes"
            elif memory and tree_memory(pids, memory) > memory:
                broken = "memory"
        if broken:
            kill_all(namespaced, child)
            status = os.waitpid(child, 0)[1]
    for _ in range(3):
        collector.poll(0)
    if broken:
        end_all(namespaced, child)
    reap()
    return status, broken


def spawn(header: Header, payload: bytes, body: Body, namespaced: bool) -> Reply:
    """Fork, run `body` in the child under limits; returns the reply header and stdout + stderr."""
    started = time.monotonic()
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    null = os.open("/dev/null", os.O_RDONLY)
    reap()
    child = os.fork()
    if child == 0:
        code = 126
        try:
            enter_child(header, null, out_write, err_write)
            code = body(payload)
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.write(2, f"{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(code)
    for fd in (out_write, err_write, null):
        os.close(fd)
    collector = Collector([out_read, err_read], header.get("max_output", 1 << 20))
    status, broken = supervise(child, collector, header, namespaced)
    out, err = bytes(collector.data[out_read]), bytes(collector.data[err_read])
    reply = {
        "exit_code": os.waitstatus_to_exitcode(status),
        "limit": broken,
        "stdout": len(out),
        "dropped_stdout": collector.dropped[out_read],
        "dropped_stderr": collector.dropped[err_read],
        "duration_ms": round((time.monotonic() - started) * 1000, 3),
    }
    os.close(out_read)
    os.close(err_read)
    return reply, out + err


def do_run(header: Header, payload: bytes, namespaced: bool) -> Reply:
    """`argv` (a program) or `payload` (Python source) as a child process."""
    argv = header.get("argv")
    return spawn(header, payload, (lambda _: exec_argv(argv)) if argv else run_python, namespaced)


def do_call(header: Header, payload: bytes, namespaced: bool) -> Reply:
    """`module:function(payload bytes) -> bytes` of a trusted module, in a forked process."""

    def body(data: bytes) -> int:
        module, _, name = header["function"].partition(":")
        result = getattr(importlib.import_module(module), name)(data)
        with open(1, "wb", closefd=False) as out:
            out.write(result)
        return 0

    return spawn(header, payload, body, namespaced)


def open_regular(path: str, limit: int) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    info = os.fstat(fd)
    if not stat.S_ISREG(info.st_mode):
        os.close(fd)
        raise OSError(f"{path}: not a regular file")
    with open(fd, "rb") as file:
        if info.st_size > limit:
            raise OSError(f"{path}: {info.st_size} bytes is over the limit of {limit}")
        return file.read(limit + 1)


def do_read(header: Header, payload: bytes, namespaced: bool) -> Reply:
    """The bytes of one regular file; links, pipes and devices are refused."""

    def body(_: bytes) -> int:
        data = open_regular(header["path"], header["limit"])
        with open(1, "wb", closefd=False) as out:
            out.write(data)
        return 0

    return spawn({**header, "max_output": header["limit"] + 1}, payload, body, namespaced)


def do_write(header: Header, payload: bytes, namespaced: bool) -> Reply:
    """Write `files` ([path, size], ...), whose bytes follow each other in the payload."""

    def body(data: bytes) -> int:
        offset = 0
        for path, size in header["files"]:
            os.makedirs(os.path.dirname(path) or "/", exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
            with open(os.open(path, flags, 0o644), "wb") as file:
                file.write(data[offset : offset + size])
            offset += size
        return 0

    return spawn(header, payload, body, namespaced)


def walk(root: str) -> list[tuple[str, str, int]]:
    """(path below root, kind, size) of everything below it, links not followed, at most MAX_ENTRIES."""
    entries = []
    for folder, folders, files in os.walk(root):
        for name in sorted(folders) + sorted(files):
            full = os.path.join(folder, name)
            info = os.lstat(full)
            kind = {stat.S_IFREG: "file", stat.S_IFDIR: "dir", stat.S_IFLNK: "link"}.get(
                stat.S_IFMT(info.st_mode), "other"
            )
            entries.append((os.path.relpath(full, root), kind, info.st_size))
            if len(entries) >= MAX_ENTRIES:
                return sorted(entries)
    return sorted(entries)


def shown(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def do_list(header: Header, payload: bytes, namespaced: bool) -> Reply:
    """JSON list of [relative path, kind, size] below `path`, links not followed."""

    def body(_: bytes) -> int:
        entries = [(shown(path), kind, size) for path, kind, size in walk(header["path"])]
        os.write(1, json.dumps(entries).encode())
        return 0

    return spawn({**header, "max_output": 1 << 22}, payload, body, namespaced)


def do_download(header: Header, payload: bytes, namespaced: bool) -> Reply:
    """A folder in one answer: 4 bytes length, JSON [path, kind, size, bytes that follow or -1], the bytes.

    Regular files only, as many as the caps allow: `files`, `file_bytes`, `total_bytes`.
    """

    def body(_: bytes) -> int:
        rows: list[tuple[str, str, int, int]] = []
        contents: list[bytes] = []
        used = 0
        for path, kind, size in walk(header["path"]):
            data = None
            room = len(contents) < header["files"] and used + size <= header["total_bytes"]
            if kind == "file" and room and size <= header["file_bytes"]:
                with contextlib.suppress(OSError):
                    data = open_regular(os.path.join(header["path"], path), header["file_bytes"])
            if data is not None:
                contents.append(data)
                used += len(data)
            rows.append((shown(path), kind, size, -1 if data is None else len(data)))
        listing = json.dumps(rows).encode()
        with open(1, "wb", closefd=False) as out:
            out.write(struct.pack(">I", len(listing)) + listing)
            out.writelines(contents)
        return 0

    return spawn({**header, "max_output": header["total_bytes"] + (1 << 22)}, payload, body, namespaced)


def empty(folder: str) -> None:
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if os.path.isdir(path) and not os.path.islink(path):
            with contextlib.suppress(OSError):
                os.chmod(path, 0o700)
            shutil.rmtree(path)
        else:
            os.unlink(path)


def fingerprint() -> list[Any]:
    """What an agent could have changed about this process; a difference retires the sandbox."""
    names = sorted(name for name in dir(resource) if name.startswith("RLIMIT_"))
    limits = [resource.getrlimit(getattr(resource, name)) for name in names]
    scheduling = [os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0)]
    return [limits, sorted(os.sched_getaffinity(0)), scheduling]


def do_reset(header: Header, payload: bytes, namespaced: bool) -> Reply:
    """Kill every process, empty the writable folders; `clean` says whether the sandbox may be used again."""
    end_all(namespaced, 0)
    problems = ["processes left"] if namespaced and process_ids() else []
    for folder in header["folders"]:
        try:
            empty(folder)
        except OSError as error:
            problems.append(f"{folder}: {error.strerror}")
    if fingerprint() != START:
        problems.append("the limits of the sandbox were changed")
    return {"clean": not problems, "problems": problems}, b""


OPERATIONS = {
    "run": do_run,
    "call": do_call,
    "read": do_read,
    "write": do_write,
    "list": do_list,
    "download": do_download,
    "reset": do_reset,
}
START = fingerprint()


def clean_library_path() -> None:
    """Keep only entries that exist inside: the launcher's own folder is of no use to the agent."""
    kept = [p for p in os.environ.pop("LD_LIBRARY_PATH", "").split(":") if p and os.path.isdir(p)]
    if kept:
        os.environ["LD_LIBRARY_PATH"] = ":".join(kept)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    set_dumpable(0)
    options = json.loads(sys.argv[1])
    for name in options["preload"]:
        module = importlib.import_module(name)
        getattr(module, "warm_up", lambda: None)()
    gc.collect()
    gc.freeze()
    clean_library_path()
    requests, replies = os.dup(0), os.dup(1)
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    write_frame(replies, {"ready": True, "pid": os.getpid()})
    while True:
        try:
            header, payload = read_frame(requests)
        except EOFError:
            return
        try:
            reply, data = OPERATIONS[header["op"]](header, payload, options["namespaced"])
        except Exception as error:
            reply, data = {"error": f"{type(error).__name__}: {error}"}, b""
        write_frame(replies, reply, data)


if __name__ == "__main__":
    main()
