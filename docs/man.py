#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A page of the manual from its template: man.py TEMPLATE PAGE TOOL PROGRAM...

A line "@list settings" or "@dhcp --help but dns --help" of the template becomes the rows that the program
prints for these words, each with its tag; without those that it prints for the others. Settings have a heading
for each section; "@map of list settings and list responder" becomes a line for each of these. TOOL, which may be empty,
takes the place of "@TOOL@".
"""

import re
import subprocess
import sys
from pathlib import Path

ROW = re.compile(r"^ *([\w\[\].]+|-.+?) {2,}(\S.*)$")


def roff(text):
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return re.sub(r"^(?=[.'])", r"\\&", text)


def rows(program, words):
    """What the program prints for the words."""
    printed = subprocess.run([*program, *words.split()], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [row.groups() for row in map(ROW.match, printed.splitlines()) if row]


def sections(printed):
    """(path, meaning) of the parts into which the map divides settings."""
    kinds = [(path, *text.partition(": ")[::2]) for path, text in printed]
    return [(path, text) for path, kind, text in kinds
            if re.match(r"(traffic\[\]\.|responder\.)?\w+(\[\])?$", path) and ("section" in kind or kind == "list of text" and "." not in path)]


def mapped(program, lists):
    found = dict(row for words in lists.split(" and ") for row in sections(rows(program, words)))
    placed = sorted(found, key=lambda path: list(found).index(path.partition(".")[0]))
    listed = "".join(f".TP 24\n.B \"{roff(path)}\"\n{roff(found[path])}\n" for path in placed)
    return f".PD 0\n{listed}.PD\n"


def name(tag):
    return re.sub("^-., ", "", tag)


def tagged(program, line):
    if line.startswith("map of "):
        return mapped(program, line.removeprefix("map of "))
    words, _, others = line.partition(" but ")
    known = {(name(tag), text) for tag, text in rows(program, others)} if others else set()
    kept = [(tag, text) for tag, text in rows(program, words) if (name(tag), text) not in known]
    headed = [path for path, _ in sections(kept)] if line.startswith("list ") else []
    return "".join(f".SS \"{roff(tag)}\"\n{roff(text)}\n" if tag in headed else f".TP\n.B \"{roff(tag)}\"\n{roff(text)}\n"
                   for tag, text in kept)


def main(template, page, tool, *program):
    text = Path(template).read_text().replace("DDIPERF-@TOOL@", f"DDIPERF-{tool.upper()}").replace("@TOOL@", tool)
    Path(page).write_text(re.sub(r"^@(.*)\n", lambda line: tagged(program, line[1]), text, flags=re.M))


main(*sys.argv[1:])
