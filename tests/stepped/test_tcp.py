#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Messages over connections: pools, N messages each, one each, pipelines, idle ones; segments lost, doubled and out of
# order; refusals and what a server does to its connections. Over rings, against the embedded responder.

from harness import EXIT, check_ledger, ddiperf, main, test
from loop import item, ring

NAMES = ["h{0-99}.example.com A"]


def tcp(load=None, dns=None, **settings):
    """An item over connections."""
    return item(load=load, timeout="3s", dns={"names": NAMES, "transport": "tcp", "tcp": settings, **(dns or {})})


def run(one, code=0, world=None, **sections):
    """The item of the result, its ledger right."""
    result = ddiperf(ring(one, **sections), world=world)
    assert result.code == code, result
    found = result.item("queries")
    check_ledger(found)
    return found, result


def all_answered(one, **sections):
    found, result = run(one, **sections)
    assert found["answered"] == found["sent"] == found["due"] > 0, found
    assert found["stray"] == found["malformed"] == found["duplicate"] == found["late"] == 0, found
    return found, result


def nothing_of(counts, *names):
    assert all(counts[name] == 0 for name in names), counts


@test
def a_pool_lives_as_long_as_the_run():
    for addresses, server in (("198.18.0.1/24", "198.18.0.2"), ("2001:db8::1/64", "2001:db8::2")):
        one = {**tcp(connections=10), "server": server}
        ends = {"tester": {"addresses": [addresses]}, "dut": {"addresses": [f"{server}/{addresses.split('/')[1]}"]}}
        found, result = all_answered(one, **ends)
        conns = found["connections"]
        assert conns["opened"] == conns["established"] == 10, conns
        assert conns["handshake"]["count"] == conns["first_answer"]["count"] == 10, conns
        nothing_of(conns, "refused", "no_answer", "closed", "reset", "lost_closed", "retransmitted", "left")
        assert result.json["responder"]["answered"] == found["sent"] == 600, result.json["responder"]


@test
def a_connection_takes_as_many_messages_as_it_may():
    found, _ = all_answered(tcp(connections=4, queries_per_connection=7))
    assert found["sent"] / 7 <= found["connections"]["opened"] <= found["sent"] / 7 + 4, found["connections"]


@test
def a_connection_that_has_all_its_messages_is_replaced_before_their_answers():
    """Two messages, then the third after 100 ms; the next connection has two while the third waits for its answer."""
    one = tcp(load={"outstanding": "8"}, connections=1, pipeline=2, queries_per_connection=3)
    found, _ = run({**one, "timeout": "2s"}, run={"duration": "1s"}, responder={"dns": {}, "faults": {"delay": {"constant": "100ms"}}})
    assert found["answered"] >= 25 and found["lost"] == 0, found
    assert found["connections"]["opened"] >= 9, found["connections"]


@test
def each_message_may_have_a_connection_of_its_own():
    found, _ = all_answered(tcp(connections=50, queries_per_connection=1))
    conns = found["connections"]
    assert conns["opened"] == conns["established"] == conns["first_answer"]["count"] == found["sent"], conns
    nothing_of(conns, "closed", "reset", "no_port", "lost_closed")


@test
def messages_wait_while_the_pipeline_is_full():
    found, _ = run(tcp(load={"outstanding": "8"}, connections=2, pipeline=1), world="delay=500us")
    assert found["answered"] == found["sent"] > 100 and found["lost"] == 0, found
    assert found["connections"]["opened"] == 2 and found["connections"]["pipeline_full"] > 100, found


@test
def messages_that_wait_for_answers_to_others_are_sent_and_time_out():
    """Two messages at a time, 100 ms each: 20 of 400 a second. The rest waits, in turn, as long as its timeout allows."""
    one = {**tcp(load={"rate": "400"}, connections=2, pipeline=1), "timeout": "300ms"}
    result = ddiperf(ring(one, run={"duration": "1s", "warmup": "0s"}, validity={"unsent": "0.1%"}), world="delay=50ms")
    found, verdict = result.item("queries"), result.json["verdict"]
    check_ledger(found)
    # Two places, with ten answers a second each, for 1 s and as long as the last ones may wait. The handshake takes 100 ms.
    assert (found["due"], found["sent"], found["unsent"]) == (400, 400, 0), found
    assert 22 <= found["answered"] <= 26 and found["lost"] == found["connections"]["pipeline_lost"] == 400 - found["answered"], found
    assert found["send_lag"]["max_ns"] == found["late"] == 0 and found["latency"]["response"]["max_ns"] <= 401e6, found
    assert verdict["status"] == "done" and verdict["limited_by"] == "server" and len(verdict["reasons"]) == 1, verdict
    assert "lost messages still waited behind others on their connection" in verdict["reasons"][0], verdict


@test
def messages_of_a_closed_loop_are_due_when_their_turn_comes():
    """20 at a time for four places of 100 ms: what waits when the time is over was not due; a total is sent to its end."""
    for load, sent in (({"outstanding": "20"}, None), ({"outstanding": "20", "total": "60"}, 60)):
        one = {**tcp(load=load, connections=4, pipeline=1), "timeout": "250ms"}
        result = ddiperf(ring(one, run={"duration": "2s", "warmup": "0s"}, validity={"unsent": "0%"}), world="delay=50ms")
        found = result.item("queries")
        check_ledger(found)
        assert found["due"] == found["sent"] == found["answered"] == (sent or found["sent"]) >= 60, (load, found)
        assert found["connections"]["pipeline_lost"] == found["unsent"] == 0 and found["connections"]["pipeline_full"] > 50, found


SERVERS = {"drop": {"tcp": {"accept": "drop"}}, "silent": {"tcp": {"accept": "silent"}}, "refuse": {"tcp": {"accept": "refuse"}},
           "late": {"faults": {"delay": {"constant": "200ms"}}}}


@test
def the_tester_is_not_blamed_for_what_a_server_does_to_connections():
    """Beyond its places a message waits for the server's answers: it is sent, and lost if they come too late."""
    for name, server in SERVERS.items():
        for pipeline in ({"pipeline": 1}, {"pipeline": 3}, {}):
            for load in ({"rate": "500"}, {"outstanding": "20"})[:1 if name == "refuse" else 2]:  # it would go as fast as it can
                for timeout in ("500ms", "100ms"):
                    one = {**tcp(load=load, connections=4, **pipeline), "timeout": timeout}
                    result = ddiperf(ring(one, responder={"dns": {}, **server}, validity={},
                                          run={"duration": "1s", "warmup": "200ms"}))
                    found, verdict = result.item("queries"), result.json["verdict"]
                    check_ledger(found)
                    case = name, pipeline, load, timeout, verdict, found
                    answers = name == "late" and timeout == "500ms"
                    assert result.code == (0 if answers else EXIT["unreachable"]), case
                    assert "invalid_by" not in verdict and verdict["limited_by"] != "tester", case
                    assert not any("tester" in reason or "slots" in reason for reason in verdict["reasons"]), case
                    assert found["unsent"] == 0 and found["due"] == found["sent"], case
                    assert found["due"] == 500 or "rate" not in load or name == "refuse", case
                    if answers and "rate" in load and pipeline:  # each place has an answer in 200 ms, after those to the warm-up
                        assert 18 * pipeline["pipeline"] <= found["answered"] <= 32 * pipeline["pipeline"], case
                        assert found["connections"]["pipeline_lost"] == found["lost"] == 500 - found["answered"], case
                    elif answers:
                        assert found["lost"] == 0, case


@test
def nagle_gathers_messages_in_segments():
    load = {"outstanding": "400"}
    alone, _ = all_answered(tcp(load=load, connections=40), world="delay=5ms")
    found, _ = all_answered(tcp(load=load, connections=40, nagle=True), world="delay=5ms")
    ratios = [one["connections"]["segments_sent"] / one["sent"] for one in (found, alone)]
    assert ratios[0] < 0.6 * ratios[1], ratios
    nothing_of(found["connections"], "retransmitted", "lost_closed", "left")


@test
def messages_that_wait_go_on_when_a_port_is_free_again():
    """Two ports, each at rest for 50 ms after its only message: 40 messages a second."""
    one = {**tcp(load={"outstanding": "4"}, connections=1, pipeline=1, queries_per_connection=1, time_wait="50ms"),
           "source": {"ports": ["2000-2001"]}, "timeout": "2s"}
    found, _ = run(one, run={"duration": "1s"})
    assert 2 < found["answered"] <= 42 and found["lost"] == 0, found
    assert found["answered"] > 10, found
    assert found["connections"]["no_port"] > 0 and found["unsent"] <= 4, found


@test
def an_idle_connection_is_closed_and_another_one_opened():
    found, _ = all_answered(tcp(load={"rate": "50"}, connections=10, idle="50ms"), run={"duration": "1s"})
    # Each of the ten is asked once in 200 ms.
    assert found["connections"]["opened"] <= 50, found["connections"]
    assert found["connections"]["opened"] >= 40, found["connections"]
    nothing_of(found["connections"], "closed", "reset", "lost_closed")


@test
def an_answer_of_any_length_is_whole():
    text = {"responder": {"dns": {"text": "x" * 4000}}}
    found, _ = all_answered(tcp(load={"rate": "500"}, dns={"names": ["a.example.com TXT"]}, connections=2), **text)
    assert found["dns"]["tc"] == 0 and found["dns"]["reply_bytes"] > 4000 * found["answered"], found["dns"]
    found, _ = run(item(dns={"names": ["a.example.com TXT"]}), **text)
    assert found["dns"]["tc"] == found["answered"] > 0, found["dns"]


@test
def a_truncated_answer_is_asked_again_over_a_connection():
    text = {"responder": {"dns": {"text": "x" * 4000}}}
    for server, addresses in (("198.18.0.2", "198.18.0.1/24"), ("2001:db8::2", "2001:db8::1/64")):
        ends = {"tester": {"addresses": [addresses]}, "dut": {"addresses": [f"{server}/{addresses.split('/')[1]}"]}}
        one = item(dns={"names": ["a.example.com TXT", "b.example.com A"], "tc": "tcp"}, server=server)
        found, result = all_answered(one, **text, **ends)
        half = found["sent"] // 2
        assert found["dns"]["tc"] == found["dns"]["tc_asked_again"] == half > 0, found["dns"]
        assert found["connections"]["opened"] == found["connections"]["established"] == half, found["connections"]
        assert found["dns"]["reply_bytes"] > 4000 * half and found["dns"]["oversize"] == 0, found["dns"]
        assert result.json["responder"]["answered"] == found["sent"] + half, result.json["responder"]
        nothing_of(found["connections"], "closed", "reset", "lost_closed", "no_port", "left")


@test
def a_truncated_answer_that_comes_twice_is_asked_again_once():
    one = item(load={"rate": "500"}, dns={"names": ["a.example.com TXT"], "tc": "tcp"}, timeout="5s")
    found, result = run(one, responder={"dns": {"text": "x" * 4000}, "faults": {"duplicate": {"share": "100%"}}})
    conns = found["connections"]
    assert found["answered"] == found["sent"] == found["duplicate"] == found["dns"]["tc_asked_again"] > 0, found
    assert found["late"] == found["stray"] == found["lost"] == conns["left"] == 0, (found, conns)
    assert conns["opened"] == conns["established"] == conns["first_answer"]["count"] == found["sent"], conns
    assert result.json["responder"]["answered"] == 2 * found["sent"], result.json["responder"]


@test
def every_message_survives_segments_lost_doubled_and_out_of_order():
    faults = {"loss": {"every": 33}, "duplicate": {"every": 37}, "reorder": {"every": 41}}
    one = {**tcp(load={"rate": "1k"}, connections=20), "timeout": "20s"}
    found, result = run(one, responder={"dns": {}, "faults": faults}, run={"duration": "1s"})
    assert found["answered"] == found["sent"] == 1000 and found["lost"] == found["stray"] == 0, found
    made = result.json["responder"]["faults"]
    assert min(made["loss"], made["duplicate"], made["reorder"]) > 5, made
    assert result.json["responder"]["answered"] == 1000, result.json["responder"]
    assert found["connections"]["repeated"] > 0, found["connections"]


@test
def intervals_have_what_tcp_sent_again():
    one = {**tcp(load={"rate": "500"}, connections=20), "timeout": "20s"}
    found, result = run(one, responder={"dns": {}, "faults": {"loss": {"every": 20}}},
                        run={"warmup": "0s", "duration": "800ms", "interval": "100ms"})
    whole, parts = found["connections"], [one["traffic"][0]["connections"] for one in result.json["intervals"]]
    again = ("retransmitted", "fast_retransmitted", "syn_retransmitted", "repeated", "out_of_order")
    assert whole["retransmitted"] > 0 and whole["out_of_order"] > 0, whole
    assert all(sum(one[name] for one in parts) == whole[name] for name in again), (whole, again)


@test
def a_server_that_does_not_listen_refuses():
    found, _ = run({**tcp(load={"rate": "200"}, connections=5), "server_port": 54}, code=EXIT["unreachable"])
    conns = found["connections"]
    assert found["lost"] == found["sent"] > 0 and found["answered"] == 0, found
    assert conns["refused"] == conns["opened"] > 0 and conns["established"] == 0, conns
    assert conns["lost_closed"] == found["lost"], conns


@test
def two_workers_share_the_connections():
    found, result = all_answered(tcp(load={"rate": "4k"}, connections=11, queries_per_connection=50),
                                 tester={"cpus": [1, 1]}, dut={"cpus": [1, 1]})
    assert sum(worker["received"] > 0 for worker in result.json["workers"]) == 2, result.json["workers"]
    assert found["sent"] / 50 <= found["connections"]["opened"] <= found["sent"] / 50 + 11, found["connections"]


@test
def a_pool_is_opened_without_a_message():
    found, _ = all_answered(tcp(load={"rate": "20"}, connections=300, open="pool", open_rate="100k"))
    conns = found["connections"]
    assert conns["opened"] == conns["established"] == conns["handshake"]["count"] == 300, conns
    assert conns["first_answer"]["count"] == found["sent"] == 6, found
    nothing_of(conns, "closed", "reset", "left", "no_port")


@test
def each_connection_in_turn_is_replaced_at_a_rate():
    found, _ = all_answered(tcp(load={"rate": "2k"}, connections=10, open="rate", open_rate="500"), run={"duration": "400ms"})
    conns = found["connections"]
    # All of them at once on demand, and one each 2 ms in place of the oldest.
    assert 200 <= conns["opened"] <= 225, conns
    assert conns["established"] == conns["opened"] > 50, conns
    nothing_of(conns, "closed", "reset", "lost_closed", "left", "no_port")


@test
def keys_of_one_connection_do_not_limit_its_rate():
    """65 536 keys, which rest for three timeouts over UDP: beyond the end of the run."""
    one = {**tcp(load={"outstanding": "64", "total": "80k"}, connections=1), "timeout": "30s"}
    found, _ = run(one, run={"duration": "80s"})
    assert found["answered"] == found["sent"] == 80000 and found["lost"] == 0, found


@test
def a_server_that_tells_its_idle_timeout_is_left_in_time():
    ask = {"connections": 10, "keepalive": True}
    for told, opened in (("300ms", (10, 10)), ("0s", (30, 60))):
        found, _ = all_answered(tcp(load={"rate": "200"}, **ask), responder={"dns": {"keepalive": told}})
        assert found["dns"]["keepalive"] == found["answered"] == 60, found["dns"]
        # Queries that are late together share a connection.
        assert 10 <= found["connections"]["opened"] <= opened[1], found["connections"]
        assert found["connections"]["opened"] >= opened[0], found["connections"]
        nothing_of(found["connections"], "closed", "reset", "lost_closed")
    found, _ = all_answered(tcp(load={"rate": "10"}, **ask), responder={"dns": {"keepalive": "200ms"}}, run={"duration": "2s"})
    assert found["connections"]["opened"] == found["sent"] == 20, found["connections"]  # each is asked once a second
    found, _ = all_answered(tcp(load={"rate": "200"}, connections=10), responder={"dns": {"keepalive": "0s"}})
    assert found["dns"]["keepalive"] == 0 and found["connections"]["opened"] == 10, found


BAD = {  # whether answers come to such clients, and whether the responder closes their connections
    "syn_only": (False, False), "handshake_only": (False, False), "mute": (False, False), "part": (False, False),
    "no_ack": (False, False), "slow_reader": (True, False), "bytewise": (True, False), "reset": (True, False),
    "no_fin": (True, False), "no_last_ack": (True, True),
}


@test
def clients_that_do_their_worst_leave_the_load_alone():
    one = {**tcp(connections=10, behave={"hold": "200ms", **{name: "50%" for name in BAD}}), "timeout": "3s"}
    found, result = all_answered(one, run={"duration": "600ms"})
    conns = found["connections"]
    assert conns["opened"] == 10 and found["answered"] == 1200, found
    nothing_of(conns, "refused", "no_answer", "closed", "reset", "left", "retransmitted")
    bad = conns["behave"]
    assert bad["reset"] == {} and bad["no_memory"] == 0, bad
    for name, (answered, closed) in BAD.items():
        # Five at a time, each anew after 200 ms, for 600 ms.
        assert 14 <= bad["opened"][name] <= 16, bad
        assert abs(bad["established"][name] - bad["opened"][name]) <= 1, (name, bad)
        assert (bad["received_bytes"].get(name, 0) > 0) == answered, (name, bad)
        assert (bad["closed"].get(name, 0) > 0) == closed, (name, bad)
    # A window of 2 048 octets, 16 of which are read in 100 ms.
    assert bad["received_bytes"]["slow_reader"] <= 2100 * bad["established"]["slow_reader"], bad
    assert found["dns"]["request_bytes"] < 40 * found["sent"], found["dns"]  # theirs are not among them


main()
