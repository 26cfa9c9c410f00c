#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# The responder and packets of any kind: it reads queries from a packet file, good and broken ones, and writes what it answers to
# another. The run lasts as long as its tester looks for a server behind a port that leads nowhere. `ddiperf respond`:
# tests/loop/test_respond.py.

import json
import random
import struct
import tempfile
from pathlib import Path

from harness import EXIT, ddiperf, main, test
from loop import CLIENT, CLIENT_MAC, SERVER, datagram, fold, item, parse_udp, pcap_read, pcap_write, query, question


def respond(frames, **dns):
    """(JSON result, frames that it sent) for frames that it received."""
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as name:
        folder = Path(name)
        (folder / "in.pcap").write_bytes(pcap_write(frames))
        result = ddiperf(json.dumps({
            "ports": [{"name": "hole", "driver": "null", "addresses": ["198.18.0.1/24"]},
                      {"name": "dut", "driver": "pcap", "rx_file": str(folder / "in.pcap"),
                       "tx_file": str(folder / "out.pcap"), "addresses": ["198.18.0.2/24"]}],
            "traffic": [item(port="hole")],
            "responder": {"port": "dut", "dns": dns},
        }))
        assert result.code == EXIT["unreachable"], result
        return result.json, pcap_read(folder / "out.pcap")


@test
def it_answers_each_type_with_one_record():
    frames = [datagram(query(kind=kind, ident=kind)) for kind in (1, 28, 16, 15)]
    result, out = respond(frames, address="192.0.2.7", address6="2001:db8::7", text="hello", ttl="90s")
    answers = [parse_udp(data) for data in out]
    assert len(answers) == 4 and result["responder"]["answered"] == 4, result
    rdata = (bytes((192, 0, 2, 7)), bytes.fromhex("20010db8" + "0" * 23 + "7"), b"\5hello", None)
    for answer, kind, data in zip(answers, (1, 28, 16, 15), rdata):
        ident, flags, questions, records = struct.unpack_from("!4H", answer.payload)
        assert (ident, flags & 0x8400, questions, records) == (kind, 0x8400, 1, int(data is not None)), answer
        assert (answer.src, answer.dst, answer.sport, answer.dport) == (SERVER, CLIENT, 53, 4000), answer
        assert answer.frame[:6] == CLIENT_MAC
        name, asked, at = question(answer.payload)
        assert (name, asked) == ("h1.example.com", kind)
        if data:
            assert answer.payload[at:] == struct.pack("!HHHIH", 0xC00C, kind, 1, 90, len(data)) + data


def cut(data, room, ident):
    """The fragments of an IPv4 frame."""
    pieces = []
    for at in range(0, len(data) - 34, room):
        piece, more = data[34 + at:34 + at + room], at + room < len(data) - 34
        ip = data[14:16] + struct.pack("!HHH", 20 + len(piece), ident, more << 13 | at // 8) + data[22:24] + b"\0\0" + data[26:34]
        pieces.append(data[:14] + ip[:10] + struct.pack("!H", 0xFFFF ^ fold(ip)) + ip[12:] + piece)
    return pieces


@test
def a_long_request_and_its_long_answer_are_in_fragments():
    option = struct.pack("!HH", 65001, 2000) + bytes(2000)
    long = datagram(query(kind=16, tail=b"\0" + struct.pack("!HHIH", 41, 4096, 0, len(option)) + option, extra=1))
    # Alone, the last fragment first, and one that stays alone.
    result, out = respond([*cut(long, 1480, 1), *cut(long, 800, 2)[::-1], cut(long, 1480, 3)[0]], text="y" * 3900)
    other, own = result["ports"][1]["other"], result["responder"]
    assert (other["fragments"], other["reassembled"], other["not_reassembled"]) == (6, 2, {"incomplete": 1}), other
    assert (own["received"], own["answered"], own["fragmented"]) == (2, 2, 2), own
    assert len(out) == 6 and len({data[18:20] for data in out}) == 2, [data[14:34].hex() for data in out]
    for three in (out[:3], out[3:]):
        flags = [struct.unpack_from("!H", data, 20)[0] for data in three]
        assert flags == [0x2000, 0x2000 | 185, 370] and all(fold(data[14:34]) == 0xFFFF for data in three), flags
        assert all(len(data) - 14 == struct.unpack_from("!H", data, 16)[0] <= 1500 for data in three)
        whole = b"".join(data[34:] for data in three)
        ip = three[0][14:16] + struct.pack("!HI", 20 + len(whole), 0) + three[0][22:24] + b"\0\0" + three[0][26:34]
        answer = parse_udp(three[0][:14] + ip[:10] + struct.pack("!H", 0xFFFF ^ fold(ip)) + ip[12:] + whole)
        at = question(answer.payload)[2] + 12
        strings = [answer.payload[at + 256 * n:at + 256 * n + 256] for n in range(15)]
        assert strings == [b"\xff" + b"y" * 255] * 15, answer.payload[:64]
        assert answer.payload[at + 3840:].startswith(b"\x4b" + b"y" * 75 + b"\0\0\x29"), answer.payload[at + 3840:]


@test
def what_is_broken_is_refused_or_ignored_and_counted():
    opt = b"\0" + struct.pack("!HHIH", 41, 1232, 0, 0)
    frames = [
        datagram(query()[:11]), datagram(b""), datagram(query(flags=0x8100)),                    # ignored
        datagram(query()[:20]), datagram(query(tail=opt * 2, extra=2)), datagram(query(extra=1)),  # FORMERR
        datagram(query(flags=0x2000)), datagram(query(flags=0x2800)),                         # NOTIMP
        datagram(query(), dport=54), datagram(query(), dst=bytes((198, 18, 0, 3))),           # not for it
    ]
    result, out = respond(frames)
    own = result["responder"]["protocols"][0]["dns"]
    assert (own["received"], own["answered"], own["ignored"]) == (8, 5, 3), own
    assert (own["malformed"], own["not_implemented"]) == (3, 2), own
    rcodes = [parse_udp(data).payload[3] & 15 for data in out]
    assert rcodes == [1, 1, 1, 4, 4], rcodes
    assert result["ports"][1]["other"]["unmatched"] == 2, result["ports"]


@test
def no_garbage_brings_it_down():
    source = random.Random(1)
    frames = []
    for n in range(20000):
        good = bytearray(datagram(query(f"h{n}.example.com", tail=b"\0\0\x29\4\xd0\0\0\0\0\0\0", extra=1)))
        for _ in range(n % 8):
            good[source.randrange(len(good))] = source.randrange(256)
        frames.append(bytes(good[:source.randrange(14, len(good) + 1)] if n % 5 == 0 else good))
    frames += [source.randbytes(source.randrange(14, 1514)) for _ in range(5000)]
    frames.append(datagram(query("last.example.com", ident=0xFFFF)))
    result, out = respond(frames)
    port = result["ports"][1]
    assert port["rx_packets"] == len(frames), port
    assert len(out) == result["responder"]["answered"] > 5000, result["responder"]
    assert [parse_udp(data) for data in out][-1].payload[:2] == b"\xff\xff", "the last one is good"


main()
