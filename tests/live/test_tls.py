#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# DNS over TLS at real servers: all queries are answered, and the server has counted as many of them, of handshakes and of
# resumed ones. Certificates, versions, pipelines, zone transfers, servers that close and that lose their ticket keys.
# The responder, judged by other clients. The time of handshakes, as the wire at the server's end shows it.

import base64
import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import tempfile
import time
from pathlib import Path

from harness import EXIT, check_ledger, execute, kill, main, nightly, start, test, timing, tshark, until
from live import DRIVERS, RELEASE, SERVER, Running, addresses, config, item, lab, lab_again, responding, since

CLIENT = str(Path(__file__).resolve().parent / "tls_client.py")
# queries: the server's counter by family. full, resumed: its counters of handshakes. dot: it selects the protocol (ALPN) from
# that release of Debian on.
# versions: those it speaks. resumes: versions whose tickets it takes. ticket: a resumed handshake of TLS 1.3 brings a new one.
SERVERS = {
    "unbound": {"queries": {4: "num.query.tls", 6: "num.query.tls"}, "resumed": "num.query.tls.resume", "dot": 13},
    "bind": {"queries": {4: "nsstats.ReqTCP", 6: "nsstats.ReqTCP"}},
    "nsd": {"queries": {4: "num.tls", 6: "num.tls6"}, "dot": 13},
    "dnsdist": {"queries": {version: f"dnsdist_frontend_tlsqueries[tls{version.replace('.', '')}]" for version in ("1.2", "1.3")},
                "full": "dnsdist_frontend_tlsnewsessions", "resumed": "dnsdist_frontend_tlsresumptions", "ticket": False},
    "kresd": {"queries": {4: "request.dot", 6: "request.dot"}, "resumes": ("1.3",)},
    "knot-tls": {"queries": {family: f"mod-stats.request-protocol[tls{family}]" for family in (4, 6)}, "versions": ("1.3",)},
}
if RELEASE < 13:
    del SERVERS["knot-tls"]
VERSIONS = ("1.3", "1.2")
LEAVING = [name for name in ("nsd", "knot-tls") if name in SERVERS]  # those that leave messages of a record
# A pool that lives, connections of some messages, and one for each.
SHAPES = {
    "a_pool": {"connections": 8},
    "some_each": {"connections": 8, "queries_per_connection": 16},
    "one_each": {"connections": 8, "queries_per_connection": 1},
}
ENDS = ("refused", "no_answer", "reset", "lost_closed", "no_memory", "no_port", "left", "challenged")
FAULTS = ("failed", "timed_out", "bad_record", "no_memory", "key_updates")


def folder(here):
    return Path(f"/run/{here.prefix}-lab")


def dot(family=4, rate="500", dns=None, keys=None, tcp=None, **tls):
    """An item over TLS."""
    what = {"names": ["h{0-999}.example.com A"], "transport": "tls", "tcp": tcp or {"connections": 8}, "tls": tls, **(dns or {})}
    return item(server=SERVER[family], dns=what, **{"timeout": "2s", "load": {"rate": rate}, **(keys or {})})


def run(one, *, here, driver="af_packet", code=0, **sections):
    """The item of the result, its ledger right; the growth of the server's counters; the result."""
    with here.counted() as growth:
        result = here.ddiperf(config(driver, one, **sections))
    assert result.code == code, result
    found = result.item("queries")
    check_ledger(found)
    assert found["unsent"] == 0, result
    return found, growth, result


def all_answered(found, growth, server, family=4, version="1.3"):
    queries = SERVERS[server]["queries"]
    conns = found["connections"]
    tls, where = conns["tls"], (found, {name: n for name, n in growth.items() if n})
    assert found["answered"] == found["sent"] == found["due"] > 0, where
    assert found["stray"] == found["malformed"] == found["duplicate"] == found["late"] == 0, where
    assert growth[queries.get(version, queries.get(family))] == found["sent"], where
    assert conns["opened"] == conns["established"] == conns["first_answer"]["count"], where
    assert all(conns[name] == 0 for name in ENDS) and all(tls[name] == 0 for name in FAULTS), where
    assert tls["begun"] == conns["opened"] == tls["full"] + tls["resumed"] and tls["version"] == {version: tls["begun"]}, where
    assert tls["no_alpn"] == (0 if RELEASE >= SERVERS[server].get("dot", 12) else tls["begun"]), where
    # Those of OpenSSL 3.5 prefer X25519MLKEM768, and need not ask for what GnuTLS of Debian 12 has not.
    assert tls["group"] == {"x25519": tls["begun"]} and tls["hello_retry"] == 0, where
    for name in ("full", "resumed"):
        assert growth.get(SERVERS[server].get(name), tls[name]) == tls[name], where
    return tls


# --- all queries are answered ---


def add(server, driver, family, shape, version):
    def asks():
        here = lab(server)
        rate = "200" if shape == "one_each" else "500"
        one = dot(family, rate, tcp=SHAPES[shape], versions=version, verify="chain", name="dns.example", ca=str(folder(here) / "crt.pem"))
        found, growth, _ = run(one, here=here, driver=driver)
        tls = all_answered(found, growth, server, family, version)
        each, opened = SHAPES[shape].get("queries_per_connection"), found["connections"]["opened"]
        assert tls["full"] == opened and tls["certificate_bytes"] > 300 * opened, found
        assert found["sent"] / each <= opened <= found["sent"] / each + 8 if each else opened == 8, found

    asks.__name__ = f"over_tls_{server}_answers_all_on_{shape}_to_ipv{family}_through_{driver}_with_{version}"
    (test if driver == "af_packet" and (family == 4 or "versions" in SERVERS[server]) == (version == "1.3") or shape == "some_each" and version == "1.3" else nightly)(asks)


for name in SERVERS:
    for driver in DRIVERS:
        for family in (4, 6):
            for shape in SHAPES:
                for version in SERVERS[name].get("versions", VERSIONS):
                    add(name, driver, family, shape, version)


@test
def over_tls_unbound_answers_all_on_sockets_of_the_kernel():
    here = lab("unbound")
    with addresses(here, "198.18.0.1/24"):
        one = dot(tcp=SHAPES["some_each"])
        with here.counted() as growth:
            result = here.ddiperf(config("socket", one, port={"addresses": ["198.18.0.1/24"]}))
        assert result.code == 0, result
        all_answered(result.item("queries"), growth, "unbound")


BAD = ("syn_only", "handshake_only", "mute", "tls_hello_only", "tls_hello_part", "tls_handshake_only", "tls_junk")


def add_bad(server):
    def are_beside_the_load():
        tcp = {"connections": 8, "behave": {"hold": "250ms", **{name: "25%" for name in BAD}}}
        found, _, _ = run(dot(tcp=tcp), here=lab(server), run={"duration": "2s"})
        conns = found["connections"]
        assert found["answered"] == found["sent"] > 0 and all(conns[name] == 0 for name in ENDS), found
        bad = conns["behave"]
        for name in BAD:
            assert bad["opened"][name] >= 3 and bad["established"][name] >= 2, (name, bad)
        assert set(bad["shaken"]) == {"tls_handshake_only"} and bad["received_bytes"]["tls_hello_only"] > 0, bad
        # dnsdist closes some connections of the load, between two queries.
        assert conns["tls"]["begun"] == conns["opened"] == 8 + conns["closed"], conns

    are_beside_the_load.__name__ = f"over_tls_{server}_answers_the_load_beside_clients_that_misbehave"
    (test if server == "unbound" else nightly)(are_beside_the_load)


for name in SERVERS:
    add_bad(name)


# --- tickets ---


def add_resumption(server, version, resume):
    def resumes():
        tcp = SHAPES["one_each"]
        found, growth, _ = run(dot(rate="200", tcp=tcp, versions=version, resume=resume), here=lab(server))
        tls, about = all_answered(found, growth, server, version=version), SERVERS[server]
        if version not in about.get("resumes", VERSIONS):
            assert tls["resumed"] == 0 and (tls["resumption_refused"] >= 90) == (resume != "none"), tls
            return
        assert tls["resumption_refused"] == 0, tls
        # A ticket is used once, so where none comes with a resumed handshake every second one is full.
        half = resume == "each" and version == "1.3" and not about.get("ticket", True)
        full = {"none": tls["begun"], "last": 1, "each": tls["begun"] / 2 if half else 8}[resume]
        assert full <= tls["full"] <= full + (4 if half else 0 if resume == "none" else 7), tls

    resumes.__name__ = f"tickets_{server}_resumes_{resume}_with_{version}"
    (test if resume == "each" or (server, version) == ("unbound", "1.3") else nightly)(resumes)


for name in SERVERS:
    for version in SERVERS[name].get("versions", VERSIONS):
        for resume in ("none", "last", "each"):
            add_resumption(name, version, resume)


@contextlib.contextmanager
def own_server(name, change=lambda text: text):
    """The lab's server, started by the test with another configuration; yields a function that kills it and starts it anew."""
    here = lab(name)
    state = json.loads((folder(here) / "state.json").read_text())
    path = folder(here) / "server.conf"
    path.write_text(change(path.read_text()))
    argv = {"unbound": ["unbound", "-d", "-c"], "bind": ["named", "-g", "-n", "1", "-c"], "nsd": ["nsd", "-d", "-c"],
            "dnsdist": ["dnsdist", "--supervised", "--disable-syslog", "-C"]}[name]
    processes = []

    def again(pause_s=0.0):
        if processes:
            kill(processes[-1])
            processes.pop().communicate()
        time.sleep(pause_s)
        processes.append(start(here.other(*argv, str(path))))
        until(lambda: execute(here.dut("ss", "-Hlnt4", "sport = :853"))[1], f"{name} listens")

    try:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(state["session"], signal.SIGKILL)
        until(lambda: not execute(here.dut("ss", "-Hlnt", "sport = :853"))[1], f"{name} has ended")
        again()
        yield here, again
    finally:
        for process in processes:
            kill(process)
            process.communicate()
        lab_again(name)


def add_restart(server, version):
    def is_killed():
        """Queries of half a second are lost, and the tickets of before are refused once."""
        with own_server(server) as (here, again):
            one = dot(rate="200", tcp=SHAPES["one_each"], resume="each", versions=version)
            with Running(config("af_packet", one, run={"duration": "3s"})) as running:
                again(0.3)
        result = running.result
        assert result.code == 0, result
        found = result.item("queries")
        check_ledger(found)
        tls, conns = found["connections"]["tls"], found["connections"]
        assert found["unsent"] == 0 and found["answered"] + found["lost"] == found["sent"], found
        timing(found["answered"] > 200 and conns["refused"] > 5, found)
        # The ticket of a handshake that the server did not live to end is gone.
        assert 4 - tls["failed"] <= tls["resumption_refused"] <= 8 and tls["resumed"] > 0 == tls["bad_record"], tls
        timing(tls["resumed"] > 100, tls)
        assert found["lost"] == conns["lost_closed"] and conns["refused"] <= found["lost"], conns

    is_killed.__name__ = f"tickets_{server}_is_killed_and_its_new_keys_refuse_them_with_{version}"
    test(is_killed)


for name, version in (("unbound", "1.3"), ("nsd", "1.2"), ("bind", "1.3")):
    add_restart(name, version)


@test
def tickets_unbound_is_killed_and_each_connection_of_a_pool_is_opened_anew():
    with own_server("unbound") as (here, again):
        with Running(config("af_packet", dot(rate="400", resume="last"), run={"duration": "2s"})) as running:
            again(0.2)
    result = running.result
    found = result.item("queries")
    check_ledger(found)
    tls, conns = found["connections"]["tls"], found["connections"]
    assert result.code == 0 and found["unsent"] == 0, result
    assert conns["reset"] + conns["closed"] >= 8 and tls["no_close_notify"] >= conns["closed"], conns
    assert tls["begun"] == 16 and tls["resumption_refused"] >= 1 and tls["failed"] == 0, tls


@test
def unbound_closes_connections_at_rest():
    change = lambda text: text.replace("server:\n", "server:\n    tcp-idle-timeout: 300\n", 1)  # noqa: E731
    with own_server("unbound", change) as (here, _):
        one = dot(rate="10", tcp={"connections": 8, "closed": "again"}, resume="each")
        result = here.ddiperf(config("af_packet", one, run={"duration": "3s"}))
    assert result.code == 0, result
    found = result.item("queries")
    check_ledger(found)
    conns = found["connections"]
    tls = conns["tls"]
    assert found["answered"] == found["sent"] == 30, result
    assert conns["opened"] == 30 and 20 <= conns["closed"] <= 30 and conns["reset"] == conns["lost_closed"] == 0, conns
    assert tls["full"] == 8 and tls["resumed"] == 22 and tls["no_close_notify"] == 0, tls


# --- certificates ---


def pin(here):
    def openssl(data, *words):
        code, out, err = execute(["openssl", *words], stdin=data)
        assert code == 0, err
        return out

    with tempfile.NamedTemporaryFile() as der, open(folder(here) / "crt.pem") as pem:
        openssl(pem, "x509", "-pubkey", "-noout", "-out", der.name)
        openssl(der, "pkey", "-pubin", "-in", der.name, "-outform", "der", "-out", der.name + ".der")
        data = Path(der.name + ".der").read_bytes()
        os.unlink(der.name + ".der")
    return base64.b64encode(hashlib.sha256(data).digest()).decode()


@test
def certificates_are_taken_by_their_key_and_refused_by_name_authority_and_key():
    here = lab("nsd")
    ca = str(folder(here) / "crt.pem")
    found, growth, _ = run(dot(verify="pin", pins=[pin(here)]), here=here)
    all_answered(found, growth, "nsd")
    for settings, reason in (({"verify": "chain", "name": "other.example", "ca": ca}, "wrong_name"),
                             ({"verify": "chain", "name": "dns.example"}, "untrusted"),
                             ({"verify": "pin", "pins": [base64.b64encode(bytes(32)).decode()]}, "wrong_pin")):
        found, growth, result = run(dot(**settings), here=here, code=EXIT["unreachable"])
        tls = found["connections"]["tls"]
        assert tls["refused"] == {reason: tls["failed"]} and tls["failed"] == tls["begun"] > 0, tls
        assert found["lost"] == found["sent"] > 0 and growth["num.tls"] == 0, found
        assert f"refused the certificate: {reason}" in result.stdout, result


# --- many queries on a connection ---


def add_pipeline(server, records):
    def answers():
        one = dot(tcp={"connections": 2}, records=records, keys={"load": {"outstanding": 40, "total": "400"}})
        found, growth, _ = run(one, here=lab(server), run={"duration": "3s"})
        tls = all_answered(found, growth, server)
        assert tls["begun"] == 2 and (tls["records_sent"] < 400 if records == "burst" else tls["records_sent"] == 402), tls

    answers.__name__ = f"pipeline_{server}_answers_twenty_on_a_connection_in_records_of_a_{records}"
    test(answers)


for name in SERVERS:
    for records in ("message", *(["burst"] if name not in LEAVING else [])):
        add_pipeline(name, records)


def add_left(server):
    """They take one message of a record, and wait for the socket, not for what their library has read (SSL_pending)."""
    def leaves_messages():
        for records in ("message", "burst"):
            check_left(server, records)

    leaves_messages.__name__ = f"pipeline_{server}_leaves_messages_of_a_record_until_something_else_comes"
    test(leaves_messages)


def check_left(server, records):
    load = {"burst": {"size": 10, "every": "10ms"}, "total": "300"}
    found, growth, result = run(dot(tcp={"connections": 1}, records=records, keys={"load": load}), here=lab(server))
    half = found["latency"]["response"]["p50_ns"]
    assert growth[SERVERS[server]["queries"][4]] == found["sent"] == 300 == found["answered"] + found["lost"], result
    if records == "message":
        assert found["lost"] == 0, result
        timing(half < 5e6, half)
    elif found["lost"]:
        # The last ones come with the tester's close_notify.
        assert found["lost"] == found["late"] < 10, result


for name in LEAVING:
    add_left(name)


# --- zone transfers (RFC 9103) ---


def add_transfers(server, counter, records):
    def bring_the_zone():
        one = dot(rate="10", tcp={"connections": 2}, verify="chain", name="dns.example", ca=str(folder(lab(server)) / "crt.pem"), versions="1.3")
        one["dns"]["transfers"] = ["example.com"]
        del one["dns"]["names"]
        found, growth, _ = run(one, here=lab(server))
        dns, tls = found["dns"], found["connections"]["tls"]
        assert found["answered"] == found["sent"] == dns["transfers"] == growth[counter] > 0, found
        assert dns["transfer_records"] == found["sent"] * records and dns["transfers_broken"] == 0, dns
        assert tls["full"] == tls["begun"] == 2 and tls["records_received"] >= dns["transfer_messages"], tls

    bring_the_zone.__name__ = f"transfers_over_tls_bring_the_whole_zone_of_{server}"
    test(bring_the_zone)


add_transfers("bind", "nsstats.XfrReqDone", 12 + 3 * 1000)
if "knot-tls" in SERVERS:
    add_transfers("knot-tls", "mod-stats.server-operation[axfr]", 12 + 3 * 1000)


# --- the responder, and other clients ---


def responder(driver="af_packet", tls=None, **dns):
    return responding(driver, dns=dns, tls=tls or {})


def tool(*argv):
    code, out, err = execute(lab("none").other(*argv), timeout=30)
    assert code == 0, (argv, out, err)
    return out + err


@test
def judge_kdig_has_its_answers_and_knows_the_pin():
    with tempfile.TemporaryDirectory() as name:
        here, files = lab("unbound"), {}
        for file in ("crt", "key"):
            shutil.copy(folder(here) / f"{file}.pem", name)
            files[file] = f"{name}/{file}.pem"
        key = pin(here)
        with responder(tls={"certificate": files["crt"], "key": files["key"]}, text="x" * 4000) as seen:
            for address in ("198.18.0.1", "2001:db8::1"):
                out = tool("kdig", f"@{address}", "+tls", f"+tls-pin={key}", "h1.example.com", "A")
                assert "TLS session (TLS1.3)-(ECDHE-" in out and "status: NOERROR" in out, out
            out = tool("kdig", "@198.18.0.1", f"+tls-ca={files['crt']}", "+tls-hostname=dns.example", "h1.example.com", "TXT")
            assert "xxxx" in out and "status: NOERROR" in out, out
    conns = seen["connections"]
    assert seen["received"] == seen["answered"] == 3 and conns["tls_full"] == 3 and conns["tls_failed"] == 0, seen


@test
def judge_openssl_and_gnutls_shake_hands_and_resume():
    with responder() as seen, tempfile.NamedTemporaryFile() as kept:
        full, resumed, key_of = 0, 0, "Server" if RELEASE < 13 else "Peer"
        for version in ("1_3", "1_2"):
            # In TLS 1.3 the tickets come after the handshake: it waits for them.
            base = ("-connect", "198.18.0.1:853", f"-tls{version}", "-alpn", "dot")
            for words, again in ((("-sess_out", kept.name), False), (("-sess_in", kept.name), True)):
                out = tool("sh", "-c", f"sleep 0.3 | openssl s_client {' '.join((*base, *words))} 2>&1")
                assert "ALPN protocol: dot" in out and ("Reused, " in out) == again, out
                full, resumed = full + (not again), resumed + again
        for group in ("X25519", "P-256"):
            # One that leaves at once may be gone before its last message is read: a handshake that failed.
            out = tool("sh", "-c", f"sleep 0.3 | openssl s_client -connect 198.18.0.1:853 -groups {group} 2>&1")
            assert f"{key_of} Temp Key: {'X25519' if group == 'X25519' else 'ECDH, prime256v1'}" in out, out
            full += 1
        lab("none").other("gnutls-cli")
        for version in ("1.3", "1.2"):
            priority = f"NORMAL:-VERS-ALL:+VERS-TLS{version}"
            out = tool("sh", "-c", f"gnutls-cli --insecure -r --waitresumption -p 853 --alpn=dot --priority {priority} 198.18.0.1 </dev/null 2>&1")
            assert "*** This is a resumed session" in out and f"(TLS{version}" in out, out
            full, resumed = full + 1, resumed + 1
    conns = seen["connections"]
    assert (conns["tls_full"], conns["tls_resumed"], conns["tls_failed"]) == (full, resumed, 0), conns


@since(13)
def judge_a_client_that_offers_keys_of_ml_kem_has_those_of_x25519():
    """Its ClientHello is longer than a segment. The group that it offers first is not the responder's, or it has sent no key for X25519."""
    with responder() as seen:
        for groups, count in (("", 1), ("-groups *X25519MLKEM768/*X25519", 1), ("-groups *X25519MLKEM768:X25519", 2), ("-groups X25519MLKEM768:X25519", 2)):
            out = tool("sh", "-c", f"sleep 0.3 | openssl s_client -connect 198.18.0.1:853 -tls1_3 -msg -alpn dot {groups} 2>&1")
            hellos = [int(length, 16) for length in re.findall(r">>> TLS 1.3, Handshake \[length ([0-9a-f]+)\], ClientHello", out)]
            assert "Peer Temp Key: X25519," in out and "ALPN protocol: dot" in out, out
            assert hellos[0] > 1300 and len(hellos) == count, (groups, hellos)
        _, said, _ = execute(lab("none").other("sh", "-c", "openssl s_client -connect 198.18.0.1:853 -groups X25519MLKEM768 </dev/null 2>&1"))
        assert "alert handshake failure" in said, said
    conns = seen["connections"]
    assert (conns["tls_full"], conns["tls_failed"]) == (4, 1), conns


@test
def judge_a_client_that_wants_what_the_responder_has_not_is_told_so():
    with responder(tls={"versions": "1.3", "groups": "x25519"}) as seen:
        for words, alert in (("-tls1_2", "handshake failure"), ("-groups P-256", "handshake failure"), ("-alpn http/1.1", "no application protocol")):
            out = lab("none").other("sh", "-c", f"openssl s_client -connect 198.18.0.1:853 {words} </dev/null 2>&1")
            _, said, _ = execute(out)
            assert f"alert {alert}" in said, (words, said)
    assert seen["connections"]["tls_failed"] == 3 and seen["connections"]["tls_full"] == 0, seen


# Its end, and what the responder has counted: answered, full, failed.
CLIENTS = {
    "garbage": ("closed", 0, 0, 1), "random": ("done", 0, 0, 200), "half_hello": ("closed", 0, 0, 1), "hello_rst": ("done", 0, 0, 100),
    "flip": ("closed", 0, 1, 0), "bytes": ("50", 1, 1, 0), "flood": ("1000000", 20000, 1, 0),
}


def add_client(kind):
    def misbehaves():
        with responder() as seen:
            out = tool("python3", CLIENT, kind, "198.18.0.1").strip()
            assert "NOERROR" in tool("kdig", "@198.18.0.1", "+tls", "h1.example.com", "A")  # it serves others
        conns = seen["connections"]
        assert (out, seen["answered"] - 1, conns["tls_full"] - 1, conns["tls_failed"]) == CLIENTS[kind], (out, seen)

    misbehaves.__name__ = f"client_{kind}_is_counted_by_the_responder"
    test(misbehaves)


for kind in CLIENTS:
    add_client(kind)


def add_dnsperf(driver):
    def judges():
        records = "".join(f"h{i}.example.com A\n" for i in range(500))
        with responder(driver) as seen, tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(records)
            file.flush()
            for address, each in (("198.18.0.1", 100000), ("2001:db8::1", 10), ("198.18.0.1", 1)):
                out = tool("dnsperf", "-m", "dot", "-s", address, "-d", file.name, "-n", "1", "-c", "5", "-Q", "500",
                           "-O", f"num-queries-per-conn={each}")
                assert "Queries completed:    500 (100.00%)" in out, out
        conns = seen["connections"]
        # dnsperf 2.14 ends with connections that have just begun.
        assert seen["received"] == seen["answered"] == 1500 and conns["tls_failed"] <= (15 if RELEASE >= 13 else 0), seen
        assert 5 + 50 + 500 <= conns["tls_full"] + conns["tls_resumed"] <= 5 + 55 + 505, conns

    judges.__name__ = f"judge_dnsperf_has_all_answers_of_the_responder_through_{driver}"
    (test if driver == "af_packet" else nightly)(judges)


for driver in DRIVERS:
    add_dnsperf(driver)


# --- the time of handshakes ---


def median(values):
    return sorted(values)[len(values) // 2]


@test
def wire_shows_handshakes_as_long_as_they_are_counted():
    """From the segment that accepts the connection to the one with the client's Finished, seen at the server's end."""
    here, count = lab("unbound"), 100
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "wire.pcapng"
        process = start(here.dut("dumpcap", "-q", "-i", "veth1", "-f", "tcp port 853", "-w", str(path)))
        try:
            until(lambda: process.poll() is not None or (path.exists() and path.stat().st_size > 0), "dumpcap")
            found, _, result = run(dot(rate="100", tcp=SHAPES["one_each"], versions="1.3"), here=here, run={"duration": "1s"})
            time.sleep(0.5)
        finally:
            kill(process, signal.SIGINT)
            process.communicate()
        rows = tshark(path, ["tcp.stream", "frame.time_epoch", "ip.src", "tcp.len", "tcp.flags.syn"])
    streams = {}
    for row in rows:
        streams.setdefault(row["tcp.stream"], []).append(row)
    times = []
    for packets in streams.values():
        accepted = next(float(row["frame.time_epoch"]) for row in packets if row["ip.src"] == SERVER[4] and row["tcp.flags.syn"] == "1")
        sent = [float(row["frame.time_epoch"]) for row in packets if row["ip.src"] != SERVER[4] and int(row["tcp.len"]) > 0]
        times.append(1e6 * (sent[1] - accepted))  # ClientHello, then Finished
    ours = found["connections"]["tls"]["full_time"]
    assert len(times) == ours["count"] == count, (len(times), ours, str(result))
    wire, counted = median(times), ours["p50_ns"] / 1e3
    own = found["connections"]["tls"]["own"]["p50_ns"] / 1e3
    print(f"# handshakes: {wire:.0f} us on the wire, {counted:.0f} us counted, of which {own:.0f} us are ours (p50)", flush=True)
    timing(abs(wire - counted) <= 20 + counted / 128, (wire, counted))


main()
