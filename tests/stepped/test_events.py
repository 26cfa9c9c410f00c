#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Things that happen during a run, and counters of the server's machine around it.

import json

from harness import EXIT, ddiperf, main, test
from loop import item, ring


@test
def counters_of_the_server_stand_beside_the_loss():
    """With and without a warm-up; the command is one that counts its own runs."""
    for warmup in "0s", "100ms":
        text = json.loads(ring(run={"warmup": warmup}))
        text["dut"] = {"counters": {"command": "awk '/^ctxt/ {print $1, $2}' /proc/stat; echo same 3"}}
        result = ddiperf(json.dumps(text))
        dut = result.json["dut"]
        counters = {one["name"]: one["difference"] for one in dut["counters"]}
        assert set(counters) == {"ctxt", "same"} and counters["ctxt"] > 0 == counters["same"], dut
        assert dut["counters_s"] >= 0.2 and dut.get("command") is None, dut
        assert "server's counters" in result.stdout and "1 of 2 changed" in result.stdout, result


@test
def a_counters_command_that_fails_is_said_and_changes_nothing_else():
    text = json.loads(ring())
    text["dut"] = {"counters": {"command": "exit 3"}}
    result = ddiperf(json.dumps(text))
    assert result.json["dut"]["counters_error"] == "exit status 3", result
    assert "dut.counters: no differences: exit status 3" in result.stderr, result
    assert result.item("queries")["answered"] == 600, result


OUTAGE = {"off_at": "400ms", "on_at": "650ms"}


def event(result, name):
    """An event of the result and its only item."""
    one = next(one for one in result.json["events"] if one["name"] == name)
    return one, one["traffic"][0]


@test
def a_gap_is_measured_within_1_ms_of_the_outage():
    """The server's outage is known to the tester by its faults alone; the event names the moment."""
    text = ring(item(load={"rate": "20k"}, timeout="100ms"), run={"duration": "1s"}, responder={"dns": {}, "faults": {"outage": OUTAGE}},
                events=[{"at": "390ms", "run": "true", "name": "kill"}])
    result = ddiperf(text)
    one, after = event(result, "kill")
    assert one["exit_status"] == 0 and one["outcome"] == "exit status 0" and not one["failed"], one
    assert after["lost"] == result.item("queries")["lost"] and after["regained_s"] is not None, after
    assert abs(after["longest_gap_ns"] - 250e6) < 1e6 and abs(after["first_answer_ns"] - 260e6) < 1e6, after
    assert 0.3 <= after["regained_s"] <= 0.51 and abs(one["began_s"] - 0.39) < 0.01, one
    assert abs(after["lost"] - 5000) < 25, after
    at = [interval["events"] for interval in result.json["intervals"] if interval["events"]]
    assert at == [["kill"]] and "kill: exit status 0" in result.stdout, result


@test
def a_gap_that_does_not_end_has_no_first_answer_and_each_event_its_own_figures():
    text = ring(item(load={"rate": "20k"}, timeout="50ms"), run={"duration": "800ms"},
                responder={"dns": {}, "faults": {"outage": {"off_at": "600ms", "on_at": "9s"}}},
                events=[{"at": "200ms", "run": "true"}, {"at": "550ms", "run": "true", "name": "second"}])
    result = ddiperf(text)
    _, first = event(result, "true")
    _, second = event(result, "second")
    assert first["longest_gap_ns"] < 50e6 and first["lost"] == 0, first
    assert second["first_answer_ns"] is None and second["regained_s"] is None and second["lost"] > 3000, second
    assert abs(second["longest_gap_ns"] - 200e6) < 1e6, second


@test
def a_rate_changes_at_its_time():
    """To the transaction, over a warm-up too."""
    for warmup in "0s", "100ms":
        result = ddiperf(ring(item(load={"rate": "2k"}), run={"warmup": warmup, "duration": "600ms"}, events=[
            {"at": "200ms", "set": "traffic.queries.load.rate=10k"}, {"at": "400ms", "set": "traffic.queries.load.rate=1k"}]))
        assert result.item("queries")["due"] == 400 + 2000 + 200, result
        due = [interval["traffic"][0]["due"] for interval in result.json["intervals"][:6]]
        assert due == [200, 200, 1000, 1000, 100, 100], due


@test
def a_fault_changes_its_share_at_its_time():
    never = {"dns": {}, "faults": {"loss": {"share": "0.0000001%"}}}
    result = ddiperf(ring(item(load={"rate": "5k"}, timeout="200ms"), run={"duration": "600ms"}, responder=never, events=[
        {"at": "200ms", "set": "responder.faults.loss.share=50%", "name": "half"}, {"at": "400ms", "set": "responder.faults.loss.share=0%", "name": "none"}]))
    one = result.item("queries")
    lost = [interval["traffic"][0]["lost"] for interval in result.json["intervals"][:6]]
    # Lost at the end of a timeout: half of the 1000 that were due from 0.2 to 0.4 s.
    assert 200 < result.json["responder"]["faults"].get("loss", 0) < 800, result
    assert lost[:4] == [0, 0, 0, 0] and 400 < one["lost"] < 600, (lost, one)


@test
def a_command_that_fails_makes_the_run_invalid():
    for command, timeout, outcome in (("exit 7", "10s", "exit status 7"), ("sleep 60", "200ms", "no end after 0.2 s")):
        result = ddiperf(ring(events=[{"at": "50ms", "run": command, "name": "x", "timeout": timeout}]))
        assert result.code == EXIT["invalid"] and f'event "x" failed: {outcome}' in result.stdout, result
        assert event(result, "x")[0]["failed"] and result.item("queries")["answered"] == 600, result


main()
