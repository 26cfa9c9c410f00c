#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# CPU time of the tester's box, probes of the server's side, and hooks around a run.

import json
import os
import tempfile
from pathlib import Path

from harness import EXIT, Result, binary, config_file, ddiperf, execute, main, test, timing
from loop import ring

RUN = {"duration": "1200ms", "interval": "200ms"}


def probed(probe, **sections):
    return ddiperf(json.dumps({**json.loads(ring(run=RUN, **sections)), "dut": {"probe": probe}}))


def seen(result):
    """[{name: value}] of the intervals that have figures of the probe."""
    return [{one["name"]: one["value"] for one in i["dut"]["figures"]} for i in result.json["intervals"] if "dut" in i]


@test
def the_testers_box_is_busy_with_polling():
    result = ddiperf(ring())
    cpu = result.json["cpu"]
    assert cpu["method"] == "proc_stat" and cpu["cpus"] == os.cpu_count(), cpu
    rate = result.item("queries")["answered_per_s"]
    assert 0 < cpu["used"] <= 1 and abs(cpu["us_per_transaction"] - cpu["used"] * cpu["cpus"] * 1e6 / rate) < 1, cpu


@test
def the_servers_box_is_asked_in_every_interval():
    result = probed({"command": "cat /proc/stat"})
    dut = result.json["dut"]
    assert dut["failures"] == 0 and dut["cpus"] == os.cpu_count(), dut
    shares = [figures["used"] for figures in seen(result)]
    assert all(0 <= share <= 1 for share in shares), shares
    timing(dut["samples"] >= 2 and shares, dut)


@test
def pairs_are_kept_by_name():
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        counter = f"echo x >> {folder}/n; echo asked=$(wc -l < {folder}/n); echo some text; echo load=0.5"
        result = probed({"command": counter, "format": "pairs"})
    dut = result.json["dut"]
    assert {one["name"]: one["value"] for one in dut["figures"]} == {"asked": dut["samples"], "load": 0.5}, dut
    asked = [figures["asked"] for figures in seen(result)]
    assert asked == sorted(asked) and len(set(asked)) == len(asked), asked
    timing(asked, dut)
    assert "asked" in result.stdout, result


@test
def a_probe_that_hangs_or_fails_delays_nothing_and_is_said():
    for command, timeout, words in (("sleep 60", "100ms", "no end after"), ("exit 3", "9s", "exit status 3"),
                                    ("echo hello", "9s", "not the text")):
        result = probed({"command": command, "timeout": timeout})
        dut = result.json["dut"]
        assert dut["samples"] == 0 and dut["failures"] >= 1 and dut["used"] is None, dut
        assert words in result.stderr and not seen(result), result
        assert result.item("queries")["sent"] + result.item("queries")["unsent"] == 2400, result


@test
def hooks_know_the_run_and_its_end():
    result, lines, out = run_with_hooks()
    document = result.json
    assert result.code == EXIT["fail"], document["verdict"]
    assert lines == [f"{document['run']['id']} test {out} ", "fail 1", "there"], lines


def run_with_hooks():
    with config_file("") as path:
        out, log = path.parent / "out.json", path.parent / "log"
        start = f'echo "$DDIPERF_RUN_ID $DDIPERF_RUN_NAME $DDIPERF_RESULT $DDIPERF_STATUS" > {log}'
        stop = f'echo "$DDIPERF_STATUS $DDIPERF_EXIT_CODE" >> {log}; test -s "$DDIPERF_RESULT" && echo there >> {log}'
        path.write_text(ring(hooks={"start": start, "stop": stop}, criteria=["answered_per_s >= 1G"]))
        code, text, err = execute([binary(), "run", str(path), "--json", str(out)])
        return Result(code, json.loads(out.read_text()), text, err), log.read_text().splitlines(), out


@test
def a_hook_that_fails_is_no_success():
    result = ddiperf(ring(hooks={"start": "echo no >&2; exit 3", "stop": "touch /nonexistent/x"}))
    assert result.code == EXIT["environment"] and not result.json and "exit status 3" in result.stderr, result
    result = ddiperf(ring(hooks={"stop": "exit 4"}))
    assert result.code == EXIT["environment"] and result.json["verdict"]["status"] == "done", result
    assert "hooks.stop: exit 4: exit status 4" in result.stderr, result


@test
def commands_are_for_the_owner_alone_and_the_configuration_can_stay_out():
    """Their text, which may hold a password, is in the result."""
    for shown, sections, mode in ((True, {"hooks": {"stop": "true"}}, 0o600),
                                  (False, {"hooks": {"start": "true"}}, 0o600),
                                  (True, {"dut": {"probe": {"command": "cat /proc/stat"}}}, 0o600),
                                  (False, {}, 0o644)):
        with config_file(json.dumps({**json.loads(ring()), "output": {"config": shown}, **sections})) as path:
            out = path.parent / "result.json"
            argv = ["sh", "-c", 'umask 022; exec "$@"', "sh", binary(), "run", str(path), "--json", str(out)]
            _, _, err = execute(argv)
            assert out.exists(), err
            assert out.stat().st_mode & 0o777 == mode, (sections, oct(out.stat().st_mode))
            assert ("config" in json.loads(out.read_text())) == shown, sections


@test
def what_hooks_print_stays_out_of_the_json():
    with config_file(ring(hooks={"start": "echo hello"})) as path:
        code, stdout, stderr = execute([binary(), "run", str(path), "--json", "-"])
    assert json.loads(stdout)["schema"] and "hello" in stderr, (code, stdout, stderr)


main()
