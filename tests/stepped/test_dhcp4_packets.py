#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# What DHCPv4 clients put on the wire, as another program reads it: every kind of message in each topology has what RFC 2131
# table 5 asks for and nothing that is malformed. And what the capture file keeps of exchanges that failed; and --self-check.

import json
import tempfile
from collections import Counter
from pathlib import Path

from dhcp4 import RELAYS, SERVER, answers, clients, of_clients, run, steps
from harness import binary, config_file, ddiperf, execute, main, test, tshark
from loop import RELAXED

FIELDS = (
    "frame.comment", "frame.p2p_dir", "eth.src", "eth.dst", "vlan.id", "ieee8021ad.id", "dhcp.option.value", "ip.src", "ip.dst", "udp.srcport", "udp.dstport", "udp.length",
    "dhcp.type", "dhcp.hops", "dhcp.id", "dhcp.secs", "dhcp.flags.bc", "dhcp.ip.client", "dhcp.ip.your", "dhcp.ip.relay",
    "dhcp.hw.type", "dhcp.hw.len", "dhcp.hw.mac_addr", "dhcp.option.dhcp", "dhcp.option.requested_ip_address",
    "dhcp.option.dhcp_server_id", "dhcp.option.type",
)
NONE, EVERYBODY = "0.0.0.0", "255.255.255.255"
PORT_MAC, HOP_MAC = "02:00:00:00:01:00", "02:00:00:00:00:01"  # of a dry run
OUT, IN = "0", "1"
END = 0  # as tshark lists it
BOUND = range(8)  # clients that hold a lease, client i on 10.0.0.(16 + i)
LEASES = "client,mac,address,server,expires\n" + "".join(f"{i},02:00:00:00:00:0{i},10.0.0.{16 + i},{SERVER},never\n" for i in BOUND)
FREE = ("dora", "discover", "rapid")
COMPLAINTS = ("Malformed", "malformed", "Severity level: Error", "Severity level: Warning", "[incorrect", "Unreassembled")
FULL = {
    "options": [
        {"code": "12", "text": "host-{client}"}, {"code": "60", "text": "vendor"}, {"code": "77", "hex": "0461626364"},
        {"code": "93", "hex": "0000"},
    ],
    "fqdn": {"name": "c{client}.example.com"}, "lease_time": "10m", "client_id": "duid",
}
RELAY_INFO = {
    "circuit_id": "port {client}", "remote_id": "{mac}", "subscriber_id": "customer {client:06}", "link_selection": "10.0.0.1",
    "server_id_override": "relay", "port": 1067, "source_port": False,  # tshark does not know sub-option 19
}


def dissected(path):
    """The packets as dicts of FIELDS, none of which tshark complains about."""
    checksums = ["-o", "udp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
    code, text, err = execute(["tshark", "-r", str(path), "-V", *checksums])
    assert code == 0, err
    for word in COMPLAINTS:
        assert word not in text, next(line for line in text.splitlines() if word in line)
    return tshark(path, FIELDS)


def options(packet):
    return [int(code) for code in packet["dhcp.option.type"].split(",")]


def dry_run(*items, vlans=(), leases=LEASES):
    """The first packets of a file whose ports are not there."""
    port = {"name": "lan", "driver": "af_packet", "device": "nosuch0", "addresses": ["198.18.0.1/24"], "vlans": list(vlans)}
    for one in items:
        if leases and one["dhcp4"].get("exchange") not in FREE:
            one["dhcp4"]["leases"] = {"load": "leases.csv"}
    with config_file(json.dumps({"run": {"warmup": "0s"}, "ports": [port], "traffic": items})) as path:
        (path.parent / "leases.csv").write_text(leases or "")
        code, stdout, stderr = execute([binary(), "run", str(path), "--dry-run", "out.pcapng"], cwd=path.parent)
        assert code == 0, f"{code}\n{stdout}{stderr}"
        return dissected(path.parent / "out.pcapng")


def messages(relay, *exchanges, **dhcp4):
    """{exchange: four of its messages}; the clients are those that hold a lease, where it needs one."""
    items = [clients(exchange, load={"rate": "1k", "total": 4}, relay=relay, exchange=exchange,
                     **{"clients": 20 if exchange in FREE else len(BOUND), **dhcp4}) for exchange in exchanges]
    packets = dry_run(*items)
    of = {exchange: [packet for packet in packets if packet["frame.comment"] == exchange] for exchange in exchanges}
    assert all(len(four) == 4 for four in of.values()), packets
    return of


# exchange: (type, options in their order, ciaddr and source are the leased address, unicast to the server, broadcast flag)
KINDS = {
    "dora": (1, [53, 55, 61], False, False, True),
    "discover": (1, [53, 55, 61], False, False, True),
    "rapid": (1, [53, 55, 61, 80], False, False, True),
    "renew": (3, [53, 55, 61], True, True, False),
    "rebind": (3, [53, 55, 61], True, False, False),
    "reboot": (3, [53, 50, 55, 61], False, False, True),
    "inform": (8, [53, 55, 61], True, True, False),
    "release": (7, [53, 54, 61], True, True, False),
    "decline": (4, [53, 50, 54, 61], False, False, False),
}


def check_message(packet, client, exchange, relay):
    """RFC 2131 table 5, and the addresses and ports of sections 4.1 and 4.4; RFC 1542 for relays."""
    kind, codes, has_ciaddr, unicast, flag = KINDS[exchange]
    mac, leased = f"02:00:00:00:00:{client:02x}", f"10.0.0.{16 + client}"
    relayed = relay is not None and not unicast
    assert packet["dhcp.type"] == "1" and packet["dhcp.hw.type"].split(",")[0] == "0x01" and packet["dhcp.hw.len"] == "6", packet
    assert packet["dhcp.hw.mac_addr"].split(",")[0] == mac and packet["dhcp.option.dhcp"] == str(kind), packet
    assert packet["dhcp.secs"] == "0" and packet["dhcp.ip.your"] == NONE and packet["udp.length"] == "308", packet
    assert packet["dhcp.ip.client"] == (leased if has_ciaddr else NONE), packet
    assert packet["dhcp.option.requested_ip_address"] == (leased if 50 in codes else ""), packet
    assert packet["dhcp.option.dhcp_server_id"] == (SERVER if 54 in codes else ""), packet
    assert options(packet) == [*codes, END], packet
    assert packet["dhcp.flags.bc"] == str(int(flag)), packet
    if relayed:
        address = f"198.18.0.{64 + client}"
        ends = (PORT_MAC, HOP_MAC, address, SERVER, "67", "67", "1", address)
    else:
        ends = (PORT_MAC if relay else mac, HOP_MAC if unicast else "ff:ff:ff:ff:ff:ff", leased if has_ciaddr else NONE,
                SERVER if unicast else EVERYBODY, "68", "67", "0", NONE)
    fields = ("eth.src", "eth.dst", "ip.src", "ip.dst", "udp.srcport", "udp.dstport", "dhcp.hops", "dhcp.ip.relay")
    assert tuple(packet[field] for field in fields) == ends, (packet, ends)


def check_messages(relay):
    for exchange, packets in messages(relay, *KINDS).items():
        for client, packet in enumerate(packets):
            check_message(packet, client, exchange, relay)


@test
def every_message_behind_relays_is_as_the_rfcs_say():
    check_messages(RELAYS)


@test
def every_message_of_clients_that_broadcast_is_as_the_rfcs_say():
    check_messages(None)


@test
def a_lease_query_is_about_an_address_and_from_a_relay():
    for client, packet in enumerate(messages(RELAYS, "leasequery")["leasequery"]):
        assert packet["dhcp.option.dhcp"] == "10" and options(packet) == [53, 55, END], packet
        # RFC 4388 section 6.2: by address, htype, hlen and chaddr are zero.
        assert packet["dhcp.ip.client"] == f"10.0.0.{16 + client}" and packet["dhcp.hw.len"] == "0", packet
        assert packet["dhcp.ip.relay"] == packet["ip.src"] == f"198.18.0.{64 + client}" and packet["dhcp.hops"] == "1", packet


@test
def wishes_are_in_the_messages_that_may_have_them():
    of = messages(RELAYS, "dora", "renew", "inform", requested_address="10.0.0.64/26", lease_time="10m")
    for client, packet in enumerate(of["dora"]):
        assert packet["dhcp.option.requested_ip_address"] == f"10.0.0.{64 + client}", packet
        assert options(packet) == [53, 50, 51, 55, 61, END], packet
    assert all(options(packet) == [53, 51, 55, 61, END] for packet in of["renew"]), of["renew"]
    assert all(51 not in options(packet) for packet in of["inform"]), of["inform"]


@test
def without_flag_and_padding_a_message_asks_for_unicast_and_ends_at_its_end():
    for packet in messages(None, "dora", pad=0, broadcast_flag=False)["dora"]:
        assert packet["dhcp.flags.bc"] == "0" and options(packet) == [53, 55, 61, END], packet
        assert packet["udp.length"] == "271", packet


@test
def every_option_at_once_is_well_formed_and_82_comes_last():
    of = messages({**RELAYS, **RELAY_INFO}, "dora", "renew", "release", "decline", **FULL)
    for exchange, packets in of.items():
        for packet in packets:
            codes = [code for code in options(packet) if code != END]
            assert codes[-1] == 82 and (exchange not in ("dora", "renew") or {12, 60, 77, 93, 81, 51} <= set(codes)), packet
            # With the relay's identifier in 82 renewals go through it, from its own port.
            assert packet["udp.srcport"] == "1067" and packet["dhcp.ip.relay"] == packet["ip.src"], packet


@test
def vlans_of_clients_are_inside_those_of_the_port():
    vlans = [{"clients": "0-1", "vlans": [200]}]
    both = [clients(name, load={"rate": "1k", "total": 4}, relay=relay, clients=4, vlans=vlans)
            for name, relay in (("relayed", RELAYS), ("broadcasting", None))]
    packets = dry_run(*both, vlans=[100], leases=None)
    for one in both:
        seen = [packet["vlan.id"].split(",")[-1] for packet in packets if packet["frame.comment"] == one["name"]]
        assert seen == ["200", "200", "100", "100"], seen


@test
def each_client_has_vlans_of_its_own_and_they_stand_in_patterns():
    vlans = [{"clients": "1-8", "outer": "100-103", "inner": "7-8"}, {"clients": "9-11", "outer": "30-32"}]
    one = clients("own", load={"rate": "1k", "total": 12}, clients=12, vlans=vlans,
                  client_id="text", client_id_text="{outer}-{inner}-{vlan}", options=[{"code": 224, "hex": "{outer}{inner}{vlan}"}])
    packets = dry_run(one, leases=None)
    pairs = [(outer, inner, inner) for outer in range(100, 104) for inner in (7, 8)] + [(n, 0, n) for n in (30, 31, 32)]
    tags = [(p["ieee8021ad.id"], p["vlan.id"]) for p in packets]
    assert tags == [("", "")] + [(str(outer), str(inner)) if inner else ("", str(outer)) for outer, inner, _ in pairs], tags
    for packet, pair in zip(packets, [(0, 0, 0), *pairs]):
        values = packet["dhcp.option.value"].split(",")
        assert values[-2] == "00" + "{}-{}-{}".format(*pair).encode().hex() and values[-1] == "".join(f"{n:04x}" for n in pair), packet
    inside = clients("inside", load={"rate": "1k", "total": 3}, clients=3, vlans={"outer": "30-32"})
    assert [p["vlan.id"] for p in dry_run(inside, vlans=[5], leases=None)] == ["30", "31", "32"]


@test
def items_on_one_port_are_told_apart_by_the_upper_bits_of_the_xid():
    many = [clients(name, relay=relay, load={"rate": "1k", "total": 30}) for name, relay in
            (("first", RELAYS), ("second", None), ("third", RELAYS))]
    seen = {(p["frame.comment"], int(p["dhcp.id"], 0) >> 30) for p in dry_run(*many, leases=None)}
    assert seen == {("first", 0), ("second", 1), ("third", 2)}, seen


@test
def the_same_seed_gives_the_same_messages():
    one = clients(load={"rate": "1k"}, mix={"discover": "50%"}, options=[{"code": "12", "text": "{random:12}"}])
    first, again = (dry_run(one, leases=None) for _ in range(2))
    assert first == again and len({packet["dhcp.id"] for packet in first}) == 100


# --- what failed --------------------------------------------------------------------------------------------


def captured(one, responder, **capture):
    """(result, the packets of its capture file)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bad.pcapng"
        result = run(one, responder=responder, output={"capture": {"file": str(path), **capture}})
        return result, dissected(path)


def reasons(packets):
    """{(direction, message type, reason): how many}"""
    return Counter((p["frame.p2p_dir"], p["dhcp.option.dhcp"], p["frame.comment"].split(": ")[1]) for p in packets)


@test
def the_capture_has_the_message_that_was_lost_of_each_exchange():
    result, packets = captured(
        clients(load={"outstanding": 64, "total": 200}, relay=None, keys={"timeout": "1100ms"}), answers({"loss": {"every": 7}}))
    one = of_clients(result)
    first, second = (steps(one)[name]["lost"] for name in ("discover-offer", "request-ack"))
    assert first > 0 and second > 0 and reasons(packets) == {(OUT, "1", "lost"): first, (OUT, "3", "lost"): second}, packets
    for packet in packets:
        asks = packet["dhcp.option.dhcp"] == "3"
        # RFC 2131 table 5, SELECTING: what was offered, and by whom; ciaddr is 0.
        assert options(packet) == ([53, 50, 54, 55, 61, END] if asks else [53, 55, 61, END]), packet
        assert packet["dhcp.option.dhcp_server_id"] == (SERVER if asks else "") and packet["dhcp.ip.client"] == NONE, packet
        assert packet["dhcp.option.requested_ip_address"].startswith("10.0.") == asks, packet
        assert packet["eth.src"] == packet["dhcp.hw.mac_addr"].split(",")[0], packet
        assert packet["dhcp.secs"] == "0", packet  # as it was sent, not as it would be after the timeout
        assert packet["ip.src"] == NONE and packet["ip.dst"] == EVERYBODY and packet["dhcp.flags.bc"] == "1", packet


@test
def the_capture_has_request_and_answer_of_what_was_refused():
    result, packets = captured(
        clients(load={"outstanding": 1, "total": 50}), answers({"nak": {"every": 10}, "no_lease_time": {"every": 15}}))
    one = of_clients(result)
    n = one["dhcp4"]
    assert n["nak"] > 0 and n["lease_time_missing"] > 0 and one["failed"] == n["nak"] + n["lease_time_missing"], one
    out = sum(count for (way, _, _), count in reasons(packets).items() if way == OUT)
    assert out == one["failed"] and len(packets) == 2 * out, reasons(packets)
    assert reasons(packets)[IN, "6", "failed"] == n["nak"], reasons(packets)
    for asked, answer in zip(packets[::2], packets[1::2]):
        assert (asked["frame.p2p_dir"], answer["frame.p2p_dir"]) == (OUT, IN) and asked["dhcp.id"] == answer["dhcp.id"], (asked, answer)


@test
def without_a_named_server_a_renewal_goes_to_the_one_of_its_lease():
    """To the MAC that the ACK came from; the server itself was never asked for."""
    one = clients(load={"outstanding": 4, "total": 80}, relay=None, mix={"renew": "40%", "release": "20%"})
    del one["server"]
    result, packets = captured(one, answers(), when=["answered"])
    n = of_clients(result)["dhcp4"]
    assert n["renewed"] > 0 and n["released"] > 0 and of_clients(result)["lost"] == 0 and n["servers_beyond"] == 0, n
    renewals = [p for p in packets if p["dhcp.option.dhcp"] == "3" and p["dhcp.ip.client"] != NONE]
    macs = {p["eth.src"] for p in packets if p["dhcp.option.dhcp"] == "5"}
    assert len(renewals) == n["renewed"] and len(macs) == 1, (len(renewals), macs)
    assert {(p["ip.dst"], p["eth.dst"]) for p in renewals} == {(SERVER, macs.pop())}, renewals


# --- --self-check -------------------------------------------------------------------------------------------


@test
def a_file_for_another_box_is_checked_over_a_ring():
    port = {"name": "lan", "driver": "af_packet", "device": "nosuch0", "addresses": ["198.18.0.1/24"]}
    text = json.dumps({
        "run": {"warmup": "100ms", "duration": "300ms"}, "ports": [port], "validity": RELAXED,
        "traffic": [clients(load={"rate": "1k"}, mix={"renew": "30%"})]})
    result = ddiperf(text, "--self-check")
    assert result.code == 0 and "self-check: PASS" in result.stdout, result
    assert of_clients(result)["answered"] == of_clients(result)["sent"] == 330, of_clients(result)


@test
def clients_that_broadcast_are_checked_over_a_ring_without_a_server():
    port = {"name": "lan", "driver": "af_packet", "device": "nosuch0", "addresses": ["198.18.0.1/24"]}
    one = clients(load={"rate": "1k"}, relay=None)
    del one["server"]
    text = json.dumps({
        "run": {"warmup": "100ms", "duration": "300ms"}, "ports": [port], "validity": RELAXED, "traffic": [one]})
    result = ddiperf(text, "--self-check")
    assert result.code == 0 and "self-check: PASS" in result.stdout, result


main()
