#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Failure at every step: each allocation and each call of the kernel of start, stop and writing fails once.

FAIL=fail.so DDIPERF=... tests/steps/test_steps.py [WORDS...]: a test for each driver. A short run tells its steps; those
with the same stack are one kind, and the first of each kind is played. STEPS=n plays n of them, evenly spread, others
each time; STEPS=calls plays those of the kernel, STEPS=all all steps. Each must end with a right result, or with a
message and exit code 3 or 6, and leave the box as it was.
"""

import atexit
import concurrent.futures
import contextlib
import glob
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / folder) for folder in ("lib", "loop")]

from harness import EXIT, Lab, binary, check_ledger, execute, kill, main, need_root, start, test
from loop import RELAXED, item, ring

SHIM = os.environ.get("FAIL", "")
STEPS = os.environ.get("STEPS", "")
JOBS = 2  # runs at once: all use the same two CPUs
TIMEOUT = 30  # s a run
TOTAL = 20  # queries
FRAMES = 9  # of a stack that a finding shows
SHOWN = 25  # findings in full
OUTPUTS = {name: f"out.{name}" for name in ("html", "csv", "jsonl", "keyval", "hdr", "openmetrics", "junit")}
MAY_LACK = ("cpu", "nic")  # what a short run does not measure, and a description that the kernel may not give
# Said by good runs too.
USUAL = re.compile(r"packet memory takes ordinary pages|warning: ")
# A file that cannot be read is a mistake in the command, whatever the reason.
REFUSED = re.compile(r"test.yaml: cannot read it: ")
# What cannot be undone is told, with the command that does it.
TOLD = re.compile(r"could not be restored|the intervals of the run are in")


class Place:
    """A folder to run in, and the words before the program; live ones have a lab of their own."""

    def __init__(self, folder, lab=None):
        self.folder, self.lab = Path(folder), lab
        self.prefix = lab.tester() if lab else []
        self.before = self.state()

    def state(self):
        """The interface, as others see it."""
        if not self.lab:
            return None
        code, out, err = execute(self.lab.tester("ip", "-d", "-j", "link", "show", "dev", "veth0"))
        assert code == 0, err
        one = json.loads(out)[0]
        return sorted(one["flags"]), one.get("promiscuity"), one.get("allmulti"), bool(one.get("xdp"))

    def run(self, text, step=None):
        """(process id, exit code or None, stderr, lines of the log, last line of stdout)"""
        (self.folder / "test.yaml").write_text(text)
        log = self.folder / "log"
        log.unlink(missing_ok=True)
        preload = [f"LD_PRELOAD={SHIM}", f"FAIL_LOG={log}", "MALLOC_PERTURB_=165", *([f"FAIL_STEP={step}"] if step else [])]
        argv = [*self.prefix, "env", *preload, binary(), "run", "test.yaml", "--json", "result.json"]
        process = start(argv, cwd=self.folder)
        try:
            out, err = process.communicate(timeout=TIMEOUT)
            code = process.returncode
        except subprocess.TimeoutExpired:
            kill(process)
            out, err = process.communicate()
            code = None
        lines = log.read_text().splitlines() if log.exists() else []
        return process.pid, code, err, lines, (out.splitlines() or [""])[-1]

    def clean(self):
        """What is not part of the next run goes; returns the names that were there."""
        names = {path.name for path in self.folder.iterdir()} - {"test.yaml", "log", "in.pcap"}
        for name in names:
            (self.folder / name).unlink()
        return names


def shape(value, path=""):
    """The names of all figures."""
    if isinstance(value, dict):
        return set().union({path}, *(shape(one, f"{path}.{key}") for key, one in value.items() if key not in MAY_LACK))
    if isinstance(value, list):
        return set().union({path}, *(shape(one, path) for one in value))
    return {path}


def document_of(place):
    path = place.folder / "result.json"
    return json.loads(path.read_text()) if path.exists() else None


def box(place, pid):
    """What a run with that process id has left of its own."""
    left = [*glob.glob(f"/run/ddiperf/*-{pid}"), *glob.glob(f"/dev/hugepages/*{pid}*")]
    for path in glob.glob("/run/ddiperf/*@*"):
        with contextlib.suppress(OSError):
            left += [path] if str(pid) in Path(path).read_text().split() else []
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, 0)
        left.append("a process of its group")
    now = place.state()
    if now != place.before:
        left.append(f"an interface with {now}, was {place.before}")
    return left


def judge(place, done, right):
    """What is wrong with the end of a run; right: the shape of a good result and the names of its files."""
    pid, code, err, *_ = done
    said = [line for line in err.splitlines() if re.match(r"ddiperf: |test.yaml:", line) and not USUAL.search(line)]
    wrong = []
    try:
        document = document_of(place)
    except ValueError:
        wrong.append("the result is cut")
        document = None
    left = box(place, pid)
    names = place.clean()
    if code is None:
        wrong.append(f"no end after {TIMEOUT} s")
    elif code < 0:
        wrong.append(f"signal {-code}")
    elif code not in (EXIT["pass"], EXIT["environment"], EXIT["internal"]) and not (code == EXIT["usage"] and REFUSED.search(err)):
        wrong.append(f"exit code {code}")
    elif code and not said:
        wrong.append(f"exit code {code} without a message")
    if code == 0 and not document:
        wrong.append("no result")
    elif code == 0:
        lacks, more = right[0] - shape(document), shape(document) - right[0]
        one = document["traffic"][0]
        if lacks or more:
            wrong.append(f"the result lacks {sorted(lacks)[:4]}, has {sorted(more)[:4]}")
        if one["sent"] != TOTAL or one["answered"] != TOTAL:
            wrong.append(f"sent {one['sent']}, answered {one['answered']}")
        if right[1] - names:
            wrong.append(f"lacks {sorted(right[1] - names)}")
    files = names - right[1]
    if TOLD.search(err):
        files, left = files - {"result.json.part"}, [one for one in left if not one.startswith(("/run", "an interface"))]
    if files or left:
        wrong.append(f"left: {', '.join([*sorted(files), *left])}")
    return wrong


def name_frames(lines):
    """The stack of a log with the names of functions of the program and of libraries."""
    named = []
    for line in lines:
        found = re.match(r"(\S+)\((\S*?)\+(0x[0-9a-f]+)\) ?\[", line)
        if not found or "fail.so" in found[1]:
            continue
        module, symbol, offset = Path(found[1]).name, found[2], found[3]
        if module == "ddiperf" and not symbol:
            at = hex(int(offset, 16) - 1)
            _, out, _ = execute(["addr2line", "-f", "-i", "-s", "-e", binary(), at])
            symbol = " < ".join(out.split("\n")[0:-1:2])
        named.append(f"{symbol or offset}" + ("" if module == "ddiperf" else f" ({module.split('.so')[0]})"))
    return named


def choose(log):
    """The numbers of the steps to play, in a log of a run without a failure."""
    total = int(next(line.split()[1] for line in log if line.startswith("steps ")))
    kinds = [line.split() for line in log[log.index("kinds") + 1:]]
    numbers = sorted(int(number) for number, name in kinds if STEPS != "calls" or "alloc" not in name)
    if STEPS in ("", "calls"):
        return total, numbers
    if STEPS == "all":
        numbers = list(range(1, total + 1))
    else:
        every = max(1, len(numbers) // int(STEPS))
        numbers = numbers[random.randrange(every)::every]
    return total, numbers


def play(place, text, numbers, right):
    """Takes numbers from the list until there are none; yields (number, what failed, findings, stack, messages)."""
    found = []
    while numbers:
        try:
            number = numbers.pop()
        except IndexError:
            break
        done = place.run(text, number)
        wrong = judge(place, done, right)
        log = done[3]
        at = next((i for i, line in enumerate(log) if line.startswith("failed ")), None)
        what = log[at].split()[1] if at is not None else "not reached"
        stack = [line for line in log[at + 1:] if not line.startswith("steps ")] if wrong and at is not None else []
        found.append((number, what, wrong, stack, done[1], done[2], done[4]))
    return found


def show(found, frames):
    number, what, wrong, _, _, err, last = found
    print(f"# step {number}, {what}: {'; '.join(wrong)}")
    print(f"#   at {' < '.join(frames[:FRAMES])}")
    for line in [line for line in err.splitlines() if not USUAL.search(line)][-4:] + [last]:
        print(f"#   {line[:200]}")


def play_all(driver, text, places):
    """Each step of a run on that driver, at each place at once."""
    assert Path(SHIM).is_file(), "set FAIL to the path of fail.so: ninja -C build-clang tests/steps/fail.so"
    first = places[0]
    for place in places:
        place.clean()
    pid, code, err, log, _ = first.run(text)
    assert code == 0, f"a run without a failure: exit code {code}\n{err}"
    document = document_of(first)
    check_ledger(document["traffic"][0])
    right = shape(document), first.clean()
    left = box(first, pid)
    assert not left, left
    total, numbers = choose(log)
    played = len(numbers)
    with concurrent.futures.ThreadPoolExecutor(len(places)) as pool:
        results = [one for part in pool.map(lambda place: play(place, text, numbers, right), places) for one in part]
    findings = sorted(one for one in results if one[2])
    codes = Counter(one[4] for one in results)
    missed = sum(one[1] == "not reached" for one in results)
    shown = set()
    for one in findings:
        frames = name_frames(one[3])
        kind = str(one[2]), str([frame for frame in frames if "(" not in frame][:3])
        if kind not in shown and len(shown) < SHOWN:
            show(one, frames)
        shown.add(kind)
    print(f"# {driver}: {total} steps, {played} tried ({missed} not reached), {len(findings)} findings; exit codes "
          + ", ".join(f"{code}: {n}" for code, n in sorted(codes.items(), key=str)), flush=True)
    counts.update(tried=played, findings=len(findings))
    assert not findings, f"{driver}: {played} steps tried, {len(findings)} findings"


counts = Counter()
atexit.register(lambda: print(f"# {counts['tried']} steps tried, {counts['findings']} findings"))

QUERIES = item(load={"total": TOTAL, "rate": "2k"})
RUN = {"warmup": "0s", "duration": "2s", "interval": "10ms"}
MORE = {
    "criteria": ["loss <= 1%"], "hooks": {"start": "true", "stop": "true"},
    "output": OUTPUTS | {"capture": {"file": "out.pcapng"}},
}


@test
def every_step_of_ring():
    with contextlib.ExitStack() as stack:
        folders = [stack.enter_context(folder()) for _ in range(JOBS)]
        play_all("ring", ring(QUERIES, run=RUN, **MORE), [Place(one) for one in folders])


def add(driver):
    def run():
        need_root()
        port = {"name": "lan", "driver": driver, "device": "veth0", "addresses": ["198.18.0.1/24"], "address_probe": "never"}
        text = json.dumps({"run": RUN, "ports": [port], "traffic": [QUERIES], "validity": RELAXED, **MORE})
        with contextlib.ExitStack() as stack:
            places = []
            for n in range(JOBS):
                lab = Lab("knot")
                lab.prefix += f"-{n}"
                places.append(Place(stack.enter_context(folder()), stack.enter_context(lab)))
            play_all(driver, text, places)

    run.__name__ = f"every_step_of_{driver}"
    test(run)


def folder():
    return tempfile.TemporaryDirectory(prefix="ddiperf-steps-")


for each in ("af_packet", "pcap", "af_xdp"):
    add(each)


main()
