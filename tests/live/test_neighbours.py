#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# A tester is a neighbour like others: the kernel at the far end finds its addresses by ARP and ND and can ping them,
# its own and those of its clients, while it sends. It follows a server's address to another host, and notices a host
# that has an address of its own.

import contextlib
import re
import sys
import time

from harness import EXIT, check_ledger, execute, kill, main, nightly, start, test, timing
from live import DRIVERS, PEER, SERVER, Running, config, item, lab, lab_again, link, ping

CLIENTS = ("198.18.0.16", "198.18.0.31")
COUNT = 5


def forget_neighbours():
    for family in ("-4", "-6"):
        execute(lab().dut("ip", family, "neigh", "flush", "all"))


def neighbours():
    _, out, _ = execute(lab().dut("ip", "neigh", "show", "dev", "veth1"))
    return {line.split()[0]: line.split()[2] for line in out.splitlines() if " lladdr " in line}


def check(driver):
    lab("knot")
    one = item(source={"addresses": [f"{CLIENTS[0]}-{CLIENTS[1]}"]})
    asked = ("198.18.0.1", *CLIENTS, "2001:db8::1")
    with Running(config(driver, one, run={"duration": "60s"})) as running:
        forget_neighbours()
        answered = {address: ping(address, COUNT) for address in asked}
        known = neighbours()
        unanswered = ping("198.18.0.99", 1), ping("2001:db8::99", 1)
        running.signal()
    result = running.result
    assert answered == dict.fromkeys(asked, COUNT), (answered, result)
    assert unanswered == (0, 0), "an address that is not the tester's answers"
    assert {known.get(address) for address in asked} == {link()["address"]}, known
    other = result.json["ports"][0]["other"]
    assert other["echo_answered"] == COUNT * len(asked), other
    assert other["neighbour_answered"] >= len(asked), other
    check_ledger(result.item("queries"))
    assert result.item("queries")["lost"] == 0 and result.code == EXIT["interrupted"], result


def add(driver):
    def run():
        check(driver)

    run.__name__ = f"arp_nd_and_ping_are_answered_during_a_run_through_{driver}"
    (test if driver == "af_xdp" else nightly)(run)


for each in DRIVERS:
    add(each)


@test
def a_server_behind_a_gateway_is_reached_through_it():
    here = lab("knot")
    for address in ("198.19.99.2/32", "2001:db8:99::2/128"):
        execute(here.dut("ip", "addr", "add", address, "dev", "lo"))
    # Knot listens on other addresses only; so it is enough that the queries get there.
    port = {"gateway": list(SERVER.values())}
    items = [item("four", server="198.19.99.2"), item("six", server="2001:db8:99::2")]
    result = here.ddiperf(config("af_packet", *items, port=port))
    one = result.json["ports"][0]
    assert result.code == 4 and one["other"]["icmp_errors"].get("port_unreachable", 0) > 1, result
    assert 2 < result.item("four")["sent"] <= 500 and 2 < result.item("six")["sent"] <= 500, result


# --- an address that moves from one host to another -----------------------------------------------------------------


def run(*argv):
    code, out, err = execute(argv)
    assert code == 0, (argv, out, err)
    return out


def to_port(address):
    return f"{address}/{64 if ':' in address else 24}"


class Host:
    """A namespace behind a bridge at the tester's wire, with a name server of both families."""

    def __init__(self, letter):
        self.name = f"{lab().prefix}-{letter}"
        self.mac = f"02:00:00:00:0{letter}:00"
        self.device = f"v{letter}"

    def __enter__(self):
        run("ip", "netns", "add", self.name)
        run("ip", "-n", self.name, "link", "set", "lo", "up")
        run("ip", "-n", f"{lab().prefix}-dut", "link", "add", self.device, "type", "veth",
            "peer", "name", "eth0", "address", self.mac, "netns", self.name)
        run(*lab().dut("ip", "link", "set", self.device, "master", "br0", "up"))
        run("ip", "-n", self.name, "link", "set", "eth0", "up")
        self.process = start(self.inside(sys.executable, PEER, "answer", "eth0"))
        assert self.process.stdout.readline() == "ready\n", self.process.stderr.read()
        return self

    def __exit__(self, *_):
        kill(self.process)
        self.process.communicate()
        execute(["ip", "netns", "del", self.name])

    def inside(self, *argv):
        return ["ip", "netns", "exec", self.name, *argv]

    def take(self, address):
        run("ip", "-n", self.name, "addr", "add", to_port(address), "dev", "eth0",
            *(["nodad"] if ":" in address else []))

    def give(self, address):
        run("ip", "-n", self.name, "addr", "del", to_port(address), "dev", "eth0")

    def announce(self, address):
        run(*self.inside(sys.executable, PEER, "announce", address, "eth0"))


@contextlib.contextmanager
def two_hosts():
    """At the far end of the wire a bridge with two hosts, and nobody else."""
    lab("none")
    try:
        for address in SERVER.values():
            run(*lab().dut("ip", "addr", "del", to_port(address), "dev", "veth1"))
        run(*lab().dut("ip", "link", "add", "br0", "type", "bridge", "forward_delay", "0"))
        run(*lab().dut("ip", "link", "set", "br0", "up"))
        run(*lab().dut("ip", "link", "set", "veth1", "master", "br0"))
        with Host("a") as a, Host("b") as b:
            yield a, b
    finally:
        lab_again("none")


RATE = 200  # per second


def check_move(family, announced):
    """The address moves a second after the start of five; at most so many seconds' worth is lost."""
    address = SERVER[family]
    one = item(server=address, load={"rate": RATE}, timeout="200ms")
    with two_hosts() as (a, b):
        a.take(address)
        with Running(config("af_packet", one, run={"duration": "5s"})) as running:
            time.sleep(0.7)
            a.give(address)
            b.take(address)
            if announced:
                b.announce(address)
        result = running.result
    queries, other = result.item("queries"), result.json["ports"][0]["other"]
    check_ledger(queries)
    assert queries["lost"] > 0, result
    timing(queries["lost"] <= RATE * (0.7 if announced else 1.6), result)
    assert other["neighbour_changed"] == 1, other
    assert result.code == 0, result
    if not announced:
        assert other["neighbour_asked"] >= 1, other
        timing(other["neighbour_asked"] <= 2, other)
    assert f"next hop {address} is now at {b.mac}" in result.stdout + result.stderr, result


def add_move(family, announced):
    def go():
        check_move(family, announced)

    how = "that_is_announced" if announced else "without_a_word"
    go.__name__ = f"an_ipv{family}_server_may_move_to_another_host_{how}"
    (test if announced == (family == 6) else nightly)(go)  # each way and family once in CI


# --- a host that has an address of the tester's -----------------------------------------------------------------------

OWN = {4: "198.18.0.1", 6: "2001:db8::1"}
MANY = "198.18.16.0/20"
DUT_MAC = "02:00:00:00:00:02"


@contextlib.contextmanager
def taken(address):
    nodad = ["nodad"] if ":" in address else []
    run(*lab().dut("ip", "addr", "add", to_port(address), "dev", "veth1", *nodad))
    try:
        yield
    finally:
        run(*lab().dut("ip", "addr", "del", to_port(address), "dev", "veth1"))


def check_refused(driver):
    lab("none")
    one = item(source={"addresses": [f"{CLIENTS[0]}-{CLIENTS[1]}"]})
    for address in (*OWN.values(), CLIENTS[1]):
        with taken(address):
            result = lab().ddiperf(config(driver, one))
        assert result.code == 3 and result.json is None, result
        assert f"port lan: the host {DUT_MAC} has {address}" in result.stderr, result


def add_refused(driver):
    def go():
        check_refused(driver)

    go.__name__ = f"an_address_that_another_host_has_is_refused_before_a_run_through_{driver}"
    test(go)


for each in DRIVERS:
    add_refused(each)


@test
def four_thousand_addresses_are_asked_for_in_a_moment():
    lab("knot")
    port = {"addresses": ["198.18.0.1/15", "2001:db8::1/64"]}
    text = config("af_packet", item(source={"addresses": [MANY]}), port=port)
    result = lab().ddiperf(text)
    told = re.search(r"no other host has one of the tester's 4098 addresses \(asked for ([\d.]+) s\)", result.stdout)
    assert told and 0.2 < float(told[1]), result
    timing(float(told[1]) < 5, result)
    assert result.code == 0 and result.json["ports"][0]["other"]["address_conflicts"] == 0, result
    last = "198.18.31.255"
    with taken(last):
        result = lab().ddiperf(text)
    assert result.code == 3 and f"{DUT_MAC} has {last}" in result.stderr, result


def check_invalid(address):
    lab("knot")
    one = item(source={"addresses": [f"{CLIENTS[0]}-{CLIENTS[1]}"]})
    with Running(config("af_packet", one, run={"duration": "3s"})) as running:
        run(*lab().dut(sys.executable, PEER, "announce", address, "veth1"))
    result = running.result
    assert result.code == 5 and result.json["verdict"]["status"] == "invalid", result
    assert result.json["ports"][0]["other"]["address_conflicts"] == 1, result
    reasons = result.json["verdict"]["reasons"]
    assert any(f"port lan: the host {DUT_MAC} also uses {address}" in one for one in reasons), reasons


def add_invalid(family, address, name):
    def go():
        check_invalid(address)

    go.__name__ = f"a_host_that_takes_{name}_ipv{family}_address_during_a_run_makes_it_invalid"
    test(go)


for family, own in OWN.items():
    add_invalid(family, own, "the_ports")
add_invalid(4, CLIENTS[0], "a_source")


for each in SERVER:
    add_move(each, True)
    add_move(each, False)


main()
