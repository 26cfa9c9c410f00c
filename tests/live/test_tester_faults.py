#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# What the tester itself did wrong, or what happened to its box: seen, counted under its name, never booked to the
# server; and an outage of the server, to the millisecond. As `test_tester_faults.py peer ...` it is the far end.

import collections
import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time

from harness import EXIT, check_ledger, execute, main, nightly, test, timing
from live import DRIVERS, SERVER, Running, check_untouched, config, item, lab, lab_again

PORT = 5300  # of the far end's own server
OUTAGE = 1.5
STAMPED = {"af_packet", "pcap", "socket"}  # drivers that know when replies arrived
NOISE = 10  # packets that the far end's kernel sends of its own accord


# --- the far end --------------------------------------------------------------------------------------------------


def serve(silent_from, silent_for, per_s, delay):
    """Answers, but not for a while after its first query, not more per second, and not at once. Until its parent ends."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # SO_RCVBUFFORCE
    sock.setsockopt(socket.SOL_IP, 15, 1)  # IP_FREEBIND: a tap device comes with the run
    sock.bind((SERVER[4], PORT))
    print("ready", flush=True)
    begin, last, longest, next_at = None, None, 0, 0
    waiting = collections.deque()
    while os.getppid() == parent:
        left = waiting[0][0] - time.monotonic() if waiting else 0.2
        if left > 0 and select.select([sock], [], [], left)[0]:
            waiting.append((time.monotonic() + delay, *sock.recvfrom(4096)))
        now = time.monotonic()
        if not waiting or waiting[0][0] > now:
            continue
        _, query, client = waiting.popleft()
        begin = begin or now
        if silent_from <= now - begin < silent_from + silent_for:
            continue
        if per_s:
            time.sleep(max(0, next_at - now))
            next_at = max(now, next_at) + 1 / per_s
        with contextlib.suppress(OSError):  # the interface went away
            sock.sendto(query[:2] + bytes([query[2] | 0x80]) + query[3:], client)
        now = time.monotonic()
        if last and now - last > longest:
            longest = now - last
            print(longest, flush=True)
        last = now


def blast(count, seconds):
    """Datagrams to a port of the tester that nobody asks from, evenly over so many seconds."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("198.18.0.1", 9))
        begin, sent = time.monotonic(), 0
        while sent < count:
            due = min(count, int((time.monotonic() - begin) / seconds * count) + 1)
            while sent < due:
                sock.send(b"nothing that was asked")
                sent += 1
    print(sent, flush=True)


if sys.argv[1:2] == ["peer"]:
    parent = os.getppid()
    serve(*map(float, sys.argv[3:])) if sys.argv[2] == "serve" else blast(int(sys.argv[3]), float(sys.argv[4]))
    sys.exit(0)


class Server:
    """serve() at the far end. After the block: longest, the longest time between two of its answers."""

    def __init__(self, silent_from=0, silent_for=0, per_s=0, delay=0, prefix=None):
        self.words = [str(n) for n in (silent_from, silent_for, per_s, delay)]
        self.prefix = prefix

    def __enter__(self):
        words = [sys.executable, os.path.abspath(__file__), "peer", "serve", *self.words]
        argv = (self.prefix or lab("none").dut)(*words)
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *_):
        self.process.kill()
        out, _ = self.process.communicate()
        self.longest = float(out.split()[-1]) if out.split() else 0


def own(**keys):
    """An item for that server."""
    return item(server_port=PORT, **keys)


# --- the server's outage ------------------------------------------------------------------------------------------


@test
def an_outage_of_the_server_is_measured_to_the_millisecond():
    with Server(silent_from=0.5, silent_for=OUTAGE) as server:
        result = lab().ddiperf(config("af_packet", own(timeout="100ms"), run={"duration": "3s"}))
    gap = result.item("queries")["longest_gap_ns"] / 1e9
    # What the far end's own clock says includes the time that its process was not running.
    timing(abs(gap - server.longest) <= 0.001 and gap >= OUTAGE, (gap, server.longest))
    timing(result.json["verdict"]["limited_by"] == "server", result.json["verdict"])


@nightly
def an_outage_that_lasts_to_the_end_ends_with_the_sending():
    with Server(silent_from=0.5, silent_for=60):
        result = lab().ddiperf(config("af_packet", own(), run={"duration": "2s"}))
    one = result.item("queries")
    check_ledger(one)
    timing(abs(one["longest_gap_ns"] / 1e9 - 1.5) < 0.05, one)


@test
def a_server_that_answers_too_slowly_limits_the_run_before_anything_is_lost():
    with Server(per_s=500):
        load = {"rate": "1k"}
        result = lab().ddiperf(config("af_packet", own(load=load, timeout="5s"), run={"duration": "2s"}))
        closed = lab().ddiperf(config("af_packet", own(load={"outstanding": 4}), run={"duration": "1s"}))
    one = result.item("queries")
    assert one["lost"] == 0 and one["answered"] == 2000, one
    for verdict in (result.json["verdict"], closed.json["verdict"]):
        timing(verdict["limited_by"] == "server", verdict)


# --- the tester's faults ------------------------------------------------------------------------------------------


@test
def what_a_stopped_tester_could_not_take_is_counted_to_the_packet():
    sent = 50000
    with Server():
        with Running(config("af_packet", own(), run={"duration": "3s"}), invalid=True) as running:
            lab_call = lab().dut(sys.executable, os.path.abspath(__file__), "peer", "blast")
            execute([*lab_call, "1", "1"])  # so that the far end knows our MAC
            running.signal(signal.SIGSTOP)
            time.sleep(0.1)
            code, out, err = execute([*lab_call, str(sent), "0.9"])
            running.signal(signal.SIGCONT)
            assert code == 0 and int(out) == sent, err
    result = running.result
    port, one = result.json["ports"][0], result.item("queries")
    assert port["rx_missed_known"] and port["rx_missed"] > 10000, port
    assert 0 <= port["rx_missed"] + port["other"]["unmatched"] - (sent + 1) <= NOISE, port
    assert result.code == EXIT["invalid"] and result.json["verdict"]["limited_by"] == "tester", result
    assert any("dropped" in why and "rx_missed" in why for why in result.json["verdict"]["reasons"]), result
    assert one["longest_gap_ns"] > 900e6, one


@test
def a_stop_of_the_tester_is_no_loss_of_the_server():
    # The answers to what is in flight arrive in time while nobody looks; the timeout passes before somebody does.
    for driver in DRIVERS:
        with Server(delay=0.03):
            text = config(driver, own(timeout="150ms"), run={"duration": "1500ms"}, validity={})
            with Running(text, invalid=True) as running:
                running.signal(signal.SIGSTOP)
                time.sleep(0.3)
                running.signal(signal.SIGCONT)
        result = running.result
        one, worker, port = result.item("queries"), result.json["workers"][0], result.json["ports"][0]
        check_ledger(one)
        assert one["due"] == 1500 and one["answered"] == one["sent"] and port["rx_missed"] == 0, (driver, one, port)
        timing(one["unsent"] == 0, one)
        if driver in STAMPED:
            assert one["latency"]["service"]["max_ns"] < 150e6 < 200e6 < worker["wake"]["max_ns"], (driver, one, worker)
        else:
            assert one["latency"]["service"]["max_ns"] > 200e6, (driver, one)
        assert worker["arrival"] == ("kernel" if driver in STAMPED else "burst"), (driver, worker)
        assert worker["gaps_over_1ms"] >= 1 and worker["stolen_s"] >= 0.3 and worker["max_gap_ns"] >= 300e6, worker
        assert result.code == EXIT["invalid"], result
        assert any("was descheduled" in why for why in result.json["verdict"]["reasons"]), result
        check_untouched()


@test
def buffers_that_the_receive_queue_did_not_have_are_counted():
    # A tap port takes a buffer per descriptor for good: one is left, and that one is not in the worker's hands.
    def address():
        while not done.is_set() and execute(lab().tester("ip", "addr", "add", "198.18.0.2/24", "dev", "tap0"))[0]:
            time.sleep(0.02)
        execute(lab().tester("ip", "link", "set", "tap0", "up"))

    lab("none")
    text = config("tap", own(timeout="100ms"),
                  port={"device": "tap0", "addresses": ["198.18.0.1/24"], "mbufs": 1024, "rx_descriptors": 1023})
    done = threading.Event()
    with Server(prefix=lab().tester):
        helper = threading.Thread(target=address)
        helper.start()
        try:
            result = lab().ddiperf(text, invalid=True)
        finally:
            done.set()
            helper.join()
    port, one = result.json["ports"][0], result.item("queries")
    check_ledger(one)
    assert one["due"] == 500 and one["lost"] == one["sent"], (port, one)
    timing(port["rx_no_mbuf"] > 400 and one["unsent"] == 0, (port, one))
    assert result.code == EXIT["invalid"], result
    assert any("rx_no_mbuf" in why for why in result.json["verdict"]["reasons"]), result


def set_peer(state):
    code, out, err = execute(lab().dut("ip", "link", "set", "veth1", state))
    assert code == 0, (out, err)


@test
def a_link_that_goes_down_is_seen_by_every_driver():
    for driver in DRIVERS:
        with Server():
            try:
                with Running(config(driver, own(timeout="100ms"), run={"duration": "2s"}), invalid=True) as running:
                    set_peer("down")
                    time.sleep(0.5)
                    set_peer("up")
            finally:
                set_peer("up")
        result = running.result
        port = result.json["ports"][0]
        assert port["link_downs"] == 1 and port["link_down_s"] > 0.4, (driver, port)
        timing(port["link_down_s"] < 1, (driver, port))
        assert result.code == EXIT["invalid"], result
        assert any("link was down" in why for why in result.json["verdict"]["reasons"]), result
        lab_again("none")


# --- the wire -----------------------------------------------------------------------------------------------------


@test
def a_full_wire_is_what_limits():
    lab("none")
    # pcap alone of the drivers sends through the queueing discipline.
    shape = ["tc", "qdisc", "replace", "dev", "veth0", "root", "tbf", "rate", "10mbit", "overhead", "24", "burst", "5kb",
             "latency", "5ms"]
    code, out, err = execute(lab().tester(*shape))
    assert code == 0, err
    try:
        with Server():
            text = config("pcap", own(load={"rate": "30k"}), port={"link_speed": "10M"}, run={"duration": "2s"})
            result = lab().ddiperf(text)
    finally:
        execute(lab().tester("tc", "qdisc", "del", "dev", "veth0", "root"))
    port = result.json["ports"][0]
    assert port["link_bps"] == 10e6, port
    timing(port["link_used"] >= 0.95 and result.json["verdict"]["limited_by"] == "wire", (port, result.json["verdict"]))


main()
