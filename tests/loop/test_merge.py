#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# ddiperf merge: the results of the parts of a fleet as one, by addition; its verdict is judged on the sums.

import copy
import json
import re
import tempfile
from collections import Counter
from pathlib import Path

from harness import EXIT, binary, check_ledger, check_sums, ddiperf, execute, main, test, timing
from loop import item, ring

CRITERIA = ["loss <= 1%", "traffic.leases.steps.discover-offer.p99 <= 1m", "max(interval.p99) <= 1m", "dns.rcode.NOERROR >= 100%"]
ITEMS = (
    item(load={"rate": "2k"}, timeout="2s"),
    {"name": "leases", "server": "198.18.0.2", "timeout": "2s", "load": {"rate": "200", "total": 41},
     "dhcp4": {"clients": 60, "relay": {"addresses": ["198.18.0.64-198.18.0.66"]}}},
)
RESPONDER = {"dns": {}, "dhcp4": {"pool": ["10.0.0.0/15"], "server_id": "198.18.0.2"}}
BOXES = {}  # results of the parts: made once


def boxes():
    for part in (1, 2) if not BOXES else ():
        result = ddiperf(ring(
            *ITEMS, fleet={"agents": 2, "weights": [1, 2], "part": part}, tester={"cpus": [1] * part}, dut={"cpus": [0] * part},
            run={"duration": "400ms", "interval": "100ms"}, responder=RESPONDER, criteria=CRITERIA,
            output={"percentiles": [95]}))
        assert result.code == EXIT["pass"], result
        BOXES[part] = result.json
    return copy.deepcopy(BOXES[1]), copy.deepcopy(BOXES[2])


def merge(*documents, code=EXIT["pass"]):
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{number}.json" for number, _ in enumerate(documents)]
        for path, document in zip(paths, documents):
            path.write_text(json.dumps(document))
        out = Path(folder) / "all.json"
        got, stdout, stderr = execute([binary(), "merge", *map(str, paths), "--json", str(out)])
        assert got == code, (got, stdout, stderr)
        if not out.exists():
            return None, stderr
        for form in ("keyval", "csv", "openmetrics", "junit", "html"):
            formatted, _, err = execute([binary(), "report", str(out), "--format", form])
            assert formatted == 0, err
        return json.loads(out.read_text()), stdout


def buckets(latency):
    at, out = 0, Counter()
    for word in latency["histogram"].split():
        gap, count = word.split(":")
        at += int(gap)
        out[at] += int(count)
    return out


def named(document, name):
    return next(one for one in document["traffic"] if one["name"] == name)


@test
def the_sum_is_that_of_the_parts():
    first, second = boxes()
    whole, text = merge(second, first)
    assert "PASS: 2 of 2 parts" in text, text
    for name, due in (("queries", 800), ("leases", 41)):
        one, parts = named(whole, name), [named(first, name), named(second, name)]
        check_ledger(one)
        check_sums(one)
        assert one["due"] == due == sum(part["due"] for part in parts), one
        for key in ("sent", "answered", "late", "stray", "in_flight"):
            assert one[key] == sum(part[key] for part in parts), key
        assert abs(one["answered_per_s"] - sum(part["answered_per_s"] for part in parts)) < 1e-6, one
        for kind in ("response", "service"):
            total, of = one["latency"][kind], [part["latency"][kind] for part in parts]
            assert buckets(total) == sum(map(buckets, of), Counter()), kind
            assert total["count"] == sum(part["count"] for part in of) == buckets(total).total()
            assert total["min_ns"] == min(part["min_ns"] for part in of) and total["max_ns"] == max(part["max_ns"] for part in of)
            assert min(part["p50_ns"] for part in of) * 0.99 <= total["p50_ns"] <= max(part["p50_ns"] for part in of) * 1.01, total
            assert total["percentiles"][0]["name"] == "p95" and total["p90_ns"] <= total["percentiles"][0]["value_ns"] <= total["p99_ns"]
            mean = sum(part["count"] * part["mean_ns"] for part in of) / total["count"]
            assert abs(total["mean_ns"] / mean - 1) < 1e-9, (total, mean)
    steps = named(whole, "leases")["steps"]
    assert [step["sent"] for step in steps] == [41, 41] and all(step["latency"]["response"]["p99_ns"] > 0 for step in steps), steps
    assert named(whole, "queries")["dns"]["rcode"] == {"NOERROR": 800}


@test
def intervals_are_those_of_all_parts():
    first, second = boxes()
    whole, _ = merge(first, second)
    for name in ("queries", "leases"):
        of = [named(interval, name) for interval in whole["intervals"]]
        for key in ("due", "sent", "answered"):
            assert sum(one[key] for one in of) == named(whole, name)[key], (name, key)
        assert sum((buckets(one["latency"]["response"]) for one in of if one["answered"]), Counter()) == \
            buckets(named(whole, name)["latency"]["response"])
    timing(named(whole["intervals"][1], "queries")["due"] == 200, "a busy box makes one interval of two")
    assert [worker["part"] for worker in whole["workers"] if worker["port"] == "tester"] == [1, 2, 2], whole["workers"]
    assert named({"traffic": whole["ports"]}, "tester")["tx_packets"] == sum(
        named({"traffic": box["ports"]}, "tester")["tx_packets"] for box in (first, second))


@test
def each_part_stays_in_the_result():
    first, second = boxes()
    whole, _ = merge(first, second)
    assert [part["part"] for part in whole["parts"]] == [1, 2]
    assert named(whole["parts"][1], "queries") == named(second, "queries") and whole["parts"][0]["run"]["host"] == first["run"]["host"]
    assert whole["config"]["fleet"]["part"] == 0 and whole["fleet"]["agents"] == 2
    assert whole["fleet"]["start_skew_ns"] == abs(first["run"]["measured_from_ns"] - second["run"]["measured_from_ns"])


@test
def criteria_are_judged_on_the_sums():
    """A loss of 8 of 800 is 1 %, though it is 3 % of the first part."""
    first, second = boxes()
    one = named(first, "queries")
    one["lost"], one["answered"] = 8, one["answered"] - 8
    first["verdict"].update(status="fail", exit_code=EXIT["fail"])
    whole, _ = merge(first, second)
    value = next(c for c in whole["verdict"]["criteria"] if c["expression"] == "traffic.queries.loss <= 1%")
    assert value["value"] == 0.01 and value["pass"], whole["verdict"]
    assert named(whole, "queries")["latency"]["response"]["p999_ns"] is None, "the lost rank above all"
    one["lost"] = 9
    whole, text = merge(first, second, code=EXIT["fail"])
    assert "criterion not met: traffic.queries.loss <= 1%" in whole["verdict"]["reasons"], (whole["verdict"], text)


@test
def histograms_of_boxes_with_other_clocks_are_brought_to_one():
    """The second box has twice the ticks: its times are half as long."""
    first, second = boxes()
    second["run"]["host"]["tsc_hz"] = first["run"]["host"]["tsc_hz"] * 2
    for one in (named(first, "queries"), named(second, "queries")):
        one["latency"]["service"].update(count=1000, histogram="1000:1000", min_ns=1, max_ns=1e9)
    sum_of = buckets(named(merge(first, second)[0], "queries")["latency"]["service"])
    # A bucket is 128 further where the value is twice as large.
    assert sum_of == {1000: 1000, 872: 1000}, sum_of


@test
def a_part_that_is_invalid_or_missing_makes_the_whole_invalid():
    first, second = boxes()
    whole, text = merge(first, code=EXIT["invalid"])
    assert whole["verdict"]["reasons"] == ["part 2 of 2 is missing"] and "INVALID: 1 of 2 parts" in text, text
    second["verdict"].update(status="invalid", exit_code=5, invalid_by="tester", reasons=["the link was down"])
    whole, _ = merge(first, second, code=EXIT["invalid"])
    assert whole["verdict"]["reasons"] == ["part 2: the link was down"] and whole["verdict"]["invalid_by"] == "tester"
    # What another box says is no command to the terminal.
    second["verdict"].update(reasons=["it was \x1b[2Jdown"])
    assert "part 2: it was  [2Jdown\n" in merge(first, second, code=EXIT["invalid"])[1]
    second["verdict"].update(status="interrupted", exit_code=130)
    assert merge(first, second, code=EXIT["interrupted"])[0]["verdict"]["status"] == "interrupted"


@test
def results_that_are_no_parts_of_one_run_are_refused():
    first, second = boxes()
    other, whole, bare, wrong = (copy.deepcopy(one) for one in (second, second, second, first))
    other["config"]["traffic"][0]["load"]["rate"] = "9k"
    whole["config"]["fleet"]["part"] = 0
    del bare["config"]
    wrong["config"]["validity"]["dropped"] = "much"
    for documents, words in (((first, other), "config.traffic is not that of"), ((first, first), "another file is too"),
                             ((first, whole), "no part of a fleet"), ((first, bare), "has no configuration"),
                             ((wrong, second), "validity.dropped")):
        _, stderr = merge(*documents, code=EXIT["usage"])
        assert words in stderr, (words, stderr)
    assert re.match(r"the configuration in \S+\.json:\d", stderr), stderr


if __name__ == "__main__":
    main()
