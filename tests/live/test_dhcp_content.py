#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# What DHCP clients put into their messages, as real servers take it: INFORM without a lease, and lease queries of each kind.
# The argument chooses a server.

from harness import check_ledger, main, test
from live import DHCP_PORT, config, lab, leases

COUNT = 40


def run(server, *items):
    """The result, and by how much the server's counters have grown."""
    here = lab(server)
    before = here.stats()
    result = here.ddiperf(config("af_packet", *items, run={"duration": "1s"}, port=DHCP_PORT))
    assert result.json, result
    for one in result.json["traffic"]:
        check_ledger(one)
        assert one["answered"] == one["sent"] == one["due"] and one["failed"] == 0, one
    after = here.stats()
    return result, {name: after[name] - before.get(name, 0) for name in after}


def informs(server):
    items = [leases("link", "inform", rate=COUNT, mac="02:0f:01:00:00:00", clients=COUNT, inform_address="198.18.8.1-198.18.8.40"),
             leases("relayed", "inform", rate=COUNT, mac="02:0f:02:00:00:00", clients=COUNT, inform_address="198.18.9.1-198.18.9.40",
                    relayed=True)]
    result, grown = run(server, *items)
    assert all(result.item(name)["dhcp4"]["received"] == {"ACK": COUNT} for name in ("link", "relayed")), result.json["traffic"]
    assert grown["inform"] == grown["ack"] == 2 * COUNT, grown


@test
def kea_acknowledges_informs_without_a_lease():
    informs("kea")


@test
def dhcpd_acknowledges_informs_without_a_lease():
    informs("dhcpd")


@test
def dnsmasq_acknowledges_informs_without_a_lease():
    informs("dnsmasq")


@test
def dhcpd_answers_lease_queries_of_each_kind():
    mix = {"dora": "50%", "leasequery": "50%"}
    result, _ = run("dhcpd", *(leases(query, mix, rate=COUNT, mac=f"02:0f:03:0{n}:00:00", query=query, relayed=True)
                               for n, query in enumerate(("address", "mac", "client_id"))))
    for query in ("address", "mac", "client_id"):
        n = result.item(query)["dhcp4"]
        assert n["received"]["LEASEACTIVE"] == n["sent"]["LEASEQUERY"] > COUNT / 4 and n["lease_unknown"] == 0, (query, n)


main()
