# SPDX-License-Identifier: BSD-3-Clause
"""What tests of DHCP clients of either family share: the laws that tie an item's counters, its steps and the responder."""

from harness import check_ledger


def steps(one):
    """{name: step} of the item."""
    return {step["name"]: step for step in one["steps"]}


def total(counter):
    """Of a counter with labels."""
    return sum(counter.values())


def of_clients(result):
    """The item called "clients"."""
    return result.item("clients")


def each_item(result, protocol, check):
    """check(item) of all that are of this protocol."""
    for one in result.json["traffic"]:
        if one["protocol"] == protocol:
            check(one)


def check_item(one, following, sent_by, copies):
    """What holds for every item of clients, whatever happened to it.

    following: the step that goes on from another one; sent_by: {message: steps}; copies: of every message, one to each server.
    """
    check_ledger(one)
    check_steps(one, following)
    check_messages(one, sent_by, copies)


def check_steps(one, following):
    """The steps add up, each by itself and all to the whole exchanges."""
    all_steps = steps(one)
    for step in all_steps.values():
        assert step["sent"] == step["answered"] + step["failed"] + step["lost"] + step["no_reply"], step
        for latency in step["latency"].values():
            assert latency["count"] == step["answered"] + step["failed"], step
    of = {key: sum(step[key] for step in all_steps.values()) for key in ("sent", "answered", "failed", "lost", "no_reply")}
    further = all_steps[following]["sent"] if following in all_steps else 0
    assert of["sent"] - further == one["sent"] and of["answered"] - further == one["answered"], one
    assert all(of[key] == one[key] for key in ("failed", "lost", "no_reply")), one


def check_messages(one, sent_by, copies):
    """Every message is of a step."""
    all_steps, n = steps(one), one[one["protocol"]]
    of = {key: sum(step[key] for step in all_steps.values()) for key in ("sent", "answered", "failed")}
    for kind, names in sent_by.items():
        assert n["sent"].get(kind, 0) >= sum(all_steps[name]["sent"] for name in names if name in all_steps), one
    assert total(n["sent"]) == copies * (of["sent"] + n["retransmitted"]), one
    assert total(n["attempt"]) == of["answered"] + of["failed"], one
    assert total(n["server"]) == one["answered"], one


def check_books(result, protocol, faultless=True, both=()):
    """The responder has counted what the items have sent, and, without faults, they what it has sent; both: further counters."""
    theirs = next(p[protocol] for p in result.json["responder"]["protocols"] if p["name"] == protocol)
    ours = [one[protocol] for one in result.json["traffic"] if one["protocol"] == protocol]

    def added(key):
        kinds = {kind for n in ours for kind in n[key]}
        return {kind: sum(n[key].get(kind, 0) for n in ours) for kind in kinds}

    assert theirs["type"] == added("sent") and theirs["received"] == total(theirs["type"]), (theirs, ours)
    assert theirs["answered"] == total(theirs["sent"]), theirs
    if not faultless:
        return
    assert theirs["sent"] == added("received"), (theirs, ours)
    for key in both:
        assert theirs[key] == sum(n[key] for n in ours), (key, theirs, ours)
    for one in result.json["traffic"]:
        assert one["stray"] == one["malformed"] == one["duplicate"] == one["late"] == 0, one
