#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# A shared machine: four programs that never rest, and the server on the same CPUs. Runs are valid, times are those that
# the server's end of the wire shows, searches find what is there, and the tester takes no more of the CPU than it needs.
# TIMES: how often each (default: 20). What is asserted are figures of this very machine, so this is no part of the gate.

import contextlib
import json
import os
import re
import signal
import socket
import statistics
import struct
import subprocess
import tempfile
import time
from pathlib import Path

from harness import EXIT, binary, check_ledger, config_file, execute, kill, main, start, test
from live import config, item, lab
from loop import HOG

ROOT = Path(__file__).resolve().parents[2]
TIMES = int(os.environ.get("TIMES", "20"))
HOGS = 4
DRIVERS = ("af_packet", "pcap", "socket")  # that know when a reply arrived


@contextlib.contextmanager
def hogs(count=HOGS):
    """Each is a session of its own, as if somebody else had started it."""
    running = [start(HOG) for _ in range(count)]
    try:
        time.sleep(1)
        yield
    finally:
        for one in running:
            kill(one)
            one.communicate()


def over(driver, load, seconds=1, **sections):
    """A run against the lab's server, with the bounds of validity as they are."""
    port = {"device": "veth0", "addresses": []} if driver == "socket" else {}
    return config(driver, item(load=load, timeout="2s"), port=port, run={"duration": f"{seconds}s", "warmup": "500ms"}, validity={}, **sections)


@contextlib.contextmanager
def own_address():
    """Driver socket sends from an address of the host."""
    up = lab()
    execute(up.tester("ip", "address", "add", "198.18.0.1/24", "dev", "veth0"))
    try:
        yield
    finally:
        execute(up.tester("ip", "address", "del", "198.18.0.1/24", "dev", "veth0"))


def valid(result):
    return result.code == EXIT["pass"] and result.json["verdict"]["status"] in ("pass", "done")


def verdicts(runs):
    return [(one.json["verdict"]["status"], one.json["verdict"]["reasons"]) if one.json else one for one in runs if not valid(one)]


# --- runs --------------------------------------------------------------------------------------------------------


@test
def open_loops_are_valid_each_time():
    up = lab("knot")
    with own_address(), hogs():
        for rate in ("1k", "20k"):
            runs = [up.ddiperf(over("socket", {"rate": rate}, 3), invalid=True) for _ in range(TIMES)]
            assert not verdicts(runs), (rate, verdicts(runs))
            assert not any(one.item("queries")["lost"] for one in runs), rate


@test
def a_closed_loop_asks_as_often_as_dnsperf():
    up = lab("knot")
    queries = tempfile.NamedTemporaryFile("w", suffix=".txt")
    queries.write("".join(f"h{n}.example.com A\n" for n in range(1000)))
    queries.flush()
    ratios = []
    with queries, own_address(), hogs():
        for _ in range(max(TIMES // 2, 3)):
            ours = up.ddiperf(over("socket", {"outstanding": 100}, 2), invalid=True).item("queries")["answered_per_s"]
            code, out, err = execute(up.tester("dnsperf", "-s", "198.18.0.2", "-d", queries.name, "-l", "2", "-q", "100", "-c", "1"))
            assert code == 0, err
            ratios.append(ours / float(re.search(r"Queries per second: +([\d.]+)", out)[1]))
    print(f"# of dnsperf's rate: {', '.join(f'{r:.2f}' for r in sorted(ratios))}")
    assert statistics.median(ratios) >= 1, ratios


@test
def as_perfdhcp_completes_what_perfdhcp_completes():
    up = lab("kea")
    for words in (["ip", "addr", "replace", "198.18.0.1/15", "dev", "veth0"], ["ip", "link", "set", "dev", "lo", "up"]):
        code, _, err = execute(up.tester(*words))
        assert code == 0, err
    rows = []
    with hogs():
        for _ in range(max(TIMES // 5, 1)):
            both = []
            for program in (["perfdhcp"], [binary(), "as", "perfdhcp"]):
                _, out, err = execute(up.tester(*program, "-4", "-r", "100", "-R", "1000", "-p", "3", "198.18.0.2"))
                both.append([int(n) for n in re.findall(r"received packets: (\d+)", out)])
                assert len(both[-1]) == 2, err
            rows.append(both)
    print(f"# OFFER and ACK, perfdhcp's and ours: {rows}")
    assert all(ours >= theirs - 5 for row in rows for theirs, ours in zip(*row)), rows


@test
def a_low_rate_takes_two_percent_of_a_cpu():
    up = lab("knot")

    def cpu_s(seconds):
        with config_file(over("socket", {"rate": "100"}, seconds)) as path:
            process = subprocess.Popen([*up.tester(), binary(), "run", str(path), "--quiet"], stdout=subprocess.DEVNULL)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, process.returncode
        return used.ru_utime + used.ru_stime

    with own_address(), hogs():
        shares = [(cpu_s(12) - cpu_s(2)) / 10 for _ in range(3)]
    print(f"# of a CPU: {', '.join(f'{s:.4f}' for s in shares)}")
    assert statistics.median(shares) <= 0.02, shares


def gaps(path, from_ns):
    """From each query to its reply in a capture, ns; those before from_ns after the first are left out."""
    data, asked, found = path.read_bytes(), {}, []
    at, unit = 24, 1 if struct.unpack_from("<I", data)[0] == 0xA1B23C4D else 1000
    begin = None
    while at + 16 <= len(data):
        s, part, kept, _ = struct.unpack_from("<IIII", data, at)
        now, frame = s * 10**9 + part * unit, data[at + 16:at + 16 + kept]
        at += 16 + kept
        udp = frame[14 + (frame[14] & 15) * 4:]
        begin = begin or now
        sport, dport, ident = *struct.unpack("!HH", udp[:4]), udp[8:10]
        if dport == 53:
            asked[sport, ident] = now
        elif (dport, ident) in asked:
            sent = asked.pop((dport, ident))
            found += [now - sent] if sent - begin >= from_ns else []
    return sorted(found)


@test
def times_are_those_at_the_servers_end():
    up = lab("knot")
    rows = []
    with hogs():
        for driver in DRIVERS * max(TIMES // 5, 1):
            with tempfile.TemporaryDirectory() as folder, own_address() if driver == "socket" else contextlib.nullcontext():
                path = Path(folder) / "server.pcap"
                capture = start(up.dut("dumpcap", "-q", "-P", "-i", "veth1", "-w", str(path), "-f", "udp port 53"))
                time.sleep(1)
                result = up.ddiperf(over(driver, {"rate": "1k"}, 3), invalid=True)
                time.sleep(0.5)
                kill(capture, signal.SIGTERM)
                capture.communicate()
                seen = gaps(path, 500e6)
            one, worker = result.item("queries"), result.json["workers"][0]
            check_ledger(one)
            assert worker["arrival"] == "kernel" and abs(len(seen) - one["sent"]) <= 20, (driver, len(seen), one["sent"])
            service = one["latency"]["service"]
            rows.append((driver, service["p50_ns"] - seen[len(seen) // 2], service["p99_ns"] - seen[len(seen) * 99 // 100]))
    for driver in DRIVERS:
        at = [statistics.median(row[n] for row in rows if row[0] == driver) / 1e3 for n in (1, 2)]
        print(f"# {driver}: p50 {at[0]:+.1f} us, p99 {at[1]:+.1f} us")
        assert abs(at[0]) <= 20 and abs(at[1]) <= 200, (driver, rows)


@test
def a_self_test_passes_each_time():
    with hogs():
        codes = [execute([binary(), "run", str(ROOT / "config" / "selftest.yaml")])[0] for _ in range(TIMES)]
    assert codes == [0] * TIMES, codes


@test
def a_search_finds_what_is_there():
    answers = []
    with hogs(), tempfile.TemporaryDirectory() as folder:
        for _ in range(max(TIMES // 2, 1)):
            begin, out = time.monotonic(), Path(folder) / "result.json"
            execute([binary(), "run", str(ROOT / "config" / "dns-capacity.yaml"), "--json", str(out), "--quiet"], timeout=300)
            answers.append((json.loads(out.read_text())["search"]["answer"], time.monotonic() - begin))
    print(f"# answer and seconds: {', '.join(f'{answer} {took:.0f}' for answer, took in answers)}")
    assert all(answer and abs(answer - 20000) <= 1000 and took <= 90 for answer, took in answers), answers


# --- CPUs --------------------------------------------------------------------------------------------------------


# What a group of each version is told: CPU 1 alone, and half of the time of a CPU.
LIMITS = {
    "cpuset": {1: {"cpuset.mems": "0", "cpuset.cpus": "1"}, 2: {"cpuset.cpus": "1"}},
    "cpu": {1: {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "50000"}, 2: {"cpu.max": "50000 100000"}},
}


@contextlib.contextmanager
def group(controller):
    """A control group with the limit of this controller; yields what a process has to write its number to."""
    root = Path("/sys/fs/cgroup")
    old = (root / controller).is_dir()
    path = (root / controller if old else root) / f"ddiperf-busy-{os.getpid()}"
    control = root / "cgroup.subtree_control"
    had = old or controller in control.read_text().split()
    if not had:
        control.write_text(f"+{controller}")
    path.mkdir()
    try:
        for name, value in LIMITS[controller][1 if old else 2].items():
            (path / name).write_text(value)
        yield path / "cgroup.procs"
    finally:
        path.rmdir()
        if not had:
            control.write_text(f"-{controller}")


def inside(procs):
    return ["sh", "-c", f"echo $$ >{procs} && exec \"$@\"", "sh"]


@test
def one_cpu_is_enough_and_so_is_half_of_one():
    up = lab("knot")

    def runs(*prefix):
        with config_file(over("socket", {"rate": "1k"})) as path:
            return [execute([*prefix, *up.tester(), binary(), "run", str(path)])[::2] for _ in range(max(TIMES // 4, 1))]

    with own_address():
        for prefix in (["taskset", "-c", "1"], ["taskset", "-c", "0"]):
            assert not [bad for bad in runs(*prefix) if bad[0]], prefix
        for controller in LIMITS:
            with group(controller) as procs:
                bad = [one for one in runs(*inside(procs)) if one[0]]
            assert not bad, (controller, bad)


@test
def two_runs_at_once_are_both_valid():
    up = lab("knot")
    with own_address(), hogs(), config_file(over("socket", {"rate": "1k"}, 2)) as path:
        for _ in range(max(TIMES // 4, 1)):
            both = [start([*up.tester(), binary(), "run", str(path)]) for _ in range(2)]
            said = [one.communicate(timeout=60) for one in both]
            assert [one.returncode for one in both] == [0, 0], said


@test
def a_port_that_nobody_listens_at_is_known_soon():
    up = lab("knot")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM), own_address(), hogs():
        text = config("socket", item(server_port=5399), port={"device": "veth0", "addresses": []}, run={"duration": "20s"}, validity={})
        begin = time.monotonic()
        result = up.ddiperf(text, invalid=True)
    assert result.code == EXIT["unreachable"] and time.monotonic() - begin < 5, result


if __name__ == "__main__":
    main()
