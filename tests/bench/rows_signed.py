# SPDX-License-Identifier: BSD-3-Clause
"""Rows of signed queries (TSIG) over veth beside dnsperf -y: at `respond`, which verifies and signs, and at Knot."""

import resource
import shutil
from pathlib import Path

from measure import NAMES, Lab, cost, execute, folder, item, median, need_root, paired, rate, skip
from rows_veth import V4, best, dut, kernel_address, queries_file, tester
from table import Outcome, at_least
from wires import SERVER, fresh_lab, number, responder

ALGORITHM = "hmac-sha256"  # also the name of the key, as the lab's servers have it
SECRET = "A" * 43 + "="


def key_of(where):
    path = Path(where, "secret")
    path.write_text(SECRET)
    return {"secret_file": str(path), "name": ALGORITHM, "algorithm": ALGORITHM}


def ours(bench, lab, key, outstanding, tcp=None):
    """Answers per second, and worker time per query in ns; tcp: over such connections."""
    over = {"transport": "tcp", "tcp": tcp} if tcp else {}
    one = item(load={"outstanding": outstanding}, dns={**NAMES, **over, "key": key}, timeout="1s")
    result = bench.run({**tester(bench), "traffic": [one]}, lab.tester())
    verified, answered = result["traffic"][0]["dns"]["tsig_verified"], result["traffic"][0]["answered"]
    assert verified >= answered > 0, (verified, answered)
    return rate(result), cost(result)


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def dnsperf(bench, lab, queries, outstanding, *more):
    """The same by its own account, with the CPU time of the process. One thread: dnsperf 2.10 -y crashes with two."""
    with kernel_address(lab, V4):
        before = cpu_seconds()
        _, out, err = execute(lab.tester(
            "taskset", "-c", "1", "dnsperf", "-s", SERVER, "-d", queries, "-q", str(outstanding), "-y",
            f"{ALGORITHM}:{ALGORITHM}:{SECRET}", "-l", str(max(1, round(bench.seconds))), *more), timeout=60)
        used = cpu_seconds() - before
    completed = number(r"Queries completed:\s+(\d+)", out + err, "dnsperf")
    return number(r"Queries per second:\s+([\d.]+)", out + err, "dnsperf"), used / max(1, completed) * 1e9


def beside(bench, cases, server, what, goal):
    """Rates of both at their best, and the time that each takes for a query."""
    results = bench.alternate(**cases)
    rates = {name: [sample[0] for sample in samples] for name, samples in results.items()}
    (name, own), (other, theirs) = best(rates, "ours"), best(rates, "dnsperf")
    yield at_least(f"{what} over veth at {server} / dnsperf -y",
                   f"{median(own) / 1e3:.0f} k/s ({name[5:]}) : {median(theirs) / 1e3:.0f} k/s ({other})",
                   paired(own, theirs), goal, f">= {goal}", samples=results)
    # The least of each: dnsperf spins while it waits for what was lost.
    times = [min(([sample[1] for sample in samples] for case, samples in results.items() if case.startswith(tool)), key=median)
             for tool in ("ours", "dnsperf")]
    yield Outcome(f"CPU time of the tester, {what}, at {server} / dnsperf -y",
                  f"{median(times[0]):.0f} ns (worker) : {median(times[1]):.0f} ns (process)", ratio=paired(*times))


def datagrams(bench, lab, where):
    queries, key = queries_file(where), key_of(where)
    cases = {f"ours {n} outstanding": lambda n=n: ours(bench, lab, key, n) for n in (128, 512)}
    return cases | {f"dnsperf -q {n}": lambda n=n: dnsperf(bench, lab, queries, n) for n in (100, 500)}


def connections(bench, lab, where):
    """Beside dnsperf's best, which is over UDP: with -m tcp -y it gets about one answer a millisecond."""
    queries, key = queries_file(where), key_of(where)
    cases = {f"ours {c} connections, {n} outstanding": lambda c=c, n=n: ours(
        bench, lab, key, n, {"connections": c, "nagle": True}) for c, n in ((2, 1000), (8, 4000))}
    return cases | {"dnsperf -q 100": lambda: dnsperf(bench, lab, queries, 100),
                    "dnsperf -m tcp -q 1000": lambda: dnsperf(bench, lab, queries, 1000, "-m", "tcp")}


def signed(bench):
    """Signed DNS/s over veth against `respond`, which verifies and signs, and against Knot, beside dnsperf -y."""
    if not shutil.which("dnsperf"):
        skip("no dnsperf (scripts/deps install bench)")
    need_root()
    with folder() as where:
        server = {**dut("af_xdp", "veth1"), "responder": {"port": "dut", "dns": {"keys": [key_of(where)]}}}
        with fresh_lab() as lab, responder(bench.binary, server, lab.dut()):
            yield from beside(bench, datagrams(bench, lab, where), "`respond`", "signed DNS/s", 5)
            yield from beside(bench, connections(bench, lab, where), "`respond`", "signed DNS/s on live connections", 5)
        if not shutil.which("knotd"):
            skip("no knotd (scripts/deps install lab)")
        with Lab("knot") as lab:
            yield from beside(bench, datagrams(bench, lab, where), "Knot", "signed DNS/s", 5)


ROWS = {"signed": signed}
