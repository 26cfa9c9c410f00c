#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# What other processes see of a run while it is running: lines on a socket, and `ddiperf watch`. In real time, as each of them
# is a process or a connection of its own.

import json
import os
import signal
import socket
import stat
import tempfile
import threading
from contextlib import contextmanager

from harness import EXIT, binary, config_file, execute, kill, main, nightly, start, test, until
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


def check_place(process):
    """Only the user of the run can connect; returns where."""
    places = [f"{folder}/run-{process.pid}" for folder in (
        "/run/ddiperf", f"{os.environ.get('XDG_RUNTIME_DIR', '/nonexistent')}/ddiperf", f"/tmp/ddiperf-{os.geteuid()}")]
    [place] = filter(os.path.exists, places)
    assert stat.S_IMODE(os.stat(place).st_mode) == 0o600, place
    return place


@test
def a_watcher_sees_the_run_and_leaves_it_alone():
    with running(ring(run=LONG), "--quiet") as process:
        until_watched(process)
        place = check_place(process)
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
        assert not os.path.exists(place)


@test
def of_several_runs_one_is_named():
    with running(ring(run={**LONG, "id": "11111111-aaaa", "name": "one"})) as one, \
            running(ring(run={**LONG, "id": "22222222-bbbb", "name": "two"})) as two:
        until_watched(one)
        until_watched(two)
        code, out, err = watch()
        assert code == EXIT["usage"] and "tests are running; name one" in err and not out, (code, out, err)
        for process, rest in ((one, "11111111-aaaa one"), (two, "22222222-bbbb two")):
            assert [str(process.pid), *rest.split()] in [line.split() for line in err.splitlines()], err
        watcher = start([binary(), "watch", "2222"])
        assert watcher.stdout.readline() == "run 1: two, 22222222-bbbb\n"
        kill(two)
        _, err = watcher.communicate(timeout=10)
        assert watcher.returncode == EXIT["environment"] and "the run is gone" in err, err
        code, _, err = watch(str(two.pid))
        assert code == EXIT["usage"] and "no such run" in err and str(one.pid) in err, (code, err)


main()
