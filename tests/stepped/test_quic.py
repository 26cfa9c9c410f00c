#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Messages over QUIC (RFC 9250): handshakes and what each counts, resumption, early data, limits of streams, losses; and
# what a server can do to connections and streams, each in its cell. Over rings, against the embedded responder.

from harness import EXIT, check_ledger, ddiperf, main, test
from loop import item, ring

NAMES = ["h{0-99}.example.com A"]


def doq(load=None, tls=None, dns=None, timeout="3s", **quic):
    """An item over QUIC."""
    return item(load=load, timeout=timeout, dns={"names": NAMES, "transport": "quic", "quic": {"connections": 4, **quic}, "tls": tls or {},
                                                 **(dns or {})})


def run(one, code=0, world=None, quic=None, responder=None, stray=0, **sections):
    """The item of the result, its counters of QUIC that are not 0 and none of datagrams, and the result; nothing is the tester's fault."""
    result = ddiperf(ring(one, responder={"dns": {}, "quic": quic or {}, **(responder or {})}, **sections), world=world)
    assert result.code == code, result
    found = result.item("queries")
    check_ledger(found)
    conns = found["connections"]
    assert found["unsent"] == conns["no_memory"] == conns["quic"]["no_memory"] == 0, found
    assert found["malformed"] == found["duplicate"] == 0 and found["stray"] == stray, found
    return found, {name: n for name, n in conns["quic"].items() if n and name in CELLS}, result


CELLS = ["retried", "upgraded", "wrong_id", "wrong_stream", "unheard", "version", "ended", "closed_with", "reset", "early_sent", "early_again"]


def all_answered(one, cells=None, version="1", **more):
    """All are answered, and nothing is counted but the cells."""
    found, quic, result = run(one, **more)
    conns, tls = found["connections"], found["connections"]["tls"]
    assert found["answered"] == found["sent"] == found["due"] > 0 and found["late"] == 0, found
    assert quic == {"version": {version: conns["established"]}, **(cells or {})}, quic
    assert tls["failed"] == tls["no_memory"] == 0 and tls["full"] + tls["resumed"] == tls["begun"] == conns["opened"], tls
    return found, result


@test
def a_pool_has_all_answers():
    for family in (4, 6):
        one = doq()
        more = {}
        if family == 6:
            one["server"] = "2001:db8::2"
            more = {"tester": {"addresses": ["2001:db8::1/64"]}, "dut": {"addresses": ["2001:db8::2/64"]}}
        found, result = all_answered(one, **more)
        conns, served = found["connections"], result.json["responder"]
        assert conns["opened"] == conns["established"] == conns["tls"]["full"] == 4 and found["sent"] == 600, conns
        assert conns["closed"] == conns["reset"] == conns["refused"] == conns["no_answer"] == conns["left"] == 0, conns
        assert served["answered"] == served["received"] == 600 and served["connections"]["tls_full"] == 4, served
        assert conns["tls"]["version"] == {"1.3": 4} and conns["tls"]["group"] == {"x25519": 4}, conns
        assert conns["quic"]["streams"] == 600 and conns["quic"]["strays"] == conns["quic"]["garbage"] == 0, conns


@test
def a_handshake_takes_one_round_trip_and_its_first_answer_another():
    found, _ = all_answered(doq(load={"rate": "100"}), world="delay=10ms", run={"duration": "1s"})
    conns = found["connections"]
    assert 20e6 <= conns["tls"]["full_time"]["min_ns"] <= conns["tls"]["full_time"]["max_ns"] < 23e6, conns["tls"]
    assert 40e6 <= conns["first_answer"]["min_ns"] <= conns["first_answer"]["max_ns"] < 45e6, conns["first_answer"]
    assert found["latency"]["response"]["min_ns"] < 23e6 and found["latency"]["response"]["max_ns"] < 45e6, found["latency"]


@test
def a_connection_takes_so_many_messages():
    found, _ = all_answered(doq(load={"rate": "1k"}, queries_per_connection=10))
    assert found["connections"]["opened"] == 32 and found["connections"]["closed"] == 0, found["connections"]


@test
def connections_are_closed_as_fast_as_others_begin():
    found, _ = all_answered(doq(load={"outstanding": 20, "total": 2000}, connections=20, queries_per_connection=1), world="delay=5ms", run={"duration": "20s"})
    assert found["connections"]["opened"] == 2000 and found["connections"]["no_port"] == 0 and found["sending_s"] < 3, found


@test
def connections_resume():
    for resume, full in (("each", 4), ("last", 4), ("none", 60)):
        found, result = all_answered(doq(queries_per_connection=10, tls={"resume": resume}))
        tls, served = found["connections"]["tls"], result.json["responder"]["connections"]
        assert tls["full"] <= full and tls["full"] + tls["resumed"] == 60, (resume, tls)
        assert (served["tls_full"], served["tls_resumed"]) == (tls["full"], tls["resumed"]), served
        assert (tls["tickets"] >= tls["resumed"]) == (resume != "none") or resume == "none", tls


@test
def messages_leave_as_early_data():
    one = doq(load={"rate": "200"}, queries_per_connection=10, tls={"resume": "each", "early": True})
    found, quic, result = run(one, world="delay=10ms", run={"duration": "1s"}, responder={"tls": {"early": True}})
    tls = found["connections"]["tls"]
    assert found["answered"] == found["sent"] == 200, found
    assert tls["early_offered"] == tls["early_accepted"] == tls["resumed"] > 10 and tls["early_refused"] == 0, tls
    assert quic["early_sent"] >= tls["resumed"] and "early_again" not in quic, quic
    assert found["connections"]["first_answer"]["min_ns"] < 25e6, found["connections"]["first_answer"]


@test
def a_client_that_leaves_with_its_answer_has_finished_the_handshake():
    """The answer to early data comes with the server's part of the handshake."""
    one = doq(load={"rate": "200"}, queries_per_connection=1, tls={"resume": "each", "early": True})
    found, _, result = run(one, run={"duration": "1s"}, responder={"tls": {"early": True}})
    tls, served = found["connections"]["tls"], result.json["responder"]["connections"]
    assert found["answered"] == found["sent"] == 200 and tls["early_accepted"] == tls["resumed"] > 100, found
    assert (served["tls_full"], served["tls_resumed"], served["tls_failed"]) == (tls["full"], tls["resumed"], 0), served


@test
def early_data_that_is_refused_is_sent_again():
    one = doq(load={"rate": "200"}, queries_per_connection=10, tls={"resume": "each", "early": True})
    found, quic, _ = run(one, run={"duration": "1s"}, quic={"early_refused": "50%"}, responder={"tls": {"early": True}})
    tls = found["connections"]["tls"]
    assert found["answered"] == found["sent"] == 200 and found["lost"] == 0, found
    assert tls["early_refused"] > 0 < tls["early_accepted"] and tls["early_refused"] + tls["early_accepted"] == tls["early_offered"], tls
    assert 0 < quic["early_again"] < quic["early_sent"], quic


@test
def version_2_is_spoken():
    all_answered(doq(versions=["2"]), version="2")
    all_answered(doq(versions=["1", "2"]))


@test
def a_retry_costs_a_round_trip():
    found, _ = all_answered(doq(), {"retried": 4}, quic={"retry": "100%"}, world="delay=1ms")
    assert found["connections"]["tls"]["full_time"]["min_ns"] >= 4e6, found["connections"]["tls"]


@test
def messages_wait_for_the_servers_limit_of_streams():
    for streams in (1, 3, 100):
        found, _ = all_answered(doq(load={"outstanding": 60, "total": 600}, connections=2), quic={"streams": streams},
                                responder={"faults": {"delay": {"constant": "1ms"}}}, run={"duration": "2s"})
        assert (found["connections"]["quic"]["held"] > 100) == (streams < 30), found["connections"]["quic"]


@test
def a_pipeline_is_kept():
    found, _ = all_answered(doq(load={"outstanding": 60, "total": 600}, connections=2, pipeline=5), responder={"faults": {"delay": {"constant": "1ms"}}},
                            run={"duration": "2s"})
    assert found["connections"]["pipeline_full"] > 400 and "held" not in found["connections"], found["connections"]


@test
def lost_and_changed_datagrams_cost_time_alone():
    found, _ = all_answered(doq(load={"rate": "500"}, timeout="20s"), world="delay=1ms loss=0.05 corrupt=0.02 duplicate=0.02 reorder=0.05 seed=3", run={"duration": "2s"})
    assert found["latency"]["response"]["max_ns"] > 10e6, found["latency"]


@test
def long_answers_pass_a_small_window():
    found, _ = all_answered(doq(load={"rate": "500"}, connections=1, window="65537B", dns={"names": ["h{0-9}.example.com TXT"]}),
                            responder={"dns": {"text": "x" * 4000}})
    assert found["dns"]["reply_bytes"] > 4000 * found["sent"] > 65537 * 5, found["dns"]


@test
def a_server_that_never_answers_a_handshake_is_unreachable():
    for timeout in ("500ms", "3s"):
        one = doq(timeout="1s", tls={"handshake_timeout": timeout})
        found, quic, result = run(one, code=EXIT["unreachable"], quic={"drop_initial": "100%"})
        assert found["sent"] == found["lost"] == found["due"] == 600 and found["answered"] == 0, found
        assert result.json["verdict"]["status"] == "unreachable" and "invalid_by" not in result.json["verdict"], result


@test
def a_server_of_other_versions_is_refused():
    found, quic, result = run(doq(), code=EXIT["unreachable"], quic={"version_negotiation": "100%"})
    assert sum(quic["ended"].values()) == found["connections"]["refused"] == found["sent"], (quic, found)
    assert found["connections"]["tls"]["failed"] == found["connections"]["refused"] > 0, found["connections"]


@test
def a_stream_that_is_reset_loses_its_message():
    found, quic, _ = run(doq(), quic={"reset": "10%", "reset_error": 4})
    assert found["lost"] == found["connections"]["lost_closed"] == quic["reset"]["excessive_load"] > 20, (found, quic)
    assert found["answered"] == found["sent"] - found["lost"] and found["connections"]["opened"] == 4, found


@test
def a_connection_that_the_server_closes_is_opened_anew():
    found, quic, _ = run(doq(load={"rate": "500"}, closed="again"), quic={"close_after": 10, "close_error": 3})
    conns = found["connections"]
    assert found["answered"] == found["sent"] == 150 and conns["closed"] == quic["closed_with"]["request_cancelled"] >= 12, (conns, quic)
    assert conns["opened"] == conns["established"], conns


@test
def a_server_that_forgets_its_connections_sends_stateless_resets():
    found, quic, _ = run(doq(load={"rate": "500"}, closed="again"), quic={"forget_after": 10}, run={"duration": "1s"})
    conns = found["connections"]
    assert conns["reset"] > 5 and conns["reset"] == sum(quic["ended"].values()), (conns, quic)
    assert found["answered"] + found["lost"] == found["sent"] and found["answered"] > 300, found


@test
def a_server_without_credit_answers_nothing():
    found, quic, _ = run(doq(timeout="500ms"), code=EXIT["unreachable"], quic={"no_credit": True})
    assert found["lost"] == found["sent"] == 600 and found["connections"]["established"] == 4, found


@test
def settings_without_a_meaning_over_quic_are_refused():
    for keys, text in (({"proxy": {"clients": "192.0.2.0/24"}}, "proxy.clients: is not for transport: quic"),
                       ({"tcp": {"connections": 3}}, "tcp: is for transport: tcp, tls and https"),
                       ({"tls": {"versions": ["1.2"]}}, "versions: QUIC needs 1.3"),
                       ({"tls": {"records": "burst"}}, "records: is not for transport: quic")):
        result = ddiperf(ring(doq(dns=keys), responder={"dns": {}, "quic": {}}))
        assert result.code == 2 and text in result.stderr, result


@test
def a_late_answer_is_late():
    found, quic, _ = run(doq(load={"rate": "100"}, timeout="50ms", cancel=False), responder={"faults": {"delay": {"two_point": {"first": "0s", "second": "200ms", "share_of_second": "10%"}}}},
                         run={"duration": "1s"})
    assert 3 < found["late"] <= found["lost"] == found["sent"] - found["answered"], found


@test
def a_message_with_an_id_has_failed():
    found, quic, _ = run(doq(load={"rate": "100"}), responder={"faults": {"wrong_id": {"every": 10}}}, stray=3)
    assert found["failed"] == quic["wrong_id"] == found["sent"] // 10 > 0, (found, quic)


if __name__ == "__main__":
    main()
