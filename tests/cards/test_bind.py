#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# A card on its way from the driver of the kernel to DPDK and back: bind, a run, unbind, and each refusal that a guest
# can have. The refusals for groups and virtual functions are in tests/unit/io/test_pci.c.

import re
import time

import cards
from cards import ADDRESSES, CARD, CARDS, begin, ddiperf, end, guest, served
from harness import EXIT, main, test
from loop import item, ring

FIRST, SECOND = ADDRESSES.values()
CONFIG = ring(item(load={"outstanding": 16, "total": 400}), run={"duration": "60s"})


def ask(text, code=0, said=""):
    got, out, err = guest().run(text)
    assert got == code and said in out + err, (text, got, out, err)
    return out


def until(what, seconds=30):
    last = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < last, f"no {what.__name__} after {seconds} s"
        time.sleep(0.5)
    return found


def listed():
    """(driver, interface) of each card."""
    rows = re.findall(r"^(0000:\S+)  \S+  (\S+) +(\S+) +(?:group \d+|none)\n +-> .", ask("ddiperf bind"), re.M)
    return {card: (driver, interface) for card, driver, interface in rows}


def with_the_kernel(**settings):
    """A new guest with both cards at the kernel's driver, and what bind says of them."""
    def interfaces():
        now = listed()
        return now if sorted(now) == [FIRST, SECOND] and "-" not in (now[FIRST][1], now[SECOND][1]) else None

    guest(bound=False, **settings)
    ask(f"modprobe {CARDS[CARD][2]}")
    return until(interfaces)


def link(interface):
    """Its flags and MTU."""
    found = re.search(r"<(.*?)> mtu (\d+)", ask(f"ip link show dev {interface}"))
    return "UP" in found[1].split(","), int(found[2])


@test
def a_card_is_bound_runs_and_comes_back():
    before = with_the_kernel()
    one, other = before[FIRST][1], before[SECOND][1]
    assert f"`ddiperf bind {FIRST}`" in ask(f"ddiperf bind; ddiperf doctor | grep -A9 ^cards")
    result = ddiperf(CONFIG)
    assert result.code == EXIT["environment"] and f"DPDK needs vfio-pci: `ddiperf bind {FIRST}`" in result.stderr, result

    ask(f"ip link set dev {one} mtu 1400 up; ip addr add 192.0.2.1/24 dev {one}; ip route add default via 192.0.2.2")
    ask(f"ddiperf bind --force {SECOND} {FIRST}", 3, f"{FIRST}: {one} carries the default route of this box")
    ask(f"ip route del default; ddiperf bind {SECOND} {FIRST}", 3, f"`ip address del 192.0.2.1/24 dev {one}`")
    ask(f"busybox unshare -n sleep 1000 & echo $! >/tmp/pid; sleep 1; ip link set dev {other} netns $!")
    ask(f"ddiperf bind --force {FIRST} {SECOND}", 3, "in another network namespace")
    ask("kill $(cat /tmp/pid)")
    until(lambda: listed() == before)

    ask(f"ddiperf bind --force {FIRST} {SECOND}", 0, f"the address 192.0.2.1/24 of {one} is gone")
    assert listed() == {FIRST: ("vfio-pci", "-"), SECOND: ("vfio-pci", "-")}
    served(ddiperf(CONFIG))
    run = begin(ring(run={"duration": "60s"}))
    until(lambda: re.search(r"/dev/vfio/\d", ask("ls -l /proc/$(pidof ddiperf)/fd; true")))
    ask(f"ddiperf unbind {FIRST}", 3, f"{FIRST} is in use by a process")
    ask("kill -INT $(pidof ddiperf)")
    assert end(run).code == EXIT["interrupted"]

    ask(f"ddiperf unbind {FIRST} {SECOND}")
    assert listed() == before, listed()
    assert link(one) == (True, 1400) and link(other) == (False, 1500), (link(one), link(other))
    ask("ls /run/ddiperf", 1)
    cards.stop()


@test
def without_an_iommu_a_card_stays_with_the_kernel():
    before = with_the_kernel(iommu=False)
    ask(f"ddiperf bind {FIRST}", 3, "this box has no IOMMU in use")
    assert listed() == before
    result = ddiperf(CONFIG)
    assert result.code == EXIT["environment"] and "add intel_iommu=on or amd_iommu=on" in result.stderr, result
    cards.stop()


main()
