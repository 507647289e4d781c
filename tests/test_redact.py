"""The redactor: a known secret is found in each form it may take, and nothing else is touched."""

from __future__ import annotations

import base64
import json
import subprocess
from urllib.parse import quote

import pytest

from harness.redact import MARK, Redactor

SECRET = 'k/3+"canary" é~42'
OTHER = "another-canary-9f27"


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        json.dumps({"key": SECRET}),
        json.dumps({"key": SECRET}, ensure_ascii=False),
        f"https://host/?key={quote(SECRET, safe='')}&x=1",
        SECRET.encode().hex(),
        SECRET.encode().hex().upper(),
    ],
    ids=["raw", "JSON", "JSON in UTF-8", "URL", "hex", "HEX"],
)
def test_a_secret_is_found_in_each_form(text: str) -> None:
    clean = Redactor([SECRET]).text(f"before {text} after")
    assert clean.startswith("before ")
    assert clean.endswith(" after")
    assert MARK in clean
    for trace in ("canary", "63616e617279"):
        assert trace not in clean.lower()


@pytest.mark.parametrize("before", ["", "u", "us", "user:", "Authorization: Bearer "])
@pytest.mark.parametrize("after", ["", "\n", "\n\n", " and more"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_secret_is_found_in_the_base64_of_a_line_that_holds_it(
    before: str, after: str, encode: object
) -> None:
    coded = encode((before + SECRET + after).encode()).decode()  # type: ignore[operator]
    clean = Redactor([SECRET]).text(f"<{coded}>")
    assert MARK in clean
    left = clean.strip("<>").split(MARK)
    # At most one letter at each end stands for bits of the secret; the rest is what stood around it.
    around = len(base64.b64encode(before.encode())) + len(base64.b64encode(after.encode()))
    assert sum(map(len, left)) <= around + 6


@pytest.mark.parametrize("program", ["base64", "od -An -v -tx1 | tr -d ' \\n'"])
def test_a_program_that_encodes_the_secret_does_not_hide_it(program: str) -> None:
    """The forms are those of real programs, not of our own code. `echo` adds a line end."""
    command = ["bash", "-c", f"echo {OTHER} | {program}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert OTHER not in done.stdout
    assert MARK in Redactor([OTHER]).text(done.stdout)


def test_bytes_are_redacted_too_and_other_bytes_stay() -> None:
    blob = b"\x00\xff" + OTHER.encode() + b"\xfe" + base64.b64encode(OTHER.encode())
    clean = Redactor([OTHER]).data(blob)
    assert clean == b"\x00\xff" + MARK.encode() + b"\xfe" + MARK.encode()
    assert Redactor([OTHER]).data(b"\x00\xffplain") == b"\x00\xffplain"


def test_the_longer_of_two_secrets_is_replaced_whole() -> None:
    assert Redactor(["abcdefgh", "abcdefgh-ijklmnop"]).text("x abcdefgh-ijklmnop y") == f"x {MARK} y"


@pytest.mark.parametrize(
    "name",
    ["OPENAI_API_KEY", "github_token", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "PROXY_AUTH", "X_CREDENTIALS"],
)
def test_variables_whose_names_say_so_are_secrets(name: str) -> None:
    assert Redactor.from_environment({name: OTHER}).text(f"it is {OTHER}") == f"it is {MARK}"


@pytest.mark.parametrize("name", ["HOME", "PATH", "GIT_AUTHOR_NAME", "XAUTHORITY", "LANG"])
def test_other_variables_are_no_secrets(name: str) -> None:
    assert Redactor.from_environment({name: OTHER}).text(f"it is {OTHER}") == f"it is {OTHER}"


def test_a_short_value_is_left_alone_because_it_would_stand_everywhere() -> None:
    assert Redactor.from_environment({"API_KEY": "none"}).text("none of them") == "none of them"


@pytest.mark.parametrize(
    "token",
    [
        "sk-proj-Ab12Cd34Ef56Gh78Ij90",
        "ghp_" + "a1B2" * 9,
        "AKIAIOSFODNN7EXAMPLE",
        "xoxb-1234567890-abcdefghijkl",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_texts_of_well_known_shapes_are_redacted_without_being_known(token: str) -> None:
    assert Redactor().text(f"it is {token}.") == f"it is {MARK}."


@pytest.mark.parametrize(
    "text",
    [
        "risk-assessment-of-the-third-quarter",
        "disk-usage-report-by-department",
        "ask-the-person-who-wrote-this-rule",
        "commit 9478bd7 of 2024-05-01",
    ],
)
def test_ordinary_names_are_not_taken_for_keys(text: str) -> None:
    assert Redactor().text(text) == text
