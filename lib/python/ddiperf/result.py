# SPDX-License-Identifier: BSD-3-Clause
"""Results and progress as dataclasses. A member that is absent is 0, empty or None, and unknown members are ignored, so
results of other versions can be read. Each class has `raw`, the JSON that it was made of, and typed getters for the
rest of it: paths are those of `ddiperf list counters`."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Callable, Mapping, Type, TypeVar

from .errors import VerdictError

Json = Mapping[str, Any]

_NS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9}
_FACTOR = {"": 1, "%": 0.01, "k": 1e3, "M": 1e6, "G": 1e9, **_NS}
_BOUND = re.compile(r"(<=|>=|<|>)\s*([\d.]+)\s*([a-zA-Z%]*)$")


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _whole(value: Any) -> int | None:
    return int(value) if isinstance(value, (int, float)) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


# By the annotation of a field.
_READ: dict[str, Callable[[Any], Any]] = {
    "int": lambda value: _whole(value) or 0,
    "float": lambda value: _number(value) or 0.0,
    "str": lambda value: _text(value) or "",
    "bool": bool,
    "int | None": _whole,
    "float | None": _number,
    "str | None": _text,
    "tuple[str, ...]": _texts,
}

Some = TypeVar("Some", bound="Node")


@dataclass(frozen=True, kw_only=True)
class Node:
    """A part of a document."""

    raw: Json = field(repr=False, compare=False)

    @classmethod
    def read(cls: Type[Some], raw: Json, **known: Any) -> Some:
        """From JSON; known: members that are not there by their own name."""
        for one in fields(cls):
            if one.name != "raw" and one.name not in known:
                known[one.name] = _READ[str(one.type)](raw.get(one.name))
        return cls(raw=raw, **known)

    def get(self, path: str) -> Any:
        """The member at a path such as "traffic.queries.dns.rcode.NOERROR" or "workers[0].busy"; None: absent."""
        node: Any = self.raw
        for part in re.findall(r"[^.\[\]]+", path):
            if isinstance(node, list):
                named = (one for one in node if isinstance(one, dict) and one.get("name") == part)
                index = int(part) if part.isdigit() else len(node)
                node = next(named, node[index] if index < len(node) else None)
            else:
                node = node.get(part) if isinstance(node, dict) else None
        return node

    def figure(self, path: str) -> float | None:
        return _number(self.get(path))

    def counter(self, path: str) -> int:
        """A counter; a label that was never counted is 0."""
        return _whole(self.get(path)) or 0

    def text(self, path: str) -> str | None:
        return _text(self.get(path))


def _list(raw: Json, name: str) -> list[Any]:
    found = raw.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _dict(raw: Json, *names: str) -> dict[str, Any]:
    node: Any = raw
    for name in names:
        node = node.get(name) if isinstance(node, dict) else None
    return node if isinstance(node, dict) else {}


@dataclass(frozen=True, kw_only=True)
class Latency(Node):
    """None: no sample, too few of them, or the time falls among lost transactions."""

    count: int
    min_ns: int | None
    mean_ns: int | None
    stddev_ns: int | None
    p50_ns: int | None
    p90_ns: int | None
    p99_ns: int | None
    p999_ns: int | None
    p9999_ns: int | None
    max_ns: int | None


@dataclass(frozen=True, kw_only=True)
class Counts(Node):
    """One item of the traffic within an interval."""

    name: str
    due: int
    sent: int
    answered: int
    failed: int
    lost: int
    no_reply: int
    in_flight: int
    late: int
    duplicate: int
    stray: int
    malformed: int
    loss: float
    due_per_s: float
    sent_per_s: float
    answered_per_s: float
    response: Latency
    service: Latency
    send_lag: Latency

    @classmethod
    def read(cls: Type[Some], raw: Json, **known: Any) -> Some:
        latency = {name: Latency.read(_dict(raw, "latency", name)) for name in ("response", "service")}
        return super().read(raw, **latency, send_lag=Latency.read(_dict(raw, "send_lag")), **known)


@dataclass(frozen=True, kw_only=True)
class Item(Counts):
    """One item of the traffic, of the measured part of a run."""

    protocol: str
    port: str
    server: str | None
    loop: str
    unsent: int
    sending_s: float


@dataclass(frozen=True, kw_only=True)
class Criterion(Node):
    expression: str
    value: float | None
    passed: bool
    unit: str

    @property
    def bound(self) -> float | None:
        """In the unit of the value; None: not a plain number, or for equality."""
        found = _BOUND.search(self.expression)
        return float(found[2]) * _FACTOR[found[3]] if found and found[3] in _FACTOR else None

    @property
    def margin(self) -> float | None:
        """The distance of the value to the bound as a share of the bound; negative: not met. None: there is no bound
        above 0, or no value."""
        if not self.bound or self.value is None:
            return None
        distance = self.bound - self.value if "<" in self.expression else self.value - self.bound
        return distance / self.bound


@dataclass(frozen=True, kw_only=True)
class Verdict(Node):
    status: str
    exit_code: int
    limited_by: str
    cause: str | None
    invalid_by: str | None
    reasons: tuple[str, ...]
    criteria: tuple[Criterion, ...]

    @classmethod
    def of(cls, raw: Json) -> Verdict:
        criteria = (Criterion.read(one, passed=one.get("pass") is True) for one in _list(raw, "criteria"))
        return cls.read(raw, criteria=tuple(criteria))


@dataclass(frozen=True, kw_only=True)
class Goal(Node):
    goal: str
    answer: float | None
    upper: float | None
    answered_per_s: float | None
    limited_by: str


@dataclass(frozen=True, kw_only=True)
class Trial(Node):
    """verdict None: it is about to begin."""

    rate: float | None
    duration_s: float
    loss: float | None
    failed: float | None
    p50_ns: int | None
    p90_ns: int | None
    p95_ns: int | None
    p99_ns: int | None
    p999_ns: int | None
    answered_per_s: float | None
    verdict: str | None
    goals_met: int


@dataclass(frozen=True, kw_only=True)
class Search(Node):
    """answer: the highest value of the variable that meets the first goal; None: none does."""

    method: str
    variable: str
    answer: float | None
    goals: tuple[Goal, ...]
    trials: tuple[Trial, ...]

    @classmethod
    def of(cls, raw: Json) -> Search | None:
        if not raw:
            return None
        goals, trials = map(Goal.read, _list(raw, "goals")), map(Trial.read, _list(raw, "trials"))
        return cls.read(raw, goals=tuple(goals), trials=tuple(trials))


@dataclass(frozen=True, kw_only=True)
class Interval(Node):
    """number counts from 1 in a run in progress. warmup: not part of the result. last: the rest after the last whole one."""

    number: int
    t_s: float
    length_s: float
    ended_ns: int
    warmup: bool
    last: bool
    items: tuple[Counts, ...]

    @classmethod
    def of(cls, raw: Json) -> Interval:
        items = tuple(map(Counts.read, _list(raw, "traffic")))
        return cls.read(raw, items=items)

    def item(self, name: str) -> Counts:
        return _named(self.items, name)


Named = TypeVar("Named", bound=Counts)


def _named(items: tuple[Named, ...], name: str) -> Named:
    for one in items:
        if one.name == name:
            return one
    raise KeyError(f"no item {name!r}: there are {', '.join(one.name for one in items)}")


@dataclass(frozen=True, kw_only=True)
class Result(Node):
    id: str
    name: str
    version: str
    started: str
    measured_s: float
    verdict: Verdict
    items: tuple[Item, ...]
    intervals: tuple[Interval, ...]
    search: Search | None

    @classmethod
    def of(cls, raw: Json) -> Result:
        items = tuple(map(Item.read, _list(raw, "traffic")))
        intervals = tuple(map(Interval.of, _list(raw, "intervals")))
        run = {name: _text(_dict(raw, "run").get(name)) or "" for name in ("id", "name", "version", "started")}
        return cls(
            raw=raw, verdict=Verdict.of(_dict(raw, "verdict")), items=items, intervals=intervals,
            search=Search.of(_dict(raw, "search")), measured_s=_number(_dict(raw, "run").get("measured_s")) or 0.0, **run,
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """A document that `--json` wrote."""
        return cls.of(json.loads(Path(path).read_text()))

    def save(self, path: str | os.PathLike[str]) -> None:
        Path(path).write_text(json.dumps(self.raw))

    @property
    def exit_code(self) -> int:
        return self.verdict.exit_code

    @property
    def passed(self) -> bool:
        """All criteria hold, or nothing was to be judged."""
        return self.exit_code == 0

    def item(self, name: str) -> Item:
        return _named(self.items, name)

    def require(self) -> Result:
        """This result, if it is a pass; otherwise VerdictError with the reasons."""
        if not self.passed:
            raise VerdictError(self)
        return self


# --- a run in progress ---


@dataclass(frozen=True, kw_only=True)
class Begin(Node):
    """A run begins, or each run of a search or of repeats. run: from 1."""

    run: int
    warmup_s: float
    duration_s: float


@dataclass(frozen=True, kw_only=True)
class SearchProgress(Node):
    """Before and after each trial of a search; answer and upper are those known by then."""

    number: int
    trial: Trial
    answer: float | None
    upper: float | None


@dataclass(frozen=True, kw_only=True)
class Order(Node):
    """refused: why; None: it was accepted."""

    order: str
    refused: str | None


@dataclass(frozen=True, kw_only=True)
class End(Node):
    """The program has the verdict; its result may not be written yet."""

    run: int
    verdict: Verdict
    search: Search | None


@dataclass(frozen=True, kw_only=True)
class RunState(Node):
    """A run as the server knows it. status: running, ended or lost (its server was killed)."""

    id: str
    file: str
    status: str
    name: str | None
    started: str
    ended: str | None
    exit_code: int | None
    verdict: str | None
    said: str | None

    @property
    def running(self) -> bool:
        return self.status == "running"


Progress = Begin | Interval | SearchProgress | Order | End | RunState


def line_of(raw: Json) -> Progress | None:
    """None: a line of a later version."""
    if "begin" in raw:
        return Begin.read(raw, run=_whole(raw["begin"]) or 0)
    if "trial" in raw:
        return SearchProgress.read(raw, trial=Trial.read(raw), number=_whole(raw["trial"]) or 0)
    if "order" in raw:
        return Order.read(raw)
    if "end" in raw:
        result = _dict(raw, "result")
        search = Search.of(_dict(result, "search"))
        return End(raw=raw, run=_whole(raw["end"]) or 0, verdict=Verdict.of(_dict(result, "verdict")), search=search)
    return Interval.of(raw) if "t_s" in raw else None
