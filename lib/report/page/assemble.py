#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: assemble.py page.html page.css page.js serve.html serve.css serve.js uPlot.min.css uPlot.iife.min.js uPlot.LICENSE OUT.c

Puts styles and scripts into the templates and writes C strings: the page of a result before and behind its data, and
the page of a server, which has the code of the former.
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


def filled(template, **parts):
    for mark, part in parts.items():
        assert template.count(f"@{mark}@") == 1 and "</script" not in part, mark
        template = template.replace(f"@{mark}@", part)
    return template


def main(*paths, out):
    page, style, script, server, server_style, server_script, chart_style, charts, licence = (Path(path).read_text() for path in paths)
    # What the page has of another author comes with its licence.
    notice = f"/* uPlot: {licence.strip()} */\n"
    style, charts = notice + chart_style + style, notice + charts
    head, data, tail = filled(page, STYLE=style, CHARTS=charts, SCRIPT=script).partition("@DATA@")
    assert data
    server = filled(server, STYLE=style + server_style, CHARTS=charts, SCRIPT=script + server_script)
    # Written by a program: no clang-format, and no header to read.
    with open(out, "w") as file:
        for name, part in (("page_head", head), ("page_tail", tail), ("page_serve", server)):
            file.write(f"extern const char {name}[];\nconst char {name}[] =\n{''.join(strings(part))};\n")


main(*sys.argv[1:-1], out=sys.argv[-1])
