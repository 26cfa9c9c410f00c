#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Things that happen during a run, commands around it, and counters of the server's machine. A command takes no stepped
# time, and its end is waited for.

import json
import tempfile
from pathlib import Path

from harness import EXIT, binary, config_file, ddiperf, execute, main, test
from loop import item, ring

OUTAGE = {"off_at": "400ms", "on_at": "650ms"}


def event(result, name):
    """An event of the result and its only item."""
    one = next(one for one in result.json["events"] if one["name"] == name)
    return one, one["traffic"][0]


@test
def a_gap_is_measured_to_the_query():
    """The server's outage is known to the tester by its faults alone; the event names the moment."""
    text = ring(item(load={"rate": "20k"}, timeout="100ms"), run={"duration": "1s"}, responder={"dns": {}, "faults": {"outage": OUTAGE}},
                events=[{"at": "390ms", "run": "true", "name": "kill"}])
    result = ddiperf(text)
    one, after = event(result, "kill")
    assert one["exit_status"] == 0 and one["outcome"] == "exit status 0" and not one["failed"], one
    assert after["lost"] == result.item("queries")["lost"] == 5000 and one["began_s"] == 0.39, (one, after)
    # From the last answer before to the first one after: queries are 50 us apart, the first is due after 25 us.
    assert after["longest_gap_ns"] == 250e6 + 50e3 and after["first_answer_ns"] == 260e6 + 25e3 + 2000, after
    assert after["regained_s"] == 0.41, after  # in the interval that ends then
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
    assert first["longest_gap_ns"] == 0 and first["lost"] == 0, first
    assert second["first_answer_ns"] is None and second["regained_s"] is None and second["lost"] == 4000, second
    assert second["longest_gap_ns"] == 200e6 + 25e3 - 2000, second


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
    assert lost[:4] == [0, 0, 0, 0] and one["lost"] == result.json["responder"]["faults"]["loss"], (lost, one)
    assert abs(one["lost"] - 500) < 4 * 250 ** 0.5, one


@test
def a_command_that_fails_makes_the_run_invalid():
    result = ddiperf(ring(events=[{"at": "50ms", "run": "exit 7", "name": "x"}]), invalid=True)
    assert result.code == EXIT["invalid"] and 'event "x" failed: exit status 7' in result.stdout, result
    assert event(result, "x")[0]["failed"] and result.item("queries")["answered"] == 600, result


# --- counters of the server's machine ---


def counted(command, **run):
    """A run whose counters are those of a command; ring() has the name of their section for a port."""
    return json.dumps({**json.loads(ring(run=run)), "dut": {"counters": {"command": command}}})


@test
def counters_of_the_server_stand_beside_the_loss():
    """With and without a warm-up; the command counts its own runs."""
    for warmup in "0s", "100ms":
        with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
            result = ddiperf(counted(f"echo x >> {folder}/n; echo asked $(wc -l < {folder}/n); echo same 3", warmup=warmup))
        dut = result.json["dut"]
        assert {one["name"]: one["difference"] for one in dut["counters"]} == {"asked": 1, "same": 0}, dut
        assert dut["counters_s"] > 0 and dut.get("command") is None, dut
        assert "server's counters" in result.stdout and "1 of 2 changed" in result.stdout, result


@test
def a_counters_command_that_fails_is_said_and_changes_nothing_else():
    result = ddiperf(counted("exit 3"))
    assert result.json["dut"]["counters_error"] == "exit status 3", result
    assert "dut.counters: no differences: exit status 3" in result.stderr, result
    assert result.item("queries")["answered"] == 600, result


# --- hooks ---


@test
def hooks_know_the_run_and_its_end():
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        log = Path(folder, "log")
        hooks = {"start": f'echo "$DDIPERF_RUN_ID $DDIPERF_RUN_NAME $(basename $DDIPERF_RESULT) $DDIPERF_STATUS" > {log}',
                 "stop": f'echo "$DDIPERF_STATUS $DDIPERF_EXIT_CODE" >> {log}; test -s "$DDIPERF_RESULT" && echo there >> {log}'}
        result = ddiperf(ring(hooks={**hooks}, criteria=["answered_per_s >= 1G"]))
        lines = log.read_text().splitlines()
    assert result.code == EXIT["fail"], result.json["verdict"]
    assert lines == [f"{result.json['run']['id']} test result.json ", "fail 1", "there"], lines


@test
def a_hook_that_fails_is_no_success():
    result = ddiperf(ring(hooks={"start": "echo no >&2; exit 3", "stop": "touch /nonexistent/x"}))
    assert result.code == EXIT["environment"] and not result.json and "exit status 3" in result.stderr, result
    result = ddiperf(ring(hooks={"stop": "exit 4"}))
    assert result.code == EXIT["environment"] and result.json["verdict"]["status"] == "done", result
    assert "hooks.stop: exit 4: exit status 4" in result.stderr, result


@test
def what_hooks_print_stays_out_of_the_json():
    result = ddiperf(ring(hooks={"start": "echo hello"}), "--json", "-")
    assert json.loads(result.stdout)["schema"] and "hello" in result.stderr, result


@test
def commands_are_for_the_owner_alone_and_the_configuration_can_stay_out():
    """Their text, which may hold a password, is in the result."""
    for shown, sections, mode in ((True, {"hooks": {"stop": "true"}}, 0o600),
                                  (False, {"hooks": {"start": "true"}}, 0o600),
                                  (True, {"events": [{"at": "10ms", "run": "true"}]}, 0o600),
                                  (False, {}, 0o644)):
        with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
            out = Path(folder, "out.json")
            result = ddiperf(ring(output={"config": shown}, **sections), "--json", str(out),
                             prefix=["sh", "-c", 'umask 022; exec "$@"', "sh"])
            assert out.exists(), result
            assert out.stat().st_mode & 0o777 == mode, (sections, oct(out.stat().st_mode))
            assert ("config" in json.loads(out.read_text())) == shown, sections


@test
def a_command_takes_no_stepped_time_and_its_end_is_waited_for():
    text = json.loads(ring(item(), events=[{"at": "100ms", "run": "sleep 0.2; exit 3", "name": "kill"}]))
    text["dut"] = {"counters": {"command": "sleep 0.1; echo n 7"}}
    with config_file(json.dumps(text)) as path:
        results = [execute([binary(), "run", str(path), "--json", "-"])[1] for _ in range(5)]
    assert results == results[:1] * 5, text
    document = json.loads(results[0])
    one, = document["events"]
    assert (one["began_s"], one["took_s"], one["exit_status"]) == (0.1, 0, 3), one
    # From just before the first message until the drain is over.
    assert document["dut"]["counters"] == [{"name": "n", "difference": 0}] and document["dut"]["counters_s"] == 0.32701, document["dut"]


main()
