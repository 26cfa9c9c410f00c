#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Keeps the architecture free of circles: no two files, and no two folders, of lib and app may need each other.
# A file needs another one when its object refers to a function or a variable that the other one defines. Includes
# do not tell that: a header may declare what a file above its folder defines.
"""usage: scripts/check-calls.py BUILD_DIR"""

import sys
from pathlib import Path

from built import objects, run


def symbols(obj):
    """(global symbols that an object defines, those that it refers to)"""
    defined, wanted = set(), set()
    for line in run("nm", "-g", "--format=posix", obj).split("\n"):
        if line:
            name, kind = line.split()[:2]
            (wanted if kind in "Uwv" else defined).add(name)
    return defined, wanted


def uses(built):
    """{source: {source that it needs: symbol that it needs}}"""
    found = {source: symbols(obj) for source, obj in built.items()}
    owner = {name: source for source, (defined, _) in found.items() for name in defined}
    graph = {}
    for source, (_, wanted) in found.items():
        needed = {owner[name]: name for name in sorted(wanted, reverse=True) if name in owner}
        graph[source] = {other: name for other, name in needed.items() if other != source}
    return graph


def by_folder(graph):
    """The same of folders; in the place of the symbol, the two files."""
    out = {}
    for source, needed in graph.items():
        for other, symbol in needed.items():
            a, b = Path(source).parent.as_posix(), Path(other).parent.as_posix()
            if a != b:
                out.setdefault(a, {}).setdefault(b, f"{source}: {symbol}")
            out.setdefault(b, {})
    return out


def way_back(graph, start):
    """The shortest way from a node to itself, or None."""
    seen, ways = set(), [[start]]
    while ways:
        way = ways.pop(0)
        for other in sorted(graph[way[-1]]):
            if other == start:
                return way + [start]
            if other not in seen:
                seen.add(other)
                ways.append(way + [other])
    return None


def circles(graph):
    """Circles as ways; a node is on one of them at most, so some show only when others are gone."""
    told = set()
    for node in sorted(graph):
        way = None if node in told else way_back(graph, node)
        if way and not told.intersection(way):
            yield way
        told.update(way or [])


def main(argv):
    if len(argv) != 2 or argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    graph = uses(objects(Path(argv[1]).resolve()))
    found = 0
    for kind, of in (("files", graph), ("folders", by_folder(graph))):
        for way in circles(of):
            found += 1
            print(f"circle of {kind}: {' > '.join(way)}")
            for a, b in zip(way, way[1:]):
                print(f"    {a} needs {b}: {of[a][b]}")
    print(f"{len(graph)} files, {found} circles")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
