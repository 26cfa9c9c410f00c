#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: assemble.py page.html page.css page.js uPlot.min.css uPlot.iife.min.js uPlot.LICENSE OUT.c

Puts style and scripts into the template and writes the parts before and behind its data as C strings.
"""

import sys
from pathlib import Path

LITERAL = 2000  # characters of a C literal


def strings(text):
    """Text as lines of C literals, whatever is in it."""
    data = text.encode()
    for at in range(0, len(data), LITERAL):
        yield '\t"' + "".join(
            chr(c) if 32 <= c < 127 and c not in b'"\\?' else f"\\{c:03o}" for c in data[at:at + LITERAL]) + '"\n'


def main(html, style, script, chart_style, charts, licence, out):
    text = [Path(path).read_text() for path in (html, style, script, chart_style, charts, licence)]
    html, style, script, chart_style, charts, licence = text
    # What the page has of another author comes with its licence.
    notice = f"/* uPlot: {licence.strip()} */\n"
    for mark, part in (("STYLE", notice + chart_style + style), ("CHARTS", notice + charts), ("SCRIPT", script)):
        assert html.count(f"@{mark}@") == 1 and "</script" not in part, mark
        html = html.replace(f"@{mark}@", part)
    head, data, tail = html.partition("@DATA@")
    assert data
    # Written by a program: no clang-format, and no header to read.
    with open(out, "w") as file:
        for name, part in (("page_head", head), ("page_tail", tail)):
            file.write(f"extern const char {name}[];\nconst char {name}[] =\n{''.join(strings(part))};\n")


main(*sys.argv[1:])
