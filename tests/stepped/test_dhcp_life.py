#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Clients with a life of their own against the embedded responder, in both families: what is due follows from their leases
# and is what was foreseen; events, a server that falls silent, leases of an earlier run.

import tempfile
from pathlib import Path

import dhcp4
import dhcp6
from dhcp import of_clients, steps
from harness import binary, config_file, ddiperf, execute, main, test
from loop import ring

CLIENTS = 400
FAST = {"t1": "30m", "speed": 7200, "power_on": "30m"}  # T1 and power-on take 250 ms
HOUR = {"dhcp4": {"lease_time": "1h"}, "dhcp6": {"preferred_lifetime": "1h", "valid_lifetime": "100m", "rapid": False}}
FAMILIES = {"dhcp4": dhcp4.family, "dhcp6": dhcp6.family}


def living(family, name="clients", life=None, **settings):
    """An item whose clients live."""
    one = family.clients(name, clients=CLIENTS, life={**FAST, **(life or {})}, **settings)
    del one["load"]
    return one


def lived(family, *items, faults=None, **more):
    """The result of a run of 1.5 s, which is six times T1."""
    return family.run(*items, responder=family.answers(faults, **HOUR[family.protocol]), duration="1500ms", **more)


@test
def what_is_due_follows_from_the_leases_and_was_foreseen():
    for family in FAMILIES.values():
        result = lived(family, living(family))
        one = of_clients(result)
        # Power-on in the first T1, then a renewal each T1: six exchanges a client.
        assert one["due"] == one["answered"] == 6 * CLIENTS and one["foreseen"] == {"due": 6 * CLIENTS, "off": 0}, one
        assert one["send_lag"]["max_ns"] <= 1, one["send_lag"]
        n = one[family.protocol]
        assert n["leases"] == CLIENTS and n["renewed"] == one["due"] - CLIENTS, n
        assert n["t1_unforeseen"] == n["expired"] == n["forgotten"] == 0, n
        family.check_agreement(result)


@test
def another_t1_than_the_foreseen_one_is_counted():
    family = dhcp4.family
    one = of_clients(lived(family, living(family, life={"t1": "15m"})))
    assert one["dhcp4"]["t1_unforeseen"] == one["answered"] == 6 * CLIENTS, one
    # With a T1 of 125 ms it is 11 or 12 times.
    assert one["foreseen"]["due"] == 11.5 * CLIENTS and abs(one["foreseen"]["off"] - (6 / 11.5 - 1)) < 1e-9, one["foreseen"]


@test
def clients_reboot_forget_release_and_move():
    life = {"reboot": "10%", "forget": "10%", "release": "10%", "move": "10%", "away": "5m"}
    names = {"dhcp4": ("reboot-ack", "release"), "dhcp6": ("confirm-reply", "release-reply")}
    for family in FAMILIES.values():
        result = lived(family, living(family, life=life))
        one, did = of_clients(result), steps(of_clients(result))
        n = one[family.protocol]
        assert one["due"] == one["sent"] == one["answered"] + one["no_reply"], one
        assert abs(one["foreseen"]["off"]) < 0.02, one["foreseen"]
        leases = n["leases"] + n["renewed"]
        for name in names[family.protocol]:
            assert 0.09 < did[name]["sent"] / leases < 0.093, (name, did)
        assert n["released"] == did[names[family.protocol][1]]["sent"], n
        assert 0.183 < n["forgotten"] / leases < 0.184, n  # those that moved, too
        family.check_agreement(result)


@test
def wrong_messages_are_apart_from_the_life_of_their_clients():
    for family, kinds in ((dhcp4.family, {"end": "20%", "type": "10%"}), (dhcp6.family, {"elapsed": "20%", "type": "10%"})):
        result = ddiperf(ring(living(family, wrong=kinds, keys={"timeout": "50ms"}), run={"duration": "1500ms"},
                              responder=family.answers(**HOUR[family.protocol]), **family.ports))
        one = of_clients(result)
        n, theirs = one[family.protocol], result.json["responder"]["protocols"][0][family.protocol]
        wrong = sum(n["wrong_sent"].values())
        assert one["due"] == one["sent"] == one["answered"] + wrong and one["no_reply"] == wrong, one
        assert n["wrong_sent"] == {kind: n["wrong_answered"].get(kind, 0) + n["wrong_unanswered"].get(kind, 0) for kind in kinds}, n
        # A client whose renewal was wrong keeps its lease until T2, or its end: then it starts over.
        assert n["leases"] + n["renewed"] == one["answered"] and sum(step["no_reply"] for step in one["steps"]) == wrong, one
        assert CLIENTS <= n["leases"] <= CLIENTS + n["expired"] + n["forgotten"], n
        assert theirs["received"] == sum(n["sent"].values()) and theirs["answered"] == sum(n["received"].values()), (theirs, n)


@test
def a_server_that_falls_silent_costs_the_lease():
    family = dhcp4.family
    one = of_clients(lived(family, living(family, life={"power_on": "6m"}, keys={"timeout": "30ms"}),
                           faults={"outage": {"off_at": "150ms", "on_at": "1s"}}))
    did, n = steps(one), one["dhcp4"]
    # At T1 a renewal, at T2 a rebinding, at the end of the lease a new start, again and again.
    assert did["renew-ack"]["lost"] == did["rebind-ack"]["lost"] == n["expired"] == CLIENTS, (did, n)
    # It begins again every 30 ms, about 16 times.
    assert did["discover-offer"]["lost"] == 6344 and n["leases"] == 2 * CLIENTS, (did, n)


@test
def clients_with_leases_of_an_earlier_run_reboot():
    with tempfile.TemporaryDirectory(prefix="ddiperf-life-") as folder:
        file = str(Path(folder) / "leases.csv")
        family = dhcp4.family
        lived(family, living(family, leases={"save": file}))
        one = of_clients(family.run(living(family, leases={"load": file}), duration="200ms",
                                    responder=family.answers(authoritative=True, **HOUR["dhcp4"])))
        assert steps(one)["reboot-ack"]["sent"] == one["due"] > 0, one


@test
def a_dry_run_has_the_first_clients_at_their_times():
    with tempfile.TemporaryDirectory(prefix="ddiperf-life-") as folder:
        out = str(Path(folder) / "out.pcapng")
        with config_file(ring(living(dhcp4.family), responder=dhcp4.family.answers())) as path:
            code, _, stderr = execute([binary(), "run", str(path), "--dry-run", out])
        assert code == 0, stderr
        packets = Path(out).read_bytes()
    # 400 clients in 250 ms: hundred packets are those of the first 62 ms, one client after the other.
    assert packets.count(bytes.fromhex("63825363")) == 100
    assert all(bytes.fromhex(f"0200000000{i:02x}") in packets for i in range(100))


main()
