#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# For ThreadSanitizer, which does the judging: every way between two threads is walked while both are at work.
# Nothing in here depends on how fast that goes.

import concurrent.futures
import contextlib
import json
import signal
import tempfile
import time
from pathlib import Path

from dhcp4 import answers, clients
from harness import EXIT, binary, check_ledger, config_file, ddiperf, execute, kill, main, start, test
from loop import RELAXED, datagram, item, pcap_write, query, ring
from nats_server import NatsServer
from serving import Server, agent, quick

EVERY_KIND = {
    "loss": {"every": 50}, "truncate": {"every": 41}, "wrong_id": {"every": 47}, "wrong_question": {"every": 53},
    "reorder": {"every": 7}, "duplicate": {"every": 31},
    "delay": {"two_point": {"first": "1ms", "second": "150ms", "share_of_second": "5%"}},
}
EVER = "60s"
QUERIES = 200_000  # enough for the responder to be at work when its counters are read


def after_a_line(argv, wanted, *signals):
    """(exit code, standard error) of a program that gets the signals, one after the other, once it printed wanted."""
    with start(argv) as process:
        for line in process.stdout:
            if wanted in line:
                break
        for number in signals:
            time.sleep(0.5)
            process.send_signal(number)
        try:
            _, err = process.communicate(timeout=30)
        except BaseException:
            kill(process)
            raise
    return process.returncode, err


@test
def books_snapshots_and_evidence_of_a_run_in_which_everything_happens():
    """The hand-over of snapshots, the phases, the counters of the responder, the rings and the thread of the capture."""
    with tempfile.TemporaryDirectory() as folder:
        result = ddiperf(ring(
            item(timeout="100ms"), item("closed", load={"outstanding": 8}, timeout="100ms"),
            run={"warmup": "300ms", "duration": "1s"}, responder={"dns": {}, "faults": EVERY_KIND},
            output={"capture": {"file": f"{folder}/bad.pcapng"}}))
        assert result.json and len(result.json["intervals"]) > 3 and result.json["capture"]["packets"], result
        for name in ("queries", "closed"):
            check_ledger(result.item(name))


@test
def workers_that_hand_over_to_each_other():
    """The rings, the snapshots of several workers in one interval, and two workers of the responder."""
    with tempfile.TemporaryDirectory() as folder:
        result = ddiperf(ring(
            item(timeout="100ms"), item("closed", load={"outstanding": 8}, timeout="100ms"),
            clients(load={"rate": "500"}, clients="2k", keys={"timeout": "200ms"}),
            run={"warmup": "300ms", "duration": "1s"}, tester={"cpus": [1, 0, 1, 0], "steering_probe": "always"}, dut={"cpus": [0, 1]},
            responder={"dns": {}, **answers(EVERY_KIND)}, output={"capture": {"file": f"{folder}/bad.pcapng"}}))
        assert result.json and len(result.json["intervals"]) > 3, result
        for one in result.json["traffic"]:
            check_ledger(one)
        mine = [worker for worker in result.json["workers"] if worker["port"] == "tester"]
        assert sum(w["handed_over"] for w in mine) == sum(w["taken_over"] for w in mine) > 0, mine


@test
def a_crew_for_all_handshakes():
    """The ways to two threads of the crew and back, from two workers of the tester and of the responder; tickets."""
    one = item(timeout="10s", load={"rate": "500"}, dns={
        "names": ["h{0-99}.example.com A"], "transport": "tls", "tls": {"resume": "each", "handshakes": 3},
        "tcp": {"connections": 20, "queries_per_connection": 5}})
    result = ddiperf(ring(one, run={"duration": "1s"}, host={"crew": ["0-1"]}, tester={"cpus": [1, 0]}, dut={"cpus": [0, 1]},
                          responder={"dns": {}, "tls": {}}))
    found = result.item("queries")
    check_ledger(found)
    tls = found["connections"]["tls"]
    assert found["answered"] > 100 and tls["full"] and tls["resumed"] and tls["failed"] == 0, (found, tls)


@test
def a_ring_of_evidence_that_is_filled_more_than_once():
    with tempfile.TemporaryDirectory() as folder:
        result = ddiperf(ring(
            item(timeout="100ms", load={"outstanding": 1000, "total": 6000}),
            run={"duration": EVER}, responder={"dns": {}, "faults": {"loss": {"every": 1}}},
            output={"capture": {"file": f"{folder}/bad.pcapng", "limit": 6000}}))
        assert result.json and result.json["capture"]["packets"] > 4096, result


@test
def a_run_is_told_to_drain_and_to_stop_with_answers_still_waiting():
    faults = {"delay": {"constant": "20s"}}
    text = ring(item(timeout="30s", load={"rate": "100"}), run={"duration": EVER}, responder={"dns": {}, "faults": faults})
    with config_file(text) as path:
        out = path.parent / "result.json"
        code, err = after_a_line([binary(), "run", str(path), "--json", str(out)], " s  ", signal.SIGINT, signal.SIGINT)
        assert code == EXIT["interrupted"] and json.loads(out.read_text())["responder"]["received"], err


@test
def a_server_of_runs_is_asked_by_many_at_once():
    """The schema is of tables that a check and a run that starts use at the same time."""
    with Server() as server, concurrent.futures.ThreadPoolExecutor(8) as pool:
        server.put("a.yaml", quick())
        schemas = [pool.submit(server.ask, "GET", "/schema") for _ in range(60)]
        others = [pool.submit(server.ask, "POST", "/check", quick()) for _ in range(4)] + [pool.submit(server.ask, "GET", "/openapi.json") for _ in range(4)]
        run = server.run("a.yaml")
        assert len({future.result() for future in schemas}) == 1 and {future.result()[0] for future in others} == {200}
        server.wait(run)


@test
def an_agent_has_its_part_while_it_is_asked():
    """The thread of libnats, which tells the time and takes messages, and the main thread."""
    config = ring(item(load={"rate": "500"}), run={"duration": "1s", "interval": "250ms"}, validity={**RELAXED, "fleet_skew": "10s"})
    with NatsServer() as nats, contextlib.ExitStack() as stack, concurrent.futures.ThreadPoolExecutor(4) as pool, config_file(config) as path:
        agents = [agent(stack, nats, name) for name in "ab"]
        asked = [pool.submit(execute, [binary(), "list", "agents", "--fleet", nats.url()]) for _ in range(4)]
        out = path.parent / "result.json"
        code, _, said = execute([binary(), "run", str(path), "--fleet", nats.url(), "--json", str(out)])
        assert code in (0, EXIT["invalid"]) and json.loads(out.read_text())["parts"], (code, said)
        assert {future.result()[0] for future in asked} == {0}
        for process in agents:
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0


@test
def a_responder_alone_is_looked_at_while_it_answers():
    text = {
        "run": {"interval": "100ms"},
        "ports": [{"name": "dut", "driver": "pcap", "addresses": ["198.18.0.2/24"]}],
        "responder": {"port": "dut", "dns": {}},
    }
    with tempfile.TemporaryDirectory() as folder:
        text["ports"][0] |= {"rx_file": f"{folder}/in.pcap", "tx_file": f"{folder}/out.pcap"}
        Path(folder, "in.pcap").write_bytes(pcap_write([datagram(query())] * QUERIES))
        with config_file(json.dumps(text)) as path:
            out = path.parent / "result.json"
            code, err = after_a_line([binary(), "respond", str(path), "--json", str(out)], " s  ", signal.SIGINT)
            responder = json.loads(out.read_text())["responder"]
            assert code == 0 and responder["received"] == responder["answered"] > 0, (responder, err)


main()
