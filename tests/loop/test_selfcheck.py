#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# run --self-check: the file's own traffic over a ring pair, whatever its ports are.

import json

from harness import EXIT, check_ledger, ddiperf, main, test
from loop import RELAXED, item, ring

PORT = {"name": "lan", "driver": "af_packet", "device": "nosuch0", "addresses": ["198.18.0.1/24"]}


def file(*items, ports=None, **sections):
    return json.dumps({
        "run": {"warmup": "100ms", "duration": "500ms"}, "ports": ports or [PORT], "traffic": list(items or [item()]),
        "criteria": ["p99 <= 1ns"], "validity": RELAXED, **sections})


def self_check(text, **more):
    return ddiperf(text, "--self-check", **more)


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
    assert "queries: tester and responder together need" in result.stdout and "median" in result.stdout, result
    assert "the tester itself adds p50" in result.stdout and "tester_delay" in result.json["run"], result


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
        assert one["answered"] == one["sent"] > 0, one
    assert result.item("other")["loop"] == "closed" and result.item("near")["due"] == 1100, result


@test
def faults_criteria_and_files_of_the_file_are_left_out():
    text = ring(
        item(), run={"duration": "300ms"}, responder={"dns": {}, "faults": {"loss": {"every": 2}}}, criteria=["answered >= 1000000"],
        output={"capture": {"file": "/nonexistent/x.pcapng"}})
    result = self_check(text)
    assert result.code == 0 and "capture" not in result.json and result.item("queries")["lost"] == 0, result


@test
def a_rate_beyond_the_box_is_no_headroom():
    # Thirty million a second, with the bounds of a real measurement, are too much for any box that tests run on.
    result = self_check(file(item(load={"rate": "30M"}, timeout="20ms"), validity={}), invalid=True)
    assert result.code in (EXIT["fail"], EXIT["invalid"]), result
    assert "self-check: INVALID" in result.stdout or "self-check: FAIL" in result.stdout, result
    assert "did not show 10 % head-room" in result.stdout and result.json["verdict"]["reasons"], result


@test
def without_a_rate_it_says_so():
    result = self_check(file(item(load={"outstanding": 8})))
    assert result.code == 0 and "asks for no rate" in result.stdout, result


main()
