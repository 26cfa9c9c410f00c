#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Echo and discard of a real inetd, over UDP and TCP, IPv4 and IPv6: every byte comes back or arrives, and the server's
# kernel has counted as many datagrams and connections as were sent and opened.

import contextlib
import json
import signal
import tempfile
import time
from pathlib import Path

from harness import EXIT, binary, check_ledger, config_file, main, start, test
from live import DRIVERS, SERVER, addresses, config, lab

DISCARD = 9


def item(family, *, tcp=None, port=None, load=None, **echo):
    stream = {} if tcp is None else {"transport": "tcp", "tcp": tcp}
    where = {"server_port": port} if port else {}
    return {"name": "path", "server": SERVER[family], "timeout": "2s", "load": load or {"rate": "500"},
            "echo": {**stream, **echo}, **where}


def wait_for(here, before, count, family):
    """inetd reads what is in its socket's queue when it has a CPU; nobody waits for that on its way to discard."""
    end = time.monotonic() + 10
    while datagrams(here.stats(), family) - datagrams(before, family) < count and time.monotonic() < end:
        time.sleep(0.05)


def run(driver, one, **sections):
    """(the item's result, the growth of the server's counters)."""
    here = lab("inetd")
    with here.counted() as growth:
        before = here.stats()
        found = here.ddiperf(config(driver, one, **sections)).item("path")
        if "transport" not in one["echo"]:
            wait_for(here, before, found["sent"], 6 if ":" in one["server"] else 4)
    check_ledger(found)
    return found, growth


def datagrams(growth, family):
    return growth["kernel.Udp4InDatagrams" if family == 4 else "kernel.Udp6InDatagrams"]


def exchanged(driver, one, **sections):
    got, growth = run(driver, one, **sections)
    assert got["answered"] == got["sent"] > 0, (driver, got)
    assert got["echo"]["wrong_bytes"] == got["echo"]["wrong_length"] == 0, got
    assert got["echo"]["reply_bytes"] == got["echo"]["request_bytes"], got
    assert got["stray"] == got["malformed"] == got["duplicate"] == 0, got
    return got, growth


@test
def every_byte_comes_back_over_udp():
    for driver in DRIVERS:
        for family, size in ((4, 1400), (6, 20)):
            got, growth = exchanged(driver, item(family, size=f"{size}B", fill="random"))
            assert datagrams(growth, family) == got["sent"], (growth, got)


@test
def every_byte_comes_back_over_udp_through_sockets():
    up = lab("inetd")
    with addresses(up, "198.18.0.1/24"):
        got, growth = exchanged("socket", item(4, size="512B", fill="hex"), ports=[{"name": "lan", "driver": "socket"}])
    assert datagrams(growth, 4) == got["sent"], (growth, got)


@test
def every_byte_comes_back_over_tcp():
    for family, tcp in ((4, {"connections": 3}), (6, {"connections": 3}), (4, {"connections": 8, "queries_per_connection": 1})):
        got, growth = exchanged("af_packet", item(family, tcp=tcp, size="1000B", fill="random", load={"rate": "200"}))
        conns = got["connections"]
        assert growth["kernel.TcpPassiveOpens"] == conns["opened"] == conns["established"], (growth, conns)


@test
def a_message_longer_than_a_packet_comes_back():
    exchanged("af_packet", item(4, tcp={"connections": 2}, size="30000B", fill="random", load={"outstanding": "2"}))


@test
def datagrams_go_one_way_to_discard():
    for family in SERVER:
        got, growth = run("af_packet", item(family, port=DISCARD, test="stream", size="1400B"))
        assert got["no_reply"] == got["sent"] > 0 and datagrams(growth, family) == got["sent"], (growth, got)


@test
def bytes_go_one_way_to_discard_as_fast_as_it_takes_them():
    for family in SERVER:
        got, growth = run("af_packet", item(family, tcp={"connections": 1}, port=DISCARD, test="stream", size="16384B",
                                            load={"outstanding": "4"}))
        assert got["no_reply"] == got["sent"] > 20 and got["lost"] == got["unsent"] == 0, got
        assert got["connections"]["no_memory"] == 0, got["connections"]
        segments = -(-16384 * got["sent"] // 1460)
        assert growth["kernel.TcpInSegs"] >= segments, (growth, got)


@contextlib.contextmanager
def responder(folder, **faults):
    """The embedded one on the server's side of the wire, at 198.18.0.3; yields the settings of dut.control."""
    token, socket = folder / "token", folder / "control.sock"
    token.touch(0o600)
    token.write_text("a token of this test".replace(" ", "-") + "\n")
    text = json.dumps({
        "ports": [{"name": "lan", "driver": "af_packet", "device": "veth1", "force": True, "addresses": ["198.18.0.3/24"]}],
        "responder": {"echo": {}, **({"faults": faults} if faults else {})},
    })
    with config_file(text) as path:
        process = start(lab("none").dut(binary(), "respond", str(path), "--control", f"unix:{socket}", "--control-token", str(token)))
        try:
            assert any("answered so far" in line for line in process.stdout), process.communicate()
            yield {"address": f"unix:{socket}", "token": str(token)}
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)
    assert process.returncode == 0 and not socket.exists(), process.returncode


def both_sides(control, one):
    """The item and the part "peer" of the result."""
    result = lab().ddiperf(config("af_packet", {**one, "server": "198.18.0.3"}, dut={"control": control}))
    got = result.item("path")
    check_ledger(got)
    return got, result.json["peer"], result


@test
def counters_of_both_sides_are_in_one_result():
    with tempfile.TemporaryDirectory() as name, responder(Path(name)) as control:
        got, peer, _ = both_sides(control, item(4, test="stream", size="1000B"))
        assert got["sent"] > 0 and peer["sent"] == peer["received"] == got["sent"], (got, peer)
        assert peer["loss_there"] == 0 and peer["replies"] == peer["answered"] == 0, peer
        assert peer["protocols"][0]["echo"]["received_bytes"] == 1000 * got["sent"], peer
        got, peer, result = both_sides(control, item(4))  # the second run begins where the first one ended
        assert peer["sent"] == peer["received"] == peer["answered"] == peer["replies"] == got["answered"] > 0, peer
        assert "responder elsewhere" in result.stdout, result


@test
def what_the_responder_lost_itself_is_no_loss_of_the_path():
    with tempfile.TemporaryDirectory() as name, responder(Path(name), truncate={"every": 10}, loss={"every": 4}) as control:
        got, peer, _ = both_sides(control, item(4))
        assert peer["loss_there"] == 0 and peer["received"] == peer["sent"], peer
        assert got["lost"] >= got["sent"] // 4 and peer["replies"] == peer["answered"], (got, peer)


@test
def a_tester_without_the_token_is_told_nothing():
    with tempfile.TemporaryDirectory() as name, responder(Path(name)) as control:
        other = Path(name) / "other"
        other.touch(0o600)
        other.write_text("a-token-of-this-tesT\n")
        text = config("af_packet", {**item(4), "server": "198.18.0.3"}, dut={"control": {**control, "token": str(other)}})
        result = lab().ddiperf(text)
        assert result.code == EXIT["environment"] and "another token" in result.stderr, result
        other.chmod(0o640)
        result = lab().ddiperf(text)
        assert result.code == EXIT["environment"] and "chmod 600" in result.stderr, result


main()
