#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Messages that are wrong on purpose: the responder answers each kind as is right, they are judged apart, and the good
# queries beside them are measured as if they were alone.

from harness import EXIT, check_ledger, ddiperf, main, test
from loop import item, ring

KINDS = ("header", "counts", "loop", "label", "name", "random", "response", "questions", "opts", "version", "cookie")
SHARES = {kind: "2%" for kind in KINDS}


def run(wrong, responder=None, load=None, dns=None, **keys):
    one = item(dns={"names": ["h{0-99}.example.com A"], "wrong": wrong, **(dns or {})}, timeout="200ms",
               load=load or {"rate": "20k"})
    return ddiperf(ring(one, responder=responder, **keys))


def books(result):
    one = result.item("queries")
    check_ledger(one)
    dns = one["dns"]
    sent = sum(dns["wrong_sent"].values())
    assert sent == sum(sum(dns[name].values()) for name in ("wrong_right", "wrong_other", "wrong_unanswered")), dns
    assert one["no_reply"] == sent and dns["wrong_unexpected"] == sum(dns["wrong_other"].values()), one
    assert sum(dns["rcode"].values()) == one["answered"] + one["failed"] == one["latency"]["response"]["count"], one
    return one, dns


@test
def each_kind_is_answered_as_is_right_and_the_others_as_ever():
    for dns in ({}, {"edns": {}, "cookies": "full"}, {"transport": "tcp", "tcp": {"connections": 20}}):
        result = run(SHARES, dns=dns, criteria=["traffic.queries.dns.wrong_unexpected == 0", "loss == 0"])
        assert result.code == 0, result
        one, counted = books(result)
        assert one["lost"] == one["failed"] == one["late"] == one["stray"] == one["malformed"] == 0, one
        assert one["duplicate"] == 0 and counted["rcode"] == {"NOERROR": one["answered"]}, one
        assert counted["wrong_right"] == counted["wrong_sent"] and set(counted["wrong_sent"]) == set(KINDS), counted
        assert all(60 < sent < 190 for sent in counted["wrong_sent"].values()), counted
        # Nothing waits for what never comes: the slowest good answer is no timeout.
        assert one["latency"]["response"]["max_ns"] < 150e6, one


@test
def the_same_seed_has_the_same_wrong_messages():
    first, again = (run(SHARES, run={"seed": 7}) for _ in range(2))
    assert books(first)[1]["wrong_sent"] == books(again)[1]["wrong_sent"], (first, again)
    assert books(first)[1]["request_bytes"] == books(again)[1]["request_bytes"], (first, again)
    assert books(first)[1]["wrong_sent"] != books(run(SHARES, run={"seed": 8}))[1]["wrong_sent"]


@test
def other_answers_are_unexpected_and_fail_a_criterion_while_the_good_ones_pass():
    result = run({"label": "10%", "questions": "10%"}, {"dns": {}, "faults": {"rcode": {"every": 2}}},
                 criteria=["traffic.queries.dns.wrong_unexpected == 0"])
    assert result.code == EXIT["fail"], result
    one, dns = books(result)
    assert dns["wrong_other"].keys() == {"label", "questions"} and dns["wrong_unexpected"] > 300, dns
    assert one["lost"] == one["failed"] == 0 and dns["rcode"].keys() == {"NOERROR", "SERVFAIL"}, one


@test
def silence_is_counted_by_kind_and_is_no_loss():
    result = run({"label": "10%", "header": "10%"}, {"dns": {}, "faults": {"loss": {"share": "100%"}}})
    one, dns = books(result)
    assert dns["wrong_unanswered"].keys() == {"label"} and dns["wrong_right"].keys() == {"header"}, dns
    assert one["lost"] == one["sent"] - one["no_reply"] > 4000 and one["loss"] == 1, one


@test
def all_of_an_item_may_be_wrong():
    one, dns = books(run({"version": "100%"}))
    assert one["sent"] == one["no_reply"] == dns["wrong_right"]["version"] == 6000, one


@test
def a_server_that_closes_the_connection_loses_no_wrong_message():
    result = run({"label": "5%"}, {"dns": {}, "tcp": {"queries_per_connection": 7}},
                 dns={"transport": "tcp", "tcp": {"connections": 20, "closed": "again"}}, load={"rate": "2k"})
    one, dns = books(result)
    assert one["lost"] == one["in_flight"] == 0 and one["connections"]["closed"] > 10, one
    assert dns["wrong_sent"]["label"] > 10 and dns["wrong_other"] == {}, dns


main()
