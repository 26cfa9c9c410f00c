#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# ddiperf serve --fleet: the agents at a nats-server and their health, and runs that they do. In real time, as agents and
# nats-server are processes.

import contextlib
import json
import re
import signal

from harness import nightly, test, until
from loop import RELAXED, item, ring
from nats_server import NatsServer, Talk
from serving import Server, agent, browser, click, main, wait_for_intervals


@contextlib.contextmanager
def fleet(*names, **server):
    """(server of runs, nats-server, {name: process}); the agent of each name has the label site=NAME."""
    with NatsServer(**server) as nats, contextlib.ExitStack() as stack:
        agents = {name: agent(stack, nats, name, "--labels", f"rack=1,site={name}") for name in names}
        yield stack.enter_context(Server("--fleet", nats.url())), nats, agents


def config(duration):
    return ring(item(load={"rate": "2k"}), run={"duration": duration, "interval": "250ms"}, validity={**RELAXED, "fleet_skew": "200ms"})


def states(server):
    return {one["name"]: one["state"] for one in server.get("")["agents"]}


@test
def a_run_is_done_by_the_fleet():
    with fleet("a") as (server, _, _):
        until(lambda: states(server) == {"a": "free"}, lambda: server.get(""))
        known = server.get("")
        agent, = known["agents"]
        assert known["fleet"] == {"up": True} and agent["version"] == known["version"] and agent["labels"] == "rack=1,site=a", known
        assert 0 <= agent["reply_ms"] < 20000, known
        assert agent["box"]["cpus"] >= 1 and "ring" in agent["box"]["drivers"] and "kept" in agent["clock"], agent
        server.put("fleet.yaml", config("500ms"))
        for wrong in (1, {"agents": 0}, {"select": 1}):
            assert server.ask("POST", "/runs", json.dumps({"file": "fleet.yaml", "fleet": wrong}))[0] == 400, wrong
        run = server.run("fleet.yaml", fleet={})
        assert server.wait(run)["verdict"] == "done", server.ask("GET", f"/runs/{run}/log")
        result = server.get(f"/runs/{run}/result")
        assert [one["name"] for one in result["fleet"]["members"]] == ["a"] and result["traffic"][0]["due"] == 1000, result["traffic"]


@nightly
def runs_share_a_fleet_by_labels():
    with fleet("a", "b", "c") as (server, _, agents):
        until(lambda: set(states(server)) == {"a", "b", "c"}, lambda: server.get(""))
        server.put("fleet.yaml", config("3s"))
        run = server.run("fleet.yaml", "traffic.queries.load.rate=1k", fleet={"agents": 1, "select": "site=c,rack=1"})
        # The ports are not of this box, and the other agents are free.
        other = server.run("fleet.yaml", fleet={"agents": 2})
        wait_for_intervals(server, run, other)
        until(lambda: set(states(server).values()) == {"busy"}, lambda: server.get(""))
        assert {one["name"]: one["run"] for one in server.get("")["agents"]} == {"a": other, "b": other, "c": run}
        assert f'run="{other}"' in server.ask("GET", "/metrics", api=False)[2]
        assert server.wait(run)["verdict"] == "done", server.ask("GET", f"/runs/{run}/log")
        state = server.wait(other)
        assert state["verdict"] == "done" and state["fleet"] == {"agents": 2} and state["set"] == [], state
        members = {name: [one["name"] for one in server.get(f"/runs/{name}/result")["fleet"]["members"]] for name in (run, other)}
        assert members == {run: ["c"], other: ["a", "b"]}, members
        assert server.get(f"/runs/{other}/result")["traffic"][0]["due"] == 6000
        agents["c"].send_signal(signal.SIGSTOP)
        until(lambda: states(server)["c"] == "silent", lambda: server.get(""), seconds=20)


@nightly
def the_page_shows_agents_and_runs_on_them():
    page = browser()
    with fleet("a", "b") as (server, nats, agents):
        rows = "[...document.querySelectorAll('[data-table=agents] tbody tr')].map(row => [...row.children].slice(0, 2).map(cell => cell.textContent).join(' '))"
        server.put("fleet.yaml", config("10m"))
        page.visit(f"http://127.0.0.1:{server.port}/", f"{rows}.join() === 'a FREE,b FREE'")
        cells = page.value("[...document.querySelector('[data-table=agents] tbody tr').children].map(cell => cell.textContent)")
        assert " CPUs, " in cells[7] and "hugepages" in cells[7] and re.match("not kept$|within .*s$", cells[6]) and cells[2].endswith("s"), cells
        # On a phone, too, a row is a line, its name stays in sight, and the table scrolls in itself.
        page.change(390)
        assert page.value("document.querySelector('[data-table=agents] tbody tr').clientHeight") < 50
        page.value("(() => {document.querySelector('[data-table=agents]').parentNode.scrollLeft = 500})()")
        assert page.value("document.querySelector('[data-table=agents] tbody td').getBoundingClientRect().x") >= 0
        assert page.value("document.documentElement.scrollWidth") <= 390
        assert "ring" in page.value("document.querySelector('[data-table=agents] [title]').title")
        page.value("serve.go('/file/fleet.yaml').then(() => 0)")
        page.value("""(() => {
            document.querySelector('input[type=checkbox]').click();
            document.querySelector('input[type=number]').value = 2;
            document.querySelector('[aria-label="labels of the agents"]').value = 'rack=1';
        })()""")
        click(page, "Run")
        page.until("location.pathname.startsWith('/run/') && ddiperf.runs[0]?.t.length > 2")
        run = page.value("location.pathname").removeprefix("/run/")
        assert server.get(f"/runs/{run}")["fleet"] == {"agents": 2, "select": "rack=1"}
        page.value("serve.go('/').then(() => 0)")
        page.until(f"{rows}.join() === 'a BUSY,b BUSY'")
        page.value(f"void serve.go('/run/{run}')")  # which lasts as long as the run
        page.until("ddiperf.runs[0]?.t.length > 2")
        click(page, "Stop")
        page.until("document.querySelector('.result [data-verdict]')?.dataset.verdict === 'INTERRUPTED'")
        page.value("serve.go('/').then(() => 0)")
        agents["b"].send_signal(signal.SIGSTOP)
        page.until(f"/^a FREE,b SILENT for \\d+ s$/.test({rows}.join())")
        assert not page.complaints(), page.complaints()
        nats.stop()
        page.until("[...document.querySelectorAll('.error')].some(e => /NATS/.test(e.textContent))")
        nats.start()
        page.until("![...document.querySelectorAll('.error')].some(e => /NATS/.test(e.textContent))")


@test
def the_page_shows_an_agent_that_says_nonsense():
    page = browser()
    nonsense = [{"box": {"drivers": "ring", "missing": "all", "cards": 7, "memory_mb": "x"}}, {"box": None}, {"box": []}, {}]
    with NatsServer() as nats, Server("--fleet", nats.url()) as server, Talk(nats, "ddiperf.find") as talk:
        _, reply, _ = talk.read()
        for n, facts in enumerate(nonsense):
            talk.publish(reply, json.dumps({"name": f"n{n}", "id": f"{n}", "version": "0", "labels": "", "run": "", "host": "h", "cpus": "2", **facts}))
        until(lambda: len(server.get("")["agents"]) == len(nonsense), lambda: server.get(""))
        names = "[...document.querySelectorAll('[data-table=agents] tbody tr')].map(row => row.children[0].textContent).join()"
        page.visit(f"http://127.0.0.1:{server.port}/", f"{names} === 'n0,n1,n2,n3'")
        assert not page.complaints(), page.complaints()


if __name__ == "__main__":
    main()
