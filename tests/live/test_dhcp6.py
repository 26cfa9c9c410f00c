#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# DHCPv6 against each real server, through each driver, by relays and on the link: every exchange of every kind is answered,
# and the server has counted the messages and the leases that the tester has. The argument chooses a server.

import itertools
import time

from harness import EXIT, check_ledger, execute, main, test
from live import DRIVERS, config, lab, repeat

# dnsmasq looks for the MAC of every client before it answers; on the link each client is a neighbour of the server's kernel, which
# knows 1 024 at most.
RATE = {"kea6": {True: 300, False: 80}, "dhcpd6": {True: 100, False: 60}, "dnsmasq6": {True: 20, False: 5}}
SECONDS = 1
SERVER = "2001:db8::2"
PORT = {"addresses": ["2001:db8::1/64", "2001:db8:40::1/64"]}
# By relay or not: addresses of relays, and what the lab's servers give there.
LINKS = {
    True: ("2001:db8:40::100-2001:db8:40::10f", "2001:db8:40::1:0:0/96", "2001:db8:c000::/34"),
    False: (None, "2001:db8::1:0:0/96", "2001:db8:8000::/34"),
}
LIFE = {
    "sarr": "40%", "renew": "12%", "rebind": "12%", "release": "12%", "decline": "6%", "confirm": "6%", "information": "12%",
}
KEEPING = {"sarr": "40%", "renew": "20%", "rebind": "15%", "confirm": "10%", "information": "15%"}
FRAGILE = ("dhcpd6",)
SENT = {
    "SOLICIT": "solicit", "REQUEST": "request", "RENEW": "renew", "REBIND": "rebind", "RELEASE": "release", "DECLINE": "decline",
    "CONFIRM": "confirm", "INFORMATION-REQUEST": "infrequest",
}
RECEIVED = {"ADVERTISE": "advertise", "REPLY": "reply"}
UNCOUNTED = {"kea6": ("confirm",)}  # what the server has no figure for
UNLOGGED = {"dnsmasq6": ("infrequest", "release", "decline")}  # whose answers it does not log
# dnsmasq delegates no prefixes. ISC dhcpd 4.4 may advertise one prefix to two clients at once; and it ends itself (an INSIST in
# heap.c) when leases are given back.
NO_PREFIXES = ("dnsmasq6", "dhcpd6")
FIGURES = (*SENT.values(), *RECEIVED.values(), "addresses", "prefixes", "relay-forward", "relay-reply")
runs = itertools.count()  # each with clients that no server has seen yet


def item(name, exchange, rate, lease, relayed, number):
    relays, pool, prefixes = LINKS[relayed]
    what = {"mix": exchange} if isinstance(exchange, dict) else {"exchange": exchange}
    if relayed:
        what["relay"] = {"addresses": [relays], "levels": 1 + number % 3, "interface_id": "port {client}", "remote_id": "lab"}
    return {
        "name": name, "timeout": "3s", "load": {"rate": rate}, **({"server": SERVER} if relayed else {}),
        "dhcp6": {
            "clients": 2 * rate, "lease": lease, "mac": f"02:0d:{next(runs) + 1:02x}:{number:02x}:00:00",
            "duid": ("ll", "llt", "en", "uuid")[number % 4], "expect": {
                "pool": [pool], **({} if lease == "address" else {"prefixes": [prefixes], "prefix_length": 56}),
            }, **what,
        },
    }


def items(server, relayed):
    rate = RATE[server][relayed]
    lease = "address" if server in NO_PREFIXES else "both"
    return [
        item("new", "sarr", rate, lease, relayed, 0),
        item("life", KEEPING if server in FRAGILE else LIFE, rate, lease, relayed, 1),
        item("fast", "rapid", rate // 5, lease, relayed, 2),
    ]


def total(result, counter):
    """A counter over all items: with labels, or one figure."""
    values = [one["dhcp6"].get(counter, 0) for one in result.json["traffic"]]
    if not any(isinstance(value, dict) for value in values):
        return sum(values)
    return {label: sum(value.get(label, 0) for value in values) for label in {label for value in values for label in value}}


def expected(server, relayed, result):
    """By how much the server's counters must have grown. A declined address stays leased for a server."""
    sent, received = total(result, "sent"), total(result, "received")
    life = result.item("life")["dhcp6"]
    wanted = {
        **{name: sent.get(label, 0) for label, name in SENT.items()},
        **{name: received.get(label, 0) for label, name in RECEIVED.items()},
    }
    if server == "dhcpd6" and relayed:
        return {"relay-forward": sum(sent.values()), "relay-reply": sum(received.values())}
    wanted["reply"] -= sum(wanted[name] for name in UNLOGGED.get(server, ()))
    if server == "kea6":
        wanted["addresses"] = total(result, "addresses") - life["released"]
        wanted["prefixes"] = total(result, "prefixes") - (life["released"] if life["prefixes"] else 0)
    return {name: value for name, value in wanted.items() if name not in UNCOUNTED.get(server, ())}


def check(server, relayed, result):
    for one in result.json["traffic"]:
        check_ledger(one)
        assert one["lost"] == one["failed"] == 0, (one, str(result))
        assert one["stray"] == one["malformed"] == one["duplicate"] == one["late"] == 0, (one, str(result))
    new, life, fast = (result.item(name) for name in ("new", "life", "fast"))
    assert new["due"] == RATE[server][relayed] * SECONDS and new["sent"] == new["answered"] == new["dhcp6"]["leases"], (new, str(result))
    assert [s["name"] for s in new["steps"]] == ["solicit-advertise", "request-reply"], new["steps"]
    assert RATE[server][relayed] < 50 or life["dhcp6"]["renewed"] and (server in FRAGILE or life["dhcp6"]["released"]), life
    assert fast["dhcp6"]["leases"] == fast["answered"] and fast["dhcp6"]["rapid_fallback"] == 0, fast


def settled(here):
    """The server's counters, once it has answered all that was asked before: at first one SOLICIT, by the lab."""
    while (now := here.stats()) != (time.sleep(0.3), here.stats())[1] or not now["advertise"]:
        pass
    return {name: now.get(name, 0) for name in FIGURES}


def measure(server, driver, relayed):
    def run():
        here = lab(server)
        execute(here.dut("ip", "-6", "neigh", "flush", "dev", "veth1"))
        before = settled(here)
        result = here.ddiperf(config(
            driver, *items(server, relayed), port=PORT, run={"duration": f"{SECONDS}s"}, criteria=["loss <= 0%"],
        ))
        assert result.json, result
        if result.code == EXIT["invalid"]:  # what the tester itself lost is no judgement on anybody
            return result
        check(server, relayed, result)
        wanted = expected(server, relayed, result)
        after = settled(here)
        growth = {name: after[name] - before[name] for name in wanted}
        assert growth == wanted, f"server {growth}\ntester {wanted}\n{result}"
        return result

    result = repeat(run)
    assert result.code == 0, result


def add(server, driver, relayed):
    def run():
        measure(server, driver, relayed)

    run.__name__ = f"{server}_serves_{'relays' if relayed else 'clients_on_the_link'}_through_{driver}"
    test(run)


for server in RATE:
    for driver in DRIVERS:
        for relayed in (True, False):
            add(server, driver, relayed)

main()
