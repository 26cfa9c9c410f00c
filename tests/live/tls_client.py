#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: tls_client.py KIND ADDRESS

A client of DNS over TLS that misbehaves, by TLS in memory. Prints how the connection ended, or how many octets of answers
it has read:

  garbage     the header of a record that is too long, and 70 000 octets
  random      200 connections with a record of random octets as ClientHello
  half_hello  the first 100 octets of ClientHello, and FIN
  hello_rst   100 connections that are reset after ClientHello
  flip        a query whose record has a wrong bit
  bytes       handshake and query in segments of one octet
  flood       20 000 queries, 100 in a record, before it reads
"""

import random
import socket
import ssl
import struct
import sys

QUERY = b"\x12\x34\x01\0\0\1\0\0\0\0\0\0\2h1\7example\3com\0\0\1\0\1"
MESSAGE = struct.pack("!H", len(QUERY)) + QUERY
QUIET_S = 1  # no more answers are expected then


def connect(address):
    sock = socket.create_connection((address, 853), timeout=5)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def end(sock):
    try:
        while sock.recv(65536):
            pass
    except ConnectionError:
        return "reset"
    except TimeoutError:
        return "open"
    return "closed"


class Client:
    def __init__(self, address):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self.sock, self.into, self.out = connect(address), ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.into, self.out)

    def hello(self):
        try:
            self.tls.do_handshake()
        except ssl.SSLWantReadError:
            return self.out.read()

    def octets(self, data):
        for i in range(len(data)):
            self.sock.sendall(data[i:i + 1])

    def shake(self, send=None):
        send = send or self.sock.sendall
        while (data := self.hello()) is not None:
            send(data)
            self.into.write(self.sock.recv(65536))
        send(self.out.read())

    def record(self, data):
        self.tls.write(data)
        return self.out.read()

    def read(self):
        count = 0
        self.sock.settimeout(QUIET_S)
        while True:
            try:
                count += len(self.tls.read(65536))
            except ssl.SSLWantReadError:
                try:
                    self.into.write(self.sock.recv(65536))
                except TimeoutError:
                    return count


def garbage(address):
    sock = connect(address)
    sock.sendall(b"\x16\x03\x03\xff\xff" + b"x" * 70000)
    return end(sock)


def random_hello(address):
    luck = random.Random(3)
    for _ in range(200):
        with connect(address) as sock:
            n = luck.randint(2, 2000)
            sock.sendall(b"\x16\x03\x01" + struct.pack("!H", n) + b"\1" + luck.randbytes(n - 1))
    return "done"


def half_hello(address):
    client = Client(address)
    client.sock.sendall(client.hello()[:100])
    client.sock.shutdown(socket.SHUT_WR)
    return end(client.sock)


def hello_rst(address):
    for _ in range(100):
        client = Client(address)
        client.sock.sendall(client.hello())
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.sock.close()
    return "done"


def flip(address):
    client = Client(address)
    client.shake()
    record = bytearray(client.record(MESSAGE))
    record[9] ^= 1
    client.sock.sendall(record)
    return end(client.sock)


def by_octets(address):
    client = Client(address)
    client.shake(client.octets)
    client.octets(client.record(MESSAGE))
    return client.read()


def flood(address):
    client = Client(address)
    client.shake()
    for _ in range(200):
        client.sock.sendall(client.record(MESSAGE * 100))
    return client.read()


KINDS = {"garbage": garbage, "random": random_hello, "half_hello": half_hello, "hello_rst": hello_rst, "flip": flip,
         "bytes": by_octets, "flood": flood}
print(KINDS[sys.argv[1]](sys.argv[2]))
