# SPDX-License-Identifier: BSD-3-Clause
"""Configurations of DHCPv6 clients, and the laws that tie an item's counters, its steps and the responder together."""

from dhcp import check_books, check_item, each_item, of_clients, steps, total  # the last three: for tests
from harness import ddiperf
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
    each_item(result, "dhcp6", lambda one: check_laws(one, copies))
    return result


def check_laws(one, copies=1):
    """What holds for every item of DHCPv6 clients, whatever happened to it."""
    check_item(one, FOLLOWING, SENT_BY, copies)
    assert one["no_reply"] == 0, one


def check_agreement(result, faultless=True):
    """Both sides have counted the same; with faults, what the responder did to its answers is not."""
    check_books(result, "dhcp6", faultless)


def served(*items, **more):
    """run(), in which everything was answered, and both sides have counted the same."""
    result = run(*items, **more)
    for one in result.json["traffic"]:
        assert one["due"] == one["sent"] == one["answered"] > 0, one
    check_agreement(result)
    return result
