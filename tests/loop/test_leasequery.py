#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Bulk lease queries of servers that misbehave. In real time: the servers are threads of the test, over the kernel's TCP.

import json
import socket
import struct
import threading

from dhcp import check_query_steps
from dissect import dissected
from harness import check_ledger, ddiperf, main, nightly, test
from loop import RELAXED

ASKED = 10


# --- another server, whose answers do not end as they should ---

ACTIVE, UNKNOWN, DONE = 13, 12, 15


def message(query, kind, address="10.64.0.1", more=b""):
    """A reply to a query of DHCPv4 about a client's address, with its length in front."""
    head = b"\2\1\6\0" + query[4:8] + b"\0" * 4 + socket.inet_aton(address) + b"\0" * 12 + b"\2\0\0\0\0\1" + b"\0" * 202
    body = head + b"\x63\x82\x53\x63" + bytes([53, 1, kind]) + more + b"\xff"
    return struct.pack("!H", len(body)) + body


class Server:
    """Gives each query the answer of reply(query), and closes then if it says so. queries: those that came."""

    def __init__(self, reply, closes):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port, self.reply, self.closes, self.queries = self.listener.getsockname()[1], reply, closes, []
        threading.Thread(target=self.loop, daemon=True).start()

    def loop(self):
        while True:
            peer, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def serve(self, peer):
        data = b""
        while more := peer.recv(65536):
            data += more
            while len(data) >= 2 and len(data) >= 2 + struct.unpack("!H", data[:2])[0]:
                query, data = data[2:2 + struct.unpack("!H", data[:2])[0]], data[2 + struct.unpack("!H", data[:2])[0]:]
                self.queries.append(query)
                peer.sendall(self.reply(query))
                if self.closes:
                    peer.close()
                    return


def from_others(*servers, **settings):
    """[the item with its counters] for each server; each query has a connection of its own."""
    items = [{"name": f"item{i}", "server": "127.0.0.1", "server_port": one.port, "timeout": "1s", "load": {"rate": "1k", "total": ASKED},
              "leasequery4": {**settings, "tcp": {"connections": ASKED, "queries_per_connection": 1}}} for i, one in enumerate(servers)]
    result = ddiperf(json.dumps({"run": {"warmup": "0s", "duration": "1s"}, "ports": [{"name": "lan", "driver": "socket"}],
                                 "traffic": items, "validity": RELAXED}))
    assert result.json, result
    for one in result.json["traffic"]:
        check_ledger(one)
        check_query_steps({**one, **one["leasequery4"]})
        assert one["sent"] == one["due"] == ASKED, result
    return [{**one, **one["leasequery4"]} for one in result.json["traffic"]]


@test
def an_answer_without_its_end_is_lost_for_a_reason():
    two = lambda query: message(query, ACTIVE) + message(query, ACTIVE, "10.64.0.2")  # noqa: E731
    before, within, late, refused, strange, other = from_others(
        Server(lambda query: b"", True), Server(two, True), Server(two, False),
        Server(lambda query: two(query) + message(query, DONE, more=bytes([151, 1, 2])), False),
        Server(lambda query: message(query, UNKNOWN), False),
        Server(lambda query: message(query, ACTIVE).replace(b"\2\0\0\0\0\1", b"\2\0\0\0\0\2"), False), query="mac", subject="020000000001")
    assert before["lost"] == before["closed_before"] == before["connections"]["lost_closed"] == ASKED and before["bindings"] == 0, before
    assert within["lost"] == within["closed_within"] == ASKED and within["bindings"] == 2 * ASKED, within
    assert late["lost"] == late["late_within"] == ASKED and late["bindings"] == 2 * ASKED, late
    assert refused["failed"] == refused["refused"] == refused["status"]["QueryTerminated"] == ASKED, refused
    assert strange["failed"] == strange["unexpected"] == ASKED, strange
    assert other["failed"] == other["subject_wrong"] == ASKED and other["bindings"] == 0, other


# --- DHCPv4 as another program reads it: Wireshark has it over UDP ---


@nightly
def another_program_reads_each_kind_of_query():
    kinds = {"all": (None, None), "mac": ("020000000001", "Client MAC address: 02:00:00:00:00:01"),
             "client_id": ("01020000000001", "Option: (61) Client identifier"),
             "relay_id": ("0003000102000000000a", "Option 82 Suboption: (12) Relay Agent Identifier"),
             "remote_id": ("706f7274", "Option 82 Suboption: (2) Agent Remote ID")}
    for kind, (subject, line) in kinds.items():
        server = Server(lambda query: message(query, DONE), False)
        [one] = from_others(server, query=kind, **({"subject": subject} if subject else {}))
        assert one["answered"] == one["empty"] == ASKED == len(server.queries), one
        for lines in dissected(server.queries):
            assert any("Option: (53) DHCP Message Type (Bulk" in one for one in lines), lines
            assert line is None or any(line in one for one in lines), (line, lines)


main()
