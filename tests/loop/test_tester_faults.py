#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# The tester without its CPU. In real time, as other processes have the CPU. What follows exactly from a gap, and from a stop
# of the whole program, is in tests/stepped/test_tester_faults.py.

from harness import EXIT, check_ledger, ddiperf, main, test
from loop import cpus, hogs, ring


@test
def a_polling_worker_without_its_cpu_makes_the_run_invalid_and_one_that_sleeps_does_not():
    cpu, other = cpus()
    text = ring(tester={"cpus": cpu}, dut={"cpus": other}, run={"duration": "1s"},
                validity={"send_lag_p99": "1h", "unsent": "100%"})
    with hogs(cpu):
        result = ddiperf(text, "--set", "host.idle=poll", invalid=True)
        slept = ddiperf(text)
    worker, one = result.json["workers"][0], result.item("queries")
    check_ledger(one)
    assert worker["cpu"] == cpu and worker["passes"]["max_ns"] == worker["max_gap_ns"], worker
    assert worker["gaps_over_1ms"] > 5 and worker["stolen_s"] > 0.1 and worker["max_gap_ns"] > 1e6, worker
    assert result.code == EXIT["invalid"] and result.json["verdict"]["invalid_by"] == "disturbance", result
    assert result.json["verdict"]["disturbed"] > 0.1, result
    assert slept.code == 0 and slept.item("queries")["answered"] == slept.item("queries")["due"], slept


main()
