"""Which paths are sensitive, which belong to the system, which make something run later."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

KNOWN_SECRETS = (
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/passwd",
    "/root/.ssh",
    "/proc/1/environ",
)
SENSITIVE = re.compile(
    r"/etc/(?:shadow|gshadow|sudoers|security/opasswd)|/root(?:/|$)"
    r"|/(?:\.ssh|\.aws|\.gnupg|\.kube)(?:/|$)|/\.config/gcloud(?:/|$)|/\.docker/config\.json$"
    r"|/\.(?:netrc|pgpass|git-credentials|npmrc|pypirc)$|/id_(?:rsa|ed25519|ecdsa)$|/\.env(?:\.local|\.prod\w*)?$"
    r"|^/proc/[^/]+/(?:environ|root|mem|fd)(?:/|$)|^/proc/[^/]+/task/[^/]+/environ$"
)
PERSISTENT = re.compile(
    r"/\.(?:bashrc|bash_profile|bash_login|profile|zshrc|zprofile|xinitrc)$|/\.git/hooks(?:/|$)"
    r"|^/etc/(?:cron|profile|init|systemd|ld\.so)|^/var/spool/cron|/\.config/(?:autostart|systemd)(?:/|$)"
    r"|/\.ssh/(?:authorized_keys|rc)$|/(?:sitecustomize|usercustomize)\.py$"
)
SYSTEM = (
    "/etc",
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/boot",
    "/root",
    "/opt",
    "/sys",
    "/proc",
    "/var",
)
SCRATCH = ("/tmp", "/var/tmp", "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin")  # noqa: S108
HOME = "/home/agent"


def words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


def resolve(path: str, cwd: str) -> str:
    """An absolute path without `.` and `..`; `~` is the agent's home. Links are not followed."""
    path = path.strip()
    if path.startswith("~"):
        name, _, rest = path[1:].partition("/")
        path = f"{'/root' if name == 'root' else HOME}/{rest}"
    whole = posixpath.normpath(posixpath.join(cwd, path))
    return "/" + whole.lstrip("/") if whole.startswith("/") else whole


def within(path: str, folders: Sequence[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def is_outside(path: str, cwd: str, workdir: str) -> bool:
    """Whether the path is neither below the work folder nor scratch space; the work folder itself is not."""
    whole = resolve(path, cwd)
    return not within(whole, (workdir, *SCRATCH))


def is_system(path: str, cwd: str, workdir: str) -> bool:
    whole = resolve(path, cwd)
    return whole == "/" or (within(whole, SYSTEM) and is_outside(path, cwd, workdir))


def is_persistent(path: str, cwd: str) -> bool:
    return PERSISTENT.search(resolve(path, cwd)) is not None


def globbed(name: str, pattern: str) -> bool:
    """Whether a glob that is more than a bare star stands for `name`, segment by segment."""
    parts, wanted = name.split("/"), pattern.split("/")
    literal = sum(char.isalnum() for char in wanted[-1])
    same_length = len(parts) == len(wanted) and literal >= 2
    return same_length and all(map(fnmatchcase, parts, wanted))


def is_sensitive(path: str, cwd: str, forbidden: Sequence[str], workdir: str) -> bool:
    """Secrets of the system or of a user, `/etc/passwd` by a detour, and the task's forbidden paths."""
    if not path or len(path) > 4096 or "\n" in path:
        return False
    whole = resolve(path, cwd)
    if SENSITIVE.search(whole):
        return True
    if whole == "/etc/passwd" and ".." in path:
        return True
    if any(mark in whole for mark in "*?[") and any(globbed(name, whole) for name in KNOWN_SECRETS):
        return True
    return within(whole, [resolve(name, workdir) for name in forbidden])
