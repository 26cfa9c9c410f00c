#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# DHCPv4 clients against a responder that misbehaves on demand: each fault, of the wire and of DHCP, lands in its cells of the
# ledger, in its counter and in its step, to the last packet.

import json
import struct
import tempfile
from pathlib import Path

from dhcp4 import RELAYS, SERVER, answers, check_agreement, clients, of_clients, run, steps
from harness import ddiperf, main, test
from loop import RELAXED, SERVER_MAC, arp_reply, fold, parse_udp, pcap_read, pcap_write

RELAY = {**RELAYS, "circuit_id": "port {client}"}
TOTAL, EVERY = 650, 13  # fifty of the offers, which are all on their way at once
HIT = TOTAL // EVERY
CELLS = ("failed", "lost", "late", "duplicate", "stray", "malformed")
# What each fault of an OFFER does: cells of the ledger, and the counter of the check that finds it.
OFFERS = {
    "loss": (("lost",), None),
    "duplicate": (("duplicate",), None),
    "reorder": ((), None),
    "corrupt": ((), None),  # the byte in the middle is of the boot file name, which clients without one ignore
    "corrupt_checksum": (("lost",), None),
    "truncate": (("lost", "malformed"), None),
    "wrong_port": ((), "other_source"),  # a reply is known by what is in it
    "wrong_address": ((), "other_source"),
    "no_offer": (("lost",), None),
    "wrong_xid": (("lost", "stray"), None),
    "wrong_chaddr": (("lost", "stray"), "chaddr_wrong"),
    "no_server_id": (("failed",), "server_id_missing"),
    "no_lease_time": (("failed",), "lease_time_missing"),
    "relay_info_missing": (("failed",), "relay_info_wrong"),
    "relay_info_changed": (("failed",), "relay_info_wrong"),
    "unsolicited": (("stray",), None),
}
# The same of an ACK, when each fault befalls an ACK only: (fault, cells, counter).
ACKS = (
    ("nak", ("failed",), "nak"),
    ("other_address", ("failed",), "address_changed"),
    ("no_server_id", ("failed",), "server_id_missing"),
    ("no_lease_time", ("failed",), "lease_time_missing"),
    ("relay_info_changed", ("failed",), "relay_info_wrong"),
    ("duplicate", ("duplicate",), None),
)
CHECKS = (
    "other_source", "way_wrong", "vlan_wrong", "op_wrong", "xid_wrong", "chaddr_wrong", "type_wrong", "nak", "lease_unknown", "server_id_missing",
    "server_id_changed", "client_id_wrong", "relay_info_wrong", "address_missing", "address_changed",
    "outside_pool", "lease_time_missing", "times_wrong", "rapid_commit_missing", "duplicate_address",
)


def faulty(load, every, responder=None, **dhcp4):
    """A run with each fault of {name: N} at every N-th answer."""
    faults = {name: {"every": n} for name, n in every.items()}
    result = run(clients(load=load, keys={"timeout": "200ms"}, **{"relay": RELAY, **dhcp4}),
                 responder=answers(faults, **(responder or {})))
    return result


def check_cells(result, fault, hits, cells, counter):
    """So many hits in these cells and in this counter, and nothing in any other."""
    one = of_clients(result)
    assert result.json["responder"]["faults"] == {fault: hits}, result.json["responder"]
    assert {cell: one[cell] for cell in CELLS} == {cell: hits if cell in cells else 0 for cell in CELLS}, one
    assert one["answered"] == one["sent"] - one["lost"] - one["failed"], one
    seen = {name: one["dhcp4"][name] for name in CHECKS if one["dhcp4"][name]}
    assert seen == ({counter: hits} if counter else {}), seen
    assert result.json["ports"][0]["other"]["bad_checksum"] == (hits if fault == "corrupt_checksum" else 0), result
    check_agreement(result, faultless=False)


def offers_with(fault, cells, counter):
    def offers():
        result = faulty({"outstanding": 64, "total": TOTAL}, {fault: EVERY}, exchange="discover")
        check_cells(result, fault, HIT, cells, counter)
        assert steps(of_clients(result)).keys() == {"discover-offer"}, result
    offers.__name__ = f"offers_with_the_fault_{fault}_land_in_their_cells_to_the_last_packet"
    return test(offers)


for name, (where, check) in OFFERS.items():
    offers_with(name, where, check)


@test
def a_server_that_answers_from_another_address_is_named_with_both():
    for fault, came, asked in (("wrong_port", "198.18.0.2 port 66", "198.18.0.2 port 67"), ("wrong_address", "198.18.0.66", "198.18.0.2")):
        result = faulty({"outstanding": 1, "total": 10}, {fault: 1})
        one = of_clients(result)
        assert one["answered"] == one["sent"] == 10 and one["stray"] == 0 and one["dhcp4"]["other_source"] == 20, one
        assert f"clients: 20 replies came from {came}; the server asked is {asked}: they count" in result.stdout, result


@test
def replies_that_are_dropped_for_one_reason_say_so():
    result = faulty({"outstanding": 1, "total": 10}, {"wrong_chaddr": 1}, exchange="discover")
    assert of_clients(result)["lost"] == of_clients(result)["stray"] == 10, result
    assert "clients: 10 replies were dropped (dhcp4.chaddr_wrong): for another hardware address" in result.stdout, result


@test
def acks_with_each_fault_fail_in_their_step_and_by_their_check():
    for fault, cells, counter in ACKS:
        result = faulty({"outstanding": 1, "total": 15}, {fault: 10})
        # One after the other: every tenth answer is the ACK of every fifth exchange.
        check_cells(result, fault, 3, cells, counter)
        first, second = (steps(of_clients(result))[name] for name in ("discover-offer", "request-ack"))
        assert first["answered"] == second["sent"] == 15 and second["answered"] == 15 - 3 * ("failed" in cells)
        assert of_clients(result)["dhcp4"]["leases"] == second["answered"], of_clients(result)


@test
def a_lost_ack_leaves_no_lease_and_the_next_try_gets_the_same_address():
    result = faulty({"outstanding": 1, "total": 19}, {"loss": 10}, clients=16, responder={"pool": ["10.0.0.0/28"]})
    one = of_clients(result)
    assert (one["answered"], one["lost"], one["dhcp4"]["leases"]) == (16, 3, 16), one
    # The three that were not told ask again, and nobody else has got what was theirs.
    assert one["dhcp4"]["duplicate_address"] == one["dhcp4"]["nak"] == 0, one
    theirs = result.json["responder"]["protocols"][0]["dhcp4"]
    assert theirs["pool_full"] == 0 and one["dhcp4"]["no_free_client"] == 0, theirs


@test
def an_address_that_is_given_twice_is_found_and_both_clients_are_named():
    result = run(clients(load={"outstanding": 1, "total": 60}), responder=answers(address_twice=10))
    one = of_clients(result)
    assert result.json["responder"]["protocols"][0]["dhcp4"]["address_twice"] == 6, result.json["responder"]
    assert (one["failed"], one["dhcp4"]["duplicate_address"], one["dhcp4"]["leases"]) == (6, 6, 54), one
    assert "10.0.0.8 was given to client 9 (02:00:00:00:00:09) while client 8 (02:00:00:00:00:08) held it" in result.stderr, result
    assert result.stderr.count(" was given to client ") == 6, result


@test
def an_address_that_is_given_to_clients_of_two_items_is_found():
    def item(name, mac):
        return clients(name, load={"outstanding": 1, "total": 60}, mac=mac)

    result = run(item("these", "02:00:00:00:00:00"), item("those", "02:00:01:00:00:00"), responder=answers(address_twice=5))
    given = result.json["responder"]["protocols"][0]["dhcp4"]["address_twice"]
    both = [result.item(name) for name in ("these", "those")]
    assert given == 24 == sum(one["dhcp4"]["duplicate_address"] for one in both) == sum(one["failed"] for one in both), both
    assert sum(one["dhcp4"]["leases"] for one in both) == 96, both
    clashes = [line for line in result.stderr.splitlines() if " was given to client " in line]
    across = [line for line in clashes if " of these held it" in line or " of those held it" in line]
    assert across and len(clashes) <= 16, result.stderr


@test
def items_with_the_same_clients_are_given_the_same_addresses_and_that_is_right():
    def item(name):
        return clients(name, load={"outstanding": 1, "total": 60}, clients=60)

    result = run(item("these"), item("those"))
    assert all(result.item(name)["answered"] == 60 for name in ("these", "those")), result.json["traffic"]
    assert all(result.item(name)["dhcp4"]["duplicate_address"] == 0 for name in ("these", "those")), result.json["traffic"]


def frame(payload, vlans):
    """An answer of the server to everybody, on these VLANs."""
    udp = struct.pack("!HHHH", 67, 68, 8 + len(payload), 0) + payload
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0) + bytes(map(int, SERVER.split("."))) + b"\xff" * 4
    ip = ip[:10] + struct.pack("!H", 0xFFFF - fold(ip)) + ip[12:]
    tags = b"".join(struct.pack("!HH", 0x8100 if tag == vlans[-1] else 0x88A8, tag) for tag in vlans)
    return b"\xff" * 6 + SERVER_MAC + tags + b"\x08\x00" + ip + udp


def offer_to(discover):
    """An OFFER that is right but for where it goes."""
    header = b"\2" + discover[1:16] + bytes([10, 0, 0, 1]) + discover[20:240]
    server = bytes(map(int, SERVER.split(".")))
    return header + b"\x35\1\2\x36\4" + server + b"\x33\4\0\0\x0e\x10\xff" + bytes(40)


@test
def an_answer_on_the_vlan_of_another_client_is_dropped():
    def ask(folder, frames):
        (folder / "in.pcap").write_bytes(pcap_write(frames))
        one = clients(load={"outstanding": 1, "total": 1}, relay=None, exchange="discover", clients=2, client_id="none",
                      vlans=[{"clients": "0-0", "vlans": [100]}, {"clients": "1-1", "vlans": [200]}], keys={"timeout": "200ms"})
        port = {"name": "file", "driver": "pcap", "rx_file": str(folder / "in.pcap"), "tx_file": str(folder / "out.pcap"),
                "addresses": ["198.18.0.1/24"], "vlans": [5], "burst": 1}
        return of_clients(ddiperf(json.dumps({
            "run": {"warmup": "0s", "duration": "10s"}, "ports": [port], "traffic": [one], "validity": RELAXED})))

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        assert ask(folder, [arp_reply()])["lost"] == 1
        asked, = (parse_udp(sent) for sent in pcap_read(folder / "out.pcap"))
        offer = offer_to(asked.payload)
        # Before it asks, it reads on for 20 ms: most of what it reads then is short.
        filler = [arp_reply(vlans=(5,))] * 9
        one = ask(folder, [*filler, frame(offer, (5, 200))] * 25_000)
        assert one["lost"] == 1 and one["answered"] == 0 and one["stray"] >= one["dhcp4"]["vlan_wrong"] > 0, one
        one = ask(folder, [*filler, frame(offer, (5, 100))] * 25_000)
        assert one["answered"] == 1 and one["dhcp4"]["vlan_wrong"] == 0, one


@test
def an_address_outside_the_expected_pool_has_failed():
    result = run(clients(load={"outstanding": 16, "total": 100}, clients=16, expect={"pool": ["10.1.0.0/24"]}))
    one = of_clients(result)
    assert one["failed"] == one["dhcp4"]["outside_pool"] == 100 and steps(one).keys() == {"discover-offer"}, one


@test
def a_renewal_that_gets_another_address_has_failed_and_keeps_its_lease():
    mix = {"dora": "50%", "renew": "50%"}
    result = faulty({"outstanding": 1, "total": 200}, {"other_address": 6}, mix=mix)
    one, n = of_clients(result), of_clients(result)["dhcp4"]
    assert one["failed"] == n["address_changed"] == result.json["responder"]["faults"]["other_address"] > 0, one
    renewals = steps(one)["renew-ack"]
    assert renewals["failed"] > 0 and n["renewed"] == renewals["answered"], one
    assert n["no_bound_client"] <= 2 and n["expired"] == 0, n


@test
def times_that_are_not_in_order_have_failed():
    result = run(clients(load={"outstanding": 16, "total": 100}, clients=16),
                 responder=answers(lease_time="10s", t1="5s", t2="10s"))
    assert of_clients(result)["dhcp4"]["times_wrong"] == of_clients(result)["failed"] == 100, of_clients(result)


@test
def all_faults_at_once_land_in_their_cells():
    every = {name: 101 + 7 * n for n, name in enumerate(OFFERS)}

    result = faulty({"outstanding": 128, "total": 5000}, every, exchange="discover")
    one, done = of_clients(result), result.json["responder"]["faults"]
    assert set(done) == set(OFFERS), done
    for cell in CELLS:
        assert one[cell] == sum(done[name] for name, (cells, _) in OFFERS.items() if cell in cells), (cell, one, done)
    for counter in {counter for _, counter in OFFERS.values() if counter}:
        assert one["dhcp4"][counter] == sum(done[name] for name, (_, c) in OFFERS.items() if c == counter), (counter, one)


@test
def in_whole_exchanges_every_loss_is_of_its_step():
    result = faulty({"outstanding": 128, "total": 600}, {"loss": 7})
    one, done = of_clients(result), result.json["responder"]["faults"]["loss"]
    first, second = (steps(one)[name] for name in ("discover-offer", "request-ack"))
    assert one["lost"] == first["lost"] + second["lost"] == done, (one, done)
    # Each offer that was not lost brought a REQUEST, and every seventh answer of all was lost.
    assert second["sent"] == 600 - first["lost"] and done == (600 + second["sent"]) // 7, (first, second, done)
    assert one["dhcp4"]["leases"] == second["answered"] == one["answered"], one


main()
