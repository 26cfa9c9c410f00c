# SPDX-License-Identifier: BSD-3-Clause
"""A row of the table of goals, and the table as text, Markdown and JSON."""

from dataclasses import asdict, dataclass, field

COLUMNS = ("what", "goal", "measured", "ratio", "verdict")


@dataclass
class Outcome:
    """One line. ratio: to the goal's own yardstick; met: None without a goal."""

    what: str
    measured: str
    goal: str = ""
    ratio: float | None = None
    met: bool | None = None
    skipped: str = ""  # why there is no figure
    broken: str = ""   # what went wrong
    samples: dict = field(default_factory=dict)
    row: str = ""

    def verdict(self):
        if self.broken:
            return f"broken: {self.broken}"
        if self.skipped:
            return f"skipped: {self.skipped}"
        return "-" if self.met is None else "met" if self.met else "missed"

    def cells(self):
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}"
        return (self.what, self.goal, self.measured, ratio, self.verdict().replace("|", "/"))

    def document(self):
        return {**asdict(self), "verdict": self.verdict()}


def at_most(what, measured, ratio, limit, goal, **more):
    return Outcome(what, measured, goal, ratio, ratio <= limit, **more)


def at_least(what, measured, ratio, limit, goal, **more):
    return Outcome(what, measured, goal, ratio, ratio >= limit, **more)


def head(machine, repeats):
    return (f"{machine['cpu']}, {machine['cpus']} CPUs, Linux {machine['kernel']}, commit {machine['commit']}, "
            f"seed {machine['seed']}, median of {repeats}")


def line(cells):
    """For people at a terminal, each line as soon as it is known."""
    widths = (58, 18, 42, 7)
    return "  ".join([*(f"{cell:{width}}" for cell, width in zip(cells, widths)), cells[-1]]).rstrip()


def markdown(outcomes, machine, repeats):
    rows = [COLUMNS, ("---",) * len(COLUMNS), *(one.cells() for one in outcomes)]
    return f"{head(machine, repeats)}\n\n" + "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def replace(text, table, name="measured"):
    """The document with the table between its two marks."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    before, _, rest = text.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"no lines {begin.strip()} and {end.strip()}")
    return before + begin + table + end + after
