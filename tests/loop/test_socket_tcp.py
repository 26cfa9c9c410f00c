#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# The kernel's TCP on driver socket, as an ordinary user, against a server of this program on the loopback interface,
# which counts. Both sides agree on messages and connections, whatever the server does. In real time, as sockets are the
# kernel's.

import contextlib
import json
import os
import select
import socket
import struct
import threading
import time

from harness import EXIT, Result, binary, check_ledger, config_file, execute, main, test, timing
from loop import RELAXED, free_port, item, sockets_of_a_port

NOBODY = 65534


class Server:
    """Answers each query with its question, over TCP and UDP on the same port.

    closes: after so many messages of a connection. dies: after so many of all: nothing listens then. extra: octets behind
    the question. truncates: over UDP it sets TC."""

    def __init__(self, address="127.0.0.1", closes=None, dies=None, extra=0, truncates=False):
        self.listener, self.datagrams = sockets_of_a_port(address)
        self.listener.listen(1000)
        self.address, self.port = address, self.listener.getsockname()[1]
        self.closes, self.dies, self.extra, self.flags = closes, dies, extra, b"\x83\x80" if truncates else b"\x81\x80"
        self.received = self.accepted = self.reset = self.udp = 0
        self.clients, self.ending, self.peers = set(), False, {}
        self.thread = threading.Thread(target=self.loop)

    def answer(self, peer):
        data = self.peers[peer]
        while len(data) >= 2 and len(data) >= 2 + struct.unpack("!H", data[:2])[0]:
            length = struct.unpack("!H", data[:2])[0]
            query, data = data[2:2 + length], data[2 + length:]
            answer = query[:2] + b"\x81\x80" + query[4:] + b"x" * self.extra
            peer.sendall(struct.pack("!H", len(answer)) + answer)
            self.received += 1
            self.count[peer] += 1
            if self.count[peer] == self.closes:
                return False
        self.peers[peer] = data
        return True

    def serve(self, peer):
        try:
            data = peer.recv(65536)
            self.peers[peer] += data
            if data and self.answer(peer):
                return
        except ConnectionError:
            self.reset += 1
        del self.peers[peer]
        peer.close()

    def loop(self):
        self.count = {}
        while not self.ending and not (self.dies and self.received >= self.dies):
            ready, _, _ = select.select([self.listener, self.datagrams, *self.peers], [], [], 0.05)
            for one in ready:
                if one is self.listener:
                    peer, client = one.accept()
                    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    self.peers[peer], self.count[peer] = b"", 0
                    self.accepted += 1
                    self.clients.add(client[:2])
                elif one is self.datagrams:
                    query, client = one.recvfrom(4096)
                    self.udp += 1
                    one.sendto(query[:2] + self.flags + query[4:], client)
                elif one in self.peers:
                    self.serve(one)
        self.listener.close()
        for peer in self.peers:
            peer.close()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ending = True
        self.thread.join()
        self.datagrams.close()


def without_privilege(text, prefix=(), invalid=False):
    with config_file(text) as path:
        out = path.parent / "result.json"
        path.parent.chmod(0o777)
        user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.geteuid() == 0 else []
        code, stdout, stderr = execute([*prefix, *user, binary(), "run", str(path), "--json", str(out)])
        document = json.loads(out.read_text()) if out.exists() else None
    return Result(code, document, stdout, stderr, invalid)


def as_nobody(server, *, dns=None, port=None, prefix=(), keys=None, invalid=False, **tcp):
    """A run without any privilege, its ledger right."""
    dns = {"names": ["h{0-99}.example.com A"], "transport": "tcp", "tcp": tcp, **(dns or {})}
    one = item(server=server.address, server_port=server.port, dns=dns,
               **{"load": {"rate": "1k", "total": 400}, "timeout": "2s", **(keys or {})})
    text = json.dumps({
        "run": {"warmup": "0s", "duration": "5s", "interval": "100ms"},  # or until all is sent
        "ports": [{"name": "lan", "driver": "socket", **(port or {})}], "traffic": [one],
        "validity": {**RELAXED, "dropped": "0%"},
    })
    result = without_privilege(text, prefix, invalid)
    if result.json:
        check_ledger(result.item("queries"))
    return result


def exact(server, result, opened):
    got, port = result.item("queries"), result.json["ports"][0]
    conns = got["connections"]
    assert result.code == EXIT["pass"] and got["sent"] == got["answered"] == 400 == server.received, result
    assert conns["opened"] == conns["established"] == server.accepted == opened, (conns, server.accepted)
    assert conns["reset"] == conns["lost_closed"] == server.reset == 0, conns
    timing(conns["left"] == 0, conns)  # a server without a CPU does not close in time
    assert port["tx_errors"] == port["rx_missed"] == port["rx_no_mbuf"] == 0, port
    assert "TCP is the kernel's" in port["caveat"], port


@test
def messages_and_connections_are_counted_as_the_server_does():
    wanted = {(f"127.0.0.{host}", port) for host in (2, 3) for port in range(20000, 20010)}
    chosen = {"source": {"addresses": ["127.0.0.2-127.0.0.3"], "ports": "20000-20009"}}
    for shape, opened, server, settings in (
            ("a pool, and long answers", 4, Server(extra=60000), {"connections": 4}),
            ("ten messages each, with addresses and ports", 40, Server(), {"connections": 8, "queries_per_connection": 10, "keys": chosen}),
            ("one message each", 400, Server(), {"connections": 20, "queries_per_connection": 1}),
            ("the same over IPv6", 400, Server("::1"), {"connections": 20, "queries_per_connection": 1}),
            ("two workers", 100, Server(), {"connections": 20, "queries_per_connection": 4, "port": {"cpus": [1, 1]}})):
        print(f"# {shape}", flush=True)
        with server:
            result = as_nobody(server, **settings)
            exact(server, result, opened)
        least = 400 * 60000 if server.extra else 0
        assert result.item("queries")["dns"]["reply_bytes"] > least, result
        assert "keys" not in settings or server.clients == wanted, server.clients
        assert min(worker["received"] for worker in result.json["workers"]) > 0, result.json["workers"]


class Slow(Server):
    """Answers after 400 ms, and closes 100 ms after the client."""

    def answer(self, peer):
        time.sleep(0.4)
        return super().answer(peer)

    def serve(self, peer):
        if not peer.recv(1, socket.MSG_PEEK):
            time.sleep(0.1)
        super().serve(peer)


@test
def a_connection_has_time_to_close_after_a_late_answer():
    with Slow() as server:
        found = as_nobody(server, connections=1, keys={"load": {"rate": "100", "total": 1}}).item("queries")
    assert found["answered"] == 1 and found["connections"]["left"] == server.reset == 0, found["connections"]


@test
def a_server_that_closes_is_asked_again():
    with Server(closes=5) as server:
        result = as_nobody(server, connections=8, closed="again", keys={"load": {"outstanding": 64, "total": 400}})
    got = result.item("queries")
    # Those that are left when all have been sent are not asked again.
    assert got["sent"] == 400 and got["answered"] > 200 and got["lost"] == got["connections"]["lost_closed"], result
    assert got["connections"]["asked_again"] > 0, got["connections"]
    assert got["connections"]["opened"] == got["connections"]["established"] == server.accepted >= 40, result


@test
def a_server_that_does_not_listen_or_no_longer_loses_what_it_is_sent():
    with Server() as server:
        pass
    result = as_nobody(server, connections=5)
    got = result.item("queries")
    # The run ends with its first interval: nobody listens there.
    assert result.code == EXIT["unreachable"] and 5 < got["lost"] == got["sent"] < 400, result
    assert got["connections"]["refused"] == got["connections"]["opened"] > 5, got["connections"]
    assert "no server listens on that port" in result.stdout, result
    with Server(dies=100) as server:
        result = as_nobody(server, connections=5)
    got, conns = result.item("queries"), result.item("queries")["connections"]
    assert 90 <= got["answered"] <= server.received and got["answered"] + got["lost"] == 400, result
    assert conns["closed"] + conns["reset"] == 5 and conns["refused"] == conns["opened"] - 5 > 10, conns


@test
def truncated_answers_are_asked_again():
    with Server(truncates=True) as server:
        result = as_nobody(server, dns={"transport": "udp", "tc": "tcp"})
    got, port = result.item("queries"), result.json["ports"][0]
    assert got["answered"] == got["dns"]["tc_asked_again"] == 400 == server.received == server.udp, result
    assert got["connections"]["established"] == server.accepted == 400 and port["tx_errors"] == 0, result


@test
def what_the_kernel_does_not_give_is_not_the_servers_fault():
    """A port that another program has, and as many descriptors."""
    with Server() as server, contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as other:
        other.bind(("127.0.0.1", 0))
        taken = other.getsockname()[1]
        result = as_nobody(server, connections=1, keys={"source": {"ports": [taken]}, "load": {"rate": "1k", "total": 20}}, invalid=True)
        assert result.code == EXIT["invalid"] and result.json["ports"][0]["tx_errors"] > 0, result
        assert "Address already in use" in result.stdout and "each SYN was lost" not in result.stdout, result
        result = as_nobody(server, connections=1000, prefix=["prlimit", "--nofile=512:512"])
    assert result.code == EXIT["environment"], result
    assert "are 2000 sockets beside 0 of UDP, and this process may have 512 open files" in result.stderr, result
    assert "`ulimit -n 2256`" in result.stderr, result


def both_ends(*items, responder, run=None):
    """Tester and responder of one file, each on sockets of the kernel, as an ordinary user."""
    port = free_port()
    keys = {"server": "127.0.0.1", "server_port": port, "timeout": "4s", "port": "lan"}
    document = {
        "run": {"warmup": "0s", "duration": "20s", **(run or {})},
        "ports": [{"name": "lan", "driver": "socket"}, {"name": "far", "driver": "socket", "addresses": ["127.0.0.1/8"]}],
        "traffic": [{**keys, "name": name, "load": {"rate": "100", "total": 100}, "echo": echo} for name, echo in items],
        "responder": {"port": "far", "server_port": port, **responder}, "validity": RELAXED,
    }
    result = without_privilege(json.dumps(document))
    assert result.code == EXIT["pass"], result
    return result, result.json["responder"]


@test
def a_responder_on_sockets_answers_datagrams_and_connections_of_any_length():
    tcp = {"transport": "tcp", "tcp": {"connections": 7}}
    result, server = both_ends(("udp", {"size": "1200B"}), ("longer", {"size": "40B", "reply": "1400B"}), ("tcp", {"size": "64B", **tcp}),
                               ("bulk", {"size": "60000B", "reply": "65000B", **tcp}), ("way", {"test": "stream", "size": "20000B", **tcp}),
                               responder={"echo": {}})
    for name in ("udp", "longer", "tcp", "bulk"):
        check_ledger(result.item(name))
        assert result.item(name)["answered"] == 100, (name, result)
    assert result.item("way")["no_reply"] == 100 and server["received"] == 500, server
    assert server["connections"]["accepted"] == 21 and server["connections"]["reset"] == 0, server


@test
def a_responder_on_sockets_ends_connections_as_it_is_told():
    tcp = {"transport": "tcp", "tcp": {"connections": 4}}
    result, server = both_ends(("closed", {"size": "1B", "reply": "3B", **tcp}),
                               ("connects", {"test": "connect", "transport": "tcp", "tcp": {"connections": 4, "queries_per_connection": 1}}),
                               responder={"echo": {"request": "1B", "reply": "3B"}, "tcp": {"queries_per_connection": 10}})
    closed = result.item("closed")
    assert closed["answered"] + closed["lost"] == 100 and closed["answered"] >= 75, closed
    assert closed["connections"]["closed"] >= 7, closed["connections"]
    assert result.item("connects")["answered"] == 100, result
    assert server["connections"]["accepted"] == 100 + closed["connections"]["opened"], (server, closed)


@test
def a_port_that_another_program_has_is_named():
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as other:
        other.bind(("127.0.0.1", 0))
        other.listen(1)
        document = {"ports": [{"name": "far", "driver": "socket", "addresses": ["127.0.0.1/8"]}],
                    "responder": {"server_port": other.getsockname()[1], "echo": {}}}
        with config_file(json.dumps(document)) as path:
            code, _, stderr = execute([binary(), "respond", str(path)])
    assert code == EXIT["environment"] and "TCP port" in stderr and "Address already in use" in stderr, (code, stderr)


main()
