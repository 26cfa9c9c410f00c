#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# A tester is a neighbour like others: the kernel at the far end finds its addresses by ARP and ND and can ping them,
# its own and those of its clients, while it sends.

from harness import check_ledger, execute, main, test
from live import DRIVERS, SERVER, Running, config, item, lab, link, ping

CLIENTS = ("198.18.0.16", "198.18.0.31")
COUNT = 5


def forget_neighbours():
    for family in ("-4", "-6"):
        execute(lab().dut("ip", family, "neigh", "flush", "all"))


def neighbours():
    _, out, _ = execute(lab().dut("ip", "neigh", "show", "dev", "veth1"))
    return {line.split()[0]: line.split()[2] for line in out.splitlines() if " lladdr " in line}


def check(driver):
    lab("knot")
    one = item(source={"addresses": [f"{CLIENTS[0]}-{CLIENTS[1]}"]})
    asked = ("198.18.0.1", *CLIENTS, "2001:db8::1")
    with Running(config(driver, one, run={"duration": "3s"})) as running:
        forget_neighbours()
        answered = {address: ping(address, COUNT) for address in asked}
        known = neighbours()
        unanswered = ping("198.18.0.99", 1), ping("2001:db8::99", 1)
    result = running.result
    assert answered == dict.fromkeys(asked, COUNT), (answered, result)
    assert unanswered == (0, 0), "an address that is not the tester's answers"
    assert {known.get(address) for address in asked} == {link()["address"]}, known
    other = result.json["ports"][0]["other"]
    assert other["echo_answered"] == COUNT * len(asked), other
    assert other["neighbour_answered"] >= len(asked), other
    check_ledger(result.item("queries"))
    assert result.item("queries")["lost"] == 0 and result.code == 0, result


def add(driver):
    def run():
        check(driver)

    run.__name__ = f"arp_nd_and_ping_are_answered_during_a_run_through_{driver}"
    test(run)


for each in DRIVERS:
    add(each)


@test
def a_server_behind_a_gateway_is_reached_through_it():
    here = lab("knot")
    for address in ("198.19.99.2/32", "2001:db8:99::2/128"):
        execute(here.dut("ip", "addr", "add", address, "dev", "lo"))
    # Knot listens on other addresses only; so it is enough that the queries get there.
    port = {"gateway": list(SERVER.values())}
    items = [item("four", server="198.19.99.2"), item("six", server="2001:db8:99::2")]
    result = here.ddiperf(config("af_packet", *items, port=port))
    one = result.json["ports"][0]
    assert result.code == 4 and one["other"]["icmp_errors"].get("port_unreachable", 0) > 1, result
    assert result.item("four")["sent"] == result.item("six")["sent"] == 500, result


main()
