#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Signed queries (TSIG) at BIND and Knot: each algorithm is understood both ways, wrong keys, secrets and clocks are refused
# by the name that the RFC has for them, and BIND has counted as many.

from harness import check_ledger, main, test
from live import config, item, lab

ALGORITHMS = ["hmac-md5", "hmac-sha1", "hmac-sha224", "hmac-sha256", "hmac-sha384", "hmac-sha512"]  # and names of keys
FILES = {"k": "A" * 43 + "=", "other": "A" * 42 + "E="}
COUNT = 200
TCP = {"transport": "tcp", "tcp": {"connections": 1}}


def key(name, **more):
    return {"secret_file": "k", "name": name, "algorithm": name, **more}


def ask(server, keys, **dns):
    """COUNT signed queries with each key, in items of their own: [(item, its counters that are not 0)], growth, result."""
    items = [item(name=f"item{i}", timeout="4s", load={"rate": "500", "total": str(COUNT)},
                  dns={"names": ["h{0-999}.example.com A"], "key": one, **dns}) for i, one in enumerate(keys)]
    here = lab(server)
    with here.counted() as growth:
        result = here.ddiperf(config("af_packet", *items, run={"duration": "5s"}), files=FILES)
    assert result.json, result
    found = []
    for one in result.json["traffic"]:
        check_ledger(one)
        assert one["sent"] == COUNT, result
        found.append((one, {name: n for name, n in one["dns"].items() if name.startswith("tsig") and n}))
    return found, growth, result


def all_are_verified(server, keys):
    for dns in ({}, TCP, {"edns": {}, "cookies": "client"}):
        found, growth, result = ask(server, keys, **dns)
        for one, ours in found:
            assert one["answered"] == COUNT and one["stray"] == 0 and ours == {"tsig_verified": COUNT}, f"{ours}\n{result}"
        yield growth


@test
def bind_understands_every_algorithm():
    signed = COUNT * len(ALGORITHMS)
    for growth in all_are_verified("bind", [key(algorithm) for algorithm in ALGORITHMS]):
        assert growth["nsstats.ReqTSIG"] == growth["nsstats.RespTSIG"] == signed, growth


@test
def bind_refuses_by_key_secret_algorithm_and_time():
    wrong = [("BADKEY", key("hmac-sha256") | {"name": "none"}), ("BADSIG", key("hmac-sha256", secret_file="other")),
             ("BADKEY", key("hmac-sha256", algorithm="hmac-sha1")), ("BADTIME", key("hmac-sha256", ahead="310s")),
             ("BADTIME", key("hmac-sha512", behind="310s")), ("", key("hmac-sha256", ahead="250s", fudge="290s"))]
    for dns in ({}, TCP):
        found, growth, result = ask("bind", [one for _, one in wrong], **dns)
        for (error, _), (one, ours) in zip(wrong, found):
            if error:
                assert one["failed"] == COUNT and one["dns"]["rcode"] == {"NOTAUTH": COUNT}, f"{error} {ours}\n{result}"
                assert ours == {"tsig_error": {error: COUNT}}, f"{error} {ours}\n{result}"
            else:
                assert one["answered"] == COUNT and ours == {"tsig_verified": COUNT}, f"{ours}\n{result}"
        assert growth["nsstats.ReqBadSIG"] == COUNT * (len(wrong) - 1), growth


@test
def knot_understands_every_algorithm():
    for _ in all_are_verified("knot", [key(algorithm) for algorithm in ALGORITHMS]):
        pass


@test
def knot_refuses_by_key_secret_and_time():
    wrong = [("BADKEY", key("hmac-sha256") | {"name": "none"}), ("BADSIG", key("hmac-sha256", secret_file="other")),
             ("BADTIME", key("hmac-sha256", ahead="310s"))]
    found, _, result = ask("knot", [one for _, one in wrong])
    for (error, _), (one, ours) in zip(wrong, found):
        assert one["failed"] == COUNT and ours == {"tsig_error": {error: COUNT}}, f"{error} {ours}\n{result}"


@test
def nsd_without_keys_refuses_what_is_signed():
    [(one, ours)], _, result = ask("nsd", [key("hmac-sha256")])
    assert one["failed"] == COUNT and ours == {"tsig_error": {"BADKEY": COUNT}}, f"{ours}\n{result}"


main()
