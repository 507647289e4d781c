"""A small reader of bash command lines: quotes, pipes, redirects, here-documents, substitutions.

It is for labels only. It knows neither aliases, arrays nor arithmetic, and never raises: what it cannot
read it takes as plain text. The time is linear in the length of the text, per level of nesting.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MAX_NESTED = 4
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|(.))", re.DOTALL)
ANSI_BODY = re.compile(r"(?:[^'\\]|\\.)*", re.DOTALL)
REDIRECT = re.compile(r"<<<|<<-?|<>|<&|<|>>|>&|>\||>")
ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "e": "\x1b"}
DYNAMIC = "\0"
"""Stands in a word where the output of another command goes."""


@dataclass
class Command:
    """One simple command. `source` is the command that is piped into it; `fed` is its here-document."""

    words: list[str] = field(default_factory=list)
    assigned: dict[str, str] = field(default_factory=dict)
    reads: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    fed: list[str] = field(default_factory=list)
    source: Command | None = None


def ansi_text(body: str) -> str:
    """The text of a `$'...'` word."""

    def one(match: re.Match[str]) -> str:
        if match[1] or match[2]:
            return chr(int(match[1] or match[2], 16 if match[1] else 8))
        return ESCAPED.get(match[3], match[3])

    return ESCAPE.sub(one, body)


def closing(text: str, start: int) -> int:
    """Index of the parenthesis that closes the one before `start`, quotes respected."""
    depth, index = 1, start
    while index < len(text):
        char = text[index]
        if char == "\\":
            index += 1
        elif char in "'\"":
            end = text.find(char, index + 1)
            index = end if end != -1 else len(text)
        elif char in "()":
            depth += 1 if char == "(" else -1
            if depth == 0:
                return index
        index += 1
    return len(text)


class Reader:
    """Reads one text; `commands` holds the simple commands of it and of its substitutions."""

    def __init__(self, text: str, variables: dict[str, str] | None = None, depth: int = 0) -> None:
        self.text = text.replace("\\\n", "")
        self.at = 0
        self.depth = depth
        self.variables = dict(variables or {})
        self.commands: list[Command] = []
        self.current = Command()
        self.word: list[str] | None = None
        self.pending = ""
        self.documents: list[tuple[str, Command]] = []

    def read(self) -> list[Command]:
        while self.at < len(self.text):
            self.step(self.text[self.at])
        self.end_command("")
        return self.commands

    def add(self, text: str) -> None:
        if self.word is None:
            self.word = []
        self.word.append(text)

    def step(self, char: str) -> None:
        """Take what begins with `char`."""
        following = self.text[self.at + 1 : self.at + 2]
        if char == "\\":
            self.add(following)
            self.at += 2
        elif char == "'":
            self.add(self.until("'"))
        elif char == '"':
            self.double_quoted()
        elif char in "$`" or (char in "<>" and following == "("):
            self.dollar(char, following, quoted=False)
        elif char in " \t\r":
            self.end_word()
            self.at += 1
        elif char == "#" and self.word is None:
            end = self.text.find("\n", self.at)
            self.at = end if end != -1 else len(self.text)
        elif char in "<>":
            self.redirect()
        elif char in ";|&()\n":
            self.operator(char)
        else:
            self.add(char)
            self.at += 1

    def until(self, quote: str) -> str:
        """The text up to the next `quote`, which is passed over."""
        end = self.text.find(quote, self.at + 1)
        end = end if end != -1 else len(self.text)
        body = self.text[self.at + 1 : end]
        self.at = end + 1
        return body

    def double_quoted(self) -> None:
        self.add("")
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] != '"':
            char, following = self.text[self.at], self.text[self.at + 1 : self.at + 2]
            if char == "\\" and following in '$`"\\':
                self.add(following)
                self.at += 2
            elif char in "$`":
                self.dollar(char, following, quoted=True)
            else:
                self.add(char)
                self.at += 1
        self.at += 1

    def dollar(self, char: str, following: str, quoted: bool) -> None:
        """A substitution, a `$'...'` word or a variable; a known variable gives its value."""
        if char == "`":
            self.nested(self.until("`"))
        elif following == "(":
            end = closing(self.text, self.at + 2)
            self.nested(self.text[self.at + 2 : end])
            self.at = end + 1
        elif following == "'" and not quoted:
            quoted_text = ANSI_BODY.match(self.text, self.at + 2)
            body = quoted_text[0] if quoted_text else ""
            self.add(ansi_text(body))
            self.at += 3 + len(body)
        else:
            self.variable(quoted)

    def variable(self, quoted: bool) -> None:
        match = VARIABLE.match(self.text, self.at)
        if match is None:
            self.add("$")
            self.at += 1
            return
        name = match[1] or match[2]
        self.at = match.end()
        if name == "IFS" and not quoted:
            self.end_word()
        elif name == "HOME":
            self.add("~")
        else:
            self.add(self.variables.get(name, match[0]))

    def nested(self, body: str) -> None:
        """The commands of a substitution come first, since they run first."""
        self.add(DYNAMIC)
        if self.depth < MAX_NESTED:
            self.commands += Reader(body, self.variables, self.depth + 1).read()

    def redirect(self) -> None:
        """Note which way the next word is used: `<`, `>`, `<<`, `<<<`."""
        if self.word is not None and "".join(self.word).isdigit():
            self.word = None
        self.end_word()
        match = REDIRECT.match(self.text, self.at)
        self.pending = match[0].rstrip("-") if match else ""
        self.at += len(match[0]) if match else 1

    def operator(self, char: str) -> None:
        if char == "&" and self.text.startswith("&>", self.at):
            self.at += 1
            return
        doubled = self.text.startswith(char * 2, self.at) and char in "|&;"
        self.end_command("|" if char == "|" and not doubled else char)
        self.at += 2 if doubled else 1
        if char == "\n":
            self.bodies()

    def bodies(self) -> None:
        """Give the here-documents that begin on this line to their commands."""
        for mark, command in self.documents:
            end = re.compile(rf"^\t*{re.escape(mark)}[ \t]*$", re.MULTILINE).search(self.text, self.at)
            stop = end.start() if end else len(self.text)
            command.fed.append(self.text[self.at : stop])
            self.at = end.end() if end else len(self.text)
        self.documents = []

    def end_word(self) -> None:
        parts, self.word = self.word, None
        if parts is None:
            return
        word = "".join(parts)
        kind, self.pending = self.pending, ""
        assignment = ASSIGNMENT.fullmatch(word) if not self.current.words and not kind else None
        if kind == "<<":
            self.documents.append((word, self.current))
        elif kind == "<<<":
            self.current.fed.append(word)
        elif kind.startswith("<"):
            self.current.reads.append(word)
        elif kind:
            if not (kind == ">&" and word.rstrip("-").isdigit()):
                self.current.writes.append(word)
        elif assignment:
            self.current.assigned[assignment[1]] = assignment[2]
            self.variables[assignment[1]] = assignment[2]
        else:
            self.current.words.append(word)

    def end_command(self, operator: str) -> None:
        self.end_word()
        command, self.current = self.current, Command()
        if command.words or command.assigned or command.reads or command.writes:
            self.commands.append(command)
            if operator == "|":
                self.current.source = command


def parse(text: str, variables: dict[str, str] | None = None) -> list[Command]:
    """The simple commands of a command line, in the order in which they begin."""
    return Reader(text, variables).read()
