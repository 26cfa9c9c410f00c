#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Messages over TLS: versions, ciphers, groups, resumption and what each handshake counts; refusals by either end;
# servers that finish no handshake, which is never the tester's fault. Over rings, against the embedded responder.

import base64
import hashlib
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
    assert found["unsent"] == found["connections"]["pipeline_unsent"], found
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
    load = {"outstanding": "40"}
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
    one = dot(tcp={"connections": 50}, load={"outstanding": "50"}, handshakes=1)
    tls, _ = all_answered(one)
    assert tls["waited"] >= 40 and tls["full"] == tls["begun"] == 50, tls


if __name__ == "__main__":
    main()
