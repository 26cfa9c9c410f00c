# SPDX-License-Identifier: BSD-3-Clause
"""Configurations of DHCPv4 clients, and the laws that tie an item's counters, its steps and the responder together."""

from dhcp import check_books, check_item, each_item, of_clients, steps, total  # the last three: for tests
from harness import ddiperf
from loop import ring

SERVER = "198.18.0.2"
RELAYS = {"addresses": ["198.18.0.64/26"]}
POOL = ["10.0.0.0/15"]
# An exchange begins with one of these; the other step goes on from an offer.
FOLLOWING = "request-ack"
SENT_BY = {
    "DISCOVER": ("discover-offer", "discover-ack"), "REQUEST": (FOLLOWING, "renew-ack", "rebind-ack", "reboot-ack"),
    "INFORM": ("inform-ack",), "RELEASE": ("release",), "DECLINE": ("decline",), "LEASEQUERY": ("leasequery",),
}


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
    each_item(result, "dhcp4", lambda one: check_laws(one, copies))
    return result


def check_laws(one, copies=1):
    """What holds for every item of DHCPv4 clients, whatever happened to it."""
    check_item(one, FOLLOWING, SENT_BY, copies)
    assert one["dhcp4"]["released"] + one["dhcp4"]["declined"] == one["no_reply"], one


def check_agreement(result, faultless=True):
    """Both sides have counted the same; with faults, what the responder did to its answers is not."""
    check_books(result, "dhcp4", faultless, ("released", "declined"))


def served(*items, **more):
    """run(), in which everything was answered that is answered at all, and both sides have counted the same."""
    result = run(*items, **more)
    for one in result.json["traffic"]:
        assert one["due"] == one["sent"] == one["answered"] + one["no_reply"] > 0, one
    check_agreement(result)
    return result
