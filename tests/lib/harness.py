# SPDX-License-Identifier: BSD-3-Clause
"""What the loop and live tests share: a TAP runner, running the binary, and the lab.

A test file is a program:

    from harness import Lab, ddiperf, main, test

    @test
    def a_server_that_answers_passes():
        with Lab("knot") as lab:
            result = lab.ddiperf(YAML)
            assert result.code == 0, result

    main()

Register it with meson's protocol 'tap' and DDIPERF=<path of the binary> in its environment. A test says skip(reason)
when the box cannot run it; a file whose tests are all skipped counts as skipped. Exit code 1 when a test failed.

What is about a time, a rate or a latency is said by timing(), and a run that the box made INVALID says so by itself. A
run whose CPUs were away for a third of a timeout says nothing about what was answered in time. Only such a test is made
again, and only while the box was measured to keep the program from a CPU. After TRIES of them the test is not judged:
TODO in TAP, and scripts/test has a budget for it. Any other failure is final at once, a broken law of the ledger always.
The same holds for a run that a CPU left at its end, with messages unsent, or that has two intervals in one.

In stepped time (STEPPED in the environment; tests/stepped) none of this is needed: every figure is exact, and a failure
is final.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LAB = str(ROOT / "scripts" / "lab")
EXIT = {
    "pass": 0, "fail": 1, "usage": 2, "environment": 3, "unreachable": 4, "invalid": 5,
    "internal": 6, "interrupted": 130,
}
SHOWN = 3000  # characters of an output that a failure shows
SAID = 300  # the same of a test that is made again
TRIES = int(os.environ.get("TRIES", "5"))  # 1: the first failure of any kind is final
NOT_JUDGED = "not judged"
SANITIZER = 99  # exit code of a program that a sanitizer stopped: scripts/test sets it
AWAY_MS = 1  # a worker without its CPU for longer: somebody else had it
END_MS = 10  # a worker without its CPU for longer at the end of its run may leave messages unsent: half of its grace
SHARE = 0.1  # of a CPU: what other programs than the test's took beyond it, besides NOISE_MS, is a busy box
NOISE_MS = 50

OTHER_ROOT = os.environ.get("LAB_ROOT", "")

_tests = []
STEPPED = os.environ.get("STEPPED")  # settings of the world, empty: as they are; None: real time
forget = []  # functions that take away what a test that is made again must not find, such as leases


class Skipped(Exception):
    pass


class Timing(AssertionError):
    """A time, a rate or a latency is not as it should be, and the box may be the cause."""


class Law(AssertionError):
    """A law that holds on any box."""


class NotJudged(Exception):
    """Timing, as often as it was tried, on a box that kept the program from a CPU each time."""


def timing(condition, seen):
    """assert for what another program on the box can change: times, rates, latencies, and what follows from them."""
    if not condition:
        raise Timing(seen)


def calm(result, most_ms):
    """What follows needs a box that took no CPU from the workers and the responder for longer: a timeout is near."""
    away = sum(one["max_gap_ns"] / 1e6 for one in threads(result.json))  # an exchange may meet the gap of each
    timing(away <= most_ms, f"a CPU was away for {away:.1f} ms (more than {most_ms} ms)\n{result}")


def milliseconds(text):
    """Of a duration in the configuration of a result: "1m 500ms"."""
    units = {"ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1e3, "m": 60e3, "h": 3600e3}
    return sum(float(number) * units[unit] for number, unit in re.findall(r"([\d.]+) ?([a-z]+)", str(text)))


def threads(document):
    """The workers and the responder of a result, without those of a box that was lost before it could tell."""
    found = [*document.get("workers", []), *([document["responder"]] if "responder" in document else [])]
    return [one for one in found if one["max_gap_ns"] is not None]


def shakes(document):
    """Did CPUs that were away leave their mark on a result? For a third of a timeout, all together: answers may be lost. At the
    end, so that messages were not sent. Or the management thread's, so that two intervals are one."""
    run, items = (document.get("config", {}).get(name) for name in ("run", "traffic"))
    gaps = [one["max_gap_ns"] / 1e6 for one in threads(document)]
    if sum(gaps) > min((milliseconds(item["timeout"]) for item in items or []), default=float("inf")) / 3:
        return True
    if max(gaps, default=0) > END_MS and any(item.get("unsent") for item in document.get("traffic", [])):
        return True
    intervals = document.get("intervals", [])
    if not run or not intervals:
        return False
    step, (*whole, _) = milliseconds(run["interval"]) / 1e3, intervals
    ends = [0, *(one["t_s"] for one in whole)]
    last = step * int(document["run"]["measured_s"] / step + 1e-3)
    return any(one["length_s"] > 1.5 * step for one in whole) or ends[-1] < last - 0.5 * step


def skip(reason):
    """Leave the running test; the reason is reported."""
    raise Skipped(reason)


def test(function):
    """Register a test; its name is the function's, as words."""
    _tests.append(function)
    return function


def nightly(function):
    """As test(), but only with NIGHTLY=1: more of the same, for which CI has no time."""
    return test(function) if os.environ.get("NIGHTLY") == "1" else function


class Box:
    """What the box has kept from the program since it was asked: what results say, and what its host and others took."""

    away_ms = 0.0  # the longest that a worker or the responder of any result was without its CPU
    shaken = False  # a result says less than it should: see shakes()

    def __init__(self):
        Box.away_ms, Box.shaken = 0.0, False
        self.before, self.others, self.begin = self.stolen_ms(), self.others_ms(), time.monotonic()

    @staticmethod
    def stolen_ms():
        """What the host of a virtual machine had of its CPUs' time (proc_stat(5): steal)."""
        return int(Path("/proc/stat").read_text().split()[8]) * 1000 / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def others_ms():
        """CPU time of all other programs than this one and its children that have ended."""
        user, nice, system, _, _, interrupts, soft, *_ = map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:])
        return (user + nice + system + interrupts + soft) * 1000 / os.sysconf("SC_CLK_TCK") - 1000 * sum(os.times()[:4])

    @staticmethod
    def saw(document):
        Box.shaken |= shakes(document)
        for one in threads(document):
            Box.away_ms = max(Box.away_ms, one["max_gap_ns"] / 1e6)
            # Each gap is longer than 1 ms, and not longer than the longest.
            fewest = one["gaps_over_1ms"] * 1e-3
            if not fewest <= one["stolen_s"] <= 1e-9 * one["gaps_over_1ms"] * one["max_gap_ns"] + 1e-6:
                raise Law(one)

    def disturbed(self):
        """Why a failure may be the box's; empty: it is not."""
        taken, others = self.stolen_ms() - self.before, self.others_ms() - self.others
        busy = others > NOISE_MS + SHARE * 1000 * (time.monotonic() - self.begin)
        if self.away_ms < AWAY_MS and not taken and not busy:
            return ""
        return f"a CPU was away for up to {self.away_ms:.1f} ms, the host had {taken:.0f} ms of them, and others {others:.0f} ms"

    @staticmethod
    def settle():
        """Wait, for 10 s at most, until the host leaves the box its CPUs for a second: its jobs take longer than a test."""
        for _ in range(10):
            before = Box.stolen_ms()
            time.sleep(1)
            if Box.stolen_ms() - before < 20:
                return


def attempt(function):
    """Run one test; in real time again while it is about time and the box took the CPU."""
    if STEPPED is not None:
        return function()
    for left in reversed(range(TRIES)):
        box = Box()
        try:
            return function()
        except AssertionError as error:
            reason = box.disturbed()
            if TRIES == 1 or not reason or isinstance(error, Law) or not (isinstance(error, Timing) or Box.shaken):
                raise
            said = (str(error).splitlines() or [type(error).__name__])[0][:SAID]
            if left == 0:
                raise NotJudged(f"{reason}: {said}") from error
            print(f"# again, {function.__name__}: {reason}: {said}", flush=True)
            for one in forget:
                one()
            Box.settle()


def judge(number, function):
    """Run one test and print its line; did it fail?"""
    name = f"{number} - {function.__name__.replace('_', ' ')}"
    begin, failed = time.monotonic(), False
    try:
        attempt(function)
    except Skipped as reason:
        print(f"ok {name} # SKIP {reason}", flush=True)
    except NotJudged as reason:
        print(f"not ok {name} # TODO {NOT_JUDGED}: {reason}", flush=True)
    except Exception:
        failed = True
        print(f"not ok {name}")
        print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="", flush=True)
    else:
        print(f"ok {name}", flush=True)
    print(f"# took {time.monotonic() - begin:.1f} s", flush=True)
    return failed


def main():
    """Run the registered tests and exit; of arguments, those whose name contains each, and none that follows a "-"."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # meson's timeout: clean up on the way out
    wanted = [t for t in _tests if all((word.removeprefix("-") in t.__name__) != word.startswith("-") for word in sys.argv[1:])]
    print(f"1..{len(wanted)}", flush=True)
    sys.exit(any([judge(number, function) for number, function in enumerate(wanted, 1)]))


# --- the binary -----------------------------------------------------------------------------------


# Reasons of an INVALID run that a box gives which other programs use too.
OF_THE_BOX = re.compile(r"was descheduled|sent late: |did not send |clock jumped|the tester dropped |the agents began |"
                        r"clocks of the agents |no message from it |intervals behind the others")


class Result:
    """What one invocation left: code, json (None when it wrote none), stdout, stderr.

    invalid: the test wants the run INVALID by the tester, or does not mind. Elsewhere it is the box's doing.
    """

    def __init__(self, code, document, stdout, stderr, invalid=False):
        self.code, self.json, self.stdout, self.stderr = code, document, stdout, stderr
        assert code != SANITIZER, self
        assert STEPPED is None or code != EXIT["invalid"] or invalid, self
        for one in (document or {}).get("traffic", []):
            check_sums(one)
        if STEPPED is not None:
            return
        Box.saw(document or {})
        if "this run is invalid" in stderr and not invalid:  # as another tool, with its exit code
            timing(not OF_THE_BOX.search(stderr), self)
        if code == EXIT["invalid"] and not invalid and not document:
            timing("the start was ordered for a time that was " not in stderr, self)
        if code == EXIT["invalid"] and not invalid and document:
            verdict = document["verdict"]
            timing(verdict.get("invalid_by") not in ("tester", "disturbance") or not any(map(OF_THE_BOX.search, verdict["reasons"])), self)

    def item(self, name):
        """The traffic item of that name in the JSON result."""
        return next(item for item in self.json["traffic"] if item["name"] == name)

    def __str__(self):
        return f"exit code {self.code}\n{self.stdout[-SHOWN:]}\n--- stderr\n{self.stderr[-SHOWN:]}"


def binary():
    path = os.environ.get("DDIPERF") or shutil.which("ddiperf")
    if not path:
        raise RuntimeError("set DDIPERF to the path of the binary")
    return str(Path(path).resolve())


def need_root():
    if os.geteuid() != 0:
        skip("needs root")


@contextlib.contextmanager
def config_file(text):
    """A folder with the text as test.yaml; yields the file's path. Other files can be put beside it."""
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        path = Path(folder) / "test.yaml"
        path.write_text(text)
        yield path


def waited_for_cpu(process):
    """Seconds for which the main thread of a program could have run, and others had the CPU."""
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{process.pid}/schedstat").read_text().split()[1]) / 1e9
    return 0


def execute(argv, timeout=60, **options):
    """(exit code, stdout, stderr) of a program; killed with all that it started after timeout seconds, not counting those
    for which it waited for a CPU."""
    began = time.monotonic()
    with start(argv, **options) as process:
        try:
            left = timeout
            while left > 0:
                try:
                    out, err = process.communicate(timeout=left)
                    break
                except subprocess.TimeoutExpired:
                    left = timeout + waited_for_cpu(process) - (time.monotonic() - began)
            else:
                kill(process)
                out, err = process.communicate()
                raise AssertionError(f"no end after {timeout} s: {argv}\n{out[-SHOWN:]}\n{err[-SHOWN:]}")
        except BaseException:
            kill(process)
            raise
    assert process.returncode != SANITIZER, f"{argv}: {err[-SHOWN:]}"
    return process.returncode, out, err


def start(argv, **options):
    """A program in the background, in a process group of its own, its output piped as text."""
    return subprocess.Popen(
        argv, **{"stdin": subprocess.DEVNULL, **options}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        errors="replace", start_new_session=True,
    )


def kill(process, number=signal.SIGKILL):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def tshark(path, fields, *options):
    """The packets of a file as dicts of these fields; checksums are verified. Yes and no are 1 and 0, also of tshark 4.2
    and later, which write True and False."""
    argv = ["tshark", "-r", str(path), "-T", "fields", "-E", "separator=|", "-o", "udp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", *options]
    code, out, err = execute([*argv, *(word for name in fields for word in ("-e", name))])
    assert code == 0, err
    rows = [line.split("|") for line in out.splitlines()]
    return [dict(zip(fields, ({"True": "1", "False": "0"}.get(word, word) for word in row), strict=True)) for row in rows]


def ddiperf(config, *options, command="run", files=None, prefix=(), timeout=60, invalid=False, world=None):
    """Run the binary on a YAML text (None: no file argument) with files {name: content} beside it; invalid: see Result.
    world: settings of stepped time, such as "delay=1ms loss=0.01 away=0:1s-1.2s" (tests/stepped/world.h)."""
    env = os.environ if world is None else {**os.environ, "STEPPED": world}
    with config_file(config or "") as path:
        for name, content in (files or {}).items():
            data = content.encode() if isinstance(content, str) else content
            (path.parent / name).write_bytes(data)
        out = path.parent / "result.json"
        argv = [*prefix, binary(), command]
        argv += [str(path)] if config is not None else []
        argv += ["--json", str(out)] if command == "run" and "--json" not in options else []
        code, stdout, stderr = execute([*argv, *options], timeout, env=env)
        document = json.loads(out.read_text()) if out.exists() and out.stat().st_size else None
    return Result(code, document, stdout, stderr, invalid)


def check_sums(item):
    """The laws of the ledger, on one traffic item of any run."""
    ended = item["answered"] + item["failed"] + item["lost"] + item["no_reply"]
    if item["due"] != item["sent"] + item["unsent"] or item["sent"] != ended + item["in_flight"]:
        raise Law(item)


def check_ledger(item):
    """The same, on one traffic item of a run that came to its end."""
    check_sums(item)
    if item["in_flight"]:
        raise Law(item)


def until(condition, what, seconds=20):
    """The first true value of condition(); what: a text or a function that gives it."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"not seen: {what() if callable(what) else what}"
        time.sleep(0.02)
    return value


# --- the lab --------------------------------------------------------------------------------------


class Lab:
    """Two namespaces and a real server (knot, nsd, bind, unbound; none: only the wire), up inside `with`.

    Skips the test when not root or when the server is not installed. The tester's device is veth0; the server is
    at 198.18.0.2 and 2001:db8::2. Its own prefix keeps it apart from a lab that somebody has up for work.
    """

    def __init__(self, server="none"):
        self.server = server
        self.prefix = os.environ.get("LAB_PREFIX", "ddiperf-test")

    def __enter__(self):
        try:
            code, out, err = self.call("up", self.server)
            if code == 77:
                skip(err.strip().removeprefix("lab: "))
            assert code == 0, f"lab up {self.server}: {out}{err}"
        except BaseException:
            self.call("down")
            raise
        return self

    def __exit__(self, *_):
        self.call("down")

    def call(self, *words):
        return execute([sys.executable, LAB, *words], timeout=60, env={**os.environ, "LAB_PREFIX": self.prefix})

    def tester(self, *argv):
        """The words that run a command on the tester's side."""
        return ["ip", "netns", "exec", f"{self.prefix}-tester", *argv]

    def dut(self, *argv):
        """The words that run a command on the server's side."""
        return ["ip", "netns", "exec", f"{self.prefix}-dut", *argv]

    def other(self, *argv):
        """As dut(), a program of the system that has the servers (LAB_ROOT of scripts/lab), which must be there."""
        path = ":".join(OTHER_ROOT + folder for folder in os.environ["PATH"].split(":"))
        if not shutil.which(argv[0], path=path):
            skip(f"{argv[0]} is not installed (scripts/deps install lab)")
        return self.dut(*(["chroot", OTHER_ROOT] if OTHER_ROOT else []), *argv)

    def ddiperf(self, config, *options, **more):
        """As ddiperf(), on the tester's side."""
        return ddiperf(config, *options, prefix=self.tester(), **more)

    def stats(self):
        """The server's counters as {name: number}; "queries" is the same for all servers."""
        code, out, err = self.call("stats")
        assert code == 0, err
        pairs = (line.split(" ", 1) for line in out.splitlines())
        return {key: float(value) if "." in value else int(value) for key, value in pairs
                if value.replace(".", "", 1).isdigit()}

    @contextlib.contextmanager
    def counted(self):
        """Yields a dict that holds, after the block, by how much each of the server's counters grew."""
        before, growth = self.stats(), {}
        yield growth
        growth.update({key: value - before.get(key, 0) for key, value in self.stats().items()})
