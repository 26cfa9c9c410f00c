#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# The page of results in headless Chromium: no complaint and no request, each chart has the points of its data, each
# section is there if its data is, wide and narrow, light and dark, and on paper. In real time, as a browser is another
# process.

import functools
import json
import math
import re
import tempfile
from pathlib import Path

from browser import Browser
from harness import EXIT, ROOT, binary, ddiperf, execute, main, nightly, test
from loop import item, ring

SIZE = 1_000_000  # bytes of a page, an hour at 1 s included
HOUR = 3600
SLOW = {"delay": {"exponential": "2ms"}, "loss": {"every": 50}}
FOLDER = tempfile.TemporaryDirectory(prefix="ddiperf-page-")
HOSTILE = '</script><script>window.hurt = 1</script><img src=x onerror="window.hurt = 2"><!--'


@functools.cache
def browser():
    """One for all tests; ends with the program."""
    return Browser().__enter__()


def result_of(config, *options):
    """A result, with the last line of the terminal as its "said"."""
    result = ddiperf(config, *options)
    assert result.json, result
    return {**result.json, "said": result.stdout.strip().splitlines()[-1]}


@functools.cache
def dns(delay="2ms", name=HOSTILE):
    """A run that loses some, with criteria."""
    faults = {**SLOW, "delay": {"exponential": delay}}
    return result_of(ring(
        item(timeout="200ms", load={"rate": "1k"}), run={"duration": "1s", "name": name},
        criteria=["loss <= 1%", "p50 <= 100ms"], responder={"dns": {}, "faults": faults}))


@functools.cache
def dhcp(version):
    config = str(ROOT / "config" / f"dhcp{version}-selftest.yaml")
    rates = [f"traffic.{name}.load.rate=300" for name in ("relayed", "broadcasting" if version == 4 else "on_link")]
    sets = [*rates, "run.duration=1s", "run.interval=100ms", "run.warmup=0s"]
    return result_of(Path(config).read_text(), *[word for one in sets for word in ("--set", one)])


@functools.cache
def search(method):
    return result_of(ring(
        item(timeout="200ms", load={"rate": "1k"}), run={"duration": "1s", "interval": "100ms"},
        responder={"dns": {}, "faults": {"capacity": {"rate": "2k", "queue": 50}}},
        search={"variable": "traffic.queries.load.rate", "from": "500", "to": "8k", "goals": [{"loss": "1%"}], "method": method,
                "warmup": "0s", "trial": "100ms", "final": "200ms", "settle": "0s", "steps": "10", "width": "10%", "verify": 0}))


@functools.cache
def repeats():
    return result_of(ring(
        item(timeout="200ms", load={"rate": "2k"}), run={"duration": "200ms", "repeat": {"min": 4, "max": 4, "rest": "0s", "of": ["rate", "p99"]}},
        responder={"dns": {}, "faults": SLOW}))


def repeated(rate, loss):
    """Repeats with these figures, nearly the same in each."""
    document = json.loads(json.dumps(repeats()))
    for number, one in enumerate([document, *document["repeats"]]):
        one["traffic"][0].update(answered_per_s=rate + number, loss=loss + number / 1000)
    return document


def page_of(*documents, name="page", options=()):
    """The page's file."""
    files = []
    for number, document in enumerate(documents):
        files.append(Path(FOLDER.name) / f"{name}-{number}.json")
        files[-1].write_text(json.dumps(document))
    page = Path(FOLDER.name) / f"{name}.html"
    code, out, err = execute([binary(), "report", *files, "-o", page, *options])
    assert code == EXIT["pass"] and not out and not err, (code, out, err)
    assert page.stat().st_size < SIZE, page.stat().st_size
    return page


def check_quiet(b, where):
    assert not b.complaints(), (where, b.complaints())
    assert not b.requests(), (where, b.requests())


def charts(b):
    """{name: points}"""
    return {name: int(points) for name, points in b.value(
        "[...document.querySelectorAll('figure')].map(f => [f.dataset.chart, f.dataset.points])")}


def sections(b):
    return b.value("[...document.querySelectorAll('section')].map(s => s.id)")


def look(page, expected):
    """In all shapes: nothing to complain of, nothing wider than the window, every chart drawn, the same sections."""
    b = browser()
    for width, dark, media in ((1600, False, "screen"), (1600, True, "screen"), (400, False, "screen"), (400, True, "screen"),
                               (1000, False, "print")):
        where = (page.name, width, dark, media)
        if where[1:] == (1600, False, "screen"):
            b.open(page, width)
        else:
            b.change(width, dark, media)
        check_quiet(b, where)
        assert b.value("document.documentElement.scrollWidth") <= width, where
        assert sections(b) == expected, (where, sections(b))
        blank = b.value("""[...document.querySelectorAll('figure')].filter(f => {
            const c = f.querySelector('canvas'), box = c && c.getBoundingClientRect();
            if (!c || box.width < 200 || box.right > innerWidth + 1) return true;
            const copy = new OffscreenCanvas(80, 40).getContext('2d', {willReadFrequently: true});
            copy.drawImage(c, 0, 0, 80, 40);
            const pixels = copy.getImageData(0, 0, 80, 40).data;
            return new Set(new Uint32Array(pixels.buffer)).size < 3; }).map(f => f.dataset.chart)""")
        assert not blank, (where, blank)
        back = b.value("getComputedStyle(document.body).backgroundColor")
        assert (back == "rgb(255, 255, 255)") == (not dark), (where, back)
    return b


@nightly
def a_dark_page_is_printed_in_black_on_white():
    b = browser()
    b.open(page_of(dns()), dark=True)
    b.change(dark=True, media="")
    printed = b.send("Page.printToPDF", printBackground=False)["data"]
    check_quiet(b, "paper")
    assert len(printed) > 50_000, len(printed)
    b.change(dark=True, media="print")
    assert b.value("getComputedStyle(document.querySelector('nav')).display") == "none"
    white = "(() => {const c = document.querySelector('canvas.heat'), x = c.getContext('2d');" \
            "return new Uint32Array(x.getImageData(0, 0, c.width, c.height).data.buffer).filter(v => v === 0xffffffff).length})()"
    assert b.value(white) > 100, b.value(white)  # the ground between the fields


def check_sentence(b, document):
    """The head says what the terminal says, but for zeros behind the point."""
    words = b.value("[...document.querySelector('.verdict').children].map(c => c.textContent).join(': ')")
    plain = [re.sub(r"(\d)\.?0* %", r"\1 %", text) for text in (words, document["said"])]
    assert plain[0] == plain[1], plain


TIMED = ["load", "loss", "latency", "heat", "answers"]


def check_points(b, document, letter=""):
    found, count = charts(b), len(document["intervals"])
    for one in document["traffic"]:
        for chart in TIMED:
            prefix = letter if chart in ("heat", "answers") else ""
            assert found[f"{chart} {prefix}{one['name']}"] == count, (chart, one["name"], found, count)
        assert found[f"percentiles {one['name']}"] > 50
    assert found["workers"] == count


RUN = ["load", "latency", "heat", "answers", "ledger", "limit"]


@test
def a_run_of_dns_has_its_sections_charts_and_tables_with_its_verdict_first():
    document = dns()
    b = look(page_of(document), ["criteria", *RUN, "box"])
    check_points(b, document)
    assert b.value("document.querySelector('[data-verdict]').dataset.verdict") == document["verdict"]["status"].upper()
    check_sentence(b, document)
    rows = b.value("document.querySelectorAll('[data-table=criteria] tbody tr').length")
    assert rows == len(document["verdict"]["criteria"]), rows
    b.value("document.querySelectorAll('details').forEach(d => d.open = true)")
    b.settle()
    check_quiet(b, "tables")
    rows = b.value("document.querySelectorAll('[data-table=\"load queries\"] tbody tr').length")
    assert rows == len(document["intervals"]), rows
    assert b.value("document.querySelectorAll('[data-table=\"heat queries\"] tbody tr').length") > 10


@test
def lines_cover_their_intervals_and_nothing_is_cut_or_said_twice():
    document = json.loads(json.dumps(dns()))
    document["config"]["traffic"].append({**document["config"]["traffic"][0], "name": "more"})
    for one in [document, *document["intervals"]]:
        one["traffic"].append({**one["traffic"][0], "name": "more"})
    last = document["intervals"][-1]
    last["t_s"], last["traffic"][0]["loss"] = document["run"]["measured_s"] + 0.1, 1.0
    document["verdict"]["criteria"] = [{"expression": "p50 <= 1us", "value": 2e6, "pass": False}, {"expression": "p50 <= 1ms", "value": 2e6, "pass": False}]
    document["verdict"]["status"], document["verdict"]["limited_by"] = "fail", "undecided"
    b = browser()
    b.open(page_of(document, name="honest"), 1280)
    check_quiet(b, "honest")
    said = b.value("[...document.querySelectorAll('h2, h3, figcaption')].map(h => h.firstChild.textContent)")
    assert len(set(said)) == len(said), said
    margins = b.value("[...document.querySelectorAll('[data-table=criteria] td:last-child')].map(c => c.textContent)")
    assert margins == [" over 10 times the bound", " −100 %"], margins
    assert b.value("[...document.querySelectorAll('.big b')].every(b => b.getClientRects().length === 1 && b.clientHeight < 40)"), "a tile wraps"
    # The line of the first interval goes from 0 on, like its column of the heat map; the cursor in an interval shows it.
    chart = "ddiperf.charts.find(c => c.o.name === 'load queries')"
    assert b.value(f"""(() => {{const u = {chart}.plot, x = u.valToPos(u.data[0][0] / 4, 'x', true), y = u.valToPos(u.data[3][0], 'y', true);
        const all = new Uint32Array(u.ctx.getImageData(x, y - 2, 1, 5).data.buffer); return [...all].some(v => v === 0xffb27200)}})()"""), "the first interval is not drawn"
    end, start = [document["intervals"][n]["t_s"] for n in (5, 4)]
    for share in (0.1, 0.9):
        x = f"u.valToPos({start} + {share} * ({end} - {start}), 'x')"
        shown = b.value(f"(() => {{const u = {chart}.plot; u.setCursor({{left: {x}, top: 50}}); return u.cursor.idxs[3]}})()")
        assert shown == 5, (share, shown)
    # What is lost after the load is not in its scale, and nothing of the line is above it.
    top, most = b.value("(() => {const u = ddiperf.charts.find(c => c.o.name === 'loss queries').plot; return [u.scales.y.max, Math.max(...u.data[1])]})()")
    assert most <= top < 1 and b.value("ddiperf.runs[0].items[0].loss.at(-1)") == 1, (most, top)
    assert "max of the answered" in b.value("document.querySelector('#latency .u-legend').textContent")
    # Items are side by side, where there is room.
    where = "['queries', 'more'].map(n => document.querySelector(`[data-chart=\"load ${n}\"]`).getBoundingClientRect().y)"
    assert len(set(b.value(where))) == 1, b.value(where)
    b.change(390)
    assert len(set(b.value(where))) == 2, b.value(where)
    cut = "[...document.querySelectorAll('.folds td')].filter(c => c.getBoundingClientRect().right > innerWidth).map(c => c.textContent)"
    assert not b.value(cut) and b.value("document.querySelectorAll('.folds td').length"), b.value(cut)


@test
def a_tab_says_which_server_had_which_load():
    document = json.loads(json.dumps(dns()))
    for server, port, load, title in (("192.0.2.1", 5353, {"rate": 5000}, "192.0.2.1:5353, 5 000 per second"),
                                      ("2001:db8::1", 0, {"outstanding": 100}, "2001:db8::1, 100 in flight"),
                                      ("2001:db8::1", 5353, {"ramp": {}}, "[2001:db8::1]:5353")):
        document["config"]["traffic"][0].update(server=server, server_port=port, load=load)
        b = browser()
        b.open(page_of(document, name="title"))
        found = b.value("document.title").replace("\u202f", " ").replace("\u00a0", " ")
        assert found == f"{document['run']['name']}, {title} – ddiperf", found


@test
def text_of_a_result_is_text_and_known_labels_have_their_colours():
    document = json.loads(json.dumps(dns()))
    one, = document["traffic"]
    one["name"] = HOSTILE
    document["verdict"]["reasons"] = [HOSTILE]
    document["run"]["note"], document["run"]["labels"] = HOSTILE, [HOSTILE, "rack=1"]
    one["dns"]["rcode"] = {"SERVFAIL": 9, "NOERROR": 5, "BADCOOKIE": 3, HOSTILE: 5}
    one["steps"] = [{"name": "a-b", "sent": 9, "answered": 8, "failed": 0, "lost": 1,
                     "latency": {"response": {"p50_ns": 2e6, "p99_ns": None}}}]
    for interval in document["intervals"]:
        interval["traffic"][0]["dns"]["rcode"] = {"SERVFAIL": 1}
    document["intervals"][0]["traffic"][0]["dns"]["rcode"] = {HOSTILE: 5, "__proto__": 3, "SERVFAIL": 1}
    b = browser()
    b.open(page_of(document))
    check_quiet(b, "hostile")
    b.value("document.querySelectorAll('details').forEach(d => d.open = true)")
    b.settle()
    assert b.value("window.hurt") is None
    assert b.value("document.querySelector('h1').textContent") == HOSTILE
    assert f"{HOSTILE}, rack=1" in b.value("document.querySelector('.facts').textContent")
    assert b.value("document.querySelectorAll('main script, main img').length") == 0
    colours = dict(b.value("ddiperf.charts.find(c => c.o.name.startsWith('answers ')).o.lines.map(l => [l.name, l.colour])"))
    assert colours["SERVFAIL"] == "s6" and colours["NOERROR"] == "s1" and colours["BADCOOKIE"] not in ("s1", "s6"), colours
    assert HOSTILE in colours, colours
    row = b.value("document.querySelector('[data-table=steps] tbody tr').innerText")
    assert "2 ms" in row and row.endswith("lost"), row


@nightly
def exchanges_have_a_table_of_their_steps():
    for version in (4, 6):
        document = dhcp(version)
        b = look(page_of(document), ["criteria", *RUN, "box"])
        check_points(b, document)
        check_sentence(b, document)
        steps = [len(one["steps"]) for one in document["traffic"]]
        found = b.value("[...document.querySelectorAll('[data-table=steps]')].map(t => t.querySelectorAll('tbody tr').length)")
        assert found == steps, (found, steps)


@nightly
def connections_have_a_table_of_their_handshakes():
    one = item(load={"rate": "500"}, dns={"names": ["a.x A"], "transport": "tls", "tls": {"resume": "last"},
                                          "tcp": {"connections": 4, "queries_per_connection": 20}})
    document = result_of(ring(one, run={"duration": "1s"}, responder={"dns": {}, "tls": {}}))
    b = look(page_of(document), RUN + ["box"])
    check_points(b, document)
    rows = b.value("[...document.querySelectorAll('[data-table=connections] tbody tr')].map(r => r.innerText.split('\t').slice(0, 2))")
    found, tls = document["traffic"][0]["connections"], document["traffic"][0]["connections"]["tls"]
    assert rows == [["TCP handshake", str(found["established"])], ["full TLS handshake", str(tls["full"])],
                    ["resumed TLS handshake", str(tls["resumed"])], ["the tester's part of these", str(tls["begun"])],
                    ["to the first answer", str(found["first_answer"]["count"])]], (rows, tls)


@nightly
def searches_show_their_trials():
    for method in ("bisect", "ramp"):
        document = search(method)
        b = look(page_of(document), [*(["criteria"] if document["verdict"].get("reasons") else []), *RUN, "search", "box"])
        trials, found = len(document["search"]["trials"]), charts(b)
        names = ["search loss A", "search latency A", "search answered A"] + (["search order A"] if method == "bisect" else [])
        assert all(found[name] == trials for name in names), (found, trials)
        check_sentence(b, document)
        answer = b.value("document.querySelector('.big b').textContent").replace(" ", "")
        assert float(answer) == document["search"]["answer"], (answer, document["search"]["answer"])


@test
def two_results_are_laid_over_each_other_with_their_changes():
    faster, slower = repeated(1900, 0.02), repeated(1000, 0.4)
    b = look(page_of(faster, slower), ["criteria", *RUN, "repeats", "comparison", "box"])
    found = charts(b)
    assert found["repeats answered_per_s A: queries"] == found["repeats answered_per_s B: queries"] == 4, found
    lines = int(b.value("document.querySelector('[data-chart=\"load queries\"]').dataset.lines"))
    assert lines == 6, lines
    words = b.value("[...document.querySelectorAll('[data-table=changes] tbody tr')].map(r => r.innerText)")
    code, out, _ = execute([binary(), "compare", *[Path(FOLDER.name) / f"page-{n}.json" for n in (0, 1)]])
    figures = re.findall(r"^  (\S+) ", out, re.M)
    assert code == 0 and len(figures) == len(words), (figures, words)
    rate = next(row for row in words if "answered_per_s" in row)
    assert "worse" in rate and "−" in rate and "±" in rate, rate
    loss = next(row for row in words if "queries: loss" in row)
    assert "worse" in loss and "+" in loss, loss


@test
def figures_of_a_probe_are_charts_and_an_interval_may_come_while_the_page_is_open():
    names = ["asked", HOSTILE, *[f"more {n}" for n in range(9)]]
    document = json.loads(json.dumps(dns()))
    document["dut"] = {"format": "pairs", "samples": 9}
    for number, interval in enumerate(document["intervals"]):
        if number % 2 == 1:
            interval["dut"] = {"figures": [{"name": name, "value": number - 5} for name in names]}
    late = json.loads(json.dumps(document["intervals"][1]))
    b = look(page_of(document), ["criteria", *RUN, "box"])
    found = [name for name in charts(b) if name.startswith("probe ")]
    assert found == [f"probe {name}" for name in names[:8]], found
    values = "ddiperf.runs[0].probed.get('asked')"
    seen = b.value(f"{values}.map(v => Number.isNaN(v) ? null : v)")
    assert seen == [n - 5 if n % 2 else None for n in range(len(document["intervals"]))], seen
    b.value(f"ddiperf.add({json.dumps({**late, 't_s': 99})}), ddiperf.draw()")
    b.settle()
    check_quiet(b, "live")
    assert b.value(f"{values}.at(-1)") == -4
    found, count = charts(b), len(document["intervals"]) + 1
    assert all(found[f"{name} queries"] == count for name in TIMED), (found, count)
    answered = b.value("ddiperf.runs[0].items[0].answered.at(-1)")
    assert answered == late["traffic"][0]["answered_per_s"], answered
    document["dut"]["format"] = "proc_stat"
    for interval in document["intervals"][1::2]:
        interval["dut"] = {"figures": [{"name": "used", "value": 0.25}]}
    b.open(page_of(document, document))
    check_quiet(b, "two")
    assert "server's box" in b.value("document.querySelector('[data-chart=\"probe used\"] figcaption').textContent")
    assert b.value("document.querySelector('[data-chart=\"probe used\"]').dataset.lines") == "2"


def run_of(number, rate, p99, lost=False):
    """The run as number of a history."""
    document = json.loads(json.dumps(dns()))
    document["run"].update(id=f"id-{number}", started=f"2024-03-{number:02}T10:20:30Z", config_sha256="old" if number < 4 else "new")
    if number < 4:
        document["config"]["run"]["duration"] = "2s"
    document["verdict"]["status"] = "invalid" if number == 6 else "fail" if number % 5 == 0 else "pass"
    item = document["traffic"][0]
    item["answered_per_s"] = rate
    item["latency"]["response"]["p99_ns"] = None if lost else p99
    return document


@test
def a_history_is_a_trend_with_its_judgement():
    past = [run_of(n, 990 + 3 * (n % 3), 9e6 + 1e5 * (n % 4)) for n in range(1, 15)]
    history = Path(FOLDER.name) / "history.jsonl"
    for number, document in enumerate(past):
        (Path(FOLDER.name) / f"past-{number}.json").write_text(json.dumps(document))
    code, _, err = execute([binary(), "report", *[Path(FOLDER.name) / f"past-{n}.json" for n in range(len(past))], "--append", history])
    assert code == 0, err
    names = ["answered_per_s", "loss", "latency.response.p50_ns", "latency.response.p99_ns"]
    options = ["--history", str(history)]
    b = look(page_of(run_of(15, 900, 9.1e6), name="trend", options=options), ["criteria", *RUN, "trend", "box"])
    found = charts(b)
    assert all(found[f"trend queries {name}"] == 15 for name in names), found
    said = b.value("document.querySelector('#trend p').textContent")
    assert "worse than the last 10 runs" in said and "answered per second (> 99.99 % confidence)" in said and "p99" not in said, said
    lines = "ddiperf.charts.find(c => c.o.name === 'trend queries answered_per_s').table().innerText"
    assert "15: 2024-03-15 10:20" in b.value(f"(() => {{const t = {lines}; return t}})()"), b.value(lines)
    # A percentile among the lost is at the top, and the run of the history itself is its last point.
    b.open(page_of(run_of(16, 992, 0, lost=True), name="trend", options=options))
    check_quiet(b, "lost")
    assert b.value("document.querySelector('#trend').textContent").count("this run lost") == 1
    b.open(page_of(past[4], name="trend", options=options))
    assert charts(b)["trend queries loss"] == 5 and "Not judged" in b.value("document.querySelector('#trend p').textContent")
    for words in (["--format", "csv"], ["--brief"], []):
        code, _, err = execute([binary(), "report", Path(FOLDER.name) / "past-0.json", *options, *words])
        assert code == EXIT["usage"] and "--history" in err, (words, code, err)


@test
def a_result_with_nearly_nothing_still_has_a_page():
    b = browser()
    for document in (
            {"schema": "ddiperf-result/1"},
            {"schema": "ddiperf-result/1", "run": [], "verdict": {"status": 7}, "traffic": [3, {"name": {}}, {"steps": [1]}],
             "intervals": [{}, {"t_s": None, "traffic": 9}], "search": {"trials": [{}, 4]}, "repeats": [1, 2], "workers": [{}],
             "confidence": {"figures": [{}]}, "config": [[]], "ports": {"a": 1}}):
        b.open(page_of(document))
        check_quiet(b, document)
        assert b.value("document.querySelectorAll('.badge').length") == 1


def hour(seconds=HOUR, length=1):
    """A run of that long, from the intervals of a short one."""
    document = json.loads(json.dumps(dns()))
    busy = [one for one in document["intervals"] if one["traffic"][0]["answered"]]
    document["run"]["measured_s"] = seconds
    document["intervals"] = []
    for i in range(seconds // length):
        one = {**busy[i % len(busy)], "t_s": (i + 1.000000123) * length, "length_s": length}
        traffic = dict(one["traffic"][0])
        traffic["due_per_s"] *= 1 + 0.3 * math.sin(i / 50)
        traffic["answered_per_s"] *= 1 + 0.29 * math.sin(i / 50.01)
        one = {"t_s": one["t_s"], "length_s": length, "traffic": [traffic], "workers": one["workers"]}
        for key in ("by_due", "send_lag", "steps"):
            traffic.pop(key, None)
        document["intervals"].append(one)
    document["intervals"][seconds // length // 2]["traffic"][0]["due_per_s"] = 123456
    return document


@nightly
def an_hour_keeps_each_interval_and_eight_hours_their_extremes():
    b = browser()
    b.open(page_of(hour()))
    check_quiet(b, "an hour")
    found = charts(b)
    assert found["load queries"] == found["latency queries"] == found["answers queries"] == HOUR, found
    assert 100 < found["heat queries"] <= 400, found
    paint = b.value("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    drawn = b.value("performance.getEntriesByName('drawn')[0].startTime")
    print(f"# an hour: first paint after {paint:.0f} ms, all drawn after {drawn:.0f} ms", flush=True)
    assert paint < drawn, (paint, drawn)  # the verdict does not wait for the charts
    b.open(page_of(hour(8 * HOUR, 3)))
    check_quiet(b, "eight hours")
    assert 1000 < charts(b)["load queries"] < 8 * HOUR // 3
    assert max(b.value("ddiperf.runs[0].items[0].due")) in (123456, 123500), "the greatest value is gone"


@test
def a_history_that_differs_by_factors_is_too_noisy():
    history = Path(FOLDER.name) / "noisy.jsonl"
    for number, p99 in enumerate((1e6, 30e6, 3e6), 11):
        (Path(FOLDER.name) / "noisy.json").write_text(json.dumps(run_of(number, 990, p99)))
        code, _, err = execute([binary(), "report", Path(FOLDER.name) / "noisy.json", "--append", history])
        assert code == 0, err
    b = look(page_of(run_of(14, 990, 9e6), name="noisy", options=["--history", str(history)]), ["criteria", *RUN, "trend", "box"])
    said = b.value("document.querySelector('#trend p').textContent")
    assert said.startswith("Too noisy to judge (queries response p99)") and "not known to be worse than the last 3 runs" in said, said


@test
def a_zoom_is_that_of_all_charts_over_time_and_in_the_address():
    b = browser()
    page = page_of(dns())
    b.open(page, fragment="#latency,0.2s-0.6s")
    check_quiet(b, "zoom")
    ranges = "ddiperf.charts.filter(c => c.plot && c.timed).map(c => [c.plot.scales.x.min, c.plot.scales.x.max])"
    assert all(one == [0.2, 0.6] for one in b.value(ranges)) and len(b.value(ranges)) >= 5, b.value(ranges)
    assert b.value("scrollY") > 0
    # Drag over the first chart, wherever what a run has to say puts it; it is told of the scroll by an event.
    b.value("document.querySelector('.u-over').scrollIntoView({block: 'center'})")
    b.settle()
    box = b.value("(() => {const r = document.querySelector('.u-over').getBoundingClientRect();"
                  "return [r.x, r.y, r.width, r.height]})()")
    y = box[1] + box[3] / 2
    b.mouse("mousePressed", box[0] + box[2] * 0.25, y)
    b.mouse("mouseMoved", box[0] + box[2] * 0.5, y)
    b.mouse("mouseReleased", box[0] + box[2] * 0.5, y)
    b.settle()
    found = b.value(ranges)
    assert all(abs(low - 0.3) < 0.01 and abs(high - 0.4) < 0.01 for low, high in found), found
    place = b.value("location.hash")
    assert re.fullmatch(r"#load,0\.\d+s-0\.\d+s", place), place
    for clicks in (1, 2):
        b.mouse("mousePressed", box[0] + 50, y, clicks)
        b.mouse("mouseReleased", box[0] + 50, y, clicks)
    b.settle()
    assert all(low == 0 and high > 0.9 for low, high in b.value(ranges)), b.value(ranges)
    # The readout is that of the data under the cursor, in all charts.
    b.mouse("mouseMoved", box[0] + box[2] * 0.5, y)
    b.settle()
    shown = b.value("[...document.querySelectorAll('#load .u-value')].map(v => v.textContent)")
    assert all(value != "–" for value in shown), shown
    # A legend entry hides its line.
    b.value("document.querySelectorAll('#load .u-legend .u-series')[1].querySelector('th').click()")
    assert b.value("ddiperf.charts[0].plot.series[1].show") is False


@nightly
def the_configuration_of_the_page_is_one_that_the_program_reads():
    for document in (dns(), dhcp(4), dhcp(6), search("bisect")):
        b = browser()
        b.open(page_of(document))
        written = b.value("document.querySelector('[data-text=config]').textContent")
        result = ddiperf(written, command="check")
        assert result.code == EXIT["pass"], (result, written)


main()
