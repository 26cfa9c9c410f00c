#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Lists the files and functions that are worth a second look by their sizes. Judges nothing.
"""usage: scripts/check-sizes.py [-a]        (-a: all of them)"""

import re
import statistics
import sys
from pathlib import Path

SHOWN = 15
BRANCH = re.compile(r"\b(?:if|for|while|case)\b|&&|\|\||\?")
NAME = re.compile(r"(\w+)\(")
ATTRIBUTE = re.compile(r"__attribute__\s*\(\(.*?\)\)\s*")


def functions(lines):
    """(name, first line, length, complexity, parameters); relies on braces at the left margin."""
    start = None
    for number, line in enumerate(lines, 1):
        if line == "{" and start is None:
            start = number
        elif line.startswith("}") and start is not None:
            head = start - 1
            while head > 1 and re.match(r"[\w\s*]", lines[head - 2] or "}"):
                head -= 1
            signature = ATTRIBUTE.sub("", " ".join(lines[head - 1:start - 1]))
            body = "\n".join(re.sub(r"//.*", "", text) for text in lines[start:number])
            if found := NAME.search(signature):
                parameters = signature.count(",") + ("(void)" not in signature)
                yield found[1], head, number - start + 1, 1 + len(BRANCH.findall(body)), parameters
            start = None


def main(argv):
    root = Path(__file__).resolve().parent.parent
    files = sorted(p for top in ("lib", "app") for p in (root / top).rglob("*.[ch]"))
    looks, lengths, branches = [], [], []
    for path in files:
        lines = path.read_text(errors="replace").splitlines()
        name, limit = path.relative_to(root), 300 if path.suffix == ".c" else 120
        if len(lines) > limit:
            looks.append((len(lines) / (2 * limit), f"{name}: {len(lines)} lines"))
        for function, at, length, complexity, parameters in functions(lines):
            lengths.append(length)
            branches.append(complexity)
            score = max(length / 80, complexity / 15, parameters / 6)
            if length > 40 or complexity > 8 or parameters > 6:
                text = f"{length} lines, complexity {complexity}, {parameters} parameters"
                looks.append((score, f"{name}:{at}: {function}: {text}"))
    for score, text in sorted(looks, reverse=True)[: None if "-a" in argv else SHOWN]:
        print("look twice:" if score > 1 else "over the aim:", text)
    if len(looks) > SHOWN and "-a" not in argv:
        print(f"{len(looks) - SHOWN} more are over the aim: scripts/check-sizes.py -a")
    if len(lengths) > 1:
        p90 = statistics.quantiles(lengths, n=10)[-1], statistics.quantiles(branches, n=10)[-1]
        print(
            f"{len(files)} files, {len(lengths)} functions: median {statistics.median(lengths):.0f} lines,"
            f" p90 {p90[0]:.0f}, complexity p90 {p90[1]:.0f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
