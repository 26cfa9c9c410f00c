# SPDX-License-Identifier: BSD-3-Clause
"""Rows of DNS over TCP: over rings, and over veth against `respond` beside dnsperf and kxdpgun; DoT and DoH beside dnsperf."""

import resource
import shutil

from measure import NAMES, cost, execute, folder, item, median, paired, rate, ring, skip
from rows_ring import millions, nanoseconds, samples
from rows_veth import V4, best, dut, kernel_address, queries_file, tester
from table import Outcome, at_least, at_most
from wires import SERVER, Wire, fresh_lab, number, responder, tcp_reflector

LIVE = {"connections": 100}
EACH = {"connections": 200, "queries_per_connection": 1}
CLIENTS = ["198.18.0.64/27"]


def over(tcp):
    return {**NAMES, "transport": "tcp", "tcp": tcp}


def ring_tcp(bench):
    """Worker time per DNS message over TCP: on connections that live, and with a connection each."""
    def run(tcp, **source):
        one = item(load={"outstanding": 1000}, dns=over(tcp), timeout="500ms", **source)
        return lambda: bench.run(ring(one, run={"warmup": "300ms", "duration": bench.duration(), "interval": "1s"},
                                      tester={"cpus": [1]}, dut={"cpus": [0]}))

    results = bench.alternate(live=run(LIVE), each=run({**EACH, "connections": 1000}, source={"addresses": CLIENTS}))
    for name, what, goal in (("live", "message on a connection that lives", 250), ("each", "connect, query, close", 900)):
        yield at_most(f"{what}, ring, worker time", f"{nanoseconds(results[name])}, {millions(results[name])}",
                      median(map(cost, results[name])) / goal, 1, f"<= {goal} ns", samples=samples(results))


def ours(bench, lab, tcp, outstanding, mode="tcp"):
    config = tester(bench)
    dns = {**over(tcp), "transport": TRANSPORTS[mode]}
    one = item(load={"outstanding": outstanding}, dns=dns, timeout="1s", source={"addresses": CLIENTS})
    return bench.run({**config, "traffic": [one]}, lab.tester())


def dnsperf(bench, lab, queries, threads, clients, outstanding, mode="tcp"):
    """Answers per second by its own account, and ns of CPU time for each. One thread has CPU 1, several have both."""
    with kernel_address(lab, V4):
        before = children_seconds()
        _, out, err = execute(lab.tester(
            "taskset", "-c", "1" if threads == 1 else "0,1", "dnsperf", "-m", mode, *(DOH if mode == "doh" else []), "-s", SERVER, "-d", queries, "-q",
            str(outstanding), "-l", str(max(1, round(bench.seconds))), "-T", str(threads), "-c", str(clients)), timeout=60)
        spent = children_seconds() - before
    completed = number(r"Queries completed:\s+(\d+)", out + err, "dnsperf")
    return number(r"Queries per second:\s+([\d.]+)", out + err, "dnsperf"), 1e9 * spent / max(1, completed)


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


TRANSPORTS = {"tcp": "tcp", "dot": "tls", "doh": "https"}  # by dnsperf's mode
DOH = ["-O", f"doh-uri=https://{SERVER}/dns-query", "-O", "doh-method=POST"]
OURS = ((2, 1000), (8, 10000), (100, 10000))  # connections, outstanding
THEIRS = ((1, 1, 1000), (2, 2, 1000), (8, 8, 1000), (4, 4, 10000), (8, 8, 10000), (8, 104, 10000))  # -T, -c, -q


def pair(results, own, other, what, goal):
    """The line of two cases of live(): their rates."""
    mine, theirs = [r for r, _ in results[own]], [r for r, _ in results[other]]
    cell = f"{median(mine) / 1e3:.0f} k/s ({own[5:]}) : {median(theirs) / 1e3:.0f} k/s ({other})"
    if goal:
        return at_least(what, cell, paired(mine, theirs), goal, f">= {goal}", samples=results)
    return Outcome(what, cell, ratio=paired(mine, theirs))


def live(bench, lab, queries, server, goal, mode="tcp"):
    """Settings of both in turn: the best of each, the same number of connections, and CPU time for a query."""
    cases = {f"ours {c} connections, {n} outstanding": lambda c=c, n=n: ours(
        bench, lab, {"connections": c, "nagle": True}, n, mode) for c, n in OURS}
    cases |= {f"dnsperf -T {t} -c {c} -q {n}": lambda t=t, c=c, n=n: dnsperf(bench, lab, queries, t, c, n, mode)
              for t, c, n in THEIRS}
    results = {name: [(rate(r), cost(r)) if isinstance(r, dict) else r for r in runs]
               for name, runs in bench.alternate(**cases).items()}
    rates = {name: [r for r, _ in runs] for name, runs in results.items()}
    (own, _), (other, _) = best(rates, "ours"), best(rates, "dnsperf")
    what = f"DNS/s on live connections over veth / dnsperf -m {mode}"
    yield pair(results, own, other, f"{what}, {server}", goal)
    yield pair(results, *(next(n for n in results if n.startswith(start)) for start in ("ours 100", "dnsperf -T 8 -c 104")),
               f"{what}, 100 connections each, {server}", None)
    spent = [[ns for _, ns in results[name]] for name in (own, other)]
    yield Outcome(f"CPU time of the tester for a query on a live connection, {server}",
                  f"{median(spent[0]):.0f} ns : {median(spent[1]):.0f} ns (dnsperf)", ratio=paired(*spent))


def gun(bench, lab, queries, batch):
    with kernel_address(lab, V4):
        Wire.detach(lab.tester(), "veth0")
        _, out, err = execute(lab.tester(
            "kxdpgun", "-T", "-t", str(max(1, round(bench.seconds))), "-Q", "1000000", "-b", str(batch), "-F", "1", "-i",
            queries, "-I", "veth0", SERVER), timeout=60)
    Wire.detach(lab.tester(), "veth0")  # its program stays
    return number(r"^total replies:.*\((\d+) pps\)", out + err, "kxdpgun")


def each(bench, lab, queries):
    cases = {f"ours {n} outstanding": lambda n=n: rate(ours(bench, lab, {**EACH, "connections": n}, n)) for n in (64, 500)}
    cases |= {f"kxdpgun -T -b {n}": lambda n=n: gun(bench, lab, queries, n) for n in (10, 32)}
    results = bench.alternate(**cases)
    (name, own), (other, theirs) = best(results, "ours"), best(results, "kxdpgun")
    return at_least("connections with one query each over veth / kxdpgun -T, same responder",
                    f"{median(own) / 1e3:.0f} k/s ({name[5:]}) : {median(theirs) / 1e3:.0f} k/s ({other})",
                    paired(own, theirs), 1, ">= 1", samples=results)


def veth_tcp(bench):
    """DNS/s over TCP against `respond` over veth, beside dnsperf -m tcp and kxdpgun -T at their best."""
    if not (shutil.which("dnsperf") and shutil.which("kxdpgun")):
        skip("no dnsperf or no kxdpgun (scripts/deps install bench)")
    server = {**dut("af_xdp", "veth1", addresses=[f"{SERVER}/24"]), "responder": {"port": "dut", "dns": {}}}
    with folder() as where, fresh_lab() as lab:
        queries = queries_file(where)
        with responder(bench.binary, server, lab.dut()):
            yield from live(bench, lab, queries, "`respond`", 5)
            yield each(bench, lab, queries)
        with tcp_reflector(lab):
            yield from live(bench, lab, queries, "kernel's TCP", None)


def veth_tls(bench):
    """DNS/s over TLS and HTTPS against `respond` over veth, beside dnsperf -m dot and -m doh at their best."""
    if not shutil.which("dnsperf"):
        skip("no dnsperf (scripts/deps install bench)")
    server = {**dut("af_xdp", "veth1", addresses=[f"{SERVER}/24"]), "responder": {"port": "dut", "dns": {}, "tls": {}, "https": {}}}
    with folder() as where, fresh_lab() as lab:
        queries = queries_file(where)
        with responder(bench.binary, server, lab.dut()):
            for mode in ("dot", "doh"):
                yield from live(bench, lab, queries, "`respond`", 5, mode)


ROWS = {"veth-tls": veth_tls, "ring-tcp": ring_tcp, "veth-tcp": veth_tcp}
