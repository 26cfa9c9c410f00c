#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# For ThreadSanitizer, which does the judging: every way between two threads is walked while both are at work.
# Nothing in here depends on how fast that goes.

import json
import signal
import tempfile
import time
from pathlib import Path

from dhcp4 import answers, clients
from harness import EXIT, binary, check_ledger, config_file, ddiperf, kill, main, start, test
from loop import datagram, item, pcap_write, query, ring

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
