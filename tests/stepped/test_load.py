#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# How much and how fast: open and closed loops, totals, several items at once; and what criteria make of it.

import json
import tempfile
from pathlib import Path

from harness import EXIT, check_ledger, ddiperf, main, test
from loop import arp_reply, item, pcap_write, ring, sent_to_file


@test
def a_closed_loop_asks_again_as_soon_as_it_is_answered():
    result = ddiperf(ring(item(load={"outstanding": 10})), world="delay=500us")
    assert result.code == 0, result
    one = result.item("queries")
    check_ledger(one)
    assert one["loop"] == "closed" and one["answered"] == one["sent"], one
    # Ten in each millisecond, there and back.
    assert 2990 <= one["sent"] <= 3000, one


@test
def a_rate_is_a_ceiling_after_a_time_without_slots():
    """500 a second with 100 slots, at a server that is silent from 1 s to 2.5 s: the most of any 200 ms afterwards."""
    most = {}
    for catch_up in ("all", "1ms"):
        one = item(load={"rate": "500", "slots": "100", "catch_up": catch_up}, timeout="1s")
        result = ddiperf(ring(one, run={"duration": "5s", "interval": "200ms"},
                              responder={"dns": {}, "faults": {"outage": {"off_at": "1s", "on_at": "2500ms"}}}), invalid=True)
        check_ledger(result.item("queries"))
        sent = [interval["traffic"][0]["sent"] for interval in result.json["intervals"]]
        most[catch_up] = max(sent)
        assert sum(sent[:5]) >= 499, sent
    assert most["all"] > 300 and most["1ms"] <= 101, most


@test
def a_closed_loop_never_has_more_in_flight_than_asked():
    with tempfile.TemporaryDirectory() as folder:
        one = item(load={"outstanding": 7}, timeout="600ms")
        result, packets = sent_to_file(Path(folder), one, run={"duration": "300ms"})
    ledger = result.item("queries")
    check_ledger(ledger)
    assert len(packets) == ledger["sent"] == ledger["lost"] == 7, ledger


@test
def at_maximum_rate_every_query_still_has_its_place_in_the_ledger():
    result = ddiperf(ring(item(load={"rate": "max"}), run={"duration": "20ms"}))
    assert result.code == 0, result
    one = result.item("queries")
    check_ledger(one)
    # What the port still refused of the last burst when the time was up was due, too.
    assert one["due"] - one["sent"] == one["unsent"] < 64, one
    assert one["sent"] > 20000, one
    assert result.json["verdict"]["limited_by"] != "none", result.json["verdict"]


@test
def memory_that_the_box_does_not_have_is_refused_before_it_is_taken():
    for config, part in [
            (ring(item(), item("more", load={"outstanding": 10, "slots": 1000000000})), "traffic more: "),
            (ring(item(), tester={"mbufs": 1 << 24}), "port tester: ")]:
        result = ddiperf(config, timeout=60)
        assert result.code == EXIT["environment"], result
        assert "not enough memory: " in result.stderr and " MiB are needed and " in result.stderr, result
        assert f"; {part}" in result.stderr and result.stderr.count(";") == 1, result


@test
def a_total_ends_the_run_when_it_is_reached():
    result = ddiperf(ring(item(load={"rate": "5k", "total": "1234"}), run={"duration": "60s"}), timeout=20)
    assert result.code == 0, result
    one = result.item("queries")
    assert one["due"] == one["sent"] == one["answered"] == 1234, one
    assert result.json["run"]["measured_s"] < 5, result.json["run"]


@test
def a_total_counts_what_is_measured_and_not_the_warmup():
    run = {"warmup": "200ms", "duration": "60s"}
    result = ddiperf(ring(item(load={"rate": "5k", "total": "500"}), run=run), timeout=20)
    assert result.item("queries")["sent"] == 500, result
    assert result.json["responder"]["received"] == 1500, result.json["responder"]


@test
def a_closed_loop_and_the_maximum_rate_keep_to_their_total():
    for load in ({"outstanding": 20, "total": "3k"}, {"rate": "max", "total": "3k"}):
        result = ddiperf(ring(item(load=load), run={"duration": "60s"}), timeout=20)
        assert result.item("queries")["sent"] == 3000, result


@test
def nothing_is_sent_before_the_schedule_starts():
    # Without a warm-up all that the server sees is measured, whatever the pace.
    for load in ({"rate": "5k"}, {"outstanding": 1}, {"rate": "max"}):
        result = ddiperf(ring(item(load=load), run={"duration": "50ms"}))
        assert result.item("queries")["sent"] == result.json["responder"]["received"], (load, result)


@test
def a_run_that_measured_nothing_does_not_pass():
    # The first query would be due after 500 s.
    result = ddiperf(ring(item(load={"rate": "0.001"})), invalid=True)
    assert result.item("queries")["sent"] == 0, result
    assert result.code != EXIT["pass"], result


@test
def items_at_once_have_ledgers_of_their_own():
    result = ddiperf(ring(
        item("a", load={"rate": "3k", "total": "900"}, dns={"names": ["a{0-9}.example.com A"]}),
        item("aaaa", load={"rate": "2k", "total": "600"}, dns={"names": ["b{0-9}.example.com AAAA"]}),
        item("txt", load={"rate": "100", "total": "30"}, dns={"names": ["c.example.com TXT"]}),
        item("closed", load={"outstanding": 1, "total": "100"}, dns={"names": ["d.example.com MX"]}), run={"duration": "60s"}))
    assert result.code == 0, result
    assert [one["name"] for one in result.json["traffic"]] == ["a", "aaaa", "txt", "closed"]
    expected = {"a": 900, "aaaa": 600, "txt": 30, "closed": 100}
    for name, count in expected.items():
        one = result.item(name)
        check_ledger(one)
        assert one["due"] == one["answered"] == count, one
    types = result.json["responder"]["protocols"][0]["dns"]["type"]
    assert types == {"A": 900, "AAAA": 600, "TXT": 30, "other": 100}, types


@test
def a_port_that_is_flooded_does_not_keep_a_run_from_ending():
    # A device that always has more to receive, none of it an answer.
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "in.pcap").write_bytes(pcap_write([arp_reply()]))
        result = ddiperf(json.dumps({
            "run": {"warmup": "0s", "duration": "500ms"},
            "ports": [{
                "name": "flooded", "driver": "vdev", "addresses": ["198.18.0.1/24"],
                "device": f"net_pcap0,rx_pcap={folder}/in.pcap,tx_pcap={folder}/out.pcap,infinite_rx=1",
            }],
            "traffic": [item(load={"rate": "1k", "total": "100"}, timeout="200ms")],
        }), timeout=15)
    ledger = result.item("queries")
    check_ledger(ledger)
    assert ledger["sent"] == ledger["lost"] == 100, ledger


@test
def items_with_the_same_source_never_take_each_others_answers():
    # One address, two ports: the only thing that tells the items apart is which port is whose.
    source = {"ports": ["2000-2001"]}
    items = [item(name, source=source, load={"rate": "1k"}, timeout="100ms") for name in ("one", "two")]
    result = ddiperf(ring(*items))
    assert result.code == 0, result
    for name in ("one", "two"):
        one = result.item(name)
        assert one["answered"] == one["sent"] == 300 and one["stray"] == one["duplicate"] == 0, one


@test
def items_with_the_same_few_ports_have_one_each():
    source = {"ports": ["2000", "2002", "2004"]}
    names = ("one", "two", "three")
    result = ddiperf(ring(*(item(name, source=source, load={"rate": "1k", "total": "100"}) for name in names)))
    assert result.code == 0, result
    for name in names:
        assert result.item(name)["answered"] == 100, result.item(name)


@test
def a_criterion_that_does_not_hold_fails_the_run_and_says_which():
    result = ddiperf(ring(criteria=["loss <= 0%", "p50 <= 1ns", "dns.rcode.NOERROR == 600"]))
    assert result.code == EXIT["fail"], result
    verdict = result.json["verdict"]
    assert verdict["status"] == "fail", verdict
    assert [c["pass"] for c in verdict["criteria"]] == [True, False, True], verdict
    assert any("p50 <= 1ns" in reason for reason in verdict["reasons"]), verdict
    assert verdict["criteria"][1]["value"] > 1 and verdict["criteria"][2]["value"] == 600, verdict
    assert "FAIL" in result.stdout and "p50 <= 1ns" in result.stdout.splitlines()[-1], result


@test
def a_criterion_may_be_about_one_item_only():
    items = (item("small", load={"rate": "100"}), item("large"))
    good = ddiperf(ring(*items, criteria=["traffic.small.sent <= 30", "traffic.large.sent >= 600"]))
    assert good.code == 0, good
    bad = ddiperf(ring(*items, criteria=["sent <= 30"]))
    assert bad.code == EXIT["fail"], bad


@test
def answers_that_the_item_does_not_expect_have_failed():
    dns = {"names": ["a.example.com A"], "expect": {"rcode": ["NOERROR"]}}
    result = ddiperf(ring(item(dns=dns), responder={"dns": {"rcode": "SERVFAIL"}}, criteria=["failed == 0"]))
    assert result.code == EXIT["fail"], result
    one = result.item("queries")
    check_ledger(one)
    assert one["failed"] == one["sent"] == 600 and one["answered"] == one["lost"] == 0, one
    assert one["dns"]["unexpected_rcode"] == 600 and one["dns"]["rcode"] == {"SERVFAIL": 600}, one


@test
def a_refusal_that_is_expected_is_an_answer():
    dns = {"names": ["a.example.com A"], "expect": {"rcode": ["NXDOMAIN"]}}
    result = ddiperf(ring(item(dns=dns), responder={"dns": {"rcode": "NXDOMAIN"}}, criteria=["answered == 600"]))
    assert result.code == 0, result


@test
def answers_with_too_few_records_have_failed():
    dns = {"names": ["a.example.com A", "a.example.com MX"], "expect": {"min_answers": 1}}
    one = ddiperf(ring(item(dns=dns))).item("queries")
    assert one["failed"] == one["dns"]["too_few_answers"] == 300 and one["answered"] == 300, one


main()
