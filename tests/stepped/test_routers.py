#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Clients on a link ask for routers before their first message (RFC 4861): the responder advertises, on each VLAN, with and
# without the flags that send hosts to DHCPv6, or there is no router.

import dhcp6
from dhcp6 import answers, clients, of_clients
from harness import EXIT, check_ledger, ddiperf, main, test
from loop import ring

VLANS = [{"clients": "0-9", "vlans": [100]}, {"clients": "10-19", "vlans": [200, 300]}]


def run(router, *, code="pass", vlans=None, exchange="sarr", **wanted):
    """What was found of routers, and the result; router None: the responder is none."""
    one = clients(load={"outstanding": 4, "total": 40}, relay=None, exchange=exchange, clients=100,
                  router_solicitation={"interval": "40ms" if router is None else "400ms", **wanted}, **({"vlans": vlans} if vlans else {}))
    responder = {**answers(), **({} if router is None else {"router": router})}
    result = ddiperf(ring(one, run={"duration": "5s", "warmup": "0s"}, responder=responder, **dhcp6.family.ports))
    assert result.code == EXIT[code], result
    check_ledger(result.json["traffic"][0])
    if code == "pass":
        assert of_clients(result)["answered"] == 40, result
    else:
        assert of_clients(result)["sent"] == 0, result
    return result.json["routers"], result


@test
def an_advertisement_is_in_the_result_before_clients_begin():
    (one,), result = run({"other": True, "lifetime": "20m", "prefixes": ["2001:db8::/64", "2001:db8:40::/48"]})
    took = one.pop("took_ns")
    prefix = {"on_link": True, "autonomous": False, "valid_s": 2592000, "preferred_s": 604800}
    assert one.pop("prefixes") == [{"prefix": "2001:db8::/64", **prefix}, {"prefix": "2001:db8:40::/48", **prefix}], one
    assert one == {"item": "clients", "port": "tester", "vlans": "none", "asked": one["asked"], "heard": True, "router": one["router"],
                   "managed": True, "other": True, "hop_limit": 64, "lifetime_s": 1200}, one
    assert one["router"].startswith("fe80::") and 1 <= one["asked"] <= 3 and 0 < took < 10e9, (one, took)
    assert f"clients on port tester, VLANs none: {one['router']} after " in result.stdout and ", managed, other, for 1200 s" in result.stdout, result


@test
def each_vlan_of_the_clients_is_asked_once():
    routers, _ = run({}, vlans=VLANS)
    assert [(one["vlans"], one["heard"], one["managed"]) for one in routers] == [
        ("none", True, True), ("100", True, True), ("200.300", True, True)], routers


def without_flag_m(other, code, **wanted):
    (one,), result = run({"managed": False, "other": other}, code=code, **wanted)
    assert one["heard"] and not one["managed"] and one["other"] == other, one
    if code == "unreachable":
        assert "does not send hosts to it" in result.stderr and "does not send" in result.json["verdict"]["reasons"][0], result


@test
def without_flag_m_clients_do_not_begin():
    without_flag_m(True, "unreachable")


@test
def without_flag_m_those_begin_that_need_less():
    without_flag_m(False, "pass", need="advert")
    without_flag_m(True, "pass", exchange="information")
    without_flag_m(False, "unreachable", exchange="information")


@test
def without_a_router_they_ask_as_often_as_they_may():
    (one,), result = run(None, code="unreachable", tries=2)
    assert one["asked"] == 2 and not one["heard"] and one["took_ns"] is None and not one["prefixes"], one
    assert "no router advertisement on port tester, VLANs none (asked 2 times)" in result.stderr, result


@test
def without_a_router_those_begin_that_need_none():
    (one,), result = run(None, need="nothing", tries=3)
    assert one["asked"] == 3 and not one["heard"] and "no advertisement (asked 3 times)" in result.stdout, result


main()
