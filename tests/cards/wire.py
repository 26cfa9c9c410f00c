# SPDX-License-Identifier: BSD-3-Clause
"""A name server on the hub of the cards, outside of the guest, whose answers are as long as the test wants.

QEMU brings each frame of the hub as a datagram. Only what the tester's port needs is there: ARP, and DNS over IPv4.
"""

import socket
import struct
import sys
import threading

from harness import ROOT

sys.path.insert(0, str(ROOT / "tests" / "live"))
from peer import ipv4, question_end, reply, udp

ADDRESS = "198.18.0.9"
MAC = bytes.fromhex("020000000009")


def text_record(size):
    """A TXT record of so many bytes of strings."""
    strings = b"".join(bytes([len(part)]) + part for part in (b"x" * min(255, size - at) for at in range(0, size, 255)))
    return b"\xc0\x0c" + struct.pack("!HHIH", 16, 1, 60, len(strings)) + strings


class Wire:
    """Answers until the guest ends. path: of the datagram socket that frames come to; there: QEMU's."""

    def __init__(self, path, there):
        self.socket, self.there, self.size = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), there, 100
        self.socket.bind(path)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            frame = self.socket.recv(65536)
            answer = self.answer(frame)
            if answer:
                self.socket.sendto((frame[6:12] + MAC + answer).ljust(60, b"\0"), self.there)

    def answer(self, frame):
        own = socket.inet_aton(ADDRESS)
        if frame[12:14] == b"\x08\x06" and frame[20:22] == b"\0\1" and frame[38:42] == own:
            return frame[12:20] + b"\0\2" + MAC + own + frame[22:32]
        ip = frame[14:]
        if frame[12:14] != b"\x08\0" or ip[16:20] != own or ip[9] != 17:
            return None
        (port,) = struct.unpack_from("!H", ip, 20)
        query = ip[28:struct.unpack_from("!H", ip, 2)[0]]
        message = reply(query[:question_end(query)], rest=text_record(self.size))
        return b"\x08\0" + ipv4(ADDRESS, socket.inet_ntoa(ip[12:16]), 17, udp(53, port, message))
