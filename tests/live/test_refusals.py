#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# What a run refuses to start on, with the reason and the command that helps; and that a refusal leaves nothing behind.

import contextlib

from harness import EXIT, binary, config_file, execute, main, test
from live import DRIVERS, Running, check_untouched, config, lab


def ip(*words):
    code, out, err = execute(lab().tester("ip", *words))
    assert code == 0, (words, out, err)


@contextlib.contextmanager
def changed(do, undo):
    ip(*do)
    try:
        yield
    finally:
        ip(*undo)


def address_on_veth0(address, family="-4"):
    return changed(*((family, "addr", verb, address, "dev", "veth0") for verb in ("add", "del")))


def refused(text, *words, up=True):
    result = lab().ddiperf(text)
    assert result.code == EXIT["environment"], result
    for word in words:
        assert word in result.stderr, (word, result)
    assert "lan" in result.stderr, result
    check_untouched(up)
    return result


@test
def an_address_of_the_port_that_the_kernel_also_has_is_refused():
    for address in ("198.18.0.1/24", "2001:db8::1/64"):
        family = "-6" if ":" in address else "-4"
        execute(lab().tester("sh", "-c", "echo 0 >/proc/sys/net/ipv6/conf/veth0/disable_ipv6"))
        with address_on_veth0(address, family):
            for driver in DRIVERS:
                refused(config(driver), address, f"ip address del {address} dev veth0")


@test
def an_interface_with_another_address_of_the_host_is_refused():
    with address_on_veth0("203.0.113.9/24"):
        for driver in DRIVERS:
            refused(config(driver), "203.0.113.9/24", "force: true")


@test
def an_interface_with_the_default_route_is_refused():
    with address_on_veth0("203.0.113.9/24"):
        ip("route", "add", "default", "via", "203.0.113.1")
        for driver in DRIVERS:
            refused(config(driver), "default route", "force: true")


@test
def a_default_route_over_ipv6_is_one_too():
    execute(lab().tester("sh", "-c", "echo 0 >/proc/sys/net/ipv6/conf/veth0/disable_ipv6"))
    route = ("-6", "route", "add", "default", "dev", "veth0")
    with changed(route, ("-6", "route", "del", "default", "dev", "veth0")):
        refused(config("af_packet"), "default route")


@test
def with_force_the_interface_is_used_all_the_same():
    lab("knot")
    with address_on_veth0("203.0.113.9/24"):
        for driver in DRIVERS:
            result = lab().ddiperf(config(driver, port={"force": True}))
            assert result.code == 0 and result.item("queries")["lost"] == 0, result
            check_untouched()


@test
def an_interface_that_is_not_there_is_named_with_those_that_are():
    for driver in DRIVERS:
        refused(config(driver, port={"device": "veth7"}), "veth7", "no such interface", "veth0")


@test
def an_interface_that_is_down_is_refused_with_the_command_that_helps():
    with changed(("link", "set", "veth0", "down"), ("link", "set", "veth0", "up")):
        for driver in DRIVERS:
            refused(config(driver), "down", "ip link set dev veth0 up", up=False)


@test
def an_mtu_above_the_interfaces_is_refused():
    refused(config("af_packet", port={"mtu": 1501}), "1500", "ip link set dev veth0 mtu 1501")


@test
def without_privilege_the_missing_capability_is_named():
    with config_file("") as path:
        for driver in DRIVERS:
            path.write_text(config(driver))
            argv = lab().tester("setpriv", "--bounding-set=-all", "--inh-caps=-all", binary(), "run", str(path))
            code, _, err = execute(argv)
            assert code == EXIT["environment"] and "CAP_NET_RAW" in err and "setcap" in err, (code, err)
            check_untouched()


@test
def one_missing_capability_is_named_alone():
    with config_file(config("af_xdp")) as path:
        argv = lab().tester("setpriv", "--bounding-set=-sys_admin,-bpf", "--inh-caps=-all", binary(), "run", str(path))
        code, _, err = execute(argv)
    assert code == EXIT["environment"] and "CAP_SYS_ADMIN missing" in err, (code, err)


@test
def more_hugepages_than_there_are_is_refused_with_the_command_that_helps():
    text = config("af_packet", host={"memory": "hugepages", "memory_size": "1000GiB"})
    result = lab().ddiperf(text)
    assert result.code == EXIT["environment"], result
    assert "hugepages" in result.stderr and "/proc/sys/vm/nr_hugepages" in result.stderr, result
    check_untouched()


@test
def a_second_run_on_the_same_interface_is_refused_and_the_first_goes_on():
    lab("knot")
    with Running(config("af_packet", run={"duration": "60s"})) as running:
        for driver in DRIVERS:
            result = lab().ddiperf(config(driver))
            assert result.code == EXIT["environment"] and "in use" in result.stderr, result
        running.signal()
    assert running.result.code == EXIT["interrupted"] and running.result.item("queries")["lost"] == 0, running.result
    check_untouched()


@test
def devargs_are_no_way_round_a_refusal():
    """driver: vdev with the devargs of another driver passes its checks and claims the interface."""
    lab("knot")
    for devargs in ("net_af_packet0,iface=veth0", "eth_af_packet0,qpairs=1,iface=veth0", "net_pcap0,iface=veth0",
                    "net_pcap0,rx_iface=veth0,tx_iface=veth0", "net_af_xdp0,iface=veth0"):
        text = config("vdev", port={"device": devargs})
        with address_on_veth0("203.0.113.9/24"):
            refused(text, "203.0.113.9/24", "force: true")
    text = config("vdev", port={"device": "net_af_packet0,iface=veth0"}, run={"duration": "60s"})
    with Running(text) as running:
        result = lab().ddiperf(config("pcap"))
        assert result.code == EXIT["environment"] and "in use" in result.stderr, result
        running.signal()
    assert running.result.code == EXIT["interrupted"] and running.result.item("queries")["lost"] == 0, running.result
    check_untouched()


@test
def doctor_says_the_same_as_a_run():
    with changed(("link", "set", "veth0", "down"), ("link", "set", "veth0", "up")):
        with config_file(config("af_packet")) as path:
            code, out, err = execute(lab().tester(binary(), "doctor", str(path)))
    assert code == EXIT["environment"] and "ip link set dev veth0 up" in out, (code, out, err)


main()
