#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Answers above the MTU over a ring: the responder cuts them, the tester puts them together, and each fault of a fragment is
# counted where it belongs.

from harness import check_ledger, ddiperf, main, test
from loop import item, ring

QUERIES = 600
LONG = {"names": ["h{0-99}.example.com TXT"], "edns": {"size": 4096}, "expect": {"rcode": ["NOERROR"], "min_answers": 1}}


def run(faults=None, text=3900, mtu=1500, v6=False, workers=1):
    """(item, what the tester's port saw, responder)"""
    port = {"mtu": mtu, "addresses": ["2001:db8::1/64" if v6 else "198.18.0.1/24"], "cpus": [0, 1][:workers]}
    dut = {**port, "addresses": ["2001:db8::2/64" if v6 else "198.18.0.2/24"]}
    one = item(load={"rate": "3k", "total": str(QUERIES)}, dns=LONG)
    if v6:
        one["server"] = "2001:db8::2"
    result = ddiperf(ring(one, run={"duration": "5s"}, tester=port, dut=dut,
                          responder={"dns": {"text": "y" * text}, "faults": faults or {}}))
    one, other, responder = result.item("queries"), result.json["ports"][0]["other"], result.json["responder"]
    check_ledger(one)
    assert one["sent"] == QUERIES and responder["fragmented"] == responder["answered"], result
    assert one["answered"] + one["lost"] == QUERIES and not one["stray"] + one["malformed"] + one["duplicate"], result
    assert not other["bad_frame"] + other["bad_checksum"] + other["unmatched"], other
    return one, other, responder["faults"]


def add(v6, mtu, pieces, workers):
    def check():
        one, other, _ = run(mtu=mtu, v6=v6, workers=workers)
        assert one["answered"] == QUERIES, one
        assert other["reassembled"] == QUERIES and other["fragments"] == pieces * QUERIES, other
        assert not other["not_reassembled"] and not other["duplicate_fragments"], other

    check.__name__ = f"answers_in_{pieces}_fragments_are_whole_over_ipv{6 if v6 else 4}_with_{workers}_workers"
    test(check)


add(False, 1500, 3, 1)
add(True, 1500, 3, 1)
add(False, 576, 8, 2)
add(True, 1280, 4, 2)


@test
def an_answer_without_one_of_its_fragments_is_lost():
    one, other, faults = run({"fragment_loss": {"every": 10}})
    assert faults == {"fragment_loss": QUERIES // 10} and one["lost"] == QUERIES // 10, (faults, one)
    assert other["not_reassembled"] == {"incomplete": QUERIES // 10}, other
    assert other["fragments"] == 3 * QUERIES - QUERIES // 10, other


@test
def a_fragment_that_comes_twice_is_ignored():
    one, other, faults = run({"fragment_duplicate": {"every": 10}})
    assert faults == {"fragment_duplicate": QUERIES // 10} and one["answered"] == QUERIES, (faults, one)
    assert other["duplicate_fragments"] == QUERIES // 10 and not other["not_reassembled"], other


@test
def fragments_may_come_in_any_order():
    one, other, faults = run({"fragment_reorder": {"every": 10}})
    assert faults == {"fragment_reorder": QUERIES // 10} and one["answered"] == QUERIES, (faults, one)
    assert other["reassembled"] == QUERIES and not other["not_reassembled"], other


@test
def an_answer_with_overlapping_fragments_is_refused_as_a_whole():
    one, other, faults = run({"fragment_overlap": {"every": 10}})
    assert faults == {"fragment_overlap": QUERIES // 10} and one["lost"] == QUERIES // 10, (faults, one)
    assert other["not_reassembled"] == {"overlap": QUERIES // 10}, other


@test
def faults_of_whole_answers_and_delays_are_for_long_ones_too():
    one, other, faults = run({"loss": {"every": 30}, "delay": {"constant": "2ms"}})
    assert faults == {"loss": QUERIES // 30} and one["lost"] == QUERIES // 30, (faults, one)
    assert other["reassembled"] == QUERIES - QUERIES // 30, other


if __name__ == "__main__":
    main()
