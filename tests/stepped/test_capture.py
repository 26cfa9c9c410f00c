#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# The capture file: what failed is in it, to the last packet, and another program reads it so.

import json
import os
import tempfile
from collections import Counter
from pathlib import Path

from harness import EXIT, binary, ddiperf, execute, main, test, tshark
from loop import EPOCH, item, ring

REASONS = ("lost", "late", "stray", "failed", "malformed")
FIELDS = ("frame.time_epoch", "frame.p2p_dir", "frame.comment", "frame.interface_name", "udp.srcport", "udp.dstport",
          "dns.id", "dns.flags.response", "dns.qry.name", "frame.protocols", "udp.checksum.status", "ip.checksum.status")
RUN = {"duration": "500ms"}


def reasons(packet):
    """["lost", ...] of "queries: lost: no reply within 1 s,queries: ..."."""
    return [word for word in REASONS if f": {word}: " in packet["frame.comment"]]


def captured(*items, run=None, responder=None, fields=FIELDS, **keys):
    """A run with a capture file: (result, its packets)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bad.pcapng"
        text = ring(*items, run={**RUN, **(run or {})}, responder=responder, output={"capture": {"file": str(path), **keys}})
        result = ddiperf(text)
        assert result.json and result.json["capture"]["file"] == str(path), result
        packets = tshark(path, fields if fields is FIELDS else ("frame.comment", *fields))
    assert result.json["capture"]["packets"] == len(packets), result.json["capture"]
    return result, packets


OUT, IN = "0", "1"  # frame.p2p_dir


def count(packets, direction):
    """How many queries or answers there are for each reason."""
    return Counter(word for p in packets if p["frame.p2p_dir"] == direction for word in reasons(p))


def faults(**table):
    return {"dns": {}, "faults": table}


EVERY_KIND = faults(
    loss={"every": 50}, truncate={"every": 41}, wrong_port={"every": 43}, wrong_id={"every": 47}, wrong_question={"every": 53},
    delay={"two_point": {"first": "0s", "second": "150ms", "share_of_second": "2%"}},
)


@test
def messages_over_tls_are_in_the_file_as_text():
    fields = ("frame.p2p_dir", "tcp.srcport", "tcp.dstport", "dns.id", "dns.flags.response", "dns.a", "tcp.checksum.status", "ip.checksum.status")
    for records in ("message", "burst"):
        one = item(load={"outstanding": 10, "total": 100}, dns={"names": ["h{0-9}.x A"], "transport": "tls", "tcp": {"connections": 2}, "tls": {"records": records}})
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "all.pcapng"
            result = ddiperf(ring(one, run=RUN, responder={"dns": {}, "tls": {}}, output={"capture": {"file": str(path), "when": ["answered"]}}))
            packets = tshark(path, fields, "-d", "tcp.port==853,dns", "-o", "tcp.check_checksum:TRUE", "-o", "tcp.analyze_sequence_numbers:FALSE")
        assert result.item("queries")["answered"] == 100 and len(packets) == 200, result
        asked, answers = ([p for p in packets if p["frame.p2p_dir"] == way] for way in (OUT, IN))
        assert sorted(p["dns.id"] for p in asked) == sorted(p["dns.id"] for p in answers), packets[:4]
        assert all(p["tcp.srcport"] == "853" and p["dns.flags.response"] == "1" and p["dns.a"] for p in answers), answers[:2]
        assert {p["tcp.checksum.status"] for p in packets} == {"1"}, packets[:4]


@test
def the_file_holds_what_the_ledger_counts():
    expect = {"expect": {"rcode": ["NXDOMAIN"]}, "names": ["h{0-99}.example.com A"]}
    result, packets = captured(
        item(timeout="100ms", load={"rate": "2k"}), item("picky", load={"rate": "100"}, dns=expect), responder=EVERY_KIND)
    queries, answers = count(packets, OUT), count(packets, IN)
    ledger = {word: sum(result.item(name)[word] for name in ("queries", "picky")) for word in REASONS}
    assert all(ledger[word] for word in REASONS), ledger
    assert queries["lost"] == ledger["lost"] and answers["lost"] == 0, (queries, ledger)
    assert queries["failed"] == answers["failed"] == ledger["failed"], (queries, answers, ledger)
    assert answers == {**{word: ledger[word] for word in REASONS if word != "lost"}}, (answers, ledger)
    assert result.json["capture"]["dropped"] == 0 and not result.json["capture"]["limit_reached"], result.json["capture"]


@test
def packets_are_as_they_were_on_the_wire_and_in_order_of_time():
    result, packets = captured(item(timeout="100ms"), responder=EVERY_KIND)
    times = [float(p["frame.time_epoch"]) for p in packets]
    assert times == sorted(times) and EPOCH < times[0] < times[-1] < EPOCH + 10, times[:3]
    assert all(len(p["frame.time_epoch"].split(".")[1]) == 9 for p in packets)
    for p in packets:
        assert p["frame.interface_name"] == "tester" and p["frame.comment"], p
        assert p["frame.p2p_dir"] == p["dns.flags.response"], p
        assert p["udp.checksum.status"] == p["ip.checksum.status"] == "1", p
        if p["frame.p2p_dir"] == OUT:
            assert p["udp.dstport"] == "53" and p["dns.qry.name"].endswith(".example.com"), p


@test
def a_query_is_there_once_and_a_late_answer_after_its_timeout():
    result, packets = captured(
        item(timeout="100ms"),
        responder=faults(delay={"two_point": {"first": "0s", "second": "150ms", "share_of_second": "5%"}}))
    one = result.item("queries")
    assert one["late"] == one["lost"] > 0, one
    sent = {(p["udp.srcport"], p["dns.id"]): float(p["frame.time_epoch"]) for p in packets if p["frame.p2p_dir"] == OUT}
    late = {(p["udp.dstport"], p["dns.id"]): float(p["frame.time_epoch"]) for p in packets if p["frame.p2p_dir"] == IN}
    assert len(sent) == len(late) == one["lost"] and len(packets) == 2 * one["lost"], (len(packets), one)
    assert sent.keys() == late.keys()
    waited = [late[key] - sent[key] for key in sent]
    assert min(waited) > 0.1, waited
    assert max(waited) < 2, waited


@test
def without_lost_in_when_the_late_answers_bring_their_query():
    result, packets = captured(
        item(timeout="100ms"), when=["late"],
        responder=faults(loss={"every": 10}, delay={"two_point": {"first": "0s", "second": "150ms", "share_of_second": "5%"}}))
    one = result.item("queries")
    queries, answers = count(packets, OUT), count(packets, IN)
    assert one["lost"] > one["late"] > 0 and queries == answers == {"late": one["late"]}, (queries, answers, one)
    sent = {(p["udp.srcport"], p["dns.id"]): float(p["frame.time_epoch"]) for p in packets if p["frame.p2p_dir"] == OUT}
    for p in packets:
        if p["frame.p2p_dir"] == IN:
            waited = float(p["frame.time_epoch"]) - sent[p["udp.dstport"], p["dns.id"]]
            assert waited > 0.1, p
            assert waited < 2, p


@test
def answered_keeps_what_ended_well_and_only_that():
    result, packets = captured(item(timeout="100ms"), when=["answered"], limit=5000, responder=faults(loss={"every": 10}))
    one = result.item("queries")
    sent = {(p["udp.srcport"], p["dns.id"]): float(p["frame.time_epoch"]) for p in packets if p["frame.p2p_dir"] == OUT}
    got = {(p["udp.dstport"], p["dns.id"]): float(p["frame.time_epoch"]) for p in packets if p["frame.p2p_dir"] == IN}
    assert one["lost"] > 0 and len(sent) == len(got) == one["answered"] and len(packets) == 2 * one["answered"], (len(packets), one)
    assert sent.keys() == got.keys() and all(0 < got[key] - sent[key] < 0.1 for key in sent), one
    assert all(": answered: " in p["frame.comment"] for p in packets), packets[0]
    assert result.json["capture"]["dropped"] == 0 and not result.json["capture"]["limit_reached"], result.json["capture"]


@test
def the_limit_counts_transactions_and_says_that_it_was_reached():
    result, packets = captured(item(timeout="100ms"), limit=7, responder=faults(loss={"every": 10}))
    assert len(packets) == 7 and result.item("queries")["lost"] > 7, result
    assert result.json["capture"]["limit_reached"], result.json["capture"]
    assert result.item("queries")["sent"] == 1000


@test
def many_losses_at_once_are_written_or_counted():
    result, packets = captured(
        item(timeout="100ms", load={"outstanding": 10000, "total": 10000}, server_port=5353), run={"duration": "20s"}, limit="100k")
    one, capture = result.item("queries"), result.json["capture"]
    assert one["sent"] == one["lost"] == 10000, one
    assert len(packets) + capture["dropped"] == one["lost"] and not capture["limit_reached"], (capture, one)


@test
def nothing_wrong_is_an_empty_file_and_the_warm_up_is_no_evidence():
    result, packets = captured(item())
    assert result.code == 0 and packets == [] and result.json["capture"]["packets"] == 0, result
    result, packets = captured(
        item(timeout="50ms"), run={"warmup": "200ms", "duration": "100ms"}, responder=faults(loss={"every": 5}))
    assert result.item("queries")["late"] == 0, result.item("queries")  # the box took 50 ms, and replies of the warm-up are late
    assert len(packets) == result.item("queries")["lost"] < 60, (len(packets), result.item("queries"))


@test
def a_file_that_cannot_be_written_to_its_end_is_not_a_pass():
    result = ddiperf(ring(output={"capture": {"file": "/dev/full"}}))
    assert result.code == EXIT["environment"] and "/dev/full: No space" in result.stderr, result
    assert result.json["capture"]["incomplete"] and "the file is incomplete" in result.stdout, result


@test
def a_server_that_is_not_there_leaves_an_earlier_file_alone():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bad.pcapng"
        path.write_text("of an earlier run")
        result = ddiperf(ring(item(server="198.18.0.9"), output={"capture": {"file": str(path)}}))
        assert result.code == EXIT["unreachable"] and path.read_text() == "of an earlier run", result


def leases(exchange="dora", **keys):
    """DHCPv4 clients at the embedded responder."""
    return item("leases", dns=None, load={"rate": "20"}, dhcp4={"exchange": exchange, "clients": 20, **keys})


@test
def each_message_of_an_exchange_is_a_step():
    """Its last one is "answered"; the first is as it was sent, though its reply has already changed the client."""
    one = leases()
    del one["dns"]
    pool = {"dhcp4": {"pool": ["198.18.0.100-198.18.0.200"]}}
    result, packets = captured(one, when=["answered", "step"], responder=pool, fields=("dhcp.option.dhcp", "dhcp.id"))
    assert result.item("leases")["answered"] == 10, result
    kinds = Counter((p["dhcp.option.dhcp"], p["frame.comment"].split(": ")[1]) for p in packets)
    assert kinds == {("1", "step"): 10, ("2", "step"): 10, ("3", "answered"): 10, ("5", "answered"): 10}, kinds
    by_id = {}
    for p in packets:
        by_id.setdefault(p["dhcp.id"], []).append(p["dhcp.option.dhcp"])
    assert list(by_id.values()) == 10 * [["1", "2", "3", "5"]], by_id
    _, packets = captured(one, when=["step"], responder=pool, fields=("dhcp.option.dhcp",))
    assert Counter(p["dhcp.option.dhcp"] for p in packets) == {"1": 10, "2": 10}, packets


def drawn(exchange="dora", rate=200, **keys):
    """Last bytes of the MAC addresses, in the order of the exchanges, of 20 clients that start over."""
    one = leases(exchange, again=True, **keys)
    del one["dns"]
    one["load"] = {"rate": str(rate)}
    pool = {"dhcp4": {"pool": ["198.18.0.100-198.18.0.200"]}}
    result, packets = captured(one, when=["answered"], responder=pool, fields=("dhcp.hw.mac_addr", "dhcp.option.dhcp", "dhcp.ip.client"))
    assert result.item("leases")["answered"] == rate / 2 and result.item("leases")["failed"] == 0, result
    kinds = {"0.0.0.0": "new"}
    return [(int(p["dhcp.hw.mac_addr"][-2:], 16), kinds.get(p["dhcp.ip.client"], "renewed")) for p in packets if p["dhcp.option.dhcp"] == "3"]


@test
def clients_begin_in_turn_or_by_chance():
    turn, chance = drawn(), drawn(order="random")
    assert [client for client, _ in turn] == [n % 20 for n in range(100)], turn
    times = Counter(client for client, _ in chance)
    assert len(times) > 15 and max(times.values()) >= 8 and len(set(times.values())) > 3, times  # about 5 each, with replacement
    assert chance == drawn(order="random") and chance != drawn(order="random", clients=19), chance
    halves = drawn(mix={"renew": "50%"}, order="leases_random")
    fresh = [client for client, kind in halves if kind == "new"]
    again = [client for client, kind in halves if kind == "renewed"]
    assert fresh[:20] == list(range(20)) and sorted(again[:10]) != again[:10], (fresh, again)


def perfdhcp(family, *words, responder, addresses):
    """The lines from the times on, of a run on a wire of 1 ms each way."""
    ports = [{"name": "lan", "driver": "ring", "device": "dut", "addresses": [addresses[0]]},
             {"name": "dut", "driver": "ring", "device": "lan", "addresses": [addresses[1]]}]
    code, out, err = execute(
        [binary(), "as", "perfdhcp", f"-{family}", *words, "--set", f"ports={json.dumps(ports)}", "--set", "traffic.leases.port=lan",
         "--set", f"responder={json.dumps({'port': 'dut', **responder})}"], env={**os.environ, "STEPPED": "delay=1ms"})
    assert code == 0, (code, out, err)
    return out[out.index("***Timestamps"):].split("\n")


@test
def perfdhcp_prints_the_times_and_the_first_messages():
    lines = perfdhcp(4, *"-r 5 -p 1 -R 50 -f 2 -P 3 -x tT 127.0.0.2 -l 127.0.0.1".split(), addresses=("127.0.0.1/8", "127.0.0.2/8"),
                     responder={"dhcp4": {"pool": ["127.1.0.1-127.1.0.99"]}})
    ends = [n for n, line in enumerate(lines) if line == ""]
    blocks = {lines[a][len("***Timestamps for packets: "):-3]: lines[a + 1:b] for a, b in zip([0, *[n + 1 for n in ends]], ends[:3])}
    assert [len(b) for b in blocks.values()] == [5, 5, 2], blocks
    assert blocks["DISCOVER-OFFER"][0] == "sent / received: 000000.071428 / 000000.073428", blocks
    assert blocks["REQUEST-ACK"][0] == "sent / received: 000000.073428 / 000000.075428", blocks
    assert blocks["REQUEST-ACK (renewal)"][0] == "sent / received: 000000.214285 / 000000.216285", blocks
    first, second = "\n".join(lines[ends[2] + 1:]).split("\n\n")[:2]
    assert first.split("\n")[:3] == ["xid-offset=4", "random-offset=35", "contents: "], first
    assert first.split("\n")[4:6] == ["0020   00000000000000007f000001000c0102", "0040   03040000000000000000000000000000"], first
    assert first.endswith("\n01e0   3501013707011c02030f060c3d070100\n0200   0c01020304ff"), first
    assert second.split("\n")[2:6] == ["srvid-offset=54", "time-offset=8", "ip-offset=240", "contents: "], second
    assert second.endswith("\n01e0   35010332047f01000136047f00000237\n0200   07011c02030f060c3d0701000c010203\n0220   04ff"), second


@test
def perfdhcp_prints_those_of_dhcpv6():
    lines = perfdhcp(6, *"-r 5 -p 1 -R 50 -f 2 -F 1 -x t -l lo all".split(), addresses=("fe80::1/64", "fe80::2/64"),
                     responder={"dhcp6": {"pool": ["2001:db8::1000-2001:db8::2000"]}})
    assert lines[0] == "***Timestamps for packets: SOLICIT-ADVERTISE***", lines
    assert [sum(1 for line in part.split("\n") if line.startswith("sent / ")) for part in "\n".join(lines).split("\n\n")] == [5, 5, 2, 1, 0], lines


main()
