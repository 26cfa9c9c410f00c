#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Counts phrases that make readers stumble (docs/glossary.md) in the comments of lib and app, and in docs. Each folder
# has a ceiling that only goes down. Prints one line for each folder above its ceiling; exit 1 if there is any.
"""usage: scripts/check-english.py [--show FOLDER | --lower]

  --show FOLDER  list the places of a folder and the count of each habit per 1000 words
  --lower        bring the ceilings down to today's counts"""

import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HABITS = {
    "what": re.compile(r"(?<![*`])\bwhat\b", re.I),
    "those that": re.compile(r"\b(?:those|that|ones?) (?:that|which|of)\b", re.I),
    "goes on": re.compile(r"\b(?:go|goes|going|went|gone) on\b", re.I),
    "tells": re.compile(r"\b(?:tells?|told|telling|says?|said|saying|hears?|heard)\b", re.I),
    "begins with Of, The same, Those, That": re.compile(r"\A(?:Of|The same|Those|That)\b"),
    "the same, as a pronoun": re.compile(r"\bthe same(?=[.,;:)]|\Z|\s(?:for|in|by|with|of|is|are|again|but)\b)", re.I),
}
COMMENT = re.compile(r"/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|(?:(?<=\n)[ \t]*//[^\n]*\n)+|//[^\n]*", re.S)

# Occurrences of all habits. Never raise one: rewrite the sentence.
CEILINGS = {
    "lib/base": 0,
    "lib/compare": 0,
    "lib/conf": 1,
    "lib/document": 0,
    "lib/engine": 3,
    "lib/export": 0,
    "lib/fleet": 1,
    "lib/follow": 3,
    "lib/format": 0,
    "lib/http": 1,
    "lib/io": 2,
    "lib/nats": 0,
    "lib/net": 1,
    "lib/process": 0,
    "lib/proto": 11,
    "lib/quic": 0,
    "lib/report": 0,
    "lib/stats": 0,
    "app": 2,
    "docs": 9,
}


def texts(path):
    """(line number, text) of each comment; of a page each paragraph outside of its code."""
    source = "\n" + path.read_text(errors="replace")
    if path.suffix == ".md":
        source = re.sub(r"^```.*?^```", lambda code: "\n" * code[0].count("\n"), source, flags=re.S | re.M)
        blocks = re.finditer(r"(?:[^\n]+\n?)+", re.sub(r"`[^`\n]*`", "``", source))
    else:
        blocks = (found for found in COMMENT.finditer(source) if found[0].lstrip().startswith("/"))
    for found in blocks:
        at = source.count("\n", 0, found.start()) + found[0][: len(found[0]) - len(found[0].lstrip("\n"))].count("\n")
        yield max(at, 1), " ".join(re.sub(r"^\s*(?://|/\*|\*/)", "", found[0], flags=re.M).split())


def folders():
    """The files of each folder of lib, of app and of docs; not the glossary, which names the phrases."""
    files = {}
    for top in ("lib", "app", "docs"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in (".c", ".h", ".md") and not re.search("reference|glossary", path.name):
                parts = path.relative_to(ROOT).parts
                files.setdefault("/".join(parts[:2]) if top == "lib" else top, []).append(path)
    return files


def found_in(files):
    """(habit, place, text) of each occurrence, and the words that were read."""
    places, words = [], 0
    for path in files:
        for number, text in texts(path):
            words += len(text.split())
            for habit, pattern in HABITS.items():
                for found in pattern.finditer(text):
                    near = text[max(0, found.start() - 40): found.end() + 40]
                    places.append((habit, f"{path.relative_to(ROOT)}:{number}", near))
    return places, words


def main(argv):
    files = folders()
    if argv[1:2] == ["--show"]:
        places, words = found_in([path for name in argv[2:] for path in files[name]])
        for habit, place, near in places:
            print(f"{place}: {habit}: {near}")
        for habit, count in Counter(habit for habit, _, _ in places).items():
            print(f"{count:5} {1000 * count / words:5.1f} per 1000 words: {habit}")
        return 0
    counts = {name: len(found_in(paths)[0]) for name, paths in files.items()}
    if argv[1:] == ["--lower"]:
        path = Path(__file__)
        lower = "".join(f'    "{name}": {min(count, CEILINGS.get(name, count))},\n' for name, count in counts.items())
        path.write_text(re.sub(r"(?<=^CEILINGS = \{\n).*?(?=^\})", lower, path.read_text(), flags=re.S | re.M))
        return 0
    above = {name: count for name, count in counts.items() if count > CEILINGS.get(name, 0)}
    for name, count in above.items():
        most = CEILINGS.get(name, 0)
        print(f"{name}: {count} odd phrases, at most {most}: scripts/check-english.py --show {name}, and rewrite what is new")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
