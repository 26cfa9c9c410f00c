#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# CPU time of the tester's box and probes of the server's side. In real time: /proc/stat is the kernel's, and a probe is
# beside the run in a thread and processes of its own.

import json
import os

from harness import ddiperf, main, test, timing
from loop import ring


def probed(**probe):
    return ddiperf(json.dumps({**json.loads(ring(run={"duration": "1200ms", "interval": "200ms"})), "dut": {"probe": probe}}))


def seen(result):
    """[{name: value}] of the intervals that have figures of the probe."""
    return [{one["name"]: one["value"] for one in i["dut"]["figures"]} for i in result.json["intervals"] if "dut" in i]


@test
def the_boxes_of_both_sides_are_measured():
    result = probed(command="cat /proc/stat")
    cpu, dut = result.json["cpu"], result.json["dut"]
    assert cpu["method"] == "proc_stat" and cpu["cpus"] == dut["cpus"] == os.cpu_count(), (cpu, dut)
    rate = result.item("queries")["answered_per_s"]
    assert 0 < cpu["used"] <= 1 and abs(cpu["us_per_transaction"] - cpu["used"] * cpu["cpus"] * 1e6 / rate) < 1, cpu
    assert dut["failures"] == 0, dut
    shares = [figures["used"] for figures in seen(result)]
    assert all(0 <= share <= 1 for share in shares), shares
    timing(dut["samples"] >= 2 and shares, dut)


@test
def a_probe_that_hangs_delays_nothing_and_is_said():
    result = probed(command="sleep 60", timeout="100ms")
    dut = result.json["dut"]
    assert dut["samples"] == 0 and dut["failures"] >= 1 and dut["used"] is None, dut
    assert "no end after" in result.stderr and not seen(result), result
    assert result.item("queries")["sent"] + result.item("queries")["unsent"] == 2400, result


main()
