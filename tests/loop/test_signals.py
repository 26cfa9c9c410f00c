#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Signals in every state of a run: each is answered at once, and ends what takes long. Those of the run itself: test_end.py.
# In real time, as signals and what does not come to its end are the kernel's.

import contextlib
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import termios
import threading
import time
from pathlib import Path

from harness import EXIT, binary, config_file, kill, main, nightly, start, test, timing
from loop import arp_reply, item, pcap_write, ring

ANSWER_S = 0.2
END_S = 3  # of a process with sanitizers, on a busy box
HANGS_S = 20  # on any box
ANSWERS = ("interrupted: ending in order", "interrupted again", "interrupted for the third time")


class Signalled:
    """A run in the background whose lines are kept with their times."""

    def __init__(self, text, *options, command="run"):
        self.text, self.options, self.command = text, options, command
        self.lines = {"out": [], "err": []}

    def __enter__(self):
        self.stack = contextlib.ExitStack()
        path = self.stack.enter_context(config_file(self.text))
        self.process = start([binary(), self.command, str(path), *self.options])
        self.readers = [threading.Thread(target=self.read, args=one) for one in
                        (("out", self.process.stdout), ("err", self.process.stderr))]
        for reader in self.readers:
            reader.start()
        return self

    def read(self, name, stream):
        for line in stream:
            self.lines[name].append((time.monotonic(), line))

    def text_of(self, name):
        return "".join(line for _, line in self.lines[name])

    def until(self, condition, what):
        end = time.monotonic() + 20
        while not condition():
            assert self.process.poll() is None, f"it ended before {what}: {self.text_of('out')}{self.text_of('err')}"
            assert time.monotonic() < end, f"{what} did not come"
            time.sleep(0.002)

    def answers(self, number):
        return [at for at, line in list(self.lines["err"]) if ANSWERS[number - 1] in line]

    def signal(self, number=1):
        """The number-th signal, and its answer; returns when it was sent."""
        sent = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        while not self.answers(number) and time.monotonic() < sent + HANGS_S:
            time.sleep(0.002)
        assert self.answers(number), (number, sent, self.lines["err"])
        timing(self.answers(number)[0] - sent < ANSWER_S, (number, sent, self.lines["err"]))
        return sent

    def catches(self):
        """Does it handle SIGINT yet?"""
        caught = int(re.search(r"^SigCgt:\s*(\w+)", Path(f"/proc/{self.process.pid}/status").read_text(), re.M)[1], 16)
        return caught >> signal.SIGINT - 1 & 1

    def ends(self, sent, within=END_S):
        try:
            self.process.wait(HANGS_S)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"no end: {self.text_of('out')}{self.text_of('err')}") from None
        timing(time.monotonic() - sent < within, f"it took {time.monotonic() - sent:.1f} s to end")
        for reader in self.readers:
            reader.join()
        return self.process.returncode

    def __exit__(self, *_):
        kill(self.process)
        self.process.wait()
        for reader in self.readers:
            reader.join()
        self.stack.close()


def with_hooks(folder, **hooks):
    return {"hooks": {name: text.replace("FOLDER", folder) for name, text in hooks.items()}}


def has_line(path, word):
    return lambda: Path(path).exists() and word in Path(path).read_text()


@test
def hooks_are_ended_and_what_they_began_is_undone():
    with tempfile.TemporaryDirectory() as folder:
        hooks = with_hooks(folder, start="echo began > FOLDER/log; sleep 30",
                           stop="echo undone $DDIPERF_STATUS $DDIPERF_EXIT_CODE >> FOLDER/log")
        with Signalled(ring(**hooks)) as run:
            run.until(has_line(f"{folder}/log", "began"), "the start hook")
            assert run.ends(run.signal()) == EXIT["interrupted"], run.lines
            assert "hooks.start" in run.text_of("err") and "interrupted" in run.text_of("err"), run.lines
        assert Path(f"{folder}/log").read_text() == "began\nundone 130\n"
    # The second signal is for one that ignores the first.
    with tempfile.TemporaryDirectory() as folder:
        hooks = with_hooks(folder, start="trap '' TERM; echo began > FOLDER/log; while :; do sleep 1; done")
        with Signalled(ring(**hooks)) as run:
            run.until(has_line(f"{folder}/log", "began"), "the start hook")
            run.signal()
            time.sleep(0.3)
            assert run.process.poll() is None, "the hook still runs"
            assert run.ends(run.signal(2)) == EXIT["interrupted"], run.lines
    with tempfile.TemporaryDirectory() as folder:
        with Signalled(ring(**with_hooks(folder, stop="echo began > FOLDER/log; sleep 30"))) as run:
            run.until(has_line(f"{folder}/log", "began"), "the stop hook")
            assert run.ends(run.signal()) in (EXIT["interrupted"], EXIT["invalid"]), run.lines  # the latter: of a busy box
            assert "hooks.stop" in run.text_of("err"), run.lines


@test
def a_probe_that_hangs_holds_nobody_up():
    probe = {"probe": {"command": "echo a=1; sleep 60", "format": "pairs", "timeout": "60s"}}
    document = json.loads(ring(run={"duration": "60s"}))
    with Signalled(json.dumps({**document, "dut": probe})) as run:
        run.until(lambda: " s  " in run.text_of("out"), "an interval")
        run.signal()
        assert run.ends(run.signal(2)) == EXIT["interrupted"], run.lines
        assert "INTERRUPTED" in run.text_of("out"), run.lines


def is_reading(run, path):
    """The run has the file open and is somewhere in it."""
    def look():
        with contextlib.suppress(OSError):
            for fd in Path(f"/proc/{run.process.pid}/fd").iterdir():
                if os.readlink(fd) == str(path):
                    return True
        return False
    return look


@nightly
def reading_a_long_file_ends():
    many = 1_500_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long"
        files = (
            ("".join(f"h{i}.example.com A\n" for i in range(many)), [item(dns={"queries": str(path)})]),
            ("".join(f"{i / 1000:.3f}\n" for i in range(many)), [item(load={"replay": {"file": str(path)}})]),
            ("".join(f"02:00:00:{i >> 16:02x}:{i >> 8 & 255:02x}:{i & 255:02x}\n" for i in range(many)),
             [{"name": "clients", "server": "198.18.0.2", "timeout": "500ms", "load": {"rate": "100"},
               "dhcp4": {"clients": many, "mac_file": str(path), "relay": {"addresses": ["198.18.0.64/26"]}}}]),
        )
        for text, items in files:
            path.write_text(text)
            with Signalled(ring(*items)) as run:
                run.until(is_reading(run, path), "the file")
                sent = run.signal()
                assert run.ends(sent, 1) == EXIT["interrupted"], run.lines
                assert "test.yaml" not in run.text_of("err") and "memory" not in run.text_of("err"), run.lines


@test
def asking_for_a_server_that_is_not_there_ends():
    with Signalled(ring(item(server="198.18.0.9"))) as run:
        run.until(lambda: "traffic " in run.text_of("out"), "the question for the server")
        # If it only ended by itself, it would say that the server is not there.
        assert run.ends(run.signal(), 10) == EXIT["interrupted"], run.lines


@contextlib.contextmanager
def pcap_run(**port):
    """A run on files in a folder: a next hop and never an answer."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "in.pcap").write_bytes(pcap_write([arp_reply()]))
        os.mkfifo(f"{folder}/out.pcap")
        yield folder, json.dumps({
            "run": {"warmup": "0s", "duration": "60s", "interval": "100ms"},
            "ports": [{"name": "file", "driver": "pcap", "rx_file": f"{folder}/in.pcap", "tx_file": f"{folder}/out.pcap",
                       "addresses": ["198.18.0.1/24"], **port}],
            "traffic": [item(timeout="30s")],
        })


@test
def a_port_and_a_result_that_nobody_reads_hold_nobody_up():
    with pcap_run() as (_, text), Signalled(text) as run:  # nobody opens the other end
        run.until(run.catches, "the handler")
        time.sleep(1)  # until it waits for a reader
        assert run.process.poll() is None, run.lines
        assert run.ends(run.signal()) == EXIT["interrupted"], run.lines
    with tempfile.TemporaryDirectory() as folder:
        os.mkfifo(f"{folder}/out.json")
        with Signalled(ring(), "--json", f"{folder}/out.json") as run:
            run.until(lambda: "DONE" in run.text_of("out") or "INVALID" in run.text_of("out"), "the verdict")
            time.sleep(1)  # until it waits for a reader
            assert run.ends(run.signal()) in (EXIT["environment"], EXIT["invalid"]), run.lines
            assert "out.json" in run.text_of("err"), run.lines


@test
def three_signals_at_once_still_have_their_summary():
    with Signalled(ring(run={"duration": "60s"})) as run:
        run.until(lambda: " s  " in run.text_of("out"), "an interval")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # two of one kind would be one
            run.process.send_signal(number)
        assert run.ends(time.monotonic()) == EXIT["interrupted"], run.lines
        assert "INTERRUPTED" in run.text_of("out"), run.lines


def is_full(pipe):
    """Has nothing come into it for a while, after something did?"""
    seen = [0, time.monotonic()]

    def look():
        waiting = bytearray(4)
        fcntl.ioctl(pipe, termios.FIONREAD, waiting)
        now = int.from_bytes(waiting, sys.byteorder)
        if now != seen[0]:
            seen[:] = now, time.monotonic()
        return now and time.monotonic() - seen[1] > 0.5
    return look


@test
def a_worker_that_hangs_is_given_up_by_the_third_signal():
    with pcap_run() as (folder, text):
        stopped = f"{folder}/stopped"
        document = {**json.loads(text), "hooks": {"stop": f"echo $DDIPERF_EXIT_CODE > {stopped}"}}
        with Signalled(json.dumps(document)) as run:
            with open(f"{folder}/out.pcap", "rb") as pipe:  # and reads nothing
                run.until(is_full(pipe), "a full pipe")
                run.signal()
                run.signal(2)
                time.sleep(0.5)
                assert run.process.poll() is None, run.lines
                sent = run.signal(3)
                assert run.ends(sent, 5) == EXIT["interrupted"], run.lines
        assert "until the end of the last interval: sent" in run.text_of("err"), run.lines
        assert Path(stopped).read_text() == "130\n"
        assert not list(Path("/run/ddiperf").glob(f"*{run.process.pid}*")), list(Path("/run/ddiperf").iterdir())


@test
def a_crash_tells_what_is_known_and_puts_the_box_right():
    with tempfile.TemporaryDirectory() as folder:
        out, stopped = Path(folder, "out.json"), Path(folder, "stopped")
        document = json.loads(ring(run={"duration": "60s"}, hooks={"stop": f"echo $DDIPERF_EXIT_CODE > {stopped}"}))
        with Signalled(json.dumps(document), "--json", str(out)) as run:
            run.until(lambda: " s  " in run.text_of("out"), "an interval")
            run.process.send_signal(signal.SIGABRT)
            assert run.ends(time.monotonic()) == EXIT["internal"], run.lines
        for words in ("internal error: Aborted", f"the intervals of the run are in {out}.part", "interval: sent"):
            assert words in run.text_of("err"), (words, run.lines)
        assert stopped.read_text() == "6\n" and not out.exists()
        assert not list(Path("/run/ddiperf").glob(f"*{run.process.pid}*")), list(Path("/run/ddiperf").iterdir())


@nightly
def a_fourth_signal_ends_at_once():
    with pcap_run() as (folder, text), Signalled(text) as run, open(f"{folder}/out.pcap", "rb") as pipe:
        run.until(is_full(pipe), "a full pipe")
        for number in (1, 2, 3):
            run.signal(number)
        sent = time.monotonic()
        run.process.send_signal(signal.SIGINT)
        assert run.ends(sent, 0.5) == EXIT["interrupted"], run.lines


main()
