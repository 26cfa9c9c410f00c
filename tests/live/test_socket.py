#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Driver socket against real servers on the other side of a wire, with addresses that the kernel has: DNS, and
# DHCP behind relays whose addresses the host has. The servers count the same.

import contextlib
import json

from harness import EXIT, check_ledger, execute, main, test
from live import RELAXED, item, lab, leases


def config(*items, **keys):
    return json.dumps({
        "run": {"warmup": "0s", "duration": "500ms", "interval": "250ms"},
        "ports": [{"name": "lan", "driver": "socket", **keys}], "traffic": list(items), "validity": RELAXED,
    })


@contextlib.contextmanager
def addresses(up, *prefixes):
    """The kernel of the tester's side has them while it lasts."""
    for prefix in prefixes:
        code, out, err = execute(up.tester("ip", "address", "add", prefix, "dev", "veth0"))
        assert code == 0, out + err
    try:
        yield
    finally:
        for prefix in prefixes:
            execute(up.tester("ip", "address", "del", prefix, "dev", "veth0"))


@test
def knot_counts_the_same():
    up = lab("knot")
    with addresses(up, "198.18.0.1/24"), up.counted() as growth:
        result = up.ddiperf(config(item("one"), item("other")))
        for name in ("one", "other"):
            check_ledger(result.item(name))
            assert result.item(name)["answered"] == 500, result
        assert result.code == EXIT["pass"], result
    assert growth["queries"] == 1000, growth


@test
def kea_leases_to_relays_of_the_host():
    up = lab("kea")
    four = [leases("new", "dora", rate=200, mac="02:0e:00:00:00:00", relayed=True)]
    with addresses(up, "198.18.0.1/15", "198.18.0.64/15", "198.18.0.65/15", "10.64.0.2/12", "10.64.0.3/12"):
        with up.counted() as growth:
            result = up.ddiperf(config(*four))
    got = result.item("new")
    check_ledger(got)
    assert result.code == EXIT["pass"] and got["answered"] == got["sent"] == 100, result
    assert growth["leases"] == 100, growth
    assert result.json["ports"][0]["tx_errors"] == 0, result


main()
