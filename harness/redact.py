"""Secrets never reach a record: every text that is written goes through a Redactor first."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote

SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH(?!OR))", re.IGNORECASE)
MIN_LENGTH = 8
PATTERN = re.compile(
    r"(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{30,}|AKIA[0-9A-Z]{16}|xox[abpr]-[A-Za-z0-9-]{20,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*-----END [A-Z ]*PRIVATE KEY-----"
)
MARK = "[redacted]"


def forms(secret: str) -> set[str]:
    """The ways a secret may stand in a text: raw, JSON-escaped, URL-encoded, base64, hex."""
    raw = secret.encode()
    encoded = [base64.b64encode(raw).decode(), *(inner_base64(raw, before) for before in range(3))]
    return {
        secret,
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        quote(secret, safe=""),
        raw.hex(),
        raw.hex().upper(),
        *encoded,
        *(text.replace("+", "-").replace("/", "_") for text in encoded),
    }


def inner_base64(raw: bytes, before: int) -> str:
    """What stays the same in base64 when `before` bytes (modulo 3) and any others stand around `raw`.

    So a key is found in the base64 of `user:key`, or of a line that holds it.
    """
    text = base64.b64encode(b"\0" * before + raw).decode()
    return text[-(-8 * before // 6) : 8 * (before + len(raw)) // 6]


class Redactor:
    """Replaces known secret values and texts of well-known secret shapes."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {form for secret in secrets if len(secret) >= MIN_LENGTH for form in forms(secret)}
        self._known = sorted(known, key=len, reverse=True)

    @classmethod
    def from_environment(cls, environ: Mapping[str, str], extra: Iterable[str] = ()) -> Redactor:
        """Secrets are the values of variables whose names say so, and what is given."""
        values = [value for name, value in environ.items() if SECRET_NAME.search(name)]
        return cls([*values, *extra])

    def text(self, value: str) -> str:
        for secret in self._known:
            if secret in value:
                value = value.replace(secret, MARK)
        return PATTERN.sub(MARK, value)

    def data(self, value: bytes) -> bytes:
        """The same for raw bytes; only known values, since a pattern could break a binary file."""
        for secret in self._known:
            raw = secret.encode()
            if raw in value:
                value = value.replace(raw, MARK.encode())
        return value
