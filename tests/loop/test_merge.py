#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# ddiperf merge: the results of the parts of a fleet as one, by addition; its verdict is judged on the sums.

import contextlib
import copy
import http.server
import json
import re
import tempfile
import threading
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
ASKED = {}  # lines of the commands that they ran


def with_dut(text, **dut):
    return json.dumps({**json.loads(text), "dut": dut})


def boxes():
    for part in (1, 2) if len(BOXES) < 2 else ():
        BOXES[part] = box(part)
    return copy.deepcopy(BOXES[1]), copy.deepcopy(BOXES[2])


def box(part):
    with tempfile.NamedTemporaryFile("r") as lines:
        result = ddiperf(with_dut(ring(
            *ITEMS, fleet={"agents": 2, "weights": [1, 2], "part": part}, tester={"cpus": [1] * part}, dut={"cpus": [0] * part},
            run={"duration": "400ms", "interval": "100ms"}, responder=RESPONDER, criteria=CRITERIA,
            events=[{"at": "150ms", "run": f"echo killed >> {lines.name}", "name": "kill"}], output={"percentiles": [95]}),
            counters={"command": f"echo asked >> {lines.name}; echo asked $(wc -l < {lines.name})"}, probe={"command": "cat /proc/stat"}))
        assert result.code == EXIT["pass"], result
        assert all(one["answered"] == one["due"] for one in result.json["traffic"]), result
        timing(len(result.json["intervals"]) == 5, result)  # a busy box makes one of two
        ASKED[part] = lines.read().split()
    assert part == 1 or "event kill: run by part 1" in result.stdout, result
    return result.json


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
def commands_about_the_server_run_once():
    first, second = boxes()
    whole, _ = merge(second, first)
    assert sorted(ASKED[1]) == ["asked", "asked", "killed"] and not ASKED[2], ASKED
    events = [document["events"][0] for document in (first, second, whole)]
    assert [one["outcome"] for one in events] == ["exit status 0", "run by part 1", "exit status 0"], events
    assert all(one["name"] == "kill" and one["began_s"] >= 0.15 and not one["failed"] for one in events), events
    assert events[2]["took_s"] == events[0]["took_s"] > 0 == events[2]["exit_status"] and events[1]["took_s"] is None, events
    assert [one["events"] for one in whole["intervals"]].count(["kill"]) == 1, whole["intervals"]
    assert "dut" not in second and whole["dut"]["counters"] == first["dut"]["counters"] == [{"name": "asked", "difference": 2}], whole["dut"]


@test
def cpu_time_of_the_server_is_for_the_transactions_of_all_parts():
    first, second = boxes()
    first["dut"].update(used=0.25, cpus=4)
    whole, _ = merge(first, second)
    rate = sum(named(document, name)["answered_per_s"] for document in (first, second) for name in ("queries", "leases"))
    assert abs(whole["dut"]["us_per_transaction"] * rate / 1e6 - 1) < 1e-6, (whole["dut"], rate)
    assert first["dut"]["us_per_transaction"] is None, "a part does not know it"


@contextlib.contextmanager
def responder_elsewhere(answers, asked):
    """The settings of dut.control; each question has the next answer, the last one for good."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            received, answered = answers.pop(0) if len(answers) > 1 else answers[0]
            self.send_response(200)
            self.end_headers()
            self.wfile.write(f"received={received}\nanswered={answered}\ndns.queries={received}\n".encode())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server, tempfile.NamedTemporaryFile("w") as token:
        token.write("a-token-of-this-test\n")
        token.flush()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield {"address": f"127.0.0.1:{server.server_port}", "token": token.name}
        server.shutdown()


@test
def a_responder_elsewhere_is_asked_by_one_part():
    """It counts the messages of both, of which some are still on their way when it is first asked."""
    asked, parts = [], []
    with responder_elsewhere([(100, 100), (480, 470), (490, 480)], asked) as control:
        for part in 1, 2:
            result = ddiperf(with_dut(ring(item(load={"total": 400, "rate": "4k"}), fleet={"agents": 2, "part": part}), control=control))
            assert result.code == EXIT["pass"], result
            parts.append(result.json)
    assert len(asked) == 4, asked
    peers = [document["peer"] for document in (*parts, merge(*parts)[0])]
    assert [(one["sent"], one["replies"], one["received"]) for one in peers] == [(200, 200, 390), (200, 200, 0), (400, 400, 390)], peers
    assert [one["loss_there"] for one in peers] == [None, None, 0.025] and abs(peers[2]["loss_back"] - (380 - 400) / 380) < 1e-9, peers


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
