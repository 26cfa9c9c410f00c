#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Signed messages (TSIG) against the embedded responder: both ends count exactly the same, each mistake has a counter of
# its own, secrets stay secret, and dnspython judges ten thousand signed requests and replies.

import base64
import json
import tempfile
from pathlib import Path
from types import SimpleNamespace

from harness import binary, check_ledger, ddiperf, execute, main, skip, test, tshark
from loop import EPOCH, item, ring

SECRET = base64.b64encode(bytes(range(100, 132))).decode()
OTHER = base64.b64encode(b"x" * 32).decode()
FILES = {"k.secret": SECRET, "other.secret": OTHER,
         "bind.key": f'key "k.example" {{\n\talgorithm hmac-sha512;\n\tsecret "{SECRET}";\n}};\n',
         "knot.key": f"# hmac-sha384:k.example:{SECRET}\nkey:\n- id: k.example\n  algorithm: hmac-sha384\n  secret: {SECRET}\n"}
ALGORITHMS = ["hmac-md5", "hmac-sha1", "hmac-sha224", "hmac-sha256", "hmac-sha384", "hmac-sha512"]
KEY = {"secret_file": "k.secret", "name": "k.example"}
COUNT = 200
TCP = {"transport": "tcp", "tcp": {"connections": 4}}


def exchanged(*given, keys=(KEY,), faults=None, **dns):
    """COUNT signed queries for each key of an item: [(item, its counters of signatures that are not 0)], the same
    counters of the responder, and the result."""
    items = [item(f"item{i}", timeout="150ms", load={"rate": "2k", "total": str(COUNT)},
                  dns={"names": ["h{0-99}.example.com A"], "key": key, **dns}) for i, key in enumerate(given or (KEY,))]
    answers = {"dns": {"keys": list(keys)}, **({"faults": faults} if faults else {})}
    result = ddiperf(ring(*items, run={"duration": "5s"}, responder=answers), files=FILES)
    assert result.json, result
    for one in result.json["traffic"]:
        check_ledger(one)
        assert one["sent"] == one["due"] == COUNT, result
    seen = [(one, counted(one["dns"])) for one in result.json["traffic"]]
    return seen, counted(result.json["responder"]["protocols"][0]["dns"]), result


def counted(dns):
    return {name: n for name, n in dns.items() if name.startswith("tsig") and n}


@test
def every_algorithm_is_signed_and_verified_over_udp_and_tcp():
    keys = [{**KEY, "name": f"{algorithm}.k", "algorithm": algorithm} for algorithm in ALGORITHMS]
    for dns in ({}, TCP):
        seen, theirs, result = exchanged(*keys, keys=keys, **dns)
        for one, ours in seen:
            assert one["answered"] == COUNT and one["stray"] == one["malformed"] == 0, result
            assert ours == {"tsig_verified": COUNT}, result
        assert theirs == {"tsig_verified": COUNT * len(keys)}, theirs


@test
def files_of_bind_and_of_knot_are_keys():
    for file in ("bind.key", "knot.key"):
        [(_, ours)], theirs, _ = exchanged({"secret_file": file}, keys=[{"secret_file": file}])
        assert ours == theirs == {"tsig_verified": COUNT}, (file, ours, theirs)


@test
def signed_queries_may_vary_in_every_other_way():
    [(one, ours)], _, result = exchanged(
        names=["{random:12}.example.com A", "long.example.com TXT E"], case_0x20=True, cookies="client",
        edns={"client_subnet": "192.0.2.0/20", "nsid": True})
    assert one["answered"] == COUNT and ours == {"tsig_verified": COUNT}, result
    assert one["dns"]["oversize"] == one["dns"]["trailing"] == one["dns"]["edns_refused"] == 0, one["dns"]


@test
def each_refusal_of_the_server_is_counted_by_its_name():
    wrong = [("BADSIG", {**KEY, "secret_file": "other.secret"}), ("BADKEY", {**KEY, "name": "other"}),
             ("BADKEY", {**KEY, "algorithm": "hmac-sha1"}), ("BADTIME", {**KEY, "ahead": "302s"}),
             ("BADTIME", {**KEY, "behind": "1h"})]
    for dns in ({}, TCP):
        seen, theirs, result = exchanged(*(key for _, key in wrong), **dns)
        for (error, _), (one, ours) in zip(wrong, seen):
            assert one["failed"] == COUNT and one["dns"]["rcode"] == {"NOTAUTH": COUNT}, result
            assert ours == {"tsig_error": {error: COUNT}}, (error, ours)
        assert theirs == {"tsig_refused": {"BADSIG": COUNT, "BADKEY": 2 * COUNT, "BADTIME": 2 * COUNT}}, theirs


@test
def each_fault_of_the_server_is_counted_by_its_name():
    tenth, rest = COUNT // 10, COUNT - COUNT // 10
    for fault, counter, ledger in (
            ("tsig_mac", "tsig_mac_bad", {"lost": tenth, "stray": tenth, "failed": 0, "malformed": 0}),
            ("tsig_unsigned", "tsig_unsigned", {"failed": tenth, "lost": 0, "stray": 0, "malformed": 0}),
            ("tsig_format", "tsig_malformed", {"lost": tenth, "malformed": tenth, "failed": 0, "stray": 0})):
        [(one, ours)], theirs, result = exchanged(faults={fault: {"every": 10}})
        assert ours == {"tsig_verified": rest, counter: tenth} and theirs == {"tsig_verified": COUNT}, (fault, ours, theirs)
        assert {name: one[name] for name in ledger} == ledger, (fault, result)


@test
def a_time_beyond_the_fudge_is_wrong_and_one_within_it_is_not():
    names = ["ahead.k", "behind.k", "near.k"]
    skews = [{"ahead": "400s"}, {"behind": "400s"}, {"ahead": "290s"}]
    seen, _, result = exchanged(*({**KEY, "name": name} for name in names),
                                keys=[{**KEY, "name": name, **skew} for name, skew in zip(names, skews)])
    for (one, ours), failed in zip(seen, (COUNT, COUNT, 0)):
        assert one["failed"] == failed and ours == ({"tsig_time": COUNT} if failed else {"tsig_verified": COUNT}), result


@test
def a_server_without_keys_answers_unsigned():
    [(one, ours)], theirs, result = exchanged(keys=[])
    assert one["failed"] == COUNT and ours == {"tsig_unsigned": COUNT} and theirs == {}, result
    [(one, ours)], _, result = exchanged(keys=[], opcode="STATUS")
    assert one["answered"] == COUNT and one["dns"]["rcode"] == {"NOTIMP": COUNT}, result
    assert ours == {"tsig_unsigned_errors": COUNT}, ours


@test
def more_requests_in_flight_than_macs_are_kept():
    one = item(timeout="2s", load={"outstanding": 6000, "total": 9000},
               dns={"names": ["{random:10}.example.com A"], "key": KEY})
    slow = {"dns": {"keys": [KEY]}, "faults": {"delay": {"constant": "1100ms"}}}
    result = ddiperf(ring(one, run={"duration": "3s"}, responder=slow), files=FILES)
    found = result.item("queries")
    check_ledger(found)
    assert result.json["ports"][0]["rx_missed"] == 0, result  # they come back at once, and the ring holds fewer
    assert found["answered"] == found["sent"] == 9000 and counted(found["dns"]) == {"tsig_verified": 9000}, result


@test
def full_cookies_and_wrong_macs_are_signed():
    for dns in ({}, TCP):
        seen, theirs, result = exchanged(edns={}, cookies="full", wrong={"tsig_mac": "20%"}, **dns)
        one, wrong = seen[0][0], seen[0][0]["dns"]["wrong_sent"]["tsig_mac"]
        assert one["answered"] == COUNT - wrong and 15 < wrong < 70 and one["dns"]["cookies_learnt"] > 0, result
        assert seen[0][1] == {"tsig_verified": COUNT - wrong} and one["dns"]["wrong_right"] == {"tsig_mac": wrong}, result
        assert theirs == {"tsig_verified": COUNT - wrong, "tsig_refused": {"BADSIG": wrong}}, theirs


@test
def a_secret_is_in_no_output():
    secret, masked = "c2VjcmV0", "xxxxxxxx"
    with tempfile.TemporaryDirectory() as folder:
        queries, out = Path(folder) / "q", Path(folder) / "out.json"
        queries.write_text("a.example A\n")
        line = ["as", "dnsperf", "-s", "127.0.0.1", "-p", "1", "-d", str(queries), "-t", "0.05", "-y"]
        for key, algorithm in ((f"k:{secret}", "hmac-md5"), (f"hmac-sha224:k:{secret}", "hmac-sha224")):
            code, shown, err = execute([binary(), *line, key, "--json", str(out)])
            document = out.read_text()
            assert secret not in shown + err + document and masked in shown and masked in document, (shown, err)
            asked = json.loads(document)["result"]["config"] if "result" in json.loads(document) else json.loads(document)["config"]
            assert asked["traffic"][0]["dns"]["key"]["algorithm"] == algorithm, asked
            code, shown, err = execute([binary(), *line, key, "--dump"])
            assert code == 0 and secret not in shown + err and "tsig.key" in shown and "-y is not printed" in err, (shown, err)
        (Path(folder) / "k").write_text(f'key k {{ algorithm hmac-sha1; secret "{secret}"; }};\n')
        words = ["dns", "127.0.0.1", "-p", "1", "-n", "1", "-w", "0", "--key", str(Path(folder) / "k")]
        code, shown, err = execute([binary(), *words, "--json", str(out)])
        assert secret not in shown + err + out.read_text(), (shown, err)


@test
def dnspython_finds_two_thousand_exchanges_right():
    try:
        import dns.message
        import dns.name
        import dns.tsig
    except ImportError:
        skip("no dnspython (scripts/deps install test)")
    dns.message.time = SimpleNamespace(time=lambda: EPOCH)
    name = dns.name.from_text("k.example")
    ring_of_keys = {name: dns.tsig.Key(name, SECRET, "hmac-sha256")}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "all.pcapng"
        one = item(load={"rate": "4k", "total": "2000"}, dns={"names": ["{random:12}.example.com A"], "key": KEY})
        text = ring(one, run={"duration": "20s"}, responder={"dns": {"keys": [KEY]}},
                    output={"capture": {"file": str(path), "when": ["answered", "failed", "lost"], "limit": "30k"}})
        result = ddiperf(text, files=FILES)
        assert result.item("queries")["answered"] == 2000, result
        assert result.json["capture"]["dropped"] == 0, result
        packets = tshark(path, ("frame.p2p_dir", "udp.srcport", "udp.dstport", "udp.payload"))
    asked, judged = {}, 0
    for packet in packets:
        wire = bytes.fromhex(packet["udp.payload"].replace(":", ""))
        if packet["frame.p2p_dir"] == "0":
            request = dns.message.from_wire(wire, keyring=ring_of_keys)
            assert request.had_tsig and request.tsig[0].fudge == 300, request
            asked[packet["udp.srcport"], wire[:2]] = request.mac
        else:
            reply = dns.message.from_wire(wire, keyring=ring_of_keys, request_mac=asked[packet["udp.dstport"], wire[:2]])
            assert reply.had_tsig and len(reply.answer) == 1, reply
            judged += 1
    assert judged == 2000, judged


main()
