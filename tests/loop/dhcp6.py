# SPDX-License-Identifier: BSD-3-Clause
"""Configurations of DHCPv6 clients, and the laws that tie an item's counters, its steps and the responder together."""

from harness import check_ledger, ddiperf
from loop import ring

SERVER = "2001:db8::2"
RELAYS = {"addresses": ["2001:db8::100-2001:db8::13f"]}
POOL, PREFIXES, LENGTH = "2001:db8:0:1::/64", "2001:db8:8000::/33", 56
EXPECT = {"pool": [POOL], "prefixes": [PREFIXES], "prefix_length": LENGTH}
# An exchange begins with one of these; the other step goes on from an ADVERTISE.
FOLLOWING = "request-reply"
SENT_BY = {
    "SOLICIT": ("solicit-advertise", "solicit-reply"), "REQUEST": (FOLLOWING,), "RENEW": ("renew-reply",), "REBIND": ("rebind-reply",),
    "RELEASE": ("release-reply",), "DECLINE": ("decline-reply",), "CONFIRM": ("confirm-reply",), "INFORMATION-REQUEST": ("information-reply",),
}


def clients(name="clients", load=None, relay=RELAYS, keys=None, **dhcp6):
    """An item of clients behind relays (relay=None: on the link); keys: of the item itself."""
    behind = {} if relay is None else {"relay": relay}
    server = {} if relay is None else {"server": SERVER}
    return {
        "name": name, **server, "timeout": "2s", "load": load or {"outstanding": 16, "total": 400},
        "dhcp6": {"clients": "20k", "lease": "both", "expect": EXPECT, **behind, **dhcp6}, **(keys or {}),
    }


def answers(faults=None, **dhcp6):
    """The responder's section."""
    section = {"dhcp6": {
        "pool": [POOL], "prefixes": [PREFIXES], "prefix_length": LENGTH, "rapid": True, "dns": [SERVER], "domain": "example.com", **dhcp6,
    }}
    return {**section, "faults": faults} if faults else section


def run(*items, responder=None, duration="20s", warmup="0s", copies=1, **sections):
    """The result; a run with totals ends before its duration. copies: of every message, one to each server."""
    both = {"tester": {"addresses": ["198.18.0.1/24", "2001:db8::1/64"]}, "dut": {"addresses": ["198.18.0.2/24", SERVER + "/64"]}}
    result = ddiperf(ring(*items, run={"duration": duration, "warmup": warmup}, responder=responder or answers(), **both, **sections))
    assert result.json, result
    for one in result.json["traffic"]:
        if one["protocol"] == "dhcp6":
            check_laws(one, copies)
    return result


def steps(one):
    """{name: step} of the item."""
    return {step["name"]: step for step in one["steps"]}


def total(counter):
    """Of a counter with labels."""
    return sum(counter.values())


def check_laws(one, copies=1):
    """What holds for every item of DHCPv6 clients, whatever happened to it."""
    check_ledger(one)
    all_steps, n = steps(one), one["dhcp6"]
    for step in all_steps.values():
        assert step["sent"] == step["answered"] + step["failed"] + step["lost"], step
    of = {key: sum(step[key] for step in all_steps.values()) for key in ("sent", "answered", "failed", "lost")}
    further = all_steps[FOLLOWING]["sent"] if FOLLOWING in all_steps else 0
    assert of["sent"] - further == one["sent"] and of["answered"] - further == one["answered"], one
    assert all(of[key] == one[key] for key in ("failed", "lost")) and one["no_reply"] == 0, one
    for kind, names in SENT_BY.items():
        assert n["sent"].get(kind, 0) >= sum(all_steps[name]["sent"] for name in names if name in all_steps), one
    assert total(n["sent"]) == copies * (of["sent"] + n["retransmitted"]), one
    assert total(n["attempt"]) == of["answered"] + of["failed"], one
    assert total(n["server"]) == one["answered"], one


def check_agreement(result, faultless=True):
    """The responder has counted what the items have sent, and, without faults, they what it has sent."""
    theirs = next(p["dhcp6"] for p in result.json["responder"]["protocols"] if p["name"] == "dhcp6")
    ours = [one["dhcp6"] for one in result.json["traffic"] if one["protocol"] == "dhcp6"]

    def added(key):
        kinds = {kind for n in ours for kind in n[key]}
        return {kind: sum(n[key].get(kind, 0) for n in ours) for kind in kinds}

    assert theirs["type"] == added("sent") and theirs["received"] == total(theirs["type"]), (theirs, ours)
    assert theirs["answered"] == total(theirs["sent"]), theirs
    if not faultless:
        return
    assert theirs["sent"] == added("received"), (theirs, ours)
    for one in result.json["traffic"]:
        assert one["stray"] == one["malformed"] == one["duplicate"] == one["late"] == 0, one


def served(*items, **more):
    """run(), in which everything was answered, and both sides have counted the same."""
    result = run(*items, **more)
    for one in result.json["traffic"]:
        assert one["due"] == one["sent"] == one["answered"] > 0, one
    check_agreement(result)
    return result


def of_clients(result):
    """The item called "clients"."""
    return result.item("clients")
