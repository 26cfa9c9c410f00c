#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# ddiperf compare on results that are made up from the golden one: what changed, how sure it is, and the gate.

import copy
import json
import os
import re
import tempfile
from pathlib import Path

from harness import EXIT, ROOT, binary, execute, main, test

GOLDEN = json.loads((ROOT / "tests" / "golden" / "result.json").read_text())
GOLDEN["verdict"]["status"] = "pass"


def changed(change):
    """The golden result with the first item changed in place."""
    document = copy.deepcopy(GOLDEN)
    change(document["traffic"][0], document)
    return document


def repeated(rates, p99=121000.0):
    """The golden result as the mean of runs with these rates."""
    def change(item, document):
        document["confidence"] = {"confidence": 0.95, "runs": len(rates)}
        document["repeats"] = []
        for rate in rates:
            one = copy.deepcopy(item)
            one["answered_per_s"] = rate
            one["latency"]["response"]["p99_ns"] = p99
            document["repeats"].append({"verdict": "pass", "traffic": [one]})
        item["answered_per_s"] = sorted(rates)[len(rates) // 2]
    return changed(change)


def compare_all(documents, *options, width=80):
    """(exit code, stdout, stderr); documents: also texts, or None: no such file. They are a.json, b.json ... here."""
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        paths = [Path(folder) / f"{chr(ord('a') + i)}.json" for i in range(len(documents))]
        for path, content in zip(paths, documents):
            if content is not None:
                path.write_text(content if isinstance(content, str) else json.dumps(content))
        return execute([binary(), "compare", *[path.name for path in paths], *options], cwd=folder,
                       env={**os.environ, "COLUMNS": str(width)})


def compare(a, b, *options):
    return compare_all([a, b], *options)


def slower(item, _):
    item["latency"]["response"]["p99_ns"] *= 1.1


@test
def a_result_compared_with_itself_has_not_changed():
    code, out, err = compare(GOLDEN, GOLDEN, "--fail-on", "p99:+0%", "--fail-on", "rate:-0%", "--fail-on", "loss:+0%")
    assert code == 0 and "PASS" in out and not err, (out, err)
    assert "latency.response.p99_ns" in out and "dns.rcode.SERVFAIL" in out, out


@test
def a_margin_decides_between_pass_and_fail():
    b = changed(slower)
    for margin, expected in (("p99:+5%", 1), ("p99:+11%", 0), ("p99:+10us", 1), ("p99:+13us", 0), ("p99:-1%", 0),
                             ("traffic.queries.p99:+5%", 1), ("traffic.probes.p99:+5%", 0)):
        code, out, err = compare(GOLDEN, b, "--fail-on", margin)
        assert code == expected, (margin, out, err)
    code, out, _ = compare(GOLDEN, b)
    assert code == 0 and "+10 %" in out, out


@test
def shares_are_compared_in_points_and_rates_downwards():
    def worse(item, _):
        item["dns"]["rcode"]["SERVFAIL"] = 206
        item["answered_per_s"] *= 0.97

    b = changed(worse)
    for margin, expected in (("dns.rcode.SERVFAIL:+0.1%", 1), ("dns.rcode.SERVFAIL:+0.3%", 0), ("rate:-2%", 1),
                             ("rate:-4%", 0), ("rate:+1%", 0), ("answered_per_s:-1k", 1), ("rate:-2k", 0)):
        code, out, err = compare(GOLDEN, b, "-f", margin)
        assert code == expected, (margin, out, err)
    # A counter that only B has was 0 in A.
    code, out, err = compare(GOLDEN, changed(lambda item, _: item["dns"]["rcode"].update(REFUSED=500)), "-f",
                             "dns.rcode.REFUSED:+0.1%")
    assert code == 1 and "dns.rcode.REFUSED" in out, (out, err)


@test
def a_percentile_among_the_lost_is_worse_than_any_number():
    def lost(item, _):
        item["latency"]["response"]["p99_ns"] = None

    assert compare(GOLDEN, changed(lost), "-f", "p99:+1000%")[0] == 1
    assert compare(changed(lost), GOLDEN, "-f", "p99:+0%")[0] == 0
    assert compare(changed(lost), changed(lost), "-f", "p99:+0%")[0] == 0


@test
def noise_between_repeats_is_no_regression():
    noisy, lower = repeated([50000, 40000, 45000, 55000]), repeated([48000, 39000, 44000, 52000])
    code, out, err = compare(noisy, lower, "-f", "rate:-1%")
    assert code == 0 and "within noise" in out, (out, err)
    steady, lower = repeated([50000, 50010, 49990]), repeated([48000, 48010, 47990])
    code, out, err = compare(steady, lower, "-f", "rate:-1%")
    assert code == 1 and "-4 %" in out and "within noise" not in out and "50.0 k/s" in out, (out, err)
    # Welch's interval, by hand: 2 x 10 x 2.776 / sqrt(3) / sqrt(2) around -2000, in percent of 50 000.
    assert "+- 0.0453" in out, out


@test
def an_item_that_is_gone_fails_its_margin():
    b = changed(lambda item, document: document["traffic"].pop(0))
    code, out, _ = compare(GOLDEN, b, "-f", "traffic.queries.p99:+5%")
    assert code == 1 and "queries: only in A" in out, out
    assert "queries: only in B" in compare(b, GOLDEN)[1]


@test
def a_run_that_says_nothing_is_not_judged():
    b = changed(lambda item, document: document["verdict"].update(status="invalid"))
    code, out, err = compare(GOLDEN, b, "-f", "p99:+5%")
    assert code == EXIT["invalid"] and "its verdict is invalid" in err, (out, err)


@test
def the_answers_of_two_searches_are_compared():
    def search(answer):
        goals = [{"goal": "loss <= 0 %", "answer": answer}, {"goal": "loss <= 1 %", "answer": 50000}]
        return changed(lambda item, document: document.update(search={"answer": answer, "goals": goals}))

    for b, margin, expected in ((38000, "search.answer:-4%", 1), (38000, "search.answer:-6%", 0),
                                (38000, "search.answer:-1k", 1), (None, "search.answer:-99%", 1)):
        code, out, err = compare(search(40000), search(b), "-f", margin)
        assert code == expected and "search.answer.loss <= 1 %" in out, (b, margin, out, err)


@test
def steps_are_compared_by_name():
    step = {"name": "request-ack", "sent": 100, "answered": 99, "failed": 0, "lost": 1,
            "latency": {"response": {"p50_ns": 1000.0, "p99_ns": 2000.0}}}
    a = changed(lambda item, _: item.update(steps=[step]))
    b = changed(lambda item, _: item.update(steps=[{"name": "first"}, {**step, "latency": {"response": {"p99_ns": 3e3}}}]))
    code, out, err = compare(a, b, "-f", "steps.request-ack.latency.response.p99_ns:+10%")
    assert code == 1 and "+50 %" in out, (out, err)


@test
def a_time_that_was_not_seen_is_no_improvement():
    def unseen(item, _):
        item["lost"] = 0
        item["latency"]["response"]["p99_ns"] = None

    gone = changed(lambda item, _: item["latency"]["response"].pop("p99_ns"))
    for b in (gone, changed(unseen)):
        code, out, err = compare(GOLDEN, b, "-f", "p99:+5%")
        assert code == 1 and "121 us -> - (worse," in out, (out, err)
        assert compare(b, b, "-f", "p99:+5%")[0] == 0
    # In one repeat of three: their mean is not a third less.
    some = repeated([50000, 50000, 50000])
    some["repeats"][1]["traffic"][0]["latency"]["response"].pop("p99_ns")
    code, out, err = compare(repeated([50000, 50000, 50000]), some, "-f", "p99:+5%")
    assert code == 1 and "121 us -> - (worse," in out, (out, err)


def at_rate(rate):
    return changed(lambda item, _: item.update(answered_per_s=rate))


def line_of(out, begin, after=0):
    """The words of the line that begins so, or of one below it."""
    lines = out.splitlines()
    return re.split(r"  +", lines[next(i for i, line in enumerate(lines) if line.startswith(begin)) + after].strip())


@test
def several_results_are_columns_beside_the_first():
    results = [at_rate(rate) for rate in (50000, 48000, 51000, 50000)]
    for count, width in ((3, 80), (4, 200)):
        code, out, err = compare_all(results[:count], width=width)
        assert code == 0 and not err, (out, err)
        assert max(map(len, out.splitlines())) <= width, out
        assert line_of(out, "queries") == ["queries", *"ABCD"[:count]], out
        assert line_of(out, "  answered_per_s") == ["answered_per_s", "50.0 k/s", "48.0 k/s", "51.0 k/s", "50.0 k/s"][:count + 1], out
        assert line_of(out, "  answered_per_s", 1) == ["-4 %", "+2 %", "+0 %"][:count - 1], out


@test
def many_results_are_rows():
    results = [at_rate(rate) for rate in (50000, 48000, 51000, 50000)]
    code, out, err = compare_all(results)
    assert code == 0 and not err and max(map(len, out.splitlines())) <= 80, (out, err)
    assert line_of(out, "  answered_per_s") == ["answered_per_s"], out
    assert line_of(out, "  answered_per_s", 1) == ["A", "50.0 k/s"], out
    assert line_of(out, "  answered_per_s", 2) == ["B", "48.0 k/s", "-4 %"], out
    code, out, err = compare_all([GOLDEN] * 26)
    assert code == 0 and "Z: z.json" in out, (out, err)
    code, out, err = execute([binary(), "compare", *["no.json"] * 27])
    assert code == EXIT["usage"] and "more than 26 results" in err and not out, (out, err)


@test
def each_of_several_is_judged_by_the_baseline():
    results = [at_rate(rate) for rate in (50000, 48000, 51000, 47000)]
    code, out, err = compare_all(results, "-f", "rate:-2%")
    assert code == 1 and "FAIL: B, D are worse than A by more than the margin" in out, (out, err)
    assert "  FAIL  D: answered_per_s of queries: 50.0 k/s -> 47.0 k/s (-6 %, allowed -2%)" in out, out
    assert "PASS: all results are within" in compare_all(results, "-f", "rate:-6%")[1]
    # Another baseline: an operand, or one more file.
    code, out, err = compare_all(results, "-f", "rate:-3%", "--baseline", "c.json")
    assert code == 1 and out.startswith("A: c.json") and "FAIL: C, D are worse" in out, (out, err)
    assert compare_all(results[:2], "-f", "rate:-2%", "--baseline", "b.json")[0] == 0
    code, out, err = compare_all(results[:1], "--baseline", "a.json")
    assert code == EXIT["usage"] and "an argument is missing" in err, (out, err)


@test
def several_results_may_lack_an_item_and_have_noise():
    gone = changed(lambda item, document: document["traffic"].pop(0))
    for width in (80, 40):
        code, out, err = compare_all([GOLDEN, gone, GOLDEN], width=width)
        assert code == 0 and "  not in B" in out and not err, (out, err)
    assert compare_all([GOLDEN, gone, GOLDEN], "-f", "traffic.queries.p99:+5%")[0] == 1
    noisy, lower = repeated([50000, 40000, 45000, 55000]), repeated([48000, 39000, 44000, 52000])
    out = compare_all([noisy, lower, noisy])[1]
    assert "~: within the noise" in out and re.search(r"-\d\.\d+ % ~", out), out
    invalid = changed(lambda item, document: document["verdict"].update(status="invalid"))
    assert compare_all([GOLDEN, GOLDEN, invalid], "-f", "p99:+5%")[0] == EXIT["invalid"]


@test
def margins_that_make_no_sense_are_refused():
    for margin, words in (
        ("p99", "the margin is missing"), ("p99:5%", "the sign is missing"), ("p99:+5q", "is not a duration"), ("p98:+5%", "did you mean p9"),
        ("dns.rcode.SERVFAI:+5%", "did you mean dns.rcode.SERVFAIL"), ("loss:+5", "a percentage"), ("rate:-x", "is not a rate"),
        (":+5%", "no such figure"), ("traffic.nobody.p99:+5%", "no such figure"), ("p99:+", "is not"),
    ):
        code, out, err = compare(GOLDEN, GOLDEN, "-f", margin)
        assert code == EXIT["usage"] and words in err, (margin, out, err)


@test
def whatever_is_no_result_is_refused_with_a_reason():
    schema = {"schema": "ddiperf-result/1"}
    for text, words in (
        (None, "No such file"), ("", "not JSON"), ('{"a":', "not JSON"), ("[]", "not a result"), ("7", "not JSON"),
        ("{}", "not a result"), ('{"schema": 7}', "not a result"), (schema, "no traffic"), ("\0", "not JSON"),
        ({**schema, "traffic": {}}, "no traffic"), ({**schema, "traffic": [1, {"name": 3}, None]}, "no figures"),
        ("[" * 5000, "not JSON"), ({"schema": "ddiperf-result/2"}, "not a result"),
    ):
        for pair in ((text, GOLDEN), (GOLDEN, text)):
            code, out, err = compare(*pair)
            assert code == EXIT["usage"] and words in err and not out, (text, code, out, err)
    # Wrong types where figures are expected are left out, not followed.
    odd = changed(lambda item, document: (item.update(latency=7, steps={"x": [1]}, dns=[{"name": {}}, 1], sent="many"),
                                          document.update(repeats=[1, {"traffic": 3}], run=[], confidence={"confidence": 0.9})))
    code, out, err = compare(odd, GOLDEN)
    assert code == 0, (out, err)


main()
