#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# The world itself: each setting of a link, of a CPU and of the seed shows in the figures where it belongs, and nowhere else.
# The numbers of a share are those of seed 1; a change of what world.c draws changes them.

import json
import os

import dhcp4
import dhcp6
from harness import EXIT, binary, check_ledger, config_file, ddiperf, execute, main, test
from loop import item, ring

SENT = 600  # 2000 a second for 300 ms
GAP_NS = 500e3
QUERY, ANSWER = 75 + 24, 91 + 24  # octets of www.example.com A on the wire, with preamble, checksum and gap
CELLS = ("unsent", "failed", "lost", "late", "duplicate", "stray", "malformed")
DAMAGED = ("unmatched", "fragments", "bad_checksum", "bad_frame")


def play(world, one=None, cells=None, **sections):
    """(item, document) of a run in this world, in which these cells alone are not 0."""
    result = ddiperf(ring(one or item(dns={"names": ["www.example.com A"]}, timeout="2s"), **sections), world=world)
    found = result.item("queries")
    check_ledger(found)
    assert found["sent"] == SENT, found
    if cells is not None:
        assert {cell: found[cell] for cell in CELLS if found[cell]} == cells, found
        assert found["answered"] == SENT - cells.get("lost", 0), found
    return found, result.json


def span(one, kind="service"):
    """The least and the longest latency."""
    return one["latency"][kind]["min_ns"], one["latency"][kind]["max_ns"]


def packets(document):
    """How many more packets arrived than were sent: at the responder, at the tester."""
    tester, dut = document["ports"]
    return dut["rx_packets"] - tester["tx_packets"], tester["rx_packets"] - dut["tx_packets"]


@test
def a_delay_is_the_latency_there_and_back():
    for world, expected in (("", 2e3), ("delay=0s", 200), ("delay=3ms", 6e6), ("delay=1.5us", 3e3), ("delay=400ns", 800)):
        one, document = play(world, cells={})
        assert span(one) == span(one, "response") == (expected, expected), (world, one)
        assert packets(document) == (0, 0), document["ports"]


@test
def jitter_is_added_evenly():
    one, _ = play("delay=1ms jitter=2ms", cells={})
    latency = one["latency"]["service"]
    assert 2e6 <= latency["min_ns"] < 2.2e6 and 5.8e6 < latency["max_ns"] < 6e6, latency
    assert round(latency["mean_ns"]) == 4043732, latency  # 1 ms and half of 2 ms, twice


@test
def a_share_is_lost():
    for seed, there, back in ((1, 11, 7), (2, 6, 7)):
        _, document = play(f"loss=0.01 seed={seed}", cells={"lost": there + back})
        assert packets(document) == (-there, -back), document["ports"]
        assert document["responder"]["answered"] == SENT - there, document["responder"]


@test
def a_share_comes_twice():
    one, document = play("duplicate=0.02", cells={"duplicate": 24})
    # The responder answers a query that came twice twice.
    assert packets(document) == (9, 15) and document["responder"]["answered"] == SENT + 9, document
    assert span(one) == (2e3, 2e3), one


@test
def a_share_is_reordered():
    one, document = play("delay=1ms reorder=0.05", cells={})
    latency = one["latency"]["service"]
    assert latency["min_ns"] == 2e6 and 2e6 < latency["p50_ns"] < 2.01e6, latency  # not the others
    assert latency["max_ns"] == 11854427 and packets(document) == (0, 0), latency  # there or back, by up to ten delays
    # One connection sees it, as what comes too early.
    one, _ = play("delay=1ms reorder=0.05", item(dns={"names": ["a A"], "transport": "tcp", "tcp": {"connections": 1}}), cells={})
    assert one["connections"]["out_of_order"] > 20 and one["connections"]["syn_retransmitted"] == 0, one["connections"]


@test
def every_damaged_packet_is_in_a_cell():
    for seed, lost, stray in ((2, 47, 7), (3, 46, 11)):
        one, document = play(f"corrupt=0.05 seed={seed}", cells={"lost": lost, "stray": stray})
        tester, dut = (port["other"] for port in document["ports"])
        seen = sum(port[cell] for port in (tester, dut) for cell in DAMAGED)
        assert seen + stray == lost and tester["bad_checksum"] > lost / 2, (one, tester, dut)
        assert packets(document) == (0, 0), document["ports"]


@test
def a_rate_takes_each_packet_its_time():
    one, _ = play("rate=1e7", cells={})
    once = 8 * (QUERY + ANSWER) * 100 + 2e3  # 100 ns a bit
    assert span(one) == (once, once), one
    # Too slow for 2000 answers a second: each waits for all that went before.
    one, _ = play("rate=1e6", cells={})
    once = 8 * (QUERY + ANSWER) * 1000 + 2e3
    assert span(one) == (once, once + (SENT - 1) * (8000 * ANSWER - GAP_NS)), one


@test
def a_queue_holds_so_many_while_nobody_takes_them():
    for world, arrived in (("", 50e6 // GAP_NS), ("rate=1e6", 50e6 // (8000 * QUERY))):
        _, document = play(f"{world} queue=16 away=1:100ms-150ms", cells={"lost": arrived - 16})
        assert [port["rx_missed"] for port in document["ports"]] == [0, arrived - 16], document["ports"]


@test
def a_link_that_is_down_loses_all():
    for delay_ms in (0, 1):
        # What was on its way when it went down arrives, and its answer is lost.
        on_the_way = delay_ms * 2
        _, document = play(f"delay={delay_ms}ms down_from=100ms down_to=200ms", cells={"lost": 200 + on_the_way})
        assert packets(document) == (-200, -on_the_way), document["ports"]


@test
def packets_are_spread_over_queues_by_their_ports():
    two = {"cpus": [1, 1]}
    for spread, others in ((0, [0, 0]), (1, [137, 147])):
        _, document = play(f"spread={spread}", item(), cells={}, tester=two, dut=two)
        assert [one["handed_over"] for one in document["workers"]] == others, document["workers"]
        assert [one["taken_over"] for one in document["workers"]] == others[::-1], document["workers"]
        assert [one["received"] - one["handed_over"] + one["taken_over"] for one in document["workers"]] == [300, 300], document["workers"]


@test
def a_loop_is_busy_for_the_cost_of_its_packets():
    one, document = play("cost=30us", cells={})
    assert span(one) == span(one, "response") == (30e3, 30e3), one  # after its query it looks for answers again
    assert document["workers"][0]["stolen_s"] == 0, document["workers"]
    assert span(play("cost=0ns", cells={})[0]) == (2e3, 2e3)


@test
def a_cpu_is_away():
    """For 50 ms, in which 100 queries are due; they are sent or answered all at once when it is back, for 200 ns each."""
    for number, kinds in ((0, ("response",)), (1, ("response", "service"))):
        one, document = play(f"away={number}:100ms-150ms", cells={})
        both = document["workers"][0], document["responder"]
        seen = [(loop["gaps_over_1ms"], loop["stolen_s"], loop["max_gap_ns"]) for loop in both]
        assert seen[number] == (1, 0.05, 50e6) and seen[1 - number] == (0, 0, 0), seen
        for kind in ("response", "service"):
            longest = span(one, kind)[1]
            assert 49.5e6 < longest < 50e6 if kind in kinds else longest == 100 * 200, (kind, one)
    _, document = play("away=0:100ms-150ms away=0:200ms-220ms away=1:250ms-260ms", cells={})
    assert document["workers"][0]["stolen_s"] == 0.07 and document["responder"]["stolen_s"] == 0.01, document["workers"]


def refused(world, wrong):
    code, _, stderr = execute([binary(), "check", "-"], env={**os.environ, "STEPPED": world})
    assert code == EXIT["usage"] and f'STEPPED: "{wrong}" is not a setting, which is KEY=VALUE' in stderr, (world, stderr)


@test
def a_setting_that_is_none_is_refused_by_name():
    eight = " ".join(f"away=0:{n}s-{n + 1}s" for n in range(8))
    for wrong in ("dealy=1ms", "delay", "delay=", "delay=1", "delay=1msec", "delay=-1ms", "delay=1ms,loss=0.1", "loss=x", "loss=1.01",
                  "loss=nan", "seed=1.5", "seed=-1", "away=0", "away=0:1s", "away=0:2s-1s", "away=1s-2s", "away=x:1s-2s"):
        refused(f"seed=2 {wrong} rate=1", wrong)
    refused(f"{eight} away=0:8s-9s", "away=0:8s-9s")


BUSY = "delay=1ms jitter=1ms loss=0.02 duplicate=0.02 reorder=0.05 corrupt=0.01"


def documents(text):
    """The results of the same file with seed 1, 1 and 2, as they are written."""
    with config_file(text) as path:
        argv = [binary(), "run", str(path), "--json", "-"]
        return [execute(argv, env={**os.environ, "STEPPED": f"{BUSY} seed={seed}"})[1] for seed in (1, 1, 2)]


@test
def a_seed_decides_every_byte_of_the_result():
    dhcp = {"load": {"rate": "1k"}, "keys": {"timeout": "100ms"}}
    for text in (
            ring(item(timeout="100ms")), ring(item(timeout="100ms", dns={"names": ["a{0-9} A"], "transport": "tcp"})),
            ring(dhcp4.family.clients(**dhcp), responder=dhcp4.family.answers()),
            ring(dhcp6.family.clients(**dhcp), responder=dhcp6.family.answers(), **dhcp6.family.ports)):
        first, again, other = documents(text)
        assert first == again, text
        traffic = [json.loads(one)["traffic"][0] for one in (first, other)]
        assert traffic[0]["answered"] > 200, traffic[0]
        assert traffic[0]["latency"] != traffic[1]["latency"], traffic


main()
