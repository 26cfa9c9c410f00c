# SPDX-License-Identifier: BSD-3-Clause
"""Rows over kernel wires, beside the tools that people use today. Need root."""

import contextlib
import shutil
import subprocess
import threading
import time
from pathlib import Path

from measure import NAMES, RELAXED, cost, execute, folder, item, median, paired, rate, say, skip
from rows_ring import millions, nanoseconds
from table import Outcome, at_least
from wires import SERVER, TESTER, fresh_lab, number, reflector, responder

BATCHES = (10, 32, 64, 128)  # of kxdpgun; 10 is its default
OUTSTANDING = (128, 512, 2048)
EVERYTHING = 10_000_000  # queries per second that kxdpgun is told to send: more than it can


def tester(bench, driver="af_xdp", device="veth0", outstanding=512, **port):
    return {
        "run": {"warmup": "500ms", "duration": bench.duration()},
        "ports": [{"name": "lan", "driver": driver, "device": device, "addresses": [f"{TESTER}/24"], "cpus": [1], **port}],
        "traffic": [item(load={"outstanding": outstanding}, dns=NAMES)],
        "validity": RELAXED,
    }


def answered_and_lost(result):
    traffic = result["traffic"][0]
    return rate(result), 100 * traffic["lost"] / max(1, traffic["sent"])


def queries_file(where):
    path = Path(where, "queries.txt")
    path.write_text("".join(f"h{i}.example.com A\n" for i in range(1000)))
    return str(path)


def kxdpgun(bench, wire, queries, batch):
    """Answers per second and the share of lost ones, by its own account."""
    with wire.kernel_client(through=False) as prefix:
        _, out, err = execute([*prefix, "kxdpgun", "-t", str(max(1, round(bench.seconds))), "-Q", str(EVERYTHING), "-b",
                               str(batch), "-F", "1", "-i", queries, "-I", "veth0", SERVER], timeout=60)
    replies = r"^total replies:.*\((\d+) pps\) \((\d+)%\)"
    return number(replies, out + err, "kxdpgun"), 100 - number(replies, out + err, "kxdpgun", 2)


def dnsperf(bench, wire, queries, threads):
    """Answers per second and the share of lost ones, by its own account; one thread has CPU 1, two have both."""
    with wire.kernel_client(through=True) as prefix:
        _, out, err = execute([*prefix, "taskset", "-c", "1" if threads == 1 else "0,1", "dnsperf", "-s", SERVER, "-d",
                               queries, "-l", str(max(1, round(bench.seconds))), "-T", str(threads), "-c", str(threads)],
                              timeout=60)
    return (number(r"Queries per second:\s+([\d.]+)", out + err, "dnsperf"),
            number(r"Queries lost:\s+\d+ \(([\d.]+)%\)", out + err, "dnsperf"))


def best(results, prefix):
    """(name, samples) of the case with the highest median."""
    return max(((name, of) for name, of in results.items() if name.startswith(prefix)), key=lambda pair: median(pair[1]))


def reflect_cases(bench, wire, queries):
    ours = {f"ours {n} outstanding": lambda n=n: answered_and_lost(bench.run(tester(bench, outstanding=n), wire.lab.tester()))
            for n in OUTSTANDING}
    guns = {f"kxdpgun -b {n}": lambda n=n: kxdpgun(bench, wire, queries, n) for n in BATCHES if shutil.which("kxdpgun")}
    perfs = {f"dnsperf -T {n}": lambda n=n: dnsperf(bench, wire, queries, n) for n in (1, 2) if shutil.which("dnsperf")}
    return {**ours, **guns, **perfs}


def beside(results, where, tool, limit):
    """The best case of the tester against the best one of a tool, with what each of them lost."""
    what, goal = f"DNS/s over veth from an XDP reflector, {where} / {tool}", f">= {limit}"
    if not any(name.startswith(tool) for name in results):
        return Outcome(what, "", goal, skipped=f"no {tool} (scripts/deps install bench)")
    rates = {name: [answered for answered, _ in samples] for name, samples in results.items()}
    (own_name, own), (name, other) = best(rates, "ours"), best(rates, tool)

    def cell(case, label):
        return f"{median(rates[case]) / 1e6:.2f} M/s ({label}, {median(lost for _, lost in results[case]):.1f} % lost)"

    return at_least(what, f"{cell(own_name, own_name[5:])} : {cell(name, name)}", paired(own, other), limit, goal,
                    samples=results)


def reflect(bench):
    """Answered DNS/s over veth with af_xdp from an XDP reflector, beside kxdpgun and dnsperf."""
    with reflector() as wire, folder() as where:
        queries, peer, own = queries_file(where), (wire.lab.dut(), "veth1"), (wire.lab.tester(), "veth0")
        results = bench.alternate(**reflect_cases(bench, wire, queries))
        yield beside(results, "one CPU", "kxdpgun", 1.05)
        yield beside(results, "one CPU", "dnsperf", 3)
        for name, ends, limit in (("server's end on a thread", [peer], 1.3), ("both ends on threads", [peer, own], 1.1)):
            with wire.threaded(*ends):
                cases = {case: run for case, run in reflect_cases(bench, wire, queries).items() if "dnsperf" not in case}
                yield beside(bench.alternate(**cases), name, "kxdpgun", limit)


# --- drivers, without a goal ----------------------------------------------------------------------------


def line_of(driver, results):
    return Outcome(f"DNS, {driver}", f"{millions(results)}, {nanoseconds(results)} of worker time",
                   samples={driver: [{"answered_per_s": rate(r), "ns_per_transaction": cost(r)} for r in results]})


def drivers(bench):
    """af_xdp, af_packet, pcap and socket on a veth pair with the reflector; memif to another process; tap."""
    with reflector() as wire:
        yield line_of("af_xdp on veth, XDP reflector", bench.alternate(
            one=lambda: bench.run(tester(bench), wire.lab.tester()))["one"])
    with reflector("xdpgeneric") as wire:
        for driver in ("af_packet", "pcap"):
            results = bench.alternate(one=lambda: bench.run(tester(bench, driver), wire.lab.tester()))
            yield line_of(f"{driver} on veth, generic XDP reflector", results["one"])
        with wire.kernel_client(through=False) as prefix:
            results = bench.alternate(one=lambda: bench.run(tester(bench, "socket"), prefix))
            yield line_of("socket on veth, generic XDP reflector", results["one"])
    yield from memif(bench)
    yield from tap(bench)


def dut(driver, device, **port):
    return {"ports": [{"name": "dut", "driver": driver, "device": device, "addresses": [f"{SERVER}/24"], "cpus": [0],
                       "force": True, **port}],
            "responder": {"port": "dut", "dns": {}}}


def memif(bench):
    with folder() as where:
        socket = f"{where}/memif.sock"

        def once():
            with responder(bench.binary, dut("memif", f"server:{socket}")):
                return bench.run(tester(bench, "memif", f"client:{socket}"))

        yield line_of("memif to `respond`", bench.alternate(one=once)["one"])


@contextlib.contextmanager
def reflecting_tap(wire, device):
    """As soon as the tester has made its tap device, the kernel's side of it answers like the peer of the veth pair."""
    over = threading.Event()
    prefix = wire.lab.tester()

    def ip(*words):
        return subprocess.run([*prefix, "ip", *words], capture_output=True, text=True)

    def wait_and_attach():
        while not over.is_set() and ip("link", "show", "dev", device).returncode:
            time.sleep(0.02)
        ip("addr", "replace", f"{SERVER}/24", "dev", device)
        ip("link", "set", "dev", device, "xdpgeneric", "obj", str(wire.program), "sec", "reflect")

    thread = threading.Thread(target=wait_and_attach)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def tap(bench):
    with reflector() as wire:
        def once():
            with reflecting_tap(wire, "benchtap"):
                return bench.run(tester(bench, "tap", "benchtap"), wire.lab.tester())

        yield line_of("tap, generic XDP reflector", bench.alternate(one=once)["one"])


def veth(bench):
    """af_xdp on both ends of a veth pair, `respond` on the far one."""
    with fresh_lab() as lab, responder(bench.binary, dut("af_xdp", "veth1"), lab.dut()):
        results = bench.alternate(one=lambda: bench.run(tester(bench), lab.tester()))
    yield line_of("af_xdp on both ends of a veth pair, `respond`", results["one"])


# --- DHCP -----------------------------------------------------------------------------------------------

RATES = (None, 10000, 20000, 30000, 40000, 60000)  # exchanges per second that perfdhcp is told to begin
CLIENTS = 1_000_000


class Family:
    """What a row of one family has: addresses, the responder, the item, and words of perfdhcp."""

    def __init__(self, what, tester_address, server, section, item_of_clients, words):
        self.what, self.tester, self.server = what, tester_address, server
        self.words, self.clients = words, item_of_clients
        self.bits = 24 if "." in server else 64
        self.responder = {**dut("af_xdp", "veth1", addresses=[f"{server}/{self.bits}"]), "responder": {"port": "dut", **section}}


V4 = Family("DORA", TESTER, SERVER, {"dhcp4": {"pool": "10.64.0.0/11"}},
            {"dhcp4": {"exchange": "dora", "clients": CLIENTS, "relay": {"addresses": ["198.18.0.64/26"]}}}, ["-4"])
V6 = Family("SARR", "2001:db8::1", "2001:db8::2", {"dhcp6": {"pool": "2001:db8:0:1::/64", "clients": 2 * CLIENTS}},
            {"dhcp6": {"exchange": "sarr", "clients": CLIENTS, "relay": {"addresses": ["2001:db8::100-2001:db8::13f"]}}},
            ["-6", "-A", "1"])


@contextlib.contextmanager
def kernel_address(lab, family):
    """The tester's end as a host, which it is for perfdhcp alone: a lab has no IPv6 there."""
    no_ipv6, address = "/proc/sys/net/ipv6/conf/veth0/disable_ipv6", [f"{family.tester}/{family.bits}", "dev", "veth0"]
    if family is V6:
        subprocess.run(lab.tester("sh", "-c", f"echo 0 >{no_ipv6}"), check=True)
        address.append("nodad")
    subprocess.run(lab.tester("ip", "addr", "replace", *address), check=True)
    try:
        yield
    finally:
        subprocess.run(lab.tester("ip", "addr", "flush", "dev", "veth0"))
        if family is V6:
            subprocess.run(lab.tester("sh", "-c", f"echo 1 >{no_ipv6}"))


def perfdhcp(bench, lab, family, mode, pace):
    """Exchanges per second by its own account, against a fresh server: no client has a lease yet."""
    words = [*family.words, *(["-r", str(pace)] if pace else [])]
    with kernel_address(lab, family), responder(bench.binary, family.responder, lab.dut()):
        _, out, err = execute(lab.tester(
            "taskset", "-c", "1" if mode == "single" else "0,1", "perfdhcp", "-g", mode, *words, "-R",
            str(CLIENTS), "-p", str(max(1, round(bench.seconds))), "-l", family.tester, family.server), timeout=60)
    return number(r"^Rate: ([\d.e+]+)", out + err, "perfdhcp")


def leases(bench, lab, family, outstanding):
    traffic = {"name": "leases", "server": family.server, "timeout": "500ms", "load": {"outstanding": outstanding}, **family.clients}
    config = tester(bench, addresses=[f"{family.tester}/{family.bits}"])
    with responder(bench.binary, family.responder, lab.dut()):
        return rate(bench.run({**config, "traffic": [traffic]}, lab.tester()))


def best_of_perfdhcp(bench, lab, family):
    """The (mode, pace) that it is fastest with, from one look at each."""
    cases = [(mode, pace) for mode in ("single", "multi") for pace in RATES]
    found = {case: perfdhcp(bench, lab, family, *case) for case in cases}
    for (mode, pace), value in found.items():
        say(f"perfdhcp {family.words[0]} -g {mode} {f'-r {pace}' if pace else 'no -r'}: {value:.0f}/s")
    return max(found, key=found.get)


def beside_perfdhcp(bench, family, goal):
    if not shutil.which("perfdhcp"):
        skip("no perfdhcp (scripts/deps install bench)")
    with fresh_lab() as lab:
        mode, pace = best_of_perfdhcp(bench, lab, family)
        ours = {f"ours {n} outstanding": lambda n=n: leases(bench, lab, family, n) for n in (64, 512, 2048)}
        results = bench.alternate(perfdhcp=lambda: perfdhcp(bench, lab, family, mode, pace), **ours)
    name, own = best(results, "ours")
    yield at_least(f"{family.what}/s over veth / perfdhcp, same responder",
                   f"{median(own) / 1e3:.0f} k/s ({name[5:]}) : {median(results['perfdhcp']) / 1e3:.1f} k/s (-g {mode}"
                   f"{f' -r {pace}' if pace else ''})", paired(own, results["perfdhcp"]), goal, f">= {goal}", samples=results)


def perfdhcp_row(bench):
    """DORA/s over veth against `respond`, beside perfdhcp at its best of 2 modes and 6 rates."""
    yield from beside_perfdhcp(bench, V4, 10)


def perfdhcp6_row(bench):
    """SARR/s through a relay likewise, beside perfdhcp -6 -A 1."""
    yield from beside_perfdhcp(bench, V6, 5)


ROWS = {"reflect": reflect, "perfdhcp": perfdhcp_row, "perfdhcp6": perfdhcp6_row, "drivers": drivers, "veth": veth}
