#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# The Python package (lib/python, docs/python.md) with the program and with servers of runs, as they are and as they fail,
# and the examples of its page. In real time, as it follows processes.

import dataclasses
import json
import os
import re
import signal
import socket
import ssl
import sys
import tempfile
import threading
import time
from pathlib import Path

from harness import ROOT, Box, binary, config_file, execute, main, start, test, timing, until
from loop import free_port, item, ring
from serving import LOCAL, Server, quick, wait_for_intervals

sys.path.insert(0, str(ROOT / "lib" / "python"))
import ddiperf  # noqa: E402

PAGE = (ROOT / "docs" / "python.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
LONG = {"run.duration": "10m"}
WRONG = "run: {duraton: 1s}\nports: []\ntraffic:\n  - {name: q, server: 127.0.0.1, load: {rate: x}, dns: {names: [a A]}}\n"


def refused(kind, function, *arguments, **named):
    """The exception of that very kind that a call ends with."""
    try:
        got = function(*arguments, **named)
    except ddiperf.DdiperfError as error:
        assert type(error) is kind, (kind, type(error), error)
        assert str(error) == error.message and error.message, repr(error)
        return error
    raise AssertionError(f"no {kind.__name__}: {got}")


def client_of(server, **options):
    return ddiperf.Client(f"http://127.0.0.1:{server.port}", **options)


def check(result):
    Box.saw(result.raw)
    return result


# --- the program ---


@test
def a_file_a_text_and_a_mapping_give_a_result():
    text = ring(item(load={"rate": "1k"}), criteria=["loss <= 50%", "answered >= 100k"])
    settings = {"run.duration": "200ms", "run.labels": ["a=1"]}
    with config_file(text) as path:
        for config in (path, str(path), text, json.loads(text)):
            result = check(ddiperf.run(config, settings=settings, timeout=60, program=binary()))
            assert (result.verdict.status, result.exit_code, result.passed) == ("fail", 1, False), result.verdict
            queries = result.item("queries")
            assert queries.sent == 200 == queries.answered + queries.failed + queries.lost, queries
            assert result.counter("traffic.queries.dns.rcode.NOERROR") == queries.answered and result.counter("traffic.queries.dns.rcode.NOTAUTH") == 0
            assert result.get("run.labels") == ["a=1"] and result.text("config.run.duration") == "200ms" and result.figure("workers[0].busy") > 0
            assert sum(one.item("queries").due for one in result.intervals) == 200 and len(result.intervals) >= 2
            assert queries.response.min_ns <= queries.response.p50_ns <= queries.response.max_ns and queries.response.p9999_ns is None
            loss, answered = result.verdict.criteria
            assert (loss.bound, loss.margin, loss.passed) == (0.5, (0.5 - queries.loss) / 0.5, True), loss
            assert (answered.bound, answered.value, answered.passed) == (100e3, queries.answered, False) and answered.margin < -0.99, answered
            error = refused(ddiperf.VerdictError, result.require)
            assert "criterion not met: answered >= 100k" in str(error) and error.result is result and error.exit_code == 1
    assert ddiperf.run(quick("100ms"), program=binary()).require().passed
    one = ddiperf.command("run", "-", "--set", "run.seed=7", stdin=quick("100ms"), program=binary())
    assert one.get("run.seed") == 7


@test
def an_error_carries_all_that_the_program_said():
    error = refused(ddiperf.ConfigError, ddiperf.run, WRONG, program=binary())
    found = [(one.line, one.column, one.path) for one in error.problems]
    assert (1, 7, "run") in found and (4, 47, "traffic.q.load.rate") in found and error.exit_code == 2, error.problems
    assert 'unknown key "duraton" (did you mean "duration"?)' in str(error) and str(error).count("\n") == len(found) - 1
    error = refused(ddiperf.ConfigError, ddiperf.run, quick(), settings=["run.duration=1"], program=binary())
    assert [(one.line, one.path) for one in error.problems] == [(0, "run.duration")], error.problems
    error = refused(ddiperf.ConfigError, ddiperf.run, Path("/nowhere.yaml"), program=binary())
    assert "cannot read it" in str(error)
    lost = {"ports": [{"name": "x", "driver": "af_packet", "device": "nope0", "addresses": ["192.0.2.1/24"]}], "traffic": [item(server="192.0.2.2")]}
    error = refused(ddiperf.ProgramError, ddiperf.run, lost, program=binary())
    assert error.exit_code == 3 and "nope0" in str(error), error
    error = refused(ddiperf.ProgramError, ddiperf.run, lost, program="/nowhere/ddiperf")
    assert "/nowhere/ddiperf cannot be started: No such file" in str(error) and error.exit_code is None
    began = time.monotonic()
    error = refused(ddiperf.Timeout, ddiperf.run, quick(), settings=LONG, timeout=2, program=binary())
    assert isinstance(error, TimeoutError) and "within 2 s" in str(error)
    timing(time.monotonic() - began < 20, "it was not interrupted")


@test
def results_of_other_versions_are_read():
    """Members that are absent, unknown or of another type are no error, at any place."""
    golden = json.loads((ROOT / "tests" / "golden" / "result.json").read_text())
    result = ddiperf.Result.of(golden)
    assert [(one.passed, one.value) for one in result.verdict.criteria][:2] == [(True, 3e-05), (False, None)]
    assert result.verdict.criteria[2].bound is None and result.verdict.criteria[1].margin is None and result.verdict.criteria[3].bound == 2e6
    assert result.item("probes").protocol == "dns" and result.figure("traffic.probes.foreseen.due") == 501.5
    refusal = None
    try:
        result.item("none")
    except KeyError as error:
        refusal = str(error)
    assert refusal and "queries, probes" in refusal

    def places(node, path=()):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
            yield (*path, key)
            yield from places(value, (*path, key))

    for path in [one for one in places(golden) if len(one) < 5 and one[0] in ("run", "verdict", "traffic", "intervals")]:
        for value in (None, [], {"new": 1}, "text"):
            changed = json.loads(json.dumps(golden))
            node = changed
            for key in path[:-1]:
                node = node[key]
            node[path[-1]] = value
            ddiperf.Result.of(changed)
    assert ddiperf.Result.of({}).verdict.status == "" and ddiperf.Result.of({}).search is None
    with tempfile.TemporaryDirectory() as folder:
        result.save(Path(folder, "result.json"))
        assert ddiperf.Result.load(Path(folder, "result.json")) == result


# --- a server ---


@test
def a_run_is_followed_ordered_and_fetched():
    with Server() as server:
        client = client_of(server)
        assert re.fullmatch(r"\d+\.\d+\.\d+.*", client.version()) and client.runs() == []
        client.put_file("queries.txt", b"a.example.com A\n")
        document = json.loads(quick("3s", output={"csv": "table.csv"}))
        document["traffic"][0]["dns"] = {"queries": "queries.txt"}
        run = client.start(document, settings={"run.name": "x"})
        seen = []
        for one in run.follow(timeout=60):
            seen.append(one)
            if isinstance(one, ddiperf.Interval) and len(seen) == 3:
                run.set_rate("queries", 500)
                run.order("traffic.queries.load.rate=5k")
        kinds = [type(one) for one in seen]
        begin, end, state = seen[0], seen[-2], seen[-1]
        assert kinds[0] is ddiperf.Begin and kinds[-2:] == [ddiperf.End, ddiperf.RunState] and (begin.run, begin.duration_s) == (1, 3), seen
        accepted, turned_down = [one for one in seen if isinstance(one, ddiperf.Order)]
        assert accepted.order == "traffic.queries.load.rate=500" and accepted.refused is None and "can be" in turned_down.refused, turned_down
        assert end.verdict.status == "done" == state.verdict and not state.running and state.exit_code == 0 and state.name == "x", (end, state)
        assert state == run.state() == run.wait() == client.runs()[0] == client.get(run.id).state()
        result = check(run.result())
        intervals = [one for one in seen if isinstance(one, ddiperf.Interval)]
        assert sum(one.item("queries").due for one in intervals) == result.item("queries").due < 3000, result.item("queries")
        assert [one.number for one in run.intervals()] == [one.number for one in intervals] and intervals[-1].last
        [first] = [one for one in run.follow(from_line=len(seen) - 1) if not isinstance(one, ddiperf.RunState)]
        assert first == end and result.id == run.id == result.text("run.id")
        assert run.report("keyval").startswith("schema=") and "<testsuite" in run.report("junit") and "<!doctype html>" in run.report().lower()
        assert run.output("table.csv").startswith(b"t_s") and "requests sent" in run.log() and json.loads(run.config()) == document
        assert [one["run"]["id"] for one in client.history()] == [run.id]
        [stored] = [name for name in client.files() if name.startswith("python-")]
        assert json.loads(client.file(stored)) == document
        assert client.start(document, settings=LONG).state().file == stored and client.start(quick(prefix="o"), name="other.yaml").state().file == "other.yaml"
        going = client.get(client.runs()[0].id) if client.runs()[0].file == stored else client.get(client.runs()[1].id)
        wait_for_intervals(server, going.id)
        going.stop()
        assert going.result(60).verdict.status == "interrupted"
        run.delete()
        assert refused(ddiperf.NotFoundError, run.state).status == 404
        client.delete_file(stored)
        assert stored not in client.files()


@test
def a_search_has_its_trials_and_its_answer():
    text = quick(search={"method": "bisect", "variable": "traffic.queries.load.rate", "from": 500, "to": "1k", "goals": [{"loss": "90%"}],
                         "trial": "100ms", "final": "200ms", "warmup": "0s", "settle": "0s"})
    with Server() as server:
        run = client_of(server).start(text)
        lines = [one for one in run.follow(timeout=60) if isinstance(one, ddiperf.SearchProgress)]
        search = check(run.result()).search
        assert search.answer == 1000 == search.goals[0].answer and search.goals[0].upper is None and search.method == "bisect", search
        assert [one.verdict for one in search.trials] == ["pass"] * len(search.trials) and search.trials[0].rate == 1000, search
        assert [(one.number, one.trial.verdict) for one in lines] == [(n + 1, v) for n in range(len(search.trials)) for v in (None, "pass")], lines
        assert lines[-1].answer == 1000


@test
def what_a_server_refuses_says_why():
    with Server() as server:
        client = client_of(server)
        for error in (refused(ddiperf.ConfigError, client.start, WRONG), refused(ddiperf.ConfigError, client.run, WRONG)):
            assert {(one.line, one.column, one.path) for one in error.problems} >= {(1, 7, "run"), (4, 47, "traffic.q.load.rate")}, error.problems
        assert client.check(WRONG) == error.problems and client.check(quick()) == ()
        error = refused(ddiperf.ConfigError, client.start, quick(), settings={"run.duration": 1})
        assert error.problems[0].path == "run.duration" and error.problems[0].line == 0
        assert refused(ddiperf.ServerError, client.start, quick(), fleet={}).status == 400
        run = client.start(quick(), settings=LONG)
        wait_for_intervals(server, run.id)
        error = refused(ddiperf.RefusedError, client.start, quick("1s"))
        assert error.status == 409 and run.id in str(error), error
        refused(ddiperf.RefusedError, run.delete)
        error = refused(ddiperf.Timeout, run.result, 0.5)
        assert run.state().running and "within 0.5 s" in str(error)
        run.stop()
        refused(ddiperf.Timeout, client_of(server).run, quick("10m", prefix="o"), timeout=1)
        until(lambda: not any(one.running for one in client.runs()), client.runs)
        refused(ddiperf.RefusedError, run.stop)
        refused(ddiperf.RefusedError, run.set_rate, "queries", 5)
        for call in (client.get("none").state, client.get("none").wait, client.get("none").report):
            refused(ddiperf.NotFoundError, call)
        refused(ddiperf.ServerError, run.report, "nonsense")
        lost = {"ports": [{"name": "x", "driver": "af_packet", "device": "nope0", "addresses": ["192.0.2.1/24"]}], "traffic": [item(server="192.0.2.2")]}
        error = refused(ddiperf.ProgramError, client.run, lost)
        assert error.exit_code == 3 and "nope0" in str(error), error


@test
def access_needs_the_token_or_the_certificate_or_the_socket():
    with tempfile.TemporaryDirectory() as folder:
        token = Path(folder, "token")
        token.write_text("0123456789abcdefgh\n")
        token.chmod(0o600)
        certificate = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=server",
                       "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem"]
        assert execute(certificate)[0] == 0
        with Server("--token", token, "--tls-cert", f"{folder}/cert.pem", "--tls-key", f"{folder}/key.pem") as server:
            url, trust = f"https://127.0.0.1:{server.port}", ssl.create_default_context(cafile=f"{folder}/cert.pem")
            client = ddiperf.Client(url, token="0123456789abcdefgh", context=trust)
            assert check(client.run(quick())).passed
            for wrong in (None, "0123456789abcdefgx"):
                error = refused(ddiperf.AccessError, ddiperf.Client(url, token=wrong, context=trust).start, quick())
                assert error.status == 401 and "token" in str(error)
            assert "certificate" in str(refused(ddiperf.ConnectionLost, ddiperf.Client(url, token="0123456789abcdefgh").version))
        process = start([binary(), "serve", "--listen", f"unix:{folder}/socket", "--dir", f"{folder}/runs", *LOCAL])
        assert "socket" in process.stderr.readline()
        assert check(ddiperf.Client(f"unix:{folder}/socket").run(quick())).passed
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


@test
def a_server_that_is_gone_or_silent_is_an_error():
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        assert url in str(refused(ddiperf.Timeout, ddiperf.Client(url, timeout=0.3).version))
    error = refused(ddiperf.ConnectionLost, ddiperf.Client(url).runs)
    assert isinstance(error, ConnectionError) and "refused" in str(error)
    for number in (signal.SIGTERM, signal.SIGKILL):
        with Server() as server:
            client = client_of(server)
            run = client.start(quick(), settings=LONG)
            lines, wait = iter(run.follow(timeout=60)), []
            waiter = threading.Thread(target=lambda: wait.append(refused(ddiperf.ConnectionLost, run.result)))
            assert isinstance(next(lines), ddiperf.Begin) and isinstance(next(lines), ddiperf.Interval)
            waiter.start()
            server.process.send_signal(number)
            error = refused(ddiperf.ConnectionLost, list, lines)
            assert str(server.port) in str(error), error
            waiter.join(60)
            assert len(wait) == 1
            server.process.wait(60)
            refused(ddiperf.ConnectionLost, run.state)


@test
def a_server_that_stops_sending_is_noticed():
    with Server() as server:
        run = client_of(server).start(quick(), settings=LONG)
        lines = iter(run.follow())
        assert isinstance(next(lines), ddiperf.Begin)
        before, ddiperf.client.SILENCE_S = ddiperf.client.SILENCE_S, 0.5
        try:
            server.process.send_signal(signal.SIGSTOP)
            assert "silent for 0.5 s" in str(refused(ddiperf.ConnectionLost, list, lines))
        finally:
            ddiperf.client.SILENCE_S = before
            server.process.send_signal(signal.SIGCONT)


# --- its page ---


def environment():
    return {**os.environ, "DDIPERF": binary(), "PYTHONPATH": str(ROOT / "lib" / "python"), "PYTHONDONTWRITEBYTECODE": "1"}


@test
def the_test_of_the_page_passes_and_notices_a_wrong_server():
    port = str(free_port())
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_dns_server.py").write_text(EXAMPLES[0].replace("5300", port))
        server = Path(folder, "start-my-server")
        server.write_text(f'#!/bin/sh\n[ "$*" = "--port {port}" ] && exec "$DDIPERF" respond respond.yaml\n')
        server.chmod(0o755)
        for rcode, code, said in (("NOERROR", 0, "3 passed"), ("SERVFAIL", 1, "criterion not met: dns.rcode.SERVFAIL == 0")):
            Path(folder, "respond.yaml").write_text(json.dumps({
                "ports": [{"name": "far", "driver": "socket", "addresses": ["127.0.0.1/8"]}],
                "responder": {"server_port": int(port), "dns": {"rcode": rcode}}}))
            got, out, err = execute([sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider", "test_dns_server.py"], cwd=folder, env=environment())
            timing("ddiperf: invalid" not in out, out)
            assert got == code and said in out, (got, out, err)


@test
def the_script_of_the_page_follows_a_server():
    with tempfile.TemporaryDirectory() as folder, Server() as server:
        Path(folder, "ci.yaml").write_text(quick().replace('"interval": "100ms"', '"interval": "1s"'))
        code, out, err = execute([sys.executable, "-c", EXAMPLES[1].replace("8080", str(server.port))], cwd=folder, env=environment())
        assert code == 0 and re.search(r"^1\.0 [\d.]+$", out, re.M) and "exit code 0\n" in out and "\ndone" in out, (out, err)
        assert "<testsuite" in Path(folder, "verdict.xml").read_text() and client_of(server).runs() == []
        assert "rate=100" not in err


@test
def the_page_names_what_there_is():
    assert not [name for name in ddiperf.__all__ if not re.search(rf"(`|\.){name}\b", PAGE)]
    for row in re.findall(r"^\| (?:of )?((?:`\w+`(?:, |; )?)+)[^|]*\| (.*) \|$", PAGE.partition("## Results")[2].partition("## Errors")[0], re.M):
        classes = [getattr(ddiperf, name) for name in re.findall(r"`(\w+)`", row[0])]
        known = {name for one in classes for name in (*dir(one), *(field.name for field in dataclasses.fields(one)))}
        assert set(re.findall(r"`(\w+)(?:\([^`]*)?`", row[1])) <= known, row


main()
