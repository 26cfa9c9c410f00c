#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Answers of 4 000 octets over a wire of 1 500: the server's kernel cuts them, and each counts as answered, through each
# driver, over both families. Where a driver has two workers, fragments reach one by addresses and not by ports.

import os

from harness import check_ledger, main, test
from live import DRIVERS, SERVER, config, item, lab

QUERIES = 500
LONG = {"names": ["long.example.com TXT"], "edns": {"size": 4096}, "expect": {"rcode": ["NOERROR"], "min_answers": 1}}


def joined_by_the_kernel(driver, family):
    """Packet sockets of this driver get IPv4 whole."""
    return driver == "af_packet" and family == 4


def check(result, driver, family):
    one = result.item("queries")
    other = result.json["ports"][0]["other"]
    check_ledger(one)
    assert one["sent"] == one["answered"] == QUERIES, result
    assert one["dns"]["rcode"] == {"NOERROR": QUERIES} and one["dns"]["tc"] == 0, result
    assert result.code == 0 and not other["bad_frame"] + other["bad_checksum"] + other["unmatched"], result
    if joined_by_the_kernel(driver, family):
        assert other["fragments"] == other["reassembled"] == 0, other
    else:
        assert other["reassembled"] == QUERIES and other["fragments"] in (3 * QUERIES, 4 * QUERIES), other
    if driver != "pcap":
        assert result.json["ports"][0]["handed_over"] > 0, result
    assert other["not_reassembled"] == {} and other["duplicate_fragments"] == 0, other


def add(server, driver, family):
    def run():
        load = {"rate": str(2 * QUERIES), "total": str(QUERIES)}
        asks = item(server=SERVER[family], load=load, dns=LONG)
        cpus = {} if driver == "pcap" else {"cpus": [0, 1], "steering_probe": "never"}
        text = config(driver, asks, run={"duration": "1s"}, port=cpus)
        check(lab(server).ddiperf(text, "--quiet", timeout=60), driver, family)

    run.__name__ = f"{server}_answers_in_fragments_over_ipv{family}_through_{driver}"
    test(run)


os.environ.setdefault("LAB_QUEUES", "2")
for server in ("knot", "nsd"):  # each is up once
    for driver in DRIVERS:
        for family in (4, 6):
            add(server, driver, family)


if __name__ == "__main__":
    main()
