#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Pairs of real servers of which one fails, or hands over its address, during a run: the gap, who answered, and what became
# of those that waited. The examples config/failover.yaml and config/dhcp4-failover.yaml, shortened. PRINT=1 prints figures.

import csv
import os
import tempfile
from pathlib import Path

from harness import check_ledger, execute, main, nightly, test, timing, tshark
from live import DHCP_PORT, RELAXED, config, item, lab, lab_again, leases

CONFIG = Path(__file__).resolve().parents[2] / "config"
A, B, SERVICE = "198.18.0.2", "198.18.0.3", "198.18.0.10"


def folder(name):
    return Path(f"/run/{lab().prefix}-lab/{name}")


def pid(name):
    return (folder(name) / "pid").read_text().strip()


def run(pair, text, kill, *settings):
    """The result, its item, its first event and that item after it, and the servers by name. The pair is whole again after it."""
    here = lab(pair)
    relaxed = [f"validity.{name}={value}" for name, value in RELAXED.items()]
    options = [word for setting in (*settings, *relaxed, f"events[0].run={kill(here)}") for word in ("--set", setting)]
    try:
        result = here.ddiperf(text, *options)
    finally:
        lab_again(pair)
    assert result.json, result
    one, event = result.json["traffic"][0], result.json["events"][0]
    after = event["traffic"][0]
    if os.environ.get("PRINT"):
        print("\n".join(f"# {line}" for line in result.stdout.splitlines()))
    assert event["outcome"] == "exit status 0", event
    return result, one, after, {server["name"]: server for server in one["servers"]}


@test
def a_stub_resolver_goes_on_with_the_second_server():
    result, one, after, servers = run(
        "unbound-pair", (CONFIG / "failover.yaml").read_text(), lambda _: f"kill -KILL {pid('a')}", "run.warmup=0s", "run.duration=1500ms",
        "traffic.queries.load.rate=1k", "traffic.queries.timeout=100ms", "events[0].at=500ms", "events[1].at=1s",
        "events[1].set=traffic.queries.load.rate=2k",
        f"dut.counters.command=ip netns exec {lab('unbound-pair').prefix}-dut2 nstat -asz")
    assert one["failed"] == 0 and one["answered"] + one["lost"] == one["sent"] == 2000, one
    # Each answers within the 100 ms that it is waited for.
    timing(one["lost"] == 0 and servers[B]["sent"] == servers[B]["answered"], servers)
    # All that the second one answered had waited for the first one.
    assert servers[A]["answered"] + servers[B]["answered"] == 2000 and servers[B]["sent"] == servers[A]["lost"], servers
    timing(1450 < servers[B]["answered"] < 1550, servers)
    timing(90e6 < after["longest_gap_ns"] < 200e6 and 90e6 < after["first_answer_ns"] < 200e6, after)
    timing(80 < after["waited"]["count"] < 220 and 100e6 <= after["waited"]["p50_ns"] < 200e6, after)
    counters = {c["name"]: c["difference"] for c in result.json["dut"]["counters"]}
    assert counters["UdpInDatagrams"] == servers[B]["sent"], counters


@test
def an_address_that_moves_is_found_where_it_is():
    def move(here):
        return (f"ip -n {here.prefix}-dut addr del {SERVICE}/32 dev veth1; ip -n {here.prefix}-dut2 addr add {SERVICE}/32 dev veth1")

    text = config("af_packet", item(server=SERVICE, load={"rate": "2k"}), run={"duration": "2s"}, events=[{"at": "500ms", "run": "true"}])
    _, one, after, _ = run("unbound-pair", text, move)
    assert one["due"] == 4000 and one["answered"] + one["lost"] == one["sent"], one
    assert one["lost"] > 0 and after["first_answer_ns"] is not None, after
    timing(after["first_answer_ns"] < 1.2e9 and one["answered"] > 1500, after)


def answers(path):
    """Of a capture: (address of the server, name, address that it gave) of each answer with an A record."""
    fields = ("ip.src", "dns.flags.response", "dns.qry.name", "dns.a")
    return [(p["ip.src"], p["dns.qry.name"], p["dns.a"]) for p in tshark(path, fields) if p["dns.flags.response"] == "1"]


@nightly
def stale_answers_after_a_fail_over_are_counted():
    here = lab("unbound-pair")
    dns = {"names": ["h{0-19}.example.com A"]}
    with tempfile.TemporaryDirectory() as name:
        first, second = Path(name) / "first.pcapng", Path(name) / "second.pcapng"
        whole = here.ddiperf(config("af_packet", item(dns=dns, load={"rate": "1k", "total": 20}),
                                    output={"capture": {"file": str(first), "when": ["answered"]}}))
        assert whole.item("queries")["answered"] == 20, whole
        # The second server has an older zone, in which seven names have another address.
        zone = folder("b") / "zone"
        old = [line.replace(" A 198.19.0.", " A 198.51.100.") if line.split()[0] in {f"h{i}" for i in range(7)} else line
               for line in zone.read_text().splitlines()]
        zone.write_text("\n".join(old).replace("hostmaster 1 ", "hostmaster 0 ") + "\n")
        control = ("ip", "netns", "exec", f"{here.prefix}-dut2", "unbound-control", "-c", str(folder("b") / "server.conf"))
        code, out, err = execute([*control, "auth_zone_reload", "example.com."])
        assert code == 0, out + err
        text = config(
            "af_packet", item(servers=[B], spread="stub", timeout="100ms", dns={"wire": str(first), "expect": {"captured": ["rcode", "flags", "answer"]}}),
            run={"duration": "600ms"}, events=[{"at": "200ms", "run": "true"}],
            output={"capture": {"file": str(second), "when": ["answered", "failed"], "limit": 10_000}})
        _, one, after, servers = run("unbound-pair", text, lambda _: f"kill -KILL {pid('a')}")
        right = {name: address for _, name, address in answers(first)}
        seen = answers(second)
    check_ledger(one)
    stale = [server for server, name, address in seen if right[name] != address]
    timing(len(seen) == one["sent"] == 600 and one["lost"] == 0, (len(seen), one))
    # Seven names of twenty, asked in turn, of the second server alone.
    assert set(stale) == {B} and one["dns"]["captured_differs"] == {"answer": len(stale)} and one["failed"] == len(stale), one
    assert one["dns"]["captured_same"] == one["answered"] == 600 - len(stale) and one["dns"]["captured_unknown"] == 0, one
    timing(after["failed"] == len(stale) and 0.25 < len(stale) / 400 < 0.4, (after, one))


@nightly
def an_address_that_keepalived_moves_is_found_at_once():
    text = config("af_packet", item(server=SERVICE, load={"rate": "2k"}), run={"duration": "3s"}, events=[{"at": "500ms", "run": "true"}])
    _, one, after, _ = run("unbound-vrrp", text, lambda _: f"kill -KILL {pid('a')}")
    assert one["due"] == 6000 and one["answered"] + one["lost"] == one["sent"] and one["lost"] > 0, one
    # The script that watches Unbound runs once a second.
    timing(after["first_answer_ns"] < 1.6e9 and after["longest_gap_ns"] < 1.6e9 and one["answered"] > 2500, after)


@nightly
def addresses_that_two_kea_give_twice_are_counted():
    clients = leases("new", "dora", rate=400, mac="02:0f:00:00:00:00", relayed=True, servers=[B], spread="round_robin")
    clients["load"]["total"] = 400
    result = lab("kea-apart").ddiperf(config("af_packet", clients, port=DHCP_PORT, run={"duration": "2s"}))
    one, owners = result.item("new"), {}
    check_ledger(one)
    for name in ("a", "b"):
        with open(folder(name) / "leases.csv", newline="") as file:
            for lease in csv.DictReader(file):
                owners.setdefault(lease["address"], set()).add(lease["hwaddr"])
    twice = sum(len(macs) == 2 for macs in owners.values())
    assert sum(map(len, owners.values())) == 400 and max(map(len, owners.values())) == 2, owners
    assert one["dhcp4"]["duplicate_address"] == one["failed"] == twice > 0 and one["dhcp4"]["unwatched"] == 0, (twice, one)
    assert one["dhcp4"]["leases"] == one["answered"] == 400 - twice, one


def dhcp(pair, dead, gap):
    """New clients for five seconds, the primary gone after one. dead: bounds of its share of the answers."""
    _, one, after, servers = run(
        pair, (CONFIG / "dhcp4-failover.yaml").read_text(), lambda _: f"kill -KILL {pid('a')}", "run.duration=5s", "events[0].at=1s")
    # A client that has the offer of a server that is gone asks nobody else, until it gives up.
    assert one["sent"] == one["answered"] + one["lost"] + one["in_flight"] and one["failed"] == 0, one
    timing(one["answered"] >= one["sent"] - 15, one)
    assert one["dhcp4"]["duplicate_address"] == 0 and one["dhcp4"]["unwatched"] == 0, one
    assert servers[A]["answered"] + servers[B]["answered"] == one["answered"], servers
    assert servers[B]["answered"] > 0 and dead[0] < servers[A]["share"] < dead[1], servers
    timing(after["longest_gap_ns"] < gap, after)


@nightly
def a_standby_kea_takes_over():
    dhcp("kea-standby", (0.1, 0.4), 4e9)


@nightly
def a_kea_that_shares_the_load_serves_all():
    dhcp("kea-balance", (0.05, 0.3), 2e9)


@nightly
def a_dhcpd_serves_its_partners_clients():
    dhcp("dhcpd-failover", (0.05, 0.3), 2e9)


main()
