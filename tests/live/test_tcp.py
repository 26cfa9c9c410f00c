#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Messages over TCP connections at real servers, through each driver, over both families: all are answered, and the
# server and its kernel have counted as many of them, and of connections, as were sent and opened. Answers of many segments.
# The responder, judged by other clients and their kernel. What servers do to connections: refuse, close, die, stay silent.

import contextlib
import json
import re
import shutil
import signal
import sys
import tempfile
import time

from harness import EXIT, check_ledger, execute, kill, main, nightly, skip, start, test, timing
from live import DRIVERS, PEER, SERVER, Running, config, dropping, item, lab, responding

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
    "TcpInErrs", "TcpInCsumErrors", "TcpEstabResets", "TcpAttemptFails", "TcpOutRsts", "TcpExtTCPAbortOnData",
    "TcpExtTCPAbortOnClose", "TcpExtTCPAbortOnTimeout", "TcpExtTCPAbortOnMemory", "TcpExtTCPAbortOnLinger",
    "TcpExtPAWSEstab", "TcpExtTCPChallengeACK", "TcpExtTCPSYNChallenge",
)
# The kernel waits 200 ms for an acknowledgement, and then sends again. Knot leaves ten connections in its queue, and a
# server without its CPU takes none out of it.
LATE = ("TcpExtTCPTimeouts", "TcpRetransSegs", "TcpExtListenDrops", "TcpExtListenOverflows")
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


def all_answered(found, growth, server, family, probed=0):
    """probed: connections that were opened and given up before the run, to see where answers come in."""
    where = (found, kernel(growth))
    assert found["answered"] == found["sent"] == found["due"] > 0, where
    assert found["stray"] == found["malformed"] == found["duplicate"] == found["late"] == 0, where
    assert growth[COUNTER[server][family]] == found["sent"], (growth, found)
    conns = found["connections"]
    assert conns["opened"] == conns["established"] == conns["first_answer"]["count"], where
    # BIND's own counters are asked for over a connection.
    assert growth["kernel.TcpPassiveOpens"] - growth["kernel.TcpActiveOpens"] == conns["opened"], where
    assert all(growth[f"kernel.{name}"] == (probed if name == "TcpAttemptFails" else 0) for name in TROUBLE), where
    timing(all(growth[f"kernel.{name}"] == 0 for name in LATE), where)
    assert all(conns[name] == 0 for name in OURS), where
    timing(all(conns[name] == 0 for name in OURS_LATE), where)


def add(server, driver, family, shape):
    def asks():
        # One connection a query: what opens while the server is 50 ms without a CPU fits in the queue of Knot.
        rate = "200" if shape == "one_each" else "1k"
        found, growth, _ = run(tcp(family, rate, **SHAPES[shape]), driver, here=lab(server))
        all_answered(found, growth, server, family)
        each, opened = SHAPES[shape].get("queries_per_connection"), found["connections"]["opened"]
        if each:
            assert found["sent"] / each <= opened <= found["sent"] / each + 8, found
        else:
            assert opened == 8, found

    asks.__name__ = f"over_tcp_{server}_answers_all_on_{shape}_to_ipv{family}_through_{driver}"
    # In CI all shapes through one driver, and one of each other driver and family.
    all_shapes = server == "knot" and driver == "af_packet" and family == 4
    (test if all_shapes or shape == "some_each" else nightly)(asks)


for server in COUNTER:
    for driver in DRIVERS:
        for family in (4, 6):
            for shape in SHAPES:
                add(server, driver, family, shape)


# --- many segments, other wires, two workers ---


def done(*argv):
    code, out, err = execute(argv)
    assert code == 0, (argv, err)
    return out


@contextlib.contextmanager
def wire_mtu(here, mtu):
    """Both ends of the wire."""
    def change(to):
        for side, device in ((here.tester, "veth0"), (here.dut, "veth1")):
            done(*side("ip", "link", "set", "dev", device, "mtu", str(to)))

    change(mtu)
    try:
        yield
    finally:
        change(1500)
        if mtu < 1280:  # too little for IPv6: the kernel dropped its addresses
            done(*here.dut("ip", "address", "replace", f"{SERVER[6]}/64", "dev", "veth1", "nodad"))
            done(*here.dut("ip", "-6", "route", "replace", "default", "via", "2001:db8::1"))


def add_long(server, driver, family, mtu, name, most):
    """most: segments that an answer takes."""
    def comes_whole():
        one = tcp(family, "200", {"names": [f"{name}.example.com TXT"]}, connections=4)
        with wire_mtu(lab(server), mtu):
            found, growth, _ = run(one, driver, here=lab(server), port={"mtu": mtu})
        all_answered(found, growth, server, family)
        octets = {"long": 4000, "huge": 60000}[name]
        assert found["dns"]["reply_bytes"] > octets * found["answered"] and found["dns"]["tc"] == 0, found["dns"]
        segments = found["connections"]["segments_received"] / found["answered"]
        assert octets / mtu <= segments <= most, found["connections"]

    comes_whole.__name__ = f"over_tcp_{server}_gives_{name}_answers_to_ipv{family}_through_{driver}_at_{mtu}"
    test(comes_whole)


for server in COUNTER:
    add_long(server, "af_packet", 4, 1500, "huge", 60)
    add_long(server, "pcap", 4, 576, "huge", 150)
    add_long(server, "af_xdp", 6, 1500, "long", 6)
add_long("nsd", "af_xdp", 4, 3434, "long", 3)
add_long("nsd", "af_packet", 4, 9000, "huge", 12)  # the others ask for small segments
add_long("nsd", "pcap", 4, 9000, "long", 3)


def add_workers(shape):
    def share():
        found, growth, result = run(tcp(**SHAPES[shape]), here=lab("knot"), port={"cpus": [1, 1]})
        all_answered(found, growth, "knot", 4, result.json["ports"][0]["steering_probe"]["sent"])
        assert min(worker["received"] for worker in result.json["workers"]) > 0, result.json["workers"]

    share.__name__ = f"over_tcp_knot_answers_two_workers_on_{shape}"
    test(share)


for shape in SHAPES:
    add_workers(shape)


# --- zone transfers ---

RECORDS = 11 + 3 * 1000  # of the lab's zone


def add_transfers(server):
    def whole_zones_come():
        one = tcp(4, "10", connections=2)
        one["dns"] = {"transfers": ["example.com"], **{key: one["dns"][key] for key in ("transport", "tcp")}}
        found, _, _ = run(one, here=lab(server))
        dns = found["dns"]
        assert found["answered"] == found["sent"] == dns["transfers"] > 0, found
        assert dns["transfers_broken"] == dns["transfers_unchanged"] == 0, dns
        assert dns["transfer_records"] == found["sent"] * (RECORDS + 1), dns  # the SOA record comes twice
        assert dns["transfer_messages"] >= found["sent"], dns

    whole_zones_come.__name__ = f"over_tcp_{server}_gives_its_whole_zone"
    test(whole_zones_come)


for server in ("knot", "bind"):  # NSD ends no transfer of a record that is as long as the lab's longest
    add_transfers(server)


# --- the responder, and the kernel's TCP ---


@contextlib.contextmanager
def responder(driver, **dns):
    """As responding, which is at "responder"; beside it the growth of the kernel's counters."""
    before, seen = kernel_now(), {}
    with responding(driver, dns=dns) as seen["responder"]:
        yield seen
    seen.update({name: value - before.get(name, 0) for name, value in kernel_now().items()})


def tool(*argv):
    if not shutil.which(argv[0]):
        skip(f"{argv[0]} is not installed")
    return done(*lab().dut(*argv))


def add_judges(driver):
    @contextlib.contextmanager
    def names(records):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("\n".join(records) + "\n")
            file.flush()
            yield file.name

    def kernel_is_content(seen, asked, opened):
        assert seen["responder"]["received"] == seen["responder"]["answered"] == asked, seen
        assert seen["TcpActiveOpens"] == opened, seen
        assert all(seen.get(name, 0) == 0 for name in TROUBLE), seen
        timing(all(seen.get(name, 0) == 0 for name in LATE), seen)

    def dnsperf():
        addresses = [f"h{i}.example.com A" for i in range(500)]
        with responder(driver) as seen, names(addresses) as file:
            for address, each in (("198.18.0.1", 100000), ("2001:db8::1", 10), ("198.18.0.1", 1)):
                out = tool("dnsperf", "-m", "tcp", "-s", address, "-d", file, "-n", "1", "-c", "5", "-Q", "1000",
                           "-O", f"num-queries-per-conn={each}")
                assert "Queries completed:    500 (100.00%)" in out, out
            assert tool("kdig", "+tcp", "+short", "@2001:db8::1", "h1.example.com", "AAAA").count(":") > 1
        opened = seen["TcpActiveOpens"]
        assert 5 + 50 + 500 + 1 <= opened <= 5 + 55 + 505 + 1, seen
        kernel_is_content(seen, 1501, opened)

    def long_answers():
        with responder(driver, text="x" * 4000) as seen, names(["a.example.com TXT"]) as file:
            out = tool("dnsperf", "-m", "tcp", "-s", "198.18.0.1", "-d", file, "-n", "300", "-c", "5", "-Q", "600")
            assert "Queries completed:    300 (100.00%)" in out and re.search(r"response 40\d\d", out), out
        kernel_is_content(seen, 300, 5)

    dnsperf.__name__ = f"judge_dnsperf_has_all_answers_of_the_responder_through_{driver}"
    long_answers.__name__ = f"judge_dnsperf_has_long_answers_of_the_responder_through_{driver}"
    for one in (dnsperf, long_answers):
        (test if driver == "af_xdp" else nightly)(one)


for driver in DRIVERS:
    add_judges(driver)


@test
def judge_kxdpgun_opens_and_closes_a_connection_for_each_message():
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("".join(f"h{i}.example.com A\n" for i in range(500)))
        file.flush()
        with responder("af_packet") as seen:
            for address in ("198.18.0.1", "2001:db8::1"):
                out = tool("kxdpgun", "-T", "-t", "1", "-Q", "500", "-i", file.name, address)
                shares = re.findall(r"total (established|replies|closed): .*\((\d+)%\)", out)
                timing(shares == [("established", "100"), ("replies", "100"), ("closed", "100")], out)
    assert seen["responder"]["received"] == seen["responder"]["answered"] >= 998, seen


# --- clients that do their worst ---

BAD = {  # what the server's kernel counts for them, and the server that shows it
    "syn_only": "TcpExtTCPTimeouts", "no_ack": "TcpRetransSegs", "reset": "TcpEstabResets", "no_last_ack": "TcpRetransSegs",
    "handshake_only": None, "mute": None, "part": None, "slow_reader": None, "bytewise": None, "no_fin": None,
}


def add_bad(server):
    def are_beside_the_load():
        """Two at a time of each kind, anew each second, while the load has its answers."""
        behave = {"hold": "1s", **{name: "25%" for name in BAD}}
        one = tcp(rate="500", connections=8, behave=behave)
        with lab(server).counted() as growth:
            result = lab(server).ddiperf(config("af_packet", one, run={"duration": "2s"}))
        assert result.code == 0, result
        found = result.item("queries")
        check_ledger(found)
        conns, seen = found["connections"], kernel(growth)
        assert found["answered"] == found["sent"] == 1000, (found, seen)
        assert all(conns[name] == 0 for name in OURS), (conns, seen)
        bad = conns["behave"]
        for name, counter in BAD.items():
            assert 3 <= bad["opened"][name] <= 6 and bad["established"][name] >= 3, (name, bad)
            assert not counter or seen.get(counter, 0) > 0, (name, seen)
        for name in ("slow_reader", "bytewise", "reset", "no_fin", "no_last_ack"):
            assert bad["received_bytes"][name] > 0, (name, bad)
        # The server counts their whole messages too.
        assert growth[COUNTER[server][4]] > found["sent"], (growth, found)

    are_beside_the_load.__name__ = f"over_tcp_{server}_answers_the_load_while_clients_do_their_worst"
    test(are_beside_the_load)


for server in COUNTER:
    add_bad(server)


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
    lines = done(*lab("none").dut("nstat", "-asz")).splitlines()
    return {line.split()[0]: int(line.split()[1]) for line in lines if line.startswith("Tcp")}


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
    assert found["lost"] == conns["lost_closed"], (did, str(result))
    # A kernel that resets a connection discards answers that it was told to send and had not sent yet.
    assert did["answered"] - 5 * conns["reset"] <= found["answered"] <= did["answered"], (did, str(result))
    timing(found["answered"] > 100, (did, str(result)))
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
    assert found["answered"] + found["lost"] == found["sent"], result
    timing(found["answered"] > 100 and found["lost"] > 100, result)
    assert conns["closed"] + conns["reset"] == 8 and conns["refused"] == conns["opened"] - 8 > 5, conns
    assert conns["lost_closed"] == found["lost"] and conns["left"] == 0, conns


@test
def peer_without_a_listener_refuses_and_the_run_says_so():
    found, result = ask(tcp(connections=5, keys={"source": {"ports": ["40000-49999"]}}), EXIT["unreachable"])  # as above
    conns = found["connections"]
    # The run ends with its first interval: nobody listens there.
    assert 5 < found["lost"] == found["sent"] == conns["lost_closed"] < 500, result
    assert conns["opened"] == conns["refused"] > 5 and conns["established"] == conns["syn_retransmitted"] == 0, conns
    assert f"{conns['refused']} connections refused: no server listens on that port" in result.stdout, result


@test
def peer_behind_a_firewall_that_drops_each_syn_is_unreachable():
    with dropping(lab("none")):
        found, result = ask(tcp(connections=5, syn_tries=2), EXIT["unreachable"])
    conns = found["connections"]
    assert found["lost"] == found["sent"] == 500 and conns["opened"] == 5 and conns["left"] == 0, conns
    assert conns["syn_retransmitted"] == 5 and conns["established"] == conns["refused"] == 0, conns
    assert "no answer to 5 connections" in result.stdout, result


@test
def peer_that_never_accepts_has_a_full_queue_and_syn_is_sent_again():
    with peer(0):
        before = kernel_now()
        found, result = ask(tcp(connections=20, syn_tries=2), EXIT["unreachable"])
        growth = {name: value - before.get(name, 0) for name, value in kernel_now().items()}
    conns = found["connections"]
    assert found["lost"] == found["sent"] == 500, found
    # SYN that comes while the queue still has room is answered, and the handshake is forgotten or reset later.
    assert conns["established"] >= growth["TcpPassiveOpens"] == 2 and conns["opened"] >= 20, (conns, growth)
    assert conns["syn_retransmitted"] >= 5 and growth["TcpExtListenOverflows"] >= 5, (conns, growth)
    assert "the server accepts connections and " in result.stdout, result


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
