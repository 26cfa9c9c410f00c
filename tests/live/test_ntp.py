#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# NTP against chronyd: every request is answered and right, and chronyd has counted as many as were sent.

from harness import check_ledger, main, test
from live import DRIVERS, SERVER, config, lab


def item(family, version):
    return {"name": "clients", "server": SERVER[family], "timeout": "500ms", "load": {"rate": "1k"},
            "ntp": {"version": version}}


def measure(driver, family, version):
    here = lab("chrony")
    with here.counted() as growth:
        one = here.ddiperf(config(driver, item(family, version))).item("clients")
    check_ledger(one)
    assert one["sent"] == one["answered"] > 0, (driver, one)
    assert one["stray"] == one["malformed"] == one["duplicate"] == one["late"] == 0, (driver, one)
    assert one["ntp"]["stratum"] == {"8": one["answered"]} and one["ntp"]["leap"] == {"none": one["answered"]}, one
    assert one["ntp"]["kiss"] == {} and one["ntp"]["unsynchronised"] == one["ntp"]["bad_version"] == 0, one
    assert growth["queries"] == one["sent"], (driver, growth, one)


@test
def every_request_is_answered_over_both_families():
    for driver in DRIVERS:
        for family in SERVER:
            measure(driver, family, 4)


@test
def older_versions_are_answered_in_their_version():
    for version in (2, 3):
        measure("af_packet", 4, version)


main()
