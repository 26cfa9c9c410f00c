#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Misbehaving servers of DNS over TLS, on the loopback interface: each fault is counted in its own cell of connections.tls,
# is the server's and never the tester's, and leaves nothing unsent. Servers that are merely unusual have all answered.

import contextlib
import ctypes
import itertools
import json
import os
import random
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from harness import EXIT, binary, check_ledger, config_file, ddiperf, kill, main, skip, start, test, until
from loop import RELAXED, free_port, item
from tls_peer import Client, Peer, make_certificate, make_chain

BIG_NAMES = 300  # alternative names of the large certificate: about 10 000 octets


def dot(load=None, tcp=None, timeout="1500ms", **tls):
    return item(load=load or {"rate": "50"}, timeout=timeout, dns={
        "names": ["h{0-9}.example.com A"], "transport": "tls", "tcp": tcp or {"connections": 4},
        "tls": {"handshake_timeout": "1s", **tls}})


def run(peer, one, code=0, duration="500ms", host=None, **allowed):
    """The item and its counters of TLS; the ledger is right, nothing is unsent, and nothing is the tester's fault."""
    text = {"run": {"warmup": "0s", "duration": duration}, "ports": [{"name": "lan", "driver": "socket"}], "validity": RELAXED,
            "host": host or {},
            "traffic": [{**one, "server": "127.0.0.1", "server_port": peer.port}]}
    result = ddiperf(json.dumps(text))
    assert result.code == code, result
    assert "Sanitizer" not in result.stderr and "runtime error" not in result.stderr, result
    found = result.item("queries")
    check_ledger(found)
    tls = found["connections"]["tls"]
    assert found["unsent"] == 0 < found["sent"] and tls["no_memory"] == found["connections"]["no_memory"] == 0, result
    assert {name: found[name] for name in ("malformed", "stray", "duplicate") if found[name]} == allowed, result
    assert tls["begun"] >= tls["full"] + tls["resumed"] + tls["failed"], tls
    return found, tls, result


def wrong(tls):
    """The cells of faults that are not 0; full and resumed handshakes are not faults."""
    names = ("failed", "timed_out", "bad_record", "no_alpn", "no_close_notify", "resumption_refused", "refused", "alert_received", "alert_sent")
    return {name: tls[name] for name in names if tls[name]}


def all_answered(peer, one, cells=None, **more):
    found, tls, result = run(peer, one, **more)
    assert found["answered"] == found["sent"] == found["due"], result
    assert wrong(tls) == (cells or {}), tls
    return found, tls


def lost(peer, one=None, host=None):
    """No query is answered, as no handshake succeeds, or nothing comes after it."""
    found, tls, result = run(peer, one or dot(), EXIT["unreachable"], host=host)
    assert found["lost"] == found["sent"], result
    return found, tls, result


# --- the server of this program ---


@test
def a_responder_is_asked_again_from_the_same_ports():
    """The same seed takes the same ports, whose connections the responder was the first to close."""
    port = free_port()
    text = json.dumps({"ports": [{"name": "lo", "driver": "socket", "addresses": ["127.0.0.1/8"]}],
                       "responder": {"server_port": free_port(), "dns": {}, "tls": {"port": port}}})
    with config_file(text) as path:
        process = start([binary(), "respond", str(path)])
        try:
            until(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0, "the responder listens")
            for _ in range(3):
                one = {**dot(tcp={"connections": 5}), "server": "127.0.0.1", "server_port": port}
                result = ddiperf(json.dumps({"run": {"warmup": "0s", "duration": "200ms"}, "validity": RELAXED, "traffic": [one],
                                             "ports": [{"name": "lan", "driver": "socket"}]}))
                found = result.item("queries")
                assert result.code == 0 and found["answered"] == found["due"] > 0, result
        finally:
            kill(process, signal.SIGINT)
            process.communicate(timeout=20)


# --- unusual, but right ---


def serve(cut=lambda client, answers: [client.record(answers)]):
    """Behaviour of a server that answers; cut: the octets of the answers as pieces that are sent one after the other."""
    def behave(client):
        client.shake()
        while True:
            answers = b"".join(map(client.answer, client.queries()))
            for piece in cut(client, answers):
                client.sock.sendall(piece)

    return behave


def octets(client):
    def send(data):
        for i in range(len(data)):
            client.sock.sendall(data[i:i + 1])

    return send


def by_octets(client):
    client.shake(octets(client))
    while True:
        for query in client.queries():
            octets(client)(client.record(client.answer(query)))


@test
def an_honest_server_has_all_answered():
    for version in ("1.3", "1.2"):
        with Peer(serve(), version=version) as peer:
            found, tls = all_answered(peer, dot())
        assert tls["full"] == tls["begun"] == peer.accepted == 4 and peer.asked == found["sent"], tls


@test
def octets_one_by_one_are_put_together():
    for version in ("1.3", "1.2"):
        with Peer(by_octets, version=version) as peer:
            found, tls = all_answered(peer, dot(timeout="3s", handshake_timeout="3s"))
        assert tls["full"] == 4 and tls["version"] == {version: 4}, tls


@test
def messages_in_several_records_and_records_of_several_messages_are_read():
    luck = random.Random(1)

    def at_random(client, data):
        while data:
            n = luck.randint(1, 60)
            yield client.record(data[:n])
            data = data[n:]

    for cut in (lambda client, data: [client.record(data[:2]), client.record(data[2:])],
                lambda client, data: [client.record(data[:2]) + client.record(data[2:])],
                lambda client, data: [client.record(data[i:i + 1]) for i in range(len(data))],
                at_random):
        with Peer(serve(cut)) as peer:
            found, tls = all_answered(peer, dot({"outstanding": 20, "total": "200"}, tcp={"connections": 2}), duration="3s")
            assert peer.asked == found["sent"] == 200 and tls["full"] == 2, tls


@test
def a_certificate_larger_than_the_buffer_of_a_handshake_is_read():
    for version in ("1.3", "1.2"):
        for shake in (None, by_octets):
            with Peer(shake or serve(), names=BIG_NAMES, version=version) as peer:
                _, tls = all_answered(peer, dot(timeout="5s", handshake_timeout="5s"))
            assert tls["certificate_bytes"] > 4 * 8192, tls


@test
def a_server_that_wants_another_group_asks_again():
    with Peer(serve(), curve="prime256v1", version="1.3") as peer:
        _, tls = all_answered(peer, dot(groups=["x25519", "secp256r1"]))
    assert tls["group"] == {"secp256r1": 4}, tls


@test
def many_tickets_and_none_are_both_right():
    for tickets, full in ((16, 4), (0, None)):
        with Peer(serve(), tickets=tickets, version="1.3") as peer:
            _, tls = all_answered(peer, dot(tcp={"connections": 4, "queries_per_connection": 1}, resume="each"))
        assert tls["tickets"] == tickets * tls["full"] + (tls["resumed"] if tickets else 0) or tls["tickets"] == tickets * tls["begun"], tls
        assert tls["full"] == (full or tls["begun"]) and peer.resumed == tls["resumed"], tls


@test
def another_protocol_is_counted():
    for alpn in (["h2"], ["http/1.1"]):
        with Peer(serve(), alpn=alpn) as peer:
            all_answered(peer, dot(), {"no_alpn": 4})


@test
def a_chain_of_certificates_is_verified():
    """Of 8 000 octets, with signatures by P-384 and RSA. One that ends before the root is not trusted. In TLS 1.2 the key of a
    certificate is of one of the client's groups."""
    for key in ("ec:P-384", "rsa:2048"):
        with tempfile.TemporaryDirectory() as folder:
            chain, root = make_chain(folder, key)
            for version in ("1.3", "1.2"):
                with Peer(serve(), certificate=chain, version=version) as peer:
                    _, tls = all_answered(peer, dot(verify="chain", name="dns.example", ca=root))
                assert tls["full"] == tls["begun"] == 4 and 4 * 7500 < tls["certificate_bytes"] < 4 * 9500, tls
            Path(chain).write_text(Path(folder, "5.pem").read_text() + Path(folder, "leaf.key").read_text())
            with Peer(serve(), certificate=chain) as peer:
                _, tls, _ = lost(peer, dot(verify="chain", name="dns.example", ca=root))
            assert tls["refused"] == {"untrusted": tls["begun"]}, tls


@test
def tickets_of_keys_that_change_with_each_connection_are_refused():
    for version in ("1.3", "1.2"):
        with Peer(serve(), contexts=60, version=version) as peer:
            found, tls, result = run(peer, dot(tcp={"connections": 4, "queries_per_connection": 1}, resume="each"))
        assert found["answered"] == found["sent"] == found["due"] == 25, result
        assert wrong(tls) == {"resumption_refused": 21} and tls["full"] == tls["begun"] == 25 and peer.resumed == tls["resumed"] == 0, tls


@test
def answers_in_another_order_find_their_queries():
    def behave(client):
        client.shake()
        waiting = []
        while True:
            waiting += client.queries()
            if len(waiting) >= 5 or client.asked == 100:
                client.sock.sendall(client.record(b"".join(map(client.answer, reversed(waiting)))))
                waiting = []

    with Peer(behave) as peer:
        all_answered(peer, dot({"outstanding": 10, "total": "200"}, tcp={"connections": 2}), duration="3s")


@test
def answers_with_an_id_of_no_query_are_stray():
    """Every second answer."""
    def other(client, answers):
        messages = []
        while answers:
            n = 2 + struct.unpack("!H", answers[:2])[0]
            messages.append(answers[:n])
            answers = answers[n:]
        for message in messages:
            client.told = getattr(client, "told", 0) + 1
            yield client.record(message if client.told % 2 else message[:2] + bytes([message[2] ^ 0x80]) + message[3:])

    with Peer(serve(other)) as peer:
        found, tls, result = run(peer, dot({"outstanding": 4, "total": "40"}, tcp={"connections": 4}, timeout="200ms"), duration="5s", stray=20)
    assert found["answered"] == found["lost"] == 20 == found["sent"] // 2 and wrong(tls) == {}, result


@test
def a_slow_server_is_waited_for():
    def slow(client):
        client.receive()
        time.sleep(0.3)
        serve()(client)

    with Peer(slow) as peer:
        found, tls = all_answered(peer, dot())
    assert tls["full_time"]["min_ns"] > 300e6 and found["latency"]["response"]["max_ns"] > 300e6, tls


# --- handshakes that fail ---


@test
def a_silent_server_is_given_up():
    def listen(client):
        while client.sock.recv(65536):
            pass

    with Peer(listen) as peer:
        _, tls, _ = lost(peer)
    assert wrong(tls) == {"failed": tls["begun"], "timed_out": tls["begun"]}, tls


@test
def handshakes_that_wait_for_others_are_given_up_too():
    def listen(client):
        while client.sock.recv(65536):
            pass
        time.sleep(0.5)  # its end of the connection stays open

    with Peer(listen) as peer:
        _, tls, _ = lost(peer, dot(tcp={"connections": 8}, handshakes=1, handshake_timeout="200ms"))
    assert tls["begun"] == peer.accepted >= 8 and tls["waited"] >= 7, tls
    assert wrong(tls) == {"failed": tls["begun"], "timed_out": tls["begun"]}, tls


@test
def something_else_than_server_hello_is_refused():
    for text in (b"HTTP/1.1 400 Bad Request\r\n\r\n", bytes(64), b"\x16\x03\x03\xff\xff" + b"x" * 70000,
                 b"\x16\x03\x03\0\x04\x02\0\0\0", b"\x17\x03\x03\0\x20" + b"y" * 32, b"\x16\x03\x03\0\x30" + random.Random(2).randbytes(48)):
        def babble(client, text=text):
            client.receive()
            client.sock.sendall(text)
            while client.sock.recv(65536):
                pass

        with Peer(babble) as peer:
            _, tls, _ = lost(peer)
        cells = wrong(tls)
        assert cells.pop("failed") == tls["begun"] == peer.accepted and set(cells) <= {"alert_sent", "timed_out"}, (text[:10], tls)
        # The last text is the beginning of a long message, which never ends.
        assert sum(tls["alert_sent"].values()) + tls["timed_out"] == tls["begun"], (text[:10], tls)


@test
def an_alert_in_place_of_server_hello_is_named():
    for number, name in ((40, "handshake_failure"), (70, "protocol_version"), (112, "unrecognized_name"), (255, "other")):
        def refuse(client, number=number):
            client.receive()
            client.sock.sendall(b"\x15\x03\x03\0\x02\x02" + bytes([number]))
            while client.sock.recv(65536):
                pass

        with Peer(refuse) as peer:
            _, tls, result = lost(peer)
        assert wrong(tls) == {"failed": tls["begun"], "alert_received": {name: tls["begun"]}}, (name, tls)


@test
def a_connection_that_ends_within_the_handshake_has_failed():
    def end(reset, share):
        def behave(client):
            client.receive()
            with contextlib.suppress(ssl.SSLWantReadError):
                client.tls.do_handshake()
            flight = client.flight()
            client.sock.sendall(flight[:int(len(flight) * share)])
            if reset:
                client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

        return behave

    # A crew may be at work on the octets of a connection that ends meanwhile.
    for reset, share, host in itertools.product((False, True), (0, 0.5, 0.99), (None, {"crew": sorted(os.sched_getaffinity(0))[:1]})):
        with Peer(end(reset, share)) as peer:
            found, tls, _ = lost(peer, host=host)
        assert wrong(tls) == {"failed": tls["begun"]} and tls["begun"] == peer.accepted, (reset, share, host, tls)
        assert found["connections"]["lost_closed"] == found["lost"], found["connections"]


@test
def a_flight_with_a_wrong_bit_is_refused():
    def flip(client):
        client.receive()
        with contextlib.suppress(ssl.SSLWantReadError):
            client.tls.do_handshake()
        flight = bytearray(client.flight())
        flight[-5] ^= 4
        client.sock.sendall(flight)
        while client.sock.recv(65536):
            pass

    with Peer(flip, version="1.3") as peer:
        _, tls, _ = lost(peer)
    assert wrong(tls) == {"failed": tls["begun"], "alert_sent": {"bad_record_mac": tls["begun"]}}, tls


@test
def a_client_certificate_that_is_missing_is_an_alert():
    """In TLS 1.3 it comes after our Finished, that is, after the handshake."""
    with Peer(serve(), wants_certificate=True, version="1.3") as peer:
        _, tls, _ = lost(peer)
    assert wrong(tls) == {"alert_received": {"certificate_required": tls["full"]}} and tls["full"] == tls["begun"] > 0, tls
    with Peer(serve(), wants_certificate=True, version="1.2") as peer:
        _, tls, _ = lost(peer)
    assert wrong(tls) == {"failed": tls["begun"], "alert_received": {"handshake_failure": tls["begun"]}}, tls


# --- wrong records after the handshake ---


def spoil(change):
    """Answers one message, then sends what change makes of the record of the second one."""
    def behave(client):
        client.shake()
        count = 0
        while True:
            for query in client.queries():
                count += 1
                record = client.record(client.answer(query))
                client.sock.sendall(record if count == 1 else change(record))

    return behave


def flipped(place):
    def change(record):
        record = bytearray(record)
        record[place] ^= 1
        return bytes(record)

    return change


@test
def wrong_records_are_counted_and_answered_by_an_alert():
    cases = [
        (flipped(10), "bad_record_mac", "1.3 1.2"),  # the text
        (flipped(-1), "bad_record_mac", "1.3 1.2"),  # the tag
        (lambda r: r[:3] + struct.pack("!H", len(r) - 6) + r[5:], "bad_record_mac", "1.3 1.2"),  # an octet less
        (lambda r: b"\x17\x03\x03\x48\x01" + bytes(0x4801), "record_overflow", "1.3"),
        (lambda r: b"\x17\x03\x03\xff\xff" + bytes(5), "record_overflow", "1.3 1.2"),
        (lambda r: b"\x17\x03\x03\0\x05" + b"hello", "bad_record_mac", "1.3 1.2"),
        (lambda r: b"\x14\x03\x03\0\x01\x01" + r, "unexpected_message", "1.3"),
        (lambda r: b"\x63\x03\x03\0\x05" + b"hello", None, "1.3 1.2"),
        (lambda r: b"HTTP/1.1 200 OK\r\n", None, "1.3 1.2"),
    ]
    for change, alert, versions in cases:
        for version in versions.split():
            with Peer(spoil(change), version=version) as peer:
                found, tls, result = run(peer, dot(tcp={"connections": 4, "closed": "lost"}))
            cells = wrong(tls)
            assert 4 <= cells.pop("bad_record") <= peer.accepted, (alert, version, tls)
            sent = cells.pop("alert_sent")
            assert sum(sent.values()) == tls["bad_record"] and (not alert or set(sent) == {alert}), (alert, version, sent)
            assert not cells and found["answered"] >= 4, (alert, version, tls)
            assert found["lost"] >= 4 and found["connections"]["lost_closed"] == found["lost"], result


@test
def a_record_that_is_not_complete_ends_with_its_connection():
    def behave(client):
        client.shake()
        first, *_ = client.queries()
        client.sock.sendall(client.record(client.answer(first)))
        second, *_ = client.queries()
        client.sock.sendall(client.record(client.answer(second))[:-3])

    with Peer(behave) as peer:
        found, tls, result = run(peer, dot())
    assert wrong(tls) == {"no_close_notify": tls["no_close_notify"]} and 4 <= tls["no_close_notify"] <= peer.accepted, tls
    assert found["lost"] == found["connections"]["lost_closed"] >= 4, result


@test
def an_end_without_close_notify_is_counted():
    def leave(announced):
        def behave(client):
            client.shake()
            for _ in range(2):
                query, *_ = client.queries()
                client.sock.sendall(client.record(client.answer(query)))
            if announced:
                with contextlib.suppress(ssl.SSLWantReadError):
                    client.tls.unwrap()
                client.sock.sendall(client.flight())

        return behave

    for announced in (True, False):
        with Peer(leave(announced)) as peer:
            found, tls, result = run(peer, dot({"rate": "50"}, tcp={"connections": 4, "closed": "again"}))
        assert found["answered"] == found["sent"], result
        closed = found["connections"]["closed"]
        assert closed >= 4 and wrong(tls) == ({} if announced else {"no_close_notify": closed}), (announced, tls)


@test
def connections_that_end_with_an_alert_after_some_queries_are_closed():
    """The alert comes in place of the answers to what is in flight."""
    def behave(client):
        client.shake()
        waiting = []
        while len(waiting) < 5:
            waiting += client.queries()
        client.sock.sendall(client.record(b"".join(map(client.answer, waiting[:3]))))
        client.into.write(b"\x17\x03\x03\0\x20" + bytes(32))  # that is not the client's
        with contextlib.suppress(ssl.SSLError):
            while client.tls.read(65536):
                pass
        client.sock.sendall(client.flight())
        with contextlib.suppress(OSError):
            while client.sock.recv(65536):
                pass

    for version in ("1.3", "1.2"):
        with Peer(behave, version=version) as peer:
            found, tls, result = run(peer, dot({"outstanding": 10}, tcp={"connections": 2}))
        conns = found["connections"]
        alerts = tls["alert_received"].get("bad_record_mac", 0)
        assert wrong(tls) == {"alert_received": {"bad_record_mac": alerts}} and conns["opened"] - 4 <= alerts <= conns["opened"], tls
        # The last connections have too few queries.
        assert 2 * alerts <= conns["lost_closed"] <= found["lost"] <= conns["lost_closed"] + 8 and found["answered"] >= 3 * alerts > 6, result


@test
def a_server_that_only_says_it_is_leaving_is_left():
    """close_notify, and TCP stays open."""
    lasted = []

    def behave(client):
        client.shake()
        for _ in range(2):
            query, *_ = client.queries()
            client.sock.sendall(client.record(client.answer(query)))
        with contextlib.suppress(ssl.SSLWantReadError):
            client.tls.unwrap()
        client.sock.sendall(client.flight())
        begin = time.monotonic()
        try:
            while client.sock.recv(65536):
                pass
        finally:
            lasted.append(time.monotonic() - begin)

    with Peer(behave) as peer:
        found, tls, result = run(peer, dot(tcp={"connections": 4, "closed": "again"}))
    assert found["answered"] == found["sent"] and wrong(tls) == {} and found["connections"]["closed"] >= 4, result
    assert len(lasted) >= found["connections"]["closed"] and sorted(lasted)[len(lasted) // 2] < 0.3, lasted


# --- OpenSSL's own server: what Python cannot make it do ---

QUERY = re.compile(rb"..\x01\x00\x00\x01\x00{6}\x02h\d\x07example\x03com\x00\x00\x01\x00\x01", re.DOTALL)


@contextlib.contextmanager
def s_server(order, *words):
    """It answers one connection, and executes the order (a letter) after every third answer. Yields how often it did so."""
    if not shutil.which("openssl"):
        skip("openssl is not installed")
    did = type("Did", (), {"port": free_port(), "orders": 0, "answers": 0})
    with tempfile.TemporaryDirectory() as folder:
        argv = ["openssl", "s_server", "-accept", f"127.0.0.1:{did.port}", "-cert", make_certificate(folder), "-alpn", "dot", *words]
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0, start_new_session=True)

        def work():
            data = b""
            while more := process.stdout.read(65536):
                data += more
                while found := QUERY.search(data):
                    data, query = data[found.end():], found[0]
                    answer = query[:2] + b"\x81\x80" + query[4:]
                    process.stdin.write(struct.pack("!H", len(answer)) + answer)
                    did.answers += 1
                    if did.answers % 3 == 0:
                        time.sleep(0.05)  # it takes what it reads at once as one thing
                        process.stdin.write(order)
                        did.orders += 1
                        time.sleep(0.05)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            until(lambda: f":{did.port:04X} 00000000:0000 0A" in Path("/proc/net/tcp").read_text(), "it listens")
            yield did
        finally:
            kill(process)
            process.wait()
            thread.join()


@test
def keys_are_changed_as_the_server_asks():
    for order in (b"k\n", b"K\n"):  # its own key; both
        with s_server(order, "-tls1_3") as did:
            found, tls = all_answered(did, dot({"outstanding": 1, "total": "30"}, tcp={"connections": 1}), duration="10s")
        assert found["sent"] == did.answers == 30 and 9 <= tls["key_updates"] <= did.orders == 10, tls


@test
def a_ticket_in_several_records_is_put_together():
    """OpenSSL's tickets have the client's certificate. A large one is taken, but not kept."""
    for names, frag in ((1, 512), (BIG_NAMES, 4000)):
        with tempfile.TemporaryDirectory() as folder, s_server(b"", "-tls1_3", "-max_send_frag", str(frag), "-verify", "1") as did:
            mine = make_certificate(folder, names)
            one = dot({"outstanding": 1, "total": "12"}, tcp={"connections": 1, "queries_per_connection": 3}, resume="each",
                      certificate=mine, key=mine)
            found, tls = all_answered(did, one, duration="10s")
        assert found["sent"] == did.answers == 12 and tls["begun"] == 4, tls
        assert (tls["full"], tls["resumed"]) == ((1, 3) if names == 1 else (4, 0)), tls
        assert tls["tickets"] == 2 * tls["full"] + tls["resumed"] and tls["records_received"] > 12 + 2 * tls["tickets"], tls


@test
def a_server_that_wants_a_new_handshake_has_none():
    """A HelloRequest of TLS 1.2 may be ignored (RFC 5246 section 7.4.1.1)."""
    with s_server(b"r\n", "-tls1_2") as did:
        found, tls, result = run(did, dot({"outstanding": 1, "total": "6"}, tcp={"connections": 1}), duration="10s")
    assert found["answered"] >= 3 and tls["bad_record"] == 0, result


# --- early data ---


class Early:
    """A server of libssl that answers early data in the flight of its own Finished, in one segment."""

    def __init__(self, most, contexts=1):
        self.most, self.contexts, self.early, self.asked, self.ahead, self.ending, self.threads = most, contexts, 0, 0, 0, False, []
        self.lib = ctypes.CDLL("libssl.so.3")
        for name in ("TLS_server_method", "SSL_CTX_new", "SSL_new"):
            getattr(self.lib, name).restype = ctypes.c_void_p

    def answers(self, data):
        """To whole messages."""
        made = b""
        while data:
            n = 2 + struct.unpack("!H", data[:2])[0]
            assert n <= len(data), data
            made += Client.answer(None, data[2:n])
            data = data[n:]
            self.asked += 1
        return made

    def serve(self, sock, context):
        lib, n, room = self.lib, ctypes.c_size_t(), ctypes.create_string_buffer(65536)
        tls = ctypes.c_void_p(lib.SSL_new(context))
        lib.SSL_set_fd(tls, sock.fileno())
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        while (more := lib.SSL_read_early_data(tls, room, ctypes.c_size_t(65536), ctypes.byref(n))) == 1:
            out = self.answers(room.raw[:n.value])
            self.early += 1
            lib.SSL_write_early_data(tls, out, ctypes.c_size_t(len(out)), ctypes.byref(n))
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
            # The client has read the answer if its next query comes before the rest of the handshake, which is 84 octets.
            self.ahead += until(lambda: len(sock.recv(4096, socket.MSG_PEEK)) > 100, "the next query")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if more == 2 and lib.SSL_accept(tls) == 1:
            while (got := lib.SSL_read(tls, room, 65536)) > 0:
                out = self.answers(room.raw[:got])
                lib.SSL_write(tls, out, len(out))
            lib.SSL_shutdown(tls)
        lib.SSL_free(tls)
        sock.close()

    def accept(self):
        while not self.ending:
            with contextlib.suppress(TimeoutError):
                sock, _ = self.listener.accept()
                sock.settimeout(None)
                self.threads.append(threading.Thread(target=self.serve, args=(sock, self.made[len(self.threads) % len(self.made)])))
                self.threads[-1].start()

    def context(self, file):
        made = ctypes.c_void_p(self.lib.SSL_CTX_new(ctypes.c_void_p(self.lib.TLS_server_method())))
        assert self.lib.SSL_CTX_use_certificate_chain_file(made, file) == 1
        assert self.lib.SSL_CTX_use_PrivateKey_file(made, file, 1) == 1
        self.lib.SSL_CTX_set_max_early_data(made, self.most)
        return made

    def __enter__(self):
        with tempfile.TemporaryDirectory() as folder:
            file = make_certificate(folder).encode()
            self.made = [self.context(file) for _ in range(self.contexts)]
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.listener.settimeout(0.05)
        self.port = self.listener.getsockname()[1]
        self.threads.append(threading.Thread(target=self.accept))
        self.threads[0].start()
        return self

    def __exit__(self, *_):
        self.ending = True
        for one in self.threads:
            one.join()
        self.listener.close()


@test
def answers_to_early_data_are_read_with_the_servers_finished():
    """And the tickets behind them are kept: each connection but the first one has one. A message above the limit is no early data."""
    for most, resume in ((16384, "each"), (16384, "last"), (20, "each")):
        one = dot({"outstanding": 1, "total": "30"}, tcp={"connections": 1, "queries_per_connection": 3}, resume=resume, early=True, alpn="none")
        with Early(most) as peer:
            found, tls = all_answered(peer, one, duration="10s")
        assert peer.asked == found["sent"] == 30 and tls["begun"] == 10 and tls["full"] == 1, tls
        assert tls["early_accepted"] == tls["early_offered"] == peer.early == peer.ahead == (9 if most > 20 else 0), (peer.early, peer.ahead, tls)


@test
def early_data_for_keys_that_changed_is_sent_again():
    """The server skips what it cannot read, and reads the copy behind the handshake."""
    one = dot({"outstanding": 1, "total": "30"}, tcp={"connections": 1, "queries_per_connection": 3}, resume="each", early=True, alpn="none")
    with Early(16384, contexts=20) as peer:
        found, tls, result = run(peer, one, duration="10s")
    assert peer.asked == found["answered"] == found["sent"] == 30 and peer.early == 0, result
    assert (tls["full"], tls["early_offered"], tls["early_refused"], tls["early_accepted"]) == (10, 9, 9, 0), tls
    assert wrong(tls) == {"resumption_refused": 9}, tls


main()
