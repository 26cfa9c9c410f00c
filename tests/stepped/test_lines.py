#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# The lines of output.jsonl in a file. Readers of a socket: tests/loop/test_live.py.

import json
import socket
import tempfile
from pathlib import Path

from harness import EXIT, binary, ddiperf, execute, main, test
from loop import item, ring


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def kinds(lines):
    return [next((k for k in ("begin", "trial", "end") if k in line), "interval") for line in lines]


def as_kept(line):
    """An interval as the document has it, but for what came later."""
    line = {k: v for k, v in line.items() if k not in ("number", "last")}
    for one in line["traffic"]:
        one.pop("earlier", None)
        one.pop("by_due", None)
    return line


@test
def the_file_has_each_interval_as_it_ends():
    """A command of the run itself looks into the file, and interrupts the run."""
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        path, seen = Path(folder, "lines"), Path(folder, "seen")
        look = {"at": "500ms", "run": f"cp {path} {seen}; kill -INT $PPID", "timeout": "10m"}
        result = ddiperf(ring(run={"warmup": "200ms", "duration": "1h"}, output={"jsonl": str(path)}, events=[look]))
        lines, before = read(path), read(seen)
    assert result.code == EXIT["interrupted"], result
    assert lines[:len(before)] == before and len(before) >= 1 + 2 + 4, before
    assert kinds(lines) == ["begin", *["interval"] * (len(lines) - 2), "end"], lines
    begin, end = lines[0], lines[-1]
    assert begin["result"]["schema"] == "ddiperf-result/1" and begin["result"]["config"]["traffic"], begin
    assert (begin["begin"], begin["warmup_s"], begin["duration_s"]) == (1, 0.2, 3600), begin
    assert end["end"] == 1 and end["result"]["verdict"]["status"] == "interrupted", end
    assert [line.get("warmup", False) for line in lines[1:-1]] == [True] * 2 + [False] * (len(lines) - 4), lines
    assert [line.get("last", False) for line in lines[1:-1]] == [False] * (len(lines) - 3) + [True], lines


@test
def the_lines_are_the_intervals_of_the_result():
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        path = Path(folder, "lines")
        result = ddiperf(ring(run={"warmup": "100ms"}, output={"jsonl": str(path)}))
        assert result.code == 0, result
        lines = read(path)
        code, out, err = execute([binary(), "report", str(path), "--format", "jsonl"])
        assert (code, err) == (0, ""), (code, err)
        assert [json.loads(line) for line in out.splitlines()] == result.json["intervals"], out
        code, out, err = execute([binary(), "report", str(path), "--select", "verdict.status,traffic.queries.answered"])
        assert out == "verdict.status=done\ntraffic.queries.answered=600\n", (out, err)
    kept = [line for line in lines[1:-1] if "warmup" not in line]
    assert len(kept) == len(lines) - 3, lines
    assert [as_kept(line) for line in kept] == [as_kept(i) for i in result.json["intervals"]], (kept, result)


def judged(text, world=""):
    """The result, and the lines of its intervals of the measured part."""
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        path = Path(folder, "lines")
        text["output"] = {"jsonl": str(path)}
        result = ddiperf(json.dumps(text), invalid=True, world=world)
        return result, [line for line in read(path)[1:-1] if "warmup" not in line]


@test
def intervals_have_the_criteria_so_far_and_the_last_one_those_of_the_verdict():
    criteria = ["loss <= 20%", "p99 <= 3ms", "traffic.queries.p95 <= 10ms", "max(interval.loss) <= 50%",
                "traffic.queries.answered >= 500", "traffic.queries.dns.rcode.NOERROR >= 90%", "answered_per_s >= 1",
                "traffic.queries.last_answer_s <= 9s"]
    dut = {"dns": {}, "faults": {"loss": {"every": 5}}}
    text = json.loads(ring(item(timeout="100ms"), item("others", load={"rate": "500"}, timeout="100ms"),
                           run={"duration": "1s"}, criteria=criteria, responder=dut))
    result, lines = judged(text)
    assert len(lines) == 12 and lines[-1]["last"], [line["t_s"] for line in lines]  # ten, and two of the drain
    end = {c["expression"]: c for c in result.json["verdict"]["criteria"]}
    known_at_the_end = "traffic.queries.last_answer_s <= 9s"
    for line in lines:
        one = {c["expression"]: c for c in line["criteria"]}
        assert list(one) == list(end) and one.pop(known_at_the_end)["pass"] is None, line["criteria"]
        assert all(c["pass"] in (True, False) for c in one.values()), one
    del end[known_at_the_end]
    assert {e: (c["pass"], c["value"]) for e, c in one.items()} == {e: (c["pass"], c["value"]) for e, c in end.items()}
    enough = [next(c for c in line["criteria"] if "answered >=" in c["expression"]) for line in lines]
    assert [c["value"] for c in enough] == sorted(c["value"] for c in enough) and enough[0]["value"] < 500, enough
    assert [c["pass"] for c in enough] == [c["value"] >= 500 for c in enough] and enough[-1]["pass"], enough
    assert "criteria" not in result.json["intervals"][0], result.json["intervals"][0]


@test
def an_interval_has_the_reason_as_soon_as_the_tester_has_spoilt_the_run():
    away = "away=0:300ms-400ms away=0:600ms-650ms"  # of the tester's worker, since the start of the world
    limits = {"send_lag_p99": "1h", "unsent": "100%"}
    for load, validity, world, first in (
            ({"rate": 2000}, {}, away, (0.3, "queries: more than 1 % of its messages were over 10.0 ms late")),
            ({"rate": 2000, "slots": 16}, {"send_lag_p99": "1h"}, "delay=20ms", (0.2, "queries: 152 of 400 not sent")),
            ({"outstanding": 1}, limits, f"delay=1ms {away}", (0.3, "others had the CPU of port tester for 33.3 % of the time")),
            ({"rate": 2000}, limits, f"stamps=1 {away}", None)):
        result, lines = judged(json.loads(ring(item(load=load), run={"duration": "1s"}, validity=validity)), world)
        reasons = [(line["t_s"], line["invalid"]) for line in lines if "invalid" in line]
        assert result.json["verdict"]["status"] == ("invalid" if first else "done"), result
        assert (reasons[0] if reasons else None) == first, (first, reasons)
        assert not first or reasons[-1][0] == lines[-1]["t_s"], reasons


@test
def a_search_has_a_line_before_and_after_each_trial():
    search = {"variable": "traffic.queries.load.rate", "from": "100", "to": "2k", "goals": [{"loss": "1%"}],
              "method": "bisect", "trial": "200ms", "final": "200ms", "warmup": "100ms", "width": "50%", "settle": "0s"}
    dut = {"dns": {}, "faults": {"capacity": {"rate": "600", "queue": 1}}}
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        path = Path(folder, "lines")
        result = ddiperf(ring(item(timeout="100ms"), search=search, responder=dut, output={"jsonl": str(path)}))
        assert result.code == 0, result
        lines = read(path)
    trials = [line for line in lines if "trial" in line]
    assert len(trials) == 2 * len(result.json["search"]["trials"]) > 2, trials
    for n, (before, after) in enumerate(zip(trials[::2], trials[1::2])):
        place = lines.index(before)
        known = result.json["search"]["trials"][n]
        assert "begin" in lines[place - 1] and lines[place - 1]["duration_s"] == before["duration_s"], lines[place - 1]
        assert before["trial"] == after["trial"] == n + 1 and "verdict" not in before, before
        assert before["rate"] == known["rate"] and before["loss"] is None, before
        assert {k: after[k] for k in known} == known, (after, known)
    assert trials[0]["answer"] is None and trials[0]["upper"] is None, trials[0]
    assert trials[-1]["answer"] == result.json["search"]["answer"], trials[-1]
    assert lines[-1]["result"]["search"]["answer"] == result.json["search"]["answer"], lines[-1]


@test
def a_socket_that_is_in_use_is_left_alone():
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        path = Path(folder, "socket")
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(path))
            other.listen()
            result = ddiperf(ring(output={"jsonl": f"unix:{path}"}))
            assert result.code == EXIT["environment"] and "output.jsonl: " in result.stderr, result
            assert "Address already in use" in result.stderr and path.exists(), result
        file = Path(folder, "file")
        file.write_text("kept")
        result = ddiperf(ring(output={"jsonl": f"unix:{file}"}))
        assert result.code == EXIT["environment"] and file.read_text() == "kept", result


main()
