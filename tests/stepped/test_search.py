#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Searches and repeats with the real binary: many runs on the same ports, and an answer that is known. What a
# search makes of its trials is the unit test's (test_search.c); here it is that trials are what they say.

import json
import os
import re
import tempfile
from pathlib import Path

from harness import EXIT, ROOT, check_ledger, config_file, ddiperf, execute, main, test
from loop import RELAXED, item, ring

POOL = 200
CAPACITY = 3000
# Lost for sure, not for want of time: clients beyond the pool get no lease.
SEARCH = {
    "variable": "traffic.leases.dhcp4.clients", "from": "100", "to": "500", "goals": [{"loss": "0%"}],
    "warmup": "0s", "trial": "250ms", "final": "400ms", "settle": "0s", "attempts": 9,
}


def pool(search=None, **sections):
    leases = {
        "name": "leases", "server": "198.18.0.2", "timeout": "400ms", "load": {"rate": "2k"},
        "dhcp4": {"exchange": "discover", "clients": "20",
                  "relay": {"addresses": ["198.18.0.64/26"]}},
    }
    dut = {"dhcp4": {"pool": [f"10.0.0.0-10.0.0.{POOL - 1}"], "server_id": "198.18.0.2"}}
    return ring(leases, responder=dut, search={**SEARCH, **(search or {})}, **sections)


def quiet(config):
    """The result of a search with an answer, unless other processes on the box made trials of it invalid."""
    result = ddiperf(config)
    invalid = [trial for trial in result.json["search"]["trials"] if trial["verdict"] == "invalid"]
    assert result.code == 0 or not invalid, result
    assert result.code == 0, result
    return result


def found(method):
    result = quiet(pool({"method": method, "sum": "800ms", "steps": "21"}))
    search = result.json["search"]
    assert search["method"] == method and search["variable"] == SEARCH["variable"], search
    assert search["goals"][0]["limited_by"] == "server" and search["goals"][0]["upper"] > POOL, search
    assert result.json["verdict"]["limited_by"] == "server", result.json["verdict"]
    return result, search


def check_trials(search):
    """Every trial began afresh: what it lost is what its load says."""
    for trial in search["trials"]:
        if trial["verdict"] == "invalid":
            continue  # another process had the CPU
        assert (trial["loss"] > 0) == (trial["rate"] > POOL), trial
        assert trial["verdict"] == ("fail" if trial["loss"] else "pass"), trial
    assert len({trial["seed"] for trial in search["trials"]}) == len(search["trials"])


def check_series(document):
    """What scripts/search-series makes of it."""
    with config_file(json.dumps(document)) as path:
        code, out, err = execute([ROOT / "scripts" / "search-series", path])
    assert code == 0, err
    facts, head, *rows = [line for line in out.splitlines() if not line.startswith("# loss")]
    assert facts.startswith("# test: bisect over traffic.leases.dhcp4.clients") and head.startswith("trial,rate"), out
    trials = document["search"]["trials"]
    assert [row.split(",")[1] for row in rows] == [str(float(trial["rate"])) for trial in trials], (out, trials)
    assert all(row.endswith(trial["verdict"]) for row, trial in zip(rows, trials, strict=True)), (out, trials)


@test
def bisection_finds_what_the_server_has_and_confirms_it():
    result, search = found("bisect")
    assert abs(search["answer"] - POOL) <= 2, search
    check_trials(search)
    last = search["trials"][-1]
    assert last["rate"] == search["answer"] and last["duration_s"] == 0.4, last
    above = [trial["verdict"] for trial in search["trials"] if trial["rate"] == search["goals"][0]["upper"]]
    assert above.count("fail") == 2 and "pass" not in above, search  # as often as `verify` says, and once
    assert result.item("leases")["lost"] == 0 and f"{search['answer']:.0f} is the highest" in result.stdout, result
    check_ledger(result.item("leases"))
    check_series(result.json)


@test
def mlr_finds_it_with_trials_that_grow():
    _, search = found("mlr")
    assert abs(search["answer"] - POOL) <= 2, search
    check_trials(search)
    lengths = [trial["duration_s"] for trial in search["trials"]]
    assert lengths[0] == 0.25 and lengths[-1] == 0.4, lengths


@test
def a_ramp_finds_the_most_that_is_answered():
    search = {
        "variable": "traffic.queries.load.rate", "method": "ramp", "from": "2k", "to": "5k", "goals": [{"loss": "1%"}],
        "warmup": "100ms", "trial": "100ms", "steps": 30, "settle": "0s",
    }
    faults = {"capacity": {"rate": f"{CAPACITY}", "queue": CAPACITY // 8}}  # longer than a busy box keeps us waiting
    config = ring(item(timeout="300ms"), responder={"dns": {}, "faults": faults}, search=search)
    result = quiet(config)
    found = result.json["search"]
    assert abs((found["goals"][0]["answered_per_s"] or 0) - CAPACITY) <= 0.05 * CAPACITY, result
    assert found["goals"][0]["limited_by"] == "server" and CAPACITY < found["goals"][0]["upper"] < 4500, found
    rates = [trial["rate"] for trial in found["trials"]]
    assert rates == sorted(rates) and len({trial["seed"] for trial in found["trials"]}) == 1, found
    # One run, whose intervals are the trials.
    one = result.item("queries")
    check_ledger(one)
    assert abs(sum(t["rate"] * t["duration_s"] for t in found["trials"]) - one["sent"]) < 0.2 * one["sent"], result
    assert rates[0] == 2050, rates


@test
def a_server_that_collapses_is_found_out():
    faults = {"capacity": {"rate": "2k", "queue": 100, "drop_cost": "10%"}}
    search = {
        "variable": "traffic.queries.load.rate", "method": "mlr", "from": "500", "to": "8k", "width": "10%",
        "goals": [{"loss": "5%"}], "warmup": "0s", "trial": "250ms", "final": "500ms", "sum": "1500ms", "settle": "0s",
    }
    config = ring(item(timeout="300ms"), responder={"dns": {}, "faults": faults}, search=search)
    result = quiet(config)
    found = result.json["search"]
    # A busy box answers less than the capacity, never more: how near is the unit test's.
    assert found["answer"] <= 2500 and found["peak"]["answered_per_s"] <= 2500, found
    assert "collapse" in found, found
    assert found["collapse"]["rate"] > found["peak"]["rate"], found
    assert found["collapse"]["answered_per_s"] < 0.9 * found["peak"]["answered_per_s"], found
    assert "collapse" in result.stdout, result


@test
def every_goal_has_an_answer():
    result = quiet(pool({"goals": [{"loss": "0%"}, {"loss": "25%"}], "width": "10%"}))
    answers = [goal["answer"] for goal in result.json["search"]["goals"]]
    assert abs(answers[0] - POOL) <= 20 and answers[1] > 1.2 * POOL, answers


@test
def a_goal_that_is_never_met_fails():
    result = ddiperf(pool({"from": "400", "to": "500"}))
    assert result.code == EXIT["fail"] and result.json["search"]["answer"] is None, result
    assert "not even met at" in result.stdout, result


@test
def a_search_that_never_fails_says_that_there_may_be_more():
    result = quiet(pool({"from": "50", "to": "100", "final": SEARCH["trial"]}))
    assert result.json["search"]["answer"] == 100, result
    assert abs(result.json["run"]["measured_s"] - 0.25) < 0.03, result  # as long as was asked for
    assert result.json["search"]["goals"][0]["limited_by"] == "range", result.json["search"]


@test
def what_the_tester_cannot_do_is_no_failure_of_the_server():
    # Three source ports of one address at 65 536 transactions each, resting: no room for more.
    one = item(load={"rate": "1k"}, timeout="30s", source={"ports": ["1024-1026"]})
    search = {"variable": "traffic.queries.load.rate", "from": "1", "to": "1M", "goals": [{"loss": "0%"}],
              "warmup": "0s", "trial": "100ms", "final": "100ms", "settle": "0s", "attempts": 2}
    result = ddiperf(ring(one, search=search))
    assert result.code == EXIT["usage"] and "source ports are too few" in result.stderr, result
    # A port that takes nothing: every trial is the tester's own failure.
    config = json.loads(ring(item(), search={**search, "to": "20k"}, validity={**RELAXED, "unsent": "0%"}))
    config["ports"][0]["tx_descriptors"] = "64"
    config["traffic"][0]["load"] = {"rate": "20k"}
    config["traffic"][0]["timeout"] = "50ms"
    config["search"].update({"from": "15M", "to": "30M", "trial": "20ms", "final": "20ms"})
    result = ddiperf(json.dumps(config), invalid=True)
    assert result.code == EXIT["invalid"], result
    search = result.json["search"]
    assert search["goals"][0]["limited_by"] == "tester" and search["answer"] is None, search
    assert [trial["verdict"] for trial in search["trials"]] == ["invalid"] * 4, search
    assert "the tester's own limit" in result.stdout, result


@test
def each_trial_is_as_long_as_its_events_take():
    for trial, right in ((3, True), (2, False)):
        config = pool({"trial": f"{trial}s", "final": "3s"}, run={"duration": "3s"}, events=[{"at": "2s", "run": "true"}])
        result = ddiperf(config, command="check")
        said = "events[0].at: 2 s is not before the end of the run (run.duration: 2 s)" in result.stderr
        assert (result.code == 0, said) == (right, not right), result


@test
def goals_limit_any_of_the_percentiles():
    """Of the replies 3 % are late: the p95 is met at any rate, the p99 at none."""
    search = {"variable": "traffic.queries.load.rate", "from": "1k", "to": "4k", "width": "50%", "warmup": "0s", "trial": "200ms",
              "final": "200ms", "settle": "0s", "goals": [{"p95": "20ms"}, {"p50": "20ms", "p99": "20ms"}]}
    faults = {"delay": {"two_point": {"first": "1ms", "second": "50ms", "share_of_second": "3%"}}}
    result = ddiperf(ring(item(), search=search, responder={"dns": {}, "faults": faults}))
    assert result.code == EXIT["fail"], result
    low, high = result.json["search"]["goals"]
    assert low["goal"].endswith("p95 <= 20.0 ms") and low["answer"] == 4000, low
    assert high["goal"].endswith("p50 <= 20.0 ms, p99 <= 20.0 ms") and high["answer"] is None, high
    assert re.search(r"trial .* p50 1\.\d\d ms, p95 1\.\d\d ms, p99 \d.* ms: fail", result.stdout), result.stdout
    trial = result.json["search"]["trials"][0]  # 800 replies do not know their p99.9
    assert trial["p50_ns"] <= trial["p90_ns"] <= trial["p95_ns"] < 20e6 < trial["p99_ns"] and trial["p999_ns"] is None, trial
    table = [line for line in result.stdout.split("\nsearch: ")[1].splitlines() if line.startswith("  ")]
    assert len({line.rindex("  ") for line in table[:3]}) == 1, table  # two percentiles do not move the other columns
    assert table[3].split() == ["trial", "load", "time", "loss", "failed", "p50", "p95", "p99", "answered/s", "verdict"], table
    assert table[4].split()[0] == "1" and re.search(r" 1\.00 ms  1\.00 ms  49\.9 ms .*  fail$", table[4]), table
    refused = ddiperf(ring(item(), search={**search, "method": "ramp"}), command="check")
    assert refused.code == EXIT["usage"] and "goals[0].p95: is not known in the intervals of a ramp" in refused.stderr, refused


@test
def a_trial_that_a_rule_ends_has_failed():
    search = {"variable": "traffic.queries.load.rate", "from": "1k", "to": "4k", "goals": [{"loss": "0%"}],
              "width": "50%", "warmup": "0s", "trial": "200ms", "final": "200ms", "settle": "0s", "attempts": 9}
    result = quiet(ring(item(), search=search, stop=["due_per_s > 2500"]))
    found = result.json["search"]
    assert found["answer"] == 2000 and found["goals"][0]["upper"] == 4000, result
    ended = [trial for trial in found["trials"] if trial["verdict"] == "fail"]
    assert ended and all(trial["rate"] == 4000 for trial in ended), found
    assert all(trial["duration_s"] < 0.15 for trial in ended) and "stopped 0.1 s after" in result.stdout, result


@test
def repeats_end_when_the_rate_is_known():
    repeat = {"min": 3, "max": 6, "confidence": "95%", "width": "20%", "rest": "0s", "of": ["rate"]}
    result = ddiperf(ring(item(load={"rate": "1k"}), run={"repeat": repeat}))
    assert result.code == 0, result
    known = result.json["confidence"]
    assert known["runs"] == len(result.json["repeats"]), known
    assert known["reached"] and known["runs"] == 3, known
    rates = [one["traffic"][0]["answered_per_s"] for one in result.json["repeats"]]
    figure = known["figures"][0]
    assert figure["figure"] == "answered_per_s" and abs(figure["mean"] - sum(rates) / 3) < 1e-6, (figure, rates)
    assert figure["min"] == min(rates) and figure["low"] <= figure["mean"] <= figure["high"], figure
    for one in result.json["repeats"]:
        assert one["traffic"][0]["sent"] == one["traffic"][0]["dns"]["rcode"]["NOERROR"] > 0, one
    assert len({one["seed"] for one in result.json["repeats"]}) == 3


@test
def repeats_that_disagree_say_so():
    repeat = {"min": 2, "max": 2, "width": "0.01%", "rest": "0s"}
    # The seed of each repeat draws other delays.
    faults = {"delay": {"uniform": {"max": "2ms"}}}
    config = ring(item(load={"outstanding": 1}), run={"duration": "100ms", "repeat": repeat}, responder={"dns": {}, "faults": faults})
    result = ddiperf(config)
    assert result.code == 0 and result.json["confidence"]["reached"] is False, result
    assert "the mean is not known within 0.01 %" in result.stdout, result


@test
def what_ends_repeats_is_the_verdict():
    # One query a run, and some answers are not sent.
    repeat = {"min": 20, "max": 20, "rest": "0s"}
    one = item(load={"rate": "1k", "total": 1}, timeout="50ms")
    faults = {"loss": {"share": "20%"}}
    result = ddiperf(ring(one, run={"repeat": repeat, "seed": 3, "duration": "20ms"}, responder={"dns": {}, "faults": faults}))
    verdict = result.json["verdict"]
    assert result.code == verdict["exit_code"] == EXIT["unreachable"] and verdict["status"] == "unreachable", result
    assert result.json["confidence"]["runs"] >= 1 and "that count" in verdict["reasons"][0], verdict
    assert result.item("queries")["answered"] == 0, result.item("queries")


@test
def a_repeat_that_fails_a_criterion_fails_the_run():
    repeat = {"min": 2, "max": 2, "rest": "0s"}
    result = ddiperf(ring(item(), run={"repeat": repeat}, criteria=["answered_per_s >= 1M"]))
    assert result.code == EXIT["fail"] and "repeat 2: " in result.stdout, result


@test
def repeats_and_captures_are_of_the_answer_and_of_every_run():
    repeat = {"min": 2, "max": 2, "rest": "0s", "width": "50%"}
    with tempfile.TemporaryDirectory(prefix="ddiperf-") as folder:
        result = ddiperf(pool({"width": "50%", "from": "150", "to": "250"}, run={"warmup": "0s", "repeat": repeat},
                              output={"capture": {"file": f"{folder}/it's.pcapng", "when": ["lost"]}}))
        assert result.code == 0, result
        search, repeats = result.json["search"], result.json["repeats"]
        names = [one["capture"] for one in search["trials"] + repeats]
        sizes = {name: os.path.getsize(name) for name in names}
        assert sorted(os.listdir(folder)) == sorted(name.rpartition("/")[2] for name in names), names
    assert result.json["confidence"]["runs"] == 2 and search["goals"][0]["repeats_met"] == 2, search
    assert result.item("leases")["sent"] == result.item("leases")["answered"], result.item("leases")
    assert result.json["run"]["measured_s"] < 0.5 and "repeats at 150" in result.stdout, result
    seeds = [one["seed"] for one in search["trials"] + repeats]
    assert names == [f"{folder}/it's-{seed}.pcapng" for seed in seeds] and seeds == sorted(set(seeds)), (names, seeds)
    lost = {trial["capture"]: trial["loss"] for trial in search["trials"]}
    assert all((lost.get(name, 0) > 0) == (size > min(sizes.values())) for name, size in sizes.items()), (lost, sizes)


# --- series that something happens to: a command of a run interrupts them, or changes their files ---


def when(shell, at="50ms"):
    return [{"at": at, "run": shell, "timeout": "10m"}]


@test
def an_interrupt_ends_a_search_with_what_is_known():
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        third = f"echo x >> {folder}/n; test $(wc -l < {folder}/n) != 3 || kill -INT $PPID"
        result = ddiperf(pool({"trial": "400ms"}, events=when(third)))
    assert result.code == EXIT["interrupted"] and result.json["verdict"]["status"] == "interrupted", result
    assert result.json["search"]["answer"] == 100 and "interrupted after" in result.stdout, result
    assert len(result.json["search"]["trials"]) in (2, 3), result  # the command may outlast the third


@test
def a_ramp_that_is_interrupted_has_no_limit_yet():
    search = {"variable": "traffic.queries.load.rate", "method": "ramp", "from": "1k", "to": "2k", "goals": [{"loss": "50%"}],
              "warmup": "0s", "trial": "10s", "steps": 99}
    result = ddiperf(ring(item(), run={"duration": "1h", "interval": "10s"}, search=search, events=when("kill -INT $PPID", at="12s")))
    goal, = result.json["search"]["goals"]
    assert result.code == EXIT["interrupted"] and goal["upper"] is None and goal["limited_by"] == "none", result


@test
def all_runs_of_a_series_read_the_same_bytes():
    repeat = {"min": 3, "max": 3, "width": "1000%", "rest": "0s"}
    for change, code in (("echo these are no queries > new; mv new q.txt", EXIT["pass"]),
                         ("echo www.example.com AAAA > q.txt", EXIT["usage"])):
        with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
            queries = Path(folder, "q.txt")
            queries.write_text("www.example.com A\n")
            config = ring(item(dns={"queries": str(queries)}), run={"repeat": repeat}, events=when(f"cd {folder}; {change}"))
            result = ddiperf(config)
        assert result.code == code, result
        assert len(result.json["repeats"]) == (1 if code else 3), result
        assert ("q.txt: has changed since the first run read it" in result.stderr) == (code != 0), result


main()
