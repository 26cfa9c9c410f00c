#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Messages over HTTP/2: both methods, tables of headers, windows and limits of streams at either end, and what each fault of the
# server counts. Over rings, against the embedded responder.

import tempfile
from pathlib import Path

from harness import check_ledger, ddiperf, main, test
from loop import item, ring

NAMES = ["h{0-99}.example.com A"]
METHODS = ("post", "get")


def doh(load=None, tcp=None, dns=None, tls=None, timeout="3s", **https):
    """An item over HTTPS."""
    return item(load=load, timeout=timeout, dns={"names": NAMES, "transport": "https", "tcp": tcp or {"connections": 4}, "https": https,
                                                 "tls": tls or {}, **(dns or {})})


def run(one, world=None, https=None, responder=None, code=0, **sections):
    """The item of the result, its counters of HTTP/2 that are not 0, and the result; the ledger is right, and nothing is the tester's fault."""
    result = ddiperf(ring(one, responder={"dns": {}, "https": https or {}, **(responder or {})}, **sections), world=world)
    assert result.code == code, result
    found = result.item("queries")
    check_ledger(found)
    conns = found["connections"]
    assert found["unsent"] == conns["left"] == conns["no_memory"] == 0, found
    assert found["stray"] == found["malformed"] == found["duplicate"] == 0, found
    return found, {name: n for name, n in conns["http"].items() if n and "header_bytes" not in name}, result


def all_answered(one, cells=None, late=0, **more):
    """All are answered, and nothing is counted but the cells."""
    found, http, result = run(one, **more)
    assert found["answered"] == found["sent"] == found["due"] > 0 and found["late"] == late, found
    assert http == {"status": {"200": found["sent"]}, **(cells or {})}, http
    tls = found["connections"]["tls"]
    assert tls["failed"] == tls["bad_record"] == tls["no_alpn"] == tls["no_memory"] == 0, tls
    return found, result


def header_bytes(found):
    """Octets of the headers of a request and of an answer."""
    http = found["connections"]["http"]
    return http["header_bytes"] / found["sent"], http["header_bytes_received"] / found["sent"]


@test
def a_pool_asks_by_either_method():
    for method in METHODS:
        found, result = all_answered(doh(method=method))
        conns, served = found["connections"], result.json["responder"]
        assert conns["opened"] == conns["tls"]["full"] == 4 and found["sent"] == 600, conns
        assert served["answered"] == served["received"] == 600, served
        sent, received = header_bytes(found)
        # What repeats is an index: a length beside it, or a path of 60 octets.
        assert sent < (13 if method == "post" else 75) and received < 9, (sent, received)


@test
def no_table_of_headers_is_used_where_one_end_has_none():
    for n, (ours, theirs) in enumerate(((0, 4096), (4096, 0), (0, 0), (0, 0), (100, 100), (31, 4000))):
        found, _ = all_answered(doh(method=METHODS[n % 2], header_table=ours, headers=["x-note: some text"]), https={"header_table": theirs})
        sent, received = header_bytes(found)
        assert (sent > 80) == (theirs < 200), (ours, theirs, sent)
        assert (received > 25) == (ours < 67), (ours, theirs, received)


@test
def requests_before_the_settings_may_use_the_usual_table():
    """Of a responder that has none: it learns of the client's knowledge by the announced size."""
    for method in METHODS:
        one = doh(load={"outstanding": 20, "total": "200"}, tcp={"connections": 1}, method=method)
        all_answered(one, https={"header_table": 0})


@test
def the_responder_counts_requests_against_its_limit_of_streams():
    """Streams that a client opens before it knows the limit are refused, and asked again."""
    for streams in (1, 3, 100):
        one = doh(load={"outstanding": 60, "total": "600"}, tcp={"connections": 2})
        found, http, _ = run(one, https={"streams": streams}, responder={"faults": {"delay": {"constant": "1ms"}}})
        refused, limited = (2 * (30 - streams), 600 - 2 * streams) if streams < 30 else (0, 0)
        assert found["answered"] == found["sent"] == 600 and found["connections"]["asked_again"] == refused, found["connections"]
        assert http.pop("rst_stream", {}).get("refused_stream", 0) == refused and http.pop("streams_limited", 0) == limited, http
        assert http == {"status": {"200": 600}}, http


@test
def a_connection_takes_so_many_messages():
    for method in METHODS:
        one = {"load": {"rate": "1k"}, "method": method}
        found, _ = all_answered(doh(tcp={"connections": 4, "queries_per_connection": 10}, **one))
        conns = found["connections"]
        assert conns["opened"] == 32 and conns["closed"] == conns["reset"] == 0, conns
        found, _ = all_answered(doh(**one), {"goaway": {"no_error": 60}}, responder={"tcp": {"queries_per_connection": 5}})
        assert found["connections"]["opened"] == 60, found["connections"]


@test
def late_answers_count_in_the_part_of_their_messages():
    """Each answer is 10 ms late, and crosses the cancellation of its stream."""
    one = doh(load={"rate": "100"}, timeout="150ms")
    found, http, _ = run(one, code=4, world="delay=50ms", responder={"faults": {"delay": {"constant": "60ms"}}}, run={"warmup": "1s", "duration": "300ms"})
    assert http["cancelled"] > 40 and 25 <= found["late"] <= found["lost"] == found["sent"] == 30, (found, http)


@test
def connections_resume():
    for resume, full in (("each", 4), ("last", 4), ("none", 60)):
        found, _ = all_answered(doh(tcp={"connections": 4, "queries_per_connection": 10}, tls={"resume": resume}))
        tls = found["connections"]["tls"]
        assert tls["full"] <= full and tls["full"] + tls["resumed"] == tls["begun"] == 60, tls


@test
def secrets_are_logged_and_records_take_a_burst():
    load = {"outstanding": 40, "total": 2000}
    with tempfile.TemporaryDirectory() as name:
        keys = Path(name) / "keys"
        each, _ = all_answered(doh(load=load, tcp={"connections": 2}), output={"keylog": str(keys)})
        assert len({line.split()[1] for line in keys.read_text().splitlines()}) == 2, keys.read_text()
    burst, _ = all_answered(doh(load=load, tcp={"connections": 2}, tls={"records": "burst"}))
    per = [one["connections"]["tls"]["records_sent"] / one["sent"] for one in (each, burst)]
    assert per[1] < per[0] / 4, per


@test
def long_answers_pass_a_small_window():
    """The client gives back what it has read, before the window of a connection is used."""
    one = {"dns": {"names": ["h{0-9}.example.com TXT"]}, "window": "65535B", "load": {"rate": "500"}}
    found, _ = all_answered(doh(**one, tcp={"connections": 1}), responder={"dns": {"text": "x" * 4000}})
    assert found["dns"]["reply_bytes"] > 4000 * found["sent"] > 65535 * 5, found["dns"]


@test
def the_last_answers_of_a_connection_wait_for_the_window():
    """The responder ends a connection when the client has all of its answers."""
    for method in METHODS:
        one = doh(load={"outstanding": 40, "total": 400}, tcp={"connections": 1}, window="65535B", method=method, dns={"names": ["h{0-9}.example.com TXT"]})
        for limit in ({"tcp": {"queries_per_connection": 40}}, {"tcp": {"queries_per_connection": 40}, "faults": {"delay": {"constant": "1ms"}}}):
            found, http, _ = run(one, world="delay=1ms", responder={"dns": {"text": "x" * 4000}, **limit}, run={"duration": "3s"})
            # Requests behind the last one are asked again: the end that is announced says so.
            assert found["answered"] == found["sent"] == 400 and found["connections"]["asked_again"] == http.pop("goaway_refused"), found
            assert http == {"goaway": {"no_error": 9}, "status": {"200": 400}} and found["connections"]["opened"] == 10, http


# --- faults of the server ---


@test
def a_fault_of_http_is_in_its_cell():
    for method in METHODS:
        found, http, _ = run(doh(method=method), https={"refused": "10%", "status": 429})
        n = http["status"]["429"]
        assert 30 < n == found["failed"] == 600 - found["answered"] and http == {"status": {"429": n, "200": 600 - n}}, (found, http)
        found, http, _ = run(doh(method=method), https={"untyped": "10%"})
        n = http["wrong_type"]
        assert 30 < n == found["failed"] == 600 - found["answered"] and http == {"wrong_type": n, "status": {"200": 600}}, (found, http)
        for closed in ("lost", "again"):
            found, http, _ = run(doh(tcp={"connections": 4, "closed": closed}, method=method), https={"reset": "10%"})
            n, conns = http["rst_stream"]["internal_error"], found["connections"]
            assert http == {"rst_stream": {"internal_error": n}, "status": {"200": found["answered"]}} and n > 30, http
            assert (found["lost"], conns["lost_closed"], conns["asked_again"]) == ((n, n, 0) if closed == "lost" else (0, 0, n)), conns
            assert conns["opened"] == 4, conns


@test
def all_requests_may_have_a_fault():
    for fault, cells in (("refused", {"status": {"503": 600}}), ("untyped", {"wrong_type": 600, "status": {"200": 600}}),
                         ("reset", {"rst_stream": {"internal_error": 600}})):
        result = ddiperf(ring(doh(), responder={"dns": {}, "https": {fault: "100%"}}))
        found = result.item("queries")
        http = {name: n for name, n in found["connections"]["http"].items() if n and "header_bytes" not in name}
        assert found["answered"] == 0 and found["failed"] + found["lost"] == 600 and http == cells, (found, http)


@test
def an_announced_end_loses_nothing():
    for load in ({"rate": "2k"}, {"outstanding": 50, "total": 1000}):
        for method in METHODS:
            found, http, result = run(doh(load=load, method=method), https={"goaway": 10}, run={"duration": "200ms"})
            conns, refused = found["connections"], http.pop("goaway_refused", 0)
            ends = http.pop("goaway")["no_error"]
            # Each connection has ten answers, but the last ones of the four seats. What the end of the run leaves unheard is lost.
            assert found["answered"] == found["sent"] - conns["lost_closed"] and conns["asked_again"] + conns["lost_closed"] == refused, conns
            assert found["answered"] // 10 - 4 <= ends <= found["answered"] // 10 and conns["opened"] - ends <= 8, (conns, ends)
            assert http == {"status": {"200": found["answered"]}}, http
            assert (refused > 0) == ("outstanding" in load) and conns["lost_closed"] <= 50, conns
            assert result.json["responder"]["answered"] == found["answered"], result.json["responder"]


# --- answers that come too late, or not at all ---


@test
def messages_without_an_answer_are_cancelled():
    """The responder holds answers for longer than the timeout, and drops them as their streams are gone."""
    faults = {"delay": {"two_point": {"first": "0s", "second": "200ms", "share_of_second": "10%"}}}
    for method in METHODS:
        found, http, _ = run(doh(timeout="100ms", method=method), responder={"faults": faults})
        n = found["lost"]
        assert 30 < n == http["cancelled"] and found["late"] == 0, found
        assert http == {"cancelled": n, "status": {"200": 600 - n}} and found["connections"]["opened"] == 4, http


@test
def an_answer_that_crosses_its_cancellation_is_late():
    """The answer is on its way when the message times out."""
    faults = {"delay": {"two_point": {"first": "0s", "second": "65ms", "share_of_second": "10%"}}}
    for method in METHODS:
        found, http, _ = run(doh(timeout="100ms", method=method), world="delay=20ms", responder={"faults": faults})
        # The first ones wait for the handshakes, and are cancelled before the responder would answer them.
        assert 30 < found["lost"] - 16 <= found["late"] < found["lost"] == http["cancelled"], (found, http)
        assert http == {"cancelled": found["lost"], "status": {"200": found["answered"]}}, http


@test
def lost_and_delayed_segments_cost_no_message():
    for n, fault in enumerate(("loss", "duplicate", "reorder", "corrupt_checksum")):
        one = doh(tcp={"connections": 4, "queries_per_connection": 20}, load={"rate": "100"}, method=METHODS[n % 2])
        faults = {fault: {"share": "5%"}, "delay": {"uniform": {"max": "30ms"}}}
        all_answered(one, responder={"faults": faults}, run={"duration": "2s"})
    all_answered(doh(load={"rate": "200"}), world="delay=5ms loss=0.02 seed=3", run={"duration": "1s"})


# --- beside other items ---


@test
def two_workers_ask():
    one = doh(load={"outstanding": 40, "total": "1000"}, tcp={"connections": 8})
    found, result = all_answered(one, tester={"cpus": [1, 1]}, run={"duration": "3s"})
    assert found["connections"]["opened"] == 8 and result.json["responder"]["answered"] == 1000, found


@test
def ports_of_tcp_tls_and_https_are_beside_each_other():
    plain = item(name="udp", dns={"names": NAMES})
    tcp = item(name="tcp", dns={"names": NAMES, "transport": "tcp", "tcp": {"connections": 4, "queries_per_connection": 7}})
    dot = item(name="tls", dns={"names": NAMES, "transport": "tls", "tcp": {"connections": 4, "queries_per_connection": 7}})
    post, get = ({**doh(method=method, tcp={"connections": 4, "queries_per_connection": 7}), "name": method} for method in METHODS)
    for delay in ({}, {"faults": {"delay": {"uniform": {"max": "20ms"}}}}):
        result = ddiperf(ring(plain, tcp, dot, post, get, responder={"dns": {}, "tls": {}, "https": {}, **delay}))
        assert result.code == 0, result
        for name in ("udp", "tcp", "tls", "post", "get"):
            found = result.item(name)
            check_ledger(found)
            assert found["answered"] == found["sent"] == 600 and found["stray"] == found["malformed"] == 0, (name, found)
        assert result.json["responder"]["answered"] == 3000, result.json["responder"]


@test
def a_path_with_other_parameters_is_answered():
    for path in ("/q{?dns}", "/q?x=1{&dns}", "/{?message}"):
        for method in METHODS:
            all_answered(doh(method=method, path=path), https={"path": path})
    found, http, _ = run(doh(path="/other{?dns}", method="get"))
    assert found["failed"] == 600 and http == {"status": {"404": 600}}, http


if __name__ == "__main__":
    main()
