#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# What every run owes its reader: an exact schedule, a ledger that adds up in total and per interval, and a result with the
# keys that the interface promises.

import hashlib
import json
import re
from collections import Counter

from harness import ROOT, check_ledger, ddiperf, main, test
from loop import EPOCH, check_latency, item, ring

LEDGER = {"due", "sent", "unsent", "answered", "failed", "lost", "in_flight"}


def steady(rate, interval):
    run = {"warmup": "200ms", "duration": "1s", "interval": interval}
    return ddiperf(ring(item(load={"rate": rate}, timeout="1s"), run=run))


def check_intervals(result):
    """They add up to the total, and none of them is ahead of what came before it."""
    for n, whole in enumerate(result.json["traffic"]):
        parts = [interval["traffic"][n] for interval in result.json["intervals"]]
        for key in ("due", "sent", "answered", "failed", "lost"):
            assert sum(part[key] for part in parts) == whole[key], (key, whole, parts)
        due = sent = ended = 0
        for part in parts:
            due, sent = due + part["due"], sent + part["sent"]
            ended += part["answered"] + part["failed"] + part["lost"]
            assert due >= sent >= ended, parts


@test
def the_selftest_with_dhcp_passes():
    text = (ROOT / "config" / "dhcp4-selftest.yaml").read_text()
    result = ddiperf(text, "--set", "run.warmup=100ms", "--set", "run.duration=1s")
    assert result.code == 0, result


@test
def five_thousand_a_second_are_exactly_that_in_every_interval():
    result = steady(5000, "100ms")
    check_intervals(result)
    check_ledger(result.item("queries"))
    parts = [interval["traffic"][0] for interval in result.json["intervals"][:10]]
    assert [(part["due"], part["sent"]) for part in parts] == [(500, 500)] * 10, parts


@test
def a_rate_that_no_tick_divides_keeps_its_count():
    result = steady("7777", "100ms")
    one = result.item("queries")
    assert one["due"] == one["sent"] == 7777, one
    parts = [interval["traffic"][0]["due"] for interval in result.json["intervals"]][:10]
    assert sum(parts) == 7777 and set(parts) <= {777, 778}, parts


@test
def the_ledger_holds_in_total_and_in_every_interval():
    result = ddiperf(ring(item("a"), item("b", load={"rate": "333"}), run={"duration": "730ms"}))
    assert result.code == 0, result
    for one in result.json["traffic"]:
        check_ledger(one)
    check_intervals(result)


def buckets(text):
    """{bucket: count} of a histogram in print."""
    found, at = Counter(), 0
    for pair in text.split():
        gap, count = map(int, pair.split(":"))
        at += gap
        found[at] += count
    return found


GAUGES = {"in_flight", "waiting", "open", "cpu"}  # and all times, and all figures that are no whole numbers


def check_sums(parts, whole, path=""):
    """Each count of the whole is the sum of those of its parts, at any depth and by name in lists."""
    for key, value in whole.items():
        inside = [part[key] for part in parts if key in part]
        where = f"{path}.{key}"
        if isinstance(value, dict):
            check_sums(inside, value, where)
        elif isinstance(value, list):
            for one in value:
                check_sums([p for part in inside for p in part if p.get("name") == one["name"]], one, where)
        elif isinstance(value, int) and inside and key not in GAUGES and not key.endswith("_ns"):
            assert sum(inside) == value, (where, value, inside)


@test
def every_count_of_the_intervals_adds_up_to_that_of_the_run():
    leases = item("leases", load={"rate": "300"}, dhcp4={"clients": "1k", "relay": {"addresses": ["198.18.0.64/26"]}})
    del leases["dns"]
    stream = item("stream", load={"rate": "680"}, dns={
        "names": ["h{0-99}.example.com A"], "transport": "tcp", "tcp": {"connections": 9, "closed": "again"}})
    document = ddiperf(ring(item(), leases, stream, run={"duration": "450ms"}, responder={
        "dns": {}, "tcp": {"queries_per_connection": 5}, "dhcp4": {"pool": "198.18.64.0/20"}, "faults": {"rcode": {"share": "5%"}, "duplicate": {"share": "5%"}}})).json
    intervals = document["intervals"]
    assert len(intervals) >= 5 and sum(one["sent"] for one in document["traffic"][1]["steps"]) > 0, document["traffic"]
    for n, whole in enumerate(document["traffic"]):
        check_sums([interval["traffic"][n] for interval in intervals], whole)
        count = whole["latency"]["service"]["count"]
        assert sum(interval["traffic"][n]["latency"]["service"]["count"] for interval in intervals) == count > 0
    check_sums([interval["ports"][0] for interval in intervals], document["ports"][0])
    check_sums([interval["workers"][0] for interval in intervals], document["workers"][0])
    check_sums([interval["responder"] for interval in intervals], document["responder"])
    conns = [interval["traffic"][2]["connections"] for interval in intervals]
    assert sum(one["closed"] for one in conns) == document["responder"]["connections"]["closed_after"] > 20, document
    assert max(one["open"] for one in conns) == 9 and conns[-1]["open"] == 0, conns
    assert sum(one["handshake"]["count"] for one in conns) == document["traffic"][2]["connections"]["established"], conns
    for n, whole in enumerate(document["traffic"]):
        response = whole["latency"]["response"]
        printed = [interval["traffic"][n]["latency"]["response"].get("histogram", "") for interval in intervals]
        assert sum(map(buckets, printed), Counter()) == buckets(response["histogram"]), (printed, response)
        assert buckets(response["histogram"]).total() == response["count"], response
        parts = [interval["traffic"][n]["by_due"] for interval in intervals]
        assert sum(part["answered"] for part in parts) == whole["answered"], (whole, parts)
    ends = [interval["ended_ns"] for interval in intervals]
    lengths = [interval["length_s"] for interval in intervals]
    for before, after, length in zip(ends, ends[1:], lengths[1:]):
        assert round(after - before) == round(length * 1e9), (before, after, length)


@test
def answers_are_booked_to_the_interval_of_their_queries_too():
    """All answers take 250 ms, so they come two or three intervals after their queries."""
    result = ddiperf(ring(run={"duration": "1s"}, responder={
        "dns": {}, "faults": {"delay": {"constant": "250ms"}}}))
    parts = [interval["traffic"][0] for interval in result.json["intervals"]]
    assert [part["by_due"]["answered"] for part in parts[:10]] == [200] * 10, parts
    assert sum(part["by_due"]["answered"] for part in parts) == 2000, parts
    assert [part["answered"] for part in parts[:2]] == [0, 0], parts
    assert [part["answered"] for part in parts[2:10]] == [100, *[200] * 7], [part["answered"] for part in parts]
    # What the responder holds back: 250 ms of 2 000 a second, and nothing at the end.
    waiting = [interval["responder"]["waiting"] for interval in result.json["intervals"]]
    assert waiting[-1] == 0, waiting
    assert waiting[2:9] == [500] * 7, waiting
    assert all(250e6 <= part["by_due"]["mean_ns"] < 250.01e6 for part in parts[:10]), parts


@test
def percentiles_are_chosen():
    document = ddiperf(ring(output={"percentiles": [50, 95, 98]}, criteria=["p95 <= 1h", "max(interval.p98) <= 1h"])).json
    for one in (document["traffic"][0], document["intervals"][0]["traffic"][0]):
        response = one["latency"]["response"]
        p50, p95, p98 = response["percentiles"]
        assert [p["name"] for p in (p50, p95, p98)] == ["p50", "p95", "p98"], response
        assert p50["value_ns"] == response["p50_ns"] <= p95["value_ns"] <= p98["value_ns"] <= response["p99_ns"], response
        assert response["count"] < 1000 and response["p999_ns"] is None and response["p9999_ns"] is None, response
    assert [c["pass"] for c in document["verdict"]["criteria"]] == [True, True], document["verdict"]


@test
def a_run_stops_at_a_count_of_its_protocol():
    rules = ["dns.rcode.REFUSED > 1", "dns.rcode.SERVFAIL > 50% for 200ms"]
    for rcode, rule in (("SERVFAIL", rules[1]), ("REFUSED", rules[0])):
        result = ddiperf(ring(run={"duration": "3s"}, responder={"dns": {"rcode": rcode}}, stop=rules))
        verdict = result.json["verdict"]
        assert result.code == 1 and verdict["stopped"] == rule, verdict
        assert verdict["stopped_s"] == (0.2 if rcode == "SERVFAIL" else 0.1), verdict


@test
def the_result_has_the_keys_of_the_interface():
    result = ddiperf(ring(run={"name": "keys", "seed": 7}, criteria=["loss <= 0%"]))
    document = result.json
    assert document["schema"] == "ddiperf-result/1"
    assert {"run", "verdict", "traffic", "ports", "workers", "responder", "intervals", "config"} <= set(document)
    run = document["run"]
    assert {"id", "name", "version", "started", "measured_s", "seed", "command", "host"} <= set(run), run
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", run["id"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", run["started"])
    assert run["name"] == "keys" and run["seed"] == 7 and run["measured_s"] == 0.3, run
    assert run["command"].startswith("ddiperf run ")
    assert {"cpu", "kernel", "dpdk", "driver"} <= set(run["host"]), run["host"]
    verdict = document["verdict"]
    assert {"status", "exit_code", "limited_by", "reasons", "criteria"} <= set(verdict), verdict
    assert verdict["criteria"] == [{"expression": "loss <= 0%", "value": 0, "pass": True, "unit": "1"}], verdict
    assert verdict["limited_by"] in ("none", "tester", "wire", "server")


@test
def an_item_has_its_ledger_rates_and_latencies():
    document = ddiperf(ring(run={"interval": "50ms"}), world="delay=1ms jitter=200us").json
    one, = document["traffic"]
    assert {"name", "protocol", "port", "late", "duplicate", "stray", "malformed", "send_lag", "dns",
            "due_per_s", "sent_per_s", "answered_per_s"} | LEDGER <= set(one), one
    assert one["protocol"] == "dns" and one["port"] == "tester"
    assert one["due_per_s"] == 2000 and one["due"] == 600, one
    check_latency(one["latency"]["response"], 600)
    check_latency(one["latency"]["service"], 600)
    # What is due is sent at once: from the due time it takes as long as from the send.
    assert one["send_lag"]["count"] == 600 and one["send_lag"]["max_ns"] == 0, one["send_lag"]
    assert one["latency"]["response"] == one["latency"]["service"] and one["latency"]["response"]["min_ns"] >= 2e6, one["latency"]
    assert one["dns"]["rcode"] == {"NOERROR": 600}
    for interval in document["intervals"]:
        assert {"t_s", "length_s", "traffic"} <= set(interval)
        assert {"name", "due", "sent", "answered", "failed", "lost", "p50_ns", "p99_ns", "max_ns"} <= set(
            interval["traffic"][0])


@test
def ports_and_workers_account_for_every_packet():
    document = ddiperf(ring()).json
    tester, dut = document["ports"]
    for port in (tester, dut):
        assert {"name", "driver", "device", "rx_packets", "tx_packets", "rx_missed", "rx_no_mbuf", "tx_refused",
                "handed_over", "hand_over_full"} <= set(port), port
        assert port["rx_missed"] == port["rx_no_mbuf"] == 0, port
    assert tester["tx_packets"] == dut["rx_packets"] and dut["tx_packets"] == tester["rx_packets"]
    # Beside the queries only neighbour discovery: what the responder answered, and asked in turn.
    assert dut["rx_packets"] == 600 + dut["other"]["neighbour_answered"], dut
    for port in (tester, dut):
        numbers = [value for value in port["other"].values() if not isinstance(value, dict)]
        assert not port["other"]["icmp_errors"], port
        assert sum(numbers) == 2, port
    worker, = document["workers"]
    assert worker["port"] == "tester" and worker["received"] == 600, worker


@test
def the_configuration_in_the_result_is_complete_and_runs_again():
    first = ddiperf(ring(run={"seed": 3}))
    again = ddiperf(json.dumps(first.json["config"]))
    assert again.code == 0, again
    for echo in (first.json["config"], again.json["config"]):
        echo["run"].pop("name")
    assert again.json["config"] == first.json["config"]


@test
def a_result_says_who_asked_when_and_for_what():
    text = ring(run={"note": "before the upgrade", "labels": ["rack=1", "site=lab"], "id": "night-7"})
    result = ddiperf(text)
    run, intervals = result.json["run"], result.json["intervals"]
    assert (run["note"], run["labels"], run["id"]) == ("before the upgrade", ["rack=1", "site=lab"], "night-7"), run
    # The world begins at that second, and asks for its neighbours first.
    assert EPOCH * 1e9 < run["measured_from_ns"] < (EPOCH + 2) * 1e9, run
    assert [one["ended_ns"] - run["measured_from_ns"] for one in intervals] == [one["t_s"] * 1e9 for one in intervals], (run, intervals)
    assert 0 < run["first_sent_ns"] - run["measured_from_ns"] < 1e6, run
    for protocol in "udp", "tcp":
        warmed = ddiperf(ring(item(dns={"names": ["a.x A"], "transport": protocol}), run={"warmup": "100ms"})).json["run"]
        assert 90e6 < warmed["measured_from_ns"] - warmed["first_sent_ns"] < 100e6, warmed
    silent = ddiperf(ring(item(load={"rate": "1"})), invalid=True)
    assert silent.json["run"]["first_sent_ns"] == 0, silent
    dump = ddiperf(text, "--dump", command="check").stdout
    assert run["config_sha256"] == hashlib.sha256(dump.encode()).hexdigest(), run
    assert ddiperf(ring()).json["run"]["config_sha256"] != run["config_sha256"]


main()
