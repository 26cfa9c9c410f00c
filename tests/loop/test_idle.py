#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# host.idle: sleep. A worker that waits for its next send leaves its CPU to others, and still sends in time; whoever has
# something in flight stays awake. In real time, as the kernel puts it to sleep.

import resource
import tempfile
from pathlib import Path

from harness import main, test, timing
from loop import item, sent_to_file

LAG_NS = 2e5


def cpu_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def slow(timeout, sends):
    """(CPU seconds of the whole program, result, worker) of so many sends, ten a second, that nobody answers."""
    before = cpu_s()
    with tempfile.TemporaryDirectory() as folder:
        result, packets = sent_to_file(
            Path(folder), item(load={"rate": "10", "total": str(sends)}, timeout=timeout), host={"idle": "sleep"})
    one = result.item("queries")
    assert one["due"] == one["sent"] == one["lost"] == len(packets) == sends, result
    return cpu_s() - before, result, result.json["workers"][0]


@test
def a_worker_sleeps_until_its_next_send_unless_an_answer_may_come():
    used, result, worker = slow("5ms", 10)
    one, measured_s = result.item("queries"), result.json["run"]["measured_s"]
    # On a box that others use too, a worker that polls may get little of its CPU; so it is not compared with one.
    timing(worker["slept_s"] > 0.5 and used < 0.5 * measured_s, (used, measured_s, worker))
    # What the box itself took is in the longest pass.
    timing(one["send_lag"]["max_ns"] < LAG_NS + worker["max_gap_ns"], (one, worker))
    _, _, worker = slow("150ms", 6)
    assert worker["slept_s"] < 0.1, worker


main()
