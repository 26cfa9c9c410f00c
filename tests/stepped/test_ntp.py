#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# NTP against the embedded responder: what is asked, and how replies are judged, fault by fault.

import json
import struct
import tempfile
from pathlib import Path

from harness import check_ledger, ddiperf, main, test
from loop import ring, sent_to_file


def item(**keys):
    return {"name": "clients", "server": "198.18.0.2", "timeout": "500ms", "load": {"rate": "2k", "total": "400"},
            "ntp": {}, **keys}


def run(one=None, **responder):
    """(the item's result, the responder's) of 400 requests."""
    result = ddiperf(ring(one or item(), run={"duration": "5s"}, responder={"ntp": {}, **responder}))
    got = result.item("clients")
    check_ledger(got)
    assert got["sent"] == 400, got
    return got, result.json["responder"]


@test
def every_request_is_answered():
    got, responder = run()
    assert got["answered"] == 400 and got["stray"] == got["malformed"] == 0, got
    assert got["ntp"]["stratum"] == {"2": 400} and got["ntp"]["leap"] == {"none": 400}, got["ntp"]
    assert responder["protocols"][0]["ntp"] == {"received": 400, "answered": 400, "ignored": 0}, responder


@test
def it_works_over_ipv6():
    both = {"tester": {"addresses": ["2001:db8::1/64"]}, "dut": {"addresses": ["2001:db8::2/64"]}}
    result = ddiperf(ring(item(server="2001:db8::2"), responder={"ntp": {}}, **both))
    assert result.item("clients")["answered"] == 400, result


@test
def requests_differ_in_key_and_value_and_say_what_is_set():
    with tempfile.TemporaryDirectory() as name:
        packets = sent_to_file(Path(name), item(ntp={"version": 3, "poll": 10}))[1]
    assert len(packets) == 400 and all(p.dport == 123 and len(p.payload) == 48 for p in packets)
    assert {p.payload[:4] for p in packets} == {bytes((0x1B, 0, 10, 0))}
    assert {p.payload[4:40] for p in packets} == {bytes(36)}
    values, keys = zip(*(struct.unpack("!II", p.payload[40:]) for p in packets))
    assert len(set(values)) > 395 and len(set(keys)) > 395


@test
def version_3_is_answered_as_version_3():
    got, _ = run(item(ntp={"version": 3}))
    assert got["answered"] == 400 and got["ntp"]["bad_version"] == 0, got


@test
def a_server_that_is_not_synchronised_fails_every_request():
    got, _ = run(ntp={"stratum": 16})
    assert got["failed"] == 400 and got["ntp"]["unsynchronised"] == 400, got
    assert got["ntp"]["stratum"] == {"16+": 400} and got["ntp"]["leap"] == {"alarm": 400}, got["ntp"]


@test
def each_fault_shows_in_its_counter():
    for fault, part, expected in (
            ("kiss", lambda n: n["kiss"], {"RATE": 100}), ("unsynchronised", lambda n: n["unsynchronised"], 100)):
        got, responder = run(faults={fault: {"every": 4}})
        assert got["failed"] == 100 and got["answered"] == 300 and part(got["ntp"]) == expected, (fault, got)
        assert responder["faults"] == {fault: 100}, responder
    got, _ = run(faults={"wrong_origin": {"every": 4}})
    assert got["stray"] == 100 and got["lost"] == 100 and got["answered"] == 300, got


@test
def it_runs_beside_another_protocol():
    dns = {"name": "queries", "server": "198.18.0.2", "load": {"rate": "1k", "total": "200"},
           "dns": {"names": ["a.example.com A"]}}
    result = ddiperf(ring(item(), dns, responder={"ntp": {}, "dns": {}}))
    assert result.item("clients")["answered"] == 400 and result.item("queries")["answered"] == 200, result
    assert {list(p)[1] for p in result.json["responder"]["protocols"]} == {"dns", "ntp"}, json.dumps(result.json)


main()
