#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# A server that misbehaves: every kind of wrong answer is counted where it belongs, exactly as often as it was sent, and
# the right answers beside it still count. Clients that misbehave by HTTPS, beside a load of real servers.

import contextlib
import json
import signal
import sys

import peer
from harness import check_ledger, kill, main, nightly, start, test, timing
from live import DRIVERS, PEER, config, item, lab

QUERIES = 120  # of each kind; more than an answer has octets
CELLS = ("answered", "failed", "lost", "late", "duplicate", "stray", "malformed")


@contextlib.contextmanager
def peer_running(mode):
    """Yields a dict that holds, after the block, what the peer says it did."""
    said = {}
    process = start(lab("none").dut(sys.executable, PEER, mode, "veth1"))
    try:
        assert process.stdout.readline() == "ready\n", process.communicate()
        yield said
    finally:
        kill(process, signal.SIGTERM)
        out, err = process.communicate(timeout=10)
    assert process.returncode == 0, err
    said.update(json.loads(out))


def mischief_items():
    dns = {"names": ["h{0-999}.example.com A"], "expect": {"rcode": ["NOERROR"]}}
    load = {"rate": "200", "total": str(QUERIES)}
    return [
        item(name, server_port=peer.FIRST_PORT + number, dns=dns, load=load,
             timeout="100ms" if name == "late" else "1s")
        for number, (name, _, _) in enumerate(peer.MISCHIEF)
    ]


def unanswered_by(result, counts):
    return {name: (result.item(name)["sent"], count) for name, count in counts.items()
            if result.item(name)["sent"] != count}


def check_packets(result):
    """Every packet that came is in one cell, and only one; in none are the neighbour answers before the run."""
    port, = result.json["ports"]
    other = {key: value for key, value in port["other"].items() if key not in ("neighbour_asked", "neighbour_changed")}
    del other["not_reassembled"], other["duplicate_fragments"]  # of fragments, which are counted
    counted = -2 * other["reassembled"]  # in a cell of its own, as its fragments are
    counted += sum(other.pop("icmp_errors").values()) + sum(other.values())
    counted += sum(one[cell] for one in result.json["traffic"] for cell in CELLS if cell != "lost")
    learnt = port["rx_packets"] - counted
    assert 0 <= learnt <= len(result.json["traffic"]), (learnt, port)


def check_mischief(driver):
    with peer_running("mischief") as counts:
        result = lab().ddiperf(config(driver, *mischief_items(), run={"duration": "3s"}), "--quiet", timeout=60)
    assert result.code == 0, result
    assert not unanswered_by(result, counts), unanswered_by(result, counts)
    wrong = []
    for name, _, expected in peer.MISCHIEF:
        one = result.item(name)
        check_ledger(one)
        if name == "late":
            continue
        cells = {cell: one[cell] for cell in CELLS if one[cell]}
        if name == "sixty_four_kibibytes" and driver == "af_packet":
            expected = peer.LOST
        wanted = {cell: QUERIES * times for cell, times in expected.items()}
        if cells != wanted:
            wrong.append(f"{name}: {cells} instead of {wanted}")
    assert not wrong, "\n".join(wrong)
    check_details(driver, result)
    check_packets(result)
    # A tester that was away for longer than the delay finds late answers before it looks at timeouts.
    late = result.item("late")
    assert late["late"] == late["lost"] == QUERIES - late["answered"] and not late["failed"], late
    timing(late["late"] == QUERIES, late)


def check_details(driver, result):
    """What lies below the ledger."""
    dns = {name: result.item(name)["dns"] for name, _, _ in peer.MISCHIEF}
    assert dns["refused"]["rcode"] == {"REFUSED": QUERIES}, dns["refused"]
    assert dns["bad_version"]["rcode"] == {"BADVERS": QUERIES}, dns["bad_version"]
    assert dns["format_error_alone"]["no_question"] == QUERIES, dns["format_error_alone"]
    assert dns["cut_by_the_server"]["tc"] == QUERIES, dns["cut_by_the_server"]
    assert dns["more_behind_the_end"]["trailing"] == QUERIES, dns["more_behind_the_end"]
    # Wrong answers leave no trace in the figures of right ones.
    assert dns["another_name"]["rcode"] == dns["compression_loops"]["rcode"] == {"NOERROR": QUERIES}
    other = result.json["ports"][0]["other"]
    if driver == "af_packet":
        # This driver has the kernel join fragments, and cuts what does not fit into its ring.
        assert other["fragments"] == 0 and other["bad_frame"] == QUERIES, other
    else:
        pieces = -(-(peer.BIG + 8) // 1480)
        assert other["fragments"] == QUERIES * pieces and other["reassembled"] == QUERIES, (pieces, other)
        assert not other["not_reassembled"] and not other["bad_frame"] + other["bad_checksum"], other


def check_flood(driver):
    with peer_running("flood") as said:
        result = lab().ddiperf(config(driver, item(load={"rate": "200"}), run={"duration": "2s"}), timeout=30)
    one = result.item("queries")
    check_ledger(one)
    assert one["sent"] == one["answered"] == said["queries"] == 400, (one, said, result)
    other = result.json["ports"][0]["other"]
    assert said["sent"] > 400 * 15, said
    for cell in ("unmatched", "bad_frame", "other", "wrong_vlan", "fragments")[:4 if driver == "af_packet" else 5]:
        assert other[cell] > 10, other
    assert sum(other["icmp_errors"].values()) > 10 and one["stray"] + one["malformed"] > 0, (one, other)
    assert result.code == 0, result
    check_packets(result)


def add(check, name):
    for driver in DRIVERS:
        def run(driver=driver):
            check(driver)

        run.__name__ = f"{name}_through_{driver}"
        (nightly if driver == "pcap" else test)(run)


add(check_mischief, "every_wrong_answer_is_counted_where_it_belongs")
add(check_flood, "broken_frames_are_counted_and_change_nothing_else")


# --- clients by HTTPS ---


KINDS = ("h2_preface_only", "h2_streams_open", "h2_rapid_reset", "h2_settings_flood", "h2_window_zero", "h2_continuation_flood")
HTTPS_SERVERS = ("unbound", "bind", "dnsdist", "kresd")


def check_clients(server):
    """Each kind does what it should; the load beside it is counted by itself. Of it, all these servers answered all."""
    for kind in KINDS:
        tcp = {"connections": 8, "behave": {"hold": "250ms", kind: "25%"}}  # Unbound takes ten connections
        what = {"names": ["h{0-999}.example.com A"], "transport": "https", "tcp": tcp}
        with lab(server).counted() as growth:
            result = lab(server).ddiperf(config("af_packet", item(load={"rate": "200"}, timeout="2s", dns=what), run={"duration": "1s"}))
        assert result.code == 0, result
        one = result.item("queries")
        check_ledger(one)
        conns = one["connections"]
        bad = conns["behave"]
        assert conns["tls"]["begun"] == conns["opened"] and bad["no_memory"] == 0, conns
        assert set(conns["http"]["status"]) == {"200"} and one["answered"] > 0, one
        assert bad["opened"][kind] >= 6 and bad["established"][kind] >= 4 and bad["shaken"][kind] >= 3, bad
        assert bad["received_bytes"][kind] > 0, bad
        more = growth["queries"] - one["answered"]
        if kind in ("h2_rapid_reset", "h2_window_zero"):
            assert more > 20 * bad["shaken"][kind], (kind, more, bad)
        timing(one["answered"] == one["sent"], one)


def add_clients(server):
    def are_beside_the_load():
        check_clients(server)

    are_beside_the_load.__name__ = f"{server}_answers_beside_clients_that_misbehave_by_https"
    (test if server == "unbound" else nightly)(are_beside_the_load)


for name in HTTPS_SERVERS:
    add_clients(name)


if __name__ == "__main__":
    main()
