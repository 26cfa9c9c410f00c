#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tester and responder on two emulated PCI cards: each protocol and each exchange, tags, checksums, long packets, workers
# and the steering between them, capture and search. CARD=igb and so on; the whole with NIGHTLY=1.

import cards
import dhcp4
import dhcp6
import wire
from cards import CARD, ddiperf, functions, guest, handed_over, ports, seen, served
from harness import EXIT, main, nightly, test
from loop import item, ring

BOTH = {"tester": {"addresses": ["198.18.0.1/24", "2001:db8::1/64"]}, "dut": {"addresses": ["198.18.0.2/24", "2001:db8::2/64"]}}
SIX = "2001:db8::2"
LOAD = {"outstanding": 16, "total": 400}
FINISHES = CARD in ("e1000e", "igb")  # of the device and DPDK's driver
QUEUES = {"virtio": 1, "e1000e": 2}.get(CARD, 4)
V4 = ("dora", "discover", "rapid", "inform", "renew", "rebind", "reboot", "release", "decline", "leasequery")
V6 = ("sarr", "solicit", "rapid", "renew", "rebind", "release", "decline", "confirm", "information")


def only(condition, kind=test):
    """A test of the cards for which it means something."""
    return kind if condition else lambda function: function


def both(**keys):
    """DNS over IPv4 and IPv6."""
    return item(load=LOAD, **keys), item("six", server=SIX, load=LOAD, **keys)


def queries(*items, **sections):
    return ring(*(items or both()), run={"duration": "20s"}, **{**BOTH, **sections})


@test
def dns_over_ipv4_and_ipv6_is_answered():
    served(ddiperf(queries()))


@only(FINISHES)
def the_card_finishes_checksums():
    with ports(checksum_offload=True):
        result = served(ddiperf(queries()))
    assert "checksum_offload has no effect" not in result.stderr, result


@only(not FINISHES)
def a_card_that_finishes_no_checksums_is_told_of():
    with ports(checksum_offload=True):
        result = served(ddiperf(queries()))
    assert "checksum_offload has no effect" in result.stderr, result


@test
def packets_with_one_tag_and_two_come_back():
    for tags in ([10], [100, 10]):
        with ports(vlans=tags):
            served(ddiperf(queries()))


@only(CARD != "virtio-mq")  # which has no hub
def answers_of_up_to_9000_bytes_arrive():
    guest()
    dns = {"names": ["h{0-99}.example.com TXT"], "edns": {"size": 9000}}
    for mtu, size in ((1500, 1300), (9000, 8800)):
        cards.wire.size = size
        with ports(mtu=mtu):
            result = ddiperf(queries(item(server=wire.ADDRESS, load=LOAD, dns=dns)))
        one = result.item("queries")
        assert one["answered"] == one["sent"] == 400 and one["dns"]["reply_bytes"] > 400 * size, result


@test
def dhcp_by_relays_and_on_the_link_is_served():
    dhcp4.served(dhcp4.clients(), dhcp4.clients("link", relay=None, clients=400))
    dhcp6.served(dhcp6.clients(), dhcp6.clients("link", relay=None, clients=400))


@nightly
def each_exchange_of_dhcpv4_is_served():
    """In a mix, behind relays and on the link, tagged and not."""
    for relay, tags in ((dhcp4.RELAYS, []), (None, []), (dhcp4.RELAYS, [10]), (None, [100, 10])):
        names = [name for name in V4 if relay or name != "leasequery"]
        share = {name: f"{100 / len(names)}%" for name in names}
        more = {} if relay else {"clients": 400}
        with ports(vlans=tags):
            result = dhcp4.served(dhcp4.clients(relay=relay, mix=share, **more), responder=dhcp4.answers(rapid=True))
        sent = dhcp4.of_clients(result)["dhcp4"]["sent"]
        assert sent.keys() == {"DISCOVER", "REQUEST", "INFORM", "RELEASE", "DECLINE", *(["LEASEQUERY"] if relay else [])}, sent


@nightly
def each_exchange_of_dhcpv6_is_served():
    share = {name: "12%" if name == "sarr" else "11%" for name in V6}
    for relay, tags in ((dhcp6.RELAYS, []), (None, []), (dhcp6.RELAYS, [10]), (None, [100, 10])):
        more = {} if relay else {"clients": 400}
        with ports(vlans=tags):
            result = dhcp6.served(dhcp6.clients(relay=relay, mix=share, **more))
        sent = dhcp6.of_clients(result)["dhcp6"]["sent"]
        assert len(sent) == 8, sent


@nightly
def ntp_is_answered():
    one = {"name": "ntp", "server": "198.18.0.2", "load": LOAD, "ntp": {}}
    served(ddiperf(queries(one, responder={"ntp": {}})))


@test
def workers_find_their_replies():
    for workers in (2, 4):
        result = ddiperf(queries(*both(source={"ports": ["2000-9999"]})), workers=workers)
        if workers > QUEUES:
            assert result.code == EXIT["environment"] and "every worker needs one of each" in result.stderr, result
            continue
        served(result)
        port = result.json["ports"][0]
        assert len(result.json["workers"]) == workers, result.json["workers"]
        seen(f"{workers} workers, steering {port['steering']}: {100 * handed_over(result):.0f} % handed over")
        assert CARD != "igb" or (port["steering"] == "hash_by_port" and not handed_over(result)), port


def relayed(workers, *items):
    """The share of replies that were handed over, and what the run said."""
    result = ddiperf(queries(*items, responder={"dns": {}, **dhcp4.answers(), **dhcp6.answers()}), workers=workers)
    for one in result.json["traffic"]:
        assert one["due"] == one["sent"] == one["answered"] > 0, (one, result)
    return handed_over(result), result


@only(QUEUES > 1, nightly)
def replies_to_relays_find_their_workers():
    for workers in (2, 4):
        for beside in ((), both(source={"ports": ["2000-9999"]})):
            if workers > QUEUES:
                continue
            share, result = relayed(workers, dhcp4.clients(), dhcp6.clients("leases6"), *beside)
            port = result.json["ports"][0]
            seen(f"{workers} workers, relays{', DNS' if beside else ''}, steering {port['steering']}: {100 * share:.0f} % handed over")
            assert CARD != "igb" or (port["steering"] == "hash_by_port" and share == 0), port
    share, result = relayed(2, dhcp4.clients(relay={"addresses": ["198.18.0.64"]}))
    assert "1 relay address cannot be dealt evenly to 2 workers (at least 1 more)" in result.stderr or CARD != "igb", result
    assert CARD != "igb" or round(share, 2) == 0.5, result  # of all packets, and there may be an ARP reply more


@only(QUEUES > 1, nightly)
def clients_of_a_link_are_played_by_several_workers():
    result = dhcp4.served(dhcp4.clients(relay=None, clients=400), tester={"cpus": [1, 2]})
    seen(f"2 workers, clients on the link: {100 * handed_over(result):.0f} % handed over")


@only(CARD == "igb", nightly)
def virtual_functions_are_used_as_cards_are():
    """Clients on the link need Ethernet addresses of their own: a function hears no replies to them, but its own
    broadcasts."""
    with functions():
        for tags in ([], [10], [100, 10]):
            with ports(vlans=tags):
                served(ddiperf(queries()))
                dhcp4.served(dhcp4.clients())
                dhcp6.served(dhcp6.clients(), dhcp6.clients("agents", to="all"), dhcp6.clients("servers", to="servers"))


@test
def transactions_that_fail_are_captured():
    config = ring(dhcp4.clients(), run={"duration": "60s"}, responder=dhcp4.answers({"nak": {"every": 10}}),
                  output={"capture": {"file": "bad.pcapng"}})
    result = ddiperf(config)
    failed = dhcp4.of_clients(result)["failed"]
    assert failed > 20 and result.json["capture"]["packets"] == 2 * failed, result
    assert (guest().folder / "bad.pcapng").stat().st_size > 2 * failed * 300


@nightly
def a_search_ends():
    config = queries(item(load={"rate": 100}), search={
        "variable": "traffic.queries.load.rate", "from": 50, "to": 200, "width": "50%", "goals": [{"loss": "0%"}],
        "trial": "1s", "final": "1s", "settle": "100ms"})
    result = ddiperf(config)
    assert result.code == 0 and result.json, result


@nightly
def a_card_takes_only_what_is_for_it_or_all():
    """Clients on the link have addresses of their own, which a card that is not promiscuous would not take."""
    result = dhcp4.served(dhcp4.clients(relay=None, clients=100, load={"outstanding": 16, "total": 100}, broadcast_flag=False))
    assert dhcp4.of_clients(result)["answered"] == 100, result


main()
