# SPDX-License-Identifier: BSD-3-Clause
"""Configurations as dicts (JSON is YAML), and packet files.

RELAXED goes into configurations of tests that are not about timing: the run is never invalid, every figure
still counts.
"""

import contextlib
import json
import os
import socket
import struct
import sys
import time
from collections import namedtuple

from harness import EXIT, ddiperf, kill, skip, start

EPOCH = 1767225600  # Unix time at which stepped time begins: 2026-01-01
RELAXED = {"unsent": "100%", "send_lag_p99": "1h", "dropped": "100%", "stolen": "100%"}


def sockets_of_a_port(address="127.0.0.1"):
    """For a server over TCP and UDP: two bound sockets on one port. Another process may have just one of the two."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    for _ in range(100):
        stream, datagrams = socket.socket(family, socket.SOCK_STREAM), socket.socket(family, socket.SOCK_DGRAM)
        stream.bind((address, 0))
        try:
            datagrams.bind((address, stream.getsockname()[1]))
            return stream, datagrams
        except OSError:
            stream.close()
            datagrams.close()
    raise OSError("no port is free for both")


def free_port():
    """For a server that is started next."""
    both = sockets_of_a_port()
    port = both[0].getsockname()[1]
    for one in both:
        one.close()
    return port


def item(name="queries", load=None, dns=None, **keys):
    """A traffic item; what is not given is small and quick."""
    return {
        "name": name, "server": "198.18.0.2", "timeout": "500ms", "load": load or {"rate": "2k"},
        "dns": {"names": ["h{0-99}.example.com A"]} if dns is None else dns, **keys,
    }


def ring(*items, run=None, tester=None, dut=None, responder=None, **sections):
    """Tester and embedded responder over a ring pair; tester, dut, responder: more keys of those sections."""
    return json.dumps({
        "run": {"warmup": "0s", "duration": "300ms", "interval": "100ms", **(run or {})},
        "ports": [
            {"name": "tester", "driver": "ring", "device": "dut", "addresses": ["198.18.0.1/24"], **(tester or {})},
            {"name": "dut", "driver": "ring", "device": "tester", "addresses": ["198.18.0.2/24"], **(dut or {})},
        ],
        "traffic": list(items or [item()]),
        "responder": {"port": "dut", **({"dns": {}} if responder is None else responder)},
        "validity": RELAXED,
        **sections,
    })


def bucket(ns):
    """A percentile of values about this one: the middle of their bucket of the histogram, which has 128 of them an octave."""
    width = 1 << max(int(ns).bit_length() - 8, 0)
    return int(ns) // width * width + (width - 1) // 2


LATENCY = {"count", "min_ns", "mean_ns", "stddev_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "p9999_ns", "max_ns"}


def check_latency(one, count):
    """The figures of a latency of so many: all of them, each with its place in their order."""
    assert set(one) >= LATENCY, one
    assert one["count"] == count, one
    ladder = [one[key] for key in ("min_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "p9999_ns", "max_ns") if one[key] is not None]
    assert all(low <= high * 1.01 for low, high in zip(ladder, ladder[1:])), ladder
    assert 0 < one["min_ns"] <= one["mean_ns"] <= one["max_ns"], one


# --- CPUs ---------------------------------------------------------------------------------------------


HOG = [sys.executable, "-c", "while True: pass"]


def cpus():
    """(CPU of the worker, another one)"""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        skip("needs two CPUs")
    return allowed[1], allowed[0]


@contextlib.contextmanager
def hogs(cpu, count=3):
    """While it lasts, a worker on this CPU has only a share of it, whatever the machine."""
    running = [start(["taskset", "-c", str(cpu), *HOG]) for _ in range(count)]
    try:
        time.sleep(0.3)
        yield
    finally:
        for process in running:
            kill(process)
            process.communicate()


# --- packet files -------------------------------------------------------------------------------------


REPLIES = 300_000
SERVER_MAC, CLIENT_MAC = bytes.fromhex("020000000002"), bytes.fromhex("020000000099")
SERVER, CLIENT = bytes((198, 18, 0, 2)), bytes((198, 18, 0, 9))
Packet = namedtuple("Packet", "vlans src dst sport dport payload frame")


def arp_reply(address="198.18.0.2", vlans=()):
    """What makes a port that reads a file believe in a next hop."""
    sender = bytes(int(part) for part in address.split("."))
    tags = b"".join(struct.pack("!HH", 0x8100 if tag == vlans[-1] else 0x88A8, tag) for tag in vlans)
    return (
        b"\xff" * 6 + SERVER_MAC + tags + struct.pack("!HHHBBH", 0x0806, 1, 0x0800, 6, 4, 2)
        + SERVER_MAC + sender + b"\xff" * 6 + b"\0" * 4
    ).ljust(60, b"\0")


def pcap_write(frames):
    """The bytes of a packet file."""
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    return head + b"".join(struct.pack("<IIII", 0, 0, len(f), len(f)) + f for f in frames)


def pcap_read(path):
    """The frames of a packet file."""
    data = path.read_bytes()
    magic, linktype = struct.unpack_from("<I", data)[0], struct.unpack_from("<I", data, 20)[0]
    assert magic in (0xA1B2C3D4, 0xA1B23C4D) and linktype == 1, data[:24]
    at, frames = 24, []
    while at < len(data):
        kept, whole = struct.unpack_from("<II", data, at + 8)
        assert kept == whole, "cut packet"
        frames.append(data[at + 16:at + 16 + kept])
        at += 16 + kept
    return frames


def fold(data):
    """The ones' complement sum of 16-bit words; 0xffff when a checksum in data is right."""
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def datagram(payload, dport=53, dst=SERVER):
    """A frame from the client to the server."""
    udp = struct.pack("!4H", 4000, dport, 8 + len(payload), 0) + payload
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, CLIENT, dst)
    ip = ip[:10] + struct.pack("!H", 0xFFFF ^ fold(ip)) + ip[12:]
    return SERVER_MAC + CLIENT_MAC + b"\x08\0" + ip + udp


def parse_udp(frame):
    """A Packet, every length and checksum of it verified; None when the frame is not UDP."""
    at, vlans = 12, []
    (kind,) = struct.unpack_from("!H", frame, at)
    while kind in (0x8100, 0x88A8):
        tag, = struct.unpack_from("!H", frame, at + 2)
        vlans.append((kind, tag))
        at += 4
        (kind,) = struct.unpack_from("!H", frame, at)
    ip = frame[at + 2:]
    if kind == 0x0800 and ip[9] == 17:
        assert ip[0] == 0x45 and fold(ip[:20]) == 0xFFFF, ip.hex()
        length, = struct.unpack_from("!H", ip, 2)
        src, dst, udp, pseudo = ip[12:16], ip[16:20], ip[20:length], b"\0\x11"
    elif kind == 0x86DD and ip[6] == 17:
        length = 40 + struct.unpack_from("!H", ip, 4)[0]
        src, dst, udp, pseudo = ip[8:24], ip[24:40], ip[40:length], b"\0\x11"
    else:
        return None
    assert len(ip) == length, f"{len(ip)} bytes for an IP packet of {length}"
    sport, dport, udp_len, checksum = struct.unpack_from("!4H", udp)
    assert udp_len == len(udp) and checksum != 0, udp.hex()
    assert fold(src + dst + pseudo + struct.pack("!H", udp_len) + udp) == 0xFFFF, frame.hex()
    return Packet(vlans, src, dst, sport, dport, udp[8:], frame)


def unanswered(folder, timeout="30s"):
    """A run that has a next hop and never an answer."""
    (folder / "in.pcap").write_bytes(pcap_write([arp_reply()]))
    return json.dumps({
        "run": {"warmup": "0s", "duration": "60s", "interval": "100ms"},
        "ports": [{"name": "file", "driver": "pcap", "rx_file": f"{folder}/in.pcap", "tx_file": f"{folder}/out.pcap",
                   "addresses": ["198.18.0.1/24"]}],
        "traffic": [item(timeout=timeout)],
    })


def sent_to_file(folder, *items, name="out.pcap", run=None, port=None, vlans=(), **sections):
    """Run on a packet-file port where a server is believed in and nobody answers; the UDP packets that left."""
    # Every item asks for its next hop anew, and reads on for 20 ms; the file must not be at its end by then.
    replies = 1 if len(items) == 1 else REPLIES
    (folder / "in.pcap").write_bytes(pcap_write([arp_reply(vlans=vlans)] * replies))
    out = folder / name
    out.unlink(missing_ok=True)
    result = ddiperf(json.dumps({
        "run": {"warmup": "0s", "duration": "10s", **(run or {})},
        "ports": [{
            "name": "file", "driver": "pcap", "rx_file": str(folder / "in.pcap"), "tx_file": str(out),
            "addresses": ["198.18.0.1/24"], "vlans": list(vlans), "burst": 1, **(port or {}),
        }],
        "traffic": [{**one, "timeout": one.get("timeout", "100ms")} for one in items],
        "validity": RELAXED,
        **sections,
    }))
    assert result.code == EXIT["unreachable"] and result.item(items[-1]["name"])["sent"], result
    packets = [parse_udp(frame) for frame in pcap_read(out)]
    return result, [packet for packet in packets if packet]


# --- DNS ------------------------------------------------------------------------------------------------


def query(name="h1.example.com", kind=1, ident=7, flags=0x0100, tail=b"", extra=0):
    """A DNS message; tail: behind its question, with so many additional records."""
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack("!6H", ident, flags, 1, 0, 0, extra) + labels + b"\0" + struct.pack("!HH", kind, 1) + tail


def question(message):
    """(name as sent, type, offset behind the question) of a DNS message."""
    at, labels = 12, []
    while message[at]:
        labels.append(message[at + 1:at + 1 + message[at]])
        at += 1 + message[at]
    qtype, qclass = struct.unpack_from("!HH", message, at + 1)
    assert qclass == 1
    return b".".join(labels).decode("latin-1"), qtype, at + 5


def opt(message):
    """(size, extended RCODE, version, flags, {code: data}) of the OPT record behind the question of a query."""
    *_, at = question(message)
    zero, kind, size, extended, version, flags, length = struct.unpack_from("!BHHBBHH", message, at)
    assert zero == 0 and kind == 41 and at + 11 + length == len(message), message.hex()
    at, options = at + 11, {}
    while at < len(message):
        code, size_of = struct.unpack_from("!HH", message, at)
        options[code] = message[at + 4:at + 4 + size_of]
        at += 4 + size_of
    return size, extended, version, flags, options
