#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Formats of results, as programs of others read them, and the same at a run's end.

import copy
import json
import re
import shutil
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from harness import ROOT, binary, ddiperf, execute, main, skip, test
from loop import item, ring

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


def written(document, name, *options):
    """The octets of a format."""
    with tempfile.NamedTemporaryFile() as file:
        assert good(document, options=["--format", name, "-o", file.name, *options]) == ""
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


SVG = "{http://www.w3.org/2000/svg}"


def sheet(document, *options):
    """The parsed sheet of charts, and their titles. Each has an explanation, and all of it is within the sheet."""
    text = written(document, "svg", *options).decode()
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg" and len(text) < 100_000, len(text)
    assert not re.search(r"href|url\(|@import|<script|nan|inf\b", text.replace("http://www.w3.org/2000/svg", "")), text[:2000]
    charts = root.findall(f"{SVG}g")
    assert root.find(f"{SVG}title").text and root.find(f"{SVG}desc").text, text[:500]
    assert all(chart.find(f"{SVG}desc").text for chart in charts), text[:2000]
    width, height = float(root.get("width")), float(root.get("height"))
    for path in root.iter(f"{SVG}path"):
        for x, y in re.findall(r"[ML]([-\d.]+) ([-\d.]+)", path.get("d")):
            assert 0 <= float(x) <= width and 0 <= float(y) <= height, path.get("d")
    assert written(document, "svg", *options).decode() == text
    return root, [chart.find(f"{SVG}title").text for chart in charts]


def lines_of(root, title):
    """{name: points} of a chart."""
    [chart] = [g for g in root.findall(f"{SVG}g") if g.find(f"{SVG}title").text == title]
    return {path.get("aria-label"): [tuple(map(float, p)) for p in re.findall(r"[ML]([-\d.]+) ([-\d.]+)", path.get("d"))]
            for path in chart.findall(f"{SVG}path") if path.get("aria-label")}


@test
def charts_are_valid_svg_of_every_result():
    single = ["Rate", "Loss", "Latency", "Latency by percentile"]
    document = measured(RUN)
    root, titles = sheet(document)
    assert titles == single and root.find(f"{SVG}title").text.endswith(": DONE"), (titles, root.find(f"{SVG}title").text)
    assert sheet(document, "--select", "loss")[1] == ["Loss"]
    points = lines_of(root, "Rate")["answered"]
    assert len(points) == len([i for i in document["intervals"] if i["traffic"][0]["due"]]) and points == sorted(points)
    # Two items, and names with every character that XML knows.
    odd = copy.deepcopy(GOLDEN)
    odd["run"]["name"] = odd["traffic"][1]["name"] = "<a> & \"b\" \x01\ufffe'\u00e9"
    for interval in odd["intervals"]:
        interval["traffic"][1]["name"] = odd["traffic"][1]["name"]
    root, titles = sheet(odd)
    shown = "<a> & \"b\" ??'\u00e9"
    assert root.find(f"{SVG}title").text == f"{shown}: FAIL", root.find(f"{SVG}title").text
    assert titles == [f"{name}: {chart}" for name in ("queries", shown) for chart in single[:3]] + single[3:], titles
    # Nothing answered: crosses at the upper edge instead of latencies.
    lost = ddiperf(ring(item(timeout="50ms"), run={"duration": "1s"},
                        responder={"dns": {}, "faults": {"loss": {"every": 1}}})).json
    root, titles = sheet(lost)
    assert titles == single[:3] and len(lines_of(root, "Loss")["lost, of those that ended"]) == 10, titles
    assert set(lines_of(root, "Latency")) == {"lost"} and len(lines_of(root, "Latency")["lost"]) == 10, titles
    # Without intervals the percentiles are left, and without answers nothing.
    assert sheet({**document, "intervals": []})[1] == single[3:]
    root, titles = sheet({**lost, "intervals": []})
    assert not titles and "no figures for a chart" in "".join(root.itertext()), titles
    # Eight hours are thinned out, and keep the longest latency.
    long = copy.deepcopy(document)
    one = {k: v for k, v in long["intervals"][0]["traffic"][0].items() if not isinstance(v, (dict, list))}
    long["intervals"] = [{"t_s": t + 1, "length_s": 1, "traffic": [{**one, "max_ns": 9e9 if t == 20000 else 1e6}]}
                         for t in range(28800)]
    root, titles = sheet(long)
    points = lines_of(root, "Latency")["longest answered"]
    assert titles == single and 200 < len(points) <= 400, len(points)
    assert len({y for x, y in points}) == 2, points


@test
def charts_of_a_search_have_its_trials_and_bounds():
    search = {"variable": "traffic.queries.load.rate", "from": "100", "to": "2k", "goals": [{"loss": "1%", "p99": "20ms"}],
              "method": "bisect", "trial": "200ms", "final": "200ms", "warmup": "100ms", "width": "20%", "settle": "0s"}
    dut = {"dns": {}, "faults": {"capacity": {"rate": "600", "queue": 1}}}
    result = ddiperf(ring(item(timeout="100ms"), search=search, responder=dut))
    assert result.code == 0, result
    root, titles = sheet(result.json)
    assert titles[:2] == ["Loss of the trials", "p99 of the trials"], titles
    assert sheet(result.json, "--select", "search")[1] == titles[:2]
    verdicts = [trial["verdict"] for trial in result.json["search"]["trials"]]
    for chart in root.findall(f"{SVG}g")[:2]:
        rings = [c for c in chart.findall(f"{SVG}circle") if c.get("fill") == "none"]
        crosses = [p for p in chart.findall(f"{SVG}path") if "l6 6m0" in p.get("d")]
        assert len(rings) - 1 == verdicts.count("pass") > 0, (len(rings), verdicts)  # one is in the legend
        assert len(crosses) - 1 == verdicts.count("fail") > 0, (len(crosses), verdicts)
        texts = [text.text for text in chart.findall(f"{SVG}text")]
        assert "answer" in texts and "not met" in texts, texts
    assert "goal: at most 1.00 %" in "".join(root.itertext()), texts
    assert "goal: at most 20.0 ms" in texts, texts


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
def a_run_writes_the_same_as_a_report_on_its_result():
    formats = ["html", "csv", "keyval", "junit", "hdr", "dns_metrics", "resperf", "openmetrics"]
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        files = {name: f"{folder}/out.{name}" for name in formats}
        result = ddiperf(ring(run={"duration": "1s"}, output=files))
        assert result.code == 0, result
        assert "<!doctype html" in Path(files["html"]).read_text()[:200].lower()
        for name in files:
            assert Path(files[name]).read_bytes() == written(result.json, name), name


@test
def the_figure_of_merit_of_a_run_stands_alone():
    result = ddiperf(ring(), "--brief", "--quiet")
    assert result.code == 0 and result.stdout == f"{result.item('queries')['answered_per_s']:.2f}\n", result


main()
