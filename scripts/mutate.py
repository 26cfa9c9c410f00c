#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# How many small mistakes do the unit and golden tests notice? Makes random one-token changes in
# lib, one at a time, builds and tests each. Works in a copy of the tree, never in the checkout.
"""Change one token of lib at random, build, run the unit and golden tests; repeat.

A change that no test notices has survived: either a test is missing, or the change has no effect.
Survivors are listed at the end for reading. Exit code: 0, 1 when the score is below the threshold,
3 when the tree does not build or its tests fail before any change.
"""

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SETUP = ["meson", "setup", "build", "-Ddebug=false", "-Doptimization=1"]
TEST = ["meson", "test", "-C", "build", "--no-rebuild", "--suite", "unit", "--suite", "golden",
        "--maxfail", "1", "-q"]
HANGS = 300  # seconds for a build or a run of all tests

# What is looked for, and what is put in its place.
CHANGES = [
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "),
    (r" == ", " != "), (r" != ", " == "), (r" && ", " || "), (r" \|\| ", " && "),
    (r" \+ 1\b", " + 2"), (r" - 1\b", " - 0"), (r" \+= ", " -= "), (r" -= ", " += "),
    (r"\bif \(!", "if ("), (r"\btrue\b", "false"), (r"\bfalse\b", "true"),
    (r"\bcontinue;", ";"),
]
NO_CODE = ("//", "#", "assert", "_Static")


def places(path):
    """(path, line number from 0, begin, end, replacement) of each possible change of a file."""
    for number, line in enumerate(path.read_text().split("\n")):
        if line.lstrip().startswith(NO_CODE):
            continue
        code = line.split("//")[0]
        for pattern, new in CHANGES:
            for found in re.finditer(pattern, code):
                if code[:found.start()].count('"') % 2 == 0:
                    yield path, number, found.start(), found.end(), new


def sources(tree, names):
    """The .c files below the given files and folders; a file counts whatever its suffix."""
    for name in names:
        path = tree / name
        yield from [path] if path.is_file() else sorted(path.rglob("*.c"))


def copy_tree(target):
    listed = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-coz", "--exclude-standard"],
        cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True,
    )
    for name in listed.stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def run(tree, argv, timeout=None):
    """(exit code, output); None when it took too long. Ends what it started."""
    process = subprocess.Popen(
        argv, cwd=tree, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
    )
    try:
        text, _ = process.communicate(timeout=timeout)
        return process.returncode, text
    except subprocess.TimeoutExpired:
        return None, ""
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def try_change(tree, ninja, place):
    """'noticed', 'SURVIVED', or None for a change that does not build."""
    path, number, begin, end, new = place
    text = path.read_text()
    lines = text.split("\n")
    lines[number] = lines[number][:begin] + new + lines[number][end:]
    try:
        path.write_text("\n".join(lines))
        if run(tree, ninja, HANGS)[0] != 0:
            return None
        return "SURVIVED" if run(tree, TEST, HANGS)[0] == 0 else "noticed"
    finally:
        path.write_text(text)


def describe(tree, place):
    path, number, begin, end, new = place
    line = path.read_text().split("\n")[number]
    old = line[begin:end].strip()
    return f"{path.relative_to(tree)}:{number + 1}: {old} -> {new.strip()} in: {line.strip()[:90]}"


def prepare(tree, ninja):
    """A copy that builds and whose tests pass; otherwise a score says nothing."""
    copy_tree(tree)
    for argv in (SETUP, ninja, TEST):
        code, text = run(tree, argv)
        if code:
            print(f"{text[-3000:]}\nmutate: {' '.join(argv)} fails before any change", file=sys.stderr)
            sys.exit(3)


def parse(argv):
    parser = argparse.ArgumentParser(
        usage="scripts/mutate.py [OPTION]...", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    option = parser.add_argument
    option("--count", type=int, default=100, metavar="N", help="changes to test (default: 100)")
    option("--seed", type=int, metavar="S", help="choice of changes (default: random, printed)")
    option("--paths", nargs="+", default=["lib"], metavar="PATH",
           help="files, and folders with their .c files, to change (default: lib)")
    option("--threshold", type=float, default=80, metavar="P",
           help="least score in percent (default: 80)")
    option("--jobs", type=int, default=os.cpu_count() or 1, metavar="N",
           help="compilers at once (default: one for each CPU)")
    options = parser.parse_args(argv)
    if options.count < 1:
        parser.error("--count: at least 1")
    for name in options.paths:
        if Path(name).is_absolute() or not (ROOT / name).exists():
            parser.error(f"--paths: {name}: no such file or folder in the tree")
    if options.seed is None:
        options.seed = random.randrange(1 << 31)
    return options


def main(argv):
    options = parse(argv)
    ninja = ["ninja", "-C", "build", "-j", str(options.jobs), "--quiet"]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="ddiperf-mutate-") as folder:
        tree = Path(folder)
        prepare(tree, ninja)
        changes = [p for path in sources(tree, options.paths) for p in places(path)]
        random.Random(options.seed).shuffle(changes)
        print(f"seed {options.seed}: {options.count} of {len(changes)} possible changes", flush=True)
        tested, survivors = 0, []
        for place in changes:
            if tested == options.count:
                break
            outcome = try_change(tree, ninja, place)
            if outcome is None:
                continue
            tested += 1
            text = describe(tree, place)
            if outcome == "SURVIVED":
                survivors.append(text)
            print(f"{outcome:<9} {text}", flush=True)
    print("".join(f"survivor: {text}\n" for text in survivors), end="")
    if not tested:
        print("mutate: nothing to change there", file=sys.stderr)
        return 2
    score = 100 * (tested - len(survivors)) / tested
    print(f"noticed {tested - len(survivors)} of {tested}: {score:.0f} %, seed {options.seed}")
    return 1 if score < options.threshold else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
