#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Messages over TLS: versions, ciphers, groups, resumption and what each handshake counts; refusals by either end;
# servers that finish no handshake, which is never the tester's fault. Over rings, against the embedded responder.

import base64
import hashlib
import re
import subprocess
import tempfile
from pathlib import Path

from harness import EXIT, binary, check_ledger, config_file, ddiperf, execute, main, test
from loop import item, ring

NAMES = ["h{0-99}.example.com A"]


def dot(load=None, tcp=None, dns=None, **tls):
    """An item over TLS."""
    return item(load=load, timeout="3s", dns={"names": NAMES, "transport": "tls", "tcp": tcp or {}, "tls": tls, **(dns or {})})


def run(one, code=0, world=None, tls=None, responder=None, **sections):
    """The item of the result and the responder's connections; the ledger is right, and nothing is the tester's fault."""
    result = ddiperf(ring(one, responder={"dns": {}, "tls": tls or {}, **(responder or {})}, **sections), world=world)
    assert result.code == code, result
    found = result.item("queries")
    check_ledger(found)
    assert found["unsent"] == 0, found
    return found, result


def all_answered(one, **sections):
    found, result = run(one, **sections)
    assert found["answered"] == found["sent"] == found["due"] > 0, found
    assert found["stray"] == found["malformed"] == found["duplicate"] == found["late"] == 0, found
    tls = found["connections"]["tls"]
    assert tls["failed"] == tls["bad_record"] == tls["no_alpn"] == tls["no_memory"] == 0, tls
    return tls, result


def theirs(result, name):
    return result.json["responder"]["connections"][f"tls_{name}"]


def certificate(folder, kind="P-256", name="dns.example"):
    """Files of a certificate and its key, and the pin of the key."""
    crt, key = folder / "crt.pem", folder / "key.pem"
    new = ["ec", "-pkeyopt", f"ec_paramgen_curve:{kind}"] if kind.startswith("P-") else [kind]
    subprocess.run(["openssl", "req", "-x509", "-newkey", *new, "-nodes", "-days", "30", "-subj", f"/CN={name}", "-addext",
                    f"subjectAltName=DNS:{name}", "-keyout", key, "-out", crt], check=True, capture_output=True)
    der = subprocess.run(["openssl", "x509", "-in", crt, "-pubkey", "-noout"], check=True, capture_output=True).stdout
    der = subprocess.run(["openssl", "pkey", "-pubin", "-outform", "der"], input=der, check=True, capture_output=True).stdout
    return {"certificate": str(crt), "key": str(key)}, base64.b64encode(hashlib.sha256(der).digest()).decode()


@test
def a_pool_shakes_hands_once():
    tls, result = all_answered(dot(tcp={"connections": 10}))
    assert tls["begun"] == tls["full"] == theirs(result, "full") == 10 and tls["resumed"] == 0, tls
    assert tls["records_sent"] >= 600 and tls["certificate_bytes"] > 10 * 200, tls
    assert tls["version"] == {"1.3": 10} and tls["group"] == {"x25519": 10}, tls
    assert tls["full_time"]["count"] == tls["own"]["count"] == 10, tls
    served = result.json["responder"]
    assert served["answered"] == served["received"] == 600, served


@test
def each_version_cipher_and_group_is_used():
    for version in ("1.3", "1.2"):
        for cipher in ("aes-128-gcm", "aes-256-gcm", "chacha20-poly1305"):
            tls, _ = all_answered(dot(tcp={"connections": 3}, versions=version, ciphers=cipher))
            assert tls["version"] == {version: 3} and tls["cipher"] == {cipher: 3}, tls
    for group in ("x25519", "secp256r1", "secp384r1", "secp521r1", "x448"):
        tls, _ = all_answered(dot(tcp={"connections": 2}, groups=group), tls={"groups": group})
        assert tls["group"] == {group: 2}, tls


@test
def connections_resume_as_asked():
    """The first connection of all, or of each seat, is full; the responder counts the same."""
    for version in ("1.3", "1.2"):
        for resume, full in (("none", 60), ("last", 1), ("each", 4)):
            one = dot(tcp={"connections": 4, "queries_per_connection": 10}, resume=resume, versions=version)
            tls, result = all_answered(one)
            # Connections of "last" that open before the first ticket has come are full, too.
            assert full <= tls["full"] <= max(full, 4) or tls["full"] == full, (resume, tls)
            assert tls["full"] + tls["resumed"] == tls["begun"] == 60, (resume, tls)
            assert (tls["full"], tls["resumed"]) == (theirs(result, "full"), theirs(result, "resumed")), tls
            assert tls["resumption_refused"] == 0 and abs(tls["resumed_share"] - tls["resumed"] / 60) < 1e-9, tls
            assert tls["resumed_time"]["count"] == tls["resumed"], tls
    tls, _ = all_answered(dot(tcp={"connections": 4, "queries_per_connection": 10}, resume="each"), tls={"tickets": False})
    assert tls["full"] == 60 and tls["tickets"] == tls["resumed"] == 0, tls


@test
def records_take_one_message_or_all():
    load = {"outstanding": "40", "total": "2000"}
    each, _ = all_answered(dot(load=load, tcp={"connections": 1}))
    burst, _ = all_answered(dot(load=load, tcp={"connections": 1}, records="burst"))
    assert burst["records_sent"] < each["records_sent"] / 4, (burst, each)
    _, result = all_answered(dot(load=load, tcp={"connections": 2}, dns={"edns": {"padding": 128}}))
    assert result.item("queries")["dns"]["request_bytes"] % 128 == 0, result


@test
def a_certificate_is_verified():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files, pin = certificate(folder)
        good = {"verify": "chain", "ca": files["certificate"], "name": "dns.example"}
        wrong = base64.b64encode(bytes(32)).decode()
        for settings in (good, {"verify": "pin", "pins": [wrong, pin]}, {"name": "other"}):
            all_answered(dot(tcp={"connections": 2}, **settings), tls=files)
        for settings, reason in (({**good, "name": "other.example"}, "wrong_name"), ({"verify": "pin", "pins": wrong}, "wrong_pin"),
                                 ({"verify": "chain", "name": "dns.example"}, "untrusted")):
            found, result = run(dot(tcp={"connections": 2}, **settings), code=EXIT["unreachable"], tls=files)
            tls = found["connections"]["tls"]
            assert tls["refused"] == {reason: tls["failed"]} and tls["failed"] == tls["begun"] == found["sent"] > 0, tls
            assert f"refused the certificate: {reason}" in result.stdout, result
        rsa, _ = certificate(folder, kind="rsa:2048")
        all_answered(dot(tcp={"connections": 2}), tls=rsa)


@test
def a_server_that_refuses_is_named():
    for ours, them, alert in ((dict(versions="1.3"), {"versions": "1.2"}, "handshake_failure"),
                              (dict(alpn="other"), {}, "no_application_protocol"),
                              (dict(ciphers="aes-128-gcm", versions="1.3"), {"ciphers": "aes-256-gcm"}, "handshake_failure")):
        found, result = run(dot(tcp={"connections": 2}, **ours), code=EXIT["unreachable"], tls=them)
        tls, conns = found["connections"]["tls"], found["connections"]
        assert tls["alert_received"] == {alert: tls["failed"]} and tls["failed"] == found["lost"] > 0, tls
        assert conns["lost_closed"] == found["lost"] and theirs(result, "failed") == tls["failed"], conns
        assert f"the alert {alert}" in result.stdout, result


@test
def no_handshake_is_the_servers_doing():
    """A server without TLS, silent, or closed: with every pipeline, nothing is unsent."""
    for pipeline in (1, "any"):
        tcp = {"connections": 5, "pipeline": pipeline}
        for responder, port in (({}, 53), ({"tcp": {"accept": "drop"}}, 853), ({"tcp": {"accept": "refuse"}}, 853)):
            one = {**dot(tcp=tcp, handshake_timeout="300ms"), "server_port": port}
            found, result = run(one, code=EXIT["unreachable"], responder=responder)
            assert found["lost"] == found["sent"] > 0, found
            assert pipeline == 1 or found["unsent"] == 0, found
            tls = found["connections"]["tls"]
            assert tls["timed_out"] == tls["failed"] == (tls["begun"] if port == 53 else 0), tls
            assert (tls["begun"] > 0) == (port == 53), tls


@test
def the_end_of_a_connection_is_announced():
    tls, result = all_answered(dot(tcp={"connections": 4}), responder={"tcp": {"queries_per_connection": 5}})
    conns = result.item("queries")["connections"]
    assert conns["closed"] == conns["opened"] == 120 and tls["no_close_notify"] == 0, conns
    silent, _ = all_answered(dot(tcp={"connections": 4, "queries_per_connection": 5}, close_notify=False))
    loud, _ = all_answered(dot(tcp={"connections": 4, "queries_per_connection": 5}))
    assert loud["records_sent"] == silent["records_sent"] + 120, (loud, silent)


@test
def secrets_are_logged_for_a_dissector():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for version, labels in (("1.3", 5), ("1.2", 1)):
            keys, wire = folder / f"keys-{version}", folder / f"wire-{version}.pcapng"
            one = dot(tcp={"connections": 3}, load={"rate": "50"}, versions=version)
            capture = {"file": str(wire), "when": ["answered"]}
            all_answered(one, output={"keylog": str(keys), "capture": capture})
            assert keys.stat().st_mode & 0o777 == 0o600, keys.stat()
            lines = keys.read_text().splitlines()
            assert len({line.split()[0] for line in lines}) == labels and len({line.split()[1] for line in lines}) == 3, lines
        keys = folder / "none" / "keys"
        result = ddiperf(ring(dot(), responder={"dns": {}, "tls": {}}, output={"keylog": str(keys)}))
        assert result.code == EXIT["environment"] and f"output.keylog: {keys}: No such file" in result.stderr, result
        assert "memory" not in result.stderr, result
        keys = folder / "dry"
        with config_file(ring(dot(), responder={"dns": {}, "tls": {}}, output={"keylog": str(keys)})) as path:
            code, _, err = execute([binary(), "run", str(path), "--dry-run", str(folder / "out.pcap")])
        assert code == 0 and not keys.exists(), err
    result = ddiperf(ring(item(), output={"keylog": "/dev/null"}))
    assert result.code == EXIT["usage"] and "no item has transport: tls" in result.stderr, result


@test
def a_port_without_tls_is_beside_it():
    """Connections of either kind take the memory of ended ones of either kind."""
    tcp = {"connections": 4, "queries_per_connection": 5}
    plain = item(name="plain", dns={"names": NAMES, "transport": "tcp", "tcp": tcp})
    for items in ((plain,), (plain, {**dot(tcp=tcp), "name": "dot"})):
        result = ddiperf(ring(*items, responder={"dns": {}, "tls": {}}))
        for one in items:
            found = result.item(one["name"])
            assert found["answered"] == found["due"] > 0 and found["connections"]["opened"] >= 100, found
        assert theirs(result, "failed") == 0 and theirs(result, "full") == 120 * (len(items) - 1), result


def spoiled(fault, every=10, **responder):
    """The item, its counters of TLS and the number of times that the responder made the fault."""
    found, result = run(dot(tcp={"connections": 4}), responder={"faults": {fault: {"every": every}}, **responder})
    made = result.json["responder"]["faults"][fault]
    assert made >= 40, result
    return found, found["connections"]["tls"], made


@test
def keys_change_with_each_cipher():
    """SHA-384 has longer secrets than a connection has room for."""
    for cipher in ("aes-128-gcm", "aes-256-gcm", "chacha20-poly1305"):
        found, tls, made = spoiled("key_update", every=3, tls={"ciphers": [cipher], "versions": ["1.3"]})
        assert found["answered"] == 600 and tls["key_updates"] == made >= 150 and [*tls["cipher"]] == [cipher], tls


@test
def faults_of_records_are_counted_as_such():
    plain, _ = all_answered(dot(tcp={"connections": 4}))
    for fault, cells in (("record_corrupt", {"bad_record": 1, "alert_sent": "bad_record_mac"}),
                         ("alert", {"alert_received": "internal_error"})):
        found, tls, made = spoiled(fault)
        assert found["lost"] == found["connections"]["lost_closed"] == made and found["answered"] == 600 - made, (found, made)
        for cell, value in cells.items():
            assert tls[cell] == (made if value == 1 else {value: made}), (cell, tls)
        assert tls["failed"] == 0 and tls["full"] >= made, tls
    found, tls, made = spoiled("record_split")
    assert found["answered"] == 600 and tls["records_received"] == plain["records_received"] + made, (tls, plain)
    found, tls, made = spoiled("key_update")
    assert found["answered"] == 600 and tls["key_updates"] == made, tls
    found, _ = run(dot(tcp={"connections": 4}), tls={"close_notify": False}, responder={"tcp": {"queries_per_connection": 5}})
    assert found["answered"] == 600 and found["connections"]["tls"]["no_close_notify"] == 120, found
    result = ddiperf(ring(item(), responder={"dns": {}, "faults": {"alert": {"every": 3}}}))
    assert result.code == EXIT["usage"] and "add responder.tls" in result.stderr, result


@test
def lost_segments_are_sent_again():
    for fault in ("loss", "duplicate", "reorder", "corrupt_checksum"):
        one = dot(tcp={"connections": 4, "queries_per_connection": 20}, load={"rate": "100"})
        all_answered(one, responder={"faults": {fault: {"share": "5%"}}}, run={"duration": "3s"})


@test
def waits_for_the_testers_own_part_are_its_fault():
    """One job a pass: the handshakes of 50 connections at once wait for each other, and their messages with them."""
    one = dot(tcp={"connections": 50, "queries_per_connection": 1}, load={"outstanding": "50", "total": 200})
    text = ring(one, responder={"dns": {}, "tls": {}}, validity={"send_lag_p99": "10us", "unsent": "1%"})
    result = ddiperf(text, invalid=True)
    found = result.item("queries")
    tls = found["connections"]["tls"]
    assert result.code == EXIT["invalid"] and result.json["verdict"]["invalid_by"] == "tester", result
    assert "for the tester, which computes the handshakes" in result.stdout, result
    assert 0.01 * found["sent"] < tls["delayed"] <= found["sent"] and tls["queued"]["p50_ns"] > 10e3, tls
    all_answered(one, validity={"send_lag_p99": "10ms", "unsent": "1%"})


@test
def handshakes_in_progress_are_limited():
    one = dot(tcp={"connections": 50}, load={"outstanding": "50", "total": "500"}, handshakes=1)
    tls, _ = all_answered(one)
    assert tls["waited"] >= 40 and tls["full"] == tls["begun"] == 50, tls


def unshaken(fault, share="100%", code=0, tcp=None, more=None, load=None, responder=None, server=None, **tls):
    """Handshakes with a fault: the item, the counters of TLS, how often the responder made the fault, and the result."""
    one = dot(load=load or {"rate": "400"}, tcp=tcp or {"connections": 4, "queries_per_connection": 1}, handshake_timeout="300ms", **tls)
    found, result = run(one, code=code, tls={"handshake": {fault: share, **(more or {})}, **(server or {})}, responder=responder)
    made = result.json["responder"]["handshake_faults"]
    assert set(made) == {fault}, made
    return found, found["connections"]["tls"], made[fault], result


BAD = ("failed", "timed_out", "refused", "alert_received", "alert_sent", "bad_record", "no_alpn", "hello_retry", "resumption_refused",
       "no_close_notify", "no_memory")


def cells(tls):
    return {name: tls[name] for name in BAD if tls[name]}


@test
def faults_of_handshakes_are_counted_as_such():
    for share, code in (("100%", EXIT["unreachable"]), ("20%", 0)):
        for fault, expected in (("silent", lambda n: {"failed": n, "timed_out": n}), ("reset", lambda n: {"failed": n}),
                                ("alert", lambda n: {"failed": n, "alert_received": {"handshake_failure": n}}),
                                ("wrong_alpn", lambda n: {"failed": n, "alert_received": {"no_application_protocol": n}})):
            found, tls, made, result = unshaken(fault, share, code)
            assert cells(tls) == expected(made) and tls["failed"] + tls["full"] == tls["begun"], (fault, tls)
            conns = found["connections"]
            assert conns["lost_closed"] == found["lost"] == made > 10 and conns["reset"] == (made if fault == "reset" else 0), conns
            assert theirs(result, "failed") == (made if fault == "wrong_alpn" else 0), result
    for fault, expected in (("slow", {}), ("no_alpn", "no_alpn"), ("hello_retry", "hello_retry")):
        for share in ("100%", "20%"):
            found, tls, made, _ = unshaken(fault, share, more={"slow_by": "50ms"})
            assert found["answered"] == found["sent"] and cells(tls) == (expected and {expected: made}), (fault, tls)
            assert made == (tls["begun"] if share == "100%" else made) > 10, (fault, tls)
            if fault == "slow":
                assert tls["full_time"]["max_ns"] > 50e6 and (share == "20%" or tls["full_time"]["min_ns"] > 50e6), tls
            if fault == "hello_retry":
                assert tls["group"].get("secp256r1", 0) == made, tls
    for size in ("200ms", "1s"):  # of an idle connection: a slow handshake is none, a silent one is
        found, tls, made, result = unshaken("slow", more={"slow_by": "250ms"}, responder={"tcp": {"idle": size}}, tcp={"connections": 4})
        assert found["answered"] == found["sent"] and theirs(result, "full") == tls["full"] >= 4 and cells(tls) == {}, tls
    found, tls, made, result = unshaken("silent", code=EXIT["unreachable"], responder={"tcp": {"idle": "100ms"}})
    assert cells(tls) == {"failed": made} and result.json["responder"]["connections"]["closed_idle"] == made, tls


@test
def tickets_are_missing_or_refused():
    tcp = {"connections": 4, "queries_per_connection": 1}
    _, tls, made, _ = unshaken("no_ticket", tcp=tcp, resume="each")
    assert cells(tls) == {} and tls["full"] == made == tls["begun"] and tls["tickets"] == 0, tls
    for version in ("1.3", "1.2"):
        _, tls, made, result = unshaken("ticket_refused", "30%", tcp=tcp, resume="each", versions=version)
        refused = tls["resumption_refused"]
        # In TLS 1.2 no new ticket comes with it, so the next handshake is refused, too.
        assert cells(tls) == {"resumption_refused": refused} and made - 4 <= refused <= (made if version == "1.3" else tls["full"]), (tls, made)
        assert tls["full"] == 4 + refused and theirs(result, "full") == tls["full"], tls
        assert theirs(result, "resumed") == tls["resumed"] > 0, tls
    for settings, message in (({"slow": "60%", "reset": "60%"}, "add up to more than 100%"), ({"silent": "101%"}, "0% to 100%")):
        result = ddiperf(ring(dot(), responder={"dns": {}, "tls": {"handshake": settings}}))
        assert result.code == EXIT["usage"] and message in result.stderr, result
    for server, fault, message in (({"groups": "x25519"}, "hello_retry", "a second group"), ({"tickets": False}, "ticket_refused", "tickets: true"),
                                   ({"alpn": "none"}, "wrong_alpn", "another alpn")):
        result = ddiperf(ring(dot(), responder={"dns": {}, "tls": {**server, "handshake": {fault: "1%"}}}))
        assert result.code == EXIT["usage"] and message in result.stderr, result


def early(server, tcp=None, load=None, dns=None, responder=None, duration="300ms", **tls):
    """Each connection resumes and has messages for it: the item, its cells of early data, all else is right."""
    tls = {"resume": "each", "early": True, **tls}
    one = dot(load=load, tcp=tcp or {"connections": 4, "queries_per_connection": 1}, dns=dns, **tls)
    found, result = run(one, tls=server, responder=responder, run={"duration": duration})
    assert found["answered"] == found["sent"] == found["due"] > 0 and found["unsent"] == found["lost"] == 0, found
    assert found["stray"] == found["malformed"] == found["duplicate"] == found["late"] == 0, found
    got = found["connections"]["tls"]
    assert got["early_offered"] == got["early_accepted"] + got["early_refused"], got
    assert theirs(result, "early") == got["early_accepted"] and theirs(result, "failed") == 0, result
    assert set(cells(got)) <= {"resumption_refused", "hello_retry"}, got
    return found, got, (got["early_accepted"], got["early_refused"])


@test
def messages_are_early_data_of_a_ticket_that_allows_it():
    """They are in no record after the handshake, and sent once; nothing is lost when they are refused."""
    https = {"transport": "https"}
    for resume, full in (("each", 4), ("last", 1)):
        for cipher in ("aes-128-gcm", "aes-256-gcm", "chacha20-poly1305"):
            _, tls, got = early({"early": True}, resume=resume, ciphers=cipher)
            assert tls["full"] == full and tls["resumed"] == 600 - full and got == (600 - full, 0), tls
            assert tls["records_sent"] == 600 + full, tls  # close_notify, and the queries of full handshakes
    _, tls, got = early({"early": True}, dns=https, responder={"https": {}})
    assert tls["resumed"] == 596 and got == (596, 0), tls
    for server, responder in (({}, {}), ({}, {"https": {}})):  # its tickets do not allow it
        _, tls, got = early(server, dns=https if responder else None, responder=responder)
        assert tls["resumed"] == 596 and got == (0, 0), tls
    _, tls, got = early({"early": True}, early=False)
    assert tls["resumed"] == 596 and got == (0, 0), tls
    _, tls, got = early({"versions": "1.2"})
    assert tls["resumed"] == 596 and got == (0, 0), tls
    for transport, responder in (("tls", {}), ("https", {"https": {}})):
        refuses = {"early": True, "handshake": {"ticket_refused": "30%"}}
        _, tls, got = early(refuses, dns={"transport": transport}, responder=responder)
        assert got == (tls["resumed"], tls["resumption_refused"]) and sum(got) == 596 and 140 < got[1] < 220, tls


@test
def no_early_data_after_a_handshake_with_another_group():
    """GnuTLS could not carry on if the server asked for it again."""
    _, tls, got = early({"early": True, "handshake": {"hello_retry": "100%"}})
    assert got == (0, 0) and tls["resumed"] == 596 and tls["hello_retry"] == 600, tls


@test
def early_data_are_whole_messages_up_to_a_limit():
    """Of 20 messages that wait for a connection, all but the longer ones fit in 4096 octets."""
    for size, fit in ((0, 20), (900, 4)):
        for records in ("message", "burst"):
            found, tls, got = early({"early": True}, load={"outstanding": "40"}, tcp={"connections": 2, "queries_per_connection": 40},
                                    dns={"edns": {"options": [{"code": 65001, "hex": "00" * size}]}}, records=records, duration="5ms")
            assert got == (tls["resumed"], 0) and tls["full"] == 2 and tls["resumed"] > 200, tls
            if records == "message":
                assert tls["records_sent"] == found["sent"] - fit * tls["resumed"] + tls["begun"], (size, tls)
    _, tls, got = early({"early": True}, dns={"proxy": {"local": True}}, responder={"dns": {"proxy": True}})
    assert got == (0, 0) and tls["resumed"] == 596, tls  # the header has a record of its own


@test
def early_data_are_for_messages_that_change_nothing():
    for dns, tls, message in (({}, {"resume": "none"}, "dns.tls.early: needs tickets (resume: each, or last)"),
                              ({}, {"versions": "1.2"}, "dns.tls.early: needs version 1.3"),
                              ({"opcode": "NOTIFY"}, {}, "dns.tls.early: is for messages that change nothing"),
                              ({"names": [], "update": ["example.com"]}, {}, None)):
        one = dot(dns=dns, **{"resume": "each", "early": True, **tls})
        result = ddiperf(ring(one, responder={"dns": {}, "tls": {}}))
        assert result.code == EXIT["usage"] and (not message or re.search(r":\d+:\d+: .*" + re.escape(message), result.stderr)), result
    for server, message in (({"tickets": False}, "tls.early: needs tickets: true"), ({"versions": "1.2"}, "tls.early: needs version 1.3")):
        result = ddiperf(ring(dot(), responder={"dns": {}, "tls": {"early": True, **server}}))
        assert result.code == EXIT["usage"] and message in result.stderr, result


@test
def certificates_with_a_defect_are_refused_as_such():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files, _ = certificate(folder)
        issuer = {"issuer": files["certificate"], "issuer_key": files["key"]}
        ours = {"verify": "chain", "ca": files["certificate"], "name": "dns.example"}
        for kind in ("ecdsa", "rsa"):
            for defect, reason in (("expired", "expired"), ("not_yet", "not_yet_valid"), ("wrong_name", "wrong_name"), ("none", None)):
                made = {"kind": kind, "name": "dns.example", "defect": defect, **issuer}
                one = dot(load={"rate": "10"}, tcp={"connections": 2}, **ours)
                found, result = run(one, code=EXIT["unreachable"] if reason else 0, tls={"made": made})
                tls = found["connections"]["tls"]
                assert cells(tls) == ({"failed": tls["begun"], "refused": {reason: tls["begun"]},
                                       "alert_sent": tls["alert_sent"]} if reason else {}), (defect, tls)
                assert tls["full"] == (0 if reason else 2), tls
        one = dot(load={"rate": "10"}, tcp={"connections": 2}, **ours)
        found, _ = run(one, code=EXIT["unreachable"], tls={"made": {"name": "dns.example"}})
        tls = found["connections"]["tls"]
        assert tls["refused"] == {"untrusted": tls["begun"]}, tls
        for version in ("1.3", "1.2"):
            for padding in (3000, 16384, 60000):
                tls, _ = all_answered(dot(tcp={"connections": 2}, versions=version, **ours),
                                      tls={"made": {"name": "dns.example", "padding": f"{padding}B", **issuer}})
                assert 2 * padding < tls["certificate_bytes"] < 2 * (padding + 1000), tls
        for tls, message in (({**files, "made": {}}, "without a file"), ({"made": {"issuer": files["key"]}}, "need each other"),
                             ({"made": {"issuer": files["key"], "issuer_key": files["key"]}}, "no certificate could be made")):
            result = ddiperf(ring(dot(), responder={"dns": {}, "tls": tls}))
            assert result.code == EXIT["usage"] and message in result.stderr, result


@test
def the_responders_order_of_groups_and_ciphers_counts():
    one = dot(tcp={"connections": 2}, groups=["x25519", "secp256r1"], ciphers=["aes-128-gcm", "aes-256-gcm"])
    found, result = run(one, tls={"groups": ["secp256r1", "x25519"], "ciphers": ["aes-256-gcm", "aes-128-gcm"]})
    tls = found["connections"]["tls"]
    assert tls["group"] == {"secp256r1": 2} and tls["cipher"] == {"aes-256-gcm": 2} and cells(tls) == {"hello_retry": 2}, tls
    for side in ("ours", "theirs"):
        groups = {"groups": ["x25519", "x25519mlkem768"]}
        text = ring(dot(**(groups if side == "ours" else {})), responder={"dns": {}, "tls": groups if side == "theirs" else {}})
        with config_file(text) as path:
            code, _, err = execute([binary(), "run", str(path)])
        if code:  # GnuTLS 3.8.8 or later may have it
            assert re.search(r":\d+:\d+: .*groups\[1\]: this GnuTLS \S+ does not offer group x25519mlkem768", err), err


# What a client of each kind does in 200 ms: whether it completes TLS, whether an answer comes, and whether the responder ends the connection.
BAD_CLIENTS = {"syn_only": (False, False, False), "handshake_only": (False, False, False), "mute": (False, False, False),
               "tls_hello_only": (False, True, False), "tls_hello_part": (False, False, False), "tls_handshake_only": (True, True, False),
               "tls_renegotiate": (True, True, True), "tls_junk": (False, True, True)}


@test
def clients_that_misbehave_leave_the_load_alone():
    for proxy, end in (({}, "closed"), ({"place": "inside"}, "reset"), ({"place": "outside"}, "closed")):
        tcp = {"connections": 10, "behave": {"hold": "200ms", **{name: "50%" for name in BAD_CLIENTS}}}
        tls, result = all_answered(dot(tcp=tcp, dns={"proxy": {"local": True, **proxy}} if proxy else {}),
                                   responder={"dns": {"proxy": bool(proxy)}}, run={"duration": "600ms"})
        assert tls["begun"] == tls["full"] == 10 and tls["full_time"]["count"] == 10, tls
        conns = result.item("queries")["connections"]
        bad = conns["behave"]
        assert conns["opened"] == 10 and conns["closed"] == conns["reset"] == bad["no_memory"] == 0, conns
        for name, (shaken, answered, ended) in BAD_CLIENTS.items():
            opened = bad["opened"][name]  # five at a time, each anew after 200 ms, for 600 ms
            assert 14 <= opened <= 16 and abs(bad["established"][name] - opened) <= 1, (name, bad)
            assert abs(bad["shaken"].get(name, 0) - opened * shaken) <= 1, (name, bad)
            assert (bad["received_bytes"].get(name, 0) > 0) == (answered and (name != "tls_junk" or end == "closed")), (name, bad)
            for how in ("closed", "reset"):  # some octets look like the start of a long record
                ends = ended and how == ("closed" if name == "tls_renegotiate" else end)
                assert opened * ends * (0.5 if how == "closed" else 1) - 1 <= bad[how].get(name, 0) <= opened * ends, (name, how, bad)
        assert abs(theirs(result, "full") - 10 - sum(bad["shaken"].values())) <= 2, result
        assert theirs(result, "failed") >= bad["closed"].get("tls_junk", 0), result
    for transport, name in (("tcp", "tls_junk"), ("tls", "part")):
        one = {"names": NAMES, "transport": transport, "tcp": {"connections": 10, "behave": {name: "10%"}}}
        result = ddiperf(ring(item(dns=one), responder={"dns": {}, "tls": {}}))
        assert result.code == EXIT["usage"] and f"behave.{name}: is for transport: {'tls and https' if transport == 'tcp' else 'tcp'}" in result.stderr, result


if __name__ == "__main__":
    main()
