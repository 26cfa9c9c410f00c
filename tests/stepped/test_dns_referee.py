#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Replies against the answers of a capture (expect.captured): all equal where nothing has changed, and each change of the
# zone counted in its class and captured with the reason.

import functools
import tempfile
from collections import Counter
from pathlib import Path

from harness import check_ledger, ddiperf, main, test, tshark
from loop import item, ring

ZONE = """$ORIGIN example.com.
@ 60 SOA ns hostmaster 1 3600 600 86400 60
@ 60 NS ns
ns 60 A 192.0.2.53
@ 60 MX 10 mail
mail 60 A 192.0.2.1
mail 60 A 192.0.2.2
gone 60 TXT "here today"
text 60 TXT "one" "two"
alias 60 CNAME mail
"""
NAMES = ["example.com SOA", "example.com MX", "mail.example.com A E", "gone.example.com TXT", "text.example.com TXT D",
         "alias.example.com A", "no.example.com A", "text.example.com A", "example.org A", "mail.example.com AAAA"]
ALL = ["rcode", "flags", "answer", "authority", "additional"]


def run(dns, folder, capture, zone=ZONE, faults=None, **load):
    (folder / "zone").write_text(zone)
    one = item(dns=dns, load={"rate": "2k", "total": "100", **load})
    output = {"capture": {"file": str(folder / capture), "when": ["answered", "failed", "lost"], "limit": 10_000}}
    text = ring(one, output=output, responder={"dns": {"zone": str(folder / "zone")}, "faults": faults or {}})
    result = ddiperf(text)
    assert result.json, result
    return result, result.item("queries")


@functools.cache
def captured():
    """The bytes of a capture of a run on the zone."""
    with tempfile.TemporaryDirectory() as name:
        _, first = run({"names": NAMES}, Path(name), "first.pcapng")
        assert first["answered"] == 100 and first["dns"]["captured_same"] == 0, first
        return (Path(name) / "first.pcapng").read_bytes()


def replay(folder, parts=ALL, **more):
    """The capture asked again: the run and its failed answers' comments."""
    (folder / "first.pcapng").write_bytes(captured())
    result, one = run({"wire": str(folder / "first.pcapng"), "expect": {"captured": parts}}, folder, "second.pcapng", **more)
    check_ledger(one)
    assert one["answered"] + one["failed"] == one["sent"] == 100, one
    answers = [p for p in tshark(folder / "second.pcapng", ("frame.p2p_dir", "frame.comment")) if p["frame.p2p_dir"] == "1"]
    reasons = Counter(p["frame.comment"].split(",")[-1] for p in answers if ": failed: " in p["frame.comment"])
    dns = one["dns"]
    assert one["answered"] == dns["captured_same"] + dns["captured_unknown"], one
    assert one["failed"] == sum(dns["captured_differs"].values()), one
    return result, one, reasons


@test
def the_same_server_answers_as_in_the_capture():
    with tempfile.TemporaryDirectory() as name:
        result, one, reasons = replay(Path(name), [*ALL, "ttl"])
    assert result.code == 0 and one["dns"]["captured_same"] == 100 and not reasons, (one, reasons)
    assert one["dns"]["captured_unknown"] == 0, one


@test
def the_order_of_records_their_case_and_ttl_are_no_difference():
    lines = ZONE.replace(" 60 ", " 90 ").replace(" mail\n", " MaiL\n").splitlines()
    other = "\n".join([*lines[:2], *reversed(lines[2:])]) + "\n"
    with tempfile.TemporaryDirectory() as name:
        _, one, _ = replay(Path(name), zone=other)
        assert one["dns"]["captured_same"] == 100, one
        _, one, reasons = replay(Path(name), [*ALL, "ttl"], zone=other)
    # The SOA record of a negative answer has the TTL of its last field (RFC 2308).
    assert one["dns"]["captured_differs"] == {"answer": 60}, one
    assert reasons == {"another answer section than in the capture": 60}, reasons


@test
def each_change_of_the_zone_is_in_its_class_and_captured_with_the_reason():
    changed = ZONE.replace("hostmaster 1", "hostmaster 2").replace("192.0.2.2", "192.0.2.3").replace("gone", "come")
    with tempfile.TemporaryDirectory() as name:
        _, one, reasons = replay(Path(name), zone=changed)
        _, some, _ = replay(Path(name), ["rcode", "answer"], zone=changed)
        _, rcode, _ = replay(Path(name), ["rcode"], zone=changed)
    # SOA, two addresses of mail (also behind the alias) | SOA in negative answers | the name is gone
    assert one["dns"]["captured_differs"] == {"answer": 30, "authority": 30, "rcode": 10}, one
    assert reasons == {"another answer section than in the capture": 30, "another authority section than in the capture": 30,
                       "another RCODE than in the capture": 10}, reasons
    assert some["dns"]["captured_differs"] == {"answer": 30, "rcode": 10}, some
    assert rcode["dns"]["captured_differs"] == {"rcode": 10}, rcode


@test
def a_fault_of_the_server_is_in_its_class():
    with tempfile.TemporaryDirectory() as name:
        result, one, reasons = replay(Path(name), faults={"tc": {"every": 10}})
        assert one["dns"]["captured_differs"] == {"flags": 10} and reasons == {"other flags than in the capture": 10}, one
        _, one, _ = replay(Path(name), ["answer"], faults={"rcode": {"every": 10}})
    faults = one["dns"]["rcode"]["SERVFAIL"]
    assert faults == 10 and sum(one["dns"]["captured_differs"].values()) < 10, one


@test
def queries_without_an_answer_in_the_capture_are_not_compared():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _, first = run({"names": NAMES}, folder, "first.pcapng", faults={"loss": {"every": 4}})
        assert first["lost"] == 25, first
        result, one = run({"wire": str(folder / "first.pcapng"), "expect": {"captured": ALL}}, folder, "second.pcapng")
    assert "75 of 100 queries have an answer in it" in result.stderr, result
    assert one["dns"]["captured_same"] == 75 and one["dns"]["captured_unknown"] == 25 and one["answered"] == 100, one


main()
