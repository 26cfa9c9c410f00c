#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# EDNS in full, and PROXY headers: on the wire as asked, answered by the responder, counted exactly on both sides.

import tempfile
from pathlib import Path

from harness import EXIT, check_ledger, ddiperf, main, test
from loop import item, opt, question, ring, sent_to_file

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"


def answered(dns, answers=None, **keys):
    result = ddiperf(ring(item(dns=dns, **keys), responder={"dns": answers or {}}))
    assert result.code == 0, result
    one = result.item("queries")
    check_ledger(one)
    assert one["answered"] == one["sent"] == one["due"] == 600 and one["stray"] == one["malformed"] == 0, one
    return one["dns"], result.json["responder"]


def payloads(dns, count):
    with tempfile.TemporaryDirectory() as name:
        one = item(load={"rate": "20k", "total": str(count)}, dns=dns)
        return [packet.payload for packet in sent_to_file(Path(name), one)[1]]


@test
def the_options_of_a_line_are_on_the_wire_of_that_query_alone():
    names = ["a.x A +65001=c0ffee +65002:hi\\032there +65003", "b.x A"]
    edns = {"size": 1232, "options": [{"code": 10001, "text": "all"}]}
    for i, message in enumerate(payloads({"names": names, "edns": edns}, 10)):
        own = {65001: b"\xc0\xff\xee", 65002: b"hi there", 65003: b""} if i % 2 == 0 else {}
        assert opt(message) == (1232, 0, 0, 0, {10001: b"all", **own}), message.hex()


@test
def every_message_is_padded_and_so_is_its_answer():
    dns = {"names": ["h{0-99}.example.com A", "{random:20}.example.com TXT"], "cookies": "full",
           "edns": {"padding": 128, "client_subnet": "192.0.2.0/24"}}
    assert {len(message) for message in payloads(dns, 300)} == {128}
    for transport in ("udp", "tcp"):
        one, there = answered({**dns, "transport": transport})
        assert one["padded"] == 600 and one["request_bytes"] == 600 * 128 and one["reply_bytes"] == 600 * 468, one
        assert one["cookie_bad"] == one["client_subnet_bad"] == one["trailing"] == 0, one


@test
def extended_errors_and_reports_are_counted_by_name():
    asked = {"names": ["a.x A"], "edns": {"zoneversion": True}}
    one, there = answered(asked, {"extended_error": [3, 18, 4711], "report_channel": "agent.example."})
    assert one["extended_error"] == {"Stale_Answer": 600, "Prohibited": 600, "other": 600}, one
    assert one["report_channel"] == one["zoneversion"] == 600 and one["padded"] == 0, one
    one, there = answered({"names": ["a.x A"], "edns": {}}, {})
    assert one["extended_error"] == {} and one["report_channel"] == one["zoneversion"] == 0, one


@test
def a_criterion_knows_extended_errors():
    text = ring(item(dns={"names": ["a.x A"], "edns": {}}), responder={"dns": {"extended_error": 22}},
                criteria=["traffic.queries.dns.extended_error.No_Reachable_Authority == 0"])
    assert ddiperf(text).code == EXIT["fail"]


@test
def each_datagram_claims_the_next_client():
    dns = {"names": ["a.x A"], "proxy": {"clients": "192.0.2.0/24"}}
    for i, payload in enumerate(payloads(dns, 300)):
        assert payload[:16] == SIGNATURE + b"\x21\x12\0\x0c", payload.hex()
        claimed = bytes([192, 0, 2, i % 256, 198, 18, 0, 2]) + (1024 + i // 256).to_bytes(2, "big") + b"\0\x35"
        assert payload[16:28] == claimed and question(payload[28:])[0] == "a.x", payload.hex()


@test
def a_responder_behind_a_proxy_takes_its_headers():
    for transport in ("udp", "tcp"):
        for proxy in ({"clients": "192.0.2.0/24"}, {"clients": "2001:db8::/64", "server": "2001:db8::53"}, {"local": True}):
            dns = {"names": ["h{0-9}.x A"], "proxy": proxy, "transport": transport,
                   **({"tcp": {"connections": 20, "queries_per_connection": 10}} if transport == "tcp" else {})}
            one, there = answered(dns, {"proxy": True})
            there = there["protocols"][0]["dns"]
            begun = 60 if transport == "tcp" else 600
            assert there["proxied"] == begun and there["proxy_bad"] == 0, there
            assert there["proxied_local"] == (begun if "local" in proxy else 0), there


@test
def a_header_is_within_tls_or_in_front_of_it():
    for place in ("inside", "outside"):
        for records in ("message", "burst"):
            dns = {"names": ["h{0-9}.x A"], "transport": "tls", "tls": {"records": records}, "tcp": {"connections": 20, "queries_per_connection": 10},
                   "proxy": {"clients": "192.0.2.0/24", "place": place, "tlvs": [{"type": 224, "text": "blue" * 50}]}}
            text = ring(item(dns=dns, load={"outstanding": 40, "total": 600}), responder={"dns": {"proxy": True}, "tls": {}})
            result = ddiperf(text)
            one, there = result.item("queries"), result.json["responder"]["protocols"][0]["dns"]
            assert one["answered"] == one["sent"] == 600 and there["proxied"] == one["connections"]["opened"] >= 60, result
            assert there["proxy_bad"] == one["connections"]["tls"]["bad_record"] == 0, result
    dns = {"names": ["a.x A"], "transport": "tls", "tcp": {"connections": 10}}
    result = ddiperf(ring(item(dns=dns), responder={"dns": {"proxy": True}, "tls": {}}))
    one, bad = result.item("queries"), result.json["responder"]["protocols"][0]["dns"]["proxy_bad"]
    assert one["answered"] == 0 and one["connections"]["reset"] == bad == one["connections"]["tls"]["full"] > 0, result
    dns = {"names": ["a.x A"], "proxy": {"local": True, "place": "outside"}}
    result = ddiperf(ring(item(dns=dns), responder={"dns": {"proxy": True}}))
    assert result.code == EXIT["usage"] and "proxy.place: outside is for transport: tls" in result.stderr, result


@test
def without_the_header_that_is_due_nothing_is_answered():
    result = ddiperf(ring(item(dns={"names": ["a.x A"]}), responder={"dns": {"proxy": True}}))
    assert result.item("queries")["lost"] == 600, result
    assert result.json["responder"]["protocols"][0]["dns"]["proxy_bad"] == 600, result
    dns = {"names": ["a.x A"], "transport": "tcp", "tcp": {"connections": 10}}
    result = ddiperf(ring(item(dns=dns), responder={"dns": {"proxy": True}}))
    one = result.item("queries")
    assert one["answered"] == 0 and one["lost"] == one["sent"] > 0 and one["connections"]["reset"] > 0, result
    bad = result.json["responder"]["protocols"][0]["dns"]["proxy_bad"]
    assert one["connections"]["reset"] == bad, (one, bad)


@test
def a_truncated_answer_is_asked_again_on_a_connection_with_a_header():
    dns = {"names": ["a.x A"], "proxy": {"clients": "192.0.2.0/24"}, "tc": "tcp"}
    text = ring(item(dns=dns, load={"rate": "400"}), responder={"dns": {"proxy": True}, "faults": {"tc": {"every": 2}}})
    result = ddiperf(text)
    one, there = result.item("queries"), result.json["responder"]["protocols"][0]["dns"]
    assert one["dns"]["tc_asked_again"] > 30 and there["proxy_bad"] == 0, result
    assert there["proxied"] == one["sent"] + one["dns"]["tc_asked_again"], result


main()
