#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Parts of a fleet's run: which of them asks a responder elsewhere, and which runs no commands about the server. The one that
# runs them: tests/loop/test_agents.py.

import contextlib
import http.server
import json
import tempfile
import threading
from pathlib import Path

from harness import EXIT, binary, ddiperf, execute, main, test
from loop import item, ring


def with_dut(text, **dut):
    return json.dumps({**json.loads(text), "dut": dut})


def merge(*documents):
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{number}.json" for number, _ in enumerate(documents)]
        for path, document in zip(paths, documents):
            path.write_text(json.dumps(document))
        out = Path(folder) / "all.json"
        code, stdout, stderr = execute([binary(), "merge", *map(str, paths), "--json", str(out)])
        assert code == 0, (stdout, stderr)
        return json.loads(out.read_text())


@test
def commands_about_the_server_are_those_of_the_first_part():
    with tempfile.NamedTemporaryFile("r") as lines:
        result = ddiperf(with_dut(ring(
            fleet={"agents": 2, "part": 2}, events=[{"at": "150ms", "run": f"echo killed >> {lines.name}", "name": "kill"}]),
            counters={"command": f"echo asked 1 | tee -a {lines.name}"}))
        assert not lines.read(), result
    assert result.code == EXIT["pass"] and "event kill: run by part 1" in result.stdout, result
    (event,) = result.json["events"]
    assert (event["outcome"], event["began_s"], event["took_s"], event["failed"]) == ("run by part 1", 0.15, None, False), event
    assert "dut" not in result.json, result.json["dut"]


@contextlib.contextmanager
def responder_elsewhere(answers, asked):
    """The settings of dut.control; each question has the next answer, the last one for good."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            received, answered = answers.pop(0) if len(answers) > 1 else answers[0]
            self.send_response(200)
            self.end_headers()
            counters = {"received": received, "answered": answered, "protocols": [{"name": "dns", "dns": {"queries": received}}, {"name": "new", "new": {}}]}
            self.wfile.write(json.dumps(counters).encode())

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
    peers = [document["peer"] for document in (*parts, merge(*parts))]
    assert [(one["sent"], one["replies"], one["received"]) for one in peers] == [(200, 200, 390), (200, 200, 0), (400, 400, 390)], peers
    assert [one["loss_there"] for one in peers] == [None, None, 0.025] and abs(peers[2]["loss_back"] - (380 - 400) / 380) < 1e-9, peers


main()
