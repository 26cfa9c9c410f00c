#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# DHCPv4 against each real server, through each driver, by relay and by broadcast: every exchange of every kind is
# answered, and the server has counted the messages and the leases that the tester has. The argument chooses a server.

import itertools
import tempfile
import time

from harness import EXIT, check_ledger, main, test
from live import DHCP_PORT, DRIVERS, config, lab, leases, repeat

RATE = {"kea": 500, "dhcpd": 200, "dnsmasq": 100}  # dnsmasq writes all its leases at every change
SECONDS = 1
LIFE = {
    "dora": "40%", "renew": "15%", "rebind": "10%", "reboot": "10%", "inform": "10%", "release": "10%", "decline": "5%",
}
SENT = {name.upper(): name for name in ("discover", "request", "decline", "release", "inform")}
RECEIVED = {name.upper(): name for name in ("offer", "ack", "nak")}
RAPID = ("dnsmasq",)  # RFC 4039; the others offer
LEASEQUERY = ("dhcpd",)  # RFC 4388; relays only
FORGETFUL = ("dnsmasq",)  # may offer an address to two clients at once, and refuses the second one's REQUEST
runs = itertools.count()  # each with clients that no server has seen yet


def items(server, relayed):
    rate, number_of_run = RATE[server], next(runs)
    life = {**LIFE, "dora": "30%", "leasequery": "10%"} if relayed and server in LEASEQUERY else LIFE
    return [
        leases(
            name, exchange, rate=share, relayed=relayed, mac=f"02:0d:{number_of_run:02x}:{number:02x}:00:00",
            **({} if relayed else {"broadcast_flag": name == "fast"}),
        ) for number, (name, exchange, share) in enumerate((
            ("new", "dora", rate), ("life", life, rate // 2), ("fast", "rapid", rate // 10)))
    ]


def total(result, counter):
    """A labelled counter over all items."""
    sums = {}
    for one in result.json["traffic"]:
        for label, value in one["dhcp4"].get(counter, {}).items():
            sums[label] = sums.get(label, 0) + value
    return sums


def held(result):
    """Leases that the tester still has."""
    return sum(one["dhcp4"]["leases"] - one["dhcp4"]["released"] - one["dhcp4"]["declined"]
               for one in result.json["traffic"])


def expected(result):
    """By how much the server's counters must have grown."""
    sent, received = total(result, "sent"), total(result, "received")
    return {
        **{name: sent.get(label, 0) for label, name in SENT.items()},
        **{name: received.get(label, 0) for label, name in RECEIVED.items()},
        "leases": held(result),
    }


def grown(before, wanted):
    """The same counters of the server, once they agree or two seconds have passed: releases are not answered."""
    for _ in range(20):
        after = lab().stats()
        growth = {name: after[name] - before[name] for name in wanted}
        if growth == wanted:
            break
        time.sleep(0.1)
    return growth


def check(server, relayed, result):
    for one in result.json["traffic"]:
        check_ledger(one)
        assert one["lost"] == 0 and one["failed"] == one["dhcp4"]["nak"], (one, str(result))
        assert one["failed"] == 0 or server in FORGETFUL, (one, str(result))
        assert one["stray"] == one["malformed"] == one["duplicate"] == one["late"] == 0, (one, str(result))
    new, life, fast = (result.item(name) for name in ("new", "life", "fast"))
    assert new["due"] == new["sent"] == RATE[server] * SECONDS, (new, str(result))
    assert new["answered"] == new["dhcp4"]["leases"], new
    assert [s["name"] for s in new["steps"]] == ["discover-offer", "request-ack"], new["steps"]
    assert life["dhcp4"]["renewed"] and life["dhcp4"]["released"] and life["dhcp4"]["declined"], life
    assert life["no_reply"] == life["dhcp4"]["released"] + life["dhcp4"]["declined"], life
    assert fast["dhcp4"]["leases"] == fast["answered"], fast
    assert fast["dhcp4"]["rapid_fallback"] == (0 if server in RAPID else fast["sent"]), fast
    if relayed and server in LEASEQUERY:
        assert life["dhcp4"]["received"]["LEASEACTIVE"] == life["dhcp4"]["sent"]["LEASEQUERY"] > 0, life


def measure(server, driver, relayed):
    def run():
        here = lab(server)
        before = here.stats()
        result = here.ddiperf(config(
            driver, *items(server, relayed), port=DHCP_PORT,
            run={"duration": f"{SECONDS}s"}, criteria=["loss <= 0%"],
        ))
        assert result.json, result
        if result.code == EXIT["invalid"]:  # what the tester itself lost is no judgement on anybody
            return result
        check(server, relayed, result)
        wanted = expected(result)
        growth = grown(before, wanted)
        assert growth == wanted, f"server {growth}\ntester {wanted}\n{result}"
        return result

    result = repeat(run)
    assert result.code == 0, result


def add(server, driver, relayed):
    def run():
        measure(server, driver, relayed)

    run.__name__ = f"{server}_serves_{'relays' if relayed else 'clients_that_broadcast'}_through_{driver}"
    test(run)


for server in RATE:
    for driver in DRIVERS:
        for relayed in (True, False):
            add(server, driver, relayed)


@test
def kea_gets_back_in_a_later_run_what_an_earlier_one_has_saved():
    count = 200
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:

        def go(exchange, **where):
            one = leases("saved", exchange, rate=count, relayed=True, mac="02:0e:00:00:00:00", leases=where)
            one["load"]["total"] = count
            result = repeat(lambda: lab("kea").ddiperf(config(
                "af_packet", one, port=DHCP_PORT, run={"duration": "3s"}, criteria=["loss <= 0%"])))
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


main()
