#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# The command lines of dnsperf, resperf and kxdpgun, one after the other by the original and by ddiperf as that tool, on
# the same server: labels are equal, figures are at most 5 % apart.

import re
import shutil
import struct
import tempfile
from pathlib import Path

from harness import binary, main, nightly, skip, test, timing
from live import SERVER, lab

# A usual host: the lab's tester has no address, and no IPv6.
SETUP = ["sysctl -qw net.ipv6.conf.veth0.disable_ipv6=0", "ip address replace 198.18.0.9/24 dev veth0",
         "ip address replace 2001:db8::9/64 dev veth0 nodad"]
CLEAN_UP = ["ip address del 198.18.0.9/24 dev veth0", "sysctl -qw net.ipv6.conf.veth0.disable_ipv6=1"]
CLOSE = 0.05
# What differs from run to run, or is another figure by design: how long a closed loop took, and what it took.
FREE = re.compile(r"Run time|Queries per second|Latency|Started at|^\d+\.\d+: |Command line|Maximum throughput|using interface|^> ")
PACED = re.compile(r"Queries per second|Maximum throughput")

DNSPERF = [
    "-d {names}",
    "-d {names} -n 2 -Q 2000",
    "-d {names} -l 1 -Q 1000",
    "-d {names} -l 1.8 -Q 500 -S 0.5",
    "-d {names} -l 1 -Q 800 -e",
    "-d {names} -l 1 -Q 800 -D",
    "-d {names} -l 1 -Q 800 -E 8:00011800c0a800",
    "-d {names} -l 1 -Q 800 -c 4 -x 4000 -q 50",
    "-d {names} -n 1 -q 10 -t 2",
    "-d {mixed} -n 5 -Q 500",
    "-d {mixed} -n 1 -p 53 -a 198.18.0.9 -W",
    "-d {names} -l 1 -Q 500 -f inet -m udp -O suppress=timeouts",
    "-s 2001:db8::2 -d {names} -l 1 -Q 500 -f inet6",
    "-n 1 -Q 2000 -T 1 -b 100",  # standard input
    "-d {mixed} -n 1 -Q 500 -v",
    "-B -d {binary} -n 2 -Q 800",
    "-B -d {binary} -n 1 -Q 500 -v",
]
# Each with a ramp of a second or two and without a long wait at its end.
RESPERF = [f"{line} -t 1 -P {{plot}}" for line in (
    "-d {names} -m 1000 -r 1.5 -c 1 -R",
    "-d {names} -m 800 -r 1 -c 1 -R -i 0.25 -L 10 -q 500",
    "-d {names} -m 1000 -r 2",
    "-d {names} -m 1000 -r 1 -c 1 -R -e",
    "-d {names} -m 1000 -r 1 -c 1 -R -D",
    "-d {names} -m 1000 -r 1 -c 1 -R -E 8:00011800c0a800",
    "-d {names} -m 1000 -r 1 -R -f inet -M udp -p 53",
    "-d {names} -m 1000 -r 1 -R -a 198.18.0.9 -C 2 -b 64",
    "-d {mixed} -m 500 -r 1 -c 1 -R",
    "-d {names} -m 1000 -r 1 -R -v -W -F 0",
    "-s 2001:db8::2 -d {names} -m 1000 -r 1 -R -f inet6",
    "-m 1000 -r 1",  # standard input
)]
KXDPGUN = [
    "-t 2 -Q 1000 -i {names}",
    "-t 1 -Q 2000 -b 5 -p 53 -i {names}",
    "-i {names} -t 1",
    "--duration 1 --qps 500 --infile {names}",
    "--batch 1 --port 53 -t 1 -i {names}",
    "-t 1 -Q 1000 -i {types}",
    "-t 1 -Q 1000 -i {letters}",
    "-t 1 -Q 1000 -r -i {names}",
    "-t 1 -Q 1000 -p 5353 -i {names}",  # nobody answers
    "-t 1 -Q 1000 -F 0s1 -i {names}",
    "-t 1 -Q 1000 -I veth0 -i {names}",
    "-t 1 -Q 1000 -l 198.18.0.9 -i {names}",
    "-t 1 -Q 1000 -i {names} 2001:db8::2",
]
DNSPERF_TCP = ["-m tcp -d {names} -n 1 -Q 1000 -c 4", "-m tcp -d {mixed} -n 6 -Q 400 -O num-queries-per-conn=100000 -f inet"]
RESPERF_TCP = ["-M tcp -d {names} -m 1000 -r 1.5 -c 1 -R -t 1 -P {plot}"]
KXDPGUN_TCP = ["-T -t 2 -Q 500 -i {names}"]


def whole(name, kind=1, opcode=0):
    """A message behind its length."""
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    message = struct.pack(">HBB4H", 0xffff, opcode << 3, 0x10, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", kind, 1)
    return struct.pack(">H", len(message)) + message


FILES = {
    "binary": b"".join(whole(f"h{i}.example.com") + whole("example.com", 6, 2) for i in range(200)),
    "names": "".join(f"h{i}.example.com A\n" for i in range(1000)),
    "mixed": "".join(f"h{i}.example.com AAAA\n" for i in range(50)) + "".join(f"no{i}.example.com A\n" for i in range(30))
    + "".join(f"h{i}.example.net TXT\n" for i in range(20)) + "; a comment\n\n",
    "types": "".join(f"h{i}.example.com {'A AAAA TXT TYPE65'.split()[i % 4]}\nno{i}.example.com MX\n" for i in range(50)),
    "letters": "".join(f"h{i}.example.com A {' ED'[i % 3]}\n" for i in range(90)),
}


def side(here, name, *argv, files, line):
    words = [word.format(**files) for word in line.split()]
    where = [] if "-s" in words or name == "kxdpgun" else ["-s", SERVER[4]]
    last = [SERVER[4]] if name == "kxdpgun" and SERVER[6] not in words else []
    # "lab run" hands standard input on only to a shell.
    command = ["sh", "-c", f'exec "$@" <{files["names"]}', name, *argv, *where, *words, *last]
    code, out, err = here.call("run", *command)
    return code, [text for text in out.splitlines() if not text.startswith(("[Timeout]", "ddiperf: "))], out + err


def number(text):
    return [float(found) for found in re.findall(r"\d+(?:\.\d+)?", text)]


def label(text):
    if re.match(r"\d+\.\d+: ", text):
        return "interval"
    if FREE.search(text):
        text = re.sub(r"(: |interface).*", r"\1", text)
    text = re.sub(r", lost \d+$", "", text)  # kxdpgun: queries that the tester did not send
    return re.sub(r"\d+(\.\d+)?", "N", text)


def compare(line, theirs, ours):
    assert [label(text) for text in theirs[1]] == [label(text) for text in ours[1]], (line, theirs, ours)
    timing("this run is invalid" not in ours[2], (line, ours))
    assert theirs[0] == ours[0] == 0, (line, theirs, ours)
    for a, b in zip(theirs[1], ours[1]):
        if FREE.search(a) and "which resperf leaves out" in ours[2]:
            continue
        if FREE.search(a) and not (PACED.search(a) and ("-Q" in line or "-m" in line)):
            continue
        near = all(abs(x - y) <= CLOSE * max(x, y) for x, y in zip(number(a), number(b)))
        timing(near or not PACED.search(a), (line, a, b, ours[2]))  # a busy box slows the one or the other
        assert near, (line, a, b, ours[2])


# Our output is that of resperf 2.10 and kxdpgun 3.2 (Debian 12). What resperf 2.14 and kxdpgun 3.4 (Debian 13) print
# otherwise, and how the former print it.
SINCE = {
    "dnsperf": [],
    "resperf": [(r"(Response codes: .*\n)\n", r"\1  Reconnection(s):      0\n"),
                (r"\n  Connection attempts:  0 \(0 successful, 0.00%\)\n", "")],
    "kxdpgun": [(r"-{40,}\n|cumulative metrics:\n", ""), (r"(?<=\d),(?=\d{3})", ""), (r"(total queries: .* pps\)) \(.*", r"\1"),
                (r" %\)", "%)")],
}


def as_before(tool, lines):
    text = "".join(line + "\n" for line in lines)
    for since, before in SINCE[tool]:
        text = re.sub(since, before, text)
    return text.split("\n")[:-1]


def both(server, tool, lines):
    if not shutil.which(tool) and not shutil.which(tool, path="/usr/sbin"):
        skip(f"{tool} is not installed: scripts/deps install bench")
    here = lab(server)
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        files = {name: str(Path(folder) / name) for name in (*FILES, "plot")}
        for name, text in FILES.items():
            Path(files[name]).write_bytes(text if isinstance(text, bytes) else text.encode())
        for line in SETUP:
            code, _, err = here.call("run", *line.split())
            assert code == 0, (line, err)
        try:
            for line in lines:
                code, out, err = side(here, tool, tool, files=files, line=line)
                theirs = code, as_before(tool, out), err
                plot = Path(files["plot"]).read_text().splitlines() if "plot" in line else []
                ours = side(here, tool, binary(), "as", tool, files=files, line=line)
                compare(f"{tool} {line}", theirs, ours)
                if plot:
                    written = Path(files["plot"]).read_text().splitlines()
                    assert written[0] == plot[0] and abs(len(written) - len(plot)) <= 1, (line, plot, written)
        finally:
            for line in CLEAN_UP:
                here.call("run", *line.split())


@test
def dnsperf_on_knot():
    both("knot", "dnsperf", [DNSPERF[n] for n in (1, 3, 7, 9, 12, 15)])


@nightly
def dnsperf_on_knot_with_other_options():
    both("knot", "dnsperf", DNSPERF)


@nightly
def dnsperf_over_tcp_on_knot():
    both("knot", "dnsperf", DNSPERF_TCP)


@nightly
def resperf_over_tcp_on_knot():
    both("knot", "resperf", RESPERF_TCP)


@nightly
def kxdpgun_over_tcp_on_knot():
    both("knot", "kxdpgun", KXDPGUN_TCP)


@nightly
def resperf_on_knot():
    both("knot", "resperf", RESPERF[:1])


@nightly
def resperf_on_knot_with_other_options():
    both("knot", "resperf", RESPERF)


@nightly
def kxdpgun_on_knot():
    both("knot", "kxdpgun", KXDPGUN[:1])


@nightly
def kxdpgun_on_knot_with_other_options():
    both("knot", "kxdpgun", KXDPGUN)


@nightly
def dnsperf_on_nsd():
    both("nsd", "dnsperf", DNSPERF[9:10])


@nightly
def dnsperf_on_bind():
    both("bind", "dnsperf", DNSPERF[9:10])


main()
