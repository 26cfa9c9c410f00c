# SPDX-License-Identifier: BSD-3-Clause
"""Servers over TLS on the loopback interface whose every octet is a test's own."""

import contextlib
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
from pathlib import Path

QUIET_S = 5  # a connection whose client sends nothing for so long is closed


def make_certificate(folder, names=1):
    """A file with certificate and key."""
    file = Path(folder) / f"{names}.pem"
    extra = ",".join(f"DNS:h{i}.a-rather-long-name.dns.example" for i in range(names))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
                    "-subj", "/CN=dns.example", "-addext", f"subjectAltName={extra}", "-keyout", f"{file}.key", "-out", file],
                   check=True, capture_output=True)
    file.write_text(file.read_text() + Path(f"{file}.key").read_text())
    return str(file)


def make_chain(folder, key):
    """Files with the certificates of a chain of about 8 000 octets and the key of the first one ("rsa:2048", "ec:P-384"), and with its root."""
    folder = Path(folder)

    def openssl(*words):
        subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)

    openssl("genpkey", "-algorithm", "rsa", "-pkeyopt", "rsa_keygen_bits:3072", "-out", folder / "ca.key")
    kind, _, size = key.partition(":")
    openssl("genpkey", "-algorithm", kind, "-pkeyopt", f"rsa_keygen_bits:{size}" if kind == "rsa" else f"ec_paramgen_curve:{size}", "-out", folder / "leaf.key")
    openssl("req", "-x509", "-key", folder / "ca.key", "-days", "30", "-subj", "/CN=root", "-out", folder / "0.pem")
    for n in range(1, 6):
        leaf = n == 5
        (folder / "extensions").write_text("subjectAltName=DNS:dns.example\n" if leaf else f"basicConstraints=critical,CA:TRUE\nnsComment={'c' * 750}\n")
        openssl("req", "-new", "-key", folder / ("leaf.key" if leaf else "ca.key"), "-subj", f"/CN={'dns.example' if leaf else n}", "-out", folder / "request")
        openssl("x509", "-req", "-in", folder / "request", "-CA", folder / f"{n - 1}.pem", "-CAkey", folder / "ca.key", "-set_serial", n, "-days", "30",
                "-extfile", folder / "extensions", "-out", folder / f"{n}.pem")
    (folder / "chain.pem").write_text("".join((folder / f"{n}.pem").read_text() for n in range(5, 0, -1)) + (folder / "leaf.key").read_text())
    return str(folder / "chain.pem"), str(folder / "0.pem")


class Gone(Exception):
    """The client has ended the connection."""


class Client:
    """A connection, with TLS in memory: every octet on the wire is the behaviour's own."""

    def __init__(self, sock, context):
        self.sock, self.into, self.out = sock, ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.into, self.out, server_side=True)
        self.waiting, self.asked = b"", 0

    def receive(self):
        data = self.sock.recv(65536)
        if not data:
            raise Gone
        self.into.write(data)

    def flight(self):
        """What TLS wants to send."""
        return self.out.read()

    def shake(self, send=None):
        while True:
            try:
                self.tls.do_handshake()
                (send or self.sock.sendall)(self.flight())
                return
            except ssl.SSLWantReadError:
                (send or self.sock.sendall)(self.flight())
                self.receive()
            except ssl.SSLError:
                self.sock.sendall(self.flight())  # an alert
                raise

    def more(self):
        """Adds the next octets of the client to `waiting`."""
        while True:
            try:
                data = self.tls.read(65536)
                if not data:
                    raise Gone  # close_notify
                self.waiting += data
                return
            except ssl.SSLWantReadError:
                self.receive()
            except ssl.SSLZeroReturnError:
                raise Gone from None

    def queries(self):
        """The next whole messages."""
        while True:
            self.more()
            found = []
            while len(self.waiting) >= 2 and len(self.waiting) >= 2 + (length := struct.unpack("!H", self.waiting[:2])[0]):
                found.append(self.waiting[2:2 + length])
                self.waiting = self.waiting[2 + length:]
            if found:
                self.asked += len(found)
                return found

    def record(self, data):
        self.tls.write(data)
        return self.flight()

    def answer(self, query):
        message = query[:2] + b"\x81\x80" + query[4:]
        return struct.pack("!H", len(message)) + message


class Peer:
    """behave(client): called for each connection; the socket is closed after it. contexts: connections take one after the other."""

    def __init__(self, behave, **settings):
        self.behave, self.settings = behave, settings
        self.accepted, self.asked, self.shaken, self.resumed, self.errors, self.ending = 0, 0, 0, 0, [], False

    def context(self, folder):
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.load_cert_chain(self.settings.get("certificate") or make_certificate(folder, self.settings.get("names", 1)))
        if "version" in self.settings:
            made.minimum_version = made.maximum_version = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}[self.settings["version"]]
        made.set_alpn_protocols(self.settings.get("alpn", ["dot"]))
        if "tickets" in self.settings:
            made.num_tickets = self.settings["tickets"]
        if "curve" in self.settings:
            made.set_ecdh_curve(self.settings["curve"])
        if self.settings.get("wants_certificate"):
            made.verify_mode = ssl.CERT_REQUIRED
        return made

    def serve(self, sock, number):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(QUIET_S)
        client = self.settings.get("client", Client)(sock, self.made[number % len(self.made)])
        try:
            self.behave(client)
        except (Gone, OSError):  # ssl.SSLError is an OSError
            pass
        except Exception as error:  # reported by the test
            self.errors.append(repr(error))
        self.asked += client.asked
        with contextlib.suppress(ValueError):
            self.resumed += bool(client.tls.session_reused)
        sock.close()

    def accept(self):
        while not self.ending:
            with contextlib.suppress(TimeoutError):
                sock, _ = self.listener.accept()
                one = threading.Thread(target=self.serve, args=(sock, self.accepted))
                self.accepted += 1
                one.start()
                self.threads.append(one)

    def __enter__(self):
        with tempfile.TemporaryDirectory() as folder:
            self.made = [self.context(folder) for _ in range(self.settings.get("contexts", 1))]
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.listener.settimeout(0.05)
        self.port, self.threads = self.listener.getsockname()[1], []
        self.thread = threading.Thread(target=self.accept)
        self.thread.start()
        return self

    def __exit__(self, kind, *_):
        self.ending = True
        self.thread.join()
        for one in self.threads:
            one.join()
        self.listener.close()
        assert kind or not self.errors, self.errors
