#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Two processes on the two ends of a wire: what the responder says it did wrong is what the tester saw, to the last
# packet, each fault alone and all at once, through each driver. The table at the end says at which rate.

import atexit
import contextlib
import json
import signal

from faults import NAMES, TABLE, check_exact, check_responder, every_nth, expected_faults
from harness import check_ledger, binary, config_file, kill, main, nightly, start, test, timing
from live import DRIVERS, config, item, lab

RATES = (50_000, 50_000, 50_000, 50_000, 20_000, 20_000, 5_000, 2_000, 500)  # until the wire loses nothing
ALL = {name: 101 + 7 * n for n, name in enumerate(TABLE)}
OFTEN = 7  # a fault alone
SERVER = "198.18.0.9"  # the kernel at the far end has another address, so it leaves these packets alone
TIMEOUT_S = 0.2

reached = {}  # (fault, driver): rate


class Responder:
    """`ddiperf respond` at the far end; it starts while the tester does. After the block: document, its result."""

    def __init__(self, driver, faults):
        self.text = json.dumps({
            "ports": [{"name": "dut", "driver": driver, "device": "veth1", "addresses": [f"{SERVER}/24"],
                       "force": True}],
            "responder": {"port": "dut", "dns": {}, "faults": faults},
        })

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            path = stack.enter_context(config_file(self.text))
            self.out = path.parent / "result.json"
            self.process = start([*lab("none").dut(), binary(), "respond", str(path), "--json", str(self.out)])
            stack.callback(kill, self.process)
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        with self.stack:
            self.process.send_signal(signal.SIGINT)
            err = self.process.communicate(timeout=20)[1]
            assert self.out.exists(), f"the responder did not start: {err}"
            self.document = json.loads(self.out.read_text())


def attempt(driver, faults, rate, duration_ms):
    """The results of the tester and of the responder."""
    traffic = item(server=SERVER, load={"rate": str(rate)}, timeout=f"{TIMEOUT_S * 1000:.0f}ms", dns={"names": NAMES})
    with Responder(driver, faults) as responder:
        result = lab().ddiperf(config(driver, traffic, run={"duration": f"{duration_ms}ms"}))
    assert result.json, result
    check_ledger(result.item("queries"))
    return result, responder.document


def lossless(result, document):
    """Did the wire and both ends carry everything in time, whatever the responder did to it?"""
    (port,), one = document["ports"], result.item("queries")
    return (document["responder"]["received"] == one["sent"] == one["due"] and not port["tx_refused"]
            and result.json["ports"][0]["rx_packets"] >= port["tx_packets"]
            and one["latency"]["service"]["max_ns"] < 0.8e9 * TIMEOUT_S)


def rate_of_exactness(driver, every, duration_ms):
    """The first of RATES at which all is exact; what is not, although the wire lost nothing, is an error."""
    for tries, rate in enumerate(RATES, 1):
        result, document = attempt(driver, every_nth(every), rate, duration_ms)
        check_responder(document)
        total = rate * duration_ms // 1000
        try:
            check_exact(result, document, expected_faults(every, total), total)
        except AssertionError as error:
            if lossless(result, document):
                raise
            timing(rate != RATES[-1], error)
        else:
            print(f"# {rate} a second, attempt {tries}")
            return rate


def is_exact(fault, driver, every, duration_ms):
    def exact():
        reached[fault, driver] = rate_of_exactness(driver, every, duration_ms)
    exact.__name__ = f"{fault}_is_exact_through_{driver}"
    # CI: one by one, through one of the faster two in turn.
    turn = fault in TABLE and driver != ("af_packet", "af_xdp")[list(TABLE).index(fault) % 2]
    return (nightly if turn else test)(exact)


@atexit.register
def table():
    """Fault by driver: at how many queries a second it was exact."""
    rows = [("", *DRIVERS)]
    rows += [(name, *(reached.get((name, driver), "-") for driver in DRIVERS))
             for name in (*TABLE, "everything_at_once") if any((name, driver) in reached for driver in DRIVERS)]
    for name, *rates in rows:
        print(f"# {name:20}" + "".join(f"{rate:>12}" for rate in rates))


for one_driver in DRIVERS:
    for one_fault in TABLE:
        is_exact(one_fault, one_driver, {one_fault: OFTEN}, 200)
    is_exact("everything_at_once", one_driver, ALL, 1000)


main()
