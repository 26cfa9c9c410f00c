#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Command lines that stand for a file: one line instead of a file, and the lines of other tools.

import os
import re
import shutil
import tempfile
from pathlib import Path

import yaml

from harness import EXIT, ROOT, Result, binary, ddiperf, execute, main, skip, test

QUERIES = str(ROOT / "config" / "queries.txt")
LINES = [
    ["dns", "127.0.0.1"],
    ["dns", "::1", "example.com", "A", "example.net MX", "x.example", "-r", "20k", "-t", "5", "-n", "100", "-T", "2", "-p", "5300"],
    ["dns", "127.0.0.1", "-d", QUERIES, "-c", "7", "-e", "--dnssec", "--random", "-C", "loss <= 1%", "-C", "p99 <= 2s"],
    ["dns", "127.0.0.1", "-l", "{ramp: {from: 0, to: 50k, over: 10s}}", "-w", "0"],
    ["dns", "127.0.0.1", "-D", "pcap", "-a", "127.0.0.9/24", "--force"],
    ["dhcp", "127.0.0.1", "-r", "50", "-R", "100", "-g", "127.0.0.2", "-x", "discover"],
    ["dhcp", "-i", "lo", "-D", "pcap", "-a", "198.18.0.1/24", "-m", "02:00:00:00:01:00", "-R", "100"],
    ["dhcp6", "::1", "-L", "both", "-R", "100"],
    ["dhcp6", "-i", "lo", "-D", "pcap", "-a", "2001:db8::1/64", "-R", "100"],
    ["as", "dnsperf", "-d", QUERIES],
    ["as", "dnsperf", "-d", QUERIES, "-s", "::1", "-f", "inet6", "-Q", "100", "-l", "3", "-n", "2", "-q", "7", "-x", "4000", "-c", "3",
     "-a", "::1", "-t", "2.5", "-e", "-D", "-E", "8:00011800c0a800", "-S", "0.5", "-p", "5300"],
    ["as", "resperf", "-d", QUERIES, "-m", "2000", "-r", "10", "-c", "5", "-R", "-i", "1", "-t", "3", "-P", "x", "-q", "1000", "-L", "5"],
    ["as", "kxdpgun", "-i", QUERIES, "-Q", "500", "-t", "3", "-p", "5300", "127.0.0.1"],
    ["as", "kxdpgun", "--infile", QUERIES, "--local", "127.0.1.0/24", "127.0.0.1"],
    ["dns", "127.0.0.1", "--tcp", "--connections", "5", "--per-connection", "7", "-r", "1k"],
    ["dns", "127.0.0.1", "--tc", "-r", "1k"],
    ["as", "dnsperf", "-d", QUERIES, "-m", "tcp", "-c", "4", "-Q", "1000", "-O", "num-queries-per-conn=9"],
    ["as", "resperf", "-d", QUERIES, "-M", "tcp", "-C", "3", "-R"],
    ["as", "kxdpgun", "-T", "-i", QUERIES, "127.0.0.1"],
]
WRONG = [
    (["dns", "127.0.0.1", "-r", "5x"], 'dns: -r 5x: "5x" is not a rate'),
    (["dns", "127.0.0.1", "-r", "5", "-c", "6"], "dns: more than one of -r, -c and -l"),
    (["dns", "127.0.0.1", "-l", "{rate: 5}", "-n", "6"], "dns: -n beside -l"),
    (["dns", "127.0.0.1", "a", "A", "-d", "x"], "dns: queries both in a file and on the command line"),
    (["dns", "127.0.0.1", "-a", "127.0.0.1/240"], "dns: -a 127.0.0.1/240: "),
    (["dns", "nosuch.invalid"], "dns: nosuch.invalid: "),
    (["dns", "[::1]"], "dns: [::1]: "), (["dns", "127.0.0.1:53"], "(an address, without brackets and port)"),
    (["dns", "fe80::1%lo"], "dns: fe80::1%lo: addresses of one link"),
    (["dns", "127.0.0.1", "a NOTYPE"], 'ddiperf: dns: a NOTYPE: "a NOTYPE": not a type'),
    (["dns", "127.0.0.1", "-d", "/nonexistent"], "ddiperf: dns: -d /nonexistent: "),
    (["dns", "127.0.0.1", "-C", "lost <"], "dns: -C lost <: "),
    (["dns"], "an argument is missing"),
    (["dhcp"], "dhcp: neither SERVER nor --interface"),
    (["dhcp", "127.0.0.1", "::1"], "one argument too many"),
    (["as"], "as: no tool"),
    (["as", "curl"], "as: curl is no tool"),
]
REFUSED = [  # of the tools, whose exit code for it is 1
    ("dnsperf", ["-m", "dot"], "-m dot: only udp and tcp"),
    ("dnsperf", ["-y", "secret"], "-y: not [ALGORITHM:]NAME:SECRET"),
    ("dnsperf", ["-y", "a:b:c:secret"], "-y: not [ALGORITHM:]NAME:SECRET"),
    ("dnsperf", ["-y", "k:!", "-d", QUERIES], "a secret is not base64"),
    ("dnsperf", ["-y", "sha256:k:AAAA", "-d", QUERIES], "-y: "),
    ("dnsperf", ["-u", "-B"], "-u and -B: "),
    ("dnsperf", ["-O", "doh-uri=x"], "-O doh-uri=x: "),
    ("dnsperf", ["-q", "0"], "-q 0: not a number from 1"),
    ("dnsperf", ["-Q", "x", "-d", QUERIES], "-Q x: not a number"),
    ("dnsperf", ["-x", "65535", "-c", "2", "-d", QUERIES], "ports beyond 65535"),
    ("dnsperf", ["-d", "/nonexistent"], "unable to open file: /nonexistent"),
    ("dnsperf", ["-s", "nosuch.invalid"], "nosuch.invalid: "),
    ("dnsperf", ["-f", "ipx"], "-f ipx: no address family"),
    ("dnsperf", ["-f", "inet6", "-s", "127.0.0.1", "-d", QUERIES], "127.0.0.1: "),
    ("dnsperf", ["-E", "8:0"], "-E 8:0: not CODE:VALUE"),
    ("dnsperf", ["x"], "unexpected argument x"),
    ("dnsperf", ["-Z"], "no such option: -Z"),
    ("dnsperf", ["-s"], "this option needs an argument: -s"),
    ("resperf", ["-M", "dot"], "-M dot: only udp and tcp"),
    ("resperf", ["-d", QUERIES, "-m", "5000", "-r", "10"], "ran out of query data: 25000 queries are needed"),
    ("resperf", ["-L", "101"], "-L 101: not a number from 0 to 100"),
    ("kxdpgun", ["-T2", "127.0.0.1"], "-T 2: clients that misbehave"),
    ("kxdpgun", ["--tcp=x", "127.0.0.1"], "-T x: invalid mode"),
    ("kxdpgun", ["--quic=R", "127.0.0.1"], "-U: QUIC"),
    ("kxdpgun", ["-L", "02:00:00:00:00:01", "127.0.0.1"], "-L: the tester has the MAC"),
    ("kxdpgun", ["127.0.0.1"], "no file of queries (-i)"),
    ("kxdpgun", ["-i", QUERIES], "no destination address"),
]


def call(*words, **options):
    code, out, err = execute([binary(), *map(str, words)], **options)
    return Result(code, None, out, err)


@test
def a_line_is_a_file():
    for line in LINES:
        result = call(*line, "--dump")
        assert result.code == 0, (line, str(result))
        assert result.stdout.startswith("# ddiperf " + line[0]), result.stdout
        checked = ddiperf(result.stdout, command="check")
        assert checked.code == 0, (line, result.stdout, str(checked))


@test
def errors_of_a_line_name_its_option():
    for line, words in WRONG:
        result = call(*line)
        assert result.code == EXIT["usage"] and words in result.stderr, (line, str(result))


@test
def options_of_other_tools_become_settings():
    def settings(*line):
        result = call("as", *line, "--dump")
        assert result.code == 0, (line, str(result))
        file = yaml.safe_load(result.stdout)
        return file, file["traffic"][0]

    file, item = settings(*LINES[10][1:])
    assert item["server"] == "::1" and item["server_port"] == 5300 and item["timeout"] == "2.5s", item
    assert item["load"] == {"rate": 100, "slots": 7, "total": 2000} and item["source"] == {"ports": "4000-4002"}, item
    assert item["dns"]["edns"] == {"size": 4096, "do": True, "options": [{"code": 8, "hex": "00011800c0a800"}]}, item
    assert file["run"] == {"warmup": "0s", "duration": "3s", "interval": "0.5s"} and file["ports"][0]["addresses"] == ["::1/128"], file
    file, item = settings("dnsperf", "-d", QUERIES)
    assert item["server"] == "127.0.0.1" and item["load"] == {"outstanding": 100, "total": 1000} and item["timeout"] == "5s", item
    file, item = settings("resperf", "-d", QUERIES, "-R")
    assert item["load"] == {"ramp": {"from": 0, "to": 100000, "over": "60s"}, "max_outstanding": 65536} and item["timeout"] == "45s", item
    assert file["run"] == {"warmup": "0s", "duration": "60s", "interval": "0.5s"} and file["output"] == {"resperf": "resperf.gnuplot"}, file
    file, item = settings("kxdpgun", "-i", QUERIES, "127.0.0.1")
    assert item["load"] == {"rate": 1000} and file["run"]["duration"] == "5s" and file["ports"][0]["driver"] == "socket", file


@test
def options_of_other_tools_become_connections():
    def transport(*line):
        result = call("as", *line, "--dump")
        assert result.code == 0, (line, str(result))
        dns = yaml.safe_load(result.stdout)["traffic"][0]["dns"]
        return dns.get("transport"), dns.get("tcp"), result.stderr

    data = ["-d", QUERIES]
    assert transport("dnsperf", *data, "-m", "tcp")[:2] == ("tcp", {"connections": 1})
    assert transport("dnsperf", *data, "-c", "4", "-O", "num-queries-per-conn=9", "-m", "tcp")[:2] == (
        "tcp", {"connections": 4, "queries_per_connection": 9})
    how, tcp, said = transport("dnsperf", *data, "-O", "num-queries-per-conn=9", "-O", "suppress=timeouts")
    assert (how, tcp) == (None, None) and "UDP has no connections" in said and "no such messages" in said, said
    how, tcp, said = transport("resperf", *data, "-M", "tcp", "-C", "3", "-R")  # 100 k/s for a timeout of 45 s
    assert (how, tcp) == ("tcp", {"connections": 76}) and "76 connections instead of 3" in said, (tcp, said)
    file = ["-i", QUERIES, "127.0.0.1"]
    assert transport("kxdpgun", *file)[:2] == (None, None)
    assert transport("kxdpgun", "-T", *file)[:2] == ("tcp", {"connections": 100, "queries_per_connection": 1})
    assert transport("kxdpgun", "--tcp=R", *file)[:2] == ("tcp", {"connections": 100})


@test
def what_a_tool_cannot_do_is_refused_by_name():
    for tool, line, words in REFUSED:
        result = call("as", tool, *line)
        assert result.code == 1 and f"ddiperf: {tool}: " in result.stderr and words in result.stderr, (tool, line, str(result))


@test
def every_option_of_the_originals_is_known():
    for tool in ("dnsperf", "resperf", "kxdpgun"):
        original = shutil.which(tool) or shutil.which(tool, path="/usr/sbin")
        if not original:
            skip(f"{tool} is not installed: scripts/deps install bench")
        _, out, err = execute([original, "-h"])
        option = re.compile(r"^ +(-[A-Za-z])\b(?:, (--[a-z-]+))?", re.M)
        theirs, ours = (set(option.findall(text)) for text in (out + err, call("as", tool, "--options").stdout))
        assert len(theirs) > 10 and theirs <= ours, (tool, theirs - ours)


@test
def help_is_there_for_the_tools_too():
    result = call("as", "--help")
    assert result.code == 0 and "examples:" in result.stdout and "resperf-report" in result.stdout, result
    for tool in ("dnsperf", "resperf", "kxdpgun", "perfdhcp"):
        result = call("as", tool, "--help")
        assert result.code == 0 and result.stdout == call("as", tool, "--options").stdout, result


@test
def a_link_has_the_name_of_its_tool():
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        link = Path(folder) / "ddiperf-dnsperf"
        os.symlink(binary(), link)
        code, out, err = execute([str(link), "-d", QUERIES, "--dump"])
        assert code == 0 and out.startswith(f"# ddiperf as dnsperf -d {QUERIES} --dump\n"), (out, err)


main()
