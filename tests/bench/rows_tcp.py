# SPDX-License-Identifier: BSD-3-Clause
"""Rows of DNS over TCP: over rings, and over veth against `respond` beside dnsperf and kxdpgun."""

import shutil

from measure import NAMES, cost, execute, folder, item, median, paired, rate, ring, skip
from rows_ring import millions, nanoseconds, samples
from rows_veth import V4, best, dut, kernel_address, queries_file, tester
from table import at_least, at_most
from wires import SERVER, Wire, fresh_lab, number, responder

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


def ours(bench, lab, tcp, outstanding):
    config = tester(bench)
    one = item(load={"outstanding": outstanding}, dns=over(tcp), timeout="1s", source={"addresses": CLIENTS})
    return rate(bench.run({**config, "traffic": [one]}, lab.tester()))


def dnsperf(bench, lab, queries, threads, clients):
    """Answers per second by its own account; one thread has CPU 1, two have both."""
    with kernel_address(lab, V4):
        _, out, err = execute(lab.tester(
            "taskset", "-c", "1" if threads == 1 else "0,1", "dnsperf", "-m", "tcp", "-s", SERVER, "-d", queries, "-q", "1000",
            "-l", str(max(1, round(bench.seconds))), "-T", str(threads), "-c", str(clients)), timeout=60)
    return number(r"Queries per second:\s+([\d.]+)", out + err, "dnsperf")


def live(bench, lab, queries):
    cases = {f"ours {n} outstanding": lambda n=n: ours(bench, lab, LIVE, n) for n in (100, 1000)}
    for threads in (1, 2):
        for clients in (threads, 100):
            cases[f"dnsperf -T {threads} -c {clients}"] = \
                lambda t=threads, c=clients: dnsperf(bench, lab, queries, t, c)
    results = bench.alternate(**cases)
    (name, own), (other, theirs) = best(results, "ours"), best(results, "dnsperf")
    return at_least("DNS/s on live connections over veth / dnsperf -m tcp, same responder",
                    f"{median(own) / 1e3:.0f} k/s ({name[5:]}) : {median(theirs) / 1e3:.0f} k/s ({other})",
                    paired(own, theirs), 5, ">= 5", samples=results)


def gun(bench, lab, queries, batch):
    with kernel_address(lab, V4):
        Wire.detach(lab.tester(), "veth0")
        _, out, err = execute(lab.tester(
            "kxdpgun", "-T", "-t", str(max(1, round(bench.seconds))), "-Q", "1000000", "-b", str(batch), "-F", "1", "-i",
            queries, "-I", "veth0", SERVER), timeout=60)
    Wire.detach(lab.tester(), "veth0")  # its program stays
    return number(r"^total replies:.*\((\d+) pps\)", out + err, "kxdpgun")


def each(bench, lab, queries):
    cases = {f"ours {n} outstanding": lambda n=n: ours(bench, lab, {**EACH, "connections": n}, n) for n in (64, 500)}
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
    with folder() as where, fresh_lab() as lab, responder(bench.binary, server, lab.dut()):
        queries = queries_file(where)
        yield live(bench, lab, queries)
        yield each(bench, lab, queries)


ROWS = {"ring-tcp": ring_tcp, "veth-tcp": veth_tcp}
