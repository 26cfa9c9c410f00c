#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# The capture file: what failed is in it, to the last packet, and another program reads it so.

import tempfile
from collections import Counter
from pathlib import Path

from harness import EXIT, ddiperf, main, test, tshark
from loop import EPOCH, item, ring

REASONS = ("lost", "late", "stray", "failed", "malformed")
FIELDS = ("frame.time_epoch", "frame.p2p_dir", "frame.comment", "frame.interface_name", "udp.srcport", "udp.dstport",
          "dns.id", "dns.flags.response", "dns.qry.name", "frame.protocols", "udp.checksum.status", "ip.checksum.status")
RUN = {"duration": "500ms"}


def reasons(packet):
    """["lost", ...] of "queries: lost: no reply within 1 s,queries: ..."."""
    return [word for word in REASONS if f": {word}: " in packet["frame.comment"]]


def captured(*items, run=None, responder=None, **keys):
    """A run with a capture file: (result, its packets)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bad.pcapng"
        text = ring(*items, run={**RUN, **(run or {})}, responder=responder, output={"capture": {"file": str(path), **keys}})
        result = ddiperf(text)
        assert result.json and result.json["capture"]["file"] == str(path), result
        packets = tshark(path, FIELDS)
    assert result.json["capture"]["packets"] == len(packets), result.json["capture"]
    return result, packets


OUT, IN = "0", "1"  # frame.p2p_dir


def count(packets, direction):
    """How many queries or answers there are for each reason."""
    return Counter(word for p in packets if p["frame.p2p_dir"] == direction for word in reasons(p))


def faults(**table):
    return {"dns": {}, "faults": table}


EVERY_KIND = faults(
    loss={"every": 50}, truncate={"every": 41}, wrong_port={"every": 43}, wrong_id={"every": 47}, wrong_question={"every": 53},
    delay={"two_point": {"first": "0s", "second": "150ms", "share_of_second": "2%"}},
)


@test
def the_file_holds_what_the_ledger_counts():
    expect = {"expect": {"rcode": ["NXDOMAIN"]}, "names": ["h{0-99}.example.com A"]}
    result, packets = captured(
        item(timeout="100ms", load={"rate": "2k"}), item("picky", load={"rate": "100"}, dns=expect), responder=EVERY_KIND)
    queries, answers = count(packets, OUT), count(packets, IN)
    ledger = {word: sum(result.item(name)[word] for name in ("queries", "picky")) for word in REASONS}
    assert all(ledger[word] for word in REASONS), ledger
    assert queries["lost"] == ledger["lost"] and answers["lost"] == 0, (queries, ledger)
    assert queries["failed"] == answers["failed"] == ledger["failed"], (queries, answers, ledger)
    assert answers == {**{word: ledger[word] for word in REASONS if word != "lost"}}, (answers, ledger)
    assert result.json["capture"]["dropped"] == 0 and not result.json["capture"]["limit_reached"], result.json["capture"]


@test
def packets_are_as_they_were_on_the_wire_and_in_order_of_time():
    result, packets = captured(item(timeout="100ms"), responder=EVERY_KIND)
    times = [float(p["frame.time_epoch"]) for p in packets]
    assert times == sorted(times) and EPOCH < times[0] < times[-1] < EPOCH + 10, times[:3]
    assert all(len(p["frame.time_epoch"].split(".")[1]) == 9 for p in packets)
    for p in packets:
        assert p["frame.interface_name"] == "tester" and p["frame.comment"], p
        assert p["frame.p2p_dir"] == p["dns.flags.response"], p
        assert p["udp.checksum.status"] == p["ip.checksum.status"] == "1", p
        if p["frame.p2p_dir"] == OUT:
            assert p["udp.dstport"] == "53" and p["dns.qry.name"].endswith(".example.com"), p


@test
def a_query_is_there_once_and_a_late_answer_after_its_timeout():
    result, packets = captured(
        item(timeout="100ms"),
        responder=faults(delay={"two_point": {"first": "0s", "second": "150ms", "share_of_second": "5%"}}))
    one = result.item("queries")
    assert one["late"] == one["lost"] > 0, one
    sent = {(p["udp.srcport"], p["dns.id"]): float(p["frame.time_epoch"]) for p in packets if p["frame.p2p_dir"] == OUT}
    late = {(p["udp.dstport"], p["dns.id"]): float(p["frame.time_epoch"]) for p in packets if p["frame.p2p_dir"] == IN}
    assert len(sent) == len(late) == one["lost"] and len(packets) == 2 * one["lost"], (len(packets), one)
    assert sent.keys() == late.keys()
    waited = [late[key] - sent[key] for key in sent]
    assert min(waited) > 0.1, waited
    assert max(waited) < 2, waited


@test
def without_lost_in_when_the_late_answers_bring_their_query():
    result, packets = captured(
        item(timeout="100ms"), when=["late"],
        responder=faults(loss={"every": 10}, delay={"two_point": {"first": "0s", "second": "150ms", "share_of_second": "5%"}}))
    one = result.item("queries")
    queries, answers = count(packets, OUT), count(packets, IN)
    assert one["lost"] > one["late"] > 0 and queries == answers == {"late": one["late"]}, (queries, answers, one)
    sent = {(p["udp.srcport"], p["dns.id"]): float(p["frame.time_epoch"]) for p in packets if p["frame.p2p_dir"] == OUT}
    for p in packets:
        if p["frame.p2p_dir"] == IN:
            waited = float(p["frame.time_epoch"]) - sent[p["udp.dstport"], p["dns.id"]]
            assert waited > 0.1, p
            assert waited < 2, p


@test
def answered_keeps_what_ended_well_and_only_that():
    result, packets = captured(item(timeout="100ms"), when=["answered"], limit=5000, responder=faults(loss={"every": 10}))
    one = result.item("queries")
    sent = {(p["udp.srcport"], p["dns.id"]): float(p["frame.time_epoch"]) for p in packets if p["frame.p2p_dir"] == OUT}
    got = {(p["udp.dstport"], p["dns.id"]): float(p["frame.time_epoch"]) for p in packets if p["frame.p2p_dir"] == IN}
    assert one["lost"] > 0 and len(sent) == len(got) == one["answered"] and len(packets) == 2 * one["answered"], (len(packets), one)
    assert sent.keys() == got.keys() and all(0 < got[key] - sent[key] < 0.1 for key in sent), one
    assert all(": answered: " in p["frame.comment"] for p in packets), packets[0]
    assert result.json["capture"]["dropped"] == 0 and not result.json["capture"]["limit_reached"], result.json["capture"]


@test
def the_limit_counts_transactions_and_says_that_it_was_reached():
    result, packets = captured(item(timeout="100ms"), limit=7, responder=faults(loss={"every": 10}))
    assert len(packets) == 7 and result.item("queries")["lost"] > 7, result
    assert result.json["capture"]["limit_reached"], result.json["capture"]
    assert result.item("queries")["sent"] == 1000


@test
def many_losses_at_once_are_written_or_counted():
    result, packets = captured(
        item(timeout="100ms", load={"outstanding": 10000, "total": 10000}, server_port=5353), run={"duration": "20s"}, limit="100k")
    one, capture = result.item("queries"), result.json["capture"]
    assert one["sent"] == one["lost"] == 10000, one
    assert len(packets) + capture["dropped"] == one["lost"] and not capture["limit_reached"], (capture, one)


@test
def nothing_wrong_is_an_empty_file_and_the_warm_up_is_no_evidence():
    result, packets = captured(item())
    assert result.code == 0 and packets == [] and result.json["capture"]["packets"] == 0, result
    result, packets = captured(
        item(timeout="50ms"), run={"warmup": "200ms", "duration": "100ms"}, responder=faults(loss={"every": 5}))
    assert result.item("queries")["late"] == 0, result.item("queries")  # the box took 50 ms, and replies of the warm-up are late
    assert len(packets) == result.item("queries")["lost"] < 60, (len(packets), result.item("queries"))


@test
def a_file_that_cannot_be_written_to_its_end_is_not_a_pass():
    result = ddiperf(ring(output={"capture": {"file": "/dev/full"}}))
    assert result.code == EXIT["environment"] and "/dev/full: No space" in result.stderr, result
    assert result.json["capture"]["incomplete"] and "the file is incomplete" in result.stdout, result


@test
def a_server_that_is_not_there_leaves_an_earlier_file_alone():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bad.pcapng"
        path.write_text("of an earlier run")
        result = ddiperf(ring(item(server="198.18.0.9"), output={"capture": {"file": str(path)}}))
        assert result.code == EXIT["unreachable"] and path.read_text() == "of an earlier run", result


main()
