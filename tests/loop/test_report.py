#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# ddiperf report on the golden result and on results of runs: each format, what it refuses, and the same at a run's end.

import copy
import csv
import io
import json
import shutil
import tempfile
from pathlib import Path

from harness import EXIT, ROOT, binary, ddiperf, execute, main, skip, test
from loop import ring

GOLDEN = json.loads((ROOT / "tests" / "golden" / "result.json").read_text())


def report(*documents, options=()):
    """(exit code, stdout, stderr); documents: JSON or text."""
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        paths = []
        for number, document in enumerate(documents):
            paths.append(Path(folder) / f"{number}.json")
            paths[-1].write_text(document if isinstance(document, str) else json.dumps(document))
        return execute([binary(), "report", *map(str, paths), *options])


def good(*documents, options=()):
    code, out, err = report(*documents, options=options)
    assert code == 0 and not err, (code, out, err)
    return out


def written(document, name):
    """The octets of a format."""
    with tempfile.NamedTemporaryFile() as file:
        assert good(document, options=["--format", name, "-o", file.name]) == ""
        return Path(file.name).read_bytes()


def measured(document):
    """A result of 600 ms and 2 000 queries a second; the same one for each test."""
    if not document:
        result = ddiperf(ring(run={"duration": "600ms"}))
        assert result.code == 0, result
        document.update(result.json)
    return document


RUN = {}


def near(value, expected, share=0.01):
    return abs(value - expected) <= share * expected


def pairs(text):
    return dict(line.split("=", 1) for line in text.splitlines())


@test
def without_a_format_every_figure_is_a_line():
    figures = pairs(good(GOLDEN))
    assert figures["traffic.queries.answered"] == "99995" and figures["verdict.status"] == "fail", figures
    assert figures["traffic.queries.dns.rcode.SERVFAIL"] == "6" and figures["workers[0].busy"] == "0.4375", figures
    assert figures == pairs(good(GOLDEN, options=["--format", "keyval"]))


@test
def selectors_are_paths_patterns_and_the_names_of_netperf():
    wanted = "THROUGHPUT,P50_LATENCY;traffic.*.dns.rcode.*, traffic.probes.P99_LATENCY,REMOTE_CPU_UTIL," \
             "traffic.queries.dns.rcode.REFUSED,THROUGHPUT_UNITS"
    figures = pairs(good(GOLDEN, options=["--select", wanted]))
    assert figures == {
        "THROUGHPUT": "50247.500", "P50_LATENCY": "58.000", "traffic.queries.dns.rcode.NOERROR": "99990",
        "traffic.queries.dns.rcode.SERVFAIL": "6", "traffic.queries.dns.rcode.NXDOMAIN": "2",
        "traffic.probes.dns.rcode.NOERROR": "500", "traffic.probes.P99_LATENCY": "102.000", "REMOTE_CPU_UTIL": "",
        "traffic.queries.dns.rcode.REFUSED": "0", "THROUGHPUT_UNITS": "Trans/s"}, figures
    everything = pairs(good(GOLDEN, options=["--select", "all"]))
    assert set(everything) > set(pairs(good(GOLDEN))) and everything["ELAPSED_TIME"] == "2.000", everything
    listed = good(GOLDEN, options=["--select", "?"])
    assert "MEAN_LATENCY" in listed and "traffic.queries.answered\n" in listed, listed


@test
def a_file_of_selectors_has_a_block_a_line():
    with tempfile.NamedTemporaryFile("w", suffix=".selectors") as file:
        file.write("# throughput\nTHROUGHPUT,run.name\n\nP99_LATENCY; verdict.status # the end\n")
        file.flush()
        out = good(GOLDEN, options=["--format", "csv", "--select", file.name])
    assert list(csv.reader(io.StringIO(out, newline=""))) == [
        ["THROUGHPUT", "run.name"], ["50247.500", "sample"], ["P99_LATENCY"], ["121.000"], ["verdict.status"],
        ["fail"]], out


@test
def several_results_are_rows_of_one_table():
    other = copy.deepcopy(GOLDEN)
    other["run"]["command"] = 'a "quoted", text'
    out = good(GOLDEN, other, options=["--format", "csv", "--select", "run.command,verdict.exit_code"])
    assert list(csv.reader(io.StringIO(out, newline=""))) == [
        ["run.command", "verdict.exit_code"], [GOLDEN["run"]["command"], "1"], ['a "quoted", text', "1"]], out


@test
def the_intervals_are_a_table_with_the_same_columns_in_each_row():
    late = copy.deepcopy(GOLDEN)
    late["intervals"][1]["traffic"][1]["dns"] = {"rcode": {"REFUSED": 7}}
    out = written(late, "csv").decode()
    assert out.endswith("\r\n") and out.count("\r\n") == 1 + len(GOLDEN["intervals"]), out
    rows = list(csv.DictReader(io.StringIO(out, newline=""), strict=True))
    assert [r["traffic.queries.answered"] for r in rows] == ["49993", "50002"], rows
    assert [r["traffic.probes.dns.rcode.REFUSED"] for r in rows] == ["0", "7"], rows
    assert [r["traffic.queries.max_ns"] for r in rows] == ["", "2100000"], rows
    assert all(None not in r and None not in r.values() for r in rows), rows


@test
def json_and_its_lines_are_the_document_again():
    assert json.loads(good(GOLDEN, options=["--format", "json"])) == GOLDEN
    lines = good(GOLDEN, options=["--format", "jsonl"]).splitlines()
    assert [json.loads(line) for line in lines] == GOLDEN["intervals"], lines


@test
def the_library_of_hdrhistogram_reads_the_log():
    try:
        from hdrh.histogram import HdrHistogram
        from hdrh.log import HistogramLogReader
    except ImportError:
        skip("hdrhistogram is not installed: scripts/deps install test")
    document = measured(RUN)
    sums, lines = {}, 0
    with tempfile.NamedTemporaryFile(suffix=".hdr") as file:
        file.write(written(document, "hdr"))
        file.flush()
        reader = HistogramLogReader(file.name, HdrHistogram(1, 3_600_000_000_000, 3))
        while (one := reader.get_next_interval_histogram()) is not None:
            sums.setdefault(one.get_tag(), HdrHistogram(1, 3_600_000_000_000, 3)).add(one)
            lines += 1
    kept = [i for i in document["intervals"] if "histogram" in i["traffic"][0]["latency"]["response"]]
    assert lines == len(kept) > 1 and list(sums) == ["queries.response"], (lines, sums)
    read, response = sums["queries.response"], document["traffic"][0]["latency"]["response"]
    assert read.get_total_count() == response["count"] > 100, (read.get_total_count(), response)
    for share, name in ((50, "p50_ns"), (99, "p99_ns"), (100, "max_ns")):
        assert near(read.get_value_at_percentile(share), response[name]), (share, response)


@test
def without_histograms_of_intervals_the_log_has_the_run():
    document = copy.deepcopy(measured(RUN))
    for interval in document["intervals"]:
        interval["traffic"][0]["latency"]["response"].pop("histogram", None)
    lines = written(document, "hdr").decode().splitlines()[4:]
    tags = [line.split(",")[0] for line in lines]
    assert "Tag=queries.response" in tags and "Tag=queries.service" in tags, tags
    assert all(line.split(",")[1:3] == ["0.000", f"{document['run']['measured_s']:.3f}"] for line in lines), lines
    del document["traffic"][0]["latency"], document["traffic"][0]["send_lag"]
    code, _, err = report(document, options=["--format", "hdr"])
    assert code == EXIT["usage"] and "no histograms" in err, err


@test
def the_percentile_distribution_ends_with_the_longest():
    def printed(row, ns):
        """Within 1 %, and half of the last digit: milliseconds with three decimals."""
        return abs(1e6 * row[0] - ns) <= 0.01 * ns + 500

    response = measured(RUN)["traffic"][0]["latency"]["response"]
    lines = written(RUN, "hgrm").decode().splitlines()
    assert lines[0].split() == ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"] and not lines[1], lines[:2]
    rows = [[float(word) for word in line.split()] for line in lines[2:-3]]
    assert rows[-1][1:] == [1, response["count"]] and printed(rows[-1], response["max_ns"]), rows[-1]
    assert rows == sorted(rows) and all(near(r[3], 1 / (1 - r[1]), 0.02) for r in rows[:-1]), rows
    median = next(r for r in rows if r[1] >= 0.5)
    assert printed(median, response["p50_ns"]), (median, response)
    assert lines[-2].replace(" ", "").endswith(f"Totalcount={response['count']}]"), lines[-3:]
    assert [line.split("=")[0].strip() for line in lines[-3:]] == ["#[Mean", "#[Max", "#[Buckets"], lines[-3:]
    service = measured(RUN)["traffic"][0]["latency"]["service"]
    lines = good(RUN, options=["--format", "hgrm", "--select", "traffic.queries.latency.service"]).splitlines()
    rows = [[float(word) for word in line.split()] for line in lines[2:-3]]
    assert printed(rows[-1], service["max_ns"]) and printed(rows[0], service["min_ns"]), (rows, service)
    code, _, err = report(GOLDEN, options=["--format", "hgrm"])
    assert code == EXIT["usage"] and "2 items (choose a latency: --select" in err, err
    code, _, err = report(RUN, options=["--format", "hgrm", "--select", "traffic.queries.latency"])
    assert code == EXIT["usage"] and "no histograms" in err, err


# The members of dns-metrics' objects: https://github.com/DNS-OARC/dns-metrics
STATS = {"runid": str, "type": str, "subid": str, "since": int, "until": int, "queries": int, "responses": int,
         "timeouts": int, "interrupted": int, "unexpected": int, "discarded": int, "response_rcodes": dict,
         "response_latency": dict}
HEADER = {"runid": str, "type": str, "schema_version": int, "generator": str, "generator_version": str,
          "generator_params": list, "time_units_per_sec": int, "stats_interval": float}


def check_metrics(line):
    members = HEADER if line["type"] == "header" else STATS
    assert line["type"] in ("header", "stats_periodic", "stats_sum"), line
    assert all(type(value) is members[name] for name, value in line.items()), line
    needed = {"schema_version", "generator", "generator_version", "stats_interval"} if members is HEADER \
        else {"since", "until"}
    assert needed | {"runid"} <= set(line), line
    assert all(type(n) is int for n in line.get("response_rcodes", {}).values()), line
    latency = dict(line.get("response_latency", {}))
    assert all(type(n) is int and len(b) == 3 for b in latency.pop("buckets", []) for n in b), line
    assert all(type(n) is int for n in latency.values()), line


@test
def dns_metrics_have_the_types_of_their_schema():
    document = measured(RUN)
    lines = [json.loads(line) for line in good(document, options=["--format", "dns_metrics"]).splitlines()]
    for line in lines:
        check_metrics(line)
    assert [line["type"] for line in lines] == \
        ["header", *["stats_periodic"] * len(document["intervals"]), "stats_sum"], lines
    item, last = document["traffic"][0], lines[-1]
    assert (last["queries"], last["responses"]) == (item["sent"], item["answered"]), last
    assert last["response_rcodes"] == item["dns"]["rcode"], last
    assert sum(b[2] for b in last["response_latency"]["buckets"]) == item["answered"], last
    assert all(b[0] < b[1] for b in last["response_latency"]["buckets"]), last
    assert near(last["until"] - last["since"], 600_000_000, 1e-6), last
    spans = [(line["since"], line["until"]) for line in lines[1:-1]]
    assert spans[0][0] == last["since"] and all(abs(a[1] - b[0]) < 1000 for a, b in zip(spans, spans[1:])), spans
    other = copy.deepcopy(GOLDEN)
    for item in other["traffic"]:
        item["protocol"] = "ntp"
    code, _, err = report(other, options=["--format", "dns_metrics"])
    assert code == EXIT["usage"] and "no item has RCODEs" in err, err


@test
def gnuplot_draws_the_data_of_resperf():
    document = measured(RUN)
    lines = good(document, options=["--format", "resperf"]).splitlines()
    assert lines[0] == "# time target_qps actual_qps responses_per_sec failures_per_sec avg_latency " \
                       "connections conn_avg_latency", lines
    rows = [[float(word) for word in line.split()] for line in lines[1:]]
    assert rows and all(len(row) == 8 and row[6:] == [0, 0] for row in rows), rows
    for row, interval in zip(rows, document["intervals"]):
        item, length = interval["traffic"][0], interval["length_s"]
        expected = [interval["t_s"] - length / 2, item["due_per_s"], item["sent_per_s"],
                    item["by_due"]["answered"] / length, 0, item["by_due"]["mean_ns"] / 1e9]
        assert all(abs(a - b) <= 0.006 for a, b in zip(row, expected)), (row, expected)
    if not shutil.which("gnuplot"):
        skip("gnuplot is not installed: scripts/deps install test")
    with tempfile.NamedTemporaryFile("w", suffix=".gnuplot") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        script = f'set terminal dumb; set key outside below; set yrange [-1:*]; ' \
                 f'plot "{file.name}" using 1:3 with lines, "{file.name}" using 1:4 with lines, ' \
                 f'"{file.name}" using 1:5 with lines; plot "{file.name}" using 1:6 with lines'
        code, out, err = execute(["gnuplot", "-e", script])
    assert code == 0 and "using 1:6" in out and not err, (code, out, err)


@test
def resperf_data_end_with_the_sending():
    document = copy.deepcopy(GOLDEN)
    document["traffic"] = document["traffic"][:1]
    for number, interval in enumerate(document["intervals"], 1):
        interval.update(t_s=number, length_s=1, traffic=[{"name": "queries", "due_per_s": 10, "sent_per_s": 10,
                        "by_due": {"answered": 8, "failed": 2, "mean_ns": 3e6}}])
    document["traffic"][0]["sending_s"] = 1.5
    rows = good(document, options=["--format", "resperf"]).splitlines()[1:]
    assert rows == ["  0.500    10.00    10.00    10.00     2.00 0.003000     0.00 0.000000"], rows
    for interval in document["intervals"]:
        interval["traffic"][0]["connections"] = {"established": 3, "handshake": {"count": 2, "mean_ns": 5e6}}
    rows = good(document, options=["--format", "resperf"]).splitlines()[1:]
    assert rows == ["  0.500    10.00    10.00    10.00     2.00 0.003000     3.00 0.005000"], rows


def families(text):
    """{name: (type, unit, [(sample, labels, value)])} as the parser of the OpenMetrics project reads them."""
    try:
        from prometheus_client.openmetrics.parser import text_string_to_metric_families
    except ImportError:
        skip("prometheus-client is not installed: scripts/deps install test")
    return {f.name: (f.type, f.unit, [(s.name, s.labels, s.value) for s in f.samples])
            for f in text_string_to_metric_families(text)}


@test
def a_strict_parser_reads_open_metrics():
    document = measured(RUN)
    read = families(good(document, options=["--format", "openmetrics"]))
    item, labels = document["traffic"][0], {"item": "queries"}
    assert read["ddiperf_traffic_sent"] == ("counter", "", [("ddiperf_traffic_sent_total", labels, item["sent"])])
    assert read["ddiperf_traffic_in_flight"][0] == "gauge", read["ddiperf_traffic_in_flight"]
    assert read["ddiperf_traffic_dns_rcode"][2] == \
        [("ddiperf_traffic_dns_rcode_total", {**labels, "rcode": "NOERROR"}, item["answered"])], read
    kind, unit, samples = read["ddiperf_traffic_latency_response_p99_seconds"]
    response = item["latency"]["response"]
    assert (kind, unit) == ("gauge", "seconds") and near(samples[0][2], response["p99_ns"] / 1e9, 1e-8), samples
    assert near(read["ddiperf_traffic_answered_per_second"][2][0][2], item["answered_per_s"], 1e-8)
    kind, unit, samples = read["ddiperf_run_measured_from_seconds"]
    assert kind == "gauge" and abs(samples[0][2] - document["run"]["measured_from_ns"] / 1e9) < 1e-4, samples
    assert read["ddiperf_traffic_loss_ratio"][:2] == ("gauge", "ratio")
    assert {s[1]["index"] for s in read["ddiperf_workers_busy_ratio"][2]} == {"0"}, read["ddiperf_workers_busy_ratio"]
    kind, unit, samples = read["ddiperf_traffic_latency_response_seconds"]
    assert (kind, unit) == ("histogram", "seconds"), kind
    buckets = [(float(s[1]["le"]), s[2]) for s in samples if s[0].endswith("_bucket")]
    assert buckets == sorted(buckets) and buckets[-1] == (float("inf"), item["answered"]), buckets
    assert near(next(s[2] for s in samples if s[0].endswith("_sum")), item["answered"] * response["mean_ns"] / 1e9)
    under = [n for bound, n in buckets if bound >= response["p50_ns"] / 1e9 * 1.01]
    assert under and under[0] >= item["answered"] / 2, (buckets, response)
    info = read["ddiperf_traffic"]
    assert info[0] == "info" and info[2][0][1]["protocol"] == "dns", info
    # Items of the same name, and names with every awkward character.
    odd = copy.deepcopy(GOLDEN)
    odd["traffic"].append(odd["traffic"][0])
    odd["traffic"][1]["name"] = 'a "b"\\\nc, {d}'
    read = families(good(odd, options=["--format", "openmetrics"]))
    assert {s[1]["item"] for s in read["ddiperf_traffic_sent"][2]} == {"queries", 'a "b"\\\nc, {d}'}, read


@test
def promtool_finds_nothing_to_complain_about():
    if not shutil.which("promtool"):
        skip("promtool is not installed: scripts/deps install test")
    for document in (measured(RUN), GOLDEN):
        with tempfile.NamedTemporaryFile() as file:
            file.write(written(document, "prometheus"))
            file.flush()
            code, out, err = execute(["sh", "-c", 'exec promtool check metrics <"$0"', file.name])
        assert code == 0 and not out and not err, (code, out, err)


@test
def the_figure_of_merit_stands_alone():
    assert good(GOLDEN, GOLDEN, options=["--brief"]) == "50247.50\n50247.50\n"
    searched = copy.deepcopy(GOLDEN)
    searched["search"] = {"answer": 41000.25}
    assert good(searched, options=["--brief"]) == "41000.25\n"
    searched["search"]["answer"] = None
    assert good(searched, options=["--brief"]) == "0.00\n"
    result = ddiperf(ring(), "--brief", "--quiet")
    assert result.code == 0 and result.stdout == f"{result.item('queries')['answered_per_s']:.2f}\n", result


@test
def a_file_is_replaced_whole_and_names_its_format():
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        path = Path(folder) / "out.csv"
        assert good(GOLDEN, options=["-o", str(path)]) == ""
        assert path.read_bytes().startswith(b"t_s,length_s,"), path.read_bytes()[:80]
        before = path.read_bytes()
        code, _, err = report(GOLDEN, options=["-o", str(path), "--select", "nothing.like.it"])
        assert code == EXIT["usage"] and "nothing.like.it" in err and path.read_bytes() == before, err
        assert [p.name for p in Path(folder).iterdir()] == ["out.csv"]


@test
def wrong_words_are_refused_with_the_nearest_right_one():
    for options, said in (
        (["--format", "cvs"], "did you mean csv?"),
        (["--select", "traffic.queris.sent"], "did you mean traffic.queries.sent?"),
        (["--select", "P50_LATENCI"], "did you mean P50_LATENCY?"),
        (["--select", " ; "], "no selector"),
        (["--format", "jsonl", "--select", "run.name"], "has fixed figures"),
        (["--brief", "--format", "csv"], "leave out --format"),
        (["-o", "/nonexistent/out.csv"], "/nonexistent/out.csv: No such file"),
    ):
        code, out, err = report(GOLDEN, options=options)
        assert code == EXIT["usage"] and said in err and not out, (options, code, out, err)
    code, _, err = report(GOLDEN, GOLDEN, options=["--format", "junit"])
    assert code == EXIT["usage"] and "one result" in err, err
    code, _, err = report('{"schema": "other"}')
    assert code == EXIT["usage"] and "0.json: not a result" in err, err
    code, _, err = report({**GOLDEN, "intervals": []}, options=["--format", "csv"])
    assert code == EXIT["usage"] and "no intervals" in err, err
    code, _, err = execute([binary(), "report"])
    assert code == EXIT["usage"] and "argument is missing" in err, err


@test
def a_full_disk_is_not_a_wrong_word():
    code, _, err = report(GOLDEN, options=["-o", "/dev/full", "--format", "keyval"])
    assert code == EXIT["environment"] and "No space left" in err, (code, err)


@test
def a_run_writes_the_same_as_a_report_on_its_result():
    formats = ["html", "csv", "keyval", "junit", "hdr", "dns_metrics", "resperf", "openmetrics"]
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        files = {name: f"{folder}/out.{name}" for name in formats}
        result = ddiperf(ring(run={"duration": "1s"}, output=files))
        assert result.code == 0, result
        assert "<!doctype html" in Path(files.pop("html")).read_text()[:200].lower()
        for name in files:
            assert Path(files[name]).read_bytes() == written(result.json, name), name


@test
def outputs_that_cannot_be_are_known_before_the_run():
    result = ddiperf(ring(output={"csv": "/nonexistent/out.csv"}))
    assert result.code == EXIT["usage"] and "output.csv: /nonexistent/out.csv" in result.stderr, result
    search = {"variable": "traffic.queries.load.rate", "from": "1k", "to": "2k", "goals": [{"loss": "1%"}]}
    result = ddiperf(ring(output={"csv": "out.csv"}, search=search))
    assert result.code == EXIT["usage"] and "output.csv: a search has trials" in result.stderr, result
    result = ddiperf(ring(output={"csv": "same.txt", "keyval": "same.txt"}))
    assert result.code == EXIT["usage"] and "same.txt is the file of output.keyval: too" in result.stderr, result


main()
