#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Driver socket as an ordinary user, against a server of this program on the loopback interface, which counts. What the
# kernel drops, refuses or does not have is the tester's, never the server's. In real time, as sockets are the kernel's.

import contextlib
import json
import os
import re
import socket
import threading

from harness import EXIT, Result, binary, check_ledger, check_sums, config_file, execute, main, test
from loop import RELAXED, cpus, hogs, item

NOBODY = 65534


class Server:
    """A DNS server that answers each query with its question; times: how often; by_way_of: from another address, with a
    port of its own. Counts what it got."""

    def __init__(self, address="127.0.0.1", times=1, at_most=None, by_way_of=None):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)  # for the time that it has no CPU
        self.socket.bind((address, 0))
        self.socket.settimeout(0.1)
        self.address, self.port = address, self.socket.getsockname()[1]
        self.answering = self.socket
        if by_way_of:
            self.answering = socket.socket(family, socket.SOCK_DGRAM)
            self.answering.bind((by_way_of, 0))
        self.times, self.at_most = times, at_most
        self.received, self.clients, self.ending = 0, set(), False
        self.thread = threading.Thread(target=self.loop)

    def loop(self):
        while not self.ending and self.received != self.at_most:
            try:
                query, client = self.socket.recvfrom(4096)
            except socket.timeout:
                continue
            self.received += 1
            self.clients.add(client[:2])
            for _ in range(self.times):
                self.answering.sendto(query[:2] + b"\x81\x80" + query[4:], client)
        if self.at_most:
            self.socket.close()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ending = True
        self.thread.join()
        self.answering.close()
        self.socket.close()


def config(server, *items, port=None, **keys):
    """Queries to a Server; keys: of the item."""
    one = item(server=server.address, server_port=server.port, **{"load": {"rate": "2k", "total": 400}, **keys})
    return json.dumps({
        "run": {"warmup": "0s", "duration": "5s", "interval": "100ms"},  # or until all is sent
        "ports": [{"name": "lan", "driver": "socket", **(port or {})}],
        "traffic": [one, *items],
        "validity": {**RELAXED, "dropped": "0%"},
    })


def as_nobody(text, *options, prefix=(), invalid=False):
    """A run without any privilege."""
    with config_file(text) as path:
        out = path.parent / "result.json"
        path.parent.chmod(0o777)
        user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.geteuid() == 0 else []
        code, stdout, stderr = execute([*prefix, *user, binary(), "run", str(path), "--json", str(out), *options])
        document = json.loads(out.read_text()) if out.exists() else None
    return Result(code, document, stdout, stderr, invalid)


@test
def a_user_without_rights_counts_as_the_server_does():
    """Over IPv4 with addresses and ports of its own, over IPv6 with those that the kernel gives."""
    # Below those that the kernel gives: tests beside this one have some of them.
    chosen = {(f"127.0.0.{host}", port) for host in range(2, 10) for port in (21000, 21001)}
    for address, keys in (("127.0.0.1", {"source": {"addresses": ["127.0.0.2-127.0.0.9"], "ports": [21000, 21001]}}), ("::1", {})):
        with Server(address) as server:
            result = as_nobody(config(server, timeout="5s", **keys))
        got, port = result.item("queries"), result.json["ports"][0]
        check_ledger(got)
        assert result.code == EXIT["pass"] and got["sent"] == got["answered"] == 400 == server.received, result
        assert port["tx_packets"] == port["rx_packets"] == 400, port
        assert port["rx_missed"] == port["tx_errors"] == 0 and port["rx_missed_known"], port
        assert "send time" in port["caveat"], port
        # 32 queries of each port that the kernel gives, then the next.
        assert server.clients == chosen if keys else len(server.clients) == 13, server.clients


@test
def replies_from_another_port_or_address_are_seen():
    """As with a driver that takes all packets: the queries are lost, and each reply is a stray."""
    for address, other, keys in (("127.0.0.1", "127.0.0.1", {}), ("127.0.0.1", "127.0.0.9", {"source": {"ports": [21000, 21001]}}),
                                 ("::1", "::1", {})):
        with Server(address, by_way_of=other) as server:
            result = as_nobody(config(server, timeout="1s", **keys))
        got = result.item("queries")
        check_ledger(got)
        assert result.code == EXIT["unreachable"], result
        assert got["sent"] == got["lost"] == got["stray"] == 400 == server.received, got
        assert result.json["ports"][0]["rx_packets"] == 400, result


@test
def a_server_that_is_not_there_or_no_longer_loses_what_it_is_sent():
    """The first is known by name."""
    with Server() as server:
        server.address = "localhost"
    result = as_nobody(config(server, load={"rate": "2k", "total": 8000}))
    got = result.item("queries")
    check_sums(got)
    assert result.code == EXIT["unreachable"] and re.search(r"ICMP port unreachable \(\d+ times\)", result.stdout), result
    assert 3 <= got["sent"] < 8000 and got["lost"] + got["in_flight"] == got["sent"], result  # no more than it takes to know
    with Server(at_most=100) as server:
        result = as_nobody(config(server, load={"rate": "500", "total": 400}))
    got, port = result.item("queries"), result.json["ports"][0]
    check_ledger(got)
    assert got["answered"] == 100 and got["lost"] == 300, result
    assert port["other"]["icmp_errors"]["port_unreachable"] > 0 and port["tx_errors"] == 0, port


@test
def what_the_kernel_does_not_give_is_said_before_the_run():
    """A port that another program has, as many descriptors, and an address of another host."""
    with Server() as server, contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as other:
        other.bind(("127.0.0.1", 0))
        taken = other.getsockname()[1]
        for text, prefix, words in (
                (config(server, source={"ports": [taken]}), (), [f"UDP port {taken} of 127.0.0.1 is in use by another program"]),
                (config(server, source={"ports": "30000-30999"}), ("prlimit", "--nofile=512:512"),
                 ["are 1000 sockets, and this process may have 512 open files", "`ulimit -n 1256`"]),
                (config(server, port={"addresses": ["192.0.2.77/24"]}), (), ["192.0.2.77 is not an address of this host"])):
            result = as_nobody(text, prefix=prefix)
            assert result.code == EXIT["environment"] and all(one in result.stderr for one in words), (words, result)
        assert not server.received, server.received


@test
def what_the_kernel_drops_is_the_testers():
    worker, _ = cpus()
    with Server(times=300) as server, hogs(worker, 6):  # more than a small buffer holds while the worker is away
        result = as_nobody(config(
            server, port={"rx_descriptors": 64, "cpus": [worker]}, source={"ports": [22000]},
            load={"outstanding": 400, "total": 400}), invalid=True)
    got, port = result.item("queries"), result.json["ports"][0]
    check_ledger(got)
    assert port["rx_missed"] > 0, port
    assert got["duplicate"] + got["answered"] + got["late"] == port["rx_packets"], (got, port)
    assert result.code == EXIT["invalid"] and result.json["verdict"]["limited_by"] == "tester", result
    assert f"the tester dropped {port['rx_missed']} received packets" in result.stdout, result


main()
