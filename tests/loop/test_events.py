#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Things that happen during a run, and counters of the server's machine around it.

import json

from harness import EXIT, ddiperf, main, test
from loop import RELAXED, item, ring


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


main()
