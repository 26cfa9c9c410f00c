#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# DNS over QUIC (RFC 9250) at Knot 3.4: all queries are answered, and the server has counted as many of them. A server that
# dies, servers that speak something else, a wire that loses datagrams. The responder, judged by other clients.

import contextlib
import json
import os
import re
import signal
import tempfile
import time
from pathlib import Path

from harness import EXIT, binary, check_ledger, config_file, execute, kill, main, nightly, start, test, timing, tshark, until
from live import DRIVERS, RELEASE, SERVER, Running, addresses, check_wire, config, item, lab, lab_again, responding, since, wire

HERE = Path(__file__).resolve().parent
KNOT = "knot-tls"
COUNTER = {family: f"mod-stats.request-protocol[quic{family}]" for family in (4, 6)}
# Beyond about ten unfinished streams Knot 3.4 drops a connection without a word.
SHAPES = {
    "a_pool": {"connections": 8, "pipeline": 8},
    "some_each": {"connections": 8, "pipeline": 8, "queries_per_connection": 16},
    "one_each": {"connections": 8, "queries_per_connection": 1},
}
ENDS = ("refused", "no_answer", "closed", "reset", "lost_closed", "no_memory", "left")
WRONG = ("wrong_id", "wrong_stream", "ended", "closed_with", "unheard", "garbage", "moved", "no_memory")
FAR = {4: "198.18.0.3", 6: "2001:db8::3"}  # of a responder in the place of the server


def folder(here):
    return Path(f"/run/{here.prefix}-lab")


def doq(family=4, rate="500", server=SERVER, tls=None, dns=None, keys=None, **quic):
    """An item over QUIC."""
    what = {"names": ["h{0-999}.example.com A"], "transport": "quic", "quic": {**SHAPES["a_pool"], **quic}, "tls": tls or {}, **(dns or {})}
    return item(server=server[family], dns=what, **{"timeout": "2s", "load": {"rate": rate}, **(keys or {})})


def checked(result, code=0):
    """The item of a result whose ledger is right, and in which nothing is unsent."""
    assert result.code == code, result
    found = result.item("queries")
    check_ledger(found)
    assert found["unsent"] == 0 < found["sent"], result
    return found


def run(one, *, here, driver="af_packet", code=0, **sections):
    """The item of the result; the growth of the server's counters; the result."""
    with here.counted() as growth:
        result = here.ddiperf(config(driver, one, **sections))
    return checked(result, code), growth, result


def all_answered(found, where, version="1"):
    conns = found["connections"]
    tls, quic = conns["tls"], conns["quic"]
    assert found["answered"] == found["sent"] == found["due"] > 0, where
    assert found["stray"] == found["malformed"] == found["duplicate"] == found["late"] == 0, where
    assert conns["opened"] == conns["established"] == conns["first_answer"]["count"] == tls["begun"], where
    assert all(conns[name] == 0 for name in ENDS) and not any(quic.get(name) for name in WRONG) and tls["failed"] == 0, where
    assert tls["full"] + tls["resumed"] == tls["begun"] and tls["version"] == {"1.3": tls["begun"]}, where
    assert quic["version"] == {version: tls["begun"]} and quic["streams"] == found["sent"], where
    return tls


def by_knot(found, growth, family=4):
    where = (found, {name: n for name, n in growth.items() if n})
    assert growth[COUNTER[family]] == found["sent"], where
    return all_answered(found, where)


# --- all queries are answered ---


def add(driver, family, shape):
    def asks():
        here = lab(KNOT)
        tls = {"verify": "chain", "name": "dns.example", "ca": str(folder(here) / "crt.pem")}
        one = doq(family, "200" if shape == "one_each" else "500", tls=tls, **SHAPES[shape])
        found, growth, _ = run(one, here=here, driver=driver)
        tls = by_knot(found, growth, family)
        assert found["connections"]["no_port"] == 0, found
        each, opened = SHAPES[shape].get("queries_per_connection"), found["connections"]["opened"]
        assert tls["full"] == opened and tls["certificate_bytes"] > 300 * opened, found
        assert found["sent"] / each <= opened <= found["sent"] / each + 8 if each else opened == 8, found

    asks.__name__ = f"over_quic_knot_answers_all_on_{shape}_to_ipv{family}_through_{driver}"
    if RELEASE >= 13:
        (test if driver == "af_packet" or shape == "some_each" else nightly)(asks)


for driver in DRIVERS:
    for family in (4, 6):
        for shape in SHAPES:
            add(driver, family, shape)


def add_sockets(family):
    def answers():
        here, own = lab(KNOT), {4: "198.18.0.1/24", 6: "2001:db8::1/64"}[family]
        with addresses(here, own):
            found, growth, _ = run(doq(family, **SHAPES["some_each"]), here=here, driver="socket", port={"addresses": [own]})
        by_knot(found, growth, family)

    answers.__name__ = f"over_quic_knot_answers_all_on_sockets_of_the_kernel_to_ipv{family}"
    since(13)(answers)


for family in (4, 6):
    add_sockets(family)


def add_closed_loop(shape, outstanding):
    def answers():
        one = doq(**SHAPES[shape], keys={"load": {"outstanding": outstanding, "total": "2000"}})
        found, growth, _ = run(one, here=lab(KNOT), run={"duration": "10s"})
        by_knot(found, growth)
        assert found["sent"] == 2000, found

    answers.__name__ = f"closed_loop_knot_answers_{outstanding}_at_a_time_on_{shape}"
    since(13)(answers)


for shape, outstanding in (("a_pool", 64), ("a_pool", 1), ("some_each", 32), ("one_each", 8)):
    add_closed_loop(shape, outstanding)


@since(13)
def long_answers_of_knot_come_whole():
    found, growth, _ = run(doq(rate="100", dns={"names": ["huge.example.com TXT"]}), here=lab(KNOT))
    by_knot(found, growth)
    assert found["dns"]["reply_bytes"] > 60000 * found["sent"] and found["dns"]["rcode"] == {"NOERROR": found["sent"]}, found


# --- tickets ---


def add_resumption(resume, early):
    def resumes():
        one = doq(rate="200", tls={"resume": resume, "early": early}, **SHAPES["one_each"])
        found, growth, _ = run(one, here=lab(KNOT))
        tls = by_knot(found, growth)
        full = {"none": tls["begun"], "last": 1, "each": 8}[resume]
        assert full <= tls["full"] <= full + (0 if resume == "none" else 7) and tls["resumption_refused"] == 0, tls
        assert tls["early_offered"] == tls["early_accepted"] + tls["early_refused"] == (tls["resumed"] if early else 0), tls
        assert not early or tls["early_accepted"] > 0 or found["connections"]["quic"]["early_again"] == found["connections"]["quic"]["early_sent"], found

    resumes.__name__ = f"tickets_knot_resumes_{resume}{'_with_early_data' * early}"
    since(13)(resumes)


for resume in ("none", "last", "each"):
    for early in (False, True):
        if resume != "none" or not early:
            add_resumption(resume, early)


# --- a server that dies ---


@contextlib.contextmanager
def own_knot():
    """The lab's server, started by the test; yields a function that kills it and starts it anew after a pause."""
    here, processes = lab(KNOT), []
    session = json.loads((folder(here) / "state.json").read_text())["session"]

    def bound():
        return execute(here.dut("ss", "-Hlnu4", "sport = :853"))[1]

    def again(pause_s=0.0):
        if processes:
            kill(processes[-1])
            processes.pop().communicate()
        time.sleep(pause_s)
        (folder(here) / "knot.pid").unlink(missing_ok=True)  # of one that was killed
        processes.append(start(here.other("knotd", "-c", str(folder(here) / "server.conf"))))
        until(bound, "knotd listens")

    try:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(session, signal.SIGKILL)
        until(lambda: not bound(), "knotd has ended")
        again()
        yield here, again
    finally:
        for process in processes:
            kill(process)
            process.communicate()
        lab_again(KNOT)


def add_restart(shape, often=test, **tls):
    def is_killed():
        """It is back after some seconds, and the connections of a pool have ended by its idle timeout of four."""
        with own_knot() as (_, again):
            one = doq(rate="100", tls={"resume": "each", "handshake_timeout": "500ms", **tls}, **SHAPES[shape], keys={"timeout": "1s"})
            with Running(config("af_packet", one, run={"duration": "14s"})) as running:
                again(0.3)
        found = checked(running.result)
        conns, quic = found["connections"], found["connections"]["quic"]
        where = (conns, str(running.result))
        assert found["answered"] + found["lost"] == found["sent"] == 1400 and found["lost"] > 0, where
        timing(found["answered"] > 200 and conns["established"] > 8, where)
        assert found["malformed"] == found["failed"] == quic["wrong_stream"] == conns["no_memory"] == quic["no_memory"] == 0, where

    is_killed.__name__ = f"killed_knot_comes_back_to_{shape}{'_with_early_data' * bool(tls)}"
    if RELEASE >= 13:
        often(is_killed)


add_restart("a_pool")
add_restart("some_each", nightly)
add_restart("one_each", nightly)
add_restart("one_each", early=True)


# --- servers that speak something else ---

NONE_LISTENS, OTHER_VERSIONS = "no server listens on that UDP port", "it speaks none of our versions of QUIC"
NO_QUIC = "answers with datagrams of something else"
HOSTILE = {"mute": NONE_LISTENS, "versions": OTHER_VERSIONS, "nobody": "port unreachable",
           **dict.fromkeys(("random", "ours", "astray", "reset", "echo", "pieces"), NO_QUIC)}


def add_hostile(kind, driver, family):
    def is_unreachable():
        here, process = lab("none"), None
        try:
            if kind != "nobody":
                process = start(here.dut("python3", str(HERE / "quic_hostile.py"), kind))
                assert process.stdout.readline() == "ready\n", process.communicate()
            one = doq(family, "100", tls={"handshake_timeout": "500ms"}, keys={"timeout": "500ms"})
            result = here.ddiperf(config(driver, one))
            assert process is None or process.poll() is None, process.communicate()
        finally:
            if process:
                kill(process)
                process.communicate()
        # It may end early, and with messages whose end it has not awaited.
        assert result.code == EXIT["unreachable"], result
        found = result.item("queries")
        verdict, conns = result.json["verdict"], found["connections"]
        assert verdict["status"] == "unreachable" and "invalid_by" not in verdict, result
        assert any(HOSTILE[kind] in reason for reason in verdict["reasons"]), verdict
        assert found["sent"] == found["lost"] + found["in_flight"] > 0, (found, str(result))
        timing(found["unsent"] == 0, (found, str(result)))
        assert conns["established"] == 0 < conns["opened"], (conns, str(result))
        assert conns["no_memory"] == conns["quic"]["no_memory"] == 0, conns

    is_unreachable.__name__ = f"hostile_{kind}_is_unreachable_to_ipv{family}_through_{driver}"
    test(is_unreachable)


for kind in HOSTILE:
    add_hostile(kind, "af_packet", 4)
add_hostile("random", "af_packet", 6)
add_hostile("reset", "af_xdp", 4)


# --- the responder, with ddiperf itself as its client, and a wire between them that another program counts ---


@contextlib.contextmanager
def far_responder(here, driver="af_packet", **settings):
    """The embedded server in the place of the server; yields a dict that has its part of the result after the block."""
    document = {
        # The lab's default route is of no use here.
        "ports": [{"name": "lan", "driver": driver, "device": "veth1", "addresses": [f"{FAR[4]}/24", f"{FAR[6]}/64"], "force": True}],
        "responder": {"port": "lan", "dns": {}, **settings},
    }
    seen = {}
    with config_file(json.dumps(document)) as path:
        out = path.parent / "result.json"
        process = start(here.dut(binary(), "respond", str(path), "--json", str(out)))
        try:
            assert any("answered so far" in line for line in process.stdout), process.communicate()
            yield seen
        finally:
            kill(process, signal.SIGINT)
            _, err = process.communicate(timeout=20)
        assert process.returncode == 0, err
        seen.update(json.loads(out.read_text())["responder"])


@contextlib.contextmanager
def counted_on_the_wire(here):
    """Yields a dict that has, after the block, the datagrams to and from port 853, and octets to it: each direction where it
    arrives, as what DPDK sends is not shown to others."""
    counts = {}
    with tempfile.TemporaryDirectory() as name:
        ends = ((here.dut, "veth1", "dst", "to"), (here.tester, "veth0", "src", "back"))
        paths = [Path(name) / f"{where}.pcapng" for *_, where in ends]
        processes = [start(inside("dumpcap", "-q", "-i", device, "-f", f"udp {side} port 853", "-w", str(path)))
                     for (inside, device, side, _), path in zip(ends, paths)]
        try:
            for process, path in zip(processes, paths):
                until(lambda: process.poll() is not None or (path.exists() and path.stat().st_size > 0), "dumpcap")
            yield counts
            time.sleep(0.5)
        finally:
            for process in processes:
                kill(process, signal.SIGINT)
                process.communicate()
        to, back = (tshark(path, ["udp.length"]) for path in paths)
    counts.update(to=len(to), octets=sum(int(row["udp.length"]) - 8 for row in to), back=len(back))


OURS = {
    "a_pool": ({}, {}),
    "one_each": ({"queries_per_connection": 1}, {"resume": "each", "early": True}),
    "streams_of_100": ({"connections": 2, "pipeline": 100}, {}),
}


def add_ours(shape, family):
    quic, tls = OURS[shape]

    def answers():
        here = lab("none")
        load = {"outstanding": 100, "total": 2000} if shape == "streams_of_100" else {"rate": 400}
        with counted_on_the_wire(here) as wired, far_responder(here, quic={}, tls={"early": True}) as served:
            one = doq(family, server=FAR, tls=tls, keys={"load": load}, **quic)
            found = checked(here.ddiperf(config("af_packet", one, run={"duration": "1s"})))
        all_answered(found, (found, wired, served))
        sent = found["connections"]["quic"]
        assert (sent["datagrams_out"], sent["octets_out"], sent["datagrams_in"]) == (wired["to"], wired["octets"], wired["back"]), (sent, wired)
        assert served["received"] == served["answered"] == found["sent"] and served["connections"]["tls_failed"] == 0, served
        assert served["connections"]["tls_full"] == found["connections"]["tls"]["full"], served

    answers.__name__ = f"ours_answers_all_on_{shape}_to_ipv{family}_and_the_wire_has_counted_the_same"
    test(answers)


for shape in OURS:
    for family in (4, 6):
        add_ours(shape, family)


def add_lossy(shape):
    quic, tls = OURS[shape]

    def answers():
        here = lab("none")
        with wire(here) as did, counted_on_the_wire(here) as wired, far_responder(here, quic={}, tls={"early": True}) as served:
            load = {"outstanding": 100, "total": 2000} if shape == "streams_of_100" else {"rate": 200}
            one = doq(server=FAR, tls=tls, keys={"load": load, "timeout": "20s"}, **quic)
            found = checked(here.ddiperf(config("af_packet", one, run={"duration": "2s"}, port={"device": "near0"})))
        conns, where = found["connections"], (did, wired, found["connections"], served)
        check_wire(did)
        assert found["answered"] == found["sent"] == found["due"] > 0 and found["stray"] == found["malformed"] == 0, where
        assert found["duplicate"] == found["late"] == 0 and conns["opened"] == conns["established"], where
        out, back = did["from_tester"], did["to_tester"]
        assert conns["quic"]["datagrams_out"] == out["segments"] == wired["to"] + out["lost"] - out["doubled"], where
        came = wired["back"] - back["lost"] + back["doubled"]
        assert came - back["late"] <= conns["segments_received"] <= came, where  # some came after the end
        assert served["answered"] == served["received"] == found["sent"], where

    answers.__name__ = f"lossy_ours_gives_each_answer_once_on_{shape}"
    test(answers)


for shape in OURS:
    add_lossy(shape)


@since(13)
def lossy_knot_gives_each_answer_once():
    here = lab(KNOT)
    with wire(here) as did:
        one = doq(rate="200", keys={"timeout": "20s"})
        found, growth, result = run(one, here=here, run={"duration": "2s"}, port={"device": "near0"})
    check_wire(did)
    assert found["answered"] == found["sent"] == growth[COUNTER[4]] == 400, (did, growth, str(result))
    assert found["duplicate"] == found["late"] == found["stray"] == found["malformed"] == 0, result


# --- the responder, and other clients ---


def responder(driver="af_packet", quic=None, tls=None, **dns):
    return responding(driver, dns=dns, quic=quic or {}, tls=tls or {})


def tool(*argv):
    code, out, err = execute(lab("none").other(*argv), timeout=60)
    assert code == 0, (argv, out, err)
    return out + err


@since(13)
def judge_kdig_has_its_answers():
    with responder(text="x" * 4000) as seen:
        for address in ("198.18.0.1", "2001:db8::1"):
            out = tool("kdig", f"@{address}", "+quic", "h1.example.com", "A")
            assert "QUIC session (QUICv1)-(TLS1.3)" in out and "status: NOERROR" in out, out
        out = tool("kdig", "@198.18.0.1", "+quic", "h1.example.com", "TXT")
        assert "xxxx" in out and "status: NOERROR" in out, out
    assert seen["received"] == seen["answered"] == 3 and seen["connections"]["tls_full"] == 3, seen


@since(13)
def judge_kdig_is_sent_back_with_retry():
    with responder(quic={"retry": "100%"}) as seen:
        assert "status: NOERROR" in tool("kdig", "@198.18.0.1", "+quic", "h1.example.com", "A")
    assert seen["answered"] == 1 and seen["connections"]["tls_full"] == 1, seen


def add_aioquic(driver):
    def judges():
        with responder(driver, tls={"early": True}) as seen:
            for address in ("198.18.0.1", "2001:db8::1"):
                rows = json.loads(tool("python3", str(HERE / "quic_client.py"), address))
                assert rows == [[3, False, False], [5, True, True], [50, True, True]], rows
        conns = seen["connections"]
        assert seen["received"] == seen["answered"] == 2 * (3 + 5 + 50), seen
        assert (conns["tls_full"], conns["tls_resumed"], conns["tls_failed"]) == (2, 4, 0), conns

    judges.__name__ = f"judge_aioquic_has_all_answers_of_the_responder_through_{driver}"
    if RELEASE >= 13:
        (test if driver != "pcap" else nightly)(judges)


for driver in DRIVERS:
    add_aioquic(driver)


main()
