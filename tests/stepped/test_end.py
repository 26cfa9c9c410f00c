#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# How runs end when they do not simply pass: nobody there, no answers. Signals and privileges: tests/loop/test_end.py.

import json
import tempfile
from pathlib import Path

from harness import EXIT, check_ledger, ddiperf, main, test
from loop import item, ring, unanswered


@test
def nobody_at_the_address_says_what_was_asked_and_how_often():
    result = ddiperf(ring(item(server="198.18.0.9")))
    assert result.code == EXIT["unreachable"], result
    for word in ("traffic.queries", "ARP", "198.18.0.9", "port tester", "15 times", "3.0 s", "198.18.0.1", "no VLAN"):
        assert word in result.stderr, (word, result)
    assert result.json["verdict"]["status"] == "unreachable", result.json["verdict"]
    assert result.item("queries")["sent"] == 0 and result.json["responder"]["received"] == 0
    assert "UNREACHABLE" in result.stdout.splitlines()[-1], result
    assert "came back" not in result.stdout, "nothing came back"


@test
def a_port_that_leads_nowhere_is_unreachable():
    result = ddiperf(json.dumps({
        "run": {"warmup": "0s"}, "ports": [{"name": "hole", "driver": "null", "addresses": ["2001:db8::1/64"]}],
        "traffic": [item(server="2001:db8::2")],
    }))
    assert result.code == EXIT["unreachable"] and "neighbour discovery" in result.stderr, result


@test
def a_server_that_never_answers_is_unreachable():
    result = ddiperf(ring(item(server_port=5353, timeout="200ms"), criteria=["loss <= 100%"]))
    assert result.code == EXIT["unreachable"], result
    one = result.item("queries")
    check_ledger(one)
    assert one["sent"] == one["lost"] == 600, one
    assert any("nothing answered" in reason and "600" in reason for reason in result.json["verdict"]["reasons"])
    assert result.json["ports"][1]["other"]["unmatched"] == 600, result.json["ports"]


@test
def a_run_ends_when_the_server_refuses_its_first_connections():
    tcp = item(dns={"names": ["a.example A"], "transport": "tcp"})
    run = {"duration": "60s", "interval": "1s"}
    closed = ddiperf(ring({**tcp, "server_port": 5353}, run=run))
    assert closed.code == EXIT["unreachable"], closed
    assert closed.item("queries")["sending_s"] < 2, closed
    assert any("connections refused: no server listens on that port" in one for one in closed.json["verdict"]["reasons"]), closed
    # Not when one is accepted, even if nothing is answered yet.
    slow = {"dns": {}, "faults": {"delay": {"constant": "2500ms"}}}
    some = ddiperf(ring(tcp, {**tcp, "name": "bad", "server_port": 5353}, run={**run, "duration": "3s"}, responder=slow))
    assert some.item("bad")["lost"] and some.item("bad")["sending_s"] > 2.9, some


@test
def silence_is_reported_after_the_first_second_once():
    """Of 2 000 requests a second; not where one answer has come."""
    run = {"duration": "3s"}
    silent = ddiperf(ring(item(server_port=5353, timeout="200ms"), run=run))
    said = silent.stdout + silent.stderr
    assert said.count("nothing has answered the first 2000 requests") == 1, silent
    answered = ddiperf(ring(item(), item("bad", server_port=5353, timeout="200ms"), run=run))
    assert "nothing has answered" not in answered.stdout + answered.stderr, answered


@test
def one_item_that_is_never_answered_fails_on_its_loss_only():
    items = item("good"), item("bad", server_port=5353, timeout="200ms")
    result = ddiperf(ring(*items, criteria=["traffic.bad.loss <= 1%"]))
    assert result.code == EXIT["fail"], result
    assert result.item("good")["answered"] == result.item("bad")["lost"] == 600, result


@test
def a_latency_that_nobody_saw_meets_no_criterion():
    items = item("good"), item("bad", server_port=5353, timeout="50ms", load={"rate": "100"})
    figures = "max", "latency.service.p99_ns", "max(interval.max)"
    result = ddiperf(ring(*items, criteria=[f"{figure} <= 1m" for figure in figures]))
    assert result.code == EXIT["fail"], result
    judged = {one["expression"]: (one["value"] is not None, one["pass"]) for one in result.json["verdict"]["criteria"]}
    assert len(judged) == 6 and all(value == (good, good) for text, value in judged.items()
                                    for good in ["traffic.good" in text]), judged
    assert set(result.item("bad")["latency"]["service"].values()) == {0, None}, result.item("bad")


@test
def a_drain_that_is_too_short_leaves_in_flight_what_was():
    with tempfile.TemporaryDirectory() as folder:
        text = json.loads(unanswered(Path(folder)))
        text["run"].update(duration="200ms", drain="100ms")
        result = ddiperf(json.dumps(text), timeout=15)
    one = result.item("queries")
    assert one["sent"] == one["in_flight"] == 400 and one["lost"] == 0, one


main()
