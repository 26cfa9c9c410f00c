#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Messages over TCP connections at real servers, through each driver, over both families: all are answered, and the
# server and its kernel have counted as many of them, and of connections, as were sent and opened. Then what servers do to
# connections: refuse, close, die, stay silent.

import contextlib
import json
import signal
import sys
import time

from harness import EXIT, check_ledger, execute, kill, main, start, test, timing
from live import DRIVERS, PEER, SERVER, Running, config, item, lab

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


# --- what servers do ---


@contextlib.contextmanager
def peer(most):
    """A server over TCP of our own; yields a dict that holds, after the block, what it did, and its process."""
    process, did = start(lab("none").dut(sys.executable, PEER, "tcp", str(most))), {}
    did["process"] = process
    try:
        assert process.stdout.readline() == "ready\n", process.communicate()
        yield did
    finally:
        kill(process, signal.SIGTERM)
        out, _ = process.communicate(timeout=10)
        did.update(json.loads(out) if out.strip() else {})


def kernel_now():
    """The counters of the far end's kernel, without a server."""
    code, out, err = execute(lab("none").dut("nstat", "-asz"))
    assert code == 0, err
    return {line.split()[0]: int(line.split()[1]) for line in out.splitlines() if line.startswith("Tcp")}


def ask(one, code=0, **sections):
    result = lab("none").ddiperf(config("af_packet", one, **sections))
    assert result.code == code, result
    check_ledger(result.item("queries"))
    return result.item("queries"), result


@test
def peer_closes_after_five_messages_and_none_is_lost_as_all_are_asked_again():
    with peer(5) as did:
        for _ in range(2):  # its kernel keeps the ports of the first run for a minute
            found, result = ask(tcp(connections=8, closed="again"))
            conns = found["connections"]
            assert found["answered"] == found["sent"] == 500 and found["lost"] == 0, result
            assert conns["opened"] == conns["established"] >= 100 and conns["closed"] + conns["reset"] >= 92, conns
            timing(conns["syn_retransmitted"] == 0, conns)
    assert did["answered"] >= 1000, did


@test
def peer_closes_after_five_messages_and_what_it_did_not_answer_is_lost():
    with peer(5) as did:
        found, result = ask(tcp(connections=2, rate="4k"))
    conns = found["connections"]
    assert found["answered"] == did["answered"] > 100 and found["lost"] == conns["lost_closed"], (did, str(result))
    assert conns["established"] == did["accepted"], (did, conns)
    assert conns["asked_again"] == 0 and "the server closed" in result.stdout, result


@test
def peer_dies_and_connections_are_reset_and_then_refused():
    # Ports of its own: a kernel without a listener answers SYN for a port at rest (TIME-WAIT) as if it were open.
    one = tcp(connections=8, keys={"source": {"ports": ["30000-39999"]}})
    with peer(-1) as did, Running(config("af_packet", one, run={"duration": "1500ms"})) as running:
        kill(did["process"])
    result = running.result
    assert result.code == 0, result
    found = result.item("queries")
    check_ledger(found)
    conns = found["connections"]
    assert found["answered"] > 100 and found["lost"] > 100 and found["answered"] + found["lost"] == found["sent"], result
    assert conns["closed"] + conns["reset"] == 8 and conns["refused"] == conns["opened"] - 8 > 100, conns
    assert conns["lost_closed"] == found["lost"] and conns["left"] == 0, conns


@test
def peer_without_a_listener_refuses_and_the_run_says_so():
    lab("none")
    found, result = ask(tcp(connections=5), EXIT["unreachable"])
    conns = found["connections"]
    assert found["lost"] == found["sent"] == conns["lost_closed"] == 500, result
    assert conns["opened"] == conns["refused"] > 400 and conns["established"] == conns["syn_retransmitted"] == 0, conns
    assert f"{conns['refused']} connections refused: no server listens on that port" in result.stdout, result


@test
def peer_behind_a_firewall_that_drops_each_syn_is_unreachable():
    rule = ("INPUT", "-p", "tcp", "-j", "DROP")
    code, _, err = execute(lab("none").dut("iptables", "-A", *rule))
    assert code == 0, err
    try:
        found, result = ask(tcp(connections=5, syn_tries=2), EXIT["unreachable"])
    finally:
        execute(lab().dut("iptables", "-D", *rule))
    conns = found["connections"]
    assert found["lost"] == found["sent"] == 500 and conns["opened"] == 5 and conns["left"] == 0, conns
    assert conns["syn_retransmitted"] == 5 and conns["established"] == conns["refused"] == 0, conns
    assert "no answer to 5 connections" in result.stdout, result


@test
def peer_that_never_accepts_has_a_full_queue_and_syn_is_sent_again():
    with peer(0):
        before = kernel_now()
        found, _ = ask(tcp(connections=20, syn_tries=2))
        growth = {name: value - before.get(name, 0) for name, value in kernel_now().items()}
    conns = found["connections"]
    assert found["lost"] == found["sent"] == 500, found
    assert conns["established"] >= growth["TcpPassiveOpens"] == 2 and conns["opened"] == 20, (conns, growth)
    assert conns["syn_retransmitted"] >= 10 and growth["TcpExtListenOverflows"] >= 10, (conns, growth)


@test
def peer_is_asked_over_the_ports_of_a_tester_that_was_killed():
    with peer(-1):
        with Running(config("af_packet", tcp(connections=8), run={"duration": "5s"}), invalid=True) as running:
            running.signal(signal.SIGKILL)
        time.sleep(0.1)
        found, result = ask(tcp(connections=8))
    # Its kernel believes the first ones open: it acknowledges the SYN, is reset, and hears the next SYN a second later.
    assert found["answered"] == found["sent"] == 500, result
    assert found["connections"]["established"] == 8 and found["connections"]["refused"] == 0, found["connections"]


main()
