#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Dynamic updates against the responder's zone: adds that are deleted later in the same order, each kind of prerequisite
# with its RCODE, files of dnsperf's format, over UDP and TCP; and the messages as dnspython reads them.

import tempfile
from pathlib import Path

from harness import check_ledger, ddiperf, main, skip, test
from loop import item, ring, sent_to_file

ZONE = """$ORIGIN example.com.
$TTL 300
@ SOA ns hostmaster 10 3600 900 604800 60
@ NS ns
ns A 192.0.2.53
www A 192.0.2.80
www A 192.0.2.81
"""
ADD = "example.com\nprohibit n{random:12}\nadd n{random:12} 60 A 10.0.0.1\nadd n{random:12} 60 TXT two"
DELETE = "example.com\nrequire n{random:12}\nrequire n{random:12} A 10.0.0.1\ndelete n{random:12}"


def run(dns, total, responder=None, run=None, files=None, tester=None, **keys):
    """All answered by a zone that takes updates: the item's part and the responder's."""
    result = ddiperf(ring(
        item(load={"rate": "20k", "total": str(total)}, dns=dns, **keys), run=run or {"duration": "20s"}, tester=tester,
        responder={"dns": {"zone": "zone", "zone_room": "1MiB"}, **(responder or {})}), files={"zone": ZONE, **(files or {})})
    assert result.code == 0, result
    one = result.item("queries")
    check_ledger(one)
    assert one["answered"] + one["failed"] == one["sent"] == one["due"] == total, one
    return one["dns"], result.json["responder"]["protocols"][0]["dns"]


@test
def what_was_added_is_deleted_in_the_same_order_and_nothing_is_a_noop():
    ours, theirs = run({"update": [ADD, DELETE], "update_run": 500, "expect": {"rcode": ["NOERROR"]}}, 4000)
    assert ours["rcode"] == {"NOERROR": 4000}, ours
    assert theirs["update_rcode"] == {"NOERROR": 4000}, theirs
    assert theirs["serial_steps"] == 4000 and theirs["update_noops"] == 0, theirs
    assert theirs["records_added"] == theirs["records_deleted"] == 4000, theirs


@test
def workers_keep_the_order_of_each_name():
    ours, theirs = run({"update": [ADD, DELETE], "update_run": 501, "expect": {"rcode": ["NOERROR"]}}, 4016,
                       tester={"cpus": [1, 1]}, timeout="2s")
    assert ours["rcode"] == {"NOERROR": 4016} and theirs["serial_steps"] == 4016 and theirs["update_noops"] == 0, (ours, theirs)
    assert theirs["records_added"] == theirs["records_deleted"] == 4016, theirs


@test
def a_run_that_ends_early_leaves_what_was_not_deleted_yet():
    _, theirs = run({"update": [ADD, DELETE], "update_run": 500}, 1700)
    assert theirs["records_added"] == 2 * 1000 and theirs["records_deleted"] == 2 * 700, theirs
    assert theirs["serial_steps"] == 1700, theirs


@test
def updates_go_over_tcp():
    dns = {"update": [ADD, DELETE], "update_run": 500, "transport": "tcp", "tcp": {"connections": 4}}
    ours, theirs = run(dns, 2000)
    assert ours["rcode"] == {"NOERROR": 2000} and theirs["serial_steps"] == 2000, (ours, theirs)


@test
def each_prerequisite_has_its_rcode():
    kinds = {"require www AAAA": "NXRRSET", "require www A 192.0.2.80": "NXRRSET", "prohibit www A": "YXRRSET",
             "require q": "NXDOMAIN", "prohibit www": "YXDOMAIN", "require www.example.net.": "NOTZONE",
             "require www": "NOERROR"}
    dns = {"update": [f"example.com\n{line}" for line in kinds], "expect": {"rcode": ["YXDOMAIN", "YXRRSET"]}}
    ours, theirs = run(dns, 70)
    wanted = {"NOERROR": 10, "NXDOMAIN": 10, "YXDOMAIN": 10, "YXRRSET": 10, "NXRRSET": 20, "NOTZONE": 10}
    assert ours["rcode"] == theirs["update_rcode"] == wanted, (ours, theirs)
    assert ours["unexpected_rcode"] == 50 and theirs["serial_steps"] == 0, (ours, theirs)


@test
def a_file_of_dnsperf_is_sent_in_its_order():
    text = "".join(f"example.com\nadd f{i} 60 A 10.1.0.{i}\nsend\n" for i in range(100))
    text += "; all of them\n\n" + "".join(f"example.com\ndelete f{i}\nsend\n" for i in range(100))
    ours, theirs = run({"updates": "updates"}, 400, files={"updates": text})
    assert ours["rcode"] == {"NOERROR": 400} and theirs["serial_steps"] == 400, (ours, theirs)
    assert theirs["records_added"] == theirs["records_deleted"] == 200, theirs


@test
def a_full_zone_refuses_and_stays_right():
    dns = {"update": ["example.com\nadd {random:12} 60 A 10.0.0.1"]}
    ours, theirs = run(dns, 4000, responder={"dns": {"zone": "zone", "zone_room": "64KiB"}})
    assert ours["rcode"]["SERVFAIL"] + ours["rcode"]["NOERROR"] == 4000, ours
    assert 300 < ours["rcode"]["NOERROR"] == theirs["serial_steps"] == theirs["records_added"] < 700, theirs


@test
def queries_and_updates_share_a_zone():
    result = ddiperf(ring(
        item("updates", dns={"update": [ADD, DELETE], "update_run": 100}),
        item("queries", dns={"names": ["www.example.com A", "no{0-9}.example.com A"], "expect": {"rcode": ["NOERROR", "NXDOMAIN"]}}),
        responder={"dns": {"zone": "zone", "zone_room": "1MiB"}}), files={"zone": ZONE})
    assert result.code == 0, result
    asked = result.item("queries")["dns"]["rcode"]
    assert asked == result.json["responder"]["protocols"][0]["dns"]["zone_rcode"] and asked["NXDOMAIN"] > asked["NOERROR"] > 0, asked


@test
def dnspython_reads_what_is_sent():
    try:
        import dns.message
        import dns.update
    except ImportError:
        skip("dnspython is not installed: scripts/deps install test")
    text = ("example.com\nrequire a{random:5} MX 10 mail\nprohibit b AAAA\nadd a{random:5} 60 A 10.0.0.1\n"
            "add x.a{random:5} 5 SRV 1 2 3 host.example.net.\ndelete b TXT\ndelete c\ndelete d A 10.0.0.9")
    with tempfile.TemporaryDirectory() as name:
        one = item(load={"rate": "20k", "total": "50"}, dns={"update": [text], "edns": {"size": 1400}})
        packets = sent_to_file(Path(name), one)[1]
    names = set()
    for packet in packets:
        message = dns.message.from_wire(packet.payload)
        assert isinstance(message, dns.update.UpdateMessage) and message.payload == 1400 and message.flags == 0x2800
        owner = message.prerequisite[0].name
        names.add(owner)
        assert message.prerequisite[0].to_text() == f"{owner} 0 IN MX 10 mail.example.com."
        assert [r.to_text() for r in message.update[:2]] == [
            f"{owner} 60 IN A 10.0.0.1", f"x.{owner} 5 IN SRV 1 2 3 host.example.net."]
        assert [(str(r.name), int(r.rdtype), r.deleting) for r in message.update[2:]] == [
            ("b.example.com.", 16, 255), ("c.example.com.", 255, 255), ("d.example.com.", 1, 254)]
    assert len(names) == len(packets) == 50


@test
def a_zone_larger_than_the_box_is_refused_before_it_is_made():
    text = ring(item(), responder={"dns": {"zone": "zone", "zone_room": "1000GiB"}})
    for command in ("check", "plan", "run"):
        result = ddiperf(text, command=command, files={"zone": ZONE})
        assert result.code and "responder.dns: not enough memory" in result.stderr, f"{command} {result}"


main()
