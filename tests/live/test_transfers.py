#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Zone transfers from real servers: signed ones (TSIG) with each algorithm, and the changes since a serial (IXFR), whose
# records are those of the updates that were made.

import os

from harness import check_ledger, main, test
from live import SERVER, config, item, lab

ALGORITHMS = ["hmac-md5", "hmac-sha1", "hmac-sha224", "hmac-sha256", "hmac-sha384", "hmac-sha512"]  # and names of keys
FILES = {"k": "A" * 43 + "=", "other": "A" * 42 + "E="}
RECORDS = 12 + 3 * 1000  # of the lab's zone, the SOA record twice
ZONE = "dyn.example"
TCP = {"transport": "tcp", "tcp": {"connections": 1}}


def key(name, **more):
    return {"secret_file": "k", "name": name, "algorithm": name, **more}


def transfers(server, asked):
    """One transfer for each (zone, key or None): [the item], and the result."""
    here = lab(server)
    items = [item(name=f"item{i}", timeout="4s", load={"rate": "100", "total": "1"},
                  dns={**TCP, "transfers": [zone], **({"key": key} if key else {})}) for i, (zone, key) in enumerate(asked)]
    result = here.ddiperf(config("af_packet", *items, run={"duration": "4s"}), files=FILES)
    assert result.json, result
    for one in result.json["traffic"]:
        check_ledger(one)
        assert one["sent"] == 1, result
    return result.json["traffic"], result


def signatures(one):
    return {name: n for name, n in one["dns"].items() if name.startswith("tsig") and n}


def add_signed(server):
    @test
    def whole_zones_are_signed_and_other_keys_refused():
        chosen = ALGORITHMS if os.environ.get("NIGHTLY") == "1" else ["hmac-md5", "hmac-sha256", "hmac-sha512"]
        wrong = [("BADSIG", key("hmac-sha256", secret_file="other")), ("BADKEY", {**key("hmac-sha256"), "name": "none"})]
        found, result = transfers(server, [("example.com", one) for one in [*map(key, chosen), *(one for _, one in wrong)]])
        for one in found[:len(chosen)]:
            dns = one["dns"]
            assert one["answered"] == dns["transfers"] == 1 and dns["transfer_records"] == RECORDS, result
            # Both sign every message; the longest record is alone in one.
            assert signatures(one) == {"tsig_verified": dns["transfer_messages"]} and dns["transfer_messages"] > 3, dns
        for (error, _), one in zip(wrong, found[len(chosen):]):
            assert one["failed"] == 1 and signatures(one) == {"tsig_error": {error: 1}}, f"{signatures(one)}\n{result}"


def serial(here):
    code, out, err = here.call("dut", "kdig", "+short", f"@{SERVER[4]}", ZONE, "SOA")
    assert code == 0, err
    return int(out.split()[2])


def add_changes(server):
    @test
    def changes_since_a_serial_are_those_that_were_made():
        here = lab(server)
        first = serial(here)
        result = here.ddiperf(config("af_packet", item(load={"outstanding": 1, "total": "6"}, timeout="2s", dns={
            "update": [f"{ZONE}\nadd i{{random:12}} 60 A 10.0.0.1\nadd i{{random:12}} 60 TXT two",
                       f"{ZONE}\ndelete i{{random:12}} TXT"], "update_run": 3, "expect": {"rcode": ["NOERROR"]}}),
            run={"duration": "10s"}))
        assert result.item("queries")["answered"] == 6 and serial(here) == first + 6, result
        # Three additions of two records, then three deletions of one; each with the SOA records before and after it. The
        # journal does not reach back to serial 1, so the whole zone comes.
        since = [0, 2, 5, 6, 7, 1 - first]
        found, result = transfers(server, [*((f"{ZONE} {first + n}", None) for n in since), (ZONE, None)])
        came = [one["dns"]["transfer_records"] for one in found]
        assert came[:5] == [2 + 3 * 4 + 3 * 3, 2 + 4 + 3 * 3, 2 + 3, 1, 1] and came[5] == came[6] > 8, f"{came}\n{result}"
        assert all(one["answered"] == one["dns"]["transfers"] == 1 for one in found), result
        assert [one["dns"]["transfers_unchanged"] for one in found] == [0, 0, 0, 1, 1, 0, 0], result


for name in ("bind", "knot"):
    add_signed(name)
    add_changes(name)
main()
