#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A name server that misbehaves, one way per UDP port, on the far end of a veth pair; and other hosts there.

usage: peer.py MODE DEVICE          prints "ready", serves until SIGTERM, then prints what it did as JSON

  mischief   answer on 198.18.0.2, every port as MISCHIEF says
  flood      answer honestly on port 53, and after every answer send a frame of each broken kind
  answer     answer honestly on port 53 of each address of both families
  ping ADDRESS COUNT       (before DEVICE, which is not used) ping through the kernel and print how many answers came
  announce ADDRESS         (before DEVICE) say to all that DEVICE has the address: by ARP or by an advertisement
  tcp MOST   (no DEVICE) answer on port 53 over TCP and close after MOST messages; 0: never accept; -1: never close
  wire SHARE OTHER         (before DEVICE) carry frames between both devices; SHARE percent of the TCP segments of each
                           direction, or datagrams of port 853, are lost, as many doubled, and as many late: behind those of the next milliseconds
  xdp        attach an XDP program that lets all packets pass, and print its id; it stays behind

A row of MISCHIEF is a name, what it does with a query, and by how much each cell of the item's ledger grows per query.
The port of a row is FIRST_PORT plus its number.
"""

import ctypes
import json
import os
import random
import select
import signal
import socket
import struct
import sys
import time

ADDRESS = "198.18.0.2"
OTHER_ADDRESS = "198.18.0.77"
FIRST_PORT = 5300
LATE_S = 0.15  # beyond the timeout of the test's item, and before the slot is used again
BIG = 65507 - 12  # octets of a reply that is as long as UDP over IPv4 allows


def question_end(message):
    at = 12
    while message[at]:
        at += 1 + message[at]
    return at + 5


RECORD = b"\xc0\x0c" + struct.pack("!HHIH4s", 1, 1, 60, 4, b"\xc0\0\2\1")


def reply(query, *, ident=None, flags=0x8400, question=None, counts=(1, 1, 0, 0), rest=RECORD):
    """An answer with one A record, or what is made of it."""
    head = query[:2] if ident is None else ident
    asked = query[12:question_end(query)] if question is None else question
    return head + struct.pack("!5H", flags, *counts) + asked + rest


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF ^ total


def ipv4(src, dst, protocol, payload, *, flags=0, total=None):
    length = 20 + len(payload) if total is None else total
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, length, 7, flags, 64, protocol, 0,
                       socket.inet_aton(src), socket.inet_aton(dst))
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def udp(sport, dport, payload, length=None):
    return struct.pack("!4H", sport, dport, 8 + len(payload) if length is None else length, 0) + payload


class Peer:
    """The sockets: one per port through the kernel, and one for whole frames."""

    def __init__(self, device):
        self.raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self.raw.bind((device, 0))
        self.mac = self.raw.getsockname()[4]
        self.sockets = {}
        self.delayed = []
        self.sent = 0  # frames of ours that are no proper answer
        self.random = random.Random(1)

    def listen(self, port, address=ADDRESS):
        v6 = ":" in address
        sock = socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_DGRAM)
        if v6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        sock.bind((address, port))
        self.sockets[sock] = port

    def frame(self, ethertype, payload):
        return bytes.fromhex("020000000001") + self.mac + struct.pack("!H", ethertype) + payload

    def put(self, frame):
        self.raw.send(frame.ljust(14, b"\0"))
        self.sent += 1

    def forge(self, client, payload, source=ADDRESS, port=None):
        """A datagram that the kernel would not send: from another address, or cut."""
        self.put(self.frame(0x0800, ipv4(source, client[0], 17, udp(port, client[1], payload))))

    def later(self, sock, client, payload):
        self.delayed.append((time.monotonic() + LATE_S, sock, client, payload))

    def flush(self):
        while self.delayed and self.delayed[0][0] <= time.monotonic():
            _, sock, client, payload = self.delayed.pop(0)
            sock.sendto(payload, client)


# --- one function per way to misbehave: (peer, socket, client, query, number of the query) ------------------


def honest(peer, sock, client, query, n):
    sock.sendto(reply(query), client)


def silent(peer, sock, client, query, n):
    pass


def before(make):
    """Something wrong first, then the answer."""
    def act(peer, sock, client, query, n):
        sock.sendto(make(peer, query, n), client)
        sock.sendto(reply(query), client)
    return act


def instead(make):
    def act(peer, sock, client, query, n):
        sock.sendto(make(peer, query, n), client)
    return act


def cut(peer, query, n):
    """Over so many queries, an answer that ends at each of its octets."""
    whole = reply(query)
    return whole[:n % len(whole)]


LOOPS = (
    b"\xc0\x1e",                      # to itself (the owner of the record is at offset 30)
    b"\xc0\x20\xc0\x1e",              # there and back
    b"\x01a\xc0\x1e",                 # a label, and again
    b"\xff\xff",                      # far behind the end
    b"\xc0\x30",                      # forward
    b"\xc0\x02",                      # into the header
    b"\x40a", b"\x80a",               # label types that are no more
    b"\x3f" + b"a" * 20,              # a label that does not end
    (b"\x3f" + b"a" * 63) * 4 + b"\0",  # a name of more than 255 octets
    b"\xc0",                          # half a pointer
)


def loop(peer, query, n):
    owner = LOOPS[n % len(LOOPS)]
    end = question_end(query)
    owner = bytes(end if octet == 0x1E else octet for octet in owner)
    owner = bytes(end + 2 if octet == 0x20 else octet for octet in owner)
    rest = owner + RECORD[2:] if len(owner) != 1 else owner
    return reply(query, rest=rest)


def noise_query(peer, query, n):
    """Random octets that do not claim to be a reply."""
    data = bytearray(peer.random.randbytes(peer.random.randrange(1, 600)))
    if len(data) > 2:
        data[2] &= 0x7F
    return bytes(data)


def noise_reply(peer, query, n):
    """Random octets that do, with an ID that was not asked with."""
    data = bytearray(peer.random.randbytes(peer.random.randrange(12, 600)))
    data[:3] = other_id(query) + bytes([data[2] | 0x80])
    return bytes(data)


def noise_body(peer, query, n):
    """The right ID, QR and one question, and nothing that can be one: a label type that is no more."""
    return reply(query, question=b"\x7f", rest=peer.random.randbytes(peer.random.randrange(0, 600)))


def other_id(query):
    return bytes([query[0] ^ 0x55, query[1] ^ 0xAA])


def renamed(query):
    name = bytearray(query[12:question_end(query)])
    name[1] ^= 3
    return bytes(name)


def retyped(query, kind=16, klass=1):
    return query[12:question_end(query) - 4] + struct.pack("!HH", kind, klass)


def twice(peer, sock, client, query, n):
    sock.sendto(reply(query), client)
    sock.sendto(reply(query), client)


def late(peer, sock, client, query, n):
    peer.later(sock, client, reply(query))


def other_port(peer, sock, client, query, n):
    peer.forge(client, reply(query), port=FIRST_PORT - 1)
    honest(peer, sock, client, query, n)


def other_address(peer, sock, client, query, n):
    peer.forge(client, reply(query), source=OTHER_ADDRESS, port=peer.sockets[sock])
    honest(peer, sock, client, query, n)


def opt(extended=0, rdata=b""):
    return b"\0" + struct.pack("!HHIH", 41, 1232, extended << 24, len(rdata)) + rdata


MALFORMED, STRAY = {"answered": 1, "malformed": 1}, {"answered": 1, "stray": 1}
ANSWERED, LOST = {"answered": 1}, {"lost": 1}

MISCHIEF = [
    ("honest", honest, ANSWERED),
    ("silent", silent, LOST),
    ("cut_at_every_octet", before(cut), MALFORMED),
    ("compression_loops", before(loop), MALFORMED),
    ("noise_that_is_no_reply", before(noise_query), MALFORMED),
    ("noise_with_another_id", before(noise_reply), STRAY),
    ("noise_behind_the_header", before(noise_body), MALFORMED),
    ("the_query_itself", before(lambda p, q, n: q), MALFORMED),
    ("more_records_than_there_are", before(lambda p, q, n: reply(q, counts=(1, 0xFFFF, 0xFFFF, 0xFFFF))), MALFORMED),
    ("rdata_beyond_the_end", before(lambda p, q, n: reply(q, rest=RECORD[:-6] + b"\xff\xff" + RECORD[-4:])), MALFORMED),
    ("two_questions", before(lambda p, q, n: reply(q, counts=(2, 1, 0, 0))), MALFORMED),
    ("two_opt_records", before(lambda p, q, n: reply(q, counts=(1, 0, 0, 2), rest=opt() * 2)), MALFORMED),
    ("options_beyond_opt", before(
        lambda p, q, n: reply(q, counts=(1, 0, 0, 1), rest=opt(rdata=b"\0\x0a\0\x20abc"))), MALFORMED),
    ("another_id", before(lambda p, q, n: reply(q, ident=other_id(q))), STRAY),
    ("another_name", before(lambda p, q, n: reply(q, question=renamed(q))), STRAY),
    ("another_type", before(lambda p, q, n: reply(q, question=retyped(q))), STRAY),
    ("another_class", before(lambda p, q, n: reply(q, question=retyped(q, 1, 3))), STRAY),
    ("another_opcode", before(lambda p, q, n: reply(q, flags=0xA400)), STRAY),
    ("no_question", before(lambda p, q, n: reply(q, question=b"", counts=(0, 0, 0, 0), rest=b"")), STRAY),
    ("another_port", other_port, STRAY),
    ("another_address", other_address, STRAY),
    ("twice", twice, {"answered": 1, "duplicate": 1}),
    ("late", late, {"lost": 1, "late": 1}),
    ("sixty_four_kibibytes", instead(lambda p, q, n: reply(q, rest=bytes(BIG - question_end(q) + 12))), ANSWERED),
    ("refused", instead(lambda p, q, n: reply(q, flags=0x8405, counts=(1, 0, 0, 0), rest=b"")), {"failed": 1}),
    ("bad_version", instead(
        lambda p, q, n: reply(q, counts=(1, 0, 0, 1), rest=opt(extended=1))), {"failed": 1}),
    ("format_error_alone", instead(
        lambda p, q, n: reply(q, flags=0x8001, question=b"", counts=(0, 0, 0, 0), rest=b"")), {"failed": 1}),
    ("cut_by_the_server", instead(lambda p, q, n: reply(q, flags=0x8600, counts=(1, 0, 0, 0), rest=b"")), ANSWERED),
    ("more_behind_the_end", instead(lambda p, q, n: reply(q, rest=RECORD + b"more")), ANSWERED),
]


def serve(peer, actions):
    """Until SIGTERM. Returns how many queries each port has had."""
    counts = dict.fromkeys(peer.sockets.values(), 0)
    going = [True]
    signal.signal(signal.SIGTERM, lambda *_: going.clear())
    print("ready", flush=True)
    while going:
        for sock in select.select(peer.sockets, [], [], 0.002)[0]:
            query, client = sock.recvfrom(4096)
            port = peer.sockets[sock]
            actions[port](peer, sock, client, query, counts[port])
            counts[port] += 1
        peer.flush()
    return counts


def mischief(device):
    peer, actions = Peer(device), {}
    for number, (_, act, _) in enumerate(MISCHIEF):
        peer.listen(FIRST_PORT + number)
        actions[FIRST_PORT + number] = act
    counts = serve(peer, actions)
    return {name: counts[FIRST_PORT + n] for n, (name, _, _) in enumerate(MISCHIEF)}


# --- the flood ------------------------------------------------------------------------------------------------


def broken_frames(peer):
    """Frames of every kind that a port may meet, none of them a valid answer."""
    r, tester = peer.random, "198.18.0.1"
    noise = r.randbytes(r.randrange(0, 1400))
    port = r.randrange(1, 65536)
    v6 = struct.pack("!IHBB", 6 << 28, len(noise), 17, 64) + bytes(15) + b"\2" + bytes(15) + b"\1"
    chain = b"".join(struct.pack("!BB6x", r.choice((0, 43, 60)), 0) for _ in range(12))
    inner = ipv4(tester, ADDRESS, 17, udp(port, 53, b""))
    yield peer.frame(r.randrange(65536), noise)
    yield noise[:r.randrange(60)]
    yield peer.frame(0x0800, noise)
    yield peer.frame(0x86DD, noise)
    yield peer.frame(0x0806, noise[:40])
    yield peer.frame(0x8100, struct.pack("!HH", r.randrange(65536), 0x0800) + noise)
    yield peer.frame(0x88A8, (b"\0\1\x81\0" * 5) + noise)
    yield peer.frame(0x0800, ipv4(ADDRESS, tester, 17, udp(53, port, noise)))
    yield peer.frame(0x0800, ipv4(OTHER_ADDRESS, tester, 17, udp(port, 80, noise)))
    yield peer.frame(0x0800, ipv4(ADDRESS, tester, 17, udp(53, port, noise, length=r.randrange(65536))))
    yield peer.frame(0x0800, ipv4(ADDRESS, tester, 17, udp(53, port, noise), total=r.randrange(65536)))
    yield peer.frame(0x0800, ipv4(ADDRESS, tester, 17, noise, flags=r.choice((0x2000, 0x2001, 1, 0x1FFF))))
    icmp = struct.pack("!BBHI", r.randrange(256), r.randrange(16), 0, 0)
    yield peer.frame(0x0800, ipv4(ADDRESS, tester, 1, icmp + inner))
    yield peer.frame(0x0800, ipv4(ADDRESS, tester, r.randrange(256), noise))
    yield peer.frame(0x0800, ipv4(ADDRESS, tester, 17, b"")[:r.randrange(1, 21)])
    yield peer.frame(0x86DD, v6 + noise)
    yield peer.frame(0x86DD, v6[:6] + b"\0" + v6[7:] + chain)
    yield peer.frame(0x86DD, v6[:6] + b"\x3a" + v6[7:] + bytes([r.randrange(256)]) + noise)


def flood(device):
    peer = Peer(device)
    peer.listen(53)

    def act(peer, sock, client, query, n):
        honest(peer, sock, client, query, n)
        for frame in broken_frames(peer):
            if len(frame) >= 14:
                peer.put(frame)

    queries = serve(peer, {53: act})[53]
    return {"queries": queries, "sent": peer.sent}


# --- a server that moves --------------------------------------------------------------------------------------------


def answer(device):
    peer = Peer(device)
    for address in ("0.0.0.0", "::"):
        peer.listen(53, address)
    return {"queries": serve(peer, {53: honest})[53]}


def announcement(address, mac):
    """The whole frame: a gratuitous ARP request, or an unsolicited neighbour advertisement that overrides."""
    if ":" not in address:
        ip = socket.inet_aton(address)
        arp = struct.pack("!HHBBH6s4s6s4s", 1, 0x0800, 6, 4, 1, mac, ip, bytes(6), ip)
        return b"\xff" * 6 + mac + b"\x08\x06" + arp
    ip, everybody = socket.inet_pton(socket.AF_INET6, address), b"\xff\x02" + bytes(13) + b"\1"
    message = struct.pack("!BBHI16sBB6s", 136, 0, 0, 0x20 << 24, ip, 2, 1, mac)
    pseudo = ip + everybody + struct.pack("!II", len(message), 58)
    message = message[:2] + struct.pack("!H", checksum(pseudo + message)) + message[4:]
    head = struct.pack("!IHBB", 6 << 28, len(message), 58, 255) + ip + everybody
    return b"\x33\x33\0\0\0\1" + mac + b"\x86\xdd" + head + message


def announce(address, device):
    peer = Peer(device)
    peer.put(announcement(address, peer.mac))
    return {"sent": peer.sent}


# --- ping -------------------------------------------------------------------------------------------------------


def ping(address, count):
    """Echo requests through the kernel, which asks for the address first (ARP or ND)."""
    v6 = ":" in address
    family, protocol = (socket.AF_INET6, socket.IPPROTO_ICMPV6) if v6 else (socket.AF_INET, socket.IPPROTO_ICMP)
    answers = 0
    with socket.socket(family, socket.SOCK_RAW, protocol) as sock:
        sock.settimeout(1)
        sock.connect((address, 0))
        for n in range(count):
            # Long and of odd length, so that nothing short of the whole message echoes it.
            rest = struct.pack("!HH", os.getpid() & 0xFFFF, n) + os.urandom(57 + 400 * (n % 2))
            message = struct.pack("!BBH", 128 if v6 else 8, 0, 0) + rest
            if not v6:
                message = message[:2] + struct.pack("!H", checksum(message)) + rest
            sock.send(message)
            end = time.monotonic() + 1
            while time.monotonic() < end:
                try:
                    data = sock.recv(4096)
                except OSError:
                    break
                data = data if v6 else data[20:]
                if data[0] == (129 if v6 else 0) and data[4:] == rest:
                    answers += 1
                    break
    return {"asked": count, "answered": answers}


# --- TCP ---


def tcp_messages(sock, waiting):
    """What came with what waited: whole messages, and the rest."""
    data, found = waiting + sock.recv(65536), []
    while len(data) >= 2 and len(data) >= 2 + int.from_bytes(data[:2], "big"):
        end = 2 + int.from_bytes(data[:2], "big")
        found.append(data[2:end])
        data = data[end:]
    return found, data


def tcp_serve(most):
    """Answer and close after so many messages; those that came behind them are left unanswered."""
    listener = socket.create_server((ADDRESS, 53), backlog=1 if most == 0 else 128)
    waiting, asked, did = {}, {}, {"accepted": 0, "answered": 0}
    running = [True]
    signal.signal(signal.SIGTERM, lambda *_: running.clear())
    print("ready", flush=True)
    while running:
        for sock in select.select([*([listener] if most else []), *waiting], [], [], 0.05)[0]:
            if sock is listener:
                new, _ = listener.accept()
                waiting[new], asked[new] = b"", 0
                did["accepted"] += 1
                continue
            before = len(waiting[sock])
            try:
                messages, waiting[sock] = tcp_messages(sock, waiting[sock])
            except ConnectionError:
                messages = []
                before = len(waiting[sock])
            take = messages[:most - asked[sock]] if most > 0 else messages
            for message in take:
                answer = reply(message)
                sock.sendall(struct.pack("!H", len(answer)) + answer)
            asked[sock] += len(take)
            did["answered"] += len(take)
            if asked[sock] == most or (not messages and len(waiting[sock]) == before):
                del waiting[sock]
                sock.close()
    return did


# --- a wire that is not to be relied on ---

LATE_MOST_S = 0.003
FATES = ("lost", "doubled", "late")
PACKET_OUTGOING, SO_RCVBUFFORCE = 4, 33


def is_of_load(frame):
    kind, at = (frame[23], 34) if frame[12:14] == b"\x08\0" else (frame[20], 54) if frame[12:14] == b"\x86\xdd" else (0, 0)
    return kind == 6 or kind == 17 and b"\x03\x55" in (frame[at:at + 2], frame[at + 2:at + 4])


def wire_fates(luck, share):
    """What befalls one segment after the other: each thing once among so many segments, at a random place."""
    block = [*FATES, *[None] * (100 // share - len(FATES))]
    while True:
        luck.shuffle(block)
        yield from block


def wire(share, *devices):
    """Until SIGTERM; the same seed each time. What it did in each direction, by the device that it came from."""
    luck, going, waiting, sockets = random.Random(1), [True], [], {}
    did = {device: dict.fromkeys(("segments", *FATES), 0) for device in devices}
    fates = {device: wire_fates(luck, share) for device in devices}
    for device in devices:
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
        sock.bind((device, 0))
        sockets[sock] = device
    ends = dict(zip(sockets, reversed(sockets)))
    signal.signal(signal.SIGTERM, lambda *_: going.clear())
    print("ready", flush=True)
    while going:
        for sock in select.select(sockets, [], [], 0.001 if waiting else 0.05)[0]:
            frame, (_, _, kind, *_) = sock.recvfrom(65536)
            if kind == PACKET_OUTGOING:
                continue
            fate = None
            if is_of_load(frame):
                fate = next(fates[sockets[sock]])
                did[sockets[sock]]["segments"] += 1
            if fate:
                did[sockets[sock]][fate] += 1
            if fate == "late":
                waiting.append((time.monotonic() + luck.uniform(0, LATE_MOST_S), ends[sock], frame))
            else:
                for _ in range({"lost": 0, "doubled": 2}.get(fate, 1)):
                    ends[sock].send(frame)
        now = time.monotonic()
        for _, sock, frame in [one for one in waiting if one[0] <= now]:
            sock.send(frame)
        waiting = [one for one in waiting if one[0] > now]
    return did


# --- xdp --------------------------------------------------------------------------------------------------------

SYS_BPF = {"x86_64": 321, "aarch64": 280}
BPF_PROG_LOAD, BPF_OBJ_GET_INFO_BY_FD, BPF_PROG_TYPE_XDP = 5, 15, 6
RETURN_XDP_PASS = struct.pack("<BBhi", 0xB7, 0, 0, 2) + struct.pack("<BBhi", 0x95, 0, 0, 0)  # r0 = 2; exit
RTM_SETLINK, NLM_F_REQUEST_ACK = 19, 5
IFLA_XDP, IFLA_XDP_FD, IFLA_XDP_FLAGS, XDP_FLAGS_SKB_MODE = 43, 1, 3, 2


def bpf(command, attributes):
    got = ctypes.CDLL(None, use_errno=True).syscall(SYS_BPF[os.uname().machine], command, attributes, len(attributes))
    if got < 0:
        raise OSError(ctypes.get_errno(), "bpf")
    return got


def netlink_attribute(kind, value):
    return struct.pack("=HH", 4 + len(value), kind) + value


def xdp(device):
    """In the kernel's mode (generic), which changes nothing else about the interface."""
    code, licence = ctypes.create_string_buffer(RETURN_XDP_PASS), ctypes.create_string_buffer(b"GPL")
    load = struct.pack("=IIQQIIQI", BPF_PROG_TYPE_XDP, 2, ctypes.addressof(code), ctypes.addressof(licence), 0, 0, 0, 0)
    program = bpf(BPF_PROG_LOAD, load)
    info = ctypes.create_string_buffer(256)
    bpf(BPF_OBJ_GET_INFO_BY_FD, struct.pack("=IIQ", program, len(info), ctypes.addressof(info)))
    nest = (netlink_attribute(IFLA_XDP_FD, struct.pack("=i", program))
            + netlink_attribute(IFLA_XDP_FLAGS, struct.pack("=I", XDP_FLAGS_SKB_MODE)))
    body = struct.pack("=BxHiII", 0, 0, socket.if_nametoindex(device), 0, 0) + netlink_attribute(IFLA_XDP | 0x8000, nest)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        netlink.send(struct.pack("=IHHII", 16 + len(body), RTM_SETLINK, NLM_F_REQUEST_ACK, 1, 0) + body)
        error = struct.unpack_from("=i", netlink.recv(4096), 16)[0]
    if error:
        raise OSError(-error, "XDP program not attached")
    return {"id": struct.unpack_from("=I", info, 4)[0]}


def main(argv):
    mode, *rest = argv
    if mode == "ping":
        outcome = ping(rest[0], int(rest[1]))
    elif mode == "tcp":
        outcome = tcp_serve(int(rest[0]))
    elif mode == "wire":
        outcome = wire(int(rest[0]), *rest[1:])
    elif mode == "announce":
        outcome = announce(*rest)
    else:
        outcome = {"mischief": mischief, "flood": flood, "answer": answer, "xdp": xdp}[mode](rest[0])
    print(json.dumps(outcome), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
