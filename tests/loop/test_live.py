#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# What is seen of a run while it goes on: lines in a file and on a socket.

import json
import os
import signal
import socket
import stat
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

from harness import EXIT, binary, config_file, ddiperf, execute, kill, main, nightly, start, test, until
from loop import item, ring

LONG = {"duration": "60s", "warmup": "200ms"}


@contextmanager
def running(text, *options):
    """A run in the background; whatever happens, it ends with the block."""
    with config_file(text) as path:
        process = start([binary(), "run", str(path), *options])
        try:
            yield process
        finally:
            kill(process)
            process.communicate()


def finish(process):
    """End it as Ctrl-C does: (exit code, stdout, stderr)."""
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=180)  # with sanitizers, a long result takes long
    return process.returncode, out, err


class Reader:
    """One of the readers of a socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(15)
        until(lambda: os.path.exists(path), path)
        self.socket.connect(path)
        self.file = self.socket.makefile()

    def line(self):
        return json.loads(self.file.readline())

    def rest(self):
        return [json.loads(line) for line in self.file]


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
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        path = Path(folder, "lines")
        with running(ring(run=LONG, output={"jsonl": str(path)})) as process:
            until(lambda: path.exists() and path.read_text().count("\n") > 4, "five lines")
            assert process.poll() is None
            code, out, err = finish(process)
        assert code == EXIT["interrupted"], (code, out, err)
        lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert kinds(lines) == ["begin", *["interval"] * (len(lines) - 2), "end"], lines
    begin, end = lines[0], lines[-1]
    assert begin["result"]["schema"] == "ddiperf-result/1" and begin["result"]["config"]["traffic"], begin
    assert (begin["begin"], begin["warmup_s"], begin["duration_s"]) == (1, 0.2, 60), begin
    assert end["end"] == 1 and end["result"]["verdict"]["status"] == "interrupted", end
    warmup = [line.get("warmup", False) for line in lines[1:-1]]
    assert warmup[0] and sorted(warmup, reverse=True) == warmup, warmup
    assert [line.get("last", False) for line in lines[1:-1]] == [False] * (len(lines) - 3) + [True], lines


@test
def the_lines_are_the_intervals_of_the_result():
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        path = Path(folder, "lines")
        result = ddiperf(ring(run={"warmup": "100ms"}, output={"jsonl": str(path)}))
        assert result.code == 0, result
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        kept = [line for line in lines[1:-1] if "warmup" not in line]
        code, out, err = execute([binary(), "report", str(path), "--format", "jsonl"])
        assert (code, err) == (0, ""), (code, err)
        assert [json.loads(line) for line in out.splitlines()] == result.json["intervals"], out
        code, out, err = execute([binary(), "report", str(path), "--select", "verdict.status,traffic.queries.answered"])
        answered = result.item("queries")["answered"]
        assert out == f"verdict.status=done\ntraffic.queries.answered={answered}\n", (out, err)
    assert len(kept) < len(lines) - 2, lines
    assert [as_kept(line) for line in kept] == [as_kept(i) for i in result.json["intervals"]], (kept, result)


@test
def a_search_has_a_line_before_and_after_each_trial():
    search = {"variable": "traffic.queries.load.rate", "from": "100", "to": "2k", "goals": [{"loss": "1%"}],
              "method": "bisect", "trial": "200ms", "final": "200ms", "warmup": "100ms", "width": "50%", "settle": "0s"}
    dut = {"dns": {}, "faults": {"capacity": {"rate": "600", "queue": 1}}}
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        path = Path(folder, "lines")
        result = ddiperf(ring(item(timeout="100ms"), search=search, responder=dut, output={"jsonl": str(path)}))
        assert result.code in (0, EXIT["fail"]), result
        lines = [json.loads(line) for line in path.read_text().splitlines()]
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
def readers_of_a_socket_join_and_leave():
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        path = f"{folder}/socket"
        # A dead process has left its socket behind.
        old = socket.socket(socket.AF_UNIX)
        old.bind(path)
        old.close()
        hooks = {"start": "true"}
        run = {**LONG, "warmup": "0s"}  # which counts its intervals apart
        with running(ring(run=run, output={"jsonl": f"unix:{path}"}, hooks=hooks)) as process:
            until(lambda: stat.S_IMODE(os.stat(path).st_mode) == 0o600 if os.path.exists(path) else 0, "mode 0600")
            one = Reader(path)
            assert "begin" in one.line()
            first = one.line()
            late = Reader(path)
            begin, second = late.line(), late.line()
            assert "begin" in begin and second["number"] > first["number"], (begin, second)
            late.file.close()
            late.socket.close()
            assert one.line()["number"] > first["number"]
            code, _, err = finish(process)
            assert code == EXIT["interrupted"] and "reader" not in err, err
            assert one.rest()[-1]["result"]["verdict"]["status"] == "interrupted"
        assert not os.path.exists(path)


@nightly
def a_reader_that_does_not_read_is_dropped_and_told_about_once():
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        path = f"{folder}/socket"
        items = [item(f"item{n}", load={"rate": "200"}) for n in range(20)]
        text = ring(*items, run={**LONG, "interval": "20ms"}, output={"jsonl": f"unix:{path}"})
        with running(text, "--quiet") as process:
            lazy = [Reader(path) for _ in range(2)]
            one = Reader(path)
            size = 0
            while size < 2 << 20:  # more than may be pending, and in the kernel
                size += len(one.file.readline())
            rest = []
            quick = threading.Thread(target=lambda: rest.extend(one.rest()))
            quick.start()
            code, _, err = finish(process)
            quick.join()
            assert code == EXIT["interrupted"] and err.count("too slow and is dropped") == 1, (code, err)
            assert rest[-1]["end"] == 1
            assert all("end" not in json.loads(r.file.read().splitlines()[-2]) for r in lazy)


@test
def a_socket_that_is_in_use_is_left_alone():
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        path = f"{folder}/socket"
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(path)
            other.listen()
            result = ddiperf(ring(output={"jsonl": f"unix:{path}"}))
            assert result.code == EXIT["environment"] and "output.jsonl: " in result.stderr, result
            assert "Address already in use" in result.stderr and os.path.exists(path), result
        Path(folder, "file").write_text("kept")
        result = ddiperf(ring(output={"jsonl": f"unix:{folder}/file"}))
        assert result.code == EXIT["environment"] and Path(folder, "file").read_text() == "kept", result


def watch(*options):
    return execute([binary(), "watch", *options], timeout=30)


@contextmanager
def watching(process, *options):
    """(watcher, its first lines with an interval)"""
    watcher = start([binary(), "watch", str(process.pid), *options])
    try:
        yield watcher
    finally:
        kill(watcher)
        watcher.communicate()


def until_watched(process):
    """The run has begun."""
    def begun():
        _, _, err = watch("no-such-run")
        return any(line.split()[:1] == [str(process.pid)] and "(begins)" not in line for line in err.splitlines())
    until(begun, "the run begins")


@test
def a_watcher_sees_the_run_and_leaves_it_alone():
    with running(ring(run=LONG), "--quiet") as process:
        until_watched(process)
        with watching(process) as watcher:
            head = [watcher.stdout.readline() for _ in range(4)]
            assert head[0].startswith("run 1: ") and head[1].split()[:3] == ["time", "item", "due/s"], head
            assert " queries " in head[3], head
            watcher.send_signal(signal.SIGINT)
            assert watcher.wait(10) == 0
        with watching(process, "--interval-format", "{t_s} {traffic.queries.answered} {traffic.queries.dns.rcode.SERVFAIL}") \
                as watcher:
            one, two = (watcher.stdout.readline().split() for _ in range(2))
            assert 0 < float(one[0]) < float(two[0]) and int(one[1]) > 0 and one[2] == "0", (one, two)
            code, out, err = finish(process)
            rest, said = watcher.communicate(timeout=10)
            assert watcher.returncode == 0 and not said, (rest, said)
        assert code == EXIT["interrupted"] and out.startswith("INTERRUPTED"), (code, out, err)
        assert "ended" not in rest, rest
    with running(ring(run=LONG), "--quiet") as process:
        until_watched(process)
        with watching(process) as watcher:
            watcher.stdout.readline()
            finish(process)
            out, err = watcher.communicate(timeout=60)
            assert watcher.returncode == 0 and out.splitlines()[-1] == "the run has ended: interrupted" and not err, (out, err)


@test
def of_several_runs_one_is_named():
    with running(ring(run={**LONG, "id": "11111111-aaaa", "name": "one"})) as one, \
            running(ring(run={**LONG, "id": "22222222-bbbb", "name": "two"})) as two:
        until_watched(one)
        until_watched(two)
        code, out, err = watch()
        assert code == EXIT["usage"] and "runs go on; name one" in err and not out, (code, out, err)
        for process, rest in ((one, "11111111-aaaa one"), (two, "22222222-bbbb two")):
            assert [str(process.pid), *rest.split()] in [line.split() for line in err.splitlines()], err
        watcher = start([binary(), "watch", "2222"])
        assert watcher.stdout.readline() == "run 1: two, 22222222-bbbb\n"
        kill(two)
        _, err = watcher.communicate(timeout=10)
        assert watcher.returncode == EXIT["environment"] and "the run is gone" in err, err
        code, _, err = watch(str(two.pid))
        assert code == EXIT["usage"] and "no such run" in err and str(one.pid) in err, (code, err)


@test
def only_the_user_of_a_run_can_connect():
    with running(ring(run=LONG)) as process:
        until_watched(process)
        places = [f"{folder}/run-{process.pid}" for folder in (
            "/run/ddiperf", f"{os.environ.get('XDG_RUNTIME_DIR', '/nonexistent')}/ddiperf", f"/tmp/ddiperf-{os.geteuid()}")]
        [place] = filter(os.path.exists, places)
        assert stat.S_IMODE(os.stat(place).st_mode) == 0o600, place
        finish(process)
        assert not os.path.exists(place)


main()
