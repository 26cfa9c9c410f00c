#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# The ledger against a responder that misbehaves on demand: every fault lands in its cell, to the last packet, and
# injected times are measured as what they are. What is expected is computed here from the settings alone.

from bisect import bisect_right

from faults import NAMES, TABLE, check_exact, check_responder, every_nth, expected_faults
from harness import check_ledger, ddiperf, main, test
from loop import bucket, item, ring

RATE = 50_000
LINK_NS = 2000  # there and back
HOLD_NS = 512  # an answer is held so much longer than it should, at most
MANY = 8_000  # what is counted to the last packet needs no more: every fault has dozens of turns


def run(faults, rate=RATE, seconds=1.0, timeout_ms=300, one=None, world=None):
    traffic = item(load={"rate": str(rate)}, timeout=f"{timeout_ms}ms", dns={"names": NAMES})
    result = ddiperf(ring(
        {**traffic, **(one or {})}, run={"duration": f"{seconds * 1000:.0f}ms"},
        responder={"dns": {}, "faults": faults},
    ), world=world)
    check_ledger(result.item("queries"))
    check_responder(result.json)
    return result


def run_many(faults, **more):
    return run(faults, seconds=MANY / RATE, **more)


def exact(every):
    counts = expected_faults(every, MANY)
    result = run_many(every_nth(every))
    check_exact(result, result.json, counts, MANY)


def for_each(name, function, values):
    """A test for each value."""
    for value in values:
        def one(value=value):
            function(value)
        one.__name__ = name.format(value)
        test(one)


for_each("{}_alone_lands_in_its_cell_to_the_last_packet", lambda name: exact({name: 97}), TABLE)


@test
def all_faults_at_once_land_in_their_cells():
    exact({name: 101 + 7 * n for n, name in enumerate(TABLE)})


@test
def of_two_faults_in_turn_the_first_of_the_table_happens():
    exact({"truncate": 10, "wrong_id": 5, "loss": 50})


@test
def shares_agree_on_both_sides():
    total = RATE // 2
    result = run({name: {"share": "1%"} for name in TABLE}, seconds=total / RATE)
    counts = {name: result.json["responder"]["faults"].get(name, 0) for name in TABLE}
    assert all(0.007 * total < n < 0.013 * total for n in counts.values()), counts
    check_exact(result, result.json, counts, total)


@test
def faults_and_delays_together_keep_the_ledger_exact():
    every = {"loss": 97, "duplicate": 89, "reorder": 7, "unsolicited": 83, "truncate": 79}
    counts = expected_faults(every, MANY)
    faults = {**every_nth(every), "delay": {"uniform": {"max": "20ms"}}}
    result = run_many(faults)
    check_exact(result, result.json, counts, MANY)


@test
def a_refusal_that_the_item_does_not_expect_has_failed():
    dns = {"dns": {"names": NAMES, "expect": {"rcode": ["NOERROR"]}}}
    result = run_many({"rcode": {"every": 100}}, one=dns)
    one = result.item("queries")
    assert (one["failed"], one["lost"]) == (80, 0) and one["answered"] == MANY - 80, one


@test
def replies_that_all_come_from_elsewhere_are_named_with_both_ends():
    for fault, came, asked in (("wrong_port", "198.18.0.2 port 52", "198.18.0.2 port 53"), ("wrong_address", "198.18.0.66", "198.18.0.2")):
        result = run({fault: {"every": 1}}, rate=1000)
        one = result.item("queries")
        assert one["sent"] == one["lost"] == one["stray"] == 1000, one
        assert result.json["verdict"]["status"] == "unreachable", result
        assert f"queries: 1000 replies came from {came}; the server asked is {asked}: they are strays" in result.stdout, result
    # A few among many losses do not explain them.
    result = run({"wrong_port": {"every": 10}, "loss": {"share": "50%"}}, rate=1000)
    one = result.item("queries")
    assert 0 < 2 * one["stray"] < one["lost"] and "replies came from" not in result.stdout, result


@test
def replies_that_do_not_parse_are_explained():
    result = run({"truncate": {"every": 1}}, rate=1000)
    one = result.item("queries")
    assert one["sent"] == one["lost"] == one["malformed"] == 1000, one
    assert "queries: 1000 replies do not parse; the first one: " in result.stdout, result


@test
def what_is_delayed_beyond_the_timeout_is_lost_and_then_late():
    result = run_many({"delay": {"constant": "450ms"}})
    one = result.item("queries")
    assert one["sent"] == one["lost"] == one["late"] == MANY, one
    assert one["answered"] == one["duplicate"] == one["stray"] == one["malformed"] == 0, one


@test
def a_late_answer_is_never_credited_to_a_newer_query():
    """One port, one name, so few slots that each is used again before the late answers come."""
    rate, total = 5000, 5000

    faults = {"delay": {"two_point": {"first": "0s", "second": "250ms", "share_of_second": "50%"}}}
    one = {"source": {"ports": "5000"}, "dns": {"names": ["www.example.com A"]}}
    result = run(faults, rate, timeout_ms=40, one=one)
    one = result.item("queries")
    assert one["sent"] == total and one["answered"] + one["lost"] == total, one
    # Whatever was lost came back late, whoever delayed it.
    assert one["late"] == one["lost"], one
    assert one["duplicate"] == one["stray"] == one["malformed"] == 0, one
    slow = result.json["responder"]["faults"]["second_delay"]
    assert abs(slow - 0.5 * total) < 4 * (0.25 * total) ** 0.5 and one["lost"] == slow, (slow, one)
    assert LINK_NS <= one["latency"]["service"]["max_ns"] <= LINK_NS + HOLD_NS, one
    slots = int(result.stdout.split(" transaction slots")[0].split()[-1])
    assert slots < rate * 0.25, result  # the delay is longer than one turn of them


def late_answers(timeouts):
    """One port and one question: three timeouts take nearly all of its IDs, and the run uses some of them twice. Each
    answer is sent twice, a fifth of them late by so many timeouts."""
    rate, timeout_ms, total = 5000, 4000, 70_000
    faults = {"duplicate": {"every": 1},
              "delay": {"two_point": {"first": "0s", "second": f"{timeouts * timeout_ms:.0f}ms", "share_of_second": "20%"}}}
    result = run(faults, rate, total / rate, timeout_ms, {"source": {"ports": "5000"}, "dns": {"names": ["www.example.com A"]}})
    one, done = result.item("queries"), result.json["responder"]["faults"]
    assert one["sent"] == total == done["duplicate"] and one["unsent"] == 0, (one, done)
    slow = done["second_delay"]
    assert abs(slow - 0.2 * total) < 4 * (0.16 * total) ** 0.5, done
    # The second answer counts as the first one did: the lost transaction stays lost, the answered one answered.
    assert one["answered"] == total - one["lost"], one
    assert (one["late"], one["duplicate"]) == (2 * one["lost"], one["answered"]), one
    assert one["failed"] == one["stray"] == one["malformed"] == 0, one
    # A worker that was away for long looks at what came meanwhile before anything expires.
    assert one["lost"] == slow, (one, slow)


for_each("late_answers_of_{}_timeouts_and_their_duplicates_are_told_apart", late_answers, (1.25, 2, 2.9))


@test
def a_wrong_id_that_an_earlier_query_had_is_stray_and_not_late():
    """One port, so that the queries of a few seconds have used a good part of all IDs."""
    rate, total = 5000, 5000
    counts = expected_faults({"wrong_id": 2}, total)
    one = {"source": {"ports": "5000"}}
    result = run(every_nth({"wrong_id": 2}), rate, timeout_ms=40, one=one)
    check_exact(result, result.json, counts, total)


@test
def capacity_drops_what_is_above_it():
    result = run_many({"capacity": {"rate": "20k"}})
    one, faults = result.item("queries"), result.json["responder"]["faults"]
    assert one["lost"] == faults["capacity"] and one["answered"] == MANY - faults["capacity"], (one, faults)
    assert faults.get("queued", 0) == 0, one
    # The server is busy for 50 us with each: of those that come every 20 us, it takes each third.
    assert one["answered"] == -(-MANY // 3), one


@test
def capacity_with_a_queue_answers_at_its_rate_and_makes_wait():
    result = run({"capacity": {"rate": "20k", "queue": 400}})
    one, faults = result.item("queries"), result.json["responder"]["faults"]
    assert one["lost"] == faults["capacity"] and one["answered"] == RATE - faults["capacity"], (one, faults)
    # A full queue of 400 at 20 k/s is 20 ms long, and answered after the end.
    assert one["answered"] == 20_000 + 400 and one["latency"]["service"]["p50_ns"] == bucket(20e6), one
    assert 20e6 + LINK_NS <= one["latency"]["service"]["max_ns"] <= 20e6 + LINK_NS + HOLD_NS, one


@test
def an_outage_loses_what_was_asked_in_it():
    rate = 16_000
    result = run({"outage": {"off_at": "400ms", "on_at": "700ms"}}, rate)
    one, faults = result.item("queries"), result.json["responder"]["faults"]
    assert one["lost"] == faults["outage"] and one["answered"] == rate - faults["outage"], (one, faults)
    assert faults["outage"] == 0.3 * rate, faults


def injected_delay(microseconds):
    result = run({"delay": {"constant": f"{microseconds}us"}}, rate=10_000, seconds=0.4)
    for latency in result.item("queries")["latency"].values():
        assert LINK_NS <= latency["min_ns"] - microseconds * 1e3 <= latency["max_ns"] - microseconds * 1e3 <= LINK_NS + HOLD_NS, latency


for_each("an_injected_delay_of_{}_us_is_measured_as_what_it_is", injected_delay, (100, 1000, 10_000, 100_000))


@test
def a_mixture_of_two_delays_comes_out_with_its_shares():
    total = 2 * MANY
    faults = {"delay": {"two_point": {"first": "1ms", "second": "30ms", "share_of_second": "5%"}}}
    result = run(faults, seconds=total / RATE)
    one = result.item("queries")["latency"]["service"]
    slow = result.json["responder"]["faults"]["second_delay"]
    assert abs(slow - 0.05 * total) < 4 * (total * 0.05 * 0.95) ** 0.5, slow
    assert LINK_NS <= one["min_ns"] - 1e6 == one["p90_ns"] - 1e6 <= LINK_NS + HOLD_NS and one["p99_ns"] == bucket(30e6), one
    assert LINK_NS <= one["max_ns"] - 30e6 <= LINK_NS + HOLD_NS, one
    mean = 1e6 + slow / total * 29e6
    assert LINK_NS <= one["mean_ns"] - mean <= LINK_NS + HOLD_NS, (one, mean)


def stall_waits(rate, seconds, every, length):
    """How long each query waits for its answer, from the schedule and the stalls alone, sorted."""
    gap = 1 / rate
    waits = []
    for k in range(int(rate * seconds)):
        since = k * gap  # of the first request
        into = since % every
        waits.append(length - into if since >= every and into < length else 0.0)
    return sorted(waits)


def check_percentiles(latency, waits):
    """Each percentile is the expected one; all that was held in a stall is answered within 1.1 ms of its end."""
    for key, share in (("p50_ns", 0.5), ("p90_ns", 0.9), ("p99_ns", 0.99), ("p999_ns", 0.999), ("max_ns", 1)):
        expected = 1e9 * waits[min(len(waits) - 1, int(share * len(waits)))]
        figure = int if key == "max_ns" else bucket
        assert figure(expected + LINK_NS) <= latency[key] <= figure(expected + 1.1e6), (key, latency, expected)


@test
def a_stall_shows_in_every_query_that_was_due_in_it():
    rate, seconds = 20_000, 2.5
    waits = stall_waits(rate, seconds, 1.5, 0.8)
    total = len(waits)
    stalled = total - bisect_right(waits, 0.0)
    assert (total, stalled) == (50_000, 16_000)

    result = run({"stall": {"every": "1500ms", "for": "800ms"}}, rate, seconds, timeout_ms=3000)
    one = result.item("queries")
    assert one["loop"] == "open" and one["due"] == one["sent"] == one["answered"] == total, one
    seen = result.json["responder"]["faults"]["stalled"]
    assert seen == stalled, result
    check_percentiles(one["latency"]["response"], waits)
    # An open loop goes on sending: the service latency is the same here.
    check_percentiles(one["latency"]["service"], waits)


@test
def a_closed_loop_says_so_and_hides_the_stall():
    result = run({"stall": {"every": "700ms", "for": "300ms"}}, rate=1000, timeout_ms=2000, one={"load": {"outstanding": 10}}, world="delay=1ms")
    one = result.item("queries")
    check_ledger(one)
    assert one["loop"] == "closed" and "closed loop" in result.stdout, result
    # The ten that were asked when it came: next to nothing among those of 350 round trips.
    assert one["sent"] == 3500 + 10 and result.json["responder"]["faults"]["stalled"] == 10, one
    assert 300e6 < one["latency"]["response"]["max_ns"] < 302e6 and one["latency"]["response"]["p99_ns"] == bucket(2e6), one


@test
def the_report_for_people_names_the_faults():
    result = run({"loss": {"every": 10}, "tc": {"every": 3}}, rate=1000, seconds=0.2)
    text = " ".join(result.stdout.split())
    assert "fault loss 20 " in text and "fault tc 60 " in text, result.stdout


main()
