#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Zone transfers from real servers: signed ones (TSIG) with each algorithm, and the changes since a serial (IXFR), whose
# records are those of the updates that were made; and dnspython as a client of the responder.

import base64
import json
import os
import signal
import sys

from harness import binary, check_ledger, config_file, kill, main, skip, start, test
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


# --- the responder, and dnspython as a client of the kernel's TCP ---

REFEREE = """
import sys
import dns.query, dns.tsigkeyring, dns.update, dns.versioned, dns.xfr
where, secret, names = sys.argv[1], sys.argv[2], int(sys.argv[3])
ring = dns.tsigkeyring.from_text({"k.": secret})
def fetch(zone, serial=None):
    query, _ = dns.xfr.make_query(zone, serial=serial or 0, keyring=ring, keyname="k.", keyalgorithm="hmac-sha256")
    dns.query.inbound_xfr(where, zone, query, timeout=20)
    return zone
ours = fetch(dns.versioned.Zone("example.com"))
def serial(zone):
    with zone.reader() as txn:
        return txn.get("@", "SOA")[0].serial
def as_text(zone):
    with zone.reader() as txn:
        return sorted((str(name), rdata.to_text(), set_.ttl) for name, set_ in txn for rdata in set_)
assert len(as_text(ours)) == names + 3, len(as_text(ours))
def change(*steps):
    update = dns.update.Update("example.com", keyring=ring, keyname="k.", keyalgorithm="hmac-sha256")
    for verb, *rest in steps:
        getattr(update, verb)(*rest)
    assert dns.query.tcp(update, where, timeout=20).rcode() == 0
change(("add", "new", 60, "A", "10.9.9.9"), ("delete", "h1"))
change(("add", "new", 60, "A", "10.9.9.8"), ("delete", "new", "A", "10.9.9.9"), ("add", "h2", 99, "TXT", "two"))
change(("add", "gone", 1, "A", "10.1.1.1"), ("delete", "gone"), ("add", "h3", 7, "A", "10.0.0.3"))
change(("delete", "h4"), ("add", "h4", 300, "A", "10.0.0.4"))
before = serial(ours)
fetch(ours, before)  # the changes, applied to the copy
assert serial(ours) == before + 4, (before, serial(ours))
whole = fetch(dns.versioned.Zone("example.com"))
assert as_text(ours) == as_text(whole), set(as_text(ours)) ^ set(as_text(whole))
assert ("new", "10.9.9.8", 60) in as_text(ours) and ("h3", "10.0.0.3", 7) in as_text(ours)
assert not any(name in ("gone", "h1") for name, *_ in as_text(ours)) and len(as_text(ours)) == names + 3 - 1 + 1 + 1
"""


@test
def dnspython_takes_the_zone_and_its_changes_from_the_responder():
    try:
        import dns.versioned  # noqa: F401
    except ImportError:
        skip("no dnspython (scripts/deps install test)")
    here, names = lab("none"), 3000
    text = "$ORIGIN example.com.\n$TTL 300\n@ SOA ns hostmaster 10 3600 900 604800 60\n@ NS ns\nns A 192.0.2.53\n"
    text += "".join(f"h{i} A 10.0.{i >> 8}.{i & 255}\n" for i in range(names))
    secret = base64.b64encode(bytes(range(32))).decode()
    document = {
        "ports": [{"name": "lan", "driver": "af_packet", "device": "veth0", "addresses": ["198.18.0.1/24"]}],
        "responder": {"port": "lan", "dns": {
            "zone": "zone", "zone_room": "1MiB", "transfer_size": "1KiB", "transfer_signed_every": 20,
            "keys": [{"secret_file": "k", "name": "k"}]}}}
    with config_file(json.dumps(document)) as path:
        (path.parent / "zone").write_text(text)
        (path.parent / "k").write_text(secret)
        out = path.parent / "result.json"
        process = start(here.tester(binary(), "respond", str(path), "--json", str(out)))
        try:
            assert any("answered so far" in line for line in process.stdout), process.communicate()
            code, said, err = here.call("dut", sys.executable, "-c", REFEREE, "198.18.0.1", secret, str(names))
        finally:
            kill(process, signal.SIGINT)
            process.communicate(timeout=20)
        dns = json.loads(out.read_text())["responder"]["protocols"][0]["dns"]
    assert code == 0, f"{said}{err}"
    assert dns["transfers"] == 3 and dns["transfers_incremental"] == 1 and dns["serial_steps"] == 4, dns
    assert dns["transfer_messages"] > 100 and dns["transfers_overtaken"] == dns["transfers_dropped"] == 0, dns


for name in ("bind", "knot"):
    add_signed(name)
    add_changes(name)
main()
