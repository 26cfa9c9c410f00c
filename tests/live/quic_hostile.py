#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: quic_hostile.py KIND

UDP port 853 of all addresses, which answers each datagram like no server of QUIC does, until it is killed:

  mute        nothing
  random      1 200 random octets
  versions    version negotiation without a version of ours
  ours        version negotiation that names the client's own version, which a client ignores (RFC 9000 section 6.2)
  astray      version negotiation for connections of others
  reset       a short header and random octets, as in a stateless reset
  echo        the datagram itself
  pieces      its first 30 octets
"""

import os
import socket
import struct
import sys


def ids(datagram):
    """Those of the server's packet: source, then destination of the client's."""
    at = 6 + datagram[5]
    return datagram[at + 1:at + 1 + datagram[at]], datagram[6:at]


def negotiation(to, source, *versions):
    return struct.pack("!BI", 0x80 | os.urandom(1)[0], 0) + bytes([len(to)]) + to + bytes([len(source)]) + source + struct.pack(f"!{len(versions)}I", *versions)


KINDS = {
    "mute": lambda datagram: None,
    "random": lambda datagram: os.urandom(1200),
    "versions": lambda datagram: negotiation(*ids(datagram), 0x0A0A0A0A, 0xFF00001D),
    "ours": lambda datagram: negotiation(*ids(datagram), 0x0A0A0A0A, struct.unpack_from("!I", datagram, 1)[0]),
    "astray": lambda datagram: negotiation(os.urandom(8), os.urandom(8), 0x0A0A0A0A),
    "reset": lambda datagram: bytes([0x40 | os.urandom(1)[0] & 0x3F]) + os.urandom(42),
    "echo": lambda datagram: datagram,
    "pieces": lambda datagram: datagram[:30],
}

with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sock:
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    sock.bind(("::", 853))
    print("ready", flush=True)
    while True:
        received, peer = sock.recvfrom(2048)
        answer = KINDS[sys.argv[1]](received) if received[0] & 0x80 else None
        if answer:
            sock.sendto(answer, peer)
