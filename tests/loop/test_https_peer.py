#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Misbehaving servers of DNS over HTTPS, on the loopback interface: each frame that is wrong is counted in its own cell of
# connections.http, is the server's and never the tester's, and leaves nothing unsent. Servers that are merely unusual have
# all answered.

import base64
import collections
import json
import struct
import time

from harness import EXIT, check_ledger, ddiperf, main, test
from loop import RELAXED, item
from tls_peer import Client, Gone, Peer

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS, PADDED, HAS_PRIORITY = 1, 1, 4, 8, 32
TABLE, ENABLE_PUSH, STREAMS, WINDOW, FRAME = range(1, 6)  # settings
ERRORS = ("no_error", "protocol_error", "internal_error", "flow_control_error", "settings_timeout", "stream_closed", "frame_size_error",
          "refused_stream", "cancel", "compression_error", "connect_error", "enhance_your_calm")
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
TYPE = b"\x0f\x10\x17application/dns-message"  # content-type, not indexed
GOOD = b"\x88" + TYPE


def frame(kind, flags=0, stream=0, content=b""):
    return struct.pack("!I", len(content))[1:] + bytes([kind, flags]) + struct.pack("!I", stream) + content


def settings(*pairs):
    return frame(SETTINGS, 0, 0, b"".join(struct.pack("!HI", *pair) for pair in pairs))


def number(kind, stream, value):
    return frame(kind, 0, stream, struct.pack("!I", value))


def goaway(last, code="no_error"):
    return frame(GOAWAY, 0, 0, struct.pack("!II", last, ERRORS.index(code)))


def status(code):
    return b"\x08\x03" + str(code).encode()


def content_length(n):
    return b"\x0f\x0d" + bytes([len(str(n))]) + str(n).encode()


def reply(query):
    """A DNS answer: refused."""
    return query[:2] + b"\x81\x80" + query[4:]


def answer(stream, query, block=GOOD):
    return frame(HEADERS, END_HEADERS, stream, block) + frame(DATA, END_STREAM, stream, reply(query))


class Http(Client):
    """A client of HTTP/2. kept: its frames but SETTINGS and those of requests; back: frames to be read again; blocks: of headers."""

    def __init__(self, *args):
        super().__init__(*args)
        self.contents, self.kept, self.back, self.blocks, self.greeted = {}, [], [], [], False

    def greet(self, *pairs, first=None):
        """The handshake; our settings, or what comes first in their place."""
        self.shake()
        self.send(settings(*pairs) if first is None else first)

    def send(self, *frames):
        self.sock.sendall(self.record(b"".join(frames)))

    def frames(self):
        """The next whole frames."""
        if self.back:
            found, self.back = self.back, []
            return found
        while True:
            if not self.greeted and len(self.waiting) >= len(PREFACE):
                assert self.waiting.startswith(PREFACE), self.waiting
                self.waiting, self.greeted = self.waiting[len(PREFACE):], True
            found = []
            while self.greeted and len(self.waiting) >= 9 and len(self.waiting) >= 9 + (n := int.from_bytes(self.waiting[:3], "big")):
                kind, flags, stream = struct.unpack("!BBI", self.waiting[3:9])
                found.append((kind, flags, stream, self.waiting[9:9 + n]))
                self.waiting = self.waiting[9 + n:]
            if found:
                return found
            self.more()

    def requests(self):
        """Streams and queries of the next whole requests."""
        while True:
            found = []
            for kind, flags, stream, content in self.frames():
                if kind == SETTINGS and not flags & ACK:
                    self.send(frame(SETTINGS, ACK))
                elif kind == HEADERS:
                    assert flags & END_HEADERS and stream % 2 == 1 and stream not in self.contents, (flags, stream)
                    self.blocks.append(content)
                    self.contents[stream] = b""
                elif kind == DATA:
                    self.contents[stream] += content
                elif kind != SETTINGS:
                    self.kept.append((kind, flags, stream, content))
                if kind == HEADERS and flags & END_STREAM:
                    at = content.index(b"/dns-query?dns=")
                    text = content[at:at + content[at - 1]].partition(b"=")[2]  # of a path that is not compressed
                    self.contents[stream] = base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4))
                if kind in (HEADERS, DATA) and flags & END_STREAM:
                    found.append((stream, self.contents[stream]))
            if found:
                self.asked += len(found)
                return found

    def serve(self, made=answer):
        """Answers all requests."""
        while True:
            for stream, query in self.requests():
                self.send(made(stream, query))

    def until(self, kind):
        """The next frame of a kind, for which other frames are thrown away."""
        for at, one in enumerate(self.kept):
            if one[0] == kind:
                return self.kept.pop(at)
        while True:
            found = self.frames()
            for at, one in enumerate(found):
                if one[0] == kind:
                    self.back = found[at + 1:]
                    return one

    def is_left(self, code, where):
        """The client names an error, and ends the connection."""
        last, got = struct.unpack("!II", self.until(GOAWAY)[3])
        assert (last, ERRORS[got]) == (0, code), (last, got, code, where)
        try:
            while True:
                self.frames()
        except Gone:
            pass


class Server(Peer):
    def __init__(self, behave, **more):
        super().__init__(behave, **{"client": Http, "alpn": ["h2"], **more})


def doh(load=None, tcp=None, timeout="1500ms", **https):
    return item(load=load or {"rate": "50"}, timeout=timeout, dns={
        "names": ["h{0-9}.example.com A"], "transport": "https", "tcp": tcp or {"connections": 2}, "https": https,
        "tls": {"handshake_timeout": "1s"}})


def run(peer, one=None, code=0, duration="300ms", **allowed):
    """The item, and its counters of HTTP/2 that are not 0; the ledger is right, and nothing is the tester's fault."""
    text = {"run": {"warmup": "0s", "duration": duration}, "ports": [{"name": "lan", "driver": "socket"}], "validity": RELAXED,
            "traffic": [{**(one or doh()), "server": "127.0.0.1", "server_port": peer.port}]}
    result = ddiperf(json.dumps(text))
    assert not peer.errors, peer.errors
    assert result.code == code, result
    assert "Sanitizer" not in result.stderr and "runtime error" not in result.stderr, result
    found = result.item("queries")
    check_ledger(found)
    conns = found["connections"]
    assert found["unsent"] == 0 < found["sent"] and conns["no_memory"] == conns["tls"]["no_memory"] == conns["tls"]["bad_record"] == 0, result
    assert {name: found[name] for name in ("malformed", "stray", "duplicate") if found[name]} == allowed, result
    return found, {name: n for name, n in conns["http"].items() if n and "header_bytes" not in name}, result


def all_answered(peer, one=None, **cells):
    found, http, result = run(peer, one, duration="3s" if one and "total" in one["load"] else "300ms")
    assert found["answered"] == found["sent"] == found["due"], result
    assert http == {"status": {"200": found["sent"]}, **cells}, http
    return found


def by_number(behaviours):
    """Each connection has the next behaviour; further ones are honest."""
    left = list(behaviours)

    def behave(client):
        if left:
            left.pop(0)(client)
        else:
            client.greet()
            client.serve()

    return behave


def together(behaviours, load=None, **keys):
    """Server and item for connections that have a behaviour each."""
    return Server(by_number(behaviours)), doh(load or {"rate": str(10 * len(behaviours))}, tcp={"connections": len(behaviours)}, **keys)


# --- unusual, but right ---


def unusual(made, *pairs):
    def behave(client):
        client.greet(*pairs)
        client.serve(made)

    return behave


def padded(content, n=7):
    return bytes([n]) + content + bytes(n)


def one_by_one(stream, query):
    text = reply(query)
    parts = [frame(DATA, END_STREAM if i + 1 == len(text) else 0, stream, text[i:i + 1]) for i in range(len(text))]
    return frame(HEADERS, END_HEADERS, stream, GOOD) + b"".join(parts)


@test
def an_honest_server_has_all_answered():
    with Server(unusual(answer)) as peer:
        found = all_answered(peer)
        all_answered(peer, doh(method="get"))
    assert found["connections"]["tls"]["full"] == found["connections"]["opened"] == 2, found


@test
def unusual_answers_are_answers():
    body = [
        lambda s, q: frame(77, 255, s, b"what?") + frame(PRIORITY, 0, s, bytes(5)) + frame(99) + answer(s, q),
        lambda s, q: frame(HEADERS, END_HEADERS | PADDED, s, padded(GOOD)) + frame(DATA, END_STREAM | PADDED, s, padded(reply(q))),
        lambda s, q: frame(HEADERS, END_HEADERS | PADDED | HAS_PRIORITY, s, padded(bytes(5) + GOOD)) + frame(DATA, END_STREAM, s, reply(q)),
        lambda s, q: frame(HEADERS, 0, s, GOOD[:1]) + b"".join(frame(CONTINUATION, 0, s, GOOD[i:i + 1]) for i in range(1, len(GOOD)))
        + frame(CONTINUATION, END_HEADERS, s) + frame(DATA, END_STREAM, s, reply(q)),
        lambda s, q: frame(HEADERS, END_HEADERS, s, status(103)) + frame(HEADERS, END_HEADERS, s, status(100)) + answer(s, q),
        lambda s, q: frame(HEADERS, END_HEADERS, s, GOOD) + frame(DATA, 0, s, reply(q))
        + frame(HEADERS, END_HEADERS | END_STREAM, s, b"\x00\x01a\x01b"),
        lambda s, q: frame(HEADERS, END_HEADERS, s, GOOD) + frame(DATA, 0, s, reply(q)) + frame(DATA, END_STREAM, s),
        lambda s, q: frame(HEADERS, END_HEADERS, s, GOOD) + frame(DATA, PADDED, s, padded(b"", 255)) * 20 + frame(DATA, END_STREAM, s, reply(q)),
        one_by_one,
        lambda s, q: answer(s, q, GOOD + content_length(len(q))),
        lambda s, q: answer(s, q, GOOD + b"\x0f\x0d\x03all"),
        lambda s, q: answer(s, q) + number(RST_STREAM, s, 0) + number(WINDOW_UPDATE, s, 1),
        lambda s, q: frame(PING, 0, 0, b"12345678") + settings((0x99, 7), (TABLE, 4096)) + answer(s, q) + frame(SETTINGS, ACK),
        lambda s, q: answer(s, q, b"\x3f\xe1\x1f\x20\x3f\xe1\x1f" + GOOD),
        lambda s, q: answer(s, q, b"\x88\x5f\x17application/dns-message" if s == 1 else b"\x88\xbe"),
        lambda s, q: answer(s, q, b"\x88\x0f\x10\x26application/dns-message; charset=utf-8"),
    ]
    peer, one = together([unusual(made) for made in body])
    with peer:
        found = all_answered(peer, one)
    assert found["connections"]["opened"] == len(body), found


@test
def a_ping_is_answered_and_settings_are_acknowledged():
    seen = []

    def behave(client):
        client.greet()
        (stream, query), *_ = client.requests()
        client.send(frame(PING, 0, 0, b"dnsoverh"), frame(PING, ACK, 0, b"is for 0"))
        seen.append(client.until(PING))
        client.send(settings((STREAMS, 50)), answer(stream, query))
        seen.append(client.until(SETTINGS))
        client.serve()

    with Server(behave) as peer:
        all_answered(peer, doh({"rate": "5"}, tcp={"connections": 1}))
    assert seen == [(PING, ACK, 0, b"dnsoverh"), (SETTINGS, ACK, 0, b"")], seen


@test
def answers_in_another_order_find_their_requests():
    def behave(client):
        client.greet()
        while True:
            for stream, query in reversed(client.requests()):
                client.send(answer(stream, query))

    for method in ("post", "get"):
        with Server(behave) as peer:
            all_answered(peer, doh({"outstanding": 20, "total": "200"}, tcp={"connections": 1}, method=method))


@test
def a_server_that_speaks_at_once_gets_a_preface_first():
    """Settings that come before there is a message to send are acknowledged behind the preface; Http checks that."""
    def behave(client):
        client.greet()
        client.send(frame(PING, 0, 0, bytes(8)))
        client.serve()

    with Server(behave) as peer:
        all_answered(peer, doh({"rate": "10"}, tcp={"connections": 3, "open": "pool"}))


# --- limits of the server ---


@test
def contents_wait_for_the_servers_windows():
    """A window is 0, then a few octets at a time; what was sent before the settings came has the usual one."""
    early = set()

    def behave(client):
        client.greet((WINDOW, 0))
        windows, initial = {0: 65535}, 65535
        while True:
            for kind, flags, stream, content in client.frames():
                if kind == SETTINGS and flags & ACK:
                    windows, initial = {0: windows[0]} | {s: n - 65535 for s, n in windows.items() if s}, 0
                if kind == HEADERS:
                    client.contents[stream], windows[stream] = b"", initial
                    early.update({(id(client), stream)} if initial else ())
                if kind == DATA:
                    assert 0 < len(content) <= min(windows[stream], windows[0]), (len(content), windows)
                    client.contents[stream] += content
                    windows[stream] -= len(content)
                    windows[0] -= len(content)
                if kind == DATA and flags & END_STREAM:
                    client.asked += 1
                    client.send(answer(stream, client.contents[stream]))
                elif kind in (HEADERS, DATA):
                    windows[stream] += 10
                    client.send(number(WINDOW_UPDATE, stream, 10))

    with Server(behave) as peer:
        found, http, result = run(peer)
    assert found["answered"] == found["sent"] == peer.asked, result
    assert http == {"flow_blocked": found["sent"] - len(early), "status": {"200": found["sent"]}} and len(early) < found["sent"], (http, early)


@test
def a_window_that_settings_open_lets_contents_go():
    def behave(client):
        client.greet()
        found, waits = [], []
        while len(found) < 3:
            found += client.requests()
        client.send(settings((WINDOW, 0)), frame(PING, 0, 0, bytes(8)))
        client.until(PING)
        client.send(*(answer(*one) for one in found))
        while len(waits) < 3:
            got = client.frames()
            assert {kind for kind, *_ in got} <= {HEADERS, WINDOW_UPDATE}, got
            waits += [stream for kind, _, stream, _ in got if kind == HEADERS]
        client.contents = dict.fromkeys(waits, b"")
        client.send(settings((WINDOW, 5)), settings((WINDOW, 0)), settings((WINDOW, 65535)))
        client.serve()

    with Server(behave) as peer:
        found, http, result = run(peer, doh({"outstanding": 3, "total": "30"}, tcp={"connections": 1}), duration="3s")
    assert found["answered"] == found["sent"] == 30 and http == {"flow_blocked": 3, "status": {"200": 30}}, result


@test
def messages_wait_for_the_servers_limit_of_streams():
    def limited(first, later):
        def behave(client):
            client.greet((STREAMS, first))
            opened, is_acked, is_raised = set(), False, first > 0
            while True:
                for kind, flags, stream, content in client.frames():
                    is_acked = is_acked or (kind == SETTINGS and flags & ACK)
                    if kind == SETTINGS and not flags & ACK:
                        client.send(frame(SETTINGS, ACK))
                    if kind == SETTINGS and flags & ACK and not is_raised:
                        is_raised = True
                        time.sleep(0.1)
                        client.send(settings((STREAMS, later)))
                    if kind == HEADERS:
                        opened.add(stream)
                        assert not is_acked or len(opened) <= max(first, later), opened
                    if kind == DATA and flags & END_STREAM:
                        opened.discard(stream)
                        client.asked += 1
                        client.send(answer(stream, content))

        return behave

    for first, later in ((1, 1), (0, 1), (3, 3)):
        with Server(limited(first, later)) as peer:
            found, http, result = run(peer, doh({"outstanding": 10, "total": "100"}, tcp={"connections": 1}), duration="3s")
        assert found["answered"] == found["sent"] == 100 == peer.asked, result
        assert 0 < http.pop("streams_limited") <= 100 and http == {"status": {"200": 100}}, http


@test
def a_server_that_allows_no_streams_answers_nothing():
    def behave(client):
        client.shake()
        client.sock.sendall(client.record(settings((STREAMS, 0))))
        client.until(SETTINGS)
        while True:
            client.frames()

    with Server(behave) as peer:
        one = doh({"rate": "50"}, tcp={"connections": 1, "open": "pool"}, timeout="200ms")
        found, http, result = run(peer, one, EXIT["unreachable"])
    assert found["lost"] == found["sent"], result
    # The first ones may leave before the settings come.
    assert http.get("streams_limited", 0) + http.get("cancelled", 0) == found["sent"] > http.get("cancelled", 0), http


@test
def a_smaller_table_of_headers_is_announced_and_used():
    def behave(size, then, *expected):
        def serve(client):
            client.greet()
            for n in range(6):
                (stream, query), *more = client.requests()
                assert not more, more
                client.send(settings(*((TABLE, value) for value in (size if n == 1 else then if n == 3 else ()))), answer(stream, query))
            got = [block[:3].hex() for block in client.blocks]
            assert all(one.startswith(want) for one, want in zip(got, expected, strict=False)), (got, expected)
            client.serve()

        return serve

    first, indexed, plain = "8387", "8387c", "838701"
    for size, then, *want in (([0], [4096], first + "41", indexed, "208387", plain, None, None),
                              ([0, 4096], [], first + "41", indexed, "208387", None, None, None),
                              ([2000, 900, 3000], [], first + "41", indexed, "3fe506", indexed, indexed, indexed),
                              ([40], [30], first + "41", indexed, "208387", plain, None, None)):
        with Server(behave(size, then, *(one or "" for one in want))) as peer:
            all_answered(peer, doh({"outstanding": 1, "total": "8"}, tcp={"connections": 1}))


# --- answers that are none ---


def instead(made, code=None):
    """The first request gets what is made for it; if it is a fault of the stream, the client resets that."""
    def behave(client):
        client.greet()
        (stream, query), *more = client.requests()
        client.send(made(stream, query))
        for other in more:
            client.send(answer(*other))
        if code:
            got = client.until(RST_STREAM)
            assert got == (RST_STREAM, 0, stream, struct.pack("!I", ERRORS.index(code))), (got, stream)
        client.serve()

    return behave


@test
def a_status_or_a_type_that_is_wrong_is_a_failure():
    def full(block, content=b"sorry"):
        return lambda s, q: frame(HEADERS, END_HEADERS, s, block) + frame(DATA, END_STREAM, s, content)

    def empty(block):
        return lambda s, q: frame(HEADERS, END_HEADERS | END_STREAM, s, block)

    bodies = [full(b"\x8d"), empty(b"\x8e"), full(status(301)), full(status(302) + TYPE), empty(b"\x89"), empty(status(429)), full(status(299)),
              full(status(999)), full(status(200)), empty(b"\x88"), full(b"\x88\x0f\x10\x09text/html"),
              full(b"\x88\x0f\x10\x17application/dns-messagE"), full(b"\x88\x0f\x10\x18application/dns-message2")]
    peer, one = together([instead(made) for made in bodies])
    with peer:
        found, http, result = run(peer, one)
    assert found["failed"] == len(bodies) and found["answered"] == found["sent"] - len(bodies), result
    assert http == {"wrong_type": 5, "status": {"404": 1, "500": 1, "301": 1, "302": 1, "204": 1, "429": 1, "other": 2, "200": found["answered"] + 5}}, http


@test
def an_answer_that_violates_the_protocol_fails_alone():
    long = b"x" * 16384
    bodies = [
        lambda s, q: frame(DATA, 0, s, reply(q)),
        lambda s, q: frame(DATA, END_STREAM, s, reply(q)),
        lambda s, q: frame(HEADERS, END_HEADERS, s, GOOD) + frame(DATA, 0, s, long) * 3 + frame(DATA, END_STREAM, s, long),
        lambda s, q: frame(HEADERS, END_HEADERS, s, TYPE),
        lambda s, q: frame(HEADERS, END_HEADERS, s, b"\x08\x032x0"),
        lambda s, q: frame(HEADERS, END_HEADERS, s, b"\x08\x042000"),
        lambda s, q: frame(HEADERS, END_HEADERS | END_STREAM, s, status(100)),
        lambda s, q: frame(HEADERS, END_HEADERS, s, GOOD) * 2,
        lambda s, q: answer(s, q, GOOD + content_length(len(q) + 1)),
        lambda s, q: answer(s, q, GOOD + content_length(len(q) + 2 ** 32)),
        lambda s, q: frame(HEADERS, END_HEADERS | END_STREAM, s, GOOD + content_length(1)),
    ]
    peer, one = together([instead(made, "protocol_error") for made in bodies])
    with peer:
        found, http, result = run(peer, one)
    n = len(bodies)
    assert found["failed"] == n and found["answered"] == found["sent"] - n and found["late"] == 0, result
    assert http == {"bad_frame": n, "error_sent": {"protocol_error": n}, "status": {"200": found["answered"]}}, http
    assert found["connections"]["opened"] == n, found["connections"]


@test
def the_longest_content_is_read():
    def made(stream, query):
        text = reply(query) + bytes(65535 - len(query))
        return frame(HEADERS, END_HEADERS, stream, GOOD) + b"".join(
            frame(DATA, END_STREAM if at + 16384 >= len(text) else 0, stream, text[at:at + 16384]) for at in range(0, len(text), 16384))

    for window in ("65535B", "1MiB"):
        with Server(unusual(made)) as peer:
            all_answered(peer, doh({"outstanding": 2, "total": "10"}, tcp={"connections": 1}, window=window))


@test
def a_message_with_an_id_has_failed():
    with Server(unusual(lambda s, q: answer(s, b"\x12\x34" + q[2:]))) as peer:
        found, http, result = run(peer, stray=15)
    assert found["failed"] == found["sent"] == 15 == http["wrong_id"] and http == {"wrong_id": found["sent"], "status": {"200": found["sent"]}}, result


@test
def a_content_that_is_no_message_has_failed():
    bodies = [lambda s, q: frame(HEADERS, END_HEADERS | END_STREAM, s, GOOD),
              lambda s, q: frame(HEADERS, END_HEADERS, s, GOOD) + frame(DATA, END_STREAM, s),
              lambda s, q: frame(HEADERS, END_HEADERS, s, GOOD) + frame(HEADERS, END_HEADERS | END_STREAM, s),
              lambda s, q: frame(HEADERS, END_HEADERS, s, GOOD) + frame(DATA, END_STREAM, s, b"\0"),
              lambda s, q: frame(HEADERS, END_HEADERS, s, GOOD) + frame(DATA, END_STREAM, s, reply(q)[:-5])]
    peer, one = together([instead(made) for made in bodies])
    with peer:
        found, http, result = run(peer, one, malformed=len(bodies))
    assert found["failed"] == len(bodies) and found["answered"] == found["sent"] - len(bodies), result
    assert http == {"status": {"200": found["sent"]}}, http


@test
def an_answer_before_the_content_ends_the_stream():
    """The server does not want the content that waits for its window, and learns that it will not come."""
    def behave(client):
        client.greet((WINDOW, 0))
        while True:
            for kind, flags, stream, _ in client.frames():
                if kind == HEADERS:
                    is_first = stream < 9
                    text = [frame(DATA, 0, stream, b"too "), frame(DATA, END_STREAM, stream, b"long")] if stream % 4 == 1 else \
                        [frame(DATA, END_STREAM, stream, b"too long")]
                    client.send(frame(HEADERS, END_HEADERS, stream, status(413)), *text)
                if kind == RST_STREAM:
                    client.asked += 1
                assert kind != DATA or is_first, (kind, flags, stream)

    with Server(behave) as peer:
        found, http, result = run(peer, doh({"rate": "100"}, tcp={"connections": 1}))
    assert found["failed"] == found["sent"], result
    assert http.pop("flow_blocked") == peer.asked >= found["sent"] - 3 and http == {"status": {"413": found["sent"]}}, (http, peer.asked)


# --- streams and connections that end ---


@test
def a_stream_that_is_refused_is_asked_again():
    def reset(code):
        return instead(lambda s, q: number(RST_STREAM, s, ERRORS.index(code)))

    peer, one = together([reset("refused_stream")] * 3)
    with peer:
        found, http, result = run(peer, one)
    assert found["answered"] == found["sent"] and found["connections"]["asked_again"] == 3, result
    assert http == {"rst_stream": {"refused_stream": 3}, "status": {"200": found["sent"]}}, http
    codes = ["internal_error", "protocol_error", "cancel", "enhance_your_calm", "no_error"]
    for closed in ("lost", "again"):
        peer, one = together([reset(code) for code in codes])
        one["dns"]["tcp"]["closed"] = closed
        with peer:
            found, http, result = run(peer, one)
        assert (found["lost"], found["connections"]["asked_again"]) == ((5, 0) if closed == "lost" else (0, 5)), result
        assert found["connections"]["lost_closed"] == found["lost"] and found["connections"]["opened"] == 5, result
        assert http == {"rst_stream": dict.fromkeys(codes, 1), "status": {"200": found["answered"]}}, http


@test
def a_server_that_refuses_all_streams_has_lost_them():
    """A message is sent again until its timeout, also when the load has ended."""
    with Server(unusual(lambda stream, query: number(RST_STREAM, stream, ERRORS.index("refused_stream")))) as peer:
        one = doh({"outstanding": 1, "total": "1"}, tcp={"connections": 1}, timeout="300ms")
        found, http, result = run(peer, one, code=4, duration="2s")
    assert found["lost"] == found["sent"] == 1, result
    assert http["rst_stream"]["refused_stream"] >= found["connections"]["asked_again"] > 4, result


def leaving(steps, code="no_error", answered=1):
    """Of three requests of the first connection, `answered` are answered after the last of the GOAWAY, whose last streams the steps are."""
    def behave(client):
        client.greet()
        found = []
        while len(found) < 3:
            found += client.requests()
        for last in steps:
            client.send(goaway(last, code))
            time.sleep(0.05)
        for stream, query in found[:answered]:
            client.send(answer(stream, query))
        while True:
            client.frames()

    return behave


@test
def an_end_that_is_announced_costs_no_message():
    cases = [([1], "no_error", 1), ([3], "no_error", 2), ([2**31 - 1, 1], "no_error", 1), ([0], "no_error", 0), ([2**31 - 1, 5, 1], "no_error", 1),
             ([0], "enhance_your_calm", 0), ([1, 5], "no_error", 1)]
    n, refused = len(cases), sum(3 - answered for *_, answered in cases)
    with Server(by_number(leaving(*case) for case in cases)) as peer:
        found, http, result = run(peer, doh({"outstanding": 3 * n}, tcp={"connections": n}), duration="500ms")
    conns = found["connections"]
    assert found["answered"] == found["sent"] > 3 * n and conns["asked_again"] == refused and conns["opened"] == 2 * n, result
    assert http == {"goaway_refused": refused, "goaway": {"no_error": n - 1, "enhance_your_calm": 1}, "status": {"200": found["sent"]}}, http
    assert conns["closed"] == conns["reset"] == conns["closed_open"] == 0, result


@test
def a_server_that_leaves_without_all_answers_has_lost_them():
    def behave(client):
        client.greet()
        found = []
        while len(found) < 3:
            found += client.requests()
        client.send(goaway(3), answer(*found[0]))

    with Server(by_number([behave])) as peer:
        found, http, result = run(peer, doh({"outstanding": 3, "total": "30"}, tcp={"connections": 1}), duration="3s")
    assert found["lost"] == found["connections"]["lost_closed"] == 1 and found["answered"] == 29, result
    assert http == {"goaway_refused": 1, "goaway": {"no_error": 1}, "status": {"200": 29}}, http


@test
def an_end_within_a_frame_ends_the_connection():
    def behave(client):
        client.greet()
        (stream, query), *more = client.requests()
        client.send(*(answer(*other) for other in more))
        client.send(answer(stream, query)[:-3])

    peer, one = together([behave] * 3)
    with peer:
        found, http, result = run(peer, one)
    assert found["lost"] == found["connections"]["lost_closed"] == found["connections"]["closed_open"] == 3, result
    conns = found["connections"]
    assert http == {"status": {"200": found["sent"] - 3}} and conns["closed"] + conns["reset"] == 3, result
    assert conns["tls"]["no_close_notify"] == conns["closed"], result


@test
def silence_is_no_answer():
    """Streams are cancelled, and the connection is kept."""
    cancelled = []

    def listen(client):
        client.greet()
        while True:
            cancelled.extend(one for one in client.frames() if one[0] == RST_STREAM)

    with Server(listen) as peer:
        found, http, result = run(peer, doh(timeout="200ms"), EXIT["unreachable"])
    assert found["lost"] == found["sent"] == len(cancelled) and http == {"cancelled": found["sent"]}, result
    assert {one[3] for one in cancelled} == {struct.pack("!I", ERRORS.index("cancel"))}, cancelled

    def say_nothing(client):
        client.shake()
        while True:
            client.more()

    with Server(say_nothing) as peer:
        found, http, result = run(peer, doh(timeout="200ms"), EXIT["unreachable"])
    assert found["lost"] == found["sent"] and http == {"cancelled": found["sent"]}, result


@test
def an_answer_after_the_timeout_is_late():
    def behave(client):
        client.greet()
        (stream, query), = client.requests()
        client.until(RST_STREAM)
        client.send(answer(stream, query), frame(HEADERS, END_HEADERS | END_STREAM, stream, b"\x8d"))
        client.serve()

    with Server(behave) as peer:
        found, http, result = run(peer, doh({"outstanding": 1, "total": "10"}, tcp={"connections": 1}, timeout="150ms"), duration="3s")
    assert found["lost"] == http["cancelled"] == 1 and found["late"] == 2 and found["answered"] == 9 == found["sent"] - 1, result


@test
def a_server_without_http_2_is_not_spoken_to():
    for alpn in (["http/1.1"], ["dot"]):
        with Server(lambda client: client.serve() if client.shake() else client.frames(), alpn=alpn) as peer:
            found, http, result = run(peer, code=EXIT["unreachable"])
        tls = found["connections"]["tls"]
        assert found["lost"] == found["sent"] and http == {} and peer.asked == 0, result
        assert tls["no_alpn"] == tls["failed"] == tls["begun"] > 0 and tls["full"] == 0, tls


# --- connections that violate the protocol ---


def breaking(code, made, first=False):
    """The second request, or with `first` none at all, gets what is made for it: the client names the error and leaves."""
    def behave(client):
        client.greet(first=b"" if first else None)
        if first:
            client.send(made(1))
            client.is_left(code, made(1))
            return
        (stream, query), *more = client.requests()
        for other in [(stream, query), *more]:
            client.send(answer(*other))
        (stream, query), *more = client.requests()
        client.send(made(stream))
        client.is_left(code, made(stream))

    behave.code = code
    return behave


@test
def a_frame_that_violates_the_protocol_ends_its_connection():
    bad = [
        ("protocol_error", lambda s: frame(PING, 0, 0, bytes(8)), True),
        ("protocol_error", lambda s: frame(HEADERS, END_HEADERS | END_STREAM, 1, GOOD), True),
        ("frame_size_error", lambda s: frame(DATA, 0, s, bytes(16385))),
        ("frame_size_error", lambda s: b"\xff\xff\xff" + frame(DATA, 0, s)[3:]),
        ("protocol_error", lambda s: frame(SETTINGS, 0, 1)),
        ("frame_size_error", lambda s: frame(SETTINGS, 0, 0, bytes(5))),
        ("frame_size_error", lambda s: frame(SETTINGS, ACK, 0, bytes(6))),
        ("flow_control_error", lambda s: settings((WINDOW, 2**31))),
        ("flow_control_error", lambda s: frame(HEADERS, END_HEADERS, s, GOOD) + number(WINDOW_UPDATE, s, 2**31 - 65535) + settings((WINDOW, 2**31 - 1))),
        ("protocol_error", lambda s: settings((FRAME, 16383))),
        ("protocol_error", lambda s: settings((FRAME, 2**24))),
        ("protocol_error", lambda s: settings((ENABLE_PUSH, 1))),
        ("frame_size_error", lambda s: frame(PING, 0, 0, bytes(7))),
        ("protocol_error", lambda s: frame(PING, 0, s, bytes(8))),
        ("protocol_error", lambda s: number(WINDOW_UPDATE, 0, 0)),
        ("protocol_error", lambda s: number(WINDOW_UPDATE, s, 2**31)),
        ("frame_size_error", lambda s: frame(WINDOW_UPDATE, 0, 0, bytes(3))),
        ("flow_control_error", lambda s: number(WINDOW_UPDATE, 0, 2**31 - 1)),
        ("flow_control_error", lambda s: number(WINDOW_UPDATE, s, 2**31 - 1)),
        ("protocol_error", lambda s: number(WINDOW_UPDATE, s + 1000, 1)),
        ("frame_size_error", lambda s: frame(RST_STREAM, 0, s, bytes(3))),
        ("protocol_error", lambda s: number(RST_STREAM, s + 1000, 0)),
        ("protocol_error", lambda s: number(RST_STREAM, 0, 0)),
        ("frame_size_error", lambda s: frame(GOAWAY, 0, 0, bytes(7))),
        ("protocol_error", lambda s: frame(GOAWAY, 0, s, bytes(8))),
        ("protocol_error", lambda s: frame(PUSH_PROMISE, END_HEADERS, s, b"\0\0\0\2" + GOOD)),
        ("protocol_error", lambda s: frame(CONTINUATION, END_HEADERS, s, GOOD)),
        ("protocol_error", lambda s: frame(HEADERS, 0, s, GOOD) + frame(PING, 0, 0, bytes(8))),
        ("protocol_error", lambda s: frame(HEADERS, 0, s, GOOD) + frame(CONTINUATION, END_HEADERS, s + 2)),
        ("protocol_error", lambda s: frame(HEADERS, END_HEADERS, 0, GOOD)),
        ("protocol_error", lambda s: frame(HEADERS, END_HEADERS, 2, GOOD)),
        ("protocol_error", lambda s: frame(HEADERS, END_HEADERS, s + 1000, GOOD)),
        ("protocol_error", lambda s: frame(HEADERS, END_HEADERS | PADDED, s, b"\x20" + GOOD)),
        ("protocol_error", lambda s: frame(HEADERS, END_HEADERS | PADDED, s)),
        ("protocol_error", lambda s: frame(HEADERS, END_HEADERS | HAS_PRIORITY, s, bytes(4))),
        ("compression_error", lambda s: frame(HEADERS, END_HEADERS, s, b"\x80")),
        ("compression_error", lambda s: frame(HEADERS, END_HEADERS, s, b"\xbe")),
        ("compression_error", lambda s: frame(HEADERS, END_HEADERS, s, GOOD + b"\x20")),
        ("compression_error", lambda s: frame(HEADERS, END_HEADERS, s, b"\x3f\xe2\x1f" + GOOD)),
        ("compression_error", lambda s: frame(HEADERS, END_HEADERS, s, GOOD[:-1])),
        ("compression_error", lambda s: frame(HEADERS, END_HEADERS, s + 1000, b"\x80")),
        ("enhance_your_calm", lambda s: frame(HEADERS, 0, s, GOOD) + frame(CONTINUATION, 0, s, bytes(16384)) * 2),
        ("protocol_error", lambda s: frame(DATA, END_STREAM, s + 1000, b"x")),
        ("protocol_error", lambda s: frame(DATA, END_STREAM, 0, b"x")),
        ("protocol_error", lambda s: frame(DATA, END_STREAM, 2, b"x")),
        ("protocol_error", lambda s: frame(HEADERS, END_HEADERS, s, GOOD) + frame(DATA, END_STREAM | PADDED, s, b"\2x")),
        ("protocol_error", lambda s: frame(HEADERS, END_HEADERS, s, GOOD) + frame(DATA, END_STREAM | PADDED, s)),
    ]
    for half in (bad[::2], bad[1::2]):
        peer, one = together([breaking(*case) for case in half], {"rate": "200"})
        with peer:
            found, http, result = run(peer, one, duration="600ms")
        assert http["error_sent"] == dict(collections.Counter(code for code, *_ in half)), http["error_sent"]
        assert http == {"bad_frame": len(half), "error_sent": http["error_sent"], "status": {"200": found["answered"]}}, http
        assert found["lost"] == found["connections"]["lost_closed"] >= len(half) and found["answered"] + found["lost"] == found["sent"], result


@test
def a_flood_that_wants_answers_is_ended():
    """Of a server that reads nothing itself: what it asks for would fill the memory."""
    for flood in (frame(PING, 0, 0, bytes(8)), settings()):
        def behave(client, flood=flood):
            client.greet()
            client.requests()
            client.send(frame(HEADERS, END_HEADERS, 1, GOOD))
            for _ in range(4000):
                client.send(flood * 500)
            raise AssertionError("the client took it all")

        with Server(by_number([behave])) as peer:
            found, http, result = run(peer, doh({"rate": "20"}, tcp={"connections": 1}))
        assert found["connections"]["lost_closed"] == found["lost"] >= 1, result
        assert http == {"bad_frame": 1, "error_sent": {"enhance_your_calm": 1}, "status": {"200": found["answered"]}}, (flood, http)


main()
