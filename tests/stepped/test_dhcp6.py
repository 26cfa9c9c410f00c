#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# DHCPv6 clients against the embedded responder: every exchange in each topology, each fault in its cell and counter, what the
# messages look like to another program, bad input.

import shutil
import tempfile
from pathlib import Path

from dhcp4 import clients as clients4
from dhcp6 import (
    LENGTH, RELAYS, answers, check_agreement, clients, family, lines, of_clients, run, served, steps, total,
)
from harness import EXIT, ddiperf, execute, main, skip, test

LIFE = {
    "sarr": "32%", "solicit": "6%", "rapid": "8%", "renew": "10%", "rebind": "10%", "release": "10%", "decline": "6%", "confirm": "8%",
    "information": "10%",
}
MANY = {"outstanding": 16, "total": 600}
OTHERS = "02:01:00:00:00:00"
RELAY = {**RELAYS, "interface_id": "port {client}"}


def check_life(one):
    n, did = one["dhcp6"], {name: step["answered"] for name, step in steps(one).items()}
    assert len(did) == 9 and all(did.values()), did
    assert n["leases"] == did["request-reply"] + did["solicit-reply"] == n["addresses"] == n["prefixes"], one
    assert n["renewed"] == did["renew-reply"] + did["rebind-reply"] and n["confirmed"] == did["confirm-reply"], one
    assert n["released"] == did["release-reply"] and n["declined"] == did["decline-reply"], one
    assert n["rapid_fallback"] == n["expired"] == n["parameters_missing"] == n["duplicate_address"] == n["duplicate_prefix"] == 0, one


@test
def every_exchange_behind_relays_and_on_the_link_is_answered_and_counted_alike_on_both_sides():
    result = served(clients("relayed", load=MANY, mix=LIFE, relay={**RELAY, "levels": 3}),
                    clients("direct", load=MANY, mix=LIFE, relay=None, mac=OTHERS))
    for one in result.json["traffic"]:
        check_life(one)


@test
def addresses_and_prefixes_alone_and_several_of_them():
    for what, addresses, prefixes in (({"lease": "address"}, 1, 0), ({"lease": "address", "temporary": True}, 1, 0), ({"lease": "prefix", "prefix_hint": LENGTH}, 0, 1),
                                      ({"addresses": 3, "prefixes": 2}, 3, 2)):
        n = of_clients(served(clients(load={"outstanding": 16, "total": 50}, **what)))["dhcp6"]
        assert (n["leases"], n["addresses"], n["prefixes"]) == (50, 50 * addresses, 50 * prefixes), n


@test
def each_topology_and_identity_is_answered():
    load = {"outstanding": 8, "total": 20}
    for what in ({"relay": {**RELAY, "levels": 8, "client_mac": True, "remote_id": "r", "subscriber_id": "{mac}"}},
                 {"relay": {**RELAY, "levels": 2, "ldra": True}}, {"relay": {**RELAYS, "port": 1547}},
                 {"relay": {**RELAYS, "port": 1547, "source_port": False}},
                 {"to": "all"}, {"to": "servers"}, {"duid": "llt"}, {"duid": "en"}, {"duid": "uuid"},
                 {"duid": "hex", "duid_hex": "00ff {client:4} {random:40}"}):
        one = of_clients(served(clients(load=load, **what)))
        assert one["dhcp6"]["leases"] == 20, (what, one)


@test
def duids_of_a_file_are_those_of_the_clients():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "duids.txt"
        lines = ["# of different lengths", *(f"00:04:{i:02x}" + "ab" * (i * 6) for i in range(20)), ""]
        path.write_text("\n".join(lines))
        what = {"duid": "file", "duid_file": str(path), "clients": 20}
        one = of_clients(served(clients(load={"outstanding": 8, "total": 20}, **what)))
        assert one["dhcp6"]["leases"] == 20, one
        for wrong, words in (
            (lines[:5], "4 DUIDs for 20 clients"), ([*lines[:20], lines[1]], "twice (000400...)"), (["00:0g:01"], "duids.txt:1:1: \"00:0g:01\": not pairs of hex digits"),
            (["0001"], "shorter than 3 bytes"), (["00" * 131], "longer than 130 bytes"), (None, "No such file"),
        ):
            path.write_text("\n".join(wrong)) if wrong else path.unlink()
            text = GOOD.replace(CLIENTS, f"clients: 20\n      duid: file\n      duid_file: {path}")
            result = ddiperf(text, command="check")
            assert result.code == EXIT["usage"] and words in result.stderr, (wrong, result)


@test
def clients_on_vlans_of_their_own_and_with_macs_of_a_file_are_answered_there():
    load, vlans = {"outstanding": 16, "total": 200}, [{"clients": "0-49", "vlans": [100]}, {"clients": "50-99", "vlans": [200, 7]}]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "macs.txt"
        path.write_text("".join(f"02:05:00:00:{i:02x}:77\n" for i in range(200)))
        result = served(clients("relayed", load=load, clients=200, vlans=vlans, mix={"renew": "30%"}),
                        clients("direct", load=load, clients=200, vlans=vlans, mix={"renew": "30%"}, relay=None, mac_file=str(path)))
    assert all(one["dhcp6"]["vlan_wrong"] == 0 for one in result.json["traffic"]), result


@test
def a_later_run_renews_and_releases_what_an_earlier_one_got():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "leases.csv"
        served(clients(load={"outstanding": 16, "total": 100}, clients=100, leases={"save": str(path)}))
        rows = lines(path)
        assert sorted(int(row[0]) for row in rows) == sorted([*range(100)] * 2) and len({row[2] for row in rows}) == 200, rows[:3]
        assert all(row[1] == f"02:00:00:00:00:{int(row[0]):02x}" and len(row) == 5 for row in rows), rows[:3]
        kept = {"leases": {"load": str(path), "save": str(path)}, "clients": 100}
        one = of_clients(served(clients(exchange="renew", **kept), responder=answers(authoritative=True)))
        assert one["dhcp6"]["renewed"] == 400 and one["dhcp6"]["leases"] == one["dhcp6"]["address_changed"] == 0, one
        assert {tuple(row[:4]) for row in lines(path)} == {tuple(row[:4]) for row in rows}
        run(clients(exchange="release", load={"outstanding": 1, "total": 60}, **kept))
        assert len(lines(path)) == 80


@test
def a_server_without_rapid_commit_is_asked_in_four_messages():
    n = of_clients(served(clients(load={"outstanding": 8, "total": 20}, exchange="rapid"), responder=answers(rapid=False)))["dhcp6"]
    assert n["rapid_fallback"] == n["leases"] == 20, n


@test
def both_families_share_a_port_and_keep_their_books_apart():
    result = served(clients(load=MANY), clients("on_link", load=MANY, relay=None, mac=OTHERS), clients4("four", load=MANY),
                    responder={**answers(), "dhcp4": {"pool": ["10.0.0.0/16"], "server_id": "198.18.0.2"}})
    assert result.item("four")["dhcp4"]["leases"] == of_clients(result)["dhcp6"]["leases"] == 600, result


@test
def what_is_not_answered_is_asked_again_until_it_is_lost():
    tries = {"irt": "100ms", "mrc": 3}

    result = run(clients(load={"outstanding": 10, "total": 10}, exchange="solicit", retransmit={"solicit": tries}),
                 responder=answers({"loss": {"every": 1}}))
    one, n = of_clients(result), of_clients(result)["dhcp6"]
    assert one["lost"] == 10 and n["retransmitted"] == 20 and n["sent"] == {"SOLICIT": 30} and n["attempt"] == {}, one

    # As by RFC 8415, with a try less: 1, 2, 4 and 8 s, which the drain waits for.
    result = run(clients(load={"rate": 10}, exchange="solicit", retransmit={}), duration="1s", responder=answers({"loss": {"every": 1}}))
    one, n = of_clients(result), of_clients(result)["dhcp6"]
    assert (one["sent"], one["lost"], one["in_flight"], n["retransmitted"]) == (10, 10, 0, 30), one

    result = run(clients(load={"outstanding": 1, "total": 6}, retransmit={"request": tries, "solicit": tries}),
                 responder=answers({"loss": {"every": 3}}))
    one, n = of_clients(result), of_clients(result)["dhcp6"]
    assert one["answered"] == n["leases"] == 6 and n["retransmitted"] == 5 == n["attempt"]["2"], one


@test
def a_client_rests_after_a_decline():
    assert family.seconds_of_declines("sarr", decline_rest="150ms") > 0.3


@test
def the_best_advertise_is_waited_for_unless_its_preference_is_255():
    tries = {"irt": "150ms", "mrc": 1}

    def waits(is_waited, exchange, step, messages, **responder):
        result = run(clients(load={"outstanding": 20, "total": 20}, exchange=exchange, advertise="best", retransmit={
            "rand": "0%", "solicit": tries, "request": tries}), responder=answers(**responder))
        one = of_clients(result)
        assert one["answered"] == 20 and one["duplicate"] == one["dhcp6"]["retransmitted"] == 0, one
        assert total(one["dhcp6"]["attempt"]) == messages, one
        median = steps(one)[step]["latency"]["response"]["p50_ns"]
        assert median > 145e6 or not is_waited, one
        assert is_waited or median < 145e6, one

    waits(True, "sarr", "solicit-advertise", 40)
    waits(False, "sarr", "solicit-advertise", 40, preference=255)
    waits(False, "rapid", "solicit-reply", 20)


# --- faults -----------------------------------------------------------------------------------------------

CELLS = ("failed", "lost", "late", "duplicate", "stray", "malformed")
CHECKS = (
    "other_source", "way_wrong", "xid_wrong", "duid_wrong", "type_wrong", "levels_wrong", "interface_id_wrong", "server_id_missing", "server_id_changed",
    "refused", "ia_missing", "lease_missing", "times_wrong", "lifetimes_wrong", "address_changed", "prefix_changed", "outside_pool",
    "outside_prefixes", "prefix_length_wrong", "rapid_commit_missing", "duplicate_address", "duplicate_prefix",
)
# The second of two answers, each to a SOLICIT: cells of the ledger, and the counter of the check that finds it.
ADVERTISES = {
    "loss": (("lost",), None), "duplicate": (("duplicate",), None), "no_advertise": (("lost",), None),
    "no_addrs_avail": (("failed",), "refused"), "no_prefix_avail": (("failed",), "refused"), "unspec_fail": (("failed",), "refused"),
    "lease_status": (("failed",), "refused"), "missing_ia": (("failed",), "ia_missing"),
    "prefix_overlap": (("failed",), "prefix_length_wrong"), "wrong_lifetimes": (("failed",), "lifetimes_wrong"),
    "wrong_times": (("failed",), "times_wrong"), "wrong_xid": (("lost", "stray"), None),
    "wrong_duid": (("lost", "stray"), "duid_wrong"), "no_client_id": (("lost", "stray"), "duid_wrong"),
    "no_server_id": (("failed",), "server_id_missing"), "interface_id_missing": (("failed",), "interface_id_wrong"),
    "interface_id_changed": (("failed",), "interface_id_wrong"), "wrong_port": ((), "other_source"),
}
# The same of answers to a RENEW.
REPLIES = {
    "no_binding": "refused", "use_multicast": "refused", "other_address": "address_changed",
}


def faulty(fault, **what):
    result = run(clients(load={"outstanding": 1, "total": 8}, relay=RELAY, keys={"timeout": "300ms"}, **what),
                 responder=answers({fault: {"every": 4}}))
    return result


@test
def each_fault_of_an_advertise_lands_in_its_cells_and_its_counter():
    for fault, (cells, counter) in ADVERTISES.items():
        result = faulty(fault, exchange="solicit")
        one = of_clients(result)
        assert result.json["responder"]["faults"] == {fault: 2}, (fault, result.json["responder"])
        assert {cell: one[cell] for cell in CELLS} == {cell: 2 if cell in cells else 0 for cell in CELLS}, (fault, one)
        assert {name: one["dhcp6"][name] for name in CHECKS if one["dhcp6"][name]} == ({counter: 2} if counter else {}), (fault, one)
        check_agreement(result, faultless=False)


@test
def each_fault_of_a_reply_fails_by_its_check():
    for fault, counter in REPLIES.items():
        one = of_clients(faulty(fault, exchange="sarr"))
        assert one["failed"] == one["dhcp6"][counter] == 4 and one["dhcp6"]["leases"] == 4, (fault, one)
    one = of_clients(faulty("no_rapid_commit", exchange="rapid"))
    assert one["failed"] == one["dhcp6"]["rapid_commit_missing"] == 2, one


@test
def a_wrong_relay_message_has_failed_by_one_of_its_fields():
    one = of_clients(faulty("wrong_relay", exchange="solicit"))
    n = one["dhcp6"]
    assert one["failed"] == n["hop_count_wrong"] + n["link_wrong"] + n["peer_wrong"] == 2, one


@test
def statuses_are_counted_by_name_and_said_at_the_end():
    result = faulty("no_addrs_avail", exchange="solicit")
    assert of_clients(result)["dhcp6"]["ia_status"] == {"NoAddrsAvail": 2}, of_clients(result)
    assert "2 refusals with status 2 (NoAddrsAvail)" in result.stderr, result.stderr


@test
def what_is_given_twice_is_found_and_both_clients_are_named():
    for kind, key in (("address", "address_twice"), ("prefix", "prefix_twice")):
        result = run(clients(load={"outstanding": 1, "total": 40}, lease=kind), responder=answers(**{key: 10}))
        one = of_clients(result)
        given = result.json["responder"]["protocols"][0]["dhcp6"][key]
        assert given == 4 == one["failed"] == one["dhcp6"]["duplicate_" + kind], (one, result.json["responder"])
        assert result.stderr.count(" was given to client ") == 4 and "02:00:00:00:00:" in result.stderr, result.stderr


@test
def leases_of_two_items_are_watched_together():
    def half(name, mac):
        return clients(name, load={"outstanding": 1, "total": 30}, mac=mac, lease="address")

    result = run(half("these", "02:00:00:00:00:00"), half("those", "02:00:01:00:00:00"), responder=answers(address_twice=5))
    given = result.json["responder"]["protocols"][0]["dhcp6"]["address_twice"]
    assert given == 12 == sum(one["failed"] for one in result.json["traffic"]), result.json["traffic"]
    result = run(*(clients(name, load={"outstanding": 1, "total": 30}, clients=30) for name in ("these", "those")))
    assert all(one["answered"] == 30 and one["dhcp6"]["duplicate_address"] == 0 for one in result.json["traffic"]), result


@test
def leases_outside_of_what_is_expected_have_failed():
    for what, counter in (({"pool": ["2001:db8:0:2::/64"]}, "outside_pool"), ({"prefixes": ["2001:db8::/33"]}, "outside_prefixes"),
                          ({"prefix_length": 60}, "prefix_length_wrong")):
        one = of_clients(run(clients(load={"outstanding": 4, "total": 10}, clients=10, expect=what)))
        assert one["failed"] == one["dhcp6"][counter] == 10, one


# --- packets ----------------------------------------------------------------------------------------------

COMPLAINTS = ("Malformed", "malformed", "Severity level: Error", "Severity level: Warning", "[incorrect", "Unreassembled")
FULL = {
    "options": [{"code": 1000, "text": "x{client}"}, {"code": 1001, "in": "ia_na", "hex": "{mac}"}, {"code": 20, "hex": ""}],
    "fqdn": {"name": "c{client}.example.com"}, "user_class": "user", "vendor_class": {"enterprise": 9, "text": "vendor"}, "prefix_hint": 60,
}


@test
def another_program_finds_nothing_malformed_in_any_message():
    if not shutil.which("tshark"):
        skip("tshark is not installed: scripts/deps install test")
    many = {"outstanding": 16, "total": 120}
    capture = {"file": "all.pcap", "when": ["failed"], "limit": 500}
    mix = {key: value for key, value in LIFE.items()}
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "all.pcap")
        # Everything fails, as the REPLY to each message is of another status, so each message is kept.
        items = (clients("relayed", load=many, mix=mix, **FULL, relay={**RELAY, "levels": 2, "client_mac": True, "remote_id": "r"}),
                 clients("direct", load=many, mix=mix, relay=None, mac=OTHERS, **FULL))
        run(*items, responder=answers({"unspec_fail": {"every": 3}}), output={"capture": {**capture, "file": out}})
        code, text, err = execute(["tshark", "-r", out, "-V", "-o", "udp.check_checksum:TRUE"])
        assert code == 0, err
        for word in COMPLAINTS:
            assert word not in text, next(line for line in text.splitlines() if word in line)
        code, text, err = execute(["tshark", "-r", out, "-T", "fields", "-e", "dhcpv6.msgtype"])
        kinds = {kind for line in text.split() for kind in line.split(",")}
        assert {"1", "2", "7", "12", "13"} <= kinds, kinds


# --- bad input --------------------------------------------------------------------------------------------

GOOD = """run: {warmup: 0s, duration: 200ms}
ports:
  - {name: tester, driver: ring, device: dut, addresses: ["2001:db8::1/64"]}
  - {name: dut, driver: ring, device: tester, addresses: ["2001:db8::2/64"]}
traffic:
  - name: clients
    port: tester
    server: "2001:db8::2"
    load: {rate: 1k}
    dhcp6:
      exchange: sarr
      clients: 1000
      lease: both
      relay: {addresses: ["2001:db8::100"], levels: 2}
      options: [{code: 1000, text: a}]
responder: {port: dut, dhcp6: {pool: "2001:db8:0:1::/64", prefixes: "2001:db8:8000::/33", prefix_length: 56}}
"""
CLIENTS = "clients: 1000"


main()
