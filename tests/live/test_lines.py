#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# One line instead of a file, from a host with addresses of its own: ddiperf dns without root, ddiperf dhcp and dhcp6.

import contextlib
import json

from harness import Box, binary, check_ledger, execute, main, test
from live import RELAXED, SERVER, lab

CALM = [word for name, value in RELAXED.items() for word in ("--set", f"validity.{name}={value}")]


@contextlib.contextmanager
def host(server, *addresses):
    """The lab with addresses on the tester's side, which has none of its own and no IPv6."""
    here = lab(server)

    def ip(*words):
        code, _, err = here.call("run", *words)
        assert code == 0, (words, err)

    ip("sysctl", "-qw", "net.ipv6.conf.veth0.disable_ipv6=0")
    for address in addresses:
        ip("ip", "address", "replace", address, "dev", "veth0", *(["nodad"] if ":" in address else []))
    try:
        yield here
    finally:
        ip("ip", "address", "flush", "dev", "veth0")
        ip("sysctl", "-qw", "net.ipv6.conf.veth0.disable_ipv6=1")


def line(here, *words, prefix=()):
    code, out, err = execute([*here.tester(), *prefix, binary(), *words, *CALM, "--json", "-"])
    assert code == 0, (words, code, out[-2000:], err)
    document = json.loads(out)
    Box.saw(document)
    item = document["traffic"][0]
    check_ledger(item)
    assert item["sent"] == item["answered"] > 0, (words, item)
    return document, item, err


@test
def dns_in_one_line_without_root():
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all"]
    with host("knot", "198.18.0.9/24", "2001:db8::9/64") as here:
        for family in (4, 6):
            with here.counted() as grown:
                document, item, err = line(here, "dns", SERVER[family], "h{0-999}.example.com", "A", "-r", "1k", "-t", "1", "-w", "0", prefix=nobody)
            assert item["sent"] == 1000 and item["dns"]["rcode"] == {"NOERROR": 1000}, item
            assert grown["queries"] == 1000, grown
            assert document["verdict"]["status"] == "done" and document["ports"][0]["driver"] == "socket", document["verdict"]
            assert "faster" in err and "veth0" in err, err


@test
def dhcp_in_one_line_through_this_host_as_relay():
    with host("kea", "198.18.0.9/15") as here:
        with here.counted() as grown:
            _, item, _ = line(here, "dhcp", SERVER[4], "-r", "100", "-t", "1", "-w", "0")
        assert item["sent"] == 100 and grown["leases"] == 100, (item, grown)


@test
def dhcp_in_one_line_from_an_interface():
    with host("kea") as here:
        with here.counted() as grown:
            _, item, _ = line(here, "dhcp", "-i", "veth0", "-r", "100", "-t", "1", "-w", "0", "-m", "02:55:00:00:00:00")
        assert item["sent"] == 100 and grown["leases"] == 100, (item, grown)


@test
def dhcp6_in_one_line_both_ways():
    with host("kea6", "2001:db8::9/64") as here:
        with here.counted() as grown:
            _, item, _ = line(here, "dhcp6", SERVER[6], "-r", "100", "-t", "1", "-w", "0")
        assert item["sent"] == 100 and grown["addresses"] == 100, (item, grown)
        with here.counted() as grown:
            _, item, _ = line(here, "dhcp6", "-i", "veth0", "-r", "100", "-t", "1", "-w", "0", "-m", "02:66:00:00:00:00", "--force")
        assert item["sent"] == 100 and grown["addresses"] == 100, (item, grown)


main()
