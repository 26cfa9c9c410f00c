#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Echo against the embedded responder, over UDP and TCP: requests and replies of all sizes and fills, messages that go one
# way, faults. Each ledger and each counter is exact.

import tempfile
from pathlib import Path

from harness import check_ledger, ddiperf, main, test
from loop import ring, sent_to_file

COUNT = 400


def item(load=None, tcp=None, name="path", **echo):
    """An item of 400 messages; tcp: settings of connections."""
    stream = {} if tcp is None else {"transport": "tcp", "tcp": tcp}
    return {"name": name, "server": "198.18.0.2", "timeout": "5s",
            "load": load or {"rate": "2k", "total": str(COUNT)}, "echo": {**stream, **echo}}


def run(*items, responder=None, code=0, duration="5s", world=None):
    """(the results of the items, the responder's, its echo counters); a run ends before its duration with the last message."""
    result = ddiperf(ring(*items, run={"duration": duration}, responder={"echo": {}, **(responder or {})}), world=world)
    assert result.code == code, result
    got = [result.item(one["name"]) for one in items]
    for one in got:
        check_ledger(one)
    server = result.json["responder"]
    return got, server, server["protocols"][0]["echo"]


def exchanged(*items, count=COUNT, server=None, plain=0, world=None):
    """All exchanges right, with exact counters on both sides; server: the responder's settings of echo."""
    got, server, counts = run(*items, responder={"echo": server or {}}, world=world)
    asked = [int(one["echo"]["size"][:-1]) for one in items]
    wanted = [int(one["echo"]["reply"][:-1]) for one in items]
    for one, size, reply in zip(got, asked, wanted):
        assert one["answered"] == one["sent"] == count, one
        assert one["echo"] == {"request_bytes": count * size, "reply_bytes": count * reply, "wrong_length": 0,
                               "wrong_bytes": 0}, one["echo"]
    total = count * len(items)
    assert counts == {"received": total, "received_bytes": count * sum(asked), "answered": total,
                      "answered_bytes": count * sum(wanted), "one_way": 0, "plain": plain, "cut": 0, "ignored": 0}, counts
    assert server["answered"] == total, server
    return got


@test
def replies_of_every_size_are_right_to_the_byte_over_udp_and_tcp():
    exchanged(*[item(name=f"{fill}-{tcp and 'tcp'}", size=f"{size}B", reply=f"{reply}B", fill=fill, tcp=tcp)
                for size, reply, fill in ((20, 20, "zeros"), (64, 64, "counting"), (21, 1400, "random"), (1300, 20, "hex"))
                for tcp in (None, {"connections": 5})])


@test
def a_message_over_a_connection_may_be_longer_than_a_packet():
    got, = exchanged(item({"rate": "300", "total": "60"}, {"connections": 3}, size="20000B", reply="65000B", fill="random"),
                     count=60)
    assert got["connections"]["established"] == 3 and got["connections"]["reset"] == 0, got["connections"]


@test
def each_connection_may_have_one_exchange():
    got, = exchanged(item(tcp={"connections": 20, "queries_per_connection": 1}, size="64B", reply="64B"))
    assert got["connections"]["established"] == COUNT, got["connections"]


@test
def a_long_reply_in_datagrams_comes_in_fragments():
    (got,), server, counts = run(item(size="100B", reply="4000B"), responder={"echo": {"longest": "4000B"}})
    assert got["answered"] == COUNT and counts["answered_bytes"] == 4000 * COUNT, (got, counts)
    assert server["fragmented"] == COUNT, server


@test
def messages_go_one_way_over_udp_and_both_sides_count_them():
    (got,), server, counts = run(item(test="stream", size="1000B"))
    assert got["no_reply"] == got["sent"] == COUNT and got["answered"] == got["lost"] == 0, got
    assert counts["one_way"] == counts["received"] == COUNT and counts["received_bytes"] == 1000 * COUNT, counts
    assert counts["answered"] == server["answered"] == 0 and server["ignored"] == COUNT, server


@test
def what_is_lost_on_the_way_shows_in_the_counts_of_the_responder():
    (got,), server, counts = run(item(test="stream"), responder={"faults": {"outage": {"off_at": "50ms", "on_at": "100ms"}}})
    lost = server["faults"].get("outage", 0)
    assert got["no_reply"] == COUNT and counts["received"] == COUNT - lost, (server, counts)
    assert lost > 50, server


@test
def messages_that_go_one_way_over_a_connection_end_when_they_are_acknowledged():
    kinds = {"connections": 4}, {"connections": 10, "queries_per_connection": 3}, {"connections": 4, "pipeline": 1}
    got, _, counts = run(*[item({"rate": "300", "total": "60"}, tcp, str(n), test="stream", size="30000B")
                           for n, tcp in enumerate(kinds)])
    for one in got:
        assert one["no_reply"] == one["sent"] and one["lost"] == 0, one
    assert got[0]["sent"] == got[1]["sent"] == 60 and 4 < got[2]["sent"] <= 60, got
    sent = sum(one["sent"] for one in got)
    assert counts["one_way"] == sent and counts["received_bytes"] == 30000 * sent, counts


@test
def the_figure_of_a_test_one_way_is_the_bits_sent():
    bulk = item({"rate": "100k"}, test="stream", size="1250B")
    result = ddiperf(ring(bulk, run={"duration": "1s"}, responder={"echo": {}}))
    assert "(100 000 messages sent one way, 100 k/s, 1000 Mbit/s)" in result.stdout, result
    assert "due 100 k/s, sent 100 k/s" in result.stdout and "answered 0 /s" not in result.stdout, result
    brief = ddiperf(ring(bulk, run={"duration": "1s"}, responder={"echo": {}}), "--brief")
    assert brief.code == 0 and brief.stdout == "1000.00\n", brief


@test
def the_peer_paces_a_closed_loop_of_messages_one_way():
    (got,), _, counts = run(item({"outstanding": "4"}, {"connections": 2}, test="stream", size="60000B"), duration="300ms", world="delay=1ms")
    assert got["no_reply"] == got["sent"] > 4 and got["lost"] == got["unsent"] == 0, got
    assert counts["received_bytes"] == 60000 * got["sent"] and got["connections"]["no_memory"] == 0, (got, counts)


@test
def messages_one_way_survive_segments_lost_doubled_and_out_of_order():
    faults = {"loss": {"every": 50}, "duplicate": {"every": 33}, "reorder": {"every": 20}}
    (got,), _, counts = run(item(test="stream", size="3000B", tcp={"connections": 4}), responder={"faults": faults})
    assert got["no_reply"] == COUNT and counts["received"] == COUNT and counts["plain"] == 0, (got, counts)


@test
def an_acknowledgement_that_does_not_come_loses_the_message():
    (got,), _, _ = run({**item(test="stream", tcp={"connections": 4}), "timeout": "300ms"}, responder={"faults": {"loss": {"share": "100%"}}}, code=4,
                    duration="300ms")
    assert got["no_reply"] == 0 and got["lost"] + got["unsent"] == got["due"] == COUNT, got


@test
def one_octet_each_way_is_an_exchange_like_any_other_over_udp_and_tcp():
    exchanged(item(size="1B", reply="1B"), item({"outstanding": "1", "total": str(COUNT)}, {"connections": 1}, "tcp", size="1B", reply="1B"),
              server={"request": "1B"}, plain=2 * COUNT)


@test
def sizes_below_the_header_may_differ_as_the_responder_is_told():
    for size, reply in ((1, 1000), (3, 7), (300, 2), (19, 20)):
        exchanged(item(size=f"{size}B", reply=f"{reply}B", fill="random"),
                  {**item(name="tcp", size=f"{size}B", reply=f"{reply}B", tcp={"connections": 3}), "timeout": "200ms"},
                  server={"request": f"{size}B", "reply": f"{reply}B"}, plain=2 * COUNT)


@test
def as_many_one_octet_messages_are_in_flight_as_have_keys():
    got, = exchanged(item({"outstanding": "256", "total": "4000"}, {"connections": 1}, size="1B", reply="1B"), count=4000,
                     server={"request": "1B"}, plain=4000, world="delay=2ms")
    assert got["connections"]["established"] == 1 and got["stray"] == got["duplicate"] == got["malformed"] == 0, got
    more = ddiperf(ring(item({"outstanding": "257"}, {"connections": 1}, size="1B", reply="1B"), responder={"echo": {"request": "1B"}}))
    assert more.code == 2 and "a connection has 256 IDs" in more.stderr, more


@test
def the_responder_is_to_know_the_sizes_of_messages_without_a_header():
    unknown = ddiperf(ring(item(size="1B", reply="5B", tcp={}), responder={"echo": {}}))
    assert unknown.code == 2 and "(request: 1B)" in unknown.stderr and "(reply: 5B)" in unknown.stderr, unknown


@test
def a_one_octet_reply_that_is_lost_or_doubled_is_no_other_transactions():
    faults = {"loss": {"every": 10}, "duplicate": {"every": 7}}
    (got,), server, _ = run({**item({"rate": "2k", "total": "2000"}, size="1B"), "timeout": "50ms"}, responder={"faults": faults})
    assert got["lost"] == server["faults"]["loss"] == 200 and got["answered"] == 1800, (got, server["faults"])
    assert got["duplicate"] == server["faults"]["duplicate"], (got, server["faults"])
    assert got["echo"]["wrong_bytes"] == got["stray"] == 0, got


@test
def connections_alone_are_a_test_with_their_rate():
    tcp = {"connections": 1, "queries_per_connection": 1}
    (got,), server, counts = run(item({"outstanding": "1", "total": str(COUNT)}, tcp, test="connect"), world="delay=1ms")
    assert got["answered"] == got["sent"] == COUNT and got["echo"]["request_bytes"] == 0, got
    assert got["connections"]["opened"] == got["connections"]["established"] == COUNT, got["connections"]
    assert got["latency"]["response"]["min_ns"] >= 2_000_000, got["latency"]
    assert counts["received"] == 0 and server["connections"]["accepted"] == COUNT, server
    wrong = ddiperf(ring(item(tcp={}, test="connect"), responder={"echo": {}}))
    assert wrong.code == 2 and "queries_per_connection: 1" in wrong.stderr, wrong


@test
def connections_that_are_refused_or_not_answered_are_lost():
    tcp = {"connections": 4, "queries_per_connection": 1}
    # Where all are refused, the run ends with its first interval.
    for port, faults, key, sent in (("9", {}, "refused", 23), ("7", {"loss": {"share": "100%"}}, "no_answer", 40)):
        (got,), _, _ = run({**item({"rate": "200", "total": "40"}, tcp, test="connect"), "timeout": "300ms", "server_port": port},
                           code=4, responder={"faults": faults})
        assert got["lost"] == got["sent"] == sent and got["answered"] == 0, (port, got)
        assert port == "7" or got["connections"][key] == sent, (port, got["connections"])


@test
def each_fault_shows_in_its_counter():
    faults = {"wrong_fill": {"every": 4}, "header_only": {"every": 5}, "wrong_echo": {"every": 101}}
    (got,), server, _ = run({**item(), "timeout": "500ms"}, responder={"faults": faults})
    made = server["faults"]
    assert got["echo"]["wrong_bytes"] == made["wrong_fill"] == 100, (got, made)
    assert got["echo"]["wrong_length"] == made["header_only"] > 50, (got, made)
    assert got["stray"] == got["lost"] == made["wrong_echo"] > 0, (got, made)
    assert got["failed"] == made["wrong_fill"] + made["header_only"], (got, made)


@test
def messages_differ_in_key_and_cookie():
    with tempfile.TemporaryDirectory() as name:
        packets = sent_to_file(Path(name), item(size="40B"))[1]
    assert len(packets) == COUNT and all(p.dport == 7 and len(p.payload) == 40 for p in packets)
    assert len({p.payload[4:8] for p in packets}) == len({p.payload[8:16] for p in packets}) == COUNT
    assert {p.payload[20:] for p in packets} == {bytes(range(20))}


main()
