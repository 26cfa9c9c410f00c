# SPDX-License-Identifier: BSD-3-Clause
"""DHCP clients of either family: their configurations, and the laws that tie an item's counters, its steps and the responder."""

from harness import check_ledger, ddiperf
from loop import ring


def steps(one):
    """{name: step} of the item."""
    return {step["name"]: step for step in one["steps"]}


def total(counter):
    """Of a counter with labels."""
    return sum(counter.values())


def lines(path):
    """The leases of a file, as lists of columns."""
    heading, *rest = path.read_text().splitlines()
    assert heading == "client,mac,address,server,expires", heading
    return [line.split(",") for line in rest]


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
    for one, n in ((one, one[one["protocol"]]) for one in result.json["traffic"] if one["protocol"] == protocol):
        heard = sum(server[kind] for server in one.get("servers_heard", []) for kind in ("offers", "answers", "refusals"))
        assert heard == total(n["received"]) - n["received"].get("RECONFIGURE", 0), one  # the responder names itself
    for one in result.json["traffic"]:
        assert one["stray"] == one["malformed"] == one["duplicate"] == one["late"] == 0, one


class Family:
    """One family; its configurations differ by the rows that it is made of.

    item: keys of each item; relayed: further ones of relays' clients; clients: settings of each; answers: the responder's section;
    silent: its RELEASE and DECLINE get no reply; ports: further sections of the file. The rest is as in check_item.
    """

    def __init__(self, protocol, relays, item, relayed, clients, answers, following, sent_by, silent, ports=None):
        self.protocol, self.relays, self.item, self.relayed, self.settings = protocol, relays, item, relayed, clients
        self.section, self.following, self.sent_by, self.silent, self.ports = answers, following, sent_by, silent, ports or {}

    def clients(self, name="clients", load=None, relay="as always", keys=None, **settings):
        """An item of clients behind relays (relay=None: on the link); keys: of the item itself."""
        relay = self.relays if relay == "as always" else relay
        behind = {} if relay is None else {"relay": relay}
        return {
            "name": name, "load": load or {"outstanding": 16, "total": 400}, **self.item, **(self.relayed if relay else {}),
            self.protocol: {"clients": "20k", **self.settings, **behind, **settings}, **(keys or {}),
        }

    def answers(self, faults=None, **settings):
        """The responder's section."""
        section = {self.protocol: {**self.section, **settings}}
        return {**section, "faults": faults} if faults else section

    def run(self, *items, responder=None, duration="20s", warmup="0s", copies=1, invalid=False, world=None, **sections):
        """The result; a run with totals ends before its duration. copies: of every message, one to each server."""
        result = ddiperf(ring(*items, run={"duration": duration, "warmup": warmup}, responder=responder or self.answers(),
                              **self.ports, **sections), invalid=invalid, world=world)
        assert result.json, result
        each_item(result, self.protocol, lambda one: self.check_laws(one, copies))
        return result

    def check_laws(self, one, copies=1):
        """Laws of every item, whatever happened to it."""
        check_item(one, self.following, self.sent_by, copies)
        n = one[self.protocol]
        assert one["no_reply"] == (n["released"] + n["declined"] if self.silent else 0), one

    def check_agreement(self, result, faultless=True):
        """Both sides have counted the same; with faults, except the changes that the responder made to its replies."""
        check_books(result, self.protocol, faultless, ("released", "declined") if self.silent else ())

    def served(self, *items, **more):
        """run(), in which every message was answered that is answered at all, and both sides have counted the same."""
        result = self.run(*items, **more)
        for one in result.json["traffic"]:
            assert one["unsent"] == 0, one
            assert one["due"] == one["sent"] == one["answered"] + one["no_reply"] > 0, one
        self.check_agreement(result)
        return result

    def seconds_of_declines(self, exchange, **rest):
        """The time in which five clients decline fifteen leases or more: each has rested twice before its third one."""
        mix = {exchange: "50%", "decline": "50%"}
        one = of_clients(self.run(self.clients(load={"outstanding": 1, "total": 40}, clients=5, mix=mix, **rest)))
        assert one["due"] == 40 and one[self.protocol]["declined"] >= 15, one
        return one["due"] / one["due_per_s"]


def check_query_steps(one):
    """Each answer to a bulk lease query has a first message; what follows it is the second step."""
    did = steps(one)
    assert did["query-first"]["sent"] == one["sent"], one
    for step in did.values():
        assert step["sent"] == step["answered"] + step["failed"] + step["lost"], step
        assert step["latency"]["response"]["count"] == step["answered"] + step["failed"], step
    rest = did.get("first-last", {"sent": 0, "lost": 0})
    assert did["query-first"]["answered"] == rest["sent"] + one["empty"], one
    assert rest["lost"] == one["closed_within"] + one["late_within"], one
