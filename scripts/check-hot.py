#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Keeps the hot path pure: what its compiled functions call, divide and convert, and what its source names.
# A file is judged by its header line: "Path: hot." in whole; "Path: hot (a, b) | cold (c)" from its functions
# a and b (or stem_a and stem_b) on, with everything of the file that they call; "Path: hot | cold (c)" all others than
# c; "Path: cold." not at all.
# "Path: driver." neither: it is called through DPDK's table of drivers, as those of DPDK are.
"""usage: scripts/check-hot.py BUILD_DIR        (an optimised build, without sanitizers)"""

import fnmatch
import re
import sys
from pathlib import Path

from built import ROOT, objects, run

RULES = ROOT / "scripts" / "hot-symbols.txt"

PATH_LINE = re.compile(r"Path:\s*([^\n]*)")
DIVISION = re.compile(r"i?div[bwlq]?$")
FLOAT = re.compile(
    r"v?(add|sub|mul|div|sqrt|min|max|u?comi|round|cvt\w*|fn?m(add|sub)\w*)[sp][sd]$"
    r"|v?cvt|f(add|sub|mul|div|i?ld|i?st|com|sqrt)"
)
IMPURE = re.compile(
    r"\b(?:(?:m|c|re)alloc|free|strn?dup|rte_(?:z?malloc|free|log|panic|exit)\w*|RTE_LOG|log_\w+"
    r"|v?(?:f|d|s|sn|as)?printf|puts|fopen|fwrite|write|read|syscall|ioctl|poll|usleep|nanosleep"
    r"|clock_(?:gettime|nanosleep)|gettimeofday|pthread_\w+|rte_(?:spin|rw)lock_\w+|abort|exit)\s*\("
)
FUNCTION_AT = re.compile(r"^[0-9a-f]+ <(.+)>:$")
INSTRUCTION = re.compile(r"^\s+[0-9a-f]+:\s+(?:(?:lock|rep\w*|notrack|bnd|data16) )*(\w+)\s*(.*)$")
RELOCATION = re.compile(r"^\s+[0-9a-f]+: R_\w+\s+(\S+)")
TARGET = re.compile(r"<([^>+]+)")


def header(path):
    """The comment in front of the code, as one string."""
    lines = path.read_text(errors="replace").split("\n")[:12]
    return " ".join(line[2:].strip() for line in lines if line.startswith("//"))


class Hotness:
    """What the header says: names is None for all functions, else a list of words."""

    def __init__(self, path):
        found = PATH_LINE.search(header(path))
        line = found[1].split(". ")[0] if found else "cold"
        self.any = bool(re.search(r"\bhot\b", line))
        self.all = self.any and not re.search(r"\bcold\b", line)
        part = re.search(r"\bhot\s*\(([^)]*)\)", line)
        rest = re.search(r"\bhot\s*\|\s*cold\s*\(([^)]*)\)", line)
        self.cold = re.findall(r"\w+", rest[1]) if rest else []
        self.names = None if self.all or rest else re.findall(r"\w+", part[1]) if part else []

    def covers(self, function, stem):
        names = self.cold if self.names is None else self.names
        return any(function in (n, f"{stem}_{n}") for n in names) == (self.names is not None)


def disassemble(obj):
    """{function: ([instruction], {symbol it refers to})}"""
    functions, now = {}, None
    for line in run("objdump", "-dr", "--no-show-raw-insn", obj).split("\n"):
        if found := FUNCTION_AT.match(line):
            now = functions.setdefault(found[1], ([], set()))
        elif now is None:
            continue
        elif found := RELOCATION.match(line):
            now[1].add(re.sub(r"(?:[-+]0x[0-9a-f]+)?$", "", found[1]).split("@")[0])
        elif found := INSTRUCTION.match(line):
            now[0].append(found[1])
            if found[1].startswith(("call", "j")) and (target := TARGET.search(found[2])):
                now[1].add(target[1])
    return functions


def hot_functions(hotness, stem, functions):
    """Those that the header names, and what they call inside the file."""
    todo = [f for f in functions if hotness.covers(f.split(".")[0], stem)]
    found = set()
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += [ref for ref in functions[name][1] if ref in functions]
    return found


class Rules:
    def __init__(self, path):
        self.everywhere, self.special = [], []
        for line in path.read_text().split("\n"):
            line = line.split("#")[0].strip()
            where, colon, what = line.rpartition(": ")
            if colon:
                self.special.append((where, what.strip()))
            elif line:
                self.everywhere.append(line)

    def allow(self, place, what):
        return any(fnmatch.fnmatchcase(what, rule) for rule in self.everywhere) or any(
            fnmatch.fnmatchcase(place, where) and fnmatch.fnmatchcase(what, rule)
            for where, rule in self.special
        )


def symbols_of(obj):
    """(symbol, type) of the global functions and variables that an object defines."""
    lines = run("nm", "--defined-only", "-g", "--format=posix", obj).split("\n")
    return [line.split()[:2] for line in lines if line]


def judge_object(source, obj, owners, rules):
    hotness, name = Hotness(source), source.relative_to(ROOT).as_posix()
    functions = disassemble(obj)
    symbols = set(run("nm", "--format=just-symbols", "-u", obj).split())
    if hotness.names and not hot_functions(hotness, source.stem, functions):
        yield f"{name}: none of {', '.join(hotness.names)} is a function of it: mend the Path line"
    for function in sorted(hot_functions(hotness, source.stem, functions)):
        mnemonics, references = functions[function]
        place = f"{name}:{function.split('.')[0]}"
        for what, pattern in (("division", DIVISION), ("float", FLOAT)):
            bad = sorted({m for m in mnemonics if pattern.match(m)})
            if bad and not rules.allow(place, what):
                yield f"{place}: {what} ({', '.join(bad)})"
        for symbol in sorted(references & symbols):
            owner, kind = owners.get(symbol, (None, None))
            ours_to_use = owner and (kind not in "TW" or Hotness(owner).any)  # tables are for all
            if ours_to_use or rules.allow(place, symbol):
                continue
            of = f" of {owner.relative_to(ROOT)}, which is cold" if owner else ""
            yield f"{place}: calls {symbol}{of}"


def judge_source(path):
    text = re.sub(r'//[^\n]*|"(?:\\.|[^"\\\n])*"', "", path.read_text(errors="replace"))
    for number, line in enumerate(text.split("\n"), 1):
        if found := IMPURE.search(line):
            yield f"{path.relative_to(ROOT)}:{number}: {found[0].strip(' (')} in a hot file"


def main(argv):
    if len(argv) != 2 or argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    built = {ROOT / source: obj for source, obj in objects(Path(argv[1]).resolve()).items() if source.startswith("lib/")}
    hot = {source: obj for source, obj in built.items() if Hotness(source).any}
    owners = {sym: (source, kind) for source, obj in built.items() for sym, kind in symbols_of(obj)}
    rules = Rules(RULES)
    found = [text for source, obj in hot.items() for text in judge_object(source, obj, owners, rules)]
    for path in sorted((ROOT / "lib").rglob("*.[ch]")):
        if Hotness(path).all:
            found += judge_source(path)
    print("\n".join(found) if found else f"{len(hot)} hot objects are pure")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
