#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# DHCPv6 clients and relays that ask one server by its address: lease queries (RFC 5007), and messages after the server has
# told the address (RFC 8415 section 18.4).

from harness import check_ledger, main, nightly, test
from live import SERVER, config, lab

COUNT = 40
LOAD = {"rate": COUNT, "total": COUNT}  # a number: a tester that is away at the end of a time leaves messages unsent
PORT = {"addresses": ["2001:db8::1/64", "2001:db8:40::1/64"]}
RELAY = {"addresses": ["2001:db8:40::100"]}


def asking(query, mac, **settings):
    """Half of the exchanges of the item are lease queries."""
    return {"name": query, "server": SERVER[6], "timeout": "2s", "load": LOAD, "dhcp6": {
        "clients": COUNT, "mac": mac, "query": query, "mix": {"sarr": "50%", "leasequery": "50%"}, "relay": RELAY, **settings}}


def run(server, *items):
    """The counters of the items by name, and by how much the server's counters have grown."""
    here = lab(server)
    before = here.stats()
    result = here.ddiperf(config("af_packet", *items, run={"duration": "20s"}, port=PORT))
    assert result.json, result
    for one in result.json["traffic"]:
        check_ledger(one)
        assert one["lost"] == 0, one
    after = here.stats()
    return {one["name"]: one for one in result.json["traffic"]}, {name: after[name] - before.get(name, 0) for name in after}


@test
def dhcpd6_answers_lease_queries_about_addresses_and_knows_no_other_type():
    items, grown = run("dhcpd6", asking("address", "02:0f:05:00:00:00", lease="both"), asking("client_id", "02:0f:06:00:00:00"))
    asked = {name: one["dhcp6"]["sent"]["LEASEQUERY"] for name, one in items.items()}
    assert items["address"]["failed"] == 0 and asked["address"] == asked["client_id"] == COUNT / 2, items
    assert grown["leasequery"] == grown["leasequery-reply"] == COUNT and grown["addresses"] == COUNT, grown
    refused = items["client_id"]
    assert refused["failed"] == refused["dhcp6"]["message_status"]["UnknownQueryType"] == COUNT / 2, refused
    assert refused["dhcp6"]["leases"] == COUNT / 2, refused


@test
def dibbler6_answers_lease_queries_about_clients():
    relay = {**RELAY, "interface_id": "port"}
    items, grown = run("dibbler6", asking("client_id", "02:0f:08:00:00:00", relay=relay), asking("address", "02:0f:09:00:00:00", relay=relay))
    sent = sum(one["dhcp6"]["sent"]["LEASEQUERY"] for one in items.values())
    assert all(one["failed"] == 0 for one in items.values()) and sent > COUNT / 2, items
    # It sends each answer twice.
    assert sum(one["duplicate"] for one in items.values()) == grown["lease-query-reply"] - sent == grown["lease-query"] == sent, (items, grown)
    assert grown["addresses"] == sum(one["dhcp6"]["leases"] for one in items.values()), grown


def told(server):
    """The server has told its address, and takes the messages there."""
    one = {"name": "told", "server": SERVER[6], "timeout": "2s", "load": LOAD, "dhcp6": {
        "clients": COUNT, "mac": "02:0f:07:00:00:00", "unicast": True, "mix": {"sarr": "40%", "renew": "30%", "release": "20%", "decline": "10%"}}}
    items, grown = run(server, one)
    n = items["told"]["dhcp6"]
    kinds = ("REQUEST", "RENEW", "RELEASE", "DECLINE")
    assert n["unicast"] == sum(n["sent"][kind] for kind in kinds) > COUNT / 2 and items["told"]["failed"] == 0, n
    assert all(grown[kind.lower()] == n["sent"][kind] for kind in kinds), (grown, n)


@test
def kea6_is_asked_at_the_address_that_it_told():
    told("kea6")


@nightly
def dhcpd6_is_asked_at_the_address_that_it_told():
    told("dhcpd6")


main()
