#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Searches and repeats that meet a signal, or whose files change meanwhile. In real time, as another process does it.

import contextlib
import json
import signal
import time

from harness import EXIT, binary, config_file, main, start, test
from loop import RELAXED, item, ring

POOL = 200
# Lost for sure, not for want of time: clients beyond the pool get no lease.
SEARCH = {
    "variable": "traffic.leases.dhcp4.clients", "from": "100", "to": "500", "goals": [{"loss": "0%"}],
    "warmup": "0s", "trial": "250ms", "final": "400ms", "settle": "0s", "attempts": 9,
}


def pool(search=None, **sections):
    leases = {
        "name": "leases", "server": "198.18.0.2", "timeout": "400ms", "load": {"rate": "2k"},
        "dhcp4": {"exchange": "discover", "clients": "20",
                  "relay": {"addresses": ["198.18.0.64/26"]}},
    }
    dut = {"dhcp4": {"pool": [f"10.0.0.0-10.0.0.{POOL - 1}"], "server_id": "198.18.0.2"}}
    return ring(leases, responder=dut, search={**SEARCH, **(search or {})}, **sections)


def interrupted(config, line, after=0.0):
    """(standard output, document) of a search that is told to stop so many seconds after a line that begins so."""
    with config_file(config) as path:
        out = path.parent / "result.json"
        with start([binary(), "run", str(path), "--json", str(out)]) as process:
            assert any(said.startswith(line) for said in process.stdout), process.stderr.read()
            with contextlib.suppress(ProcessLookupError):
                time.sleep(after)
                process.send_signal(signal.SIGINT)
            stdout, stderr = process.communicate(timeout=60)
        assert process.returncode == EXIT["interrupted"], stdout + stderr
        return stdout, json.loads(out.read_text())


@test
def an_interrupt_ends_a_search_with_what_is_known():
    stdout, document = interrupted(pool({"trial": "400ms", "final": "20s"}), "trial  2:")
    assert document["verdict"]["status"] == "interrupted" and document["search"]["trials"], document["verdict"]
    assert "interrupted after" in stdout, stdout


@test
def a_ramp_that_is_interrupted_has_no_limit_yet():
    search = {"variable": "traffic.queries.load.rate", "method": "ramp", "from": "1k", "to": "2k", "goals": [{"loss": "50%"}],
              "warmup": "0s", "trial": "100ms", "steps": 99}
    _, document = interrupted(ring(item(), search=search), "port tester: the tester itself adds", 1)
    goal, = document["search"]["goals"]
    assert goal["upper"] is None and goal["limited_by"] == "none", goal


def changed_meanwhile(change):
    """(exit code, document, standard error) of three repeats whose query file changes during the first one."""
    repeat = {"min": 3, "max": 3, "width": "1000%", "rest": "0s"}
    config = ring(item(dns={"queries": "q.txt"}), run={"duration": "500ms", "repeat": repeat}, validity=RELAXED)
    with config_file(config) as path:
        out, queries = path.parent / "result.json", path.parent / "q.txt"
        queries.write_text("www.example.com A\n")
        with start([binary(), "run", str(path), "--json", str(out)], bufsize=0) as process:
            while "queries" not in process.stdout.readline():  # a live line, or a note of the plan: its input is read
                assert process.poll() is None, process.stderr.read()
            change(queries)
            _, stderr = process.communicate(timeout=30)
        return process.returncode, json.loads(out.read_text()) if out.exists() else None, stderr


@test
def all_runs_of_a_series_read_the_same_bytes():
    def replace(path):
        other = path.with_suffix(".new")
        other.write_text("these are no queries\n")
        other.rename(path)

    code, document, stderr = changed_meanwhile(replace)
    assert code == 0 and len(document["repeats"]) == 3, (code, stderr)
    code, document, stderr = changed_meanwhile(lambda path: path.write_text("www.example.com AAAA\nother.example.com A\n"))
    assert code == EXIT["usage"] and "q.txt: has changed since the first run read it" in stderr, (code, stderr)


@test
def an_interrupt_between_repeats_is_an_interrupt():
    repeat = {"min": 2, "max": 2, "rest": "20s"}
    with config_file(ring(run={"repeat": repeat}, validity={"send_lag_p99": "1ns"})) as path:
        out = path.parent / "result.json"
        with start([binary(), "run", str(path), "--json", str(out)]) as process:
            for line in process.stdout:
                if line.startswith("run 1: invalid"):
                    break
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)
        verdict = json.loads(out.read_text())["verdict"]
    assert process.returncode == verdict["exit_code"] == EXIT["interrupted"], verdict
    assert verdict["status"] == "interrupted", verdict


main()
