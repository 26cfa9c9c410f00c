#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# A protocol that only this test has (parley.c): identifiers of 8 bits, digests of requests, two answers to one request,
# and another port of the server that the next message must go to. Whole runs, in order and over a bad link.

from harness import check_ledger, ddiperf, main, test
from loop import ring

EXCHANGES = 4000


def play(link="", **keys):
    """(the item's result, the responder's counters) of EXCHANGES exchanges."""
    item = {"name": "clients", "server": "198.18.0.2", "timeout": "100ms",
            "load": {"rate": "2k", "total": str(EXCHANGES)}, "parley": {}, **keys}
    result = ddiperf(ring(item, run={"duration": "4s"}, responder={"parley": {}}), world=link)
    got = result.item("clients")
    check_ledger(got)
    assert got["sent"] == EXCHANGES, got
    return got, result.json["responder"]["protocols"][0]["parley"]


@test
def two_parts_come_from_another_port_and_the_confirm_goes_there():
    got, server = play()
    assert got["answered"] == EXCHANGES and got["stray"] == got["duplicate"] == got["malformed"] == 0, got
    assert got["parley"]["parts"] == 2 * EXCHANGES and got["parley"]["again"] == 0, got
    assert server["hellos"] == server["confirms"] == EXCHANGES, server
    assert server["wrong_port"] == server["bad_digest"] == 0, server
    steps = {step["name"]: step for step in got["steps"]}
    assert steps["hello-parts"]["answered"] == steps["confirm-done"]["answered"] == EXCHANGES, steps


@test
def it_works_over_ipv6():
    both = {"tester": {"addresses": ["2001:db8::1/64"]}, "dut": {"addresses": ["2001:db8::2/64"]}}
    item = {"name": "clients", "server": "2001:db8::2", "load": {"rate": "2k", "total": "400"}, "parley": {}}
    result = ddiperf(ring(item, run={"duration": "1s"}, responder={"parley": {}}, **both))
    assert result.item("clients")["answered"] == 400, result


@test
def parts_that_are_lost_doubled_or_reordered_are_asked_for_again():
    got, server = play("loss=0.02 seed=3")
    assert got["answered"] > EXCHANGES * 0.99 and got["parley"]["again"] > 100, got
    assert got["parley"]["bad_digest"] == server["bad_digest"] == server["wrong_port"] == 0, (got, server)
    got, server = play("delay=1ms duplicate=0.05 reorder=0.05 seed=5")
    assert got["answered"] == EXCHANGES and got["duplicate"] > 100, got


@test
def keys_of_8_bits_suffice_on_few_ports():
    got, _ = play(source={"ports": "40000-40007"})
    assert got["answered"] == EXCHANGES and got["stray"] == 0, got


@test
def the_forecast_knows_it():
    plan = ddiperf(ring({"name": "clients", "server": "198.18.0.2", "load": {"rate": "1k"}, "parley": {}},
                        run={"duration": "1s"}, responder={"parley": {}}), command="plan")
    assert plan.code == 0 and "messages     2.00" in plan.stdout, plan


if __name__ == "__main__":
    main()
