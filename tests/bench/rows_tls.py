# SPDX-License-Identifier: BSD-3-Clause
"""Rows of DNS over TLS on live connections: few over rings, many in turns of one thread (bench_worker)."""

import json
import re

from measure import Broken, config_file, cost, item, median, output_of, ring, skip
from rows_ring import millions, nanoseconds, samples
from rows_tcp import over
from table import at_most

CLIENTS = ["198.18.0.64/26"]


def dot(connections, **more):
    return item(load={"outstanding": 1000}, timeout="20s", source={"addresses": CLIENTS},
                dns={**over({"connections": connections}), "transport": "tls", "tls": {"groups": "x25519"}}, **more)


def doh(connections, method):
    one = dot(connections)
    one["dns"] = {**one["dns"], "transport": "https", "https": {"method": method}}
    return one


def ring_tls(bench):
    """Worker time per DNS message over TLS on connections that live: 20, 20 000 and 100 000."""
    few = ring(dot(20), run={"warmup": "1s", "duration": bench.duration(), "interval": "1s"}, tester={"cpus": [1]},
               dut={"cpus": [0]}, responder={"dns": {}, "tls": {}})
    results = bench.alternate(few=lambda: bench.run(few))
    yield at_most("DoT message, 20 live connections, ring, worker time",
                  f"{nanoseconds(results['few'])}, {millions(results['few'])}", median(map(cost, results["few"])) / 450, 1,
                  "<= 450 ns", samples=samples(results))
    yield from turns(bench, {"20 k": (20000, 200000, 900), "100 k": (100000, 200000, 900)})


def ring_https(bench):
    """Worker time per DNS message over HTTPS on 20 connections that live, by POST and GET."""
    def run(method):
        text = ring(doh(20, method), run={"warmup": "1s", "duration": bench.duration(), "interval": "1s"}, tester={"cpus": [1]},
                    dut={"cpus": [0]}, responder={"dns": {}, "https": {}})
        return lambda: bench.run(text)

    results = bench.alternate(post=run("post"), get=run("get"))
    for method in results:
        yield at_most(f"DoH message by {method.upper()}, 20 live connections, ring, worker time",
                      f"{nanoseconds(results[method])}, {millions(results[method])}", median(map(cost, results[method])) / 1400, 1,
                      "<= 1400 ns", samples=samples(results))


def million(bench):
    """Worker time per DNS message over TLS on a million live connections."""
    yield from turns(bench, {"1 M": (1000000, 1200000, 1200)})


def turns(bench, sizes):
    """Worker and responder take turns, and keys come without handshakes, which would take minutes.
    sizes: {name: (connections, messages of a round, goal)}"""
    def one(connections, messages):
        text = ring(dot(connections), run={"warmup": "1s", "duration": "600s"}, tester={"cpus": [1]}, dut={"cpus": [0]},
                    responder={"dns": {}, "tls": {}})
        with config_file(text if isinstance(text, str) else json.dumps(text)) as file:
            said = output_of(program, "--keys", file, messages, timeout=300)
        found = re.match(r"([\d.]+) ns", said)
        if not found:
            raise Broken(said)
        return float(found[1])

    build = bench.build_folder()
    program = build and build / "tests" / "bench" / "bench_worker"
    if not program or not program.exists():
        skip("bench_worker is not built beside the binary (ninja -C build-release tests/bench/bench_worker)")
    results = bench.alternate(**{name: lambda c=c, n=n: one(c, n) for name, (c, n, _) in sizes.items()})
    for name, (_, _, goal) in sizes.items():
        ns = median(results[name])
        yield at_most(f"DoT message, {name} live connections, turns on one CPU, worker time",
                      f"{ns:.0f} ns (best {min(results[name]):.0f})", ns / goal, 1, f"<= {goal} ns",
                      samples={name: results[name]})


ROWS = {"ring-tls": ring_tls, "ring-https": ring_https, "tls-million": million}
