#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# TCP over a wire that loses, doubles and delays segments of both directions: a program between the tester's device and the
# lab's. The kernel at the far end is the judge: every query has its answer once, whoever the client is.

import json
import shutil
import signal
import tempfile

from harness import binary, check_ledger, config_file, execute, kill, main, skip, start, test
from live import check_wire, config, done, item, lab, wire

PORT = {"device": "near0"}


# name: connections; the item's queries and load; octets of an answer. Over a wire like this, servers stop in the middle of
# answers that clients do not wait for before they ask again, those of a kernel as well.
ROWS = {
    "on_a_pool": ({"connections": 8}, "h{0-999}", "A", {"rate": 500}, 0),
    "on_one_each": ({"connections": 8, "queries_per_connection": 1}, "h{0-999}", "A", {"rate": 100}, 0),
    "of_60_000_octets_on_a_pool": ({"connections": 4, "pipeline": 1}, "huge", "TXT", {"outstanding": "4"}, 60000),
    "of_60_000_octets_on_one_each": ({"connections": 4, "queries_per_connection": 1}, "huge", "TXT", {"outstanding": "4"}, 60000),
}


def add(server, name):
    settings, owner, kind, load, octets = ROWS[name]

    def answers():
        here = lab(server)
        dns = {"names": [f"{owner}.example.com {kind}"], "transport": "tcp", "tcp": settings}
        with wire(here) as did, here.counted() as growth:
            result = here.ddiperf(config("af_packet", item(load=load, dns=dns, timeout="30s"), port=PORT))
        found = result.item("queries")
        conns = found["connections"]
        where = (did, conns, {key: value for key, value in growth.items() if value and "Tcp" in key}, str(result))
        assert result.code == 0, where
        check_ledger(found)
        assert found["answered"] == found["sent"] >= 4, where
        assert found["stray"] == found["malformed"] == found["duplicate"] == found["late"] == 0, where
        assert found["dns"]["rcode"]["NOERROR"] == found["answered"], where
        assert found["dns"]["reply_bytes"] > octets * found["answered"], where
        assert all(conns[of] == 0 for of in ("refused", "no_answer", "closed", "lost_closed", "no_memory")), where
        check_wire(did)
        # Both ends sent again, and had seen it already.
        if not octets:
            assert conns["retransmitted"] + conns["fast_retransmitted"] + conns["syn_retransmitted"] > 0, where
        assert growth["kernel.TcpRetransSegs"] > 0 and conns["repeated"] > 0, where
        assert conns["out_of_order"] > 0 or not octets, where
        if "queries_per_connection" in settings:
            assert conns["opened"] == conns["established"] == conns["first_answer"]["count"] == found["sent"], where

    answers.__name__ = f"lossy_{server}_gives_each_answer_once_{name}"
    test(answers)


for row in ROWS:
    add("nsd", row)


@test
def lossy_judge_dnsperf_has_all_answers_of_the_responder():
    if not shutil.which("dnsperf"):
        skip("dnsperf is not installed")
    here = lab("none")
    document = {
        "ports": [{"name": "lan", "driver": "af_packet", "device": "near0", "addresses": ["198.18.0.1/24"]}],
        "responder": {"port": "lan", "dns": {"text": "x" * 4000}},
    }
    with wire(here) as did, config_file(json.dumps(document)) as path, tempfile.NamedTemporaryFile("w") as names:
        names.write("a.example.com TXT\n")
        names.flush()
        out = path.parent / "result.json"
        process = start(here.tester(binary(), "respond", str(path), "--json", str(out)))
        try:
            assert any("answered so far" in line for line in process.stdout), process.communicate()
            said = done(*here.dut("dnsperf", "-m", "tcp", "-s", "198.18.0.1", "-d", names.name, "-n", "60", "-c", "4",
                                  "-Q", "200", "-t", "30", "-O", "num-queries-per-conn=10"))
        finally:
            kill(process, signal.SIGINT)
            process.communicate(timeout=20)
        counts = json.loads(out.read_text())["responder"]
    assert "Queries completed:    60 (100.00%)" in said, (did, said)
    assert counts["received"] == counts["answered"] == 60, (did, counts)
    check_wire(did)


main()
