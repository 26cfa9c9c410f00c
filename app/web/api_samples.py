#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: api_samples.py FOLDER OUT.c OUT.d

Writes the configurations of a folder that describe a run, and the files that they read, into a C file (api_samples.h).
OUT.d names what it depends on.
"""

import json
import re
import sys
import zlib
from pathlib import Path

INPUT = "*.txt", "*.key", "*.zone"


def about(text):
    """The first paragraph of its comment."""
    lines = [line[1:] for line in text.splitlines() if line.startswith("#") and "yaml-language-server" not in line]
    end = next((n for n, line in enumerate(lines) if not line.strip() or line.startswith("  ")), len(lines))
    return " ".join(line.strip() for line in lines[:end])


def rows(folder):
    """(name, about, its input files, text)"""
    inputs = sorted(path for pattern in INPUT for path in folder.glob(pattern))
    for path in sorted(folder.glob("*.yaml")):
        text = path.read_text()
        if re.search(r"^traffic:", text, re.M):
            yield path.name, about(text), [one.name for one in inputs if one.name in text], text
    for path in inputs:
        yield path.name, None, [], path.read_text()


def main(folder, out, depends):
    found = list(rows(folder))
    with open(out, "w") as file:
        file.write('#include "web/api_samples.h"\n')
        for number, (_, _, _, text) in enumerate(found):
            file.write(f"static const unsigned char packed_{number}[] = {{{','.join(map(str, zlib.compress(text.encode(), 9)))}}};\n")
        file.write("const struct sample samples[] = {\n")
        for number, (name, said, needs, text) in enumerate(found):
            file.write(f"\t{{{json.dumps(name)}, {json.dumps(said) if said else 'NULL'}, {{{', '.join(map(json.dumps, needs)) or 'NULL'}}}, "
                       f"packed_{number}, sizeof(packed_{number}), {len(text.encode())}}},\n")
        file.write("\t{0},\n};\n")
    Path(depends).write_text(f"{out}: {folder} {' '.join(str(path) for path in sorted(folder.iterdir()))}\n")


main(Path(sys.argv[1]), *sys.argv[2:])
