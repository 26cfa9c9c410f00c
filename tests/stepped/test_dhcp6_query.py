#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Relays that ask a DHCPv6 server about leases (RFC 5007): the counters of both sides, each message as tshark reads it, and a
# refusal.

import tempfile
from pathlib import Path

import dhcp6
from dhcp6 import SERVER, answers, clients, of_clients
from harness import execute, main, test, tshark

WIRE = ("udp.srcport", "udp.dstport", "dhcpv6.msgtype", "dhcpv6.option.type", "dhcpv6.iaaddr.ip", "dhcpv6.clt_time", "ipv6.dst")
QUERY, REPLY = "14", "15"


def asked(allowed=True, keys=None, **settings):
    """A run in which half of the exchanges are lease queries: the item."""
    one = clients(load={"outstanding": 10, "total": 200}, clients=200, mix={"sarr": "50%", "leasequery": "50%"}, **settings)
    result = dhcp6.run(one, responder=answers(leasequery=allowed), **(keys or {}))
    dhcp6.check_agreement(result)
    n = of_clients(result)
    assert n["dhcp6"]["received"]["LEASEQUERY-REPLY"] == n["dhcp6"]["sent"]["LEASEQUERY"] > 80 and n["lost"] == 0, n
    return n


@test
def lease_queries_are_about_address_or_client_identifier():
    for query, lease in (("address", "both"), ("client_id", "both"), ("client_id", "prefix"), ("address", "address")):
        assert asked(query=query, lease=lease)["failed"] == 0, (query, lease)


@test
def a_client_whose_lease_query_is_refused_keeps_its_lease():
    n = asked(allowed=False)
    assert n["failed"] == n["dhcp6"]["refused"] == n["dhcp6"]["message_status"]["NotAllowed"] == n["dhcp6"]["sent"]["LEASEQUERY"], n
    assert n["dhcp6"]["leases"] == n["answered"] and n["dhcp6"]["expired"] == 0, n


@test
def another_program_reads_both_messages():
    for query in ("address", "client_id"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "all.pcapng"
            asked(query=query, keys={"output": {"capture": {"file": str(path), "when": ["answered"]}}})
            code, text, err = execute(["tshark", "-r", str(path), "-V"])
            assert code == 0 and "Malformed" not in text and "LQ-query: " not in text, err
            packets = tshark(path, WIRE)
        queries, replies = ([one for one in packets if one["dhcpv6.msgtype"] == kind] for kind in (QUERY, REPLY))
        for ask, reply in zip(queries, replies, strict=True):
            assert (ask["udp.srcport"], ask["udp.dstport"], ask["ipv6.dst"]) == ("546", "547", SERVER), ask
            assert ask["dhcpv6.option.type"] == ("1,44,5" if query == "address" else "1,44,1"), ask
            assert reply["dhcpv6.option.type"] == "1,2,45,1,5,26,46", reply
            assert reply["dhcpv6.clt_time"] == "0", reply
            assert ask["dhcpv6.iaaddr.ip"] in ("", reply["dhcpv6.iaaddr.ip"]), (ask, reply)


main()
