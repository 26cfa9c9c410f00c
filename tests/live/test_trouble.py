#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# What goes wrong while a run goes on, or before it can: it ends in time, says what happened, and the next run works.

import os
import signal
import time

from harness import EXIT, check_ledger, check_sums, execute, main, nightly, test, timing, until
from live import DRIVERS, SERVER, Running, check_untouched, config, item, lab, lab_again, link


@test
def nobody_at_the_address_is_unreachable_and_says_what_was_asked():
    for family, absent, word in ((4, "198.18.0.9", "ARP"), (6, "2001:db8::9", "neighbour discovery")):
        result = lab().ddiperf(config("af_packet", item(server=absent)))
        assert result.code == EXIT["unreachable"], result
        for part in (absent, word, "port lan", "asked 15 times", "no VLAN", "traffic.queries"):
            assert part in result.stderr, (part, result)
        assert result.json["verdict"]["status"] == "unreachable" and result.item("queries")["sent"] == 0
        assert any(absent in reason for reason in result.json["verdict"]["reasons"]), result.json["verdict"]
    check_untouched()


@nightly
def nobody_on_the_vlan_says_which_vlan_was_asked():
    for vlans, text in (([100], "VLAN 100"), ([200, 300], "VLANs 200 and 300")):
        result = lab().ddiperf(config("af_xdp", port={"vlans": vlans}))
        assert result.code == EXIT["unreachable"] and text in result.stderr, result
    check_untouched()


@test
def a_closed_server_port_is_unreachable_and_icmp_says_so():
    lab("none")
    for driver in DRIVERS:
        for family in (4, 6):
            result = lab().ddiperf(config(driver, item(server=SERVER[family], timeout="200ms")))
            one = result.item("queries")
            check_sums(one)
            assert result.code == EXIT["unreachable"], result
            # It ends when that is known.
            assert one["answered"] == 0 and 3 <= one["sent"] == one["lost"] + one["in_flight"], one
            # The kernel limits how many it sends.
            assert result.json["ports"][0]["other"]["icmp_errors"].get("port_unreachable", 0) >= 1, result
            assert any("port unreachable" in reason for reason in result.json["verdict"]["reasons"]), result


def server_pids():
    code, out, _ = execute(["ip", "netns", "pids", f"{lab().prefix}-dut"])
    assert code == 0
    return [int(pid) for pid in out.split()]


def check_killed_server(driver):
    lab("knot")
    text = config(driver, item(load={"rate": "5k"}, timeout="300ms"), run={"duration": "3s"}, criteria=["loss <= 0.1%"])
    with Running(text) as running:
        time.sleep(0.5)
        pids = server_pids()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        begin = time.monotonic()
    lab_again("knot")
    result = running.result
    one = result.item("queries")
    check_ledger(one)
    assert pids and result.code == EXIT["fail"], result
    assert one["due"] == 15000 and one["answered"] > 1000 and one["lost"] > 5000, one
    assert one["answered"] + one["lost"] == one["sent"], one
    last = result.json["intervals"][-3]["traffic"][0]
    assert last["answered"] == 0 and last["lost"] > 0, result.json["intervals"]
    timing(result.json["verdict"]["limited_by"] == "server", result.json["verdict"])
    assert "FAIL" in result.stdout.splitlines()[-1] and "lost" in result.stdout.splitlines()[-1], result
    timing(time.monotonic() - begin < 15, "it hung")


@test
def a_server_that_dies_in_mid_run_is_a_loss_and_no_hang():
    check_killed_server("af_packet")


@test
def a_server_that_dies_in_mid_run_is_a_loss_through_af_xdp_too():
    check_killed_server("af_xdp")


@test
def one_signal_ends_a_live_run_with_its_report():
    lab("knot")
    for driver in DRIVERS:
        with Running(config(driver, run={"duration": "60s"})) as running:
            running.signal()
        result = running.result
        assert result.code == EXIT["interrupted"] and result.json["verdict"]["status"] == "interrupted", result
        one = result.item("queries")
        check_ledger(one)
        assert one["sent"] == one["answered"] > 0, one
        check_untouched()


def check_kill(driver):
    lab("knot")
    with Running(config(driver, run={"duration": "60s"})) as running:
        during = link()
        running.signal(signal.SIGKILL)
    assert running.result.code == -signal.SIGKILL, running.result
    assert ("xdp" in during) == (driver == "af_xdp"), during
    result = lab().ddiperf(config(driver))
    assert result.code == 0 and result.item("queries")["answered"] == 500, result
    check_untouched()


def add(driver):
    def run():
        check_kill(driver)

    run.__name__ = f"after_a_kill_the_next_run_through_{driver}_works_and_leaves_nothing"
    test(run)


for each in DRIVERS:
    add(each)


@test
def after_a_kill_another_driver_finds_the_interface_as_it_was():
    lab("knot")
    with Running(config("af_xdp", run={"duration": "60s"})) as running:
        running.signal(signal.SIGKILL)
    result = lab().ddiperf(config("af_packet"))
    assert result.code == 0 and result.item("queries")["answered"] == 500, result
    assert "killed run" in result.stderr, result
    check_untouched()


@test
def an_interface_that_goes_down_in_mid_run_is_no_hang():
    lab("knot")
    for driver in DRIVERS:
        text = config(driver, item(timeout="200ms"), run={"duration": "2s"}, criteria=["loss <= 0.1%"], validity={})
        try:
            with Running(text, invalid=True) as running:
                execute(lab().tester("ip", "link", "set", "veth0", "down"))
        finally:
            execute(lab().tester("ip", "link", "set", "veth0", "up"))
        result = running.result
        assert result.code in (EXIT["fail"], EXIT["invalid"]), result
        one = result.item("queries")
        assert one["due"] == one["sent"] + one["unsent"] == 2000, one
        assert one["sent"] == one["answered"] + one["lost"], one
        check_untouched()


@test
def a_link_that_an_event_takes_down_is_up_again_however_the_run_ends():
    lab("knot")
    down = [{"at": "200ms", "link": "down"}]
    for driver in DRIVERS[1:]:
        result = lab().ddiperf(config(driver, item(timeout="100ms"), events=down))
        assert result.json and result.json["events"][0]["outcome"] == "exit status 0", result
        assert "the kernel drops routes" in result.stderr, result
        check_untouched()
        text = config(driver, item(timeout="3s"), run={"duration": "60s"}, events=[*down, {"at": "50s", "link": "up"}])
        for numbers in ([signal.SIGINT], [signal.SIGINT] * 3, [signal.SIGKILL]):
            with Running(text, invalid=True) as running:
                until(lambda: "UP" not in link()["flags"], link)
                for number in numbers:
                    running.signal(number)
            assert running.result.code == (-signal.SIGKILL if number == signal.SIGKILL else EXIT["interrupted"]), running.result
            if number != signal.SIGKILL:
                check_untouched()
        # The next run finds it down, and knows why.
        result = lab().ddiperf(config(driver))
        assert result.code == 0 and result.item("queries")["answered"] == 500 and "killed run" in result.stderr, result
        check_untouched()


@nightly
def an_interface_that_is_deleted_in_mid_run_is_a_link_that_went_down():
    for driver in DRIVERS:
        lab("knot")
        text = config(driver, item(timeout="200ms"), run={"duration": "2s"})
        try:
            with Running(text, invalid=True) as running:
                code, out, err = execute(lab().tester("ip", "link", "del", "veth0"))
                assert code == 0, (out, err)
        finally:
            lab_again("knot")
        result = running.result
        one = result.item("queries")
        check_ledger(one)
        assert one["due"] == 2000 and one["answered"] > 0, one
        assert result.code == EXIT["invalid"] and result.json["verdict"]["invalid_by"] == "tester", result
        assert any("port lan: the link was down 1 times" in reason for reason in result.json["verdict"]["reasons"]), result
        result = lab().ddiperf(config(driver))
        assert result.code == 0 and result.item("queries")["answered"] == 500, result
        check_untouched()


main()
