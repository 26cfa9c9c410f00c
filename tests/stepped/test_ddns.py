#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# DNS records that follow leases (after, ddns) against the responder's zone, into which another item of the same file
# puts them with updates: the delay that is set is measured, and each record that never comes, or is another client's, or
# stays, is counted.

import base64
import hashlib
import struct
import tempfile

import dhcp4
import dhcp6
from dhcp import of_clients
from harness import check_ledger, ddiperf, main, test
from loop import item, ring

CLIENTS, RATE, DELAY_MS, EVERY_MS = 60, 200, 300, 20
HEAD = """$TTL 300
@ SOA ns.example.com. hostmaster.example.com. 10 3600 900 604800 60
@ NS ns.example.com.
"""
ZONES = {"example.com": "$ORIGIN example.com.\n" + HEAD, "reverse": "$ORIGIN 10.in-addr.arpa.\n" + HEAD,
         "reverse6": "$ORIGIN 8.b.d.0.1.0.0.2.ip6.arpa.\n" + HEAD}
LAW = ("leased", "released"), ("visible", "wrong", "never", "gone", "stayed", "overtaken", "unfinished")


def follower(after=None, **ddns):
    return {"name": "records", "server": "198.18.0.2", "after": {"item": "clients", **(after or {})},
            "ddns": {"name": "host-{client}.example.com", "every": f"{EVERY_MS}ms", "within": "700ms", **ddns}}


def updates(texts, start_ms=0):
    """One update after the other, as fast as leases are given."""
    return item("updates", load={"rate": str(RATE), "total": str(len(texts)), "start_at": f"{start_ms}ms"},
                dns={"update": texts})


def text(name, kind, data, verb="add"):
    zone = "example.com" if name.endswith("example.com.") else "10.in-addr.arpa"
    return f"{zone}\n{verb} {name} {'60 ' if verb == 'add' else ''}{kind} {data}"


def address(k, other=0):
    return text(f"host-{k}.example.com.", "A", f"10.0.0.{k + other}")


def pointer(k, owner=None):
    return text(f"{k}.0.0.10.in-addr.arpa.", "PTR", f"host-{k if owner is None else owner}.example.com.")


def follow(one, more=(), clients=None, zones=None, duration="4s", **responder):
    """The item that follows, of a run with leases for the clients in the order of their numbers."""
    leases = dhcp4.family.clients(clients=CLIENTS, load={"rate": str(RATE), "total": str(CLIENTS)}, **(clients or {}))
    answers = {**dhcp4.family.answers(pool=["10.0.0.0/24"], **responder),
               "dns": {"zone": ["example.com", "reverse"], "zone_room": "1MiB"}}
    result = ddiperf(ring(leases, *more, one, run={"duration": duration}, responder=answers), files={**ZONES, **(zones or {})})
    got = result.item("records")
    check_ledger(got)
    one = of_clients(result)
    assert one["answered"] + one["no_reply"] == CLIENTS, result
    n = got["ddns"]
    for kind in ("A", "AAAA", "PTR", "DHCID"):
        began, ended = (sum(n[name].get(kind, 0) for name in names) for names in LAW)
        assert began == ended, (kind, n)
    return got, n


def times(got):
    return {mark["name"]: mark["latency"] for mark in got["marks"]}


@test
def the_delay_that_was_set_is_the_delay_that_is_measured():
    got, n = follow(follower(records=["address"]), [updates([address(k) for k in range(CLIENTS)], DELAY_MS)])
    assert n["leased"] == n["visible"] == {"A": CLIENTS}, n
    # The first look that can see it is at most `every` late.
    seen = times(got)["A visible"]
    assert seen["count"] == CLIENTS and list(times(got)) == ["A visible"], got["marks"]
    assert DELAY_MS - 5 <= seen["p50_ns"] / 1e6 <= DELAY_MS + EVERY_MS + 5, seen
    # It is over when the last record is there.
    assert got["sending_s"] < 1.5, got


@test
def ten_thousand_leases_at_1k_per_second_are_followed_without_a_missed_one():
    count, zone = 10000, {"example.com": ZONES["example.com"]}
    leases = dhcp4.family.clients(clients=count, load={"rate": "1k", "total": str(count)})
    puts = item("updates", load={"rate": "1k", "total": str(count), "start_at": f"{DELAY_MS}ms"}, dns={
        "update": [text(f"host-{k}.example.com.", "A", f"10.0.{k >> 8}.{k & 255}") for k in range(count)]})
    result = ddiperf(
        ring(leases, puts, follower(records=["address"], within="5s"), run={"duration": "60s"}, responder={
            **dhcp4.family.answers(pool=["10.0.0.0/17"]), "dns": {"zone": "example.com", "zone_room": "16MiB"}}), files=zone)
    got = result.item("records")
    check_ledger(got)
    assert got["ddns"]["leased"] == got["ddns"]["visible"] == {"A": count} and got["ddns"]["beside"] == {}, got
    assert DELAY_MS - 5 <= times(got)["A visible"]["p50_ns"] / 1e6 <= DELAY_MS + EVERY_MS + 5, got["marks"]


@test
def each_record_that_never_comes_or_is_anothers_is_counted():
    there = [k for k in range(CLIENTS) if k % 6]
    texts = [address(k, other=100 if k % 6 == 1 else 0) for k in there]
    texts += [pointer(k, owner=k + 1 if k % 6 == 2 else None) for k in there]
    got, n = follow(follower(), [updates(texts)])
    tenth = CLIENTS // 6
    assert n["leased"] == {"A": CLIENTS, "PTR": CLIENTS}, n
    assert n["never"] == {"A": tenth, "PTR": tenth} and n["wrong"] == {"A": tenth, "PTR": tenth}, n
    assert n["visible"] == {"A": 4 * tenth, "PTR": 4 * tenth} and n["beside"] == n["unfinished"] == {}, n
    assert times(got)["PTR visible"]["count"] == 4 * tenth, got["marks"]


@test
def data_of_others_beside_the_clients_own_is_seen():
    _, n = follow(follower(records=["address"]), [updates([t for k in range(CLIENTS) for t in (address(k), address(k, 100))])])
    assert n["visible"] == {"A": CLIENTS} and n["wrong"] == n["never"] == {}, n
    _, n = follow(follower(records=["address"]), [updates([t for k in range(CLIENTS) for t in (address(k, 100), address(k))])])
    assert n["visible"] == n["beside"] == {"A": CLIENTS}, n


def dhcid(k):
    """RFC 4701 section 3.3, by the client identifier: Ethernet and the MAC."""
    name = b"".join(bytes([len(label)]) + label.encode() for label in (f"host-{k}", "example", "com")) + b"\0"
    identifier = bytes([1]) + bytes.fromhex("02") + struct.pack("!Q", k)[3:]
    return base64.b64encode(struct.pack("!HB", 1, 1) + hashlib.sha256(identifier + name).digest()).decode()


@test
def a_dhcid_is_that_of_the_client_or_anothers():
    texts = [text(f"host-{k}.example.com.", "DHCID", dhcid(k + (k % 3 == 0))) for k in range(CLIENTS)]
    _, n = follow(follower(records=["dhcid"]), [updates(texts)])
    assert n["wrong"] == {"DHCID": CLIENTS // 3} and n["visible"] == {"DHCID": CLIENTS - CLIENTS // 3}, n


@test
def the_name_is_that_of_the_fqdn_option():
    one = follower(records=["address"])
    del one["ddns"]["name"]
    zone = ZONES["example.com"] + "".join(f"pc{k} A 10.0.0.{k}\n" for k in range(CLIENTS))
    _, n = follow(one, clients={"fqdn": {"name": "PC{client}.example.com"}}, zones={"example.com": zone})
    assert n["visible"] == {"A": CLIENTS}, n


@test
def a_record_that_goes_is_seen_to_go_and_one_that_stays_is_counted():
    zone = {"example.com": ZONES["example.com"] + "".join(f"host-{k} A 10.0.0.{k}\n" for k in range(CLIENTS))}
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/leases.csv"
        follow(follower(records=["address"]), clients={"leases": {"save": file}}, zones=zone)
        texts = [text(f"host-{k}.example.com.", "A", f"10.0.0.{k}", "delete") for k in range(CLIENTS - 5)]
        got, n = follow(follower({"step": "release"}, records=["address"]), [updates(texts, DELAY_MS)], zones=zone,
                        clients={"leases": {"load": file}, "exchange": "release"})
    assert n["released"] == {"A": CLIENTS} and n["gone"] == {"A": CLIENTS - 5} and n["stayed"] == {"A": 5}, n
    gone = times(got)["A gone"]
    assert n["leased"] == {} and gone["count"] == CLIENTS - 5, got
    assert DELAY_MS - 5 <= gone["p50_ns"] / 1e6 <= DELAY_MS + EVERY_MS + 5, gone


@test
def what_is_waited_for_when_the_run_ends_is_counted():
    got, n = follow(follower(within="1m"), duration="600ms")
    assert n["leased"] == n["unfinished"] == {"A": CLIENTS, "PTR": CLIENTS} and "marks" not in got, n


@test
def clients_that_live_are_followed_from_lease_to_release_and_on():
    zone = ZONES["example.com"] + "".join(f"host-{k} A 10.0.0.{k}\n" for k in range(CLIENTS))
    leases = dhcp4.family.clients(clients=CLIENTS, life={"t1": "30m", "speed": 7200, "power_on": "10m", "release": "50%", "away": "5m"})
    del leases["load"]
    result = ddiperf(
        ring(leases, follower(records=["address"]), run={"duration": "1500ms"}, responder={
            **dhcp4.family.answers(pool=["10.0.0.0/24"], lease_time="1h"), "dns": {"zone": "zone"}}), files={"zone": zone})
    n = result.item("records")["ddns"]
    began, ended = (sum(n[name].get("A", 0) for name in names) for names in LAW)
    assert began == ended and n["visible"]["A"] >= CLIENTS and n["released"]["A"] > CLIENTS // 2, n
    assert n["overtaken"]["A"] > 0 and n["gone"] == {}, n  # the zone never changes


@test
def clients_of_dhcpv6_have_aaaa_records_and_their_pointers():
    leases = dhcp6.family.clients(clients=CLIENTS, load={"rate": str(RATE), "total": str(CLIENTS)})
    result = ddiperf(ring(leases, follower(), run={"duration": "3s"}, **dhcp6.family.ports, responder={
        **dhcp6.family.answers(), "dns": {"zone": "example.com", "address6": "2001:db8::5"}}), files=ZONES)
    n = result.item("records")["ddns"]
    assert n["leased"] == n["never"] == {"AAAA": CLIENTS, "PTR": CLIENTS}, n


main()
