#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# The tester without its CPU, on a real machine: processes beside it, and signals that stop it. What follows exactly from a
# gap is in tests/stepped/test_tester_faults.py.

import json
import signal
import time

from harness import EXIT, Result, binary, check_ledger, config_file, ddiperf, kill, main, start, test
from loop import cpus, hogs, item, ring


def stopped(text, after, stop_s):
    """The result of a run that is stopped so long after its first interval was measured."""
    with config_file(text) as path:
        out = path.parent / "result.json"
        process = start([binary(), "run", str(path), "--json", str(out)])
        head = ""
        try:
            for line in process.stdout:
                head += line
                if " s  " in line and "queries" in line:
                    break
            time.sleep(after)
            kill(process, signal.SIGSTOP)
            time.sleep(stop_s)
            kill(process, signal.SIGCONT)
            rest, err = process.communicate(timeout=30)
        except BaseException:
            kill(process)
            process.communicate()
            raise
        return Result(process.returncode, json.loads(out.read_text()), head + rest, err, invalid=True)


# Needs other processes on its CPU.
@test
def a_worker_without_its_cpu_is_the_testers_fault():
    cpu, other = cpus()
    text = ring(tester={"cpus": cpu}, dut={"cpus": other}, run={"duration": "1s"},
                validity={"send_lag_p99": "1h", "unsent": "100%"})
    with hogs(cpu):
        result = ddiperf(text, invalid=True)
    worker, one = result.json["workers"][0], result.item("queries")
    check_ledger(one)
    assert worker["cpu"] == cpu and worker["passes"]["max_ns"] == worker["max_gap_ns"], worker
    assert worker["gaps_over_1ms"] > 5 and 0.1 < worker["stolen_s"] <= 1 and worker["max_gap_ns"] > 1e6, worker
    assert result.code == EXIT["invalid"] and result.json["verdict"]["limited_by"] == "tester", result


# Needs signals that stop all threads at once.
@test
def a_stop_of_the_whole_program_loses_nothing():
    result = stopped(ring(item(timeout="100ms"), run={"duration": "2s"}, validity={}), 0.2, 0.3)
    one, worker = result.item("queries"), result.json["workers"][0]
    check_ledger(one)
    assert one["due"] == one["answered"] == 4000 and one["lost"] == 0, one
    # A signal takes a while to reach a busy thread.
    assert one["longest_gap_ns"] >= 290e6 and one["send_lag"]["max_ns"] >= 290e6, one
    assert worker["max_gap_ns"] >= 290e6 and worker["stolen_s"] >= 0.29, worker
    assert result.code == EXIT["invalid"], result


# Needs signals that stop all threads at once.
@test
def a_program_that_is_stopped_again_and_again_still_declares_losses():
    responder = {"dns": {}, "faults": {"loss": {"every": 10}}}
    with config_file(ring(item(timeout="100ms"), run={"duration": "500ms"}, responder=responder, validity={})) as path:
        out = path.parent / "result.json"
        process = start([binary(), "run", str(path), "--json", str(out)])
        try:
            time.sleep(0.5)
            for _ in range(80):  # more than the run and its drain
                kill(process, signal.SIGSTOP)
                time.sleep(0.07)
                kill(process, signal.SIGCONT)
                time.sleep(0.015)
                if process.poll() is not None:
                    break
            process.communicate(timeout=30)
        finally:
            kill(process)
        one = json.loads(out.read_text())["traffic"][0]
    check_ledger(one)
    assert one["lost"] == one["sent"] // 10 > 0, one


main()
