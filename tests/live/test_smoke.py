#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Each real server once and each driver of the wire once, for the gate. Only what a busy machine does not change is asserted:
# a few transactions at once, each with more time than any server needs, so all are answered however late, and the
# server has counted as many as the tester. How fast, and whether the run is valid, is for the rest of the live suite.

import os
import signal
import tempfile
from pathlib import Path

from harness import check_ledger, execute, kill, main, start, test, until
from live import DHCP_PORT, DRIVERS, RELAYS, SERVER, addresses, check_untouched, config, lab

COUNT = 40  # transactions of each item
PATIENCE_S = 90
NAMES = {"names": ["h{0-999}.example.com A"], "expect": {"rcode": ["NOERROR"], "min_answers": 1}}


def item(name, server, at_once=4, **protocol):
    return {"name": name, "server": server, "timeout": "30s", "load": {"outstanding": at_once, "total": COUNT}, **protocol}


def answered(here, driver, *items, **sections):
    """The result of a run that has all its answers, and no others."""
    text = config(driver, *items, run={"duration": f"{PATIENCE_S}s"}, **sections)
    result = here.ddiperf(text, timeout=PATIENCE_S + 30, invalid=True)
    assert result.json, result
    for one in result.json["traffic"]:
        check_ledger(one)
        assert one["sent"] == one["answered"] == COUNT, result
        assert one["stray"] == one["malformed"] == one["duplicate"] == one["late"] == 0, result
    assert result.json["ports"][0]["driver"] == driver, result
    check_untouched()
    return result


def counted(server, wanted, driver, *items, **sections):
    """The same against that server, whose counters grow by as much as wanted says, soon: some write their log behind an answer."""
    here = lab(server)
    before, growth = here.stats(), {}
    result = answered(here, driver, *items, **sections)

    def agrees():
        now = here.stats()
        growth.update({name: now.get(name, 0) - before.get(name, 0) for name in wanted})
        return growth == wanted

    until(agrees, lambda: f"{wanted} in the server's counters, which have grown by {growth}\n{result}")
    return result


# --- name servers, over UDP to both families and over TCP ---

FOUR, SIX = item("four", SERVER[4], dns=NAMES), item("six", SERVER[6], dns=NAMES)
STREAM = item("stream", SERVER[4], dns={**NAMES, "transport": "tcp", "tcp": {"connections": 2}})
# The counter of queries over TCP, and whether that of all queries has them too.
NAME_SERVERS = {"knot": ("mod-stats.request-protocol[tcp4]", False), "nsd": ("num.tcp", False), "bind": ("nsstats.ReqTCP", True),
                "unbound": ("num.query.tcp", True)}


def add_dns(server, over_tcp, in_all):
    def answers():
        counted(server, {"queries": (3 if in_all else 2) * COUNT, over_tcp: COUNT}, "af_packet", FOUR, SIX, STREAM)

    answers.__name__ = f"dns_{server}_answers_over_udp_and_tcp"
    test(answers)


for name, row in NAME_SERVERS.items():
    add_dns(name, *row)


@test
def dns_unbound_that_is_not_to_serve_the_tester_refuses_each_query():
    """As its package sets it up: a header with REFUSED, and no question."""
    here = lab("none")
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        conf = Path(folder, "unbound.conf")
        conf.write_text(f'server:\n interface: {SERVER[4]}\n chroot: ""\n username: ""\n pidfile: ""\n use-syslog: no\n')
        process = start(here.dut("unbound", "-d", "-c", str(conf)))
        try:
            until(lambda: ":53 " in execute(here.dut("ss", "-lun"))[1], "unbound listens")
            one = answered(here, "af_packet", item("queries", SERVER[4], dns={"names": NAMES["names"]})).item("queries")
        finally:
            kill(process)
            process.communicate()
    assert one["dns"]["rcode"] == {"REFUSED": COUNT} and one["dns"]["no_question"] == COUNT, one


@test
def dns_keepalived_gives_the_address_to_the_other_unbound():
    here = lab("unbound-vrrp")
    a, b = (Path(f"/run/{here.prefix}-lab", name) for name in "ab")
    os.kill(int((a / "pid").read_text()), signal.SIGKILL)
    until((b / "master").exists, "keepalived beside the second Unbound as the master", 60)
    try:
        answered(here, "af_packet", item("queries", "198.18.0.10", dns=NAMES))
    finally:
        here.call("down")


# --- drivers ---


def add_driver(driver):
    def carries():
        counted("knot", {"queries": 2 * COUNT}, driver, FOUR, SIX)

    carries.__name__ = f"driver_{driver}_carries_queries_to_knot"
    test(carries)


for name in DRIVERS:
    add_driver(name)


@test
def driver_socket_carries_queries_to_knot():
    with addresses(lab("knot"), "198.18.0.1/24", "2001:db8::1/64"):
        counted("knot", {"queries": 2 * COUNT}, "socket", FOUR, SIX, ports=[{"name": "lan", "driver": "socket"}])


# --- NTP and echo ---


@test
def other_chrony_answers_over_both_families():
    result = counted("chrony", {"queries": 2 * COUNT}, "af_packet", item("four", SERVER[4], ntp={}), item("six", SERVER[6], ntp={}))
    assert all(one["ntp"]["stratum"] == {"8": COUNT} for one in result.json["traffic"]), result


@test
def other_inetd_sends_each_byte_back():
    echo = {"size": "1000B", "fill": "random"}
    wanted = {"kernel.Udp4InDatagrams": COUNT, "kernel.Udp6InDatagrams": COUNT, "kernel.TcpPassiveOpens": 2}
    result = counted("inetd", wanted, "af_packet", item("four", SERVER[4], echo=echo), item("six", SERVER[6], echo=echo),
                     item("stream", SERVER[4], echo={**echo, "transport": "tcp", "tcp": {"connections": 2}}))
    for one in result.json["traffic"]:
        assert one["echo"]["reply_bytes"] == one["echo"]["request_bytes"] == 1000 * COUNT, one
        assert one["echo"]["wrong_bytes"] == one["echo"]["wrong_length"] == 0, one


# --- DHCP: new clients, whose first message the lab's own question may have been beside ---

PORTS = {4: DHCP_PORT, 6: {"addresses": ["2001:db8::1/64", "2001:db8:40::1/64"]}}
GIVEN = {4: ("request", "ack", "leases"), 6: ("request", "reply", "addresses")}


def add_dhcp(family, server, *, wanted=None, at_once=4, **settings):
    def leases():
        relay = {"addresses": RELAYS if family == 4 else ["2001:db8:40::100"]}
        clients = {"clients": COUNT, "mac": "02:0c:00:00:00:00", "exchange": "dora" if family == 4 else "sarr", "relay": relay}
        one = item("leases", SERVER[family], at_once, **{f"dhcp{family}": {**clients, **settings}})
        if not one[f"dhcp{family}"]["relay"]:  # on the link, they ask all servers
            del one["server"], one[f"dhcp{family}"]["relay"]
        result = counted(server, dict.fromkeys(wanted or GIVEN[family], COUNT), "af_packet", one, port=PORTS[family])
        assert result.item("leases")[f"dhcp{family}"]["leases"] == COUNT, result
        if server == "kea6-radvd":
            router, = result.json["routers"]
            assert router["heard"] and router["managed"] and router["router"] == "fe80::ff:fe00:2", router

    leases.__name__ = f"dhcp{family}_{server}_leases_to_new_clients"
    test(leases)


for name in ("kea", "kea-sql", "kea-pgsql", "dhcpd", "freeradius"):
    add_dhcp(4, name)
add_dhcp(4, "dnsmasq", at_once=1)  # it may offer an address to two clients at once
add_dhcp(6, "kea6-radvd", relay=None, router_solicitation={})
add_dhcp(6, "dhcpd6", wanted=("addresses",))  # which logs no message of a relay's client
add_dhcp(6, "dnsmasq6")
add_dhcp(6, "dibbler6", relay={"addresses": ["2001:db8:40::100"], "interface_id": "port"})

main()
