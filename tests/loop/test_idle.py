#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# host.idle. A worker that waits for its next send, or for a reply, leaves its CPU to others, and still sends in time.
# In real time, as the kernel puts it to sleep.

import json
import resource
import socket
import tempfile
from pathlib import Path

from harness import ddiperf, main, test, timing
from loop import item, sent_to_file

LAG_NS = 2e5


def cpu_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def slow(timeout, sends, idle="auto"):
    """(CPU seconds of the whole program, result, worker) of so many sends, ten a second, that nobody answers."""
    before = cpu_s()
    with tempfile.TemporaryDirectory() as folder:
        result, packets = sent_to_file(
            Path(folder), item(load={"rate": "10", "total": str(sends)}, timeout=timeout), host={"idle": idle})
    one = result.item("queries")
    assert one["due"] == one["sent"] == one["lost"] == len(packets) == sends, result
    return cpu_s() - before, result, result.json["workers"][0]


@test
def a_worker_sleeps_until_its_next_send():
    used, result, worker = slow("5ms", 10)
    one, measured_s = result.item("queries"), result.json["run"]["measured_s"]
    # On a box that others use too, a worker that polls may get little of its CPU; so it is not compared with one.
    timing(worker["slept_s"] > 0.5 and used < 0.5 * measured_s, (used, measured_s, worker))
    # What the box itself took is in the longest pass.
    timing(one["send_lag"]["max_ns"] < LAG_NS + worker["max_gap_ns"], (one, worker))
    assert worker["idle"] == "sleep", worker


@test
def with_something_in_flight_it_sleeps_too():
    """Over sockets a packet wakes it: of a server that never answers, none does."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        before = cpu_s()
        result = ddiperf(json.dumps({
            "run": {"duration": "2s", "warmup": "0s", "drain": "10ms"},
            "ports": [{"name": "lan", "driver": "socket"}],
            "traffic": [item(server="127.0.0.1", server_port=silent.getsockname()[1], timeout="5s", load={"rate": "100"})],
        }))
    worker, measured_s = result.json["workers"][0], result.json["run"]["measured_s"]
    assert result.item("queries")["in_flight"] == 200, result
    assert worker["idle"] == "sleep" and worker["cpu"] is None, worker
    timing(worker["slept_s"] > 0.7 * measured_s and cpu_s() - before < 0.5 * measured_s, (cpu_s() - before, worker))


@test
def it_polls_if_it_is_told_to():
    _, result, worker = slow("5ms", 3, idle="poll")
    assert worker["idle"] == "poll" and worker["slept_s"] == 0, worker


main()
