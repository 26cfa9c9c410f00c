# SPDX-License-Identifier: BSD-3-Clause
"""A long link: a proxy for TCP whose bytes arrive later by a fixed time each way, however many are on the way."""

import collections
import contextlib
import socket
import threading
import time


class DelayedLink:
    """To a port of this host, inside `with`. change(data): what becomes of data on its way to the server; b"": the link breaks."""

    def __init__(self, port, one_way_s, change=None):
        self.to, self.one_way_s, self.change = port, one_way_s, change

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.sockets = [self.listener]
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        for one in self.sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def url(self):
        return f"nats://127.0.0.1:{self.port}"

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                far = socket.create_connection(("127.0.0.1", self.to))
                self.sockets += [near, far]
                for one in near, far:
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                Way(self, near, far, self.change)
                Way(self, far, near, None)


class Way:
    """One direction of a connection: a thread reads, another one writes what is due."""

    def __init__(self, link, source, sink, change):
        self.link, self.source, self.sink, self.change = link, source, sink, change
        self.waiting, self.something = collections.deque(), threading.Condition()
        for target in self.read, self.write:
            threading.Thread(target=target, daemon=True).start()

    def read(self):
        data = b"x"
        while data:
            try:
                data = self.source.recv(1 << 20)
            except OSError:
                data = b""
            if self.change and data:
                data = self.change(data)
                if data is None:  # it waits for more
                    data = b"x"
                    continue
            with self.something:
                self.waiting.append((time.monotonic() + self.link.one_way_s, data))
                self.something.notify()

    def write(self):
        with contextlib.suppress(OSError):
            while True:
                with self.something:
                    self.something.wait_for(lambda: self.waiting)
                    due, data = self.waiting.popleft()
                time.sleep(max(0, due - time.monotonic()))
                if not data:
                    break
                self.sink.sendall(data)
            self.sink.shutdown(socket.SHUT_WR)
