#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# run --self-check: the file's own traffic over a ring pair, whatever its ports are. What it measures of this box:
# tests/loop/test_selftest.py.

import json

from harness import EXIT, check_ledger, ddiperf, main, test
from loop import RELAXED, item, ring

PORT = {"name": "lan", "driver": "af_packet", "device": "nosuch0", "addresses": ["198.18.0.1/24"]}


def file(*items, ports=None, **sections):
    return json.dumps({
        "run": {"warmup": "100ms", "duration": "500ms"}, "ports": ports or [PORT], "traffic": list(items or [item()]),
        "criteria": ["p99 <= 1ns"], "validity": RELAXED, **sections})


def self_check(text, world="delay=500us", **more):
    return ddiperf(text, "--self-check", world=world, **more)


@test
def a_file_for_another_box_is_run_over_a_ring_at_110_percent():
    result = self_check(file(item(load={"rate": "2k"}, timeout="2s")))
    assert result.code == 0 and "self-check: PASS" in result.stdout and "10 %" in result.stdout, result
    one, config = result.item("queries"), result.json["config"]
    check_ledger(one)
    assert one["due"] == one["answered"] == 1100, one
    assert [port["driver"] for port in result.json["ports"]] == ["ring", "ring"], result.json["ports"]
    assert config["traffic"][0]["timeout"] == "500ms", config["traffic"]
    assert result.json["verdict"]["criteria"][0]["expression"].endswith("loss <= 0%"), result.json["verdict"]
    assert "queries: tester and responder together need 1000.0 us (median), " in result.stdout, result


@test
def servers_ports_families_and_gateways_are_those_of_the_file():
    ports = [
        {**PORT, "addresses": ["198.18.0.1/24", "2001:db8::1/64"], "gateway": ["198.18.0.254"], "vlans": [100]},
        {"name": "wan", "driver": "pci", "device": "0000:ff:00.0", "addresses": ["203.0.113.1/24"], "vlans": [100]},
    ]
    items = [
        item("near", port="lan"), item("far", port="lan", server="192.0.2.53", server_port=5353),
        item("six", port="lan", server="2001:db8::53"),
        item("other", port="wan", server="203.0.113.53", load={"outstanding": 4}, source={"addresses": ["203.0.113.16-203.0.113.31"]}),
    ]
    result = self_check(file(*items, ports=ports))
    assert result.code == 0, result
    for one in result.json["traffic"]:
        check_ledger(one)
        # Two thousand a second and a tenth more; in a closed loop four in each millisecond, there and back.
        assert one["answered"] == one["sent"] == (2000 if one["name"] == "other" else 1100), one
    assert result.item("other")["loop"] == "closed", result


@test
def a_part_of_a_fleet_is_checked_with_its_load():
    for driver, source in (("af_packet", {}), ("af_packet", {"addresses": ["198.18.0.16-198.18.0.23"]}), ("socket", {})):
        port = PORT if driver == "af_packet" else {"name": "lan", "driver": driver}
        one = item(load={"rate": "8k"}, **({"server": "127.0.0.1"} if driver == "socket" else {}), source=source)
        result = self_check(file(one, ports=[port], fleet={"agents": 4, "part": 2}))
        assert result.code == 0 and result.item("queries")["answered"] == result.item("queries")["due"] == 1100, result


@test
def dhcp_clients_on_the_link_find_a_server():
    for protocol in "dhcp4", "dhcp6":
        clients = {"name": "leases", "load": {"rate": 100}, protocol: {"clients": "1k"}}
        result = self_check(file(clients, ports=[{**PORT, "addresses": ["198.18.0.1/24", "2001:db8::1/64"]}]))
        assert result.code == 0 and result.item("leases")["answered"] == 55, result


@test
def over_tls_its_server_takes_what_the_items_offer():
    pin = "A" * 43 + "="
    dns = {"names": ["h{0-99}.example.com A"], "transport": "tls", "tcp": {"connections": 3, "queries_per_connection": 10}}
    each = [{"verify": "pin", "pins": [pin]}, {"versions": "1.2", "ciphers": "aes-256-gcm", "resume": "last"}, {"groups": "x448", "alpn": "other"}]
    items = [item(name=f"item{n}", load={"rate": "100"}, dns={**dns, "tls": tls}) for n, tls in enumerate(each)]
    result = self_check(file(*items))
    assert result.code == 0, result
    for one in result.json["traffic"]:
        tls = one["connections"]["tls"]
        assert one["answered"] == one["due"] == 55 and tls["begun"] == tls["full"] + tls["resumed"] > 0, result


@test
def faults_criteria_and_files_of_the_file_are_left_out():
    text = ring(
        item(), run={"duration": "300ms"}, responder={"dns": {}, "faults": {"loss": {"every": 2}}}, criteria=["answered >= 1000000"],
        output={"capture": {"file": "/nonexistent/x.pcapng"}})
    result = self_check(text)
    one = result.item("queries")
    assert result.code == 0 and "capture" not in result.json and one["answered"] == one["due"] == 660, result


@test
def a_rate_beyond_the_box_is_no_headroom():
    # A CPU that is busy for 30 us with each packet has room for 16 thousand transactions a second.
    for rate, fits in ("14k", True), ("16k", False):
        result = self_check(file(item(load={"rate": rate}, timeout="20ms"), validity={}), invalid=True, world="cost=30us")
        verdict = result.json["verdict"]
        if fits:
            assert result.code == EXIT["pass"] and "PASS: this box has at least 10 % head-room for " in result.stdout, result
        else:
            assert result.code == EXIT["invalid"] and "self-check: INVALID: this box did not show 10 % head-room" in result.stdout, result
            assert verdict["reasons"] and all(f"self-check: {one}" in result.stdout for one in verdict["reasons"]), result


@test
def without_a_rate_it_says_so():
    result = self_check(file(item(load={"outstanding": 8})))
    assert result.code == 0 and "has no rate" in result.stdout, result


main()
