#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Commands beside a run. In real time: a command of a shell takes time that no stepped clock knows.

import json

from harness import EXIT, ddiperf, main, test
from loop import ring


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


def event(result, name):
    """An event of the result and its only item."""
    one = next(one for one in result.json["events"] if one["name"] == name)
    return one, one["traffic"][0]


@test
def a_command_that_fails_makes_the_run_invalid():
    for command, timeout, outcome in (("exit 7", "10s", "exit status 7"), ("sleep 60", "200ms", "no end after 0.2 s")):
        result = ddiperf(ring(events=[{"at": "50ms", "run": command, "name": "x", "timeout": timeout}]))
        assert result.code == EXIT["invalid"] and f'event "x" failed: {outcome}' in result.stdout, result
        assert event(result, "x")[0]["failed"] and result.item("queries")["answered"] == 600, result


main()
