# SPDX-License-Identifier: BSD-3-Clause
"""A server of runs for a test, a short run, and the browser that looks at it."""

import contextlib
import functools
import http.client
import json
import re
import signal
import tempfile
import time
from pathlib import Path

import harness
from browser import Browser
from harness import binary, kill, start
from loop import item, ring

API = "/api/v1"
LOCAL = ["--allow-local-users"]  # as root it would want a token or credentials
CHANGE = {"X-Ddiperf": "1"}


class Server:
    """One server, up inside `with`, on a port and in a folder of its own."""

    tls = None  # context of a client's

    def __init__(self, *options, folder=None):
        self.folder = folder or tempfile.mkdtemp(prefix="ddiperf-serve-")
        self.options = options

    def __enter__(self):
        self.process = start([binary(), "serve", "--listen", "127.0.0.1:0", "--dir", self.folder, *LOCAL, *self.options])
        line = self.process.stderr.readline()
        found = re.search(r"https?://127\.0\.0\.1:(\d+)", line)
        assert found, line
        self.port = int(found[1])
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        said = self.process.communicate(timeout=60)[1]
        assert self.process.returncode in (0, -signal.SIGKILL), (self.process.returncode, said)

    def ask(self, method, path, body=None, headers=None, api=True):
        """(status, type, text)"""
        place = "127.0.0.1", self.port
        connection = http.client.HTTPSConnection(*place, context=self.tls, timeout=60) if self.tls else http.client.HTTPConnection(*place, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, (API if api else "") + path, body, {**CHANGE, **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.headers["Content-Type"], answer.read().decode()

    def get(self, path):
        status, _, body = self.ask("GET", path)
        assert status == 200, (path, status, body)
        document = json.loads(body)
        if path.endswith("/result"):
            harness.Box.saw(document)
        return document

    def put(self, name, text):
        status, _, body = self.ask("PUT", f"/files/{name}", text)
        assert status == 200, (status, body)

    def run(self, name, *sets, **more):
        status, _, body = self.ask("POST", "/runs", json.dumps({"file": name, "set": sets, **more}))
        assert status == 201, (status, body)
        return json.loads(body)["id"]

    def wait(self, run):
        deadline = time.monotonic() + 60
        while (state := self.get(f"/runs/{run}"))["status"] == "running":
            assert time.monotonic() < deadline, state
            time.sleep(0.05)
        log = self.ask("GET", f"/runs/{run}/log")[2]
        harness.timing("the schedule would begin late" not in log, log)
        return state

    def lines(self, run):
        """What is followed until the end: [(event, data)]"""
        _, kind, body = self.ask("GET", f"/runs/{run}/follow")
        assert kind == "text/event-stream", kind
        events = [event for event in body.split("\n\n") if event.strip(": \n")]
        return [("end" if event.startswith("event: end") else "line", json.loads(re.search(r"^data: (.*)", event, re.M)[1])) for event in events]


def agent(stack, nats, name, *options):
    """An agent that waits; its process."""
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="ddiperf-agent-", ignore_cleanup_errors=True))
    process = start([binary(), "agent", "--nats", nats.url(), "--name", name, "--dir", folder, *LOCAL, *options])
    stack.callback(lambda: (kill(process), process.communicate()))
    assert "waits at" in (line := process.stderr.readline()), line
    return process


def quick(duration="500ms", prefix="", **more):
    """A short run over a ring; those with the same prefix have the same ports."""
    document = json.loads(ring(item(load={"rate": "1k"}), run={"duration": duration}, **more))
    for port in document["ports"]:
        port.update(name=prefix + port["name"], device=prefix + port["device"])
    document["responder"]["port"] = prefix + "dut"
    return json.dumps(document, indent=1)


def wait_for_intervals(server, *runs):
    """Until each of these runs has had one."""
    for run in runs:
        path, deadline = Path(server.folder) / "runs" / run / "live.jsonl", time.monotonic() + 60
        while not path.exists() or '"t_s"' not in path.read_text():
            assert time.monotonic() < deadline, server.ask("GET", f"/runs/{run}/log")
            time.sleep(0.02)


@functools.cache
def browser():
    """One for all tests; ends with the program."""
    return Browser().__enter__()


def click(page, name):
    page.until(f"[...document.querySelectorAll('button')].some(b => b.textContent === {name!r})")
    page.value(f"[...document.querySelectorAll('button')].find(b => b.textContent === {name!r}).click()")


def main():
    """That of the harness; the browser ends with it."""
    try:
        harness.main()
    finally:
        if browser.cache_info().currsize:
            browser().__exit__()
