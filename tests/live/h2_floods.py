#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# A client of HTTP/2 that sends a server (ADDRESS) more of a kind of frames than it should bear, or just as many as it
# should. Prints, as JSON, the error with which the server ended each connection; null: it answers on.
import json
import socket
import ssl
import sys

DATA, HEADERS, PRIORITY, SETTINGS, PING, GOAWAY, CONTINUATION = 0, 1, 2, 4, 6, 7, 9
END_STREAM, ACK, END_HEADERS = 1, 1, 4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
POST = b"\x83\x87\x04\x0a/dns-query\x0f\x10\x17application/dns-message"
GET = b"\x82"  # the start of a block


def frame(kind, flags=0, stream=0, content=b""):
    return len(content).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + content


SETTING = b"\0\x09\0\0\0\0"  # an unknown one
FRAMES = {
    "32_settings": frame(SETTINGS, content=32 * SETTING),
    "33_settings": frame(SETTINGS, content=33 * SETTING),
    "900_pings": 900 * frame(PING, content=bytes(8)),
    "2000_pings": 2000 * frame(PING, content=bytes(8)),
    "2000_priorities": 2000 * frame(PRIORITY, stream=1, content=bytes(5)),
    "2000_empty_contents": frame(HEADERS, END_HEADERS, 1, POST) + 2000 * frame(DATA, stream=1),
    "2000_empty_parts": frame(HEADERS, 0, 1, GET) + 2000 * frame(CONTINUATION, stream=1),
    "a_long_block": frame(HEADERS, 0, 1, GET) + 3 * frame(CONTINUATION, stream=1, content=16000 * GET),
}


def frames_of(octets):
    while len(octets) >= 9 + int.from_bytes(octets[:3], "big"):
        whole = 9 + int.from_bytes(octets[:3], "big")
        yield octets[3], octets[4], octets[9:whole]
        octets = octets[whole:]


def outcome(context, address, octets):
    """The error of GOAWAY; None: the last frame, a ping, was answered."""
    with context.wrap_socket(socket.create_connection((address, 443), 10)) as conn:
        conn.sendall(PREFACE + frame(SETTINGS) + octets + frame(PING, content=b"the last"))
        got = b""
        while True:
            more = conn.recv(65536)
            got += more
            for kind, flags, content in frames_of(got):
                if kind == GOAWAY:
                    return int.from_bytes(content[4:8], "big")
                if kind == PING and flags & ACK and content == b"the last":
                    return None
            if not more:
                return -1


context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
context.set_alpn_protocols(["h2"])
print(json.dumps({name: outcome(context, sys.argv[1], octets) for name, octets in FRAMES.items()}))
