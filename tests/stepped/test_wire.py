#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# What leaves the port, read back from a packet file: the same bytes for the same seed, ports before addresses before
# IDs, right checksums and tags.

import json
import struct
import tempfile
from pathlib import Path

from harness import EXIT, ddiperf, main, test
from loop import SERVER_MAC, fold, item, parse_udp, pcap_read, pcap_write, question, ring, sent_to_file

COUNT = 2000
ALL_KINDS = {
    "names": ["h{0-99}.example.com A", "{random:12}.example.com AAAA"], "order": "random", "case_0x20": True,
    "cookies": "full", "edns": {"size": 1400, "nsid": True, "client_subnet": "192.0.2.0/20"},
}


def capture(*items, **more):
    with tempfile.TemporaryDirectory() as folder:
        return sent_to_file(Path(folder), *items, **more)[1]


def total(count=COUNT, rate="20k", **keys):
    return item(load={"rate": rate, "total": str(count)}, **keys)


def frames(packets):
    return b"".join(packet.frame for packet in packets)


@test
def the_same_seed_puts_the_same_bytes_on_the_wire_in_the_same_order():
    one = total(dns=ALL_KINDS, source={"addresses": ["198.18.0.16-198.18.0.19"]})
    first, second = capture(one), capture(one)
    assert len(first) == len(second) == COUNT
    assert frames(first) == frames(second)


@test
def a_file_is_the_same_byte_for_byte_but_for_the_times():
    with tempfile.TemporaryDirectory() as folder:
        for name in ("a.pcap", "b.pcap"):
            sent_to_file(Path(folder), total(), name=name)
        first, second = (pcap_read(Path(folder) / name) for name in ("a.pcap", "b.pcap"))
    assert first == second and len(first) > COUNT


@test
def another_seed_puts_other_bytes_on_the_wire():
    one = total(dns=ALL_KINDS)
    first, second = capture(one, run={"seed": 1}), capture(one, run={"seed": 2})
    assert len(first) == len(second) == COUNT
    same = sum(a.payload == b.payload for a, b in zip(first, second))
    assert same < COUNT / 100, same


@test
def items_of_one_run_do_not_ask_the_same():
    dns = {"names": ["{random:12}.example.com A"]}
    packets = capture(total(200, dns=dns), {**total(200, dns=dns), "name": "other"})
    assert len({question(packet.payload)[0] for packet in packets}) == 400


@test
def the_seed_fixes_every_item_when_there_are_several():
    items = (total(dns=ALL_KINDS, source={"ports": ["2000-2999"]}),
             {**total(500, "5k", source={"ports": ["3000-3999"]}), "name": "other"})
    runs = [capture(*items) for _ in range(2)]
    for low, high in ((2000, 2999), (3000, 3999)):
        first, second = (frames(p for p in packets if low <= p.sport <= high) for packets in runs)
        assert first == second != b""


@test
def a_pace_of_another_kind_asks_the_same_in_the_same_order():
    # What is asked is a function of the seed, not of when it is asked.
    loads = ({"rate": "20k", "total": "200"}, {"rate": "5k", "total": "200"})
    first, second = (capture(item(load=load, dns=ALL_KINDS)) for load in loads)
    assert [question(p.payload)[0] for p in first] == [question(p.payload)[0] for p in second]


@test
def queries_spread_over_addresses_and_ports_before_an_id_repeats_a_flow():
    source = {"addresses": ["198.18.0.16-198.18.0.18"], "ports": ["2000-2009"]}
    packets = capture(total(600, source=source))
    assert len(packets) == 600
    for at in range(0, 600, 3):
        three = packets[at:at + 3]
        assert len({packet.src for packet in three}) == 3, at
        assert len({packet.sport for packet in three}) == 1, at
    for at in range(0, 600, 30):
        thirty = packets[at:at + 30]
        assert len({(packet.src, packet.sport) for packet in thirty}) == 30, at
        assert len({packet.payload[:2] for packet in thirty}) > 15, at  # neighbours do not share an ID
    flows = {}
    for packet in packets:
        flows.setdefault((packet.src, packet.sport), []).append(packet.payload[:2])
    assert all(len(set(seen)) == len(seen) == 20 for seen in flows.values()), flows


@test
def every_source_address_is_used_in_a_run_that_outlasts_the_ports():
    source = {"addresses": ["198.18.0.16-198.18.0.19"], "ports": ["2000-2999"]}
    packets = capture(total(5000, "2k", source=source, timeout="100ms"))
    assert len({packet.src for packet in packets}) == 4, {packet.src for packet in packets}


@test
def by_default_no_port_repeats_before_all_were_used():
    packets = capture(total(COUNT))
    assert len({packet.sport for packet in packets}) == COUNT
    assert min(packet.sport for packet in packets) >= 1024


@test
def lengths_and_checksums_are_right_over_ipv4():
    packets = capture(total(200, dns=ALL_KINDS))  # parse_udp verifies them
    assert len(packets) == 200
    assert all(packet.frame[:6] == bytes.fromhex("020000000002") for packet in packets)
    assert all(packet.dport == 53 for packet in packets)


def ipv6_query_frames():
    """The queries of a run whose next hop says where it is by a neighbour advertisement."""
    server, tester = (bytes.fromhex("20010db8" + "0" * 23 + n) for n in "21")
    message = struct.pack("!BBHI", 136, 0, 0, 0x60000000) + server + b"\2\1" + SERVER_MAC
    pseudo = server + tester + struct.pack("!II", len(message), 58)
    message = message[:2] + struct.pack("!H", 0xFFFF ^ fold(pseudo + message)) + message[4:]
    advert = b"\2\0\0\0\0\1" + SERVER_MAC + struct.pack("!HIHBB", 0x86DD, 6 << 28, len(message), 58, 255)
    advert += server + tester + message
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in.pcap").write_bytes(pcap_write([advert]))
        result = ddiperf(json.dumps({
            "run": {"warmup": "0s"},
            "ports": [{"name": "file", "driver": "pcap", "rx_file": str(folder / "in.pcap"),
                       "tx_file": str(folder / "out.pcap"), "addresses": ["2001:db8::1/64"]}],
            "traffic": [{**total(200, dns=ALL_KINDS | {"edns": {"client_subnet": "2001:db8:1::/48"}}),
                         "server": "2001:db8::2", "timeout": "100ms"}],
        }))
        assert result.code == EXIT["unreachable"] and result.item("queries")["sent"] == 200, result
        return [packet for packet in map(parse_udp, pcap_read(folder / "out.pcap")) if packet]


@test
def lengths_and_checksums_are_right_over_ipv6():
    packets = ipv6_query_frames()
    assert len(packets) == 200
    assert all(len(packet.src) == 16 and packet.dport == 53 for packet in packets)


@test
def vlan_tags_are_on_every_packet_outermost_first():
    for vlans, tags in (((100,), [(0x8100, 100)]), ((200, 4094), [(0x88A8, 200), (0x8100, 4094)])):
        with tempfile.TemporaryDirectory() as folder:
            _, packets = sent_to_file(Path(folder), total(50), vlans=vlans)
            everything = pcap_read(Path(folder) / "out.pcap")
        assert len(packets) == 50
        assert all(packet.vlans == tags for packet in packets), packets[0]
        assert all(frame[12:14] in (b"\x81\x00", b"\x88\xa8") for frame in everything), "ARP too"


@test
def a_ring_with_one_or_two_vlan_tags_passes():
    for vlans in ([100], [200, 300]):
        result = ddiperf(ring(tester={"vlans": vlans}, dut={"vlans": vlans}))
        assert result.code == 0, result
        assert result.item("queries")["answered"] == 600, result
        assert [port["other"]["wrong_vlan"] for port in result.json["ports"]] == [0, 0]


@test
def another_vlan_than_the_servers_reaches_nobody_and_says_which_was_used():
    result = ddiperf(ring(tester={"vlans": [100]}, dut={"vlans": [101]}))
    assert result.code == EXIT["unreachable"], result
    assert "VLAN 100" in result.stderr, result
    assert result.json["ports"][0]["rx_packets"] == 0, result.json["ports"]
    assert result.json["ports"][1]["other"]["wrong_vlan"] > 0, result.json["ports"]


main()
