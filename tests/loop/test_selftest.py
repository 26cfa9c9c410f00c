#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# The self-test in real time: CPUs, threads and the clock are those of this box, and so is what the tester itself adds. What
# every run owes its reader, exactly: tests/stepped/test_selftest.py.

import json

from harness import ROOT, check_ledger, ddiperf, main, nightly, test, timing
from loop import RELAXED, check_latency, item, ring

BACKLOG = 100  # transactions that a worker may be behind at the end of a second and still send in time


def check_exact(rate, seconds):
    """So many due in every second; and all of it sent in that very second, when the tester had the CPU all the time."""
    run = {"warmup": "200ms", "duration": f"{seconds}s", "interval": "1s"}
    result = ddiperf(ring(item(load={"rate": rate}, timeout="1s"), run=run), timeout=90)
    check_ledger(result.item("queries"))
    parts = [interval["traffic"][0] for interval in result.json["intervals"][:seconds]]
    assert [part["due"] for part in parts] == [rate] * seconds, parts
    longest = result.item("queries")["send_lag"]["max_ns"] * 1e-9
    behind = [abs(part["due"] - part["sent"]) for part in parts]
    assert max(behind) <= longest * rate + 1, (longest, parts)
    # A second ends late rather than short, but not for more than a few bursts.
    timing(longest * rate < BACKLOG, longest)
    assert behind == [0] * seconds, parts


# With sanitizers the file's rate needs a whole CPU, of which a busy box leaves a fifth. What makes a run too late or incomplete
# is tested in stepped time.
SLOWER = [word for name, value in (("traffic[0].load.rate", "2k"), ("validity.send_lag_p99", "1h"), ("validity.unsent", "100%"))
          for word in ("--set", f"{name}={value}")]


@test
def the_selftest_passes_and_measures_what_the_tester_itself_adds():
    result = ddiperf((ROOT / "config" / "selftest.yaml").read_text(), *SLOWER)
    assert result.code == 0, result
    assert result.json["verdict"]["status"] == "pass" and result.json["verdict"]["exit_code"] == 0
    one = result.item("queries")
    check_ledger(one)
    sent = one["sent"]
    assert one["due"] == 6000 and sent == one["answered"] > 3000, one
    assert result.stdout.splitlines()[-1].startswith(f"PASS: {sent:_} requests sent, all answered".replace("_", " ")), result
    # The warm-up is sent and not judged: 1000 more on the wire. What is measured before leaves no trace in the counters.
    tester, dut = result.json["ports"]
    assert result.json["responder"]["received"] == result.json["responder"]["answered"] == sent + 1000
    assert sent + 1000 <= tester["tx_packets"] == dut["rx_packets"] < sent + 1010, result.json["ports"]
    for figures in (one["latency"]["response"], one["latency"]["service"], one["send_lag"]):
        check_latency(figures, sent)
    worker, = result.json["workers"]
    assert 0 < worker["busy"] <= 1 and worker["ns_per_transaction"] > 0, worker
    delay, service = result.json["run"]["tester_delay"], one["latency"]["service"]
    assert delay["port"] == "tester" and delay["burst_size"] > 1, delay
    for figures in (delay["single"], delay["burst"]):
        check_latency(figures, figures["count"])
        assert figures["count"] >= 100, figures
    timing(delay["single"]["p50_ns"] < service["p50_ns"] and delay["single"]["min_ns"] < service["min_ns"], result)
    first, second = (line for line in result.stdout.splitlines() if "the tester itself adds p50 " in line)
    assert first.startswith("port tester: ") and "a pass of its loop took p50 " in second, result


@nightly
def twenty_thousand_a_second_are_exactly_that_in_every_second():
    check_exact(20000, 2)


@nightly
def a_hundred_thousand_a_second_are_exactly_that_in_every_second():
    check_exact(100000, 2)


@test
def without_an_embedded_responder_on_a_ring_nothing_is_known_of_the_tester():
    ports = [{"name": "tester", "driver": "null", "addresses": ["198.18.0.1/24"], "gateway": []}]
    result = ddiperf(json.dumps({
        "run": {"warmup": "0s", "duration": "100ms"}, "ports": ports, "traffic": [item()], "validity": RELAXED}))
    assert "tester_delay" not in result.json["run"] and "the tester itself" not in result.stdout, result


main()
