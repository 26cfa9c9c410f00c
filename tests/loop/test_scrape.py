#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# /metrics while a run goes on, read by hand and by a real Prometheus that the board's expressions are evaluated against. In
# real time, as who reads is another process.

import json
import re
import shutil
import signal
import socket
import tempfile
import time
import urllib.parse
from contextlib import contextmanager
from pathlib import Path

import dhcp4
from harness import EXIT, ROOT, binary, config_file, ddiperf, execute, kill, main, nightly, start, test, until
from loop import item, ring
from prometheus import asked, get, prometheus

BOARD = ROOT / "config" / "grafana.json"
SAMPLE = re.compile(r"^(\w+)(\{.*\})? (\S+)$")


def served(*items, place="0", **sections):
    sections.setdefault("run", {"duration": "60s"})
    return ring(*items, output={"prometheus": place}, **sections)


@contextmanager
def running(text, *options):
    """(process, address of its metrics) of a run in the background; whatever happens, it ends with the block."""
    with config_file(text) as path:
        process = start([binary(), "run", str(path), *options])
        try:
            said = process.stderr.readline()
            yield process, re.search(r"http://\S+", said)[0]
        finally:
            kill(process)
            process.communicate()


def samples(url):
    """{(name, labels): value}"""
    status, headers, text = get(url)
    assert status == 200 and headers["Content-Type"].startswith("text/plain; version=0.0.4"), (status, headers)
    return {(found[1], found[2] or ""): float(found[3]) for found in map(SAMPLE.match, text.splitlines()) if found}


def seen(url, name, least=1):
    """All samples, as soon as that one of the item is so high."""
    return until(lambda: (s := samples(url)).get((name, '{item="queries"}'), 0) >= least and s, f"{name} >= {least}")


def check_item(s):
    def count(name):
        return s[f"ddiperf_traffic_{name}_total", '{item="queries"}']

    in_flight = s["ddiperf_traffic_in_flight", '{item="queries"}']
    assert count("sent") == sum(map(count, ("answered", "failed", "lost", "no_reply"))) + in_flight, s
    buckets = [(float(re.search(r'le="(.*?)"', labels)[1]), n) for (name, labels), n in s.items()
               if name == "ddiperf_traffic_latency_response_seconds_bucket" and 'item="queries"' in labels]
    assert len(buckets) > 10 and buckets == sorted(buckets) and buckets[-1] == (float("inf"), count("answered")), buckets
    assert [n for _, n in buckets] == sorted(n for _, n in buckets), buckets


def check_running(process, url):
    first = seen(url, "ddiperf_traffic_answered_total")
    check_item(first)
    more = seen(url, "ddiperf_traffic_answered_total", first["ddiperf_traffic_answered_total", '{item="queries"}'] + 1)
    check_item(more)
    assert all(more[key] >= n for key, n in first.items() if re.search("_total$|_bucket$|_count$", key[0])), (first, more)
    length = more["ddiperf_interval_length_seconds", ""]  # a busy box makes one interval of two
    assert abs(length - round(length, 1)) < 0.01 and more["ddiperf_run_number", ""] == 1, more
    assert more["ddiperf_interval_t_seconds", ""] > first["ddiperf_interval_t_seconds", ""], (first, more)
    assert not [key for key in more if key[0].startswith("ddiperf_interval") and key[0].endswith("_total")], more
    if shutil.which("promtool"):
        with tempfile.NamedTemporaryFile() as file:
            file.write(get(url)[2].encode())
            file.flush()
            said = execute(["sh", "-c", 'exec promtool check metrics <"$0"', file.name])
        assert said == (0, "", ""), said
    # The thread that talks to strangers has no power, and the management CPU.
    tasks = [(task / "status").read_text() for task in Path(f"/proc/{process.pid}/task").iterdir()]
    own, = [one for one in tasks if one.startswith("Name:\tMHD")]
    assert re.search(r"CapEff:\t0+\n", own) and re.search(r"CapPrm:\t0+\n", own), own
    assert "NoNewPrivs:\t1\n" in own and "Cpus_allowed_list:\t0\n" in own, own


@test
def counts_grow_and_are_those_of_the_result_and_gauges_are_of_the_newest_interval():
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        out = Path(folder) / "result.json"
        with running(served(item(), dhcp4.clients(load={"rate": "1k"}), responder={"dns": {}, **dhcp4.answers()}, host={"management_cpu": 0}),
                     "--json", str(out)) as (process, url):
            check_running(process, url)
            # But for those that come from the end of the run.
            live = {name for name, _ in until(lambda: seen(url, "ddiperf_traffic_answered_total", 200), "counts")}
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=20)
            assert process.returncode == EXIT["interrupted"], process.returncode
        code, text, _ = execute([binary(), "report", str(out), "--format", "prometheus"])
    assert code == 0
    names = set(re.findall(r"^# TYPE (\S+) (?:counter|histogram)$", text, re.M))
    live |= {name.removesuffix("_bucket") for name in live}
    late = re.compile(r"_count_total$|_unsent_total$|_cpu_|_dut_|_latency_service_seconds$|_send_lag_seconds$|_steps_latency_"
                      r"|_probe_|_links?_|_downs_|_responder_(?:gaps|stolen|faults|protocols)|_service_|_passes_|_servers_heard_")
    assert not {name for name in names - live if not late.search(name)}, names - live
    assert {"ddiperf_traffic_steps_answered_total", "ddiperf_traffic_dns_rcode_total",
            "ddiperf_traffic_latency_response_seconds", "ddiperf_responder_answered_total"} <= live, live


@test
def each_run_of_a_series_begins_anew():
    text = served(item(load={"rate": "1k"}), run={"duration": "1s", "repeat": {"min": 3, "max": 3, "rest": "0s"}})
    with running(text) as (_, url):
        numbers = set()
        until(lambda: numbers.add(samples(url)["ddiperf_run_number", ""]) or 2 in numbers, "the second run")
        assert numbers == {1, 2}, numbers
        assert seen(url, "ddiperf_traffic_due_total")["ddiperf_traffic_due_total", '{item="queries"}'] <= 1000


@test
def only_get_of_metrics_is_answered():
    with running(served()) as (process, url):
        seen(url, "ddiperf_traffic_answered_total")
        assert get(url.removesuffix("metrics"))[0] == get(url + "/x")[0] == get(url + "x", "POST", b"x")[0] == 404
        for method, data in (("POST", b"x" * 100000), ("PUT", b"x"), ("DELETE", None), ("HEAD", None), ("BREW", None)):
            status, headers, _ = get(url, method, data)
            assert (status, headers["Allow"]) == (405, "GET"), (method, status, headers)
        # A crowd that says nothing, and one that says nonsense, are borne.
        where = ("127.0.0.1", urllib.parse.urlsplit(url).port)

        def files():
            return len(list(Path(f"/proc/{process.pid}/fd").iterdir()))

        before = files()
        crowd = [socket.create_connection(where) for _ in range(30)]
        until(lambda: files() - before >= 10, lambda: f"connections beside {before} files: {files()}")
        time.sleep(0.2)  # for those that are too many
        # A file that the run has open for a moment, or a connection that is being refused, is none of them.
        held = min(files() for _ in range(20))
        assert held - before <= 16, (held, before)
        for one in crowd:
            one.close()
        for nonsense in (b"\0" * 5000, b"GET /metrics\r\n\r\n", b"GET " + b"/" * 100000, b"GET /metrics HTTP/1.1\r\n" + b"a: b\r\n" * 20000):
            with socket.create_connection(where) as one:
                try:
                    one.sendall(nonsense)
                except ConnectionError:
                    pass
        check_item(samples(url))
        until(lambda: files() <= before, lambda: f"the end of connections, beside {before} files: {files()}")


@test
def a_place_that_is_taken_is_known_before_the_run_and_one_for_others_is_told():
    with socket.create_server(("127.0.0.1", 0)) as other:
        place = f"127.0.0.1:{other.getsockname()[1]}"
        for place in (place, place.split(":")[1]):
            result = ddiperf(served(place=place))
            assert result.code == EXIT["environment"] and not result.json, result
            assert f"output.prometheus: {place}: Address already in use" in result.stderr, result
    short = {"duration": "100ms"}
    assert "can be reached from other hosts" in ddiperf(served(place="0.0.0.0:0", run=short), "--quiet").stderr
    assert "http://127.0.0.1:" in (alone := ddiperf(served(run=short))).stderr, alone
    assert "not of this host" not in alone.stderr and "http" not in ddiperf(served(run=short), "--quiet").stderr, alone
    if Path("/proc/net/if_inet6").exists() and "::1" in execute(["ip", "-6", "addr", "show", "lo"])[1]:
        assert "http://[::1]:" in ddiperf(served(place="[::1]:0", run=short)).stderr


@nightly
def every_expression_of_the_board_has_data():
    board = json.loads(BOARD.read_text())
    expressions = [target["expr"].replace("$__rate_interval", "3s").replace("$item", ".*")
                   for panel in board["panels"] for target in panel["targets"]]
    assert len(expressions) > 30 and len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    text = served(item(), dhcp4.clients(load={"rate": "500"}), responder={"dns": {}, **dhcp4.answers()})
    with running(text) as (_, url), tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        with prometheus(url, folder, "200ms") as api:
            until(lambda: asked(api, "rate(ddiperf_traffic_answered_total[3s]) > 0"), "a rate")
            for expression in expressions:
                until(lambda e=expression: asked(api, e), expression, seconds=5)
            assert not [one for one in asked(api, "up") if one["value"][1] != "1"]
            health = asked(api, "scrape_samples_scraped")
            assert float(health[0]["value"][1]) > 100, health


main()
