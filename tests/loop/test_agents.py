#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# A run on a fleet: agents at a nats-server divide it, begin at one time, and what they tell is one run. Agents, coordinators,
# servers and clocks that fail in the middle of it make it invalid by name, and nothing that was measured is lost.

import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from delayed_link import DelayedLink
from harness import EXIT, Result, binary, check_ledger, config_file, execute, kill, main, nightly, skip, start, test, timing, until
from loop import RELAXED, item, ring
from nats_server import NatsServer

VALIDITY = {"validity": {**RELAXED, "fleet_skew": "200ms"}}
INVALID = EXIT["invalid"]
FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"


class Agent:
    """An agent, up inside `with`; it waits for runs when it says so."""

    def __init__(self, server, name, *options, folder=None, environment=None):
        self.stack = contextlib.ExitStack()
        self.folder = folder or self.stack.enter_context(tempfile.TemporaryDirectory(prefix="ddiperf-agent-"))
        self.name, self.environment = name, environment
        self.argv = [binary(), "agent", "--nats", server.url(), "--name", name, "--dir", str(self.folder), *options]

    def __enter__(self):
        environment = {**os.environ, **(self.environment or {})}
        self.process = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                        start_new_session=True, env=environment)
        line = self.process.stderr.readline()
        assert "waits at" in line, line + self.process.stderr.read()
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            said = self.process.communicate(timeout=30)[1]
        except subprocess.TimeoutExpired:
            kill(self.process)
            raise
        finally:
            self.stack.close()
        assert self.process.returncode in (0, -signal.SIGKILL), (self.process.returncode, said)

    def run_folder(self):
        return next(Path(self.folder, "runs").iterdir())


@contextlib.contextmanager
def fleet(*names, options=(), **server):
    with NatsServer(**server) as nats, contextlib.ExitStack() as stack:
        yield nats, [stack.enter_context(Agent(nats, name, *options)) for name in names]


class Run:
    """A coordinator in the background, inside `with`."""

    def __init__(self, server, config, *options, files=None):
        self.stack = contextlib.ExitStack()
        self.path = self.stack.enter_context(config_file(config))
        for name, content in (files or {}).items():
            (self.path.parent / name).write_text(content)
        self.out, self.lines = self.path.parent / "result.json", self.path.parent / "live.jsonl"
        self.argv = [binary(), "run", str(self.path), "--fleet", server.url(), "--json", str(self.out),
                     "--set", f"output.jsonl={self.lines}", *options]

    def __enter__(self):
        self.process = start(self.argv)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            kill(self.process)
            self.process.communicate()
        self.stack.close()

    def intervals(self):
        if not self.lines.exists():
            return []
        lines = [json.loads(line) for line in self.lines.read_text().splitlines() if line.endswith("}")]
        return [line for line in lines if "number" in line]

    def wait_intervals(self, count):
        until(lambda: len(self.intervals()) >= count or self.process.poll() is not None, "intervals")
        assert self.process.poll() is None, self.process.communicate()

    def end(self, invalid=False, timeout=60):
        out, err = self.process.communicate(timeout=timeout)
        document = json.loads(self.out.read_text()) if self.out.exists() and self.out.stat().st_size else None
        return Result(self.process.returncode, document, out, err, invalid)


def on_fleet(server, config, *options, invalid=False, timeout=60, **files):
    with Run(server, config, *options, **files) as run:
        return run.end(invalid, timeout)


def reasons(result):
    return " | ".join(result.json["verdict"]["reasons"])


@test
def two_agents_are_one_run():
    """Their replies come in a later interval than that of the requests."""
    config = ring(item(load={"rate": "2k"}, timeout="2s"), run={"duration": "1s", "interval": "250ms"}, criteria=["loss <= 0%"],
                  responder={"dns": {}, "faults": {"delay": {"constant": "300ms"}}}, **VALIDITY)
    with fleet("b", "a") as (nats, agents), Run(nats, config) as run:
        result = run.end()
        lines = run.intervals()
    assert result.code == 0, result
    queries = result.item("queries")
    check_ledger(queries)
    assert queries["sent"] == queries["answered"] == 2000, queries
    members = result.json["fleet"]["members"]
    assert [(one["name"], one["part"]) for one in members] == [("a", 1), ("b", 2)], members
    assert result.json["fleet"]["agents"] == 2 and len(result.json["parts"]) == 2
    assert [part["traffic"][0]["sent"] for part in result.json["parts"]] == [1000, 1000]
    assert sum(one["traffic"][0]["sent"] for one in result.json["intervals"]) == 2000
    assert sum(one["traffic"][0]["sent"] for one in lines) == 2000
    assert len([one for one in lines if not one.get("last") and one["traffic"][0]["due"]]) == 4, lines
    by_due = [(one["traffic"][0]["due"], one["traffic"][0]["by_due"]["answered"]) for one in result.json["intervals"]]
    assert sum(answered for _, answered in by_due) == 2000, by_due
    timing(by_due[:4] == [(500, 500)] * 4, by_due)
    assert all(one["traffic"][0]["by_due"]["mean_ns"] >= 300e6 for one in result.json["intervals"][:4]), result.json["intervals"]
    assert all(one["clock_source"] in ("nats", "kernel") for one in members), members
    skew = result.json["fleet"]["start_skew_ns"]
    timing(skew <= 1e6, f"{skew} ns\n{result}")
    assert result.json["verdict"]["status"] == "pass" and "fleet" not in result.stderr, result


@nightly
def a_file_of_queries_travels_once():
    names = "".join(f"q{n}.example.com A\n" for n in range(50))
    config = ring(item(load={"total": 100, "rate": "1k"}, dns={"queries": "names.txt"}), **VALIDITY)
    with fleet("a", "b", jetstream=True) as (nats, agents):
        for _ in range(2):
            result = on_fleet(nats, config, files={"names.txt": names})
            assert result.code == 0 and result.item("queries")["sent"] == 100, result
        for agent in agents:
            assert len(list(Path(agent.folder, "cache").iterdir())) == 1
            assert len(list(Path(agent.folder, "runs").iterdir())) == 2
    outside = ring(item(dns={"queries": "../names.txt"}), **VALIDITY)
    with fleet("a") as (nats, _):
        result = on_fleet(nats, outside)
        assert result.code == EXIT["usage"] and "folder of the configuration" in result.stderr, result


def sockets(process):
    return {end for file in Path(f"/proc/{process}/fd").iterdir() if (end := os.readlink(file)).startswith("socket:")}


@test
def an_agent_that_dies_makes_the_run_invalid_by_name():
    config = ring(item(load={"rate": "1k"}), run={"duration": "60s", "interval": "250ms"}, **VALIDITY)
    with fleet("a", "b") as (nats, agents), Run(nats, config) as run:
        run.wait_intervals(3)
        (child,) = Path(f"/proc/{agents[1].process.pid}/task/{agents[1].process.pid}/children").read_text().split()
        shared = sockets(child) & sockets(agents[1].process.pid)
        assert not shared, f"a run holds the connection of its agent: {shared}"
        kill(agents[1].process)
        begin = time.monotonic()
        result = run.end(invalid=True)
        took = time.monotonic() - begin
        shown = run.intervals()
    assert result.code == INVALID, result
    assert "agent b (part 2): nothing was heard of it" in reasons(result), result
    timing(took < 6, took)
    queries, intervals = result.item("queries"), result.json["intervals"]
    check = sum(one["traffic"][0]["sent"] for one in intervals)
    assert queries["sent"] == check >= sum(one["traffic"][0]["sent"] for one in shown[:3]) > 0, (queries, check)
    assert [part["part"] for part in result.json["parts"]] == [1, 2], result.json["parts"]


@nightly
def an_agent_that_hangs_makes_the_run_invalid_by_name():
    config = ring(item(load={"rate": "1k"}), run={"duration": "60s", "interval": "250ms"}, **VALIDITY)
    with fleet("a", "b") as (nats, agents), Run(nats, config) as run:
        run.wait_intervals(2)
        agents[0].process.send_signal(signal.SIGSTOP)
        result = run.end(invalid=True)
        agents[0].process.send_signal(signal.SIGCONT)
        assert result.code == INVALID and "agent a (part 1): nothing was heard of it" in reasons(result), result
        until(lambda: '{"over"' in (agents[0].run_folder() / "events.jsonl").read_text(), "the end of its run")


@nightly
def agents_end_the_run_of_a_dead_coordinator():
    config = ring(item(load={"rate": "1k"}), run={"duration": "60s", "interval": "250ms"}, **VALIDITY)
    with fleet("a") as (nats, agents):
        with Run(nats, config) as run:
            run.wait_intervals(2)
            other = on_fleet(nats, config)
            assert other.code == EXIT["environment"] and "agent a is left out: run" in other.stderr, other
            kill(run.process)
            run.process.communicate()
        until(lambda: '{"over"' in (agents[0].run_folder() / "events.jsonl").read_text(), "the end of the run")
        assert json.loads((agents[0].run_folder() / "run-1.json").read_text())["verdict"]["status"] == "interrupted"
        short = ring(item(load={"total": 10, "rate": "1k"}), **VALIDITY)
        until(lambda: on_fleet(nats, short).code == 0, "a next run")


@test
def a_server_that_starts_again_is_survived():
    config = ring(item(load={"rate": "1k"}), run={"duration": "4s", "interval": "250ms"}, **VALIDITY)
    with fleet("a", "b") as (nats, agents), Run(nats, config) as run:
        run.wait_intervals(2)
        nats.stop(signal.SIGKILL)
        time.sleep(0.5)
        nats.start()
        result = run.end()
        shown = run.intervals()
    assert result.code == 0, result
    assert result.item("queries")["sent"] == 4000 == sum(one["traffic"][0]["sent"] for one in shown), (result, shown)


class Spoiler:
    """Between an agent and its server. Of the messages with intervals one is left out, one comes twice, one comes behind the next
    message, and one does not say which piece it is."""

    FAULTS = {1: "left out", 3: "twice", 5: "too late", 7: "garbled"}

    def __init__(self):
        self.rest, self.held, self.count, self.done = b"", b"", 0, []

    def __call__(self, data):
        self.rest += data
        out = b"".join(map(self.spoil, self.messages()))
        return out or None

    def messages(self):
        while b"\r\n" in self.rest:
            head = self.rest[:self.rest.index(b"\r\n") + 2]
            size = int(head.split()[-1]) + 2 if head.startswith((b"PUB ", b"HPUB ")) else 0
            if len(self.rest) < len(head) + size:
                return
            message, self.rest = self.rest[:len(head) + size], self.rest[len(head) + size:]
            yield message

    def spoil(self, message):
        if not message.startswith(b"PUB ddiperf.run."):
            return message
        behind, self.held = self.held, b""
        self.count += b'"number"' in message
        fault = self.FAULTS.get(self.count) if b'"number"' in message else None
        if fault:
            self.done.append(fault)
        if fault == "too late":
            self.held = message
        if fault == "garbled":
            head, end, body = message.partition(b"\r\n")
            message = head + end + b"?" + body[1:]
        return {"left out": b"", "twice": message * 2, "too late": b""}.get(fault, message) + behind


@test
def what_went_astray_is_read_again_and_counts_once():
    config = ring(item(load={"rate": "1k"}), run={"duration": "1s", "interval": "50ms"}, **VALIDITY)
    spoiler = Spoiler()
    with NatsServer() as nats, DelayedLink(nats.port, 0, spoiler) as link, Agent(link, "a") as agent, Run(nats, config) as run:
        result = run.end()
        shown = [(one["number"], one["traffic"][0]["sent"]) for one in run.intervals()]
        lines = [json.loads(line) for line in (agent.run_folder() / "events.jsonl").read_text().splitlines()]
    told = [(one["number"], one["traffic"][0]["sent"]) for one in lines if "number" in one]
    assert result.code == 0 and result.item("queries")["sent"] == 1000, result
    assert shown == told and sum(sent for _, sent in shown) == 1000, (shown, told, spoiler.done)
    assert sum(one["traffic"][0]["sent"] for one in result.json["intervals"]) == 1000, result.json["intervals"]
    timing(spoiler.done == list(Spoiler.FAULTS.values()), (spoiler.done, told))


@test
def orders_and_stop_rules_hold_for_the_whole():
    config = ring(item(load={"rate": "1k"}), run={"duration": "60s", "interval": "250ms"}, stop=["sent >= 600"], **VALIDITY)
    with fleet("a", "b") as (nats, _):
        result = on_fleet(nats, config)
    assert result.code == EXIT["fail"], result
    assert result.json["verdict"]["stopped"] == "sent >= 600", result.json["verdict"]
    assert 600 <= result.item("queries")["sent"] < 3000, result


@nightly
def a_bound_on_what_is_in_flight_holds_for_the_sum():
    """At 250 ms each has 100 in flight, at 500 ms 200."""
    slow = {"two_point": {"first": "0s", "second": "5s", "share_of_second": "80%"}}
    config = ring(item(load={"rate": "1k", "max_outstanding": 300}, timeout="8s"), run={"duration": "60s", "interval": "250ms", "drain": "200ms"},
                  responder={"dns": {}, "faults": {"delay": slow}}, **VALIDITY)
    with fleet("a", "b") as (nats, _):
        result = on_fleet(nats, config)
    assert result.code == EXIT["fail"], result
    verdict = result.json["verdict"]
    assert verdict["stopped"] == "traffic.queries.in_flight > 300", verdict
    timing(abs(verdict["stopped_s"] - 0.5) < 0.01, verdict)
    assert not any(part["verdict"].get("stopped") for part in result.json["parts"]), result.json["parts"]
    assert result.json["config"]["traffic"][0]["load"]["max_outstanding"] == 300, result.json["config"]


@nightly
def an_interrupt_ends_all_parts_in_order():
    config = ring(item(load={"rate": "1k"}), run={"duration": "60s", "interval": "250ms"}, **VALIDITY)
    with fleet("a", "b") as (nats, _), Run(nats, config) as run:
        run.wait_intervals(2)
        run.process.send_signal(signal.SIGINT)
        result = run.end()
    assert result.code == EXIT["interrupted"], result
    check_ledger(result.item("queries"))
    assert len(result.json["parts"]) == 2


@nightly
def agents_are_chosen_by_labels_and_number():
    config = ring(item(load={"total": 10, "rate": "1k"}), **VALIDITY)
    with NatsServer() as nats, Agent(nats, "a", "--labels", "rack=1"), Agent(nats, "b", "--labels", "rack=2,site=x"):
        for options, names in ((("--select", "rack=2"), ["b"]), (("--agents", "1"), ["a"]), ((), ["a", "b"])):
            result = on_fleet(nats, config, *options)
            assert result.code == 0, (options, result)
            assert [one["name"] for one in result.json["fleet"]["members"]] == names, (options, result)
        for options, words in ((("--select", "rack=3"), "0 agents with the labels rack=3"), (("--agents", "3"), "2 agents are free")):
            result = on_fleet(nats, config, *options)
            assert result.code == EXIT["environment"] and words in result.stderr, result
        code, _, err = execute([binary(), "agent", "--nats", nats.url(), "--name", "a", "--dir", tempfile.mkdtemp()])
        assert code == EXIT["environment"] and "an agent a already" in err, err


@test
def an_agent_checks_what_it_is_given():
    hook = ring(item(), hooks={"start": "touch /tmp/never"}, **VALIDITY)
    with fleet("a") as (nats, _):
        result = on_fleet(nats, hook)
        assert result.code == EXIT["usage"] and "agent a (part 1)" in result.stderr and "not allowed" in result.stderr, result
    with fleet("a", options=("--allow-commands",)) as (nats, _):
        result = on_fleet(nats, hook.replace("touch /tmp/never", "true"))
        assert result.code == 0, result


@test
def commands_about_the_server_run_once_and_need_the_leave_of_one_agent():
    with tempfile.NamedTemporaryFile("r") as lines, NatsServer() as nats, Agent(nats, "a", "--allow-commands") as first, Agent(nats, "b") as second:
        config = json.loads(ring(item(load={"rate": "1k"}), run={"duration": "600ms", "interval": "200ms"}, **VALIDITY,
                                 events=[{"at": "300ms", "run": f"echo killed >> {lines.name}", "name": "kill"}]))
        config["dut"] = {"counters": {"command": f"echo asked >> {lines.name}; echo asked $(wc -l < {lines.name})"}}
        result = on_fleet(nats, json.dumps(config))
        assert result.code == 0, result
        assert lines.read().split() == ["asked", "killed", "asked"], result
        assert "event kill: run by part 1" in (second.run_folder() / "log.txt").read_text()
        assert "run by part 1" not in (first.run_folder() / "log.txt").read_text()
    (event,) = result.json["events"]
    assert event["outcome"] == "exit status 0" and event["took_s"] > 0 and not event["failed"], event
    assert [part["events"][0]["outcome"] for part in result.json["parts"]] == ["exit status 0", "run by part 1"], result.json["parts"]
    assert [one["events"] for one in result.json["intervals"]].count(["kill"]) == 1, result.json["intervals"]
    assert result.json["dut"]["counters"] == [{"name": "asked", "difference": 2}], result.json["dut"]


@nightly
def commands_about_the_server_are_refused_by_the_agent_that_would_run_them():
    config = ring(item(), events=[{"at": "100ms", "run": "touch /tmp/never"}], **VALIDITY)
    with NatsServer() as nats, Agent(nats, "a"), Agent(nats, "b", "--allow-commands"):
        result = on_fleet(nats, config)
    assert result.code == EXIT["usage"] and "agent a (part 1)" in result.stderr and "not allowed" in result.stderr, result


@test
def clocks_that_are_off_are_known():
    if not Path(FAKETIME).exists():
        skip("libfaketime is not installed: sudo ./scripts/deps install test")
    config = ring(item(load={"rate": "1k"}), run={"duration": "500ms", "interval": "250ms"}, **VALIDITY)
    sanitizer = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
    fake = {"LD_PRELOAD": FAKETIME, "FAKETIME": "+3600.25s", "DONT_FAKE_MONOTONIC": "1", **sanitizer}
    with NatsServer() as nats, Agent(nats, "a"), Agent(nats, "b", environment=fake):
        result = on_fleet(nats, config)
    assert result.code == 0, result
    members = result.json["fleet"]["members"]
    assert abs(members[1]["clock_offset_ns"] - 3600.25e9) < 50e6 and abs(members[0]["clock_offset_ns"]) < 50e6, members
    timing(result.json["fleet"]["start_skew_ns"] < 2e6, result.json["fleet"])


@nightly
def a_search_finds_the_capacity_of_all_responders():
    """Each agent's responder answers 500 a second."""
    search = {"method": "bisect", "variable": "traffic.queries.load.rate", "from": "500", "to": "2k", "goals": [{"loss": "1%"}],
              "trial": "1s", "warmup": "200ms", "width": "2%", "settle": "0s"}
    faults = {"capacity": {"rate": "500", "queue": 50}}
    config = ring(item(timeout="300ms"), responder={"dns": {}, "faults": faults}, search=search, **VALIDITY)
    with fleet("a", "b") as (nats, _):
        result = on_fleet(nats, config, timeout=200)
    assert result.code == 0, result
    answer = result.json["search"]["answer"]
    timing(abs(answer - 1000) <= 20, (answer, result))
    assert len(result.json["parts"]) == 2 and result.json["fleet"]["agents"] == 2


if __name__ == "__main__":
    main()
