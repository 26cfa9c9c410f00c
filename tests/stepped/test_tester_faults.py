#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# The tester at fault without a network: too little CPU, stopped, out of buffers, slots or room. Each fault is counted
# under its name, and beyond the bounds the run is INVALID and says why.

import contextlib
import json
import signal
import time

from harness import EXIT, Result, binary, check_ledger, config_file, ddiperf, kill, main, nightly, start, test
from loop import RELAXED, cpus, hogs, item, ring


def strained(text, hogged=None):
    """The result of a run that may be INVALID: it has only a share of that CPU, or asks for too much."""
    with hogs(hogged) if hogged is not None else contextlib.nullcontext():
        return ddiperf(text, invalid=True)


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


def slow_server(one, tester=None):
    """The result of a run whose responder is given too little CPU to keep up with the tester."""
    cpu, other = cpus()
    text = ring(one, tester={"cpus": other, **(tester or {})}, dut={"cpus": cpu}, validity={}, run={"duration": "1s"})
    return strained(text, cpu)


def says(result, words):
    reasons = result.json["verdict"]["reasons"]
    return any(words in reason for reason in reasons) and words in result.stdout


@test
def a_run_that_nothing_disturbs_is_limited_by_nothing():
    result = ddiperf(ring(validity={}))
    assert result.code == 0 and result.json["verdict"]["limited_by"] == "none", result
    host, worker = result.json["run"]["host"], result.json["workers"][0]
    assert host["clock_deviation"] < 0.001, host
    assert worker["passes"]["count"] > 1000 and worker["passes"]["p50_ns"] < 1e6, worker
    assert worker["max_gap_ns"] >= worker["passes"]["p9999_ns"], worker
    assert all(port["link_downs"] == 0 for port in result.json["ports"]), result.json["ports"]


@test
def a_worker_without_its_cpu_is_the_testers_fault():
    cpu, other = cpus()
    text = ring(tester={"cpus": cpu}, dut={"cpus": other}, run={"duration": "1s"},
                validity={"send_lag_p99": "1h", "unsent": "100%"})
    result = strained(text, cpu)
    worker, one = result.json["workers"][0], result.item("queries")
    check_ledger(one)
    assert worker["cpu"] == cpu and worker["passes"]["max_ns"] == worker["max_gap_ns"], worker
    assert worker["gaps_over_1ms"] > 10 and 0.2 < worker["stolen_s"] <= 1 and worker["max_gap_ns"] > 1e6, worker
    assert result.code == EXIT["invalid"] and says(result, "did not have its CPU"), result
    assert result.json["verdict"]["limited_by"] == "tester", result.json["verdict"]


@test
def a_responder_without_its_cpu_is_the_testers_fault():
    cpu, other = cpus()
    text = ring(item(timeout="1s"), tester={"cpus": other}, dut={"cpus": cpu}, run={"duration": "1s"},
                validity={"send_lag_p99": "1h", "unsent": "100%"})
    result = strained(text, cpu)
    responder, one = result.json["responder"], result.item("queries")
    check_ledger(one)
    assert responder["gaps_over_1ms"] > 10 and 0.2 < responder["stolen_s"] <= 3, responder
    assert result.code == EXIT["invalid"] and says(result, "the responder did not have its CPU"), result
    assert result.json["verdict"]["limited_by"] == "tester", result.json["verdict"]


@test
def what_was_lost_while_the_responder_was_stopped_is_the_testers_loss():
    cpu, other = cpus()
    # The bound alone would let it pass.
    text = ring(item(timeout="2ms"), tester={"cpus": other}, dut={"cpus": cpu}, run={"duration": "1s"},
                validity={**RELAXED, "stolen": "99%"})
    result = strained(text, cpu)
    one = result.item("queries")
    check_ledger(one)
    assert one["lost"] > 0 and result.json["responder"]["max_gap_ns"] > 2e6, result.json["responder"]
    assert result.code == EXIT["invalid"] and says(result, "longer than the timeout"), result


@test
def the_bound_for_stolen_time_is_a_setting():
    cpu, other = cpus()
    result = strained(ring(tester={"cpus": cpu}, dut={"cpus": other}), cpu)
    assert result.json["workers"][0]["gaps_over_1ms"] > 0, result
    assert result.code == 0, result


@test
def a_stop_of_the_whole_program_loses_nothing():
    text = ring(item(timeout="100ms"), run={"duration": "2s"}, validity={})
    result = stopped(text, 0.2, 0.3)
    one, worker = result.item("queries"), result.json["workers"][0]
    check_ledger(one)
    assert one["due"] == one["answered"] == 4000 and one["lost"] == 0, one
    # A signal takes a while to reach a busy thread.
    assert one["longest_gap_ns"] >= 290e6 and one["send_lag"]["max_ns"] >= 290e6, one
    assert worker["max_gap_ns"] >= 290e6 and worker["stolen_s"] >= 0.29, worker
    assert result.code == EXIT["invalid"] and says(result, "did not have its CPU"), result


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


@test
def what_was_due_before_the_end_and_could_not_be_sent_is_unsent():
    result = stopped(ring(run={"duration": "1s"}, validity={"send_lag_p99": "1h", "stolen": "100%"}), 0.5, 1)
    one = result.item("queries")
    check_ledger(one)
    assert 100 < one["unsent"] < 1000, one
    assert one["due"] == 2000 and one["lost"] == 0, one
    assert result.code == EXIT["invalid"] and says(result, "did not send"), result


@test
def room_that_the_device_did_not_have_is_counted():
    result = slow_server(item(load={"rate": "max"}))
    one = result.item("queries")
    check_ledger(one)
    assert one["lost"] == result.json["ports"][0]["rx_missed"], (one, result.json["ports"])
    assert result.json["ports"][0]["tx_refused"] > 0, result.json["ports"]


@nightly  # on two CPUs it is rarely judged, and takes all its tries
def answers_that_the_tester_was_too_slow_to_take_are_its_own_loss():
    cpu, other = cpus()
    one = item(load={"rate": "max"}, timeout="1s")
    result = strained(ring(one, tester={"cpus": cpu}, dut={"cpus": other, "tx_descriptors": 256}, run={"duration": "2s"},
                           validity={**RELAXED, "dropped": "0%"}), cpu)
    port, one = result.json["ports"][0], result.item("queries")
    check_ledger(one)
    assert port["rx_missed"] == one["lost"] and port["rx_missed_known"], (port, one)
    assert one["lost"] > 0, one
    assert result.code == EXIT["invalid"] and says(result, "rx_missed"), result
    assert result.json["verdict"]["limited_by"] == "tester", result.json["verdict"]


@test
def a_schedule_that_the_device_does_not_take_is_missed_and_says_so():
    result = strained(ring(item(load={"rate": "20M"}, timeout="20ms"), validity={}))
    one = result.item("queries")
    assert one["due"] == one["sent"] + one["unsent"] == 6000000, one
    assert one["unsent"] > 0 and result.code == EXIT["invalid"], one
    assert says(result, "did not send") and result.json["verdict"]["limited_by"] == "tester", result


@test
def buffers_that_were_not_there_are_counted():
    # What waits at the server is ours until it has looked at it: the pool is smaller than that queue.
    small = {"mbufs": 1024, "tx_descriptors": 4096}
    result = slow_server(item(load={"rate": "max"}), tester=small)
    one = result.item("queries")
    check_ledger(one)
    assert one["lost"] == result.json["ports"][0]["rx_missed"], result
    assert result.json["ports"][0]["tx_no_mbuf"] > 0, result


@test
def slots_that_were_all_in_use_are_counted_and_limit_the_run():
    load, source = {"rate": "max", "slots": 500}, {"ports": ["2000"]}  # fewer than the device takes at once
    result = strained(ring(item(load=load, source=source, timeout="2s"), run={"duration": "500ms"}, validity={}))
    one = result.item("queries")
    check_ledger(one)
    assert one["sent"] <= 65536, one
    assert one["no_slot"] > 0, one
    assert result.json["verdict"]["limited_by"] == "tester", result.json["verdict"]


@test
def a_closed_loop_is_never_limited_by_nothing():
    result = ddiperf(ring(item(load={"outstanding": 64})))
    assert result.json["verdict"]["limited_by"] in ("tester", "server"), result.json["verdict"]


main()
