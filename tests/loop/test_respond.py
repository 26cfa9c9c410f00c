#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# The responder on its own: it reads queries from a packet file, good and broken ones, and writes what it answers to
# another.

import contextlib
import json
import os
import random
import re
import signal
import struct
import tempfile
import time
from pathlib import Path

from harness import binary, kill, main, start, test, until
from loop import SERVER_MAC, fold, parse_udp, pcap_read, pcap_write, question

CLIENT_MAC = bytes.fromhex("020000000099")
CLIENT, SERVER = bytes((198, 18, 0, 9)), bytes((198, 18, 0, 2))


def query(name="h1.example.com", kind=1, ident=7, flags=0x0100, tail=b"", extra=0):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack("!6H", ident, flags, 1, 0, 0, extra) + labels + b"\0" + struct.pack("!HH", kind, 1) + tail


def frame(payload, dport=53, dst=SERVER):
    udp = struct.pack("!4H", 4000, dport, 8 + len(payload), 0) + payload
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, CLIENT, dst)
    ip = ip[:10] + struct.pack("!H", 0xFFFF ^ fold(ip)) + ip[12:]
    return SERVER_MAC + CLIENT_MAC + b"\x08\0" + ip + udp


def has_read(process, path):
    """Is it at the end of that file?"""
    with contextlib.suppress(OSError):
        for fd in Path(f"/proc/{process.pid}/fd").iterdir():
            if os.readlink(fd) == str(path):
                at = re.search(r"^pos:\s*(\d+)", Path(f"/proc/{process.pid}/fdinfo/{fd.name}").read_text(), re.M)[1]
                return int(at) == path.stat().st_size
    return False


def totals_of(process, words, seconds=30):
    """What it said on stderr, asked for its totals again and again until they are these; "": the same three times."""
    said, end = "", time.monotonic() + seconds
    os.set_blocking(process.stderr.fileno(), False)
    while words not in said if words else not re.search(r"(received .*\n)\1\1$", said):
        assert process.poll() is None and time.monotonic() < end, said
        process.send_signal(signal.SIGUSR1)
        time.sleep(0.2)
        with contextlib.suppress(BlockingIOError):
            said += os.read(process.stderr.fileno(), 65536).decode()
    return said


def respond(frames, totals="", **dns):
    """(JSON result, frames that it sent) for frames that it received; with totals what it said on stderr, too."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in.pcap").write_bytes(pcap_write(frames))
        (folder / "r.yaml").write_text(json.dumps({
            "run": {"interval": "100ms"},
            "ports": [{"name": "dut", "driver": "pcap", "rx_file": str(folder / "in.pcap"),
                       "tx_file": str(folder / "out.pcap"), "addresses": ["198.18.0.2/24"]}],
            "responder": {"port": "dut", "dns": dns},
        }))
        out = folder / "result.json"
        with start([binary(), "respond", str(folder / "r.yaml"), "--json", str(out)]) as process:
            try:
                assert any(" s  " in line for line in process.stdout), process.stderr.read()
                until(lambda: has_read(process, folder / "in.pcap"), "the end of the packets", 60)
                said = totals_of(process, totals)
                process.send_signal(signal.SIGINT)
                _, err = process.communicate(timeout=10)
            except BaseException:
                kill(process)
                raise
        assert process.returncode == 0, err
        seen = json.loads(out.read_text()), pcap_read(folder / "out.pcap")
        return (*seen, said) if totals else seen


@test
def it_tells_its_totals_when_asked():
    result, _, said = respond([frame(query(ident=n)) for n in range(5)], totals="received 5, answered 5\n")
    assert result["responder"]["received"] == 5, (result, said)


@test
def it_answers_each_type_with_one_record():
    frames = [frame(query(kind=kind, ident=kind)) for kind in (1, 28, 16, 15)]
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
    long = frame(query(kind=16, tail=b"\0" + struct.pack("!HHIH", 41, 4096, 0, len(option)) + option, extra=1))
    # Alone, the last fragment first, and one that stays alone.
    result, out = respond([*cut(long, 1480, 1), *cut(long, 800, 2)[::-1], cut(long, 1480, 3)[0]], text="y" * 3900)
    other, own = result["ports"][0]["other"], result["responder"]
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
        frame(query()[:11]), frame(b""), frame(query(flags=0x8100)),                    # ignored
        frame(query()[:20]), frame(query(tail=opt * 2, extra=2)), frame(query(extra=1)),  # FORMERR
        frame(query(flags=0x2000)), frame(query(flags=0x2800)),                         # NOTIMP
        frame(query(), dport=54), frame(query(), dst=bytes((198, 18, 0, 3))),           # not for it
    ]
    result, out = respond(frames)
    own = result["responder"]["protocols"][0]["dns"]
    assert (own["received"], own["answered"], own["ignored"]) == (8, 5, 3), own
    assert (own["malformed"], own["not_implemented"]) == (3, 2), own
    rcodes = [parse_udp(data).payload[3] & 15 for data in out]
    assert rcodes == [1, 1, 1, 4, 4], rcodes
    assert result["ports"][0]["other"]["unmatched"] == 2, result["ports"]


@test
def no_garbage_brings_it_down():
    source = random.Random(1)
    frames = []
    for n in range(20000):
        good = bytearray(frame(query(f"h{n}.example.com", tail=b"\0\0\x29\4\xd0\0\0\0\0\0\0", extra=1)))
        for _ in range(n % 8):
            good[source.randrange(len(good))] = source.randrange(256)
        frames.append(bytes(good[:source.randrange(14, len(good) + 1)] if n % 5 == 0 else good))
    frames += [source.randbytes(source.randrange(14, 1514)) for _ in range(5000)]
    frames.append(frame(query("last.example.com", ident=0xFFFF)))
    result, out = respond(frames)
    port = result["ports"][0]
    assert port["rx_packets"] == len(frames), port
    assert result["responder"]["answered"] > 1000, result["responder"]
    answers = [packet for packet in map(parse_udp, out) if packet]
    assert len(answers) >= result["responder"]["answered"] * 0.99
    assert any(packet.payload[:2] == b"\xff\xff" for packet in answers[-3:]), "the last one is good"


main()
