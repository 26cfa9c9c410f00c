#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# A run that another process leads: orders go in and events come out, a line each. The ports stay from one run to the next.
# Between runs, and until a start is ordered, the clock stands still.

import contextlib
import json
import subprocess
from datetime import datetime

from harness import EXIT, binary, check_ledger, check_sums, config_file, kill, main, test
from loop import item, ring

AHEAD_NS = 150_000_000  # a start is ordered by so much before


class Led:
    """The child, and its events one by one."""

    def __init__(self, folder, *options):
        self.folder = folder
        self.process = subprocess.Popen(
            [binary(), "run", "test.yaml", "--led", *options], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=(folder / "stderr").open("w"), text=True, start_new_session=True)
        self.lines = []

    def order(self, **order):
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()

    def event(self, *kinds):
        """The next event with one of these members and without "begin" and "end"; all before it are kept too."""
        while line := self.process.stdout.readline():
            self.lines.append(json.loads(line))
            if not {"begin", "end"} & self.lines[-1].keys() and any(kind in self.lines[-1] for kind in kinds):
                return self.lines[-1]
        raise AssertionError(f"no {kinds} in {self.lines}\n{(self.folder / 'stderr').read_text()}")

    def ready(self, *settings):
        self.order(once=list(settings))
        event = self.event("ready", "failed")
        self.now_ns = event.get("at_ns")
        return event

    def go(self, ahead_ns=AHEAD_NS):
        at = self.now_ns + ahead_ns
        self.order(start=at)
        return at, self.event("started", "failed")

    def result(self):
        """(event, document) of the run that goes on."""
        event = self.event("result", "failed")
        assert "result" in event, (event, (self.folder / "stderr").read_text())
        document = json.loads((self.folder / event["file"]).read_text())
        for one in document["traffic"]:
            check_sums(one)
        return event, document

    def end(self):
        self.process.stdin.close()
        return self.process.wait(20)


@contextlib.contextmanager
def led(text, *options):
    with config_file(text) as path:
        one = Led(path.parent, *options)
        try:
            yield one
        finally:
            kill(one.process)
            one.process.wait()


@test
def a_child_runs_as_often_as_it_is_told_and_starts_when_it_is_told():
    with led(ring(run={"warmup": "100ms"})) as child:
        assert child.event("up", "failed") == {"up": True}
        for number, rate in enumerate((2000, 1000), 1):
            assert child.ready(f"traffic.queries.load.rate={rate}", f"run.seed={number}")["ready"] == number
            at, started = child.go()
            assert started == {"started": number, "at_ns": at}, (at, started)
            event, document = child.result()
            assert (event["result"], event["file"], event["code"]) == (number, f"run-{number}.json", 0), event
            assert (document["traffic"][0]["due"], document["run"]["seed"]) == (0.3 * rate, number), document["traffic"]
            assert document["run"]["measured_from_ns"] == at + 100_000_000, document["run"]
            check_ledger(document["traffic"][0])
            assert document["config"]["traffic"][0]["load"]["rate"] == rate, document["config"]["traffic"]
            assert len(document["intervals"]) == 4, document["intervals"]
        begun = [line["begin"] for line in child.lines if "begin" in line]
        assert begun == [1, 2] and [line["end"] for line in child.lines if "end" in line] == begun
        assert sum("t_s" in line for line in child.lines) == 2 * 5, child.lines  # one of the warm-up
        assert child.end() == EXIT["pass"]
        assert sorted(path.name for path in child.folder.iterdir()) == ["run-1.json", "run-2.json", "stderr", "test.yaml"]


@test
def a_stop_ends_one_run_and_the_end_of_input_ends_them_all():
    with led(ring(run={"duration": "10h"})) as child:
        child.event("up")
        for number, stop in enumerate((1, 2), 1):
            child.ready()
            child.go(50_000_000)
            child.event("t_s")
            child.order(stop=stop)
            event, document = child.result()
            assert (event["result"], event["code"], document["verdict"]["status"]) == (number, EXIT["interrupted"], "interrupted")
        child.ready()
        child.order(stop=1)
        assert child.event("result", "failed")["failed"] == EXIT["interrupted"]
        child.ready("run.duration=200ms")
        child.go(50_000_000)
        assert child.result()[0]["code"] == EXIT["pass"]
        child.ready("run.duration=10h")
        child.go(50_000_000)
        child.event("t_s")
        child.process.stdin.close()
        assert child.result()[0]["code"] == EXIT["interrupted"]
        assert child.process.wait(20) == EXIT["interrupted"]


@test
def an_order_with_a_time_holds_from_the_first_interval_behind_it():
    """Also behind another one that is due later, and one of the past at once."""
    second = 1_000_000_000
    with led(ring(item(load={"rate": 1000}), run={"duration": "10h", "warmup": "1s", "interval": "1s"})) as child:
        child.event("up")
        child.ready()
        at, _ = child.go()
        child.event("t_s")
        measured = at + second
        child.order(order="traffic.queries.load.rate=500", at_ns=measured + 200 * second + second // 2)
        child.order(order="traffic.queries.load.rate=100", at_ns=measured + 205 * second)
        child.order(order="traffic.queries.load.rate=100", at_ns=0)
        assert "at_ns" in child.event("refused")["text"]
        while child.event("t_s")["t_s"] < 210:
            pass
        child.order(stop=1)
        _, document = child.result()
        assert [one["from_ns"] for one in document["orders"]] == [measured + 201 * second, measured + 205 * second], document["orders"]
        due = {round(one["t_s"]): one["traffic"][0]["due"] for one in document["intervals"]}
        assert [due[t] for t in (200, 201, 202, 205, 206, 207)] == [1000, 1000, 500, 500, 100, 100], due
        assert child.end() == EXIT["interrupted"]


@test
def a_run_of_a_user_takes_the_same_orders():
    """A setting alone, one with a time, stop; what is no order is said and changes nothing."""
    second = 1_000_000_000
    text = ring(item(load={"rate": 100}), run={"duration": "10h", "interval": "1s"}, output={"jsonl": "-"})
    with config_file(text) as path:
        command = [binary(), "run", str(path), "--orders", "--json", "result.json"]
        with subprocess.Popen(command, cwd=path.parent, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
            def type_in(line):
                run.stdin.write(line + "\n")
                run.stdin.flush()

            def interval(least=0):
                while "t_s" not in (line := json.loads(run.stdout.readline())) or line["t_s"] < least:
                    pass
                return line["t_s"]

            # The measured part begins some ms behind this second.
            started = datetime.fromisoformat(json.loads(run.stdout.readline())["result"]["run"]["started"]).timestamp()
            type_in("traffic.queries.load.rate=50")
            at = interval(interval() + 2) + 300
            type_in(json.dumps({"order": "traffic.queries.load.rate=10", "at_ns": int(started + at) * second}))
            type_in('{"stop": 3}')
            type_in('{"once": []}')
            interval(at + 2)
            type_in('{"stop": 1}')
            _, said = run.communicate(timeout=60)
        document = json.loads((path.parent / "result.json").read_text())
        assert run.returncode == EXIT["interrupted"], said
        assert "stop: 1 (wait for replies) or 2 (at once) is missing" in said and "no such order" in said, said
        assert [one["set"] for one in document["orders"]] == [f"traffic.queries.load.rate={rate}" for rate in (50, 10)], document["orders"]
        assert document["orders"][1]["from_ns"] == document["run"]["measured_from_ns"] + int(at) * second, (document["orders"], at)
        assert [one["traffic"][0]["due"] for one in document["intervals"] if int(at) <= one["t_s"] <= int(at) + 1] == [50, 10]


@test
def orders_of_an_item_hold_in_the_order_of_their_times():
    """One that comes later and is due earlier cancels none, and a rate that the item has already is an order like others."""
    second, orders = 1_000_000_000, [(500, 205), (200, 201), (100, 0), (100, 150.5), (300, 205)]
    with led(ring(item(load={"rate": 1000}), run={"duration": "10h", "warmup": "1s", "interval": "1s"})) as child:
        child.event("up")
        child.ready()
        measured = child.go()[0] + second
        child.event("t_s")
        for rate, at in orders:
            child.order(order=f"traffic.queries.load.rate={rate}", **({"at_ns": measured + int(at * second)} if at else {}))
        while child.event("t_s")["t_s"] < 210:
            pass
        child.order(stop=1)
        _, document = child.result()
        held = [one.get("from_ns") for one in document["orders"]]
        first = (held[2] - measured) // second  # the interval after the one in which the order was read
        assert held[2] == measured + first * second and first < 150, (held, measured)
        assert held == [None, *(measured + at * second for at in (201, first, 151, 205))], (held, measured)
        due = {round(one["t_s"]): one["traffic"][0]["due"] for one in document["intervals"]}
        assert [due[t] for t in (first, first + 1, 151, 152, 201, 202, 205, 206)] == [1000, 100, 100, 100, 100, 200, 200, 300], due
        assert child.end() == EXIT["interrupted"]


@test
def wrong_orders_are_refused_and_change_nothing():
    search = {"variable": "traffic.queries.load.rate", "from": "1k", "to": "2k", "goals": [{"loss": "0%"}]}  # it is the leader's
    text = ring(run={"duration": "10h"}, search=search)
    with led(text, "--confined") as child:
        child.event("up")
        for order in ({"stop": 1}, {"start": 1}, {"once": 1}, {"once": [1]}, {"once": ["ports[0].cpus=[0]"]}, {"once": ["hooks.start=x"]}, {}, {"none": 1}):
            child.order(**order)
            assert json.loads(child.event("refused")["refused"]) == order
        child.process.stdin.write("{no JSON\nno setting\n")
        child.process.stdin.flush()
        assert child.event("refused")["refused"] == "{no JSON"
        assert child.event("order") == {"order": "no setting", "refused": "no packets flow now"}
        # The leader may order what it was told, whether a run goes on or not.
        child.order(order="traffic.queries.load.rate=1k")
        assert child.event("order") == {"order": "traffic.queries.load.rate=1k", "refused": "no packets flow now"}
        failed = child.ready("run.duration=never")
        assert failed["failed"] == EXIT["usage"] and "run.duration" in failed["text"], failed
        child.ready("run.duration=10h")
        at, failed = child.go(-20_000_000)
        assert failed["failed"] == EXIT["invalid"] and "ago" in failed["text"], failed
        child.ready()
        child.order(once=[])
        assert child.event("refused")["text"] == "a run is in progress"
        child.go(50_000_000)
        child.event("t_s")
        child.order(order="traffic.queries.load.rate=1k")
        child.order(order="traffic.queries.load.rate=9k")
        assert "refused" not in child.event("order") and "refused" in child.event("order")
        child.order(stop=1)
        _, document = child.result()
        assert [one["set"] for one in document["orders"]] == ["traffic.queries.load.rate=1k"], document["orders"]
        assert child.end() == EXIT["interrupted"]


@test
def a_child_that_cannot_begin_says_why():
    with led(ring(item(load={"rate": "none"}))) as child:
        failed = child.event("up", "failed")
        assert failed["failed"] == EXIT["usage"] and "load.rate" in failed["text"], failed
        assert child.process.wait(20) == EXIT["usage"]
    port = {"name": "lan", "driver": "af_packet", "device": "nosuch0", "addresses": ["198.18.0.1/24"]}
    with led(json.dumps({"ports": [port], "traffic": [item()]})) as child:
        failed = child.event("up", "failed")
        assert failed["failed"] == EXIT["environment"] and "nosuch0" in failed["text"], failed
        assert child.process.wait(20) == EXIT["environment"]


main()
