# SPDX-License-Identifier: BSD-3-Clause
"""Exceptions, each with the message of the program or of the server."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterable

if TYPE_CHECKING:
    from .result import Result

_PLACE = re.compile(r"(?P<file>.*?):(?P<line>\d+):(?P<column>\d+): (?P<text>.*)")
_PATH = re.compile(r"([a-z]\w*(?:\.[\w-]+|\[\d+\])*): ")


@dataclass(frozen=True)
class Problem:
    """One error of a configuration. Line and column count from 1; 0: it has no place, such as one of a setting."""

    text: str
    line: int = 0
    column: int = 0
    file: str = ""

    @property
    def path(self) -> str:
        """The setting, such as "run.duration"; empty: the program names none."""
        found = _PATH.match(re.sub(r"^--set \S*: ", "", self.text))
        return found[1] if found else ""

    def __str__(self) -> str:
        place = [self.file] if self.file else []
        place += [str(self.line), str(self.column)] if self.line else []
        return ":".join([*place, f" {self.text}"]) if place else self.text

    @classmethod
    def of_line(cls, line: str) -> Problem:
        """FILE:1:7: TEXT, or a text alone."""
        if found := _PLACE.fullmatch(line):
            return cls(found["text"], int(found["line"]), int(found["column"]), found["file"])
        return cls(line.removeprefix("ddiperf: "))

    @classmethod
    def of_json(cls, one: dict[str, Any]) -> Problem:
        return cls(str(one.get("text", "")), int(one.get("line", 0)), int(one.get("column", 0)))


class DdiperfError(Exception):
    """Any of the errors below. exit_code: the program's, where one ended."""

    def __init__(self, message: str, exit_code: int | None = None):
        super().__init__(message)
        self.message, self.exit_code = message, exit_code


class ConfigError(DdiperfError):
    """The configuration or a setting is wrong; problems has all errors."""

    def __init__(self, problems: Iterable[Problem], exit_code: int | None = 2):
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)), exit_code)


class ProgramError(DdiperfError):
    """The program ended without a result: see exit_code and the message."""


class VerdictError(DdiperfError):
    """A result that is not a pass; raised by Result.require() only."""

    def __init__(self, result: Result):
        self.result = result
        super().__init__("\n".join([f"ddiperf: {result.verdict.status}", *result.verdict.reasons]), result.exit_code)


class ServerError(DdiperfError):
    """The server refused a request; status: of HTTP."""

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = status


class AccessError(ServerError):
    """The token is wrong or missing, or the server has another name."""


class NotFoundError(ServerError):
    """There is no such run, file or result."""


class RefusedError(ServerError):
    """Not now: the port is in use, the run has ended, or too many runs are in progress."""


class ConnectionLost(DdiperfError, ConnectionError):
    """The server cannot be reached, or ended while it was followed."""


class Timeout(DdiperfError, TimeoutError):
    """The run did not end in time, or the server did not reply in time."""
