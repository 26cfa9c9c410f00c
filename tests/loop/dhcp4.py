# SPDX-License-Identifier: BSD-3-Clause
"""Configurations of DHCPv4 clients, and the laws that tie an item's counters, its steps and the responder together."""

from harness import check_ledger, ddiperf
from loop import TRIES, ring

SERVER = "198.18.0.2"
RELAYS = {"addresses": ["198.18.0.64/26"]}
POOL = ["10.0.0.0/15"]
# An exchange begins with one of these; the other step goes on from an offer.
FOLLOWING = "request-ack"
SENT_BY = {
    "DISCOVER": ("discover-offer", "discover-ack"), "REQUEST": (FOLLOWING, "renew-ack", "rebind-ack", "reboot-ack"),
    "INFORM": ("inform-ack",), "RELEASE": ("release",), "DECLINE": ("decline",), "LEASEQUERY": ("leasequery",),
}
LOST_FOR_THE_BOX = 2  # an answer that took longer than a timeout over this says that the box was busy


def clients(name="clients", load=None, relay=RELAYS, keys=None, **dhcp4):
    """An item of clients behind relays (relay=None: that broadcast); keys: of the item itself."""
    behind = {} if relay is None else {"relay": relay}
    return {
        "name": name, "server": SERVER, "timeout": "500ms", "load": load or {"outstanding": 16, "total": 400},
        "dhcp4": {"clients": "20k", **behind, **dhcp4}, **(keys or {}),
    }


def answers(faults=None, **dhcp4):
    """The responder's section."""
    section = {"dhcp4": {"pool": POOL, "server_id": SERVER, **dhcp4}}
    return {**section, "faults": faults} if faults else section


def run(*items, responder=None, duration="20s", warmup="0s", copies=1, **sections):
    """The result; a run with totals ends before its duration. copies: of every message, one to each server."""
    result = ddiperf(ring(*items, run={"duration": duration, "warmup": warmup}, responder=responder or answers(), **sections))
    assert result.json, result
    for one in result.json["traffic"]:
        if one["protocol"] == "dhcp4":
            check_laws(one, copies)
    return result


def steps(one):
    """{name: step} of the item."""
    return {step["name"]: step for step in one["steps"]}


def total(counter):
    """Of a counter with labels."""
    return sum(counter.values())


def check_laws(one, copies=1):
    """What holds for every item of DHCPv4 clients, whatever happened to it."""
    check_ledger(one)
    all_steps, n = steps(one), one["dhcp4"]
    for step in all_steps.values():
        assert step["sent"] == step["answered"] + step["failed"] + step["lost"] + step["no_reply"], step
        for latency in step["latency"].values():
            assert latency["count"] == step["answered"] + step["failed"], step
    of = {key: sum(step[key] for step in all_steps.values()) for key in ("sent", "answered", "failed", "lost", "no_reply")}
    further = all_steps[FOLLOWING]["sent"] if FOLLOWING in all_steps else 0
    assert of["sent"] - further == one["sent"] and of["answered"] - further == one["answered"], one
    assert all(of[key] == one[key] for key in ("failed", "lost", "no_reply")), one
    for kind, names in SENT_BY.items():
        assert n["sent"].get(kind, 0) >= sum(all_steps[name]["sent"] for name in names if name in all_steps), one
    assert total(n["sent"]) == copies * (of["sent"] + n["retransmitted"]), one
    assert total(n["attempt"]) == of["answered"] + of["failed"], one
    assert total(n["server"]) == one["answered"], one
    assert n["released"] + n["declined"] == one["no_reply"], one


def check_agreement(result, faultless=True):
    """The responder has counted what the items have sent, and, without faults, they what it has sent."""
    theirs = next(p["dhcp4"] for p in result.json["responder"]["protocols"] if p["name"] == "dhcp4")
    ours = [one["dhcp4"] for one in result.json["traffic"] if one["protocol"] == "dhcp4"]

    def added(key):
        kinds = {kind for n in ours for kind in n[key]}
        return {kind: sum(n[key].get(kind, 0) for n in ours) for kind in kinds}

    assert theirs["type"] == added("sent") and theirs["received"] == total(theirs["type"]), (theirs, ours)
    assert theirs["answered"] == total(theirs["sent"]), theirs
    if not faultless:
        return
    assert theirs["sent"] == added("received"), (theirs, ours)
    for key in ("released", "declined"):
        assert theirs[key] == sum(n[key] for n in ours), (key, theirs, ours)
    for one in result.json["traffic"]:
        assert one["stray"] == one["malformed"] == one["duplicate"] == one["late"] == 0, one


def served(*items, **more):
    """run(), in which everything was answered that is answered at all, and both sides have counted the same."""
    result = run(*items, **more)
    for one in result.json["traffic"]:
        assert one["due"] == one["sent"] == one["answered"] + one["no_reply"] > 0, one
    check_agreement(result)
    return result


def of_clients(result):
    """The item called "clients"."""
    return result.item("clients")


def undisturbed(attempt, judge, timeout_s):
    """judge(attempt()) holds; again only when the box kept somebody from the CPU for half a timeout."""
    for left in reversed(range(TRIES)):
        result = attempt()
        try:
            return judge(result)
        except AssertionError:
            lag = max(max(one["latency"]["service"]["max_ns"], one["send_lag"]["max_ns"]) for one in result.json["traffic"])
            if left == 0 or lag < timeout_s / LOST_FOR_THE_BOX * 1e9:
                raise
