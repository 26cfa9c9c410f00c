# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the loop suite's kind on the cards of a virtual machine: CARD is one of scripts/guest.py.

What loop.ring() makes, with its pair of rings, runs in the guest on a pair of cards: on_cards() is the only place that
knows the difference. Two CPUs emulate all of the guest's, so nothing about time is judged there: bounds of validity are
open, timeouts are longer than any pause of the box. Every figure of the ledger still counts.
"""

import atexit
import contextlib
import json
import os
import sys
from pathlib import Path

import dhcp
import loop
from harness import ROOT, Result, binary, skip
from wire import Wire

sys.path.insert(0, str(ROOT / "scripts"))
from guest import CARDS, Guest, GuestError

CARD = os.environ.get("CARD", "e1000e")
ADDRESSES = {"tester": "0000:01:00.0", "dut": "0000:02:00.0"}
FUNCTIONS = {"tester": "0000:01:10.0", "dut": "0000:02:10.0"}  # the first virtual function of each, on igb
SMP = 6  # CPUs: 0 for the management thread, 1 to 4 for workers, 5 for the responder
TIMEOUT = "30s"

_guest = wire = None
_every_port = {}
_addresses = ADDRESSES


@contextlib.contextmanager
def ports(**settings):
    """While it lasts, both ports have these settings too."""
    _every_port.update(settings)
    try:
        yield
    finally:
        _every_port.clear()


@contextlib.contextmanager
def functions():
    """While it lasts, the ports are virtual functions of the cards, which are the kernel's."""
    global _addresses
    here = guest(bound=False)
    try:
        code, out, err = here.run("set -e; modprobe " + CARDS[CARD][2] + "".join(
            f"""
            card=/sys/bus/pci/devices/{ADDRESSES[name]}
            ip link set dev $(ls $card/net) up
            echo 1 > $card/sriov_numvfs
            echo vfio-pci > /sys/bus/pci/devices/{FUNCTIONS[name]}/driver_override
            echo {FUNCTIONS[name]} > /sys/bus/pci/drivers/vfio-pci/bind""" for name in ADDRESSES) + """
            sleep 2  # making functions takes the link down for a moment
            for n in 1 2 3 4 5 6 7 8 9; do cat /sys/class/net/*/carrier 2>/dev/null | grep -q 0 || break; sleep 1; done""")
        assert code == 0, out + err
        _addresses = FUNCTIONS
        yield
    finally:
        _addresses = ADDRESSES
        stop()


def guest(**settings):
    """The guest that is up; with settings: a new one."""
    global _guest, wire
    if _guest and settings:
        stop()
    if not _guest:
        if os.geteuid() != 0:
            skip("needs root")
        one = Guest(CARD, **{"smp": SMP, "binary": binary(), "root": os.environ.get("CARDS_ROOT", ""), **settings})
        if not CARDS[CARD][4]:
            one.wire = f"{one.own}/wire"
            wire = Wire(one.wire, f"{one.own}/hub")
        try:
            _guest = one.__enter__()
        except GuestError as error:
            if "not installed" in str(error):
                skip(str(error))
            raise
    return _guest


@atexit.register
def stop():
    """The next test begins with a new guest."""
    global _guest
    if _guest:
        _guest.__exit__()
        _guest = None


def on_cards(text, workers=1):
    """A configuration with a pair of rings, as one with two cards."""
    config = json.loads(text)
    for port in config["ports"]:
        port.update(driver="pci", device=_addresses[port["name"]])
        port.update(_every_port)
        port.setdefault("cpus", [SMP - 1] if port["name"] == "dut" else list(range(1, 1 + workers)))
    for one in config["traffic"]:
        one["timeout"] = TIMEOUT
    config["host"] = {"idle": "sleep", "management_cpu": 0, **config.get("host", {})}
    config["validity"] = {**loop.RELAXED, "clock": "100%", **config.get("validity", {})}
    return json.dumps(config)


def begin(config, *options, workers=1):
    """Start a run in the guest; for end()."""
    here = guest()
    (here.folder / "test.yaml").write_text(on_cards(config, workers))
    (here.folder / "result.json").unlink(missing_ok=True)
    return here.begin(" ".join(["exec ddiperf run test.yaml --json result.json", *options]))


def end(name, seconds=120):
    here = guest()
    code, out, err = here.end(name, seconds)
    path = here.folder / "result.json"
    document = json.loads(path.read_text()) if path.exists() and path.stat().st_size else None
    return Result(code, document, out, err, invalid=True)


def ddiperf(config, *options, workers=1, seconds=120):
    """As harness.ddiperf(), in the guest."""
    return end(begin(config, *options, workers=workers), seconds)


dhcp.ddiperf = ddiperf


def served(result):
    """All that was sent was answered, and the responder has counted the same."""
    assert result.code == 0 and result.json, result
    for one in result.json["traffic"]:
        assert one["due"] == one["sent"] == one["answered"] > 0, (one, result)
        assert one["stray"] == one["late"] == one["duplicate"] == one["malformed"] == 0, one
    probes = sum(port.get("steering_probe", {}).get("sent", 0) for port in result.json["ports"])
    assert result.json["responder"]["received"] == sum(one["sent"] for one in result.json["traffic"]) + probes, result
    for port in result.json["ports"]:
        assert port["rx_missed"] == port["rx_no_mbuf"] == port["tx_errors"] == port["hand_over_full"] == 0, port
        assert port["other"]["bad_checksum"] == port["other"]["wrong_vlan"] == 0, port
    return result


def handed_over(result):
    """Share of the replies that another worker than the one that asked received."""
    workers = result.json["workers"]
    return sum(one["handed_over"] for one in workers) / sum(one["received"] for one in workers)


def seen(what):
    """A row of the table of cards, for whoever reads the output."""
    print(f"# {CARD}: {what}", flush=True)
