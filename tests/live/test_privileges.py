#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Least privilege: while packets come, no thread that sees them has power over the box, and the end undoes all the same.

import json
import os
from pathlib import Path

from harness import binary, config_file, execute, main, test, timing
from live import DRIVERS, Running, check_untouched, config, item, lab, leases, link

CAP = {"NET_ADMIN": 12, "SYS_ADMIN": 21}
OF_THE_USER = {0, 1, 2, 3, 4, 5}  # files of others, commands of others
CLOSING = {"pcap": set(), "af_packet": {CAP["NET_ADMIN"]}, "af_xdp": {CAP["NET_ADMIN"], CAP["SYS_ADMIN"]}}
RIGHTS = "echo net_admin=$((0x$(sed -n 's/CapEff:.//p' /proc/self/status) >> 12 & 1))"
RING = json.dumps({
    "run": {"warmup": "0s", "duration": "60s", "interval": "250ms"},
    "ports": [{"name": "lan", "driver": "ring", "device": "dut", "addresses": ["198.18.0.1/24"]},
              {"name": "dut", "driver": "ring", "addresses": ["198.18.0.2/24"]}],
    "traffic": [item(port="lan")],
    "responder": {"port": "dut", "dns": {}},
    "output": {"capture": {"file": "/dev/null"}},
    "dut": {"probe": {"command": RIGHTS, "format": "pairs"}},
})
EVERYBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


def threads(pid):
    """[{Name, CapEff, ...}] of the threads of a process, the main one first."""
    tasks = sorted(Path(f"/proc/{pid}/task").iterdir(), key=lambda path: int(path.name))
    if b"__tsan_init" in Path(binary()).read_bytes():
        del tasks[1]  # ThreadSanitizer's own, which it starts before main
    return [dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines() if ":\t" in line)
            for task in tasks]


def bits(text):
    return {bit for bit in range(64) if int(text, 16) >> bit & 1}


def check_threads(running, closing, starters=0):
    """starters: other threads than the main one that start programs of the user."""
    first, *others = threads(running.process.pid)
    undoing = [one for one in others if one["Name"] == "last-words"]
    assert len(undoing) == 1, others
    for one in (first, *undoing):
        assert bits(one["CapPrm"]) == bits(one["CapEff"]) == OF_THE_USER | closing, one
    others = [one for one in others if one not in undoing]
    assert len(others) >= 2, others  # a worker, and DPDK's own
    for one in others:
        assert not bits(one["CapEff"]) and not bits(one["CapPrm"]) and not bits(one["CapInh"]), one
    assert len([one for one in others if one["NoNewPrivs"] == "0"]) == starters, others


@test
def threads_have_no_capability_beside_rings():
    """But a probe that root starts has root's rights, as a hook has."""
    with Running(RING, prefix=()) as running:
        check_threads(running, set(), starters=1)
        for _ in range(3):  # intervals, in which the probe answers
            running.head += running.process.stdout.readline()
        running.signal()
    dut = running.result.json["dut"]
    timing(dut["samples"] >= 1, dut)
    assert not dut["failures"], dut
    assert dut["figures"] == [{"name": "net_admin", "value": 1}], dut


def add(driver):
    def run():
        lab("knot")
        before = link()
        with Running(config(driver, run={"duration": "60s"})) as running:
            check_threads(running, CLOSING[driver])
            running.signal()
        one = running.result.item("queries")
        assert one["answered"] == one["sent"] > 0, running.result
        check_untouched()
        assert link() == before

    run.__name__ = f"threads_have_no_capability_through_{driver}_and_the_interface_is_as_before"
    test(run)


for each in DRIVERS:
    add(each)


@test
def a_promiscuous_interface_is_as_before():
    """With Ethernet addresses of its own, which is a flag that the end has to undo."""
    lab("none")
    clients = {**leases("queries", "dora", rate=10, mac="02:00:00:00:01:00"), "timeout": "200ms"}
    del clients["server"]
    for driver in DRIVERS:
        before = link()
        with Running(config(driver, clients, run={"duration": "60s"})) as running:
            assert "PROMISC" in link()["flags"] or driver == "pcap", link()
            check_threads(running, CLOSING[driver])
            running.signal()
            running.signal()
        check_untouched()
        assert link() == before


@test
def the_least_capabilities_are_enough_and_everything_is_undone():
    """Those that doctor names, for another user than root."""
    lab("knot")
    for driver in DRIVERS:
        with config_file(config(driver)) as path:
            os.chmod(path.parent, 0o755)
            code, out, err = execute(lab().tester(*EVERYBODY, "--inh-caps=-all", binary(), "doctor", str(path)))
            row = next(line for line in out.splitlines() if f"  {driver} " in line)
            least = out.splitlines()[out.splitlines().index(row) + 1].split("setcap ")[1].split("+ep")[0]
            caps = ",".join(f"+{name.removeprefix('cap_')}" for name in least.split(","))
            argv = [*EVERYBODY, f"--inh-caps={caps}", f"--ambient-caps={caps}", binary(), "run", str(path)]
            code, out, err = execute(lab().tester(*argv))
        assert code == 0 and "500 requests sent, all answered" in out, (driver, caps, code, out, err)
        check_untouched()


main()
