#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# ddiperf serve: its HTTP interface as its own document says, its page in headless Chromium from the upload of a file to
# the report, and requests that nobody should send. In real time, as it starts runs as processes, and browsers and sockets
# are the world's.

import contextlib
import functools
import http.client
import json
import os
import re
import resource
import select
import shutil
import signal
import socket
import ssl
import stat
import tempfile
import time
from pathlib import Path

from harness import binary, execute, need_root, nightly, start, test, timing, until
from loop import item, ring
from serving import API, LOCAL, Server, browser, click, main, quick, wait_for_intervals

HEAP = 200e6  # octets of a tab that was left open for an hour
HOUR = 3600


# --- the interface ------------------------------------------------------------------------------------


def schema_of_openapi(document):
    """What OpenAPI 3.0 wants of the members that the document has."""
    assert re.fullmatch(r"3\.0\.\d", document["openapi"]) and document["info"]["title"] and document["info"]["version"]
    assert set(document) <= {"openapi", "info", "paths", "components", "security"}
    names = set()
    for path, operations in document["paths"].items():
        assert path.startswith("/") and set(operations) <= {"get", "put", "post", "delete"}, path
        for operation in operations.values():
            assert set(operation) <= {"summary", "operationId", "parameters", "requestBody", "responses", "security"}, operation
            assert operation["operationId"] not in names and not names.add(operation["operationId"])
            parameters = [one for one in operation["parameters"] if "$ref" not in one]
            assert {one["name"] for one in parameters if one["in"] == "path"} == set(re.findall(r"{(\w+)}", path)), path
            assert all(one["required"] for one in parameters if one["in"] == "path") and all(one["schema"]["type"] for one in parameters)
            for reference in re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(operation)):
                functools.reduce(lambda node, key: node[key], reference.split("/"), document)
            assert all(code == "default" or code.isdigit() for code in operation["responses"]) and "default" in operation["responses"]
            assert all("$ref" in answer or answer["description"] for answer in operation["responses"].values())


@test
def the_interface_does_what_its_document_says():
    with Server() as server:
        document = server.get("/openapi.json")
        schema_of_openapi(document)
        server.put("quick.yaml", quick(output={"csv": "table.csv"}))
        server.put("gone.yaml", "x")
        run = server.run("quick.yaml", "run.duration=1m")
        # Two that need a run that goes on, then the rest, and what takes away at last.
        order = {"/orders": 0, "/stop": 1, "/follow": 2}
        rows = [(path, method) for path, operations in document["paths"].items() for method in operations]
        rows.sort(key=lambda row: (next((order[end] for end in order if row[0].endswith(end)), 3), row[1] == "delete", row[0]))
        bodies = {("check", "post"): quick(), ("runs", "post"): '{"file": "quick.yaml"}', ("orders", "post"): '{"order": "traffic.queries.load.rate=500"}',
                  ("{name}", "put"): "text"}
        wait_for_intervals(server, run)
        for path, method in rows:
            if path == f"{API}/runs/{{id}}" and method == "delete":
                server.wait(server.get("/runs")["runs"][0]["id"])
            name = "gone.yaml" if method == "delete" else "selftest.yaml" if "samples" in path else "table.csv" if "runs" in path else "quick2.yaml" if method == "put" else "quick.yaml"
            status, kind, body = server.ask(method.upper(), path.replace("{id}", run).replace("{other}", run).replace("{name}", name), bodies.get((path.split("/")[-1], method)), api=False)
            if path.endswith("/resume"):  # the run is no campaign
                assert status == 409 and "is no campaign" in json.loads(body)["error"], (status, body)
                continue
            (code, answer), = [(code, answer) for code, answer in document["paths"][path][method]["responses"].items() if code != "default"]
            assert status == int(code), (method, path, status, body)
            wanted, = answer["content"]
            assert wanted == kind.split(";")[0] or path.endswith("/report"), (path, kind)
            if wanted == "application/json":
                json.loads(body)
        assert server.ask("GET", f"/runs/{run}")[0] == 404


@test
def a_run_is_followed_changed_and_fetched():
    with Server() as server:
        server.put("quick.yaml", quick("3s"))
        run = server.run("quick.yaml")
        wait_for_intervals(server, run)
        for order in ({"order": "traffic.queries.load.rate=500"}, {"set": "traffic.queries.load.rate=5k"}):
            assert server.ask("POST", f"/runs/{run}/orders", json.dumps(order))[0] == 200
        # What the run would not read is refused at once.
        for order in ({}, {"order": 1}, {"stop": 1}, {"order": "traffic.queries.load.rate=" + 500 * "1"}):
            assert server.ask("POST", f"/runs/{run}/orders", json.dumps(order))[0] == 400, order
        lines = server.lines(run)
        state = server.wait(run)
        assert lines[0][1]["begin"] == 1 and lines[-1] == ("end", state), (lines[0], lines[-1], state)
        orders = [line for _, line in lines if "order" in line]
        assert [("refused" in line) for line in orders] == [False, True], orders
        intervals = [line for _, line in lines if "t_s" in line and not line.get("last")]
        due = [line["traffic"][0]["due"] for line in intervals]
        # Each 100 ms have one rate, to the transaction; a busy box makes one interval of two.
        each = [count / round(line["length_s"] / 0.1) for count, line in zip(due, intervals)]
        assert set(each) >= {100, 50} and each == sorted(each, reverse=True), (due, each)
        result = server.get(f"/runs/{run}/result")
        assert result["run"]["id"] == run and sum(due) == result["traffic"][0]["due"], result["traffic"][0]["due"]
        assert [one["set"] for one in result["orders"]] == ["traffic.queries.load.rate=500"], result["orders"]
        assert state["verdict"] == "done" and state["exit_code"] == 0 and "requests sent" in state["said"], state
        assert f"run.id={run}" in server.ask("GET", f"/runs/{run}/report?format=keyval")[2]
        assert server.ask("GET", f"/runs/{run}/report?format=nonsense")[0] == 400
        assert [one["run"]["id"] for one in server.get("/history")["runs"]] == [run]
        last = server.ask("GET", f"/runs/{run}/follow?from={len(lines) - 1}")[2]
        assert last.startswith(f"id: {len(lines) - 1}\n"), last[:200]


SAMPLE = re.compile(r'(ddiperf_\w+)\{run="([^"]+)"(?:,(.*))?\} (\S+)')


@test
def a_port_has_one_run_that_is_measured_and_ends_with_the_server():
    with Server() as server:
        def metrics():
            """({(name, run, labels): value}, text)"""
            status, kind, text = server.ask("GET", "/metrics", api=False)
            assert status == 200 and kind.startswith("text/plain; version=0.0.4"), (status, kind)
            found = [SAMPLE.fullmatch(line) for line in text.splitlines() if not line.startswith("#")]
            assert all(found), text
            return {(one[1], one[2], one[3] or ""): float(one[4]) for one in found}, text

        assert metrics() == ({}, "")
        server.put("one.yaml", quick("10m"))
        server.put("two.yaml", quick("10m", prefix="other_"))
        runs = [server.run("one.yaml"), server.run("two.yaml")]
        wait_for_intervals(server, *runs)
        before = metrics()[0]
        end = time.monotonic() + 20
        while (now := metrics())[0]["ddiperf_traffic_due_total", runs[1], 'item="queries"'] <= before["ddiperf_traffic_due_total", runs[1], 'item="queries"']:
            assert time.monotonic() < end, now
        samples, text = now
        for run in runs:
            count = {name: samples[f"ddiperf_traffic_{name}", run, 'item="queries"'] for name in
                     ("due_total", "sent_total", "answered_total", "failed_total", "lost_total", "no_reply_total", "in_flight", "latency_response_seconds_count")}
            assert count["due_total"] >= 100 and count["latency_response_seconds_count"] == count["answered_total"], count
            assert count["sent_total"] == sum(count[name] for name in ("answered_total", "failed_total", "lost_total", "no_reply_total", "in_flight")), count
            assert ("ddiperf_interval_length_seconds", run, "") in samples
        # One family has one place and one type.
        types = re.findall(r"^# TYPE (\S+)", text, re.M)
        assert len(types) == len(set(types)) > 50
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(text)
            file.flush()
            if shutil.which("promtool"):
                said = execute(["sh", "-c", 'exec promtool check metrics <"$0"', file.name])
                assert said == (0, "", ""), said
        run, other = runs
        status, _, body = server.ask("POST", "/runs", '{"file": "one.yaml"}')
        assert status == 409 and run in body and "ring" in body, (status, body)
        assert server.ask("DELETE", f"/runs/{run}")[0] == 409
        assert server.ask("POST", f"/runs/{other}/stop")[0] == 200
        assert server.wait(other)["verdict"] == "interrupted"
        assert {one for _, one, _ in metrics()[0]} == {run}
    with Server(folder=server.folder) as server:
        second = start([binary(), "serve", "--listen", "127.0.0.1:0", "--dir", server.folder, *LOCAL])
        assert "another server has it" in second.communicate(timeout=20)[1] and second.returncode == 3
        state = server.get(f"/runs/{run}")
        assert state["status"] == "ended" and state["exit_code"] == 130, state
        run = server.run("one.yaml")
        wait_for_intervals(server, run)
        server.process.kill()
    # Nobody can order it any more, so it ends by itself.
    result, deadline = Path(server.folder) / "runs" / run / "result.json", time.monotonic() + 60
    while not result.exists():
        assert time.monotonic() < deadline, "the run goes on without its server"
        time.sleep(0.05)
    with Server(folder=server.folder) as server:
        assert server.get(f"/runs/{run}")["status"] == "ended"


@test
def a_run_whose_server_was_killed_has_its_result():
    """It ends with its server, in order. One that is killed, too, is lost."""
    with Server() as server:
        server.put("a.yaml", quick("10m"))
        server.put("b.yaml", quick("10m", prefix="b"))
        runs = server.run("a.yaml"), server.run("b.yaml")
        wait_for_intervals(server, *runs)
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
        [other] = [int(pid) for pid in children if os.readlink(f"/proc/{pid}/cwd").endswith(runs[1])]
        server.process.kill()
        os.kill(other, signal.SIGKILL)
    with Server(folder=server.folder) as again:
        until(lambda: again.get(f"/runs/{runs[0]}")["status"] == "ended", lambda: again.get("/runs"))
        state = again.get(f"/runs/{runs[0]}")
        assert state["verdict"] == "interrupted" and state["exit_code"] == 130 and state["answered_per_s"] > 0, state
        assert len(again.get("/history")["runs"]) == 1
        assert again.get(f"/runs/{runs[1]}")["status"] == "lost"


@test
def neither_a_folder_that_is_gone_nor_a_full_disk_hurts_what_is_there():
    with Server() as server:
        server.put("kept.yaml", quick("10m"))
        run = server.run("kept.yaml")
        wait_for_intervals(server, run)
        shutil.rmtree(f"{server.folder}/runs/{run}")
        assert [server.ask("GET", f"/runs/{run}/{what}")[0] for what in ("log", "result", "report", "config")] == [404] * 4
        assert server.ask("POST", f"/runs/{run}/stop")[0] == 200
        state = server.wait(run)
        assert state["status"] == "ended" and "verdict" not in state, state
        assert server.ask("DELETE", f"/runs/{run}")[0] == 200 and server.get("/runs") == {"runs": []}
        # No file may become longer than 4 KiB, as if there were no more room.
        long = quick() + 8192 * "#"
        (Path(server.folder) / "files" / "long.yaml").write_text(long)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (4096, 4096))
        status, _, body = server.ask("PUT", "/files/kept.yaml", long)
        assert status == 500 and "not written: File too large" in body, (status, body)
        assert server.ask("GET", "/files/kept.yaml")[2] == quick("10m")
        status, _, body = server.ask("POST", "/runs", '{"file": "long.yaml"}')
        assert status == 500 and "File too large" in body, (status, body)
        assert sorted(os.listdir(f"{server.folder}/files")) == ["kept.yaml", "long.yaml"] and not os.listdir(f"{server.folder}/runs")


def campaign(**keys):
    """Of two points on quick.yaml."""
    return json.dumps({"base": "quick.yaml", "set": ["run.duration=60ms"], "points": [{"name": "a"}, {"name": "b"}],
                       "columns": [{"name": "sent", "figure": "traffic.queries.sent"}], "repeats": 1000, **keys}, indent=1)


def progress(server, run):
    return server.get(f"/runs/{run}")["campaign"]


@test
def a_campaign_is_started_followed_stopped_and_fetched():
    with Server() as server:
        server.put("quick.yaml", quick())
        server.put("c.yaml", campaign())
        server.put("hooks.yaml", quick(hooks={"start": "true"}))
        # Neither it nor its runs may have commands here, and its files are in the folder.
        for wrong, words in (("points=[{name: a, start: 'true'}]", "commands are not allowed"), ("through=nice", "commands are not allowed"),
                             ("base=hooks.yaml", "commands are not allowed"), ("base=../x.yaml", "only files in the folder"),
                             ("output.html=/tmp/x", "only files in the working directory")):
            status, _, body = server.ask("POST", "/runs", json.dumps({"file": "c.yaml", "set": [wrong]}))
            assert status == 422 and words in body, (wrong, status, body)
        assert server.get("/runs")["runs"] == []
        run = server.run("c.yaml")
        until(lambda: progress(server, run).get("done", 0) > 1, lambda: server.ask("GET", f"/runs/{run}/log"))
        now = progress(server, run)
        assert now["of"] == 2000 and now["verdict"] is None and now["running"]["point"] in ("a", "b") and now["running"]["operation"] == "run", now
        assert server.ask("POST", "/runs", '{"file": "quick.yaml"}')[0] == 409 and server.ask("POST", f"/runs/{run}/orders", '{"order": "x=1"}')[0] == 409
        assert "traffic" not in server.ask("GET", "/metrics", api=False)[2]
        assert server.get(f"/runs/{run}/result")["running"]
        assert server.ask("POST", f"/runs/{run}/stop")[0] == 200
        state = server.wait(run)
        assert (state["verdict"], state["exit_code"], state["name"], state["campaign"]["running"]) == ("interrupted", 130, "c", None), state
        # One that ends by itself.
        run = server.run("c.yaml", "repeats=2")
        lines = server.lines(run)
        state = lines[-1][1]
        assert state["verdict"] == "done" and state["campaign"]["done"] == state["campaign"]["of"] == 4, state
        assert [(line["point"], line["repeat"]) for _, line in lines[1:-1] if line["counts"]] == [("a", 1), ("b", 1), ("a", 2), ("b", 2)], lines
        table = server.get(f"/runs/{run}/result")
        assert [row["figures"][0][0]["mean"] for row in table["rows"]] == [60, 60], table
        status, kind, page = server.ask("GET", f"/runs/{run}/report")
        assert status == 200 and kind.startswith("text/html"), (status, kind)
        assert json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1]) == {"results": [], "campaign": table}
        assert server.ask("GET", f"/runs/{run}/report?format=csv")[0] == 400 and server.get("/history")["runs"] == []
        # It ends with its server, and the next one has its table.
        run = server.run("c.yaml")
        until(lambda: progress(server, run).get("done"), lambda: server.ask("GET", f"/runs/{run}/log"))
        server.process.kill()
    with Server("--allow-commands", folder=server.folder) as server:
        until(lambda: server.get(f"/runs/{run}")["status"] == "ended", lambda: server.get(f"/runs/{run}"))
        assert server.get(f"/runs/{run}")["verdict"] == "interrupted"
        server.put("d.yaml", campaign(base="hooks.yaml", repeats=1, through="nice", points=[{"name": "a", "start": "echo $DDIPERF_POINT >started"}]))
        run = server.run("d.yaml")
        assert server.wait(run).get("verdict") == "done", server.ask("GET", f"/runs/{run}/log")
        assert server.ask("GET", f"/runs/{run}/files/started")[2] == "a\n"


def done_runs(server, run):
    """Repeats in the journal that have counted, each once."""
    journal = server.ask("GET", f"/runs/{run}/files/live.jsonl")[2].splitlines()
    counted = [(line["point"], line["repeat"]) for line in map(json.loads, journal) if line.get("counts")]
    assert len(counted) == len(set(counted)), counted
    return counted


@test
def a_campaign_continues_after_its_last_run():
    def resume(server, run):
        return server.ask("POST", f"/runs/{run}/resume")

    with Server() as server:
        server.put("quick.yaml", quick())
        server.put("c.yaml", campaign(repeats=20))
        run = server.run("c.yaml", "repeats=10")
        until(lambda: progress(server, run).get("done", 0) > 1, lambda: server.ask("GET", f"/runs/{run}/log"))
        assert resume(server, run)[0] == 409  # it is running
        server.ask("POST", f"/runs/{run}/stop")
        assert server.wait(run)["verdict"] == "interrupted"
        before = done_runs(server, run)
        # Of a file that measures something else nothing is added.
        server.put("c.yaml", campaign(set=["run.duration=70ms"]))
        assert resume(server, run)[0] == 200
        state = server.wait(run)
        assert state["exit_code"] == 2 and "made with other settings" in state["said"] and done_runs(server, run) == before, state
        server.put("c.yaml", campaign(repeats=20))
        assert resume(server, run)[0] == 200
        state = server.get(f"/runs/{run}")
        assert state["status"] == "running" and "ended" not in state and "verdict" not in state and state["set"] == ["repeats=10"], state
        until(lambda: progress(server, run).get("done", 0) > len(before) + 1, lambda: server.ask("GET", f"/runs/{run}/log"))
        # The box stops.
        children = [int(pid) for pid in Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()]
        server.process.kill()
        for pid in children:
            os.kill(pid, signal.SIGKILL)
    with Server(folder=server.folder) as server:
        state = server.get(f"/runs/{run}")
        assert state["status"] == "lost" and state["campaign"]["of"] == 20, state
        before = done_runs(server, run)
        assert resume(server, run)[0] == 200
        state = server.wait(run)
        assert state["verdict"] == "done" and state["campaign"]["done"] == 20, (state, server.ask("GET", f"/runs/{run}/log"))
        after = done_runs(server, run)
        assert after[:len(before)] == before and len(after) == 20, (before, after)
        for which, words in ((run, "has all of its 20 repeats"), (server.run("quick.yaml"), "is no campaign"), ("20200101-000000-000000", "no run")):
            status, _, body = resume(server, which)
            assert status in (404, 409) and words in body, (status, body)


# --- requests that nobody should send -------------------------------------------------------------------


def raw(server, data, timeout=20):
    """What comes back for these octets."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=timeout) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            return connection.recv(65536)
        return b""


def plain(line, *more):
    return "\r\n".join([line + " HTTP/1.1", "Host: 127.0.0.1", *more, "Connection: close", "", ""]).encode()


@test
def who_sends_nonsense_too_much_or_nothing_holds_up_nobody():
    """Other requests that are refused: tests/unit/app/transcripts/serve.txt."""
    with Server() as server:
        assert raw(server, plain("GET " + API + "/files/" + "a" * 2000)).startswith(b"HTTP/1.1 404")
        answer = raw(server, b"\0\xff" * 5000 + b"\r\n\r\n")
        assert not answer or answer.startswith(b"HTTP/1.1 400"), answer[:200]
        for host in ("[::1]x", "[::1]:80x", "localhost:8080.example.com"):
            assert raw(server, f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()).startswith(b"HTTP/1.1 403"), host
        # In pieces without a length, beyond the limit: no more of it is kept.
        piece = b"100000\r\n" + b"x" * (1 << 20) + b"\r\n"
        answer = raw(server, plain("POST " + API + "/check", "X-Ddiperf: 1", "Transfer-Encoding: chunked") + 2 * piece + b"0\r\n\r\n")
        assert b" 413 " in answer, answer[:200]
        # Slow ones hold up nobody.
        slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(20)]
        for connection in slow:
            connection.sendall(b"GET / HTTP/1.1\r\nHo")
        began = time.monotonic()
        assert server.get("")["agents"] == []
        timing(time.monotonic() - began < 5, "others are held up")
        for connection in slow:
            connection.close()


@contextlib.contextmanager
def tokened(*options):
    """A server with a token, and the header of those who have it."""
    with tempfile.TemporaryDirectory() as folder:
        token = Path(folder, "token")
        token.write_text("0123456789abcdefgh\n")
        token.chmod(0o600)
        with Server("--token", token, *options) as server:
            yield server, {"Authorization": "Bearer 0123456789abcdefgh"}


@test
def whoever_reaches_a_server_with_capabilities_shows_a_token():
    need_root()
    with tempfile.TemporaryDirectory() as folder:
        refused = start([binary(), "serve", "--listen", "127.0.0.1:0", "--dir", folder])
        said = refused.communicate(timeout=20)[1]
        assert refused.returncode == 2 and "each user of this host reaches 127.0.0.1:" in said and "--allow-local-users" in said, said
        # Without capabilities there is nothing to gain; a Unix socket is its owner's.
        Path(folder).chmod(0o777)
        for prefix, place in ((["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"], "127.0.0.1:0"), ([], f"unix:{folder}/socket")):
            process = start([*prefix, binary(), "serve", "--listen", place, "--dir", f"{folder}/{len(prefix)}"])
            line = process.stderr.readline()
            assert place.removesuffix("0") in line, (prefix, line)
            if not prefix:
                assert stat.S_IMODE(os.stat(f"{folder}/socket").st_mode) == 0o600
                with socket.socket(socket.AF_UNIX) as connection:
                    connection.connect(f"{folder}/socket")
                    connection.sendall(b"GET /api/v1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                    assert connection.recv(65536).startswith(b"HTTP/1.1 200")
            process.send_signal(signal.SIGTERM)
            assert process.communicate(timeout=60) and process.returncode == 0
        assert not Path(folder, "socket").exists()
        Path(folder, "file").write_text("kept")
        refused = start([binary(), "serve", "--listen", f"unix:{folder}/file", "--dir", f"{folder}/0"])
        assert "in use" in refused.communicate(timeout=20)[1] and refused.returncode == 3
        assert Path(folder, "file").read_text() == "kept"


def netperf(server, *words):
    """The far end is the server's, and on the CPU of the near end only if there is no other."""
    near, far = (sorted(os.sched_getaffinity(0)) * 2)[:2][::-1]
    free = ["validity.unsent=100%", "validity.send_lag_p99=1h", "validity.dropped=100%", "validity.stolen=100%"]
    sets = [word for one in free for word in ("--set", one)]
    return execute([binary(), "as", "netperf", "-H", "127.0.0.1", "-p", str(server.port), "-T", f"{near},{far}", "-P", "0", *sets, *words])


@test
def one_command_starts_sizes_measures_and_ends_its_far_end():
    names = "THROUGHPUT,LOCAL_SEND_CALLS,REMOTE_RECV_CALLS,REMOTE_SEND_CALLS,RESPONSE_SIZE,REMOTE_CPU_UTIL"
    with Server() as server:
        for kind, size in (("TCP_RR", "1,3000"), ("UDP_RR", "1,1"), ("TCP_CRR", "300,20")):
            code, out, err = netperf(server, "-t", kind, "-l", "-200", "--", "-r", size, "-S", "64K", "-k", names)
            figures = dict(line.split("=") for line in out.splitlines())
            assert code == 0 and set(figures) == set(names.split(",")), (kind, out, err)
            assert figures["LOCAL_SEND_CALLS"] == figures["REMOTE_RECV_CALLS"] == figures["REMOTE_SEND_CALLS"] == "200", figures
            assert float(figures["RESPONSE_SIZE"]) == float(size.split(",")[1]) and 0 < float(figures["REMOTE_CPU_UTIL"]) <= 100, figures
        code, out, err = netperf(server, "-t", "TCP_STREAM", "-l", "1", "-c", "-C", "--", "-m", "10K")
        assert code == 0 and len(out.split()) == 9 and out.split()[2] == "10240" and float(out.split()[6]) > 0, (out, err)
        assert server.get("/runs")["runs"] == [] and server.get("/files")["files"] == [] and server.get("/history")["runs"] == []
        code, out, err = netperf(server, "-t", "TCP_RR", "--", "-P", f",{server.port}")
        assert code == 1 and "the responder" in err and server.get("/files")["files"] == [], (out, err)


@test
def a_responder_ends_with_the_interest_in_it():
    text = json.dumps({"ports": [{"name": "far", "driver": "socket", "addresses": ["127.0.0.1/8"]}], "responder": {"server_port": 20007, "echo": {}}})
    with Server() as server:
        server.put("far.yaml", text)
        for wrong in (0, -1, 3601, True, "1"):
            assert server.ask("POST", "/runs", json.dumps({"file": "far.yaml", "respond": wrong}))[0] == 400, wrong
        run = json.loads(server.ask("POST", "/runs", json.dumps({"file": "far.yaml", "respond": 2}))[2])["id"]
        for _ in range(5):
            time.sleep(1)
            assert server.get(f"/runs/{run}")["status"] == "running"
        time.sleep(2)
        until(lambda: server.get("/runs")["runs"][0]["status"] == "ended", "the end of the responder")
        assert server.get(f"/runs/{run}/result")["responder"]["received"] == 0
        assert server.ask("GET", "/cpu")[2].startswith("cpu ") and server.get("/history")["runs"] == []


@test
def strangers_cannot_lock_the_server():
    """They take all places, from one address or from many, and keep them by an octet now and then."""
    with tokened() as (server, headers):
        for address in (lambda n: "127.0.0.9", lambda n: f"127.0.1.{n + 1}"):
            with contextlib.ExitStack() as stack:
                slow = [stack.enter_context(socket.create_connection(("127.0.0.1", server.port), source_address=(address(n), 0))) for n in range(60)]
                for n, connection in enumerate(slow):
                    with contextlib.suppress(OSError):
                        connection.sendall([plain("GET /", "Transfer-Encoding: chunked"), b"GET / HTTP/1.1\r\nHo", b""][n % 3])
                for scheme in ("Bearer", "bearer", "BEARER"):
                    status = server.ask("GET", "", headers={"Authorization": f"{scheme} 0123456789abcdefgh"})[0]
                    assert status == 200, (scheme, status)


@test
def a_row_without_a_body_waits_for_none():
    with tokened() as (server, headers), socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(plain("GET /", "Transfer-Encoding: chunked") + b"10\r\nx")
        began = time.monotonic()
        assert b" 413 " in connection.recv(65536)
        timing(time.monotonic() - began < 5, "it waited for the body")


@nightly
def a_body_has_an_end():
    """Who has the token, too: an octet a second, which is no silence, is too slow a body."""
    with tokened() as (server, headers), socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(plain(f"PUT {API}/files/slow.yaml", "X-Ddiperf: 1", "Content-Length: 1000", *(f"{n}: {v}" for n, v in headers.items())))
        began = time.monotonic()
        while not select.select([connection], [], [], 1)[0]:
            connection.send(b"#")
            assert time.monotonic() - began < 45
        assert time.monotonic() - began > 15 and not os.listdir(f"{server.folder}/files")


@nightly
def who_never_ends_a_request_is_cut_off():
    """All places are taken by those who send an octet now and then, which is no silence."""
    with Server() as server:
        slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(48)]
        end, left = time.monotonic() + 60, slow
        while left:
            assert time.monotonic() < end, len(left)
            for connection in left:
                with contextlib.suppress(OSError):
                    connection.send(b"G")
            time.sleep(1)
            left = [connection for connection in left if not select.select([connection], [], [], 0)[0]]
        assert server.get("")["agents"] == []
        for connection in slow:
            connection.close()


def certify(folder, name, *more):
    """A key, and its certificate by the CA in the folder, which is itself of the name "ca"."""
    kind = ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign"] if name.endswith("ca") else ["basicConstraints=CA:FALSE"]
    parts = []
    for option in [*kind, *more]:
        parts += ["-addext", option] if "=" in option else ["-CA", f"{folder}/{option}.pem", "-CAkey", f"{folder}/{option}.key"]
    code, _, said = execute(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                             f"/CN={name}", "-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.pem", *parts])
    assert code == 0, said


def context(folder, name=None, trusted="ca", newest=ssl.TLSVersion.TLSv1_3):
    """Of a client with that certificate, which trusts that CA."""
    made = ssl.create_default_context(cafile=f"{folder}/{trusted}.pem")
    made.maximum_version = newest
    if name:
        made.load_cert_chain(f"{folder}/{name}.pem", f"{folder}/{name}.key")
    return made


@test
def https_is_for_clients_of_the_ca():
    with tempfile.TemporaryDirectory() as folder:
        client = functools.partial(context, folder)
        for name, *more in [("ca",), ("other_ca",), ("server", "ca", "subjectAltName=IP:127.0.0.1", "extendedKeyUsage=serverAuth"),
                            ("client", "ca", "extendedKeyUsage=clientAuth"), ("stranger", "other_ca", "extendedKeyUsage=clientAuth")]:
            certify(folder, name, *more)
        (Path(folder) / "token").write_text("0123456789abcdefgh\n")
        (Path(folder) / "token").chmod(0o600)
        own = ["--tls-cert", f"{folder}/server.pem", "--tls-key", f"{folder}/server.key"]
        with Server(*own) as server:
            for server.tls in (client(), client(newest=ssl.TLSVersion.TLSv1_2)):
                assert server.get("")["version"]
            for server.tls in (client(trusted="other_ca"), None):
                refuses(server)
            for cipher in ("AES128-SHA", "ECDHE-ECDSA-AES256-SHA"):
                server.tls = client(newest=ssl.TLSVersion.TLSv1_2)
                server.tls.set_ciphers(f"{cipher}:@SECLEVEL=0")
                refuses(server)
        with Server(*own, "--tls-clients", f"{folder}/ca.pem") as server:
            for newest in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
                server.tls = client("client", newest=newest)
                assert server.get("")["version"]
                # Neither the page nor anything else is for those without a certificate, or with one for another use.
                for name in (None, "stranger", "server"):
                    server.tls = client(name, newest=newest)
                    refuses(server)
        with Server(*own, "--tls-clients", f"{folder}/ca.pem", "--token", f"{folder}/token") as server:
            server.tls = client("client")
            assert server.ask("GET", "")[0] == 401 and server.ask("GET", "", headers={"Authorization": "Bearer 0123456789abcdefgh"})[0] == 200
            server.tls = client()
            refuses(server, {"Authorization": "Bearer 0123456789abcdefgh"})
        for options, word in [(own[:2], "--tls-key"), (own[:3] + [f"{folder}/client.key"], "--tls-cert"), (own + ["--tls-clients", f"{folder}/token"], "--tls-clients"),
                              (["--tls-clients", f"{folder}/ca.pem"], "--tls-cert"), (own[:3] + [f"{folder}/none"], "No such file"), (own, "--tls-clients")]:
            refused = start([binary(), "serve", "--listen", "0.0.0.0:0", "--dir", folder, *options])
            said = refused.communicate(timeout=20)[1]
            assert refused.returncode == 2 and word in said, (options, said)
        everywhere = start([binary(), "serve", "--listen", "0.0.0.0:0", "--dir", folder, *own, "--tls-clients", f"{folder}/ca.pem"])
        assert "https://0.0.0.0:" in everywhere.stderr.readline()
        everywhere.send_signal(signal.SIGTERM)
        assert everywhere.communicate(timeout=60) and everywhere.returncode == 0


def refuses(server, headers=None):
    """No reply of HTTP comes back."""
    try:
        answer = server.ask("GET", "/", headers=headers, api=False)
    except (OSError, http.client.HTTPException):
        return
    raise AssertionError(answer)


@nightly
def certificates_that_change_are_read_again():
    """For new connections; those that are there go on, and wrong files change nothing."""
    def wait(server, words):
        while words not in (line := server.process.stderr.readline()):
            assert line, words

    with tempfile.TemporaryDirectory() as folder:
        client, clients = functools.partial(context, folder), Path(folder) / "clients.pem"
        of_server = "subjectAltName=IP:127.0.0.1", "extendedKeyUsage=serverAuth"
        for name, *more in [("ca",), ("other_ca",), ("server", "ca", *of_server), ("client", "ca", "extendedKeyUsage=clientAuth"),
                            ("stranger", "other_ca", "extendedKeyUsage=clientAuth")]:
            certify(folder, name, *more)
        shutil.copy(f"{folder}/ca.pem", clients)
        options = "--tls-cert", f"{folder}/server.pem", "--tls-key", f"{folder}/server.key", "--tls-clients", str(clients)
        with Server(*options) as server, contextlib.closing(http.client.HTTPSConnection("127.0.0.1", server.port, context=client("client"))) as old:
            def again():
                old.request("GET", API)
                return json.loads(old.getresponse().read())["version"]

            server.tls = client("client")
            assert server.get("")["version"] == again()
            right = Path(f"{folder}/server.key").read_text()
            Path(f"{folder}/server.key").write_text("no key\n")
            wait(server, "stay in use")
            assert server.get("")["version"] == again()
            Path(f"{folder}/server.key").write_text(right)
            wait(server, "were read again")
            assert server.get("")["version"] == again()
            certify(folder, "server", "other_ca", *of_server)
            shutil.copy(f"{folder}/other_ca.pem", clients)
            wait(server, "were read again")
            server.tls = client("stranger", "other_ca")
            assert server.get("")["version"] == again()
            for server.tls in (client("client", "other_ca"), client("stranger", "ca")):
                refuses(server)


# --- the page -------------------------------------------------------------------------------------------


def choose_file(page, path):
    root = page.send("DOM.getDocument")["root"]["nodeId"]
    node = page.send("DOM.querySelector", nodeId=root, selector="input[type=file]")["nodeId"]
    page.send("DOM.setFileInputFiles", nodeId=node, files=[str(path)])


def clean(page, server):
    """No complaint, and no request to anybody else."""
    assert not page.complaints(), page.complaints()
    assert all(url.startswith((f"http://127.0.0.1:{server.port}/", "blob:")) for url in page.requests()), page.requests()


@test
def a_run_is_played_from_upload_to_report():
    page = browser()
    with Server() as server, tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "played.yaml"
        file.write_text(quick("10m").replace('"1k"', '"oops"'))
        url = f"http://127.0.0.1:{server.port}"
        page.visit(url + "/", "document.documentElement.dataset.shown === '/'")
        choose_file(page, file)
        page.until("[...document.querySelectorAll('a')].some(a => a.textContent === 'played.yaml')")
        page.value("[...document.querySelectorAll('a')].find(a => a.textContent === 'played.yaml').click()")
        # The error stands at its line; mended, it goes.
        page.until("document.querySelectorAll('ul.errors button').length === 1")
        line = file.read_text().split("\n").index(next(one for one in file.read_text().split("\n") if "oops" in one)) + 1
        assert page.value("document.querySelector('.lines .wrong').textContent.trim()") == f"✗ {line}"
        page.value("document.querySelector('ul.errors button').click()")
        assert page.value("document.activeElement.tagName") == "TEXTAREA"
        page.value("(() => {const t = document.querySelector('textarea'); t.value = t.value.replace('oops', '1k'); t.dispatchEvent(new Event('input'))})()")
        page.until("document.querySelectorAll('ul.errors button').length === 0")
        # Completion by the schema.
        page.value("(() => {const t = document.querySelector('textarea'); t.value += '\\nrun:\\n  dura'; t.setSelectionRange(1e6, 1e6); t.focus()})()")
        page.send("Input.dispatchKeyEvent", type="keyDown", key=" ", code="Space", modifiers=2)
        assert page.value("[...document.querySelectorAll('.offers li')].map(li => li.firstChild.data)") == ["duration"]
        page.send("Input.dispatchKeyEvent", type="keyDown", key="Enter", code="Enter")
        assert page.value("document.querySelector('textarea').value.endsWith('  duration: ')")
        page.value("(() => {const t = document.querySelector('textarea'); t.value = t.value.replace(/\\nrun:\\n  duration: $/, '')})()")
        click(page, "Run")
        page.until("location.pathname.startsWith('/run/') && ddiperf.runs[0] && ddiperf.runs[0].t.length > 3 && ddiperf.charts.length > 4")
        assert page.value("document.querySelector('[data-verdict]').dataset.verdict") == "RUNNING"
        page.value("(() => {const f = document.querySelector('form input'); f.value = '500'; f.form.requestSubmit()})()")
        page.until("ddiperf.runs[0].doc.orders.length === 1 && ddiperf.runs[0].items[0].due.slice(-2)[0] === 500")
        page.change(width=500, dark=True)
        click(page, "Stop")
        page.until("document.documentElement.dataset.ended")
        page.until("document.querySelector('.result [data-verdict]')?.dataset.verdict === 'INTERRUPTED'")
        # Two that end by themselves.
        server.put("played.yaml", quick("300ms"))
        for _ in range(2):
            before = page.value("location.pathname")
            click(page, "Run again")
            page.until(f"location.pathname !== '{before}' && location.pathname.endsWith(document.documentElement.dataset.ended)")
            page.until("document.querySelector('.result [data-verdict]')?.dataset.verdict === 'DONE'")
        assert page.value("[...document.querySelectorAll('section')].map(s => s.id)")[:3] == ["load", "latency", "heat"]
        assert page.value("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than its window"
        page.value("serve.go('/history').then(() => 0)")
        assert page.value("document.querySelectorAll('[data-table=history] tbody tr').length") == 3
        click(page, "Trend")
        page.until("[...document.querySelectorAll('#page section')].map(s => s.id).join() === 'trend' && ddiperf.charts.length > 3 && !!ddiperf.charts[0].plot")
        # One figure of it; a click on a point leads to its run.
        page.value("(() => {const s = document.querySelector('select[aria-label=\"figure of the trend\"]'); "
                   "s.value = [...s.options].find(o => o.text === 'queries: response p99').value; s.dispatchEvent(new Event('change'))})()")
        page.until("ddiperf.charts.length === 1 && ddiperf.charts[0].o.name === 'trend queries latency.response.p99_ns' && !!ddiperf.charts[0].plot")
        first = server.get("/history")["runs"][0]["run"]["id"]
        page.settle()
        x, y = page.value("(() => {const u = ddiperf.charts[0].plot, b = u.over.getBoundingClientRect(); return [b.x + u.valToPos(1, 'x'), b.y + b.height / 2]})()")
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            page.mouse(kind, x, y)
        page.until(f"location.pathname === '/run/{first}' && document.documentElement.dataset.ended === '{first}'")
        clean(page, server)


@test
def a_campaign_is_played_from_the_list_to_its_table():
    page = browser()
    with Server() as server:
        server.put("quick.yaml", quick())
        server.put("c.yaml", campaign())
        page.visit(f"http://127.0.0.1:{server.port}/file/c.yaml", "document.querySelector('textarea') && document.documentElement.dataset.shown === '/file/c.yaml'")
        # Completion knows the settings of a campaign.
        assert "repeats" in page.value("fetch('/api/v1/schema?of=campaign').then(one => one.text())")
        click(page, "Run")
        page.until("/so far: [1-9]\\d* of 2000 repeats have values; running: [ab], repeat \\d+: run/.test(document.querySelector('[data-text=progress]')?.textContent)")
        assert page.value("[...document.querySelectorAll('[data-table] td')].some(td => td.textContent.endsWith('(running)'))")
        click(page, "Stop")
        page.until("document.documentElement.dataset.ended && document.querySelector('[data-verdict]').dataset.verdict === 'INTERRUPTED'")
        done = "+document.querySelector('[data-text=progress]').textContent.match(/\\d+(?= of 2000)/)[0]"
        before = page.value(done)
        click(page, "Resume")
        page.until(f"/^so far: /.test(document.querySelector('[data-text=progress]')?.textContent) && {done} > {before}")
        click(page, "Stop")
        page.until(f"document.documentElement.dataset.ended && document.querySelector('[data-verdict]').dataset.verdict === 'INTERRUPTED' && {done} > {before}")
        server.wait(run := server.run("c.yaml", "repeats=2"))
        page.value("serve.go('/').then(() => 0)")
        rows = page.value("[...document.querySelectorAll('[data-table=runs] tbody tr')].map(tr => tr.textContent)")
        assert len(rows) == 2 and "c, campaign: 4 of 4 repeats" in rows[0] and "DONE" in rows[0] and "of 2000 repeats" in rows[1], rows
        page.value(f"serve.go('/run/{run}').then(() => 0)")
        page.until("document.querySelector('[data-text=progress]')?.textContent === '4 of 4 repeats have values' && document.querySelectorAll('figure').length === 1")
        clean(page, server)


@test
def a_refused_file_is_marked_where_it_is_wrong():
    page = browser()
    wrong = quick("1s").replace('"1k"', '"oops"').replace('"500ms"', '"soon"') + 300 * "\n" + "#" + 400 * "x"
    lines = wrong.split("\n")
    places = [next((n + 1, one.index(word) + 1) for n, one in enumerate(lines) if word in one) for word in ('"soon"', '"oops"')]
    clicked = "document.querySelectorAll('ul.errors button')[{}].click()".format
    with Server() as server:
        server.put("wrong.yaml", wrong)
        page.visit(f"http://127.0.0.1:{server.port}/", "[...document.querySelectorAll('button')].some(b => b.textContent === 'Run')", 1280)
        # Refused in the list of files: the editor shows why.
        click(page, "Run")
        page.until("location.pathname === '/file/wrong.yaml' && document.querySelectorAll('ul.errors button').length === 2")
        assert page.value("document.querySelector('[role=alert]').textContent") == "the file has errors"
        marked = page.value("[...document.querySelectorAll('.marks .wrong')].map(m => [+m.dataset.line, m.firstChild.data.length + 1, m.querySelector('u').textContent])")
        assert [tuple(one[:2]) for one in marked] == places and [one[2] for one in marked] == ['"soon"', '"oops"'], (marked, places)
        # A mark lies on its line, however far the text is scrolled, and a click puts the cursor there.
        for number, (line, column) in enumerate(places):
            page.value(clicked(number))
            page.settle()
            start = sum(len(one) + 1 for one in lines[:line - 1]) + column - 1
            assert page.value("document.activeElement.selectionStart") == start, (line, column)
            gutter, mark = page.value(f"[document.querySelectorAll('.lines span')[{line - 1}], document.querySelector('.marks [data-line=\"{line}\"]')].map(n => n.getBoundingClientRect().y)")
            assert abs(gutter - mark) < 4, (gutter, mark)
        assert page.value("document.querySelector('textarea').getAttribute('aria-invalid')") == "true"
        # A wrong setting beside Run has no line.
        page.value("(() => {const t = document.querySelector('textarea'); t.value = t.value.replace('oops', '1k').replace('soon', '1s'); t.dispatchEvent(new Event('input'))})()")
        page.until("!document.querySelector('.marks .wrong') && !document.querySelector('ul.errors li')")
        page.value("document.querySelector('input[aria-label^=settings]').value = 'run.duration=x'")
        click(page, "Run")
        page.until("/run.duration/.test(document.querySelector('ul.errors li')?.textContent)")
        assert not page.value("document.querySelectorAll('ul.errors button').length") and not server.get("/runs")["runs"]
        complaints = [text for text in page.complaints() if "422" not in text]  # Chromium's note of the refusal
        assert not complaints, complaints


def keep_states(server, runs):
    """States of ended runs in the server's folder: {id: members}"""
    for run, state in runs.items():
        state = {"id": run, "file": f"{run}.yaml", "set": [], "started": "2026-01-01T00:00:00Z", "status": "ended", **state}
        (Path(server.folder) / "runs" / f"{run}.json").write_text(json.dumps(state))


SEARCHES = [  # what is typed, and which runs are left
    ("kea", "dcb"), ("kea pass", "b"), ("kea -pass", "dc"), ("RATE=2K", "c"), ("lost", "d"), ("no result", "a"), ("b.yaml", "b"), ("<b>", "c"), ("nothing", ""),
]


@test
def samples_are_those_of_config_and_pass_the_check():
    config = Path(__file__).parents[2] / "config"
    with Server() as server:
        samples = server.get("/samples")["samples"]
        assert [one["name"] for one in samples] == sorted(path.name for path in config.glob("*.yaml") if "\ntraffic:" in path.read_text())
        for name in sorted({name for one in samples for name in one["needs"]}):
            server.put(name, (config / name).read_text())
        for one in samples:
            status, _, text = server.ask("GET", f"/samples/{one['name']}")
            assert status == 200 and text == (config / one["name"]).read_text(), one
            assert len(one["about"]) > 20 and "$schema" not in one["about"], one
            # Some measure with commands, which this server does not allow.
            errors = json.loads(server.ask("POST", "/check", text)[2])["errors"]
            assert all("--allow-commands" in error["text"] for error in errors), (one, errors)


@test
def a_sample_is_picked_edited_and_started():
    page = browser()
    with Server() as server:
        def choose(name):
            page.until("document.querySelectorAll('select option').length > 20")
            page.value(f"(() => {{const c = document.querySelector('select'); c.value = '{name}'; c.dispatchEvent(new Event('change'))}})()")

        url = f"http://127.0.0.1:{server.port}"
        page.visit(url + "/", "document.documentElement.dataset.shown === '/'", 390)
        choose("dns-steady.yaml")
        click(page, "New file")
        page.until("location.pathname === '/file/dns-steady.yaml' && document.querySelector('[data-errors]')?.dataset.errors === '0'")
        assert [file["name"] for file in server.get("/files")["files"]] == ["dns-steady.yaml", "queries.txt"]
        page.value("serve.go('/').then(() => 0)")
        choose("selftest.yaml")
        name = "document.querySelector('input[placeholder=\"new.yaml\"]')"
        assert page.value(f"{name}.value") == "selftest.yaml" and "one process" in page.value("document.querySelector('p[role=status]').textContent")
        page.value(f"{name}.value = 'mine.yaml'")
        choose("dns-steady.yaml")
        assert page.value(f"{name}.value") == "mine.yaml"  # what was typed stays
        choose("selftest.yaml")
        click(page, "New file")
        page.until("location.pathname === '/file/mine.yaml' && !!document.querySelector('textarea')")
        page.value("(() => {const t = document.querySelector('textarea'); t.value = t.value.replace(/duration: \\w+/, 'duration: 300ms'); t.dispatchEvent(new Event('input'))})()")
        click(page, "Run")
        page.until("!!document.documentElement.dataset.ended && !!document.querySelector('.result [data-verdict]')")
        run = server.get("/runs")["runs"][0]
        assert run["file"] == "mine.yaml" and server.get(f"/runs/{run['id']}/result")["run"]["measured_s"] < 1, run
        # A file that is there stays.
        page.value("serve.go('/').then(() => 0)")
        choose("")
        page.value(f"{name}.value = 'mine.yaml'")
        click(page, "New file")
        page.until("/already/.test(document.querySelector('[role=alert]').textContent)")
        assert "duration: 300ms" in server.ask("GET", "/files/mine.yaml")[2]
        clean(page, server)


@test
def runs_are_searched_and_the_address_keeps_the_search():
    page = browser()
    with Server() as server:
        keep_states(server, {"a": {"name": "knot"}, "b": {"name": "kea", "verdict": "pass"}, "d": {"name": "kea", "status": "running"},
                             "c": {"name": "kea <b>", "verdict": "fail", "set": ["traffic.queries.load.rate=2k"]}})
        url = f"http://127.0.0.1:{server.port}"
        shown = "[...document.querySelectorAll('[data-table=runs] tbody a')].map(a => a.pathname.at(-1)).join('')"
        page.visit(url + "/", "document.documentElement.dataset.shown === '/'", 1280)
        assert page.value(shown) == "dcba"
        for words, left in SEARCHES:
            page.value(f"(() => {{const f = document.querySelector('input[type=search]'); f.value = {json.dumps(words)}; f.dispatchEvent(new Event('input'))}})()")
            assert page.value(shown) == left, (words, page.value(shown))
            assert page.value("document.querySelector('.row [role=status]').textContent") == f"{len(left)} of 4 runs"
            assert page.value("new URLSearchParams(location.search).get('q')") == words
        # A link has the search, and Back returns to it.
        page.visit(url + "/?q=kea+-pass", f"{shown} === 'dc'", 390)
        assert page.value("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than its window"
        page.value("document.querySelector('[data-table=runs] a').click()")
        page.until("location.pathname === '/run/d' && document.documentElement.dataset.ended === 'd'")
        page.value("history.back()")
        page.until(f"{shown} === 'dc' && document.querySelector('input[type=search]').value === 'kea -pass'")
        clean(page, server)


@test
def two_ticked_runs_are_compared():
    page = browser()
    with Server() as server, tempfile.TemporaryDirectory() as folder:
        runs = []
        for rate in ("1k", "2k"):
            server.put("quick.yaml", quick("300ms", criteria=["loss <= 1%"]))
            runs.append(server.run("quick.yaml", f"traffic.queries.load.rate={rate}"))
            server.wait(runs[-1])
            until(lambda: time.strftime("%Y%m%d-%H%M%S", time.gmtime()) > runs[-1][:15], "another second")  # for the order of ids
        # The text is that of the program, for the same results.
        for run in runs:
            (Path(folder) / run).mkdir()
            (Path(folder) / run / "result.json").write_text(server.ask("GET", f"/runs/{run}/result")[2])
        code, out, err = execute([binary(), "compare", *[f"{run}/result.json" for run in runs]], cwd=folder)
        assert code == 0 and "different tests" in err, (code, err)
        status, kind, said = server.ask("GET", f"/runs/{runs[0]}/compare/{runs[1]}")
        assert status == 200 and sorted(said.splitlines()) == sorted((out + err).splitlines()), said
        page.visit(f"http://127.0.0.1:{server.port}/", "document.querySelectorAll('[data-table=runs] tbody tr').length === 2", 1280)
        ready = "[...document.querySelectorAll('button')].find(b => b.textContent === 'Compare').disabled"
        tick = "document.querySelectorAll('[data-table=runs] [type=checkbox]')[{}].click()".format
        assert page.value(ready)
        page.value(tick(0))
        assert page.value(ready)
        # A tick outlives a search.
        page.value("(() => {const f = document.querySelector('input[type=search]'); f.value = 'rate=1k'; f.dispatchEvent(new Event('input'))})()")
        page.value(tick(0))
        assert not page.value(ready)
        click(page, "Compare")
        page.until(f"location.pathname === '/compare/{runs[0]}/{runs[1]}' && ddiperf.charts.length > 3 && !!ddiperf.charts[0].plot")
        assert page.value("document.querySelector('[data-text=warning]').textContent") == re.sub(r"^ddiperf: warning: compare: ", "", err.strip())
        assert page.value("document.querySelector('[data-text=comparison]').textContent").strip() == out.strip()
        assert page.value("document.querySelector('#page nav').nextSibling.id + document.querySelector('#page nav a').hash") == "comparison#comparison"
        assert page.value("[...document.querySelectorAll('[data-table=changes] tr')].some(r => /answered_per_s/.test(r.textContent) && /better/.test(r.textContent))")
        page.change(390, dark=True)
        assert page.value("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than its window"
        page.value("[...document.querySelectorAll('a')].find(a => a.textContent === 'Swap them').click()")
        page.until(f"location.pathname === '/compare/{runs[1]}/{runs[0]}' && ddiperf.runs[0]?.doc.run.id === '{runs[1]}'")
        clean(page, server)


@test
def a_run_in_progress_says_how_it_stands():
    """Tiles, criteria and whether it is invalid, from its begin on."""
    page = browser()
    two = [item(load={"rate": "1k"}), item("more", load={"rate": "500"})]
    with Server() as server:
        server.put("two.yaml", ring(*two, run={"duration": "300ms", "interval": "100ms"}, criteria=["loss <= 1%", "p99 <= 1ns"]))
        begin, *rest = [line for kind, line in server.lines(server.run("two.yaml")) if kind == "line"]
        intervals = [line for line in rest if "t_s" in line]
        page.visit(f"http://127.0.0.1:{server.port}/", "document.documentElement.dataset.shown === '/'", 1280)
        take = "watch.take({})".format
        page.value("window.watch = new serve.Watch('x', document.createElement('p'), document.createElement('p')), 0")
        states = "[...document.querySelectorAll('[data-table=criteria] tbody tr')].map(r => r.innerText.replace(/\\s+/g, ' ').trim())"
        page.value(take(json.dumps(begin)))
        assert page.value(states) == ["· open loss <= 1% – <= 1 %", "· open p99 <= 1ns – <= 1 ns"], page.value(states)
        assert page.value("document.querySelectorAll('.big > div').length") == 5
        so_far = [{"expression": "traffic.queries.loss <= 1%", "value": 0.0, "pass": True, "unit": "1"}, {"expression": "traffic.queries.p99 <= 1ns", "value": None, "pass": False}]
        for number, line in enumerate(intervals):
            page.value(take(json.dumps({**line, "criteria": so_far, **({"invalid": "queries: 9 of 9 not sent <b>"} if number else {})})))
            page.until(f"document.querySelector('#load figure')?.dataset.points === '{number + 1}'")
            said = page.value("document.querySelector('#standing [data-verdict=INVALID]')?.parentNode.textContent ?? ''")
            assert said == ("INVALIDso far: queries: 9 of 9 not sent <b>" if number else ""), said
        assert page.value(states) == ["✓ pass traffic.queries.loss <= 1% 0 % <= 1 % +100 %", "✗ FAIL traffic.queries.p99 <= 1ns no sample <= 1 ns"], page.value(states)
        # Rate and transactions in flight of the last interval, all else of the run so far.
        lost, sent = [sum(one[key] for line in intervals for one in line["traffic"]) for key in ("lost", "sent")]
        found = page.value("ddiperf.runs[0].items.map(i => [i.doc.sent, i.doc.lost, i.doc.in_flight, i.doc.latency.response.p50_ns])")
        assert sum(one[0] for one in found) == sent and sum(one[1] for one in found) == lost, found
        assert [one[2] for one in found] == [one["in_flight"] for one in intervals[-1]["traffic"]], found
        tiles = page.value("[...document.querySelectorAll('.big > div')].map(d => d.innerText.split('\\n'))")
        assert [name for _, name in tiles] == ["answered per second, now", "loss so far", *[tiles[n][1] for n in (2, 3)], "in flight"] and tiles[2][0].endswith("s"), tiles
        where = "['queries', 'more'].map(n => document.querySelector(`[data-chart=\"latency ${n}\"]`).getBoundingClientRect())"
        (first, second) = page.value(f"{where}.map(b => [b.x, b.y, b.width])")
        assert first[1] == second[1] and first[0] + first[2] <= second[0], (first, second)
        clean(page, server)


@test
def a_search_in_progress_shows_its_trials():
    page = browser()
    search = {"variable": "traffic.queries.load.rate", "from": "500", "to": "8k", "goals": [{"loss": "1%"}], "warmup": "0s", "trial": "900ms", "final": "10s",
              "settle": "0s", "width": "1%", "verify": 0}
    with Server() as server:
        server.put("search.yaml", ring(item(load={"rate": "1k"}, timeout="100ms"), run={"duration": "1s", "interval": "300ms"}, search=search,
                                       responder={"dns": {}, "faults": {"capacity": {"rate": "2k"}}}))
        run = server.run("search.yaml")
        page.visit(f"http://127.0.0.1:{server.port}/run/{run}", "!!document.querySelector('[role=status]')")
        # In the text, too, the trial and how far it is; and the charts of a trial stay until the next one has its own.
        page.value("""(() => {window.kept = []; const said = document.querySelector('[role=status]');
            new MutationObserver(() => /^Trial (?!1 )\\d+ at .*; highest that met the goal: .*measuring, 0 of 0\\.9 s/.test(said.textContent)
                && kept.push(!!document.querySelector('[data-chart="load queries"]'))).observe(said, {childList: true})})()""")
        page.until("+document.querySelector('[data-chart=\"search order A\"]')?.dataset.points > 2")
        assert page.value("document.querySelector('[data-verdict]').dataset.verdict") == "RUNNING"
        assert page.value("document.querySelector('#page section:not(#standing)').id") == "search"
        page.until("kept.length > 1")
        assert all(page.value("kept")), page.value("kept")
        trials = page.value("ddiperf.runs[0].doc.search.trials.map(t => t.rate)")
        assert page.value("ddiperf.runs[0].doc.search.goals.map(goal => goal.goal)") == ["loss <= 1%"]
        assert trials[0] == 8000 and server.ask("POST", f"/runs/{run}/stop")[0] == 200
        server.wait(run)
        clean(page, server)


OFFERS = [  # text before the cursor, and what is offered there
    ("hos", ["host"]), ("run:\n  dur", ["duration"]), ("run: {name: x, dur", ["duration"]), ("host:\n  idle: ", ["auto", "poll", "sleep"]),
    ("traffic:\n- name: a\n  spread: st", ["stub"]), ("traffic: [{load: {wave: {", ["mean", "amplitude", "period"]),
    ("traffic:\n  - name: a\n    load:\n      ramp:\n        fr", ["from"]), ("ports:\n- name: a\n\n# driver: x\n  driver: af", ["af_xdp", "af_packet"]),
    ("traffic:\n- dns:\n    expect:\n      rcode: [NOERROR, NX", ["NXDOMAIN", "NXRRSET"]), ("traffic:\n- dns:\n    expect:\n      rcode:\n      - NXD", ["NXDOMAIN"]),
    ("traffic: [{name: x, dns: {expect: {rcode: [NXD", ["NXDOMAIN"]), ("traffic: [{name: x, dns: {expect: {rcode: [NXDOMAIN]}}, spr", ["spread"]),
    ("nonsense:\n  na", []), ("run:\n  duration: 10s # du", []),
]


@test
def keys_and_values_are_completed_by_keyboard():
    page = browser()
    with Server() as server:
        def press(key, **more):
            page.send("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, **more)

        server.put("new.yaml", "host:\n  idle: ")
        page.visit(f"http://127.0.0.1:{server.port}/file/new.yaml", "!!document.querySelector('textarea')")
        page.value("(async () => {window.schema = await (await fetch('/api/v1/schema')).json()})()")
        for before, offers in OFFERS:
            found = page.value(f"serve.offersAt(schema, {json.dumps(before)}, {len(before)}).offers.map(offer => offer.name)")
            assert found == offers, (before, found)
        # The chosen one is told to a screen reader, too.
        page.value("(() => {const t = document.querySelector('textarea'); t.setSelectionRange(1e6, 1e6); t.focus()})()")
        press(" ", modifiers=2)
        chosen = "document.getElementById(document.querySelector('textarea').getAttribute('aria-activedescendant'))?.firstChild.data"
        assert page.value(chosen) == "auto"
        press("Escape")
        assert page.value("!document.querySelector('.offers') && !document.querySelector('[aria-activedescendant]')")
        press(" ", modifiers=2)
        press("ArrowDown")
        # What was offered stays where its word goes, and while the file is checked.
        page.value("document.querySelector('textarea').dispatchEvent(new Event('scroll'))")
        assert page.value(chosen) == "poll"
        press("Enter")
        assert page.value("document.querySelector('textarea').value") == "host:\n  idle: poll"
        # Tab leaves the text when nothing is offered.
        press("Tab")
        assert page.value("document.activeElement.tagName") == "BUTTON"
        clean(page, server)


@nightly
def an_hour_of_a_run_stays_small():
    page = browser()
    with Server() as server:
        server.put("quick.yaml", quick())
        run = server.run("quick.yaml")
        lines = [line for kind, line in server.lines(run) if kind == "line"]
        begin, interval = lines[0], next(line for line in lines if "t_s" in line)
        page.visit(f"http://127.0.0.1:{server.port}/", "document.documentElement.dataset.shown === '/'")
        # As text, like the server sends them; a frame for each 300 of them.
        page.value(f"""(async () => {{
            const watch = new serve.Watch("x", document.createElement("p"), document.createElement("p")), text = {json.dumps(json.dumps(interval))};
            watch.take({json.dumps({**begin, "duration_s": HOUR})});
            for (let t = 1; t <= {HOUR}; t++) {{
                watch.take({{...JSON.parse(text), t_s: t, length_s: 1}});
                if (t % 300 === 0)
                    await new Promise(go => requestAnimationFrame(go));
            }}
        }})()""")
        page.until(f"ddiperf.runs[0]?.t.length === {HOUR} && ddiperf.charts[0]?.plot?.data[0].length === {HOUR}")
        used = page.send("Runtime.getHeapUsage")["usedSize"]
        print(f"# heap after an hour: {used / 1e6:.0f} MB")
        assert used < HEAP, used
        assert page.value("ddiperf.runs[0].items[0].heat.length") <= 400
        clean(page, server)


def tab(page):
    """Octets of its process that it shares with no other; a process that waits for the next page is smaller."""
    renderers = [one["id"] for one in page.call("SystemInfo.getProcessInfo")["processInfo"] if one["type"] == "renderer"]
    rollups = [Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in renderers]
    return max(sum(int(size) for size in re.findall(r"^Private_(?:Clean|Dirty): +(\d+) kB", one, re.M)) for one in rollups) * 1024


@nightly
def a_tab_that_follows_an_hour_stays_small():
    """A run with as many intervals as an hour has seconds, from the server to the charts, with nothing reloaded."""
    page = browser()
    with Server() as server:
        server.put("quick.yaml", quick("10m"))
        run = server.run("quick.yaml", "run.interval=20ms")
        page.visit(f"http://127.0.0.1:{server.port}/run/{run}", "ddiperf.runs[0]?.t.length > 10 && ddiperf.charts.length > 4")
        sizes, end = [], time.monotonic() + 300
        while (count := page.value("ddiperf.runs[0].t.length")) < HOUR:
            assert time.monotonic() < end, count
            time.sleep(5)
            # What the test keeps of the page is no part of it.
            page.events.clear()
            sizes.append((count, round(tab(page) / 1e6)))
        page.settle()
        page.send("HeapProfiler.collectGarbage")
        heap, own = page.send("Runtime.getHeapUsage")["usedSize"], tab(page)
        print(f"# after {HOUR} intervals: heap {heap / 1e6:.0f} MB, process {own / 1e6:.0f} MB; on the way: {sizes}")
        assert heap < HEAP and own < HEAP and max(size for _, size in sizes) < HEAP / 1e6, (heap, own, sizes)
        assert page.value("ddiperf.charts[0].plot.data[0].length") >= HOUR
        clean(page, server)


if __name__ == "__main__":
    main()
