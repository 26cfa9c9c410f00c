#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Messages over TCP connections at real servers, through each driver, over both families: all are answered, and the
# server and its kernel have counted as many of them, and of connections, as were sent and opened.

from harness import check_ledger, main, test, timing
from live import DRIVERS, SERVER, config, item, lab

COUNTER = {
    "knot": {4: "mod-stats.request-protocol[tcp4]", 6: "mod-stats.request-protocol[tcp6]"},
    "nsd": {4: "num.tcp", 6: "num.tcp6"},
    "bind": {4: "nsstats.ReqTCP", 6: "nsstats.ReqTCP"},
    "unbound": {4: "num.query.tcp", 6: "num.query.tcp"},
}
# A pool that lives, connections of some messages, and one for each. Unbound takes ten at a time.
SHAPES = {
    "a_pool": {"connections": 8},
    "some_each": {"connections": 8, "queries_per_connection": 16},
    "one_each": {"connections": 8, "queries_per_connection": 1},
}
# Of the server's kernel: segments that it did not take, and connections that did not end in good order.
TROUBLE = (
    "TcpInErrs", "TcpInCsumErrors", "TcpEstabResets", "TcpAttemptFails", "TcpOutRsts", "TcpExtListenDrops",
    "TcpExtListenOverflows", "TcpExtTCPAbortOnData", "TcpExtTCPAbortOnClose", "TcpExtTCPAbortOnTimeout",
    "TcpExtTCPAbortOnMemory", "TcpExtTCPAbortOnLinger", "TcpExtPAWSEstab", "TcpExtTCPChallengeACK",
    "TcpExtTCPSYNChallenge",
)
LATE = ("TcpExtTCPTimeouts", "TcpRetransSegs")  # the kernel waits 200 ms for an acknowledgement, and then sends again
# The same of the tester.
OURS = ("refused", "no_answer", "closed", "reset", "closed_open", "lost_closed", "no_memory", "no_port", "left", "challenged")
OURS_LATE = ("syn_retransmitted", "retransmitted", "fast_retransmitted", "repeated", "out_of_order")


def tcp(family=4, rate="1k", dns=None, keys=None, **settings):
    """An item over connections."""
    what = {"names": ["h{0-999}.example.com A"], "transport": "tcp", "tcp": settings, **(dns or {})}
    return item(server=SERVER[family], load={"rate": rate}, dns=what, timeout="2s", **(keys or {}))


def kernel(growth):
    return {key.removeprefix("kernel."): value for key, value in growth.items() if value and "Tcp" in key}


def run(one, driver="af_packet", *, here, code=0, **sections):
    """The item of the result, its ledger right; the growth of the server's counters; the result."""
    with here.counted() as growth:
        result = here.ddiperf(config(driver, one, **sections))
    assert result.code == code, f"{kernel(growth)}\n{result}"
    found = result.item("queries")
    check_ledger(found)
    return found, growth, result


def all_answered(found, growth, server, family):
    where = (found, kernel(growth))
    assert found["answered"] == found["sent"] == found["due"] > 0, where
    assert found["stray"] == found["malformed"] == found["duplicate"] == found["late"] == 0, where
    assert growth[COUNTER[server][family]] == found["sent"], (growth, found)
    conns = found["connections"]
    assert conns["opened"] == conns["established"] == conns["first_answer"]["count"], where
    # BIND's own counters are asked for over a connection.
    assert growth["kernel.TcpPassiveOpens"] - growth["kernel.TcpActiveOpens"] == conns["opened"], where
    assert all(growth[f"kernel.{name}"] == 0 for name in TROUBLE), where
    timing(all(growth[f"kernel.{name}"] == 0 for name in LATE), where)
    assert all(conns[name] == 0 for name in OURS), where
    timing(all(conns[name] == 0 for name in OURS_LATE), where)


def add(server, driver, family, shape):
    def asks():
        found, growth, _ = run(tcp(family, **SHAPES[shape]), driver, here=lab(server))
        all_answered(found, growth, server, family)
        each, opened = SHAPES[shape].get("queries_per_connection"), found["connections"]["opened"]
        if each:
            assert found["sent"] / each <= opened <= found["sent"] / each + 8, found
        else:
            assert opened == 8, found

    asks.__name__ = f"over_tcp_{server}_answers_all_on_{shape}_to_ipv{family}_through_{driver}"
    test(asks)


for server in COUNTER:
    for driver in DRIVERS:
        for family in (4, 6):
            for shape in SHAPES:
                add(server, driver, family, shape)


main()
