#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# ddiperf compare on results that are made up from the golden one: what changed, how sure it is, the gate, and the
# history that report --append writes.

import copy
import fcntl
import json
import os
import re
import resource
import subprocess
import tempfile
import termios
import time
from pathlib import Path

from harness import EXIT, ROOT, binary, execute, main, start, test

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
def a_terminal_says_how_wide_it_is():
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        path = Path(folder) / "a.json"
        path.write_text(json.dumps(GOLDEN))
        for width, rows in ((200, False), (60, True)):
            ours, its = os.openpty()
            termios.tcsetwinsize(its, (24, width))
            done = subprocess.run([binary(), "compare", path, path, path], stdout=its, env={**os.environ, "COLUMNS": "80"}, timeout=60)
            out = os.read(ours, 1 << 12).decode()  # the begin of it
            os.close(its)
            os.close(ours)
            assert done.returncode == 0 and ("queries\r\n" in out) == rows, (width, out)


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


def run_of(number, rate=50000, p99=121000.0, **run):
    """The golden result as run number of a history."""
    def change(item, document):
        item["answered_per_s"] = rate
        item["latency"]["response"]["p99_ns"] = p99
        document["run"].update({"id": f"id-{number}", "started": f"2024-03-{number:02}T00:00:00Z", **run})
    return changed(change)


class History:
    """A folder with a history, and results beside it."""

    def __enter__(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="ddiperf-test-")
        self.folder = Path(self.temporary.name)
        self.file = self.folder / "history.jsonl"
        return self

    def __exit__(self, *_):
        self.temporary.cleanup()

    def put(self, documents):
        paths = [self.folder / f"{number}.json" for number in range(len(documents))]
        for path, document in zip(paths, documents):
            path.write_text(json.dumps(document))
        return paths

    def append(self, *documents, **options):
        return execute([binary(), "report", *self.put(documents), "--append", self.file], **options)

    def judge(self, document, *options):
        return execute([binary(), "compare", "--history", self.file, *self.put([document]), *options])

    def lines(self):
        return [json.loads(line) for line in self.file.read_text().splitlines()]


TEN = [run_of(number, 50000 + 100 * (number % 3), 120000.0 + 1000 * (number % 4)) for number in range(1, 11)]


@test
def results_become_lines_of_a_history_once():
    with History() as h:
        code, out, err = h.append(*TEN[:3])
        assert code == 0 and not out and not err, (out, err)
        code, out, err = h.append(*TEN[2:4])
        assert code == 0 and not out and "run id-3 is in" in err and err.count("\n") == 1, (out, err)
        lines = h.lines()
        assert [line["run"]["id"] for line in lines] == ["id-1", "id-2", "id-3", "id-4"], lines
        first, item = lines[0], lines[0]["traffic"][0]
        assert first["schema"] == "ddiperf-history/1" and first["verdict"] == {"status": "pass"}, first
        assert first["run"]["labels"] == ["rack=1", "site=lab"] and first["run"]["host"]["cpu"] == "A CPU", first
        assert item["answered_per_s"] == 50100 and item["latency"]["response"]["p99_ns"] == 121000.0, item
        # Beside another output too.
        page = h.folder / "x.html"
        code, out, err = execute([binary(), "report", *h.put(TEN[4:5]), "--append", h.file, "-o", page])
        assert code == 0 and page.exists() and len(h.lines()) == 5, (out, err)


def waits_for_a_lock(process):
    return any(line.split()[1] == "->" and line.split()[5] == str(process.pid) for line in Path("/proc/locks").read_text().splitlines())


@test
def a_program_waits_until_another_has_appended():
    with History() as h, open(h.file, "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with start([binary(), "report", *h.put(TEN[:2]), "--append", h.file]) as process:
            end = time.monotonic() + 30
            while not waits_for_a_lock(process) and process.poll() is None and time.monotonic() < end:
                time.sleep(0.01)
            assert process.poll() is None and h.file.read_text() == "", h.file.read_text()
            file.write(json.dumps({"schema": "ddiperf-history/1", "run": {"id": "id-1"}}) + "\n")
            file.flush()
            fcntl.flock(file, fcntl.LOCK_UN)
            out, err = process.communicate(timeout=30)
        assert process.returncode == 0 and "run id-1 is in" in err, err
        assert [line["run"]["id"] for line in h.lines()] == ["id-1", "id-2"], h.lines()


@test
def a_full_disk_leaves_the_history_as_it_was():
    with History() as h:
        h.append(*TEN[:2])
        before = h.file.read_bytes()
        limit = len(before) + 100  # of any file: less than a line more
        code, out, err = h.append(TEN[2], preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        assert code == EXIT["environment"] and "history.jsonl" in err, (code, out, err)
        assert h.file.read_bytes() == before


@test
def a_run_is_judged_by_the_last_ten():
    with History() as h:
        h.append(*TEN)
        code, out, err = h.judge(run_of(11))
        assert code == 0 and "PASS: not worse than the last 10 runs (99 % confidence" in out and not err, (out, err)
        assert "the last 10 runs of sample with this configuration, 2024-03-01T00:00:00Z to 2024-03-10" in out, out
        assert max(map(len, out.splitlines()[1:])) <= 80, out
        code, out, err = h.judge(run_of(11, rate=48000))
        assert code == 1 and "FAIL: worse than the last runs: answered_per_s of queries (> 99.99 %)" in out, (out, err)
        code, out, err = h.judge(run_of(11, p99=130000.0), "--quiet")
        assert code == 1 and out.startswith("FAIL") and "p99_ns of queries" in out, (out, err)
        # Better is not worse, and less confidence finds more.
        assert h.judge(run_of(11, rate=60000, p99=90000.0))[0] == 0
        assert h.judge(run_of(11, p99=125800.0))[0] == 0
        assert h.judge(run_of(11, p99=125800.0), "--confidence", "80%")[0] == 1
        # A run that is there already is compared with those before it.
        h.append(run_of(11, rate=48000))
        assert h.judge(run_of(11, rate=48000))[0] == 1
        h.file.write_text(h.file.read_text() + '{"schema": "ddi')
        code, out, err = h.judge(run_of(12))
        assert code == 0 and "history.jsonl:12: damaged line, left out" in err, (out, err)


@test
def a_history_without_three_runs_like_it_judges_nothing():
    with History() as h:
        h.append(*TEN[:2], run_of(3, name="another"), run_of(4, config_sha256="other"))
        code, out, err = h.judge(run_of(11))
        assert code == EXIT["invalid"] and "2 runs to compare with, at least 3 are needed" in err and "1 others" in err, (code, out, err)
        h.append(*TEN[2:3])
        invalid = run_of(11)
        invalid["verdict"]["status"] = "invalid"
        code, out, err = h.judge(invalid)
        assert code == EXIT["invalid"] and "its verdict is invalid" in err, (code, out, err)
        for options, words in ((["x.json"], "one result"), (["-f", "p99:+5%"], "one result"), (["--confidence", "20%"], "50% to"),
                               (["--confidence", "high"], "50% to")):
            code, out, err = h.judge(run_of(11), *options)
            assert code == EXIT["usage"] and words in err, (options, code, out, err)
        code, out, err = compare(GOLDEN, GOLDEN, "--confidence", "99%")
        assert code == EXIT["usage"] and "--history" in err, (code, out, err)


@test
def answers_of_searches_are_judged_by_their_history():
    def searched(number, answer):
        document = run_of(number)
        document["search"] = {"answer": answer, "goals": [{"goal": "loss <= 1 %", "answer": answer}]}
        return document

    with History() as h:
        h.append(*[searched(number, 40000 + 100 * (number % 3)) for number in range(1, 6)])
        assert h.judge(searched(11, 39900))[0] == 0
        for answer in (38000, None):
            code, out, err = h.judge(searched(11, answer))
            assert code == 1 and "search.answer.loss <= 1 % of search" in out and "p99" not in out, (out, err)


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
