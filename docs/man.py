#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A page of the manual from its template: man.py PROGRAM TEMPLATE PAGE [TOOL]

A line "@list settings" or "@dhcp --help but dns --help" of the template becomes the rows that the program
prints for these words, each with its tag; without those that it prints for the others. TOOL takes the place of
"@TOOL@".
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
    printed = subprocess.run([program, *words.split()], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [row.groups() for row in map(ROW.match, printed.splitlines()) if row]


def name(tag):
    return re.sub("^-., ", "", tag)


def tagged(program, line):
    words, _, others = line.partition(" but ")
    known = {(name(tag), text) for tag, text in rows(program, others)} if others else set()
    kept = [(tag, text) for tag, text in rows(program, words) if (name(tag), text) not in known]
    return "".join(f".TP\n.B \"{roff(tag)}\"\n{roff(text)}\n" for tag, text in kept)


def main(program, template, page, tool=""):
    text = Path(template).read_text().replace("DDIPERF-@TOOL@", f"DDIPERF-{tool.upper()}").replace("@TOOL@", tool)
    Path(page).write_text(re.sub(r"^@(.*)\n", lambda line: tagged(program, line[1]), text, flags=re.M))


main(*sys.argv[1:])
