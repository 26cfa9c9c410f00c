#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# DHCP against each real server, through each driver, by relays and on the link: every exchange of every kind is answered,
# and the server has counted the messages and the leases that the tester has. The argument chooses a server.

import itertools
import tempfile
import time

from harness import check_ledger, execute, main, nightly, test, timing
from live import DHCP_PORT, DRIVERS, config, lab, leases

SECONDS = 1
runs = itertools.count(1)  # each with clients that no server has seen yet


def total(result, counter):
    """A counter over all items: with labels, or one figure."""
    values = [one[one["protocol"]].get(counter, 0) for one in result.json["traffic"]]
    if not any(isinstance(value, dict) for value in values):
        return sum(values)
    return {label: sum(value.get(label, 0) for value in values) for label in {label for value in values for label in value}}


def messages(result, sent, received):
    """By how much the server's counters of messages must have grown."""
    return {name: total(result, counter).get(label, 0)
            for counter, names in (("sent", sent), ("received", received)) for label, name in names.items()}


class Dhcp4:
    port = DHCP_PORT
    steps = ["discover-offer", "request-ack"]
    rates = {"kea": 500, "dhcpd": 200, "dnsmasq": 100, "freeradius": 100}  # dnsmasq writes all its leases at every change
    life = {
        "dora": "40%", "renew": "15%", "rebind": "10%", "reboot": "10%", "inform": "10%", "release": "10%", "decline": "5%",
    }
    sent = {name.upper(): name for name in ("discover", "request", "decline", "release", "inform")}
    received = {name.upper(): name for name in ("offer", "ack", "nak")}
    rapid = ("dnsmasq",)  # RFC 4039; the others offer
    leasequery = ("dhcpd",)  # RFC 4388; relays only
    forgetful = ("dnsmasq",)  # may offer an address to two clients at once, and refuses the second one's REQUEST

    def rate(self, server, relayed):
        return self.rates[server]

    def items(self, server, relayed):
        rate, run = self.rates[server], next(runs)
        life = {**self.life, "dora": "30%", "leasequery": "10%"} if relayed and server in self.leasequery else self.life
        return [
            leases(
                name, exchange, rate=share, relayed=relayed, mac=f"02:0d:{run:02x}:{number:02x}:00:00",
                **({} if relayed else {"broadcast_flag": name == "fast"}),
            ) for number, (name, exchange, share) in enumerate((
                ("new", "dora", rate), ("life", life, rate // 2), ("fast", "rapid", rate // 10)))
        ]

    def expected(self, server, relayed, result):
        held = total(result, "leases") - total(result, "released") - total(result, "declined")
        return {**messages(result, self.sent, self.received), "leases": held}

    def before(self, here):
        return here.stats()

    def check(self, server, relayed, result):
        life, fast = result.item("life"), result.item("fast")
        for one in result.json["traffic"]:
            assert one["failed"] == one["dhcp4"]["nak"] and (one["failed"] == 0 or server in self.forgetful), (one, str(result))
        assert life["dhcp4"]["renewed"] and life["dhcp4"]["released"] and life["dhcp4"]["declined"], life
        assert life["no_reply"] == life["dhcp4"]["released"] + life["dhcp4"]["declined"], life
        assert fast["dhcp4"]["rapid_fallback"] == (0 if server in self.rapid else fast["sent"]), fast
        if relayed and server in self.leasequery:
            assert life["dhcp4"]["received"]["LEASEACTIVE"] == life["dhcp4"]["sent"]["LEASEQUERY"] > 0, life


class Dhcp6:
    port = {"addresses": ["2001:db8::1/64", "2001:db8:40::1/64"]}
    steps = ["solicit-advertise", "request-reply"]
    # By relay or not. dnsmasq looks for the MAC of every client before it answers; on the link each client is a neighbour of
    # the server's kernel, which knows 1 024 at most.
    rates = {"kea6": {True: 300, False: 80}, "dhcpd6": {True: 100, False: 60}, "dnsmasq6": {True: 20, False: 5}}
    # By relay or not: addresses of relays, and the leases of the lab's servers there.
    links = {
        True: ("2001:db8:40::100-2001:db8:40::10f", "2001:db8:40::1:0:0/96", "2001:db8:c000::/34"),
        False: (None, "2001:db8::1:0:0/96", "2001:db8:8000::/34"),
    }
    life = {
        "sarr": "40%", "renew": "12%", "rebind": "12%", "release": "12%", "decline": "6%", "confirm": "6%", "information": "12%",
    }
    keeping = {"sarr": "40%", "renew": "20%", "rebind": "15%", "confirm": "10%", "information": "15%"}
    # ISC dhcpd 4.4 ends itself (an INSIST in heap.c) when leases are given back, and may advertise one prefix to two clients
    # at once. dnsmasq delegates no prefixes.
    fragile = ("dhcpd6",)
    no_prefixes = ("dnsmasq6", "dhcpd6")
    sent = {
        "SOLICIT": "solicit", "REQUEST": "request", "RENEW": "renew", "REBIND": "rebind", "RELEASE": "release",
        "DECLINE": "decline", "CONFIRM": "confirm", "INFORMATION-REQUEST": "infrequest",
    }
    received = {"ADVERTISE": "advertise", "REPLY": "reply"}
    uncounted = {"kea6": ("confirm",)}  # messages that the server has no figure for
    unlogged = {"dnsmasq6": ("infrequest", "release", "decline")}  # messages whose answers it does not log

    def rate(self, server, relayed):
        return self.rates[server][relayed]

    def item(self, name, exchange, rate, lease, relayed, number):
        relays, pool, prefixes = self.links[relayed]
        exchanges = {"mix": exchange} if isinstance(exchange, dict) else {"exchange": exchange}
        relay = {"relay": {"addresses": [relays], "levels": 1 + number % 3, "interface_id": "port {client}", "remote_id": "lab"}}
        expect = {"pool": [pool], **({} if lease == "address" else {"prefixes": [prefixes], "prefix_length": 56})}
        return {
            "name": name, "timeout": "3s", "load": {"rate": rate}, **({"server": "2001:db8::2"} if relayed else {}),
            "dhcp6": {
                "clients": 2 * rate, "lease": lease, "mac": f"02:0d:{next(runs):02x}:{number:02x}:00:00",
                "duid": ("ll", "llt", "en", "uuid")[number % 4], "expect": expect, **exchanges, **(relay if relayed else {}),
            },
        }

    def items(self, server, relayed):
        rate = self.rate(server, relayed)
        lease = "address" if server in self.no_prefixes else "both"
        return [
            self.item("new", "sarr", rate, lease, relayed, 0),
            self.item("life", self.keeping if server in self.fragile else self.life, rate, lease, relayed, 1),
            self.item("fast", "rapid", rate // 5, lease, relayed, 2),
        ]

    def expected(self, server, relayed, result):
        """A declined address stays leased for a server."""
        if server == "dhcpd6" and relayed:
            return {"relay-forward": sum(total(result, "sent").values()), "relay-reply": sum(total(result, "received").values())}
        wanted = messages(result, self.sent, self.received)
        wanted["reply"] -= sum(wanted[name] for name in self.unlogged.get(server, ()))
        if server == "kea6":
            life = result.item("life")["dhcp6"]
            wanted["addresses"] = total(result, "addresses") - life["released"]
            wanted["prefixes"] = total(result, "prefixes") - (life["released"] if life["prefixes"] else 0)
        return {name: value for name, value in wanted.items() if name not in self.uncounted.get(server, ())}

    def before(self, here):
        """The server's counters, once it has answered all that was asked before: at first one SOLICIT, by the lab."""
        execute(here.dut("ip", "-6", "neigh", "flush", "dev", "veth1"))
        while (now := here.stats()) != (time.sleep(0.3), here.stats())[1] or not now["advertise"]:
            pass
        return now

    def check(self, server, relayed, result):
        life, fast = result.item("life"), result.item("fast")
        assert all(one["failed"] == 0 for one in result.json["traffic"]), str(result)
        few = self.rate(server, relayed) < 50
        assert few or life["dhcp6"]["renewed"] and (server in self.fragile or life["dhcp6"]["released"]), life
        assert fast["dhcp6"]["rapid_fallback"] == 0, fast


def grown(before, wanted):
    """The same counters of the server, once they agree or two seconds have passed: some messages are not answered."""
    for _ in range(20):
        after = lab().stats()
        growth = {name: after.get(name, 0) - before.get(name, 0) for name in wanted}
        if growth == wanted:
            break
        time.sleep(0.1)
    return growth


def check(family, server, relayed, result):
    for one in result.json["traffic"]:
        check_ledger(one)
        # A server that is that slow has the box against it: in a run of a second too few clients have a lease in time.
        slowest = one["latency"]["service"]["max_ns"]
        timing(slowest is None or slowest < 0.5e9 * SECONDS, slowest)
        assert one["lost"] == one["stray"] == one["malformed"] == one["duplicate"] == one["late"] == 0, (one, str(result))
    new, fast = result.item("new"), result.item("fast")
    protocol = new["protocol"]
    assert new["due"] == new["sent"] == family.rate(server, relayed) * SECONDS, (new, str(result))
    assert new["answered"] == new[protocol]["leases"] and fast["answered"] == fast[protocol]["leases"], (new, fast)
    assert [step["name"] for step in new["steps"]] == family.steps, new["steps"]
    family.check(server, relayed, result)


def measure(family, server, driver, relayed):
    here = lab(server)
    before = family.before(here)
    items = family.items(server, relayed)
    for one in items:  # a number, for a tester that is away at the end of a time leaves messages unsent
        one["load"]["total"] = one["load"]["rate"] * SECONDS
    result = here.ddiperf(config(driver, *items, port=family.port, run={"duration": "20s"}, criteria=["loss <= 0%"]))
    assert result.json, result
    check(family, server, relayed, result)
    wanted = family.expected(server, relayed, result)
    growth = grown(before, wanted)
    assert growth == wanted, f"server {growth}\ntester {wanted}\n{result}"
    assert result.code == 0, result


def add(family, server, driver, relayed):
    def run():
        measure(family, server, driver, relayed)

    clients = "relays" if relayed else "clients_that_broadcast" if server in Dhcp4.rates else "clients_on_the_link"
    run.__name__ = f"{server}_serves_{clients}_through_{driver}"
    (nightly if server == "freeradius" and driver != "af_packet" else test)(run)


for family in (Dhcp4(), Dhcp6()):
    for server, driver, relayed in itertools.product(family.rates, DRIVERS, (True, False)):
        add(family, server, driver, relayed)


@test
def kea_serves_clients_that_forget_their_leases_again():
    four = leases("forgetful", "dora", rate=100, relayed=True, mac="02:0f:00:00:00:00", again=True)
    six = Dhcp6().item("forgetful", "sarr", 50, "both", True, 0)
    for server, one, family, held in (("kea", four, Dhcp4, ("leases",)), ("kea6", six, Dhcp6, ("addresses", "prefixes"))):
        protocol = "dhcp4" if family is Dhcp4 else "dhcp6"
        one[protocol].update(clients=20, again=True)
        before = lab(server).stats()
        result = lab(server).ddiperf(config("af_packet", one, port=family.port, run={"duration": "1s"}, criteria=["loss <= 0%"]))
        assert result.code == 0, result
        done = result.item("forgetful")
        n = done[protocol]
        assert n["leases"] == done["due"] == done["answered"] == n["forgotten"] + 20, done
        assert n["duplicate_address"] == n["renewed"] == 0, done
        wanted = {name: 20 for name in held}  # the server gives a client the lease that it still has
        assert grown(before, wanted) == wanted, result


@test
def kea_gets_back_in_a_later_run_what_an_earlier_one_has_saved():
    count = 200
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:

        def go(exchange, **where):
            one = leases("saved", exchange, rate=count, relayed=True, mac="02:0e:00:00:00:00", leases=where)
            one["load"]["total"] = count
            result = lab("kea").ddiperf(config(
                "af_packet", one, port=DHCP_PORT, run={"duration": "3s"}, criteria=["loss <= 0%"]))
            assert result.code == 0, result
            return result.item("saved")

        before = lab("kea").stats()
        go("dora", save=file.name)
        assert grown(before, {"leases": count}) == {"leases": count}
        renewed = go("renew", load=file.name, save=file.name)
        assert renewed["answered"] == renewed["dhcp4"]["renewed"] == count, renewed
        released = go("release", load=file.name)
        assert released["no_reply"] == count, released
        assert grown(before, {"leases": 0, "release": count}) == {"leases": 0, "release": count}



def add_living(server, t1, events):
    """A hundred clients whose T1, t1 seconds of the server, takes half a second, live for two."""
    def run():
        family = Dhcp4() if server in Dhcp4.rates else Dhcp6()
        if server in Dhcp4.rates:
            one = leases("living", "dora", rate=50, relayed=True, mac=f"02:10:{next(runs):02x}:00:00:00")
        else:
            one = family.item("living", "sarr", 50, "address", True, 0)
        protocol = "dhcp4" if "dhcp4" in one else "dhcp6"
        del one["load"]
        one[protocol].update(clients=100, life={"t1": f"{t1}s", "speed": 2 * t1, "power_on": f"{t1}s", "away": f"{t1 / 10}s",
                                                **events})
        before = family.before(lab(server))
        result = lab(server).ddiperf(config("af_packet", one, port=family.port, run={"duration": "2s"}, criteria=["loss <= 0%"]))
        assert result.code == 0, result
        done = result.item("living")
        n = done[protocol]
        assert done["due"] == done["answered"] + done["no_reply"] and n["t1_unforeseen"] == 0, (done, str(result))
        timing(abs(done["foreseen"]["off"]) < 0.1, done["foreseen"])
        assert n["renewed"] > 100 and n["released"] and n["forgotten"] and n["expired"] == 0, n
        wanted = messages(result, family.sent, family.received)
        assert grown(before, wanted) == wanted, result

    run.__name__ = f"{server}_serves_clients_with_a_life"
    test(run)


for server, t1 in (("kea", 1800), ("dhcpd", 1800), ("kea6", 1000)):
    add_living(server, t1, {"reboot": "10%", "forget": "10%", "release": "10%", "move": "10%"})


main()
