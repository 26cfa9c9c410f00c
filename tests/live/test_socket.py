#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Driver socket against real servers on the other side of a wire, with addresses that the kernel has: DNS, and
# DHCP behind relays whose addresses the host has. The servers count the same.

import json
import os
import signal
import sys

from harness import EXIT, Result, binary, check_ledger, config_file, execute, kill, main, start, test, timing
from live import PEER, RELAXED, SERVER, Running, addresses, dropping, item, lab, lab_again, leases


def config(*items, **keys):
    return json.dumps({
        "run": {"warmup": "0s", "duration": "500ms", "interval": "250ms"},
        "ports": [{"name": "lan", "driver": "socket", **keys}], "traffic": list(items), "validity": RELAXED,
    })


@test
def knot_counts_the_same():
    up = lab("knot")
    with addresses(up, "198.18.0.1/24"), up.counted() as growth:
        result = up.ddiperf(config(item("one"), item("other")))
        for name in ("one", "other"):
            check_ledger(result.item(name))
            assert result.item(name)["answered"] == 500, result
        assert result.code == EXIT["pass"], result
    assert growth["queries"] == 1000, growth


@test
def kea_leases_to_relays_of_the_host():
    up = lab("kea")
    four = [leases("new", "dora", rate=200, mac="02:0e:00:00:00:00", relayed=True)]
    with addresses(up, "198.18.0.1/15", "198.18.0.64/15", "198.18.0.65/15", "10.64.0.2/12", "10.64.0.3/12"):
        with up.counted() as growth:
            result = up.ddiperf(config(*four))
    got = result.item("new")
    check_ledger(got)
    assert result.code == EXIT["pass"] and got["answered"] == got["sent"] == 100, result
    assert growth["leases"] == 100, growth
    assert result.json["ports"][0]["tx_errors"] == 0, result


# --- TCP ---

SHAPES = {
    "a_pool": {"connections": 8},
    "a_few_messages_each": {"connections": 8, "queries_per_connection": 5},
    "a_connection_for_each_message": {"connections": 8, "queries_per_connection": 1},
}


def over_tcp(family=4, dns=None, run=None, **tcp):
    one = item(server=SERVER[family], timeout="2s", dns={
        "names": ["h{0-999}.example.com A"], "transport": "tcp", "tcp": tcp, **(dns or {})})
    document = json.loads(config(one))
    document["run"].update(run or {})
    return json.dumps(document)


def as_nobody(up, text):
    """A run of the tester's side without any privilege."""
    with config_file(text) as path:
        out = path.parent / "result.json"
        path.parent.chmod(0o777)
        code, stdout, stderr = execute(up.tester(
            "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", binary(), "run", str(path), "--json", str(out)))
        document = json.loads(out.read_text()) if out.exists() else None
    result = Result(code, document, stdout, stderr, False)
    check_ledger(result.item("queries"))
    return result


def all_answered(result, growth):
    got, conns, port = result.item("queries"), result.item("queries")["connections"], result.json["ports"][0]
    where = ({key: value for key, value in conns.items() if value}, got["answered"], got["sent"], got["lost"], port, growth)
    assert result.code == EXIT["pass"], result
    timing(got["answered"] == got["sent"] == got["due"] > 0, where)
    assert sum(growth.get(f"mod-stats.request-protocol[tcp{family}]", 0) for family in (4, 6)) == got["sent"], where
    assert growth["kernel.TcpPassiveOpens"] == conns["established"] == conns["opened"], where
    assert conns["reset"] == conns["refused"] == port["tx_errors"] == 0, where
    timing(conns["left"] == 0, where)  # a server without a CPU does not close in time
    return got, conns


def add_shape(family, shape):
    def counts_the_same():
        up = lab("knot")
        with addresses(up, "198.18.0.1/24", "2001:db8::1/64"), up.counted() as growth:
            result = as_nobody(up, over_tcp(family, **SHAPES[shape]))
        got, conns = all_answered(result, growth)
        each = SHAPES[shape].get("queries_per_connection")
        least = got["sent"] / each if each else 8
        assert least <= conns["opened"] <= least + (8 if each else 0), conns

    counts_the_same.__name__ = f"knot_counts_the_same_over_tcp_on_{shape}_to_ipv{family}"
    test(counts_the_same)


for name in SHAPES:
    add_shape(4, name)
add_shape(6, "a_connection_for_each_message")


def kernel_retransmitted(up):
    code, out, err = execute(up.tester("nstat", "-asz", "TcpRetransSegs"))
    assert code == 0, err
    return int(next(line.split()[1] for line in out.splitlines() if line.startswith("TcpRetransSegs")))


@test
def segments_that_the_kernel_sends_again_are_counted():
    up = lab("knot")
    with dropping(up, "numgen inc mod 20 9"), addresses(up, "198.18.0.1/24"):
        before = kernel_retransmitted(up)
        result = as_nobody(up, over_tcp(connections=8))
        again = kernel_retransmitted(up) - before
    counted = result.json["ports"][0]["retransmitted"]
    assert again - 8 <= counted <= again and counted > 0, (counted, again)  # FIN may come again after its socket is closed


@test
def knot_dies_and_the_rest_is_refused():
    up = lab("knot")
    with addresses(up, "198.18.0.1/24"):
        with Running(over_tcp(run={"duration": "1500ms"}, connections=8)) as running:
            for pid in execute(["ip", "netns", "pids", f"{up.prefix}-dut"])[1].split():
                os.kill(int(pid), signal.SIGKILL)
    result = running.result
    got, conns = result.item("queries"), result.item("queries")["connections"]
    check_ledger(got)
    assert got["answered"] > 0 and got["lost"] > 100 and got["answered"] + got["lost"] == got["sent"], result
    assert conns["closed"] + conns["reset"] == 8 and conns["refused"] == conns["opened"] - 8 > 100, conns
    assert conns["lost_closed"] == got["lost"] and conns["left"] == 0, conns
    lab_again("knot")


@test
def peer_closes_after_five_messages_and_all_are_asked_again():
    up = lab("none")
    peer = start(up.dut(sys.executable, PEER, "tcp", "5"))
    assert peer.stdout.readline() == "ready\n", peer.communicate()
    try:
        with addresses(up, "198.18.0.1/24"):
            got = as_nobody(up, over_tcp(connections=8, closed="again")).item("queries")
    finally:
        kill(peer, signal.SIGTERM)
        did = json.loads(peer.communicate(timeout=10)[0])
    timing(got["lost"] == 0, got)  # those that are left at the end are not asked again
    assert got["sent"] == 500 and got["answered"] > 300 and got["lost"] == got["connections"]["lost_closed"], (got, did)
    assert got["connections"]["established"] == did["accepted"] >= 60 and did["answered"] >= got["answered"], (got, did)


@test
def knot_gives_huge_answers_over_tcp():
    up = lab("knot")
    with addresses(up, "198.18.0.1/24"), up.counted() as growth:
        result = as_nobody(up, over_tcp(dns={"names": ["huge.example.com TXT"]}, connections=4))
    got, conns = all_answered(result, growth)
    assert got["dns"]["reply_bytes"] > 60000 * got["answered"] and conns["opened"] == 4, got["dns"]


main()
