#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# DHCPv6 clients that use the address of their server (RFC 8415 section 18.4): which messages go there, and a server that
# changes its mind.

import tempfile
from pathlib import Path

import dhcp6
from dhcp6 import SERVER, answers, clients, of_clients
from harness import check_ledger, ddiperf, main, test, tshark
from loop import ring

MIX = {"sarr": "40%", "renew": "20%", "rebind": "10%", "release": "20%", "decline": "10%"}
BY_UNICAST = {"3", "5", "8", "9"}
FEW = 50  # of 200 exchanges: those that need no lease are 80


def run(told=SERVER, accepted=True):
    """Clients on the link of a server that tells this address; their counters."""
    one = clients(load={"rate": "1k", "total": 200}, relay=None, unicast=True, clients=200, mix=MIX, keys={"server": SERVER})
    result = ddiperf(ring(one, run={"duration": "3s", "warmup": "0s"}, responder=answers(unicast=accepted, **({"unicast_address": told} if told else {})),
                          **dhcp6.family.ports))
    assert result.json, result
    dhcp6.check_agreement(result)
    n = of_clients(result)
    check_ledger(n)
    # While replies are late, few clients have a lease to renew or to release: those exchanges are unsent.
    assert n["failed"] == n["lost"] == 0 and n["answered"] > FEW and n["unsent"] == n["dhcp6"]["no_bound_client"], n
    return n["dhcp6"]


def to_one(n):
    return sum(n["sent"][kind] for kind in ("REQUEST", "RENEW", "RELEASE", "DECLINE"))


@test
def messages_that_name_a_server_go_to_its_address_once_it_has_told_it():
    n = run()
    assert n["unicast"] == to_one(n) and n["multicast_again"] == 0, n
    assert run(told=None)["unicast"] == 0
    elsewhere = run(told="2001:db8::77")
    assert elsewhere["unicast"] == 0 and elsewhere["unicast_elsewhere"] > FEW, elsewhere


@test
def they_go_to_all_servers_again_when_the_server_says_so():
    n = run(accepted=False)
    assert n["multicast_again"] == n["unicast"] == n["message_status"]["UseMulticast"] > FEW, n
    assert to_one(n) == 2 * n["unicast"] and n["refused"] == n["unicast"], n


@test
def clients_with_a_life_renew_at_the_servers_address():
    life = {"t1": "30m", "power_on": "10m", "speed": 1800, "release": "10%"}
    one = clients(relay=None, unicast=True, keys={"server": SERVER}, clients=200, life=life)
    del one["load"]
    result = ddiperf(ring(one, run={"duration": "2s", "warmup": "0s"}, responder=answers(unicast_address=SERVER, t1="30m", preferred_lifetime="50m"),
                          **dhcp6.family.ports))
    n = of_clients(result)["dhcp6"]
    assert n["sent"]["RENEW"] > 100 and n["unicast"] == to_one({"sent": {"DECLINE": 0, **n["sent"]}}), n


@test
def the_wire_has_them_so():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "all.pcapng"
        one = clients(load={"rate": "1k", "total": 50}, relay=None, unicast=True, clients=50, mix=MIX, keys={"server": SERVER})
        result = ddiperf(ring(one, run={"duration": "3s", "warmup": "0s"}, responder=answers(unicast_address=SERVER), **dhcp6.family.ports,
                              output={"capture": {"file": str(path), "when": ["answered"]}}))
        assert result.json, result
        packets = tshark(path, ("ipv6.dst", "dhcpv6.msgtype", "udp.dstport"))
    for one in packets:
        if one["udp.dstport"] == "547":
            assert one["ipv6.dst"] == (SERVER if one["dhcpv6.msgtype"] in BY_UNICAST else "ff02::1:2"), one


main()
