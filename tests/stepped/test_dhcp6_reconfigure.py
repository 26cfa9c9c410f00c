#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# DHCPv6 servers that call on their clients (RFC 8415 section 18.2.11): what clients do for each kind of RECONFIGURE, which ones
# they leave alone, and each message as a program reads it that has its own HMAC-MD5.

import hmac
import json
import signal
import socket
import struct
import tempfile
import time
from pathlib import Path

import dhcp6
from dhcp import of_clients, steps
from dhcp6 import clients
from harness import binary, check_ledger, ddiperf, execute, main, nightly, start, test
from loop import fold, parse_udp, pcap_read, pcap_write, ring

CLIENTS = 240
# All are on after 100 ms; T1 is far beyond the end of the run.
LIFE = {"t1": "30m", "power_on": "2m", "speed": 1200}
REPLY, RECONFIGURE, AUTH = 7, 10, 11
SERVER_ID, DUID = bytes.fromhex("000300010200000000fe"), bytes.fromhex("000300010200000000")
RELAY = socket.inet_pton(socket.AF_INET6, "2001:db8::100")
LEVELS = {**dhcp6.RELAYS, "levels": 3, "interface_id": "p{client}"}
BADS = ["client", "server", "message", "authentication", "mac", "replay"]  # in the order in which the responder makes them


def living(relay="as always", **settings):
    """Clients that accept RECONFIGUREs, behind relays or on the link."""
    one = clients(relay=relay, clients=CLIENTS, life=LIFE, **{"reconfigure": "accept", **settings})
    del one["load"]
    return one


def called(one, message="renew", bad=0, workers=1, **sections):
    """A run in which the server calls on each client after it got its lease: the item, and the responder's counters."""
    section = dhcp6.answers(reconfigure={"after": "100ms", "message": message, "bad": bad}, preferred_lifetime="1h",
                            valid_lifetime="100m", rapid=False)
    ports = {name: {**keys, "cpus": [0] * workers} for name, keys in dhcp6.family.ports.items()}
    result = ddiperf(ring(one, run={"duration": "900ms", "warmup": "0s"}, responder=section, **ports, **sections))
    assert result.json, result
    one = of_clients(result)
    check_ledger(one)
    assert one["due"] == one["answered"] and one["stray"] == one["malformed"] == 0, one
    return one, result.json["responder"]["protocols"][0]["dhcp6"]


def obeys(message, kind, step, relay):
    """Each client does that once."""
    one, theirs = called(living(relay), message)
    n = one["dhcp6"]
    assert theirs["reconfigures"] == n["received"]["RECONFIGURE"] == CLIENTS and n["reconfigured"] == {kind: CLIENTS}, (n, theirs)
    assert n["reconfigure_bad"] == {} and n["reconfigure_busy"] == 0, n
    # Not one exchange more: the others come at T1.
    assert n["sent"][kind] == steps(one)[step]["answered"] == CLIENTS and one["due"] == 2 * CLIENTS, one
    assert n["renewed"] == (0 if message == "information" else CLIENTS) and n["leases"] == CLIENTS, n


@test
def clients_ask_for_information_when_their_server_calls_for_it():
    obeys("information", "INFORMATION-REQUEST", "information-reply", LEVELS)


@test
def clients_renew_and_rebind_when_their_server_calls_for_it():
    obeys("renew", "RENEW", "renew-reply", "as always")
    obeys("rebind", "REBIND", "rebind-reply", None)


@test
def bad_ones_are_counted_by_reason_and_not_obeyed():
    one, theirs = called(living(), bad=2)
    n = one["dhcp6"]
    assert theirs["reconfigure_bad"] == n["reconfigure_bad"] == {reason: CLIENTS // 2 // len(BADS) for reason in BADS}, (n, theirs)
    assert n["reconfigured"] == {"RENEW": CLIENTS // 2} and n["renewed"] == n["sent"]["RENEW"] == CLIENTS // 2, n
    assert n["received"]["RECONFIGURE"] == theirs["reconfigures"] == CLIENTS, n


@test
def clients_that_do_not_accept_them_get_neither_key_nor_message():
    one, theirs = called(living(reconfigure="none"))
    assert theirs["reconfigures"] == 0 and one["due"] == CLIENTS and "RECONFIGURE" not in one["dhcp6"]["received"], one


@test
def a_call_reaches_its_client_whichever_worker_hears_it():
    one, theirs = called(living(None), workers=2)
    n = one["dhcp6"]
    assert n["reconfigured"] == {"RENEW": CLIENTS} and theirs["reconfigures"] == CLIENTS, (n, theirs)


def request(client, levels=0):
    """The frame of a REQUEST that asks for one address and accepts RECONFIGUREs, through a relay or directly."""
    def option(code, data):
        return struct.pack("!HH", code, len(data)) + data

    message = bytes([3, 0, 0, client]) + option(1, DUID + bytes([client])) + option(2, SERVER_ID) + option(3, struct.pack("!III", 1, 0, 0)) + option(20, b"")
    link_local = bytes.fromhex("fe80000000000000000000fffe0000") + bytes([client])
    src, sport, dst = link_local, 546, "ff02::1:2"
    for level in range(levels):
        message = bytes([12, level]) + RELAY + link_local + option(18, b"p7") + option(9, message)
        src, sport, dst = RELAY, 547, dhcp6.SERVER
    dst = socket.inet_pton(socket.AF_INET6, dst)
    udp = struct.pack("!HHHH", sport, 547, 8 + len(message), 0) + message
    check = ~fold(src + dst + struct.pack("!HH", 17, len(udp)) + udp) & 0xFFFF
    ip = struct.pack("!IHBB", 0x60000000, len(udp), 17, 64) + src + dst
    return bytes(6) + bytes([2, 0, 0, 0, 0, client]) + b"\x86\xdd" + ip + udp[:6] + struct.pack("!H", check or 0xFFFF) + udp[8:]


def options(message):
    """{code: (offset of the data, data)} of a DHCPv6 message."""
    at, found = 4, {}
    while at < len(message):
        code, length = struct.unpack_from("!HH", message, at)
        found[code] = (at + 4, message[at + 4:at + 4 + length])
        at += 4 + length
    return found


def inner(message):
    """Without its relay messages."""
    while message[0] == 13:
        at, length, code = 34, 0, 0
        while code != 9:
            code, length = struct.unpack_from("!HH", message, at)
            at += 4 + length
        message = message[at - length:at]
    return message


def answered(folder, frames):
    """What the responder sends: the packets, and what tshark makes of them."""
    (folder / "in.pcap").write_bytes(pcap_write(frames))
    (folder / "r.yaml").write_text(json.dumps({
        "ports": [{"name": "dut", "driver": "pcap", "rx_file": str(folder / "in.pcap"), "tx_file": str(folder / "out.pcap"),
                   "addresses": [dhcp6.SERVER + "/64"]}],
        "responder": {"port": "dut", "dhcp6": {"server_id": SERVER_ID.hex(), "reconfigure": {"after": "50ms", "message": "rebind"}}}}))
    with start([binary(), "respond", str(folder / "r.yaml")]) as process:
        head = process.stdout.readline()  # when it is about to begin
        time.sleep(1)
        assert head, head
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
    assert process.returncode == 0, err
    code, text, err = execute(["tshark", "-r", str(folder / "out.pcap"), "-V"])
    assert code == 0 and "Malformed" not in text, err
    return [packet for packet in map(parse_udp, pcap_read(folder / "out.pcap")) if packet], text


@nightly  # in real time: it plays a server until a signal
def another_program_finds_keys_and_macs_right():
    with tempfile.TemporaryDirectory() as folder:
        packets, text = answered(Path(folder), [request(n, levels) for n, levels in ((1, 0), (2, 1), (3, 2))])
    assert len(packets) == 6 and text.count("Message type: Reconfigure (10)") == text.count("Reconfigure message type: Rebind (6)") == 3, text
    keys = {}
    for packet in packets:
        message = inner(packet.payload)
        found = options(message)
        at, auth = found[AUTH]
        assert auth[:3] == bytes([3, 1, 0]) and len(auth) == 28, auth
        if message[0] == REPLY:
            assert auth[11] == 1 and found[20][1] == b"", message.hex()
            keys[found[1][1]] = auth
            continue
        key = keys.pop(found[1][1])
        zeroed = message[:at + 12] + bytes(16) + message[at + 28:]
        assert message[:4] == bytes([RECONFIGURE, 0, 0, 0]) and found[19][1] == bytes([6]) and found[2][1] == SERVER_ID, message.hex()
        assert auth[11] == 2 and auth[3:11] > key[3:11] and auth[12:] == hmac.digest(key[12:], zeroed, "md5"), message.hex()
        assert (packet.dport, packet.src) == (547 if packet.payload[0] == 13 else 546, socket.inet_pton(socket.AF_INET6, dhcp6.SERVER))
    assert not keys, keys


main()
