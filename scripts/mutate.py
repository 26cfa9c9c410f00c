#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# How many small mistakes do the unit, golden and stepped tests notice? Makes one-token changes in lib and app, one at
# a time, builds and tests each. Works in a copy of the tree, never in the checkout.
"""Change one token of lib or app at random, build, run the unit, golden and stepped tests; repeat.

A change that no test notices has survived: either a test is missing, or the change has no effect.
Survivors are listed at the end for reading. Address and undefined-behaviour sanitizers are on. Only
tests of programs that the changed file is part of run: first the unit tests named after it, then those
of its folder, runs in stepped time named like it, all of unit and golden, all of stepped; the first
failure ends them. Exit code: 0, 1 when the score is below the threshold, 3 when the tree does not build
or its tests fail before any change.
"""

import argparse
import collections
import filecmp
import functools
import json
import os
import random
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# With sanitizers, the optimizer and the usual linker take longer than the tests that they speed up.
SETUP = ["meson", "setup", "build", "-Ddebug=false", "-Doptimization=0", "-Db_sanitize=address,undefined",
         *(["-Dc_link_args=-fuse-ld=gold"] if shutil.which("ld.gold") else [])]
TEST = ["meson", "test", "-C", "build", "--no-rebuild", "--maxfail", "1", "-q"]
ENVIRONMENT = {**os.environ, "UBSAN_OPTIONS": "halt_on_error=1"}
# A program that misbehaves on purpose leaves nothing in /run, and no process behind. The shell is init: it reaps orphans.
ALONE = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
         "sh", "-c", 'mount -t tmpfs tmpfs /run && "$@"; exit $?', "sh"] if os.geteuid() == 0 else []
HANGS = 300  # seconds for a build, and for a stage of tests

# What is looked for, and what is put in its place.
CHANGES = [
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "),
    (r" == ", " != "), (r" != ", " == "), (r" && ", " || "), (r" \|\| ", " && "),
    (r" \+ 1\b", " + 2"), (r" - 1\b", " - 0"), (r" \+= ", " -= "), (r" -= ", " += "),
    (r"\bif \(!", "if ("), (r"\btrue\b", "false"), (r"\bfalse\b", "true"),
    (r"\bcontinue;", ";"),
]
NOTICED, SURVIVED = "noticed", "SURVIVED"
NO_CODE = ("//", "#", "assert", "_Static")
# `a < b ? a : b`, or its reverse: when both are equal, either is the result.
EXTREME = re.compile(r"(?:[=(,?:]|return|&&|\|\|) *([\w.>\[\]*\- ]*[\w\]]) [<>]=? ([\w.>\[\]\-]+) \? (?:\1 : \2|\2 : \1)(?![\w.\[(]|->)")


def places(path):
    """(path, line number from 0, begin, end, replacement) of each possible change of a file."""
    for number, line in enumerate(path.read_text().split("\n")):
        if line.lstrip().startswith(NO_CODE):
            continue
        code = line.split("//")[0]
        extremes = [range(*found.span()) for found in EXTREME.finditer(code)]
        for pattern, new in CHANGES:
            for found in re.finditer(pattern, code):
                if code[:found.start()].count('"') % 2 == 0 and not any(found.start() in one for one in extremes):
                    yield path, number, found.start(), found.end(), new


def sources(tree, names):
    """The .c files below the given files and folders; a file counts whatever its suffix."""
    for name in names:
        path = tree / name
        yield from [path] if path.is_file() else sorted(path.rglob("*.c"))


def copy_tree(target):
    """Copy what differs; the rest keeps its time, so that ninja need not build it again."""
    listed = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-coz", "--exclude-standard"],
        cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True,
    )
    for name in listed.stdout.split("\0"):
        old, new = ROOT / name, target / name
        if old.is_file() and not (new.is_file() and filecmp.cmp(old, new, shallow=False)):
            new.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(old, new)


def run(tree, argv, timeout=None):
    """(exit code, output); None when it took too long. Ends what it started."""
    process = subprocess.Popen(
        argv, cwd=tree, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
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


Test = collections.namedtuple("Test", "name suite target source files")


def introspect(tree, what):
    return json.loads(run(tree, ["meson", "introspect", "build", what])[1])


@functools.cache
def files_of(tree, target):
    """All files that a program is made of."""
    folder = tree / "build"
    names = run(tree, ["ninja", "-C", "build", "-t", "inputs", target])[1].split("\n")
    return frozenset(Path(os.path.normpath(folder / name)) for name in names)


def all_tests(tree):
    """The tests that count: name, suite, what to build for it, its source, and what it runs."""
    folder = tree / "build"
    sources_of = {t["filename"][0]: [Path(s) for s in t["target_sources"][0]["sources"]]
                  for t in introspect(tree, "--targets") if t["type"] == "executable"}
    for test in introspect(tree, "--tests"):
        suite = test["suite"][0].rpartition(":")[2]
        # Those of the loop suite are about times, which a busy machine changes too.
        if suite == "stepped":
            own = test["cmd"][0] in sources_of  # it plays files; the others are Python and play the stepped program
            program = os.path.relpath(test["cmd"][0] if own else test["env"]["DDIPERF"], folder)
            yield Test(test["name"], suite, program, Path(test["cmd"][2 if own else 1]), files_of(tree, program))
        elif suite in ("unit", "golden") and test["cmd"][0] in sources_of:  # the harness is none of lib and app
            program = os.path.relpath(test["cmd"][0], folder)
            sources = sources_of[test["cmd"][0]]
            source = next((s for s in sources if s.stem.partition("_")[2] == test["cmd"][1]), sources[0])
            yield Test(test["name"], suite, program, source, files_of(tree, program))


def home_of(tree, path):
    """The nearest folder of unit tests; what is around a run has those of app."""
    parts = path.relative_to(tree / "lib" if path.is_relative_to(tree / "lib") else tree).parent.parts
    homes = [tree.joinpath("tests/unit", *parts[:n]) for n in range(len(parts), 0, -1)]
    return next((home for home in homes if home.exists()), tree / "tests/unit/app")


def is_named_like(test, path):
    """A word of the path begins one of the test's name: dhcp that of dhcp4_faults."""
    words = [word for word in re.split(r"\W|_", str(path)) if len(word) > 2]
    return any(part.startswith(word) for word in words for part in re.split(r"\W|_", test.source.stem))


def stages(tree, tests, path, near):
    """The tests for a changed file; first those that are the likeliest to notice it."""
    tests = [test for test in tests if path in test.files]
    there = [test for test in tests if home_of(tree, path) in test.source.parents]
    stems = [(test, test.source.stem.removeprefix("test_")) for test in there]
    named = [t for t, stem in stems if stem.startswith(path.stem) or path.stem.startswith(stem)]
    stepped = [test for test in tests if test.suite == "stepped"]
    alike = [test for test in stepped if is_named_like(test, path.relative_to(tree))]
    rest = [] if near and there else [alike, [t for t in tests if t.suite != "stepped"], stepped]
    order, seen = [], set()
    for stage in (named, there, *rest):
        order.append([test for test in stage if test.name not in seen])
        seen |= {test.name for test in stage}
    return [stage for stage in order if stage]


def build_tests(tree, jobs, tests, hangs=HANGS):
    targets = sorted({test.target for test in tests})
    return run(tree, ["ninja", "-C", "build", "-j", jobs, "--quiet", *targets], hangs)


def run_tests(tree, jobs, tests, hangs=HANGS):
    names = [test.name for test in tests]
    return run(tree, [*ALONE, *TEST, "--num-processes", jobs, *names], hangs)


def outcome_of(tree, jobs, order):
    """NOTICED, SURVIVED, or None for a change that does not build."""
    for tests in order:
        if build_tests(tree, jobs, tests)[0] != 0:
            return None
        if run_tests(tree, jobs, tests)[0] != 0:
            return NOTICED
    return SURVIVED


def try_change(tree, jobs, place, order):
    path, number, begin, end, new = place
    text = path.read_text()
    lines = text.split("\n")
    lines[number] = lines[number][:begin] + new + lines[number][end:]
    try:
        path.write_text("\n".join(lines))
        return outcome_of(tree, jobs, order)
    finally:
        path.write_text(text)


def describe(tree, place):
    path, number, begin, end, new = place
    line = path.read_text().split("\n")[number]
    old = line[begin:end].strip()
    return f"{path.relative_to(tree)}:{number + 1}:{begin + 1}: {old} -> {new.strip()} in: {line.strip()[:90]}"


def must(result, what):
    """A score says nothing about a tree that does not build or whose tests fail."""
    if result[0] != 0:
        print(f"{result[1][-3000:]}\nmutate: {what} before any change", file=sys.stderr)
        sys.exit(3)


def prepare(tree, options):
    """[(change, its stages)] of a copy where all of these tests pass."""
    copy_tree(tree)
    if not (tree / "build/build.ninja").exists():
        must(run(tree, SETUP), "meson setup fails")
    tests = list(all_tests(tree))
    changes = []
    for path in sources(tree, options.paths):
        order = stages(tree, tests, path, options.near)
        changes += [(place, order) for place in places(path)]
    used = {test for _, order in changes for stage in order for test in stage}
    must(build_tests(tree, options.jobs, used, None), "the tree does not build")
    must(run_tests(tree, options.jobs, used, None), "its tests fail")
    return changes


def parse(argv):
    parser = argparse.ArgumentParser(
        usage="scripts/mutate.py [OPTION]...", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    option = parser.add_argument
    option("--count", type=int, default=100, metavar="N", help="changes to test (default: 100)")
    option("--all", action="store_true", help="test all possible changes, in order")
    option("--seed", type=int, metavar="S", help="choice of changes (default: random, printed)")
    option("--paths", nargs="+", default=["lib", "app"], metavar="PATH",
           help="files, and folders with their .c files, to change (default: lib and app)")
    option("--near", action="store_true",
           help="run only the tests of the changed file's folder, in a tenth of the time")
    option("--threshold", type=float, default=90, metavar="P",
           help="least score in percent (default: 90)")
    option("--jobs", default=str(os.cpu_count() or 1), metavar="N",
           help="compilers and tests at once (default: one for each CPU)")
    option("--tree", type=Path, metavar="FOLDER",
           help="keep the copy and its build there; the next run builds what differs "
                "(default: a temporary folder)")
    options = parser.parse_args(argv)
    if options.count < 1:
        parser.error("--count: at least 1")
    for name in options.paths:
        if Path(name).is_absolute() or not (ROOT / name).exists():
            parser.error(f"--paths: {name}: no such file or folder in the tree")
    if options.seed is None:
        options.seed = random.randrange(1 << 31)
    return options


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def mutate(tree, options):
    """(outcome, description, CPU seconds) of each change that was tested; printed as they come."""
    changes = prepare(tree, options)
    if options.all:
        print(f"all {len(changes)} possible changes", flush=True)
    else:
        random.Random(options.seed).shuffle(changes)
        print(f"seed {options.seed}: {options.count} of {len(changes)} possible changes", flush=True)
    done = []
    for place, order in changes:
        if len(done) == options.count and not options.all:
            break
        before = cpu_seconds()
        outcome = try_change(tree, options.jobs, place, order)
        if outcome:
            done.append((outcome, describe(tree, place), cpu_seconds() - before))
            print(f"{outcome:<8} {done[-1][2]:5.0f} s {done[-1][1]}", flush=True)
    return done


def main(argv):
    options = parse(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="ddiperf-mutate-") as folder:
        done = mutate((options.tree or Path(folder)).resolve(), options)
    survivors = [row for row in done if row[0] != NOTICED]
    print("".join(f"survivor: {text}\n" for _, text, _ in survivors), end="")
    if not done:
        print("mutate: nothing to change there", file=sys.stderr)
        return 2
    spent = [seconds for _, _, seconds in done]
    print(f"CPU seconds a change: median {statistics.median(spent):.0f}, highest {max(spent):.0f}")
    noticed = len(done) - len(survivors)
    score = 100 * noticed / len(done)
    print(f"noticed {noticed} of {len(done)}: {score:.0f} %"
          + ("" if options.all else f", seed {options.seed}"))
    return 1 if score < options.threshold else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
