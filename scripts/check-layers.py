#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# The rules of docs/architecture.md on who may include and name what, checked on the source text.
# Prints one "file:line: what" for each violation; exit 1 when there is any.
"""usage: scripts/check-layers.py [ROOT]"""

import re
import sys
from collections import Counter
from pathlib import Path

# A folder and what it may include besides itself.
BELOW = {
    "base": set(),
    "net": {"base"},
    "crypt": {"base"},
    "quic": {"base", "crypt"},
    "conf": {"base"},
    "stats": {"base"},
    "proto": {"base", "net", "crypt"},
    "io": {"base", "net"},
    "engine": {"base", "net", "crypt", "quic", "conf", "stats", "proto", "io"},
}
RUN = set(BELOW)  # what makes a run; around it:
BELOW |= {
    "process": RUN,
    "document": RUN,
    "compare": RUN | {"document"},
    "http": RUN,
    "nats": {"base", "io"},
    "follow": RUN | {"document"},
    "report": RUN | {"document", "compare", "follow"},
    "format": RUN | {"document", "follow", "report"},
    "export": RUN | {"document", "follow", "format", "http"},
    "fleet": RUN | {"process", "document", "follow", "nats"},
}
BELOW["app"] = set(BELOW)

# Folders, and files of their own place, inside others, lowest first: a file may include those of its own and of lower
# ones. "": the other files of the folder itself.
INSIDE = {
    "proto/dns": ["client", "server", "ddns", ""],
    "proto": ["", "echo", "ntp", "dns", "dhcp", "table.h", "table.c"],
    "proto/dhcp": ["client", "v4", "v6", "server", "leasequery", ""],
    "proto/dhcp/client": ["lease", ""],
    "engine/run": ["collect", "around", "orders.h", "run_options.h", "run_state.h", "judge", ""],
    "engine/core": ["", "worker", "responder"],
    "io": ["", "host", "driver", "pci", "doctor", "sockets", "port"],
    "engine": ["core", "result", "config", "plan", "run", "series", "tools"],
    "fleet": ["", "agent", "coordinator"],
    "app": ["line", "run", "campaign", "web", "front", "host", ""],
}

MOST_FILES = 40  # of a folder
MOST_FILES_OF_APP = 15  # of app itself
CONTRACT = ["proto", "proto_server", "proto_router", "proto_followed", "proto_follower"]  # structs of proto/proto.h
MOST_MEMBERS = 55  # of them together: an author reads one page

# Functions of a folder that are declared neither in the header of their own file nor in the folder's *_internal.h: at
# most so many, and none in folders that are not named. These numbers only go down.
DECLARED_ELSEWHERE = {
    "app": 9,
    "app/campaign": 2,
    "app/front/perfdhcp": 7,
    "app/host": 3,
    "app/run": 10,
    "app/web": 8,
    "conf": 11,
    "document": 7,
    "fleet/coordinator": 1,
    "format": 11,
    "http": 1,
    "nats": 3,
    "net": 5,
    "report": 6,
}

# An outside header and the folders, or files of a name, that may include it, themselves or through a header of ours.
OUTSIDE = {
    "libyaml": (re.compile(r"yaml\.h$"), {"conf"}),
    "libmnl": (re.compile(r"libmnl/"), {"io"}),
    "libpcap": (re.compile(r"pcap(\.h|/)"), {"io", "net"}),
    "ldns": (re.compile(r"ldns/"), {"proto"}),
    "libmicrohttpd": (re.compile(r"microhttpd\.h$"), {"http", "export", "app"}),
    "GnuTLS": (re.compile(r"gnutls/"), {"http", "crypt"}),
    "libnats": (re.compile(r"^nats(/|\.h$)"), {"nats"}),
    "nettle": (re.compile(r"nettle/"), {"proto", "crypt", "quic"}),
    "ngtcp2": (re.compile(r"ngtcp2/"), {"quic"}),
    "jansson": (re.compile(r"jansson\.h$"), {"conf", "stats", "engine", "app"} | set(BELOW) - RUN),
}
DPDK_FOLDERS = {"io", "engine"}
WORDS = {"echo"}  # protocols whose name ICMP, TCP timestamps and terminals have, too
FOREIGN = {"dns_metrics", "GNUTLS_NAME_DNS", "GNUTLS_SAN_DNSNAME"}  # names of others that are like a protocol's
PROTOCOL_FREE = {"base", "net", "crypt", "quic", "conf", "stats", "io", "engine"}

INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)')
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|(\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')", re.S)


def without_comments(text):
    def blank(match):
        return match[1] if match[1] else re.sub(r"[^\n]", " ", match[0])

    return COMMENT.sub(blank, text)


class Source:
    def __init__(self, root, path, name):
        self.path = path
        self.name = name  # as others include it: "net/frame.h"
        self.folder = name.split("/")[0]
        self.lines = without_comments(path.read_text(errors="replace")).split("\n")
        self.own, self.foreign = [], []  # (line number, header)
        for number, line in enumerate(self.lines, 1):
            if found := INCLUDE.match(line):
                header = found[1] or found[2]
                if self.folder == "app" and found[1] and (root / "app" / header).exists():
                    header = f"app/{header}"  # app is not below lib: its own headers go by their names there
                (self.own if found[1] else self.foreign).append((number, header))


def load(root):
    sources = {}
    for top in (root / "lib", root / "app"):
        # A precompiled header includes what the files of many folders do.
        for path in sorted(p for p in top.rglob("*.[ch]") if p.parent.name != "pch"):
            name = path.relative_to(root / "lib" if top.name == "lib" else root).as_posix()
            sources[name] = Source(root, path, name)
    return sources


def level(name):
    """Where a file stands in each folder above it that has an order, outermost first; -1: in none of its parts."""
    parts = name.split("/")
    levels = []
    for depth in range(1, len(parts)):
        order = INSIDE.get("/".join(parts[:depth]))
        part = parts[depth]
        if order is not None:
            is_file = depth == len(parts) - 1 and part not in order
            levels.append(order.index("" if is_file else part) if is_file or part in order else -1)
    return levels


def above(one, other):
    """Whether, where the levels of two files first differ, the one is higher."""
    return next((a > b for a, b in zip(one, other) if a != b), False)


def check_includes(source, sources):
    for number, header in source.own:
        folder = header.split("/")[0]
        if "/" not in header:
            yield number, f'"{header}" does not name its folder'
        elif header not in sources:
            yield number, f'"{header}" is not a file of lib or app'
        elif folder != source.folder and folder not in BELOW.get(source.folder, set()):
            yield number, f'{source.folder} may not include "{header}"'
        elif folder == source.folder and above(level(header), level(source.name)):
            yield number, f'{Path(source.name).parent} may not include "{header}"'


def reaches(name, pattern, sources, seen):
    """Whether a header of ours pulls in an outside one."""
    if name in seen or name not in sources:
        return False
    seen.add(name)
    source = sources[name]
    return any(pattern.search(header) for _, header in source.foreign) or any(
        reaches(header, pattern, sources, seen) for _, header in source.own
    )


def check_outside(source, sources):
    for library, (pattern, folders) in OUTSIDE.items():
        if source.folder in folders or source.name.startswith(tuple(f for f in folders if "/" in f)):
            continue
        for number, header in source.foreign:
            if pattern.search(header):
                yield number, f"{library} belongs to {' and '.join(sorted(folders))} only"
        for number, header in source.own:
            if reaches(header, pattern, sources, set()):
                yield number, f'"{header}" brings {library} into {source.folder}'


def check_words(source, pattern, what):
    for number, line in enumerate(source.lines, 1):
        if found := next((f for f in pattern.findall(line) if f not in FOREIGN), None):
            yield number, f"{found}: {what}"


def protocol_pattern(sources):
    """A protocol has a folder of its name in lib/proto; dhcp4_init and DHCP6_PORT are names of dhcp."""
    names = {name.split("/")[1] for name in sources if re.match(r"proto/\w+/", name)} - WORDS
    return re.compile(rf"\w*(?<![a-z])(?:{'|'.join(sorted(names))})\w*", re.I)


def circles(sources):
    """Headers and sources that include themselves by way of others."""
    done, path = set(), []

    def visit(name):
        if name in path:
            yield name, " > ".join(path[path.index(name):] + [name])
        elif name not in done and name in sources:
            path.append(name)
            for _, header in sources[name].own:
                yield from visit(header)
            path.pop()
            done.add(name)

    for name in sources:
        yield from visit(name)


DEFINED = re.compile(r"^(?!static\b)[a-zA-Z_][^;{}#=]*?\b(\w+)\((?:[^;{}()]|\([^;{}()]*\))*\)\n\{$", re.M)
DECLARED = re.compile(r"^(?!static\b|typedef\b)[a-zA-Z_][^;{}#=]*?\b(\w+)\((?:[^;{}()]|\([^;{}()]*\))*\)[^;{}()]*;", re.M)


def elsewhere(sources):
    """Functions whose declaration is not where their definition makes one look for it: by folder, a text for each."""
    headers, found = {}, {}
    for name, source in sources.items():
        if name.endswith(".h"):
            for declared in DECLARED.findall("\n".join(source.lines)):
                headers.setdefault(declared, []).append(name)
    for name, source in sources.items():
        folder, text = name.rpartition("/")[0], "\n".join(source.lines)
        stem = name.removesuffix(".c").removesuffix("_wire")  # foo.c is cold, foo_wire.c hot, and foo.h has both
        own = re.compile(rf"{re.escape(stem)}(?:_wire)?\.h|{folder}/\w*_internal\.h")
        for function in DEFINED.finditer(text) if name.endswith(".c") else ():
            declared = headers.get(function[1], [])
            if declared and not any(own.fullmatch(header) for header in declared):
                line = text.count("\n", 0, function.start(1)) + 1
                found.setdefault(folder, []).append(f"{source.path}:{line}: {function[1]} is declared in {declared[0]}")
    return found


def check_declared(sources):
    for folder, functions in sorted(elsewhere(sources).items()):
        most = DECLARED_ELSEWHERE.get(folder, 0)
        if len(functions) > most:
            yield from functions
            yield f"{folder}: {len(functions)} functions are declared elsewhere (at most {most}): declare them in their file's header"


def crowded(sources):
    """Folders with more files than one takes in at a glance."""
    count = Counter(source.path.parent for source in sources.values())
    for folder, files in sorted(count.items()):
        most = MOST_FILES_OF_APP if folder.name == "app" else MOST_FILES
        if files > most:
            yield f"{folder}: {files} files (at most {most}): divide it"


def contract(sources):
    """The structs that a protocol fills, if they have grown."""
    if "proto/proto.h" not in sources:
        return
    text, members = "\n".join(sources["proto/proto.h"].lines), {}
    for name in CONTRACT:
        if body := re.search(rf"^struct {name} {{\n(.*?)^}};", text, re.M | re.S):
            # Functions count once: a comma in them separates parameters.
            members[name] = sum(
                1 if "(" in one else 1 + one.count(",") for one in body[1].split(";") if one.strip()
            )
    if sum(members.values()) > MOST_MEMBERS:
        each = ", ".join(f"{name} {count}" for name, count in members.items())
        yield f"{sources['proto/proto.h'].path}:1: {sum(members.values())} members (at most {MOST_MEMBERS}): {each}"


def violations(sources):
    protocols = protocol_pattern(sources)
    dpdk = re.compile(r"\brte_\w*")
    for source in sources.values():
        found = list(check_includes(source, sources))
        found += check_outside(source, sources)
        if source.folder not in BELOW:
            found.append((1, f"folder {source.folder} is not in the order of layers"))
        if -1 in level(source.name):
            found.append((1, f"folder {Path(source.name).parent} is not in the order of {source.folder}"))
        if source.folder not in DPDK_FOLDERS:
            found += check_words(source, dpdk, "DPDK belongs to io and engine only")
        if source.folder in PROTOCOL_FREE:
            found += check_words(source, protocols, f"a protocol's name in {source.folder}")
        for number, text in sorted(found):
            yield f"{source.path}:{number}: {text}"
    for name, way in circles(sources):
        yield f"{sources[name].path}:1: circle: {way}"
    yield from check_declared(sources)
    yield from crowded(sources)
    yield from contract(sources)


def main(argv):
    root = Path(argv[1]) if len(argv) > 1 else Path(__file__).resolve().parent.parent
    count = 0
    for text in violations(load(root)):
        print(text.replace(f"{root}/", "", 1))
        count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
