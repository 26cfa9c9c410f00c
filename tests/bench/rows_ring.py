# SPDX-License-Identifier: BSD-3-Clause
"""Rows over a pair of rings: no kernel and no card, only the tester's own work. CPU 1 is the tester's, CPU 0 the
embedded responder's, unless the row says otherwise."""

import json
import re
import shutil
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from measure import (NAMES, ROOT, Broken, config_file, cost, item, kill, median, output_of, paired, rate, ring, say, skip,
                     start)
from table import Outcome, at_least, at_most

CLOSED = {"outstanding": 512}


def dns_file(bench, load=None, run=None, **more):
    return ring(item(load=load or CLOSED, dns=NAMES, timeout="100ms"),
                run={"warmup": "300ms", "duration": bench.duration(), "interval": "1s", **(run or {})},
                **{"tester": {"cpus": [1]}, "dut": {"cpus": [0]}, **more})


def dora_file(bench, clients, pool="10.0.0.0/8", exchange=None, load=None, run=None):
    leases = {"name": "leases", "server": "198.18.0.2", "timeout": "100ms", "load": load or CLOSED,
              "dhcp4": {**(exchange or {"exchange": "dora"}), "clients": clients,
                        "relay": {"addresses": ["198.18.0.64/26"]}}}
    address = {"tester": "198.18.0.1/15", "dut": "198.18.0.2/15"}
    return ring(leases, run={"warmup": "300ms", "duration": bench.duration(), **(run or {})},
                tester={"cpus": [1], "addresses": [address["tester"]]},
                dut={"cpus": [0], "addresses": [address["dut"]]},
                responder={"dhcp4": {"pool": pool, "server_id": "198.18.0.2"}})


def nanoseconds(results):
    return f"{median(map(cost, results)):.0f} ns (best {min(map(cost, results)):.0f})"


def millions(results):
    return f"{median(map(rate, results)) / 1e6:.2f} M/s"


def samples(results):
    return {name: [{"ns_per_transaction": cost(r), "answered_per_s": rate(r)} for r in all_of]
            for name, all_of in results.items()}


def ring_dns(bench):
    """Worker time per matched DNS transaction, responder on the other CPU."""
    results = bench.alternate(dns=lambda: bench.run(dns_file(bench)))
    ns = median(map(cost, results["dns"]))
    yield at_most("DNS transaction, ring, worker time", f"{nanoseconds(results['dns'])}, {millions(results['dns'])}",
                  ns / 45, 1, "<= 45 ns", samples=samples(results))


def dora(bench):
    """Worker time per whole DORA exchange, and with as many releases."""
    dora_text = dora_file(bench, "5M", "10.0.0.0/9")
    results = bench.alternate(dora=lambda: bench.run(dora_text))
    ns = median(map(cost, results["dora"]))
    yield at_most("DORA, ring, worker time", f"{nanoseconds(results['dora'])}, {millions(results['dora'])}",
                  ns / 190, 1, "<= 190 ns", samples=samples(results))


def sarr_file(bench, **dhcp6):
    leases = {"name": "leases", "server": "2001:db8::2", "timeout": "100ms", "load": CLOSED,
              "dhcp6": {"exchange": "sarr", "clients": "4M", "relay": {"addresses": ["2001:db8::100-2001:db8::13f"]}, **dhcp6}}
    return ring(leases, run={"warmup": "300ms", "duration": bench.duration()},
                tester={"cpus": [1], "addresses": ["2001:db8::1/64"]},
                dut={"cpus": [0], "addresses": ["2001:db8::2/64"]},
                responder={"dhcp6": {"pool": "2001:db8:0:1::/64", "prefixes": "2001:db8:8000::/33", "prefix_length": 60,
                                     "clients": "5M"}})


def sarr(bench):
    """Worker time per whole SARR exchange, an address each."""
    text = sarr_file(bench)
    results = bench.alternate(sarr=lambda: bench.run(text))
    ns = median(map(cost, results["sarr"]))
    yield at_most("SARR, ring, worker time", f"{nanoseconds(results['sarr'])}, {millions(results['sarr'])}",
                  ns / 300, 1, "<= 300 ns", samples=samples(results))


def sarr_both(bench):
    """The same with an address and a prefix each."""
    text = sarr_file(bench, lease="both")
    results = bench.alternate(both=lambda: bench.run(text))
    ns = median(map(cost, results["both"]))
    yield at_most("SARR, address and prefix, ring, worker time", f"{nanoseconds(results['both'])}, {millions(results['both'])}",
                  ns / 800, 1, "<= 800 ns", samples=samples(results))


# --- against testpmd ------------------------------------------------------------------------------------


def flowgen_rate(seconds):
    """Packets per second that testpmd builds and sends into net_null, by its own account of every second."""
    argv = ["dpdk-testpmd", "-l", "0,1", "--no-huge", "-m", "512", "--no-pci", "--no-telemetry", "--no-shconf",
            "--vdev", "net_null0,no-rx=1", "--", "--forward-mode=flowgen", "--nb-cores=1", "--total-num-mbufs=16384",
            "--stats-period", "1", "--auto-start"]
    rates, printed = [], []
    with start(argv) as process:
        try:
            while len(rates) < 2 + seconds and (text := process.stdout.readline()):
                printed.append(text)
                rates += [int(n) for n in re.findall(r"Tx-pps:\s+(\d+)", text)]
        finally:
            kill(process, signal.SIGINT if len(rates) >= 2 + seconds else signal.SIGKILL)
            process.communicate(timeout=20)
    if len(rates) < 3:
        raise Broken(f"testpmd: {''.join(printed)[-300:]}")
    return median(rates[1:])  # the first is of the time before the start


def flowgen(bench):
    """The rate of one worker against `testpmd flowgen` on net_null, which sends and matches nothing."""
    if not shutil.which("dpdk-testpmd"):
        skip("no dpdk-testpmd (scripts/deps install bench)")
    results = bench.alternate(dns=lambda: bench.run(dns_file(bench)), flowgen=lambda: flowgen_rate(bench.seconds))
    own = [1e9 / cost(r) for r in results["dns"]]
    yield at_least("DNS transactions of a worker / packets of testpmd flowgen",
                   f"{median(own) / 1e6:.1f} M/s : {median(results['flowgen']) / 1e6:.1f} M/s",
                   paired(own, results["flowgen"]), 0.4, ">= 0.4",
                   samples={"dns": own, "flowgen": results["flowgen"]})


# --- several workers ------------------------------------------------------------------------------------


def workers(bench):
    """Two workers against one, each with a responder of its own on its CPU; the same as two processes."""
    two = dns_file(bench, load={"outstanding": 1024}, tester={"cpus": [0, 1]}, dut={"cpus": [0, 1]})
    one = dns_file(bench, tester={"cpus": [1]}, dut={"cpus": [1]})
    what, goal = "two workers / one, each sharing its CPU with a responder", ">= 1.9"
    refused = bench.refusal(two)
    if refused:
        yield Outcome(what, "", goal, skipped=refused)
    else:
        results = bench.alternate(one=lambda: bench.run(one), two=lambda: bench.run(two))
        yield at_least(what, f"{millions(results['two'])} : {millions(results['one'])}",
                       paired([*map(rate, results["two"])], [*map(rate, results["one"])]), 1.9, goal)
    yield from processes(bench, one)


def processes(bench, one):
    """What the box itself has to give: two testers that know nothing of each other."""
    other = dns_file(bench, tester={"cpus": [0]}, dut={"cpus": [0]})
    results = bench.alternate(one=lambda: rate(bench.run(one)), both=lambda: sum(side_by_side(bench, one, other)))
    yield Outcome("two processes / one, each a tester and a responder on one CPU",
                  f"{median(results['both']) / 1e6:.2f} M/s : {median(results['one']) / 1e6:.2f} M/s",
                  ratio=paired(results["both"], results["one"]), samples=results)


def side_by_side(bench, *texts):
    with ThreadPoolExecutor(len(texts)) as pool:
        return [rate(result) for result in pool.map(bench.run, texts)]


# --- scale ----------------------------------------------------------------------------------------------


def in_flight_file(bench, load, delay, timeout):
    return dns_file(bench, load=load, run={"warmup": "1500ms", "drain": "3s"},
                    responder={"dns": {}, "faults": {"delay": {"constant": delay}}},
                    tester={"cpus": [1]}, dut={"cpus": [0], "mtu": 576}).replace('"100ms"', f'"{timeout}"', 1)


def in_flight(bench):
    """1 M in flight against 1 k: the same rate, answered after 1 s and after 1 ms; in bursts, and evenly."""
    for how, load in (("in bursts of 32", {"burst": {"size": 32, "every": "32us"}}), ("evenly", {"rate": "1M"})):
        many = in_flight_file(bench, load, "1s", "1500ms")
        few = in_flight_file(bench, load, "1ms", "20ms")
        results = bench.alternate(few=lambda few=few: bench.run(few), many=lambda many=many: bench.run(many))
        if how == "evenly":
            own = median(map(cost, results["few"]))
            yield at_most("DNS transaction, 1 M/s evenly, worker time", nanoseconds(results["few"]), own / 200, 1, "<= 200 ns",
                          samples=samples(results))
        yield at_most(f"1 M in flight / 1 k in flight, 1 M/s {how}, worker time",
                      f"{nanoseconds(results['many'])} : {nanoseconds(results['few'])}",
                      paired([*map(cost, results["many"])], [*map(cost, results["few"])]), 1.3, "<= 1.3",
                      samples=samples(results))


def peak_rss(argv):
    """Resident memory of a program at its most, in bytes."""
    script = ("import resource, subprocess, sys; code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL); "
              "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024); sys.exit(code)")
    return int(output_of(sys.executable, "-c", script, *argv))


def client_bytes(bench, clients):
    with config_file(dora_file(bench, clients)) as file:
        return peak_rss([bench.binary, "run", str(file), "--dry-run", str(file.parent / "first.pcapng")])


def clients(bench):
    """10 M DHCP clients against 10 k: cost of a DORA (with as many releases), and memory."""
    mix = {"mix": {"dora": "50%", "release": "50%"}}
    many, few = dora_file(bench, "10M", exchange=mix), dora_file(bench, "10k", exchange=mix)
    results = bench.alternate(few=lambda: bench.run(few), many=lambda: bench.run(many))
    yield at_most("10 M clients / 10 k, DORA and release, worker time",
                  f"{nanoseconds(results['many'])} : {nanoseconds(results['few'])}",
                  paired([*map(cost, results["many"])], [*map(cost, results["few"])]), 1.5, "<= 1.5",
                  samples=samples(results))
    each = (client_bytes(bench, "10M") - client_bytes(bench, "10k")) / (10e6 - 10e3)
    yield at_most("memory of a DHCP client", f"{each:.0f} B", each / 64, 1, "<= 64 B")


# --- time -----------------------------------------------------------------------------------------------


def clock_loop(bench, seconds):
    build = bench.build_folder()
    if build is None:
        skip("the binary is in no build folder, where clock_loop could be built")
    output_of("ninja", "-C", build, "tests/bench/clock_loop", timeout=300)
    return json.loads(output_of(build / "tests" / "bench" / "clock_loop", 1, 100000, seconds))["p999_ns"]


def lag(bench):
    """p99.9 send lag at 100 k/s against a bare loop that only reads the clock, on the same CPU."""
    text = dns_file(bench, load={"rate": "100k"})
    results = bench.alternate(bare=lambda: clock_loop(bench, bench.seconds),
                              tester=lambda: bench.run(text)["traffic"][0]["send_lag"]["p999_ns"])
    own, bound = median(results["tester"]), 1.5 * median(results["bare"]) + 2000
    yield at_most("p99.9 send lag at 100 k/s / its bound, from a bare clock loop",
                  f"{own / 1e3:.2f} us : bare {median(results['bare']) / 1e3:.2f} us", own / bound, 1,
                  "<= 1.5 x + 2 us", samples=results)


def extras(bench):
    """Capture armed and intervals of 100 ms against neither. Counters and histograms are always on."""
    run = {"interval": f"{round(bench.seconds * 1000) + 300}ms"}
    plain = dns_file(bench, run=run)
    full = dns_file(bench, run={"interval": "100ms"}, output={"capture": {"file": "evidence.pcapng"}})
    results = bench.alternate(off=lambda: bench.run(plain), on=lambda: bench.run(full))
    yield at_most("capture, 100 ms intervals / neither, worker time",
                  f"{nanoseconds(results['on'])} : {nanoseconds(results['off'])}",
                  paired([*map(cost, results["on"])], [*map(cost, results["off"])]), 1.05, "<= 1.05",
                  samples=samples(results))


def build(name, *options):
    folder = ROOT / f"build-bench-{name}"
    say(f"building {folder.name}")
    if not (folder / "build.ninja").exists():
        output_of("meson", "setup", folder, "-Dbuildtype=release", *options, timeout=300, cwd=ROOT)
    output_of("ninja", "-C", folder, "-j2", "app/ddiperf", timeout=900)
    return str(folder / "app" / "ddiperf")


def native(bench):
    """The build for the generic CPU against one for this machine's."""
    binaries = {"generic": build("generic"), "native": build("native", "-Dnative=true")}
    text = dns_file(bench)
    results = bench.alternate(**{name: lambda path=path: bench.run(text, binary=path)
                                 for name, path in binaries.items()})
    yield at_most("generic build / native build, worker time",
                  f"{nanoseconds(results['generic'])} : {nanoseconds(results['native'])}",
                  paired([*map(cost, results["generic"])], [*map(cost, results["native"])]), 1.05, "<= 1.05",
                  samples=samples(results))


# --- without a goal -------------------------------------------------------------------------------------


def steady(bench):
    """100 k/s for 10 s: is every second's due sent?"""
    result = bench.run(dns_file(bench, load={"rate": "100k"}, run={"duration": "10s"}))
    exact = sum(i["traffic"][0]["sent"] == i["traffic"][0]["due"] == 100000 for i in result["intervals"])
    sent_late = result["traffic"][0]["send_lag"]
    yield Outcome("100 k/s for 10 s, ring", f"{exact} of 10 seconds exact, send lag p50 {sent_late['p50_ns'] / 1e3:.1f} "
                  f"us, p99 {sent_late['p99_ns'] / 1e3:.1f} us")


def start_up(bench, prefix=()):
    """Whole process with one query, start to exit."""
    text = dns_file(bench, load={"rate": "1k", "total": 1}, run={"warmup": "0s", "duration": "10ms"})

    def once():
        before = time.monotonic()
        bench.run(text, prefix)
        return time.monotonic() - before

    results = bench.alternate(start=once)
    yield Outcome("whole process with one query, start to exit", f"{median(results['start']):.2f} s", samples=results)


def memory(bench):
    """10 M clients that all get a lease: how long, and how much memory tester and responder take."""
    text = dora_file(bench, "10500k", load={"outstanding": 512, "total": "10M"}, run={"warmup": "0s", "duration": "60s"})
    with config_file(text) as file:
        before = time.monotonic()
        peak = peak_rss([bench.binary, "run", str(file), "--quiet"])
    yield Outcome("10 M leases, tester and responder in one process",
                  f"{time.monotonic() - before:.0f} s, {peak / 2 ** 20:.0f} MiB at most")


ROWS = {"ring": ring_dns, "flowgen": flowgen, "dora": dora, "sarr": sarr, "sarr-both": sarr_both, "workers": workers, "in-flight": in_flight, "clients": clients,
        "lag": lag, "extras": extras, "native": native, "steady": steady, "start": start_up, "memory": memory}
