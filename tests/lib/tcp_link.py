# SPDX-License-Identifier: BSD-3-Clause
"""A link of TCP connections to a server of this host: each direction has its own delay, and it can be cut, slow or faulty."""

import contextlib
import queue
import socket
import threading
import time

PIECE = 65536


class Way:
    """One direction of a connection. What has come goes on in order, not before its time, and not while the link is cut."""

    def __init__(self, link, source, target, delay, change=None):
        self.link, self.source, self.target, self.delay, self.change = link, source, target, delay, change
        self.waiting = queue.Queue()
        for work in (self.take, self.give):
            threading.Thread(target=work, daemon=True).start()

    def take(self):
        data = b"-"
        while data:
            try:
                data = self.source.recv(self.link.piece)
            except OSError:
                data = b""
            if self.change and data:
                changed = self.change(data)
                if changed is None:
                    continue
                data = changed
            self.waiting.put((time.monotonic() + self.delay, data))

    def give(self):
        data = b"-"
        while data:
            due, data = self.waiting.get()
            time.sleep(max(0, due - time.monotonic()))
            self.link.whole.wait()
            with contextlib.suppress(OSError):
                if data:
                    self.target.sendall(data)
                else:
                    self.target.shutdown(socket.SHUT_WR)
            if self.link.rate:
                time.sleep(len(data) / self.link.rate)


class Link:
    """Up inside `with`. to_server, to_client: seconds that each direction takes; rate: octets a second of each, None: any.
    change(data): what goes to the server instead; None: it waits for more, b"": the connection breaks."""

    host = "127.0.0.1"

    def __init__(self, server, to_server=0.0, to_client=0.0, rate=None, change=None):
        self.server, self.to_server, self.to_client, self.rate, self.change = server, to_server, to_client, rate, change
        self.piece = max(1, rate // 10) if rate else PIECE
        self.whole = threading.Event()
        self.whole.set()
        self.sockets = []

    def __enter__(self):
        self.listener = socket.create_server((self.host, 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.whole.set()
        for one in (self.listener, *self.sockets):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection((self.server.host, self.server.port))
                for one in (client, server):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.sockets += [client, server]
                Way(self, client, server, self.to_server, self.change)
                Way(self, server, client, self.to_client)

    @contextlib.contextmanager
    def cut(self):
        """Nothing gets through, and nobody is told; afterwards all of it does."""
        self.whole.clear()
        try:
            yield
        finally:
            self.whole.set()

    def url(self):
        return f"nats://{self.host}:{self.port}"
