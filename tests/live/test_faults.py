#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Two processes on the two ends of a wire: what the responder says it did wrong is what the tester saw, to the last
# packet, through each driver.

import json
import signal

from faults import NAMES, TABLE, check_exact, check_responder, every_nth, expected_faults
from harness import check_ledger, binary, config_file, kill, main, start, test
from live import DRIVERS, config, item, lab

RATES = (50_000, 50_000, 50_000, 20_000, 5_000, 2_000, 2_000, 500, 500, 500)  # pcap has room for some thirty packets
SERVER = "198.18.0.9"  # the kernel at the far end has another address, so it leaves these packets alone
EVERY = {name: 101 + 7 * n for n, name in enumerate(TABLE)}


class Responder:
    """`ddiperf respond` at the far end. After the block: document, its result."""

    def __init__(self, driver, faults):
        self.text = json.dumps({
            "ports": [{"name": "dut", "driver": driver, "device": "veth1", "addresses": [f"{SERVER}/24"],
                       "force": True}],
            "responder": {"port": "dut", "dns": {}, "faults": faults},
        })

    def __enter__(self):
        self.file = config_file(self.text)
        path = self.file.__enter__()
        self.out = path.parent / "result.json"
        self.process = start([*lab("none").dut(), binary(), "respond", str(path), "--json", str(self.out)])
        for line in self.process.stdout:
            if line.startswith("port dut"):
                return self
        err = self.process.communicate()[1]
        self.file.__exit__(None, None, None)
        raise AssertionError(f"the responder did not start: {err}")

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.communicate(timeout=20)
            self.document = json.loads(self.out.read_text())
        finally:
            kill(self.process)
            self.file.__exit__(None, None, None)


def attempt(driver, faults, rate):
    traffic = item(server=SERVER, load={"rate": str(rate)}, timeout="500ms", dns={"names": NAMES})
    with Responder(driver, faults) as responder:
        result = lab().ddiperf(config(driver, traffic, run={"duration": "1s"}))
    assert result.json, result
    check_ledger(result.item("queries"))
    return result, responder.document


def lossless(result, document):
    """Did the wire and both ends carry everything in time, whatever the responder did to it?"""
    (port,), one = document["ports"], result.item("queries")
    return (document["responder"]["received"] == one["sent"] == one["due"] and not port["tx_refused"]
            and result.json["ports"][0]["rx_packets"] >= port["tx_packets"]
            and one["latency"]["service"]["max_ns"] < 0.4e9)


def all_faults_are_exact_through(driver):
    def exact():
        for rate in RATES:
            result, document = attempt(driver, every_nth(EVERY), rate)
            check_responder(document)
            try:
                check_exact(result, document, expected_faults(EVERY, rate), rate)
            except AssertionError:
                if rate == RATES[-1] or lossless(result, document):
                    raise
            else:
                print(f"# {driver}: {rate} a second")
                return
    exact.__name__ = f"all_faults_are_exact_through_{driver}"
    return test(exact)


for one_driver in DRIVERS:
    all_faults_are_exact_through(one_driver)


main()
