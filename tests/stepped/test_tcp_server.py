#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# The responder over TCP as a server of any temper: how it treats connections, and its faults. All that it did is in the
# tester's figures, to the unit.

from faults import NAMES, every_nth, expected_faults
from harness import EXIT, check_ledger, ddiperf, main, test
from loop import item, ring


def tcp(load=None, dns=None, timeout="2s", **settings):
    """An item over connections; all of its messages are sent, however slow the box is."""
    return item(load={"rate": "2k", "total": "400"} if load is None else load, timeout=timeout, dns={"names": NAMES, "transport": "tcp", "tcp": settings, **(dns or {})})


def run(one, server=None, faults=None, code=0, duration="5s", world=None, **sections):
    """Item and responder of the result, every connection and message accounted for on both sides; world: None or a delay of 1 ms."""
    responder = {"dns": {}, **({"tcp": server} if server else {}), **({"faults": faults} if faults else {})}
    result = ddiperf(ring(one, run={"duration": duration}, responder=responder, **sections), world=world)
    assert result.code == code, result
    found, served = result.item("queries"), result.json["responder"]
    check_ledger(found)
    theirs, ours = served["connections"], found["connections"]
    dropped = sum(served["faults"].get(name, 0) for name in ("outage", "capacity"))
    assert served["received"] == served["answered"] + served["ignored"] + served["no_buffer"] + dropped, served
    assert ours["left"] == theirs["reset"] == 0, result  # else they had no time to close
    assert ours["established"] == theirs["accepted"], (ours, theirs)
    assert ours["handshake"]["min_ns"] == ((2e6 if world else 2e3) if ours["established"] else None), ours
    assert ours["closed"] == theirs["closed_idle"] + theirs["closed_after"], (ours, theirs)
    assert theirs["open"] == theirs["unsent"] == served["no_buffer"] == served["waiting"] == 0, served
    return found, served, result


def nothing_of(counts, *names):
    assert all(counts[name] == 0 for name in names), counts


@test
def it_closes_after_some_messages():
    """Each of ten seats has 19 messages: three connections of five, and one of four that the tester closes."""
    for workers in (1, 2):
        cpus = {"cpus": [1] * workers}
        load = {"outstanding": str(workers), "total": "190"}
        found, served, _ = run(tcp(load, connections=10), {"queries_per_connection": 5}, tester=cpus, dut=cpus)
        ours, theirs = found["connections"], served["connections"]
        assert found["answered"] == found["sent"] == served["answered"] == 190, (found, served)
        assert ours["closed"] == theirs["closed_after"] == 30 and ours["closed_after"] == 150 and ours["opened"] == 40, ours
        nothing_of(ours, "reset", "refused", "no_answer", "lost_closed", "no_memory")
        nothing_of(theirs, "closed_idle", "reset_after", "refused", "dropped", "full", "unsent")


@test
def or_resets_them_then():
    found, served, result = run(tcp(connections=10), {"queries_per_connection": 5, "reset": True})
    ours, theirs = found["connections"], served["connections"]
    assert ours["reset"] == theirs["reset_after"] == 79 and ours["closed_after"] == 5 * ours["reset"], ours
    assert found["answered"] + found["lost"] == 400 and found["lost"] == ours["lost_closed"], found
    nothing_of(ours, "closed", "refused", "no_answer")
    assert "reset_after" in result.stdout, result


@test
def what_comes_behind_the_last_message_is_not_answered():
    """A connection of which the first three of four messages in flight are answered."""
    found, served, _ = run(tcp(load={"outstanding": "8"}, connections=2), {"queries_per_connection": 3}, duration="200ms", world="delay=1ms")
    ours, theirs = found["connections"], served["connections"]
    assert ours["closed"] == theirs["closed_after"] == 100 and ours["closed_after"] == 3 * 100, (ours, theirs)
    assert found["answered"] == served["answered"] == served["received"], (found, served)
    assert found["lost"] == ours["lost_closed"] == 100, found


@test
def it_closes_idle_connections():
    """Ten connections, each with a message after 300 of 800 ms."""
    one = tcp(load={"burst": {"size": 10, "every": "600ms"}}, connections=10)
    found, served, result = run(one, {"idle": "20ms"}, duration="800ms")
    ours, theirs = found["connections"], served["connections"]
    assert found["answered"] == found["sent"] == 10, found
    assert ours["closed"] == ours["closed_after"] == theirs["closed_idle"] == ours["opened"] == 10, (ours, theirs)
    assert "closed_idle" in result.stdout, result
    nothing_of(ours, "reset", "closed_open", "lost_closed")


@test
def a_connection_with_an_answer_under_way_is_not_idle():
    result = ddiperf(ring(tcp(connections=4), run={"duration": "5s"}, responder={
        "dns": {}, "tcp": {"idle": "150ms"}, "faults": {"delay": {"constant": "400ms"}}}))
    found = result.item("queries")
    assert found["answered"] == found["sent"] == 400, found
    assert found["connections"]["opened"] == 4, found
    nothing_of(found["connections"], "closed", "lost_closed")


@test
def it_has_room_for_so_many():
    # A refused one is opened again for each of the 24 messages; 6 stay half open.
    for full, cell, count in (("refuse", "refused", 24), ("drop", "no_answer", 6)):
        one = tcp(load={"rate": "200", "total": "40"}, connections=10, syn_tries=1, timeout="1500ms")
        found, served, result = run(one, {"connections": 4, "full": full})
        ours, theirs = found["connections"], served["connections"]
        assert ours["established"] == 4 and ours[cell] == theirs["full"] == ours["opened"] - 4 == count, (ours, theirs)
        assert found["answered"] == served["answered"] == 16 and found["lost"] == 24, found


@test
def a_port_is_taken_again_while_the_server_remembers_it():
    """150 connections on 100 ports, each closed by the server after two messages."""
    one = {**tcp({"outstanding": "1", "total": "301"}, connections=1), "source": {"ports": ["2000-2099"]}}
    found, served, _ = run(one, {"queries_per_connection": 2}, duration="5s")
    assert found["answered"] == found["sent"] == 301 and served["connections"]["closed_after"] == 150, (found, served)
    # A port that is used again within a millisecond has the same timestamp: a SYN like that may look old.
    assert found["connections"]["syn_retransmitted"] == 0, found["connections"]
    nothing_of(found["connections"], "no_port")


@test
def it_may_refuse_or_drop_all():
    # Where all are refused, the run ends with its first interval.
    for accept, cell, done, count, sent in (("refuse", "refused", "refused", 23, 23), ("drop", "no_answer", "dropped", 10, 40)):
        one = tcp(load={"rate": "200", "total": "40"}, connections=10, syn_tries=1, timeout="1500ms")
        found, served, _ = run(one, {"accept": accept}, code=EXIT["unreachable"])
        ours, theirs = found["connections"], served["connections"]
        assert ours[cell] == theirs[done] == ours["opened"] == count and found["lost"] == found["sent"] == sent, (ours, theirs)
        nothing_of(ours, "established", "closed", "reset")


@test
def one_that_never_answers_is_said_in_words():
    found, served, result = run(tcp(connections=10, timeout="300ms"), {"accept": "silent"}, code=EXIT["unreachable"])
    assert found["lost"] == found["sent"] == served["received"] == served["ignored"] == 400, (found, served)
    assert found["connections"]["established"] == 10, found
    assert "the server accepts connections and never answers (10 accepted)" in result.stdout, result
    nothing_of(found["connections"], "closed", "reset", "refused", "no_answer", "lost_closed")


@test
def the_probe_before_a_run_asks_for_connections_and_resets_them():
    two = {"cpus": [1, 1]}
    result = ddiperf(ring(tcp(connections=10), run={"duration": "5s"}, tester={**two, "steering_probe": "always"}, dut=two))
    assert result.code == 0, result
    found, served = result.item("queries"), result.json["responder"]
    asked = result.json["ports"][0]["steering_probe"]
    assert asked["sent"] == asked["home"] == served["connections"]["reset"] == 8, (asked, served)
    assert found["answered"] == found["sent"] == 400 and found["connections"]["established"] == 10, found
    assert served["connections"]["accepted"] == 10, served


# --- faults ---


def every(faults, total=400, **more):
    """A run with these faults of messages at every N-th, all of them counted where they belong."""
    counts = expected_faults(faults, total)
    found, served, result = run(tcp(connections=20, **more), faults=every_nth(faults))
    done = {name: n for name, n in served["faults"].items()}
    assert done == {name: n for name, n in counts.items() if n}, (done, counts)
    lost = sum(counts[name] for name in ("corrupt", "truncate", "wrong_id", "wrong_question"))
    assert found["due"] == found["sent"] == total == served["answered"], (found, served)
    assert (found["answered"], found["lost"], found["failed"]) == (total - lost, lost, 0), (found, counts)
    assert found["malformed"] == counts["truncate"] and found["late"] == found["duplicate"] == 0, found
    assert found["stray"] == lost - counts["truncate"] + counts["unsolicited"], (found, counts)
    dns = found["dns"]
    assert dns["rcode"].get("SERVFAIL", 0) == counts["rcode"], dns
    assert dns["tc"] == counts["tc"] and dns["empty"] == counts["tc"] + counts["empty"], dns
    nothing_of(found["connections"], "closed", "reset", "lost_closed", "retransmitted")


MESSAGES = ("corrupt", "truncate", "wrong_id", "wrong_question", "rcode", "tc", "empty", "unsolicited")


@test
def each_fault_of_messages_lands_in_its_cell():
    every({name: 17 + 2 * n for n, name in enumerate(MESSAGES)})


@test
def faults_of_segments_are_repaired():
    faults = {name: {"every": n} for name, n in (("loss", 11), ("duplicate", 13), ("reorder", 17), ("corrupt_checksum", 19))}
    found, served, result = run(tcp(connections=20, timeout="20s"), faults=faults)
    assert found["answered"] == found["sent"] == 400 and found["stray"] == found["malformed"] == 0, found
    made = served["faults"]
    assert made == {"loss": 38, "duplicate": 30, "reorder": 21, "corrupt_checksum": 18}, made
    assert result.json["ports"][0]["other"]["bad_checksum"] == made["corrupt_checksum"], (result.json["ports"], made)


@test
def delays_hold_answers_of_any_length():
    text = {"dns": {"text": "x" * 4000}}
    one = tcp(dns={"names": ["a.example.com TXT"]}, connections=5)
    for faults, counted, least, longest in (
            ({"delay": {"constant": "40ms"}}, {}, 40e6, 40e6), ({"stall": {"every": "50ms", "for": "30ms"}}, {"stalled": 180}, 0, 29.5e6),
            ({"delay": {"two_point": {"first": "0s", "second": "60ms", "share_of_second": "50%"}}}, {"second_delay": 192}, 0, 60e6)):
        result = ddiperf(ring(one, run={"duration": "5s"}, responder={**text, "faults": faults}))
        found, served = result.item("queries"), result.json["responder"]
        check_ledger(found)
        assert found["answered"] == found["sent"] == served["answered"] == 400, (found, served)
        latency = found["latency"]["service"]
        # There and back, or there, back, there and back when the connection is new.
        assert 2000 <= latency["min_ns"] - least < 2500 and 4000 < latency["max_ns"] - longest < 5000, latency
        assert found["dns"]["reply_bytes"] == 400 * 4059 and served["faults"] == counted, (found, served)


@test
def what_the_server_drops_is_lost():
    for faults, counter, count in (({"outage": {"off_at": "50ms", "on_at": "100ms"}}, "outage", 100),
                                   ({"capacity": {"rate": "500", "queue": "10"}}, "capacity", 400 - 100 - 10)):
        found, served, result = run(tcp(connections=10, timeout="500ms"), faults=faults)
        assert found["lost"] == served["faults"][counter] == count, (found, served)
        assert found["answered"] == served["answered"] == 400 - found["lost"], (found, served)
        nothing_of(found["connections"], "closed", "reset", "lost_closed")


@test
def an_answer_that_is_late_finds_its_connection_reset():
    """The tester closes after 50 ms, and resets 2 s later what the server has not closed."""
    one, other = tcp({"rate": "200", "total": "20"}, connections=5, timeout="50ms"), item("other", load={"rate": "10"}, timeout="5s")
    result = ddiperf(ring(one, other, run={"duration": "2600ms"}, responder={
        "dns": {}, "faults": {"delay": {"constant": "2400ms"}}}))
    found, served = result.item("queries"), result.json["responder"]
    check_ledger(found)
    assert found["lost"] == found["sent"] == 20 == served["connections"]["unsent"] == served["answered"] - 26, served
    assert served["connections"]["reset"] == served["connections"]["accepted"] == 5, served


main()
