#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Things that happen to a card in mid-run, through QEMU's monitor and sysfs: verdict and message are right, a loss of the
# tester is never the server's, and nothing hangs.

import re
import time

from cards import ADDRESSES, begin, end, guest, on_cards, seen, stop
from harness import EXIT, check_ledger, main, test, until
from loop import item, ring

RATE = 200
SECONDS = 6


def long_run():
    return ring(item(load={"rate": RATE}), run={"duration": f"{SECONDS}s", "interval": "500ms"}, validity={"dropped": "0%"})


def started():
    """A run that has shown three intervals."""
    name = begin(long_run(), "--interval-format", "{t_s}")
    until(lambda: re.findall(r"^\d+\.\d+$", guest().out(name), re.M)[2:], lambda: f"three intervals: {guest().out(name)}", 60)
    return name


def ended(name):
    """The result; its item, of which nothing is missing."""
    result = end(name)
    one = result.item("queries")
    check_ledger(one)
    assert one["due"] == RATE * SECONDS, one
    return result, one


def is_invalid_by_the_tester(result, reason):
    verdict = result.json["verdict"]
    assert result.code == EXIT["invalid"] and verdict["invalid_by"] == verdict["limited_by"] == "tester", result
    assert re.search(reason, " ".join(verdict["reasons"])), verdict


@test
def a_link_that_goes_down_makes_the_run_invalid():
    name = started()
    guest().monitor("set_link", name="a", up=False)
    time.sleep(1.5)
    guest().monitor("set_link", name="a", up=True)
    result, one = ended(name)
    is_invalid_by_the_tester(result, "port tester: the link was down 1 times, ")
    assert "INVALID: the tester's link was down" in result.stdout, result
    port = result.json["ports"][0]
    assert port["link_downs"] == 1 and port["link_down_s"] > 0.5 and one["lost"] > 0.5 * RATE, (port, one)


@test
def a_card_that_another_process_uses_is_refused():
    name = started()
    (guest().folder / "second.yaml").write_text(on_cards(long_run()))
    for command in ("run", "doctor"):
        code, out, err = guest().run(f"ddiperf {command} second.yaml")
        assert code == EXIT["environment"] and "another process uses the card: wait for its end" in out + err, (code, out, err)
    result, one = ended(name)
    assert result.code == 0 and one["answered"] == one["sent"] == one["due"], result


@test
def a_reset_of_the_card_is_no_loss_of_the_server():
    name = started()
    code, _, err = guest().run(f"echo 1 > /sys/bus/pci/devices/{ADDRESSES['tester']}/reset")
    result, one = ended(name)
    if one["answered"] == one["due"]:
        seen(f"reset: {'no effect' if code == 0 else err.strip()}")
    else:
        seen(f"reset: {' '.join(result.json['verdict']['reasons'])}")
        is_invalid_by_the_tester(result, "the link was down|the device took .* packets and sent ")
    stop()  # the next test has a card as it was


@test
def a_card_that_is_unplugged_is_gone_after_the_run():
    """The kernel asks and waits: the run is told nothing and ends as it would."""
    name = started()
    guest().monitor("device_del", id="a")
    result, one = ended(name)
    assert result.code == 0 and one["answered"] == one["sent"] == one["due"], result
    folder = f"/sys/bus/pci/devices/{ADDRESSES['tester']}"
    assert guest().run(f"for n in 1 2 3 4 5 6 7 8 9; do [ -e {folder} ] || exit 0; sleep 1; done; exit 1")[0] == 0, guest().log()
    code, _, err = guest().run("ddiperf run test.yaml")
    assert code == EXIT["environment"] and "there is no such network card" in err, (code, err)
    stop()


main()
