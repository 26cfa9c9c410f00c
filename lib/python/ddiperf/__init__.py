# SPDX-License-Identifier: BSD-3-Clause
"""ddiperf from Python: run the program here, or on a server of `ddiperf serve`, and read its results (docs/python.md)."""

from .client import Client, Run
from .errors import (
    AccessError, ConfigError, ConnectionLost, DdiperfError, NotFoundError, Problem, ProgramError, RefusedError, ServerError,
    Timeout, VerdictError,
)
from .local import command, run
from .result import (
    Begin, Counts, Criterion, End, Goal, Interval, Item, Latency, Order, Progress, Result, RunState, Search, SearchProgress,
    Trial, Verdict,
)

__all__ = [
    "AccessError", "Begin", "Client", "ConfigError", "ConnectionLost", "Counts", "Criterion", "DdiperfError", "End", "Goal",
    "Interval", "Item", "Latency", "NotFoundError", "Order", "Problem", "ProgramError", "Progress", "RefusedError", "Result",
    "Run", "RunState", "Search", "SearchProgress", "ServerError", "Timeout", "Trial", "Verdict", "VerdictError", "command",
    "run",
]
