#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# DHCP messages that are wrong on purpose: each kind is sent by its share, its answer or silence is judged apart, and the good
# exchanges beside them are measured as if they were alone.

import dhcp4
import dhcp6
from dhcp import steps
from harness import check_ledger, ddiperf, main, test
from loop import ring

KINDS = {
    dhcp4: ("header", "cookie", "end", "cut", "length", "type", "no_type", "hlen", "nobody", "overload", "client_id", "relay_info",
            "reply", "random"),
    dhcp6: ("empty", "cut", "type", "reply", "no_client_id", "duid_empty", "duid_long", "duid_twice", "server_id", "ia",
            "ia_address", "elapsed", "oro", "random"),
}


def run(family, wrong, load=None, responder=None, keys=None, **settings):
    one = family.clients(wrong=wrong, load=load or {"rate": "2k"}, clients="20k", keys={"timeout": "500ms"}, **settings)
    result = ddiperf(ring(one, run={"duration": "500ms", "warmup": "0s"}, responder=responder or family.answers(),
                          **family.family.ports, **(keys or {})))
    assert result.json, result
    one = family.of_clients(result)
    check_ledger(one)
    n = one[one["protocol"]]
    assert one["no_reply"] == sum(n["wrong_sent"].values()), one
    for kind, sent in n["wrong_sent"].items():
        assert sent == n["wrong_answered"].get(kind, 0) + n["wrong_unanswered"].get(kind, 0), (kind, n)
    return one, n


def check_family(family):
    one, n = run(family, {kind: "4%" for kind in KINDS[family]})
    assert set(n["wrong_sent"]) == set(KINDS[family]) and all(15 < sent < 70 for sent in n["wrong_sent"].values()), n
    # Nothing is lost, failed or late, and nothing good has waited for what never comes.
    assert one["lost"] == one["failed"] == one["late"] == one["stray"] == one["malformed"] == one["duplicate"] == 0, one
    assert one["answered"] == n["leases"] > 350, one
    assert one["latency"]["response"]["max_ns"] < 400e6, one
    first, second = list(steps(one).values())[:2]
    assert first["no_reply"] == one["no_reply"] and second["sent"] == one["answered"], one
    return n


@test
def each_kind_of_dhcpv4_is_judged_apart():
    n = check_family(dhcp4)
    assert {"header", "cookie", "cut", "reply"} <= set(n["wrong_unanswered"]), n


@test
def each_kind_of_dhcpv6_is_judged_apart():
    n = check_family(dhcp6)
    assert {"cut", "type", "reply"} <= set(n["wrong_unanswered"]), n


@test
def what_ends_a_lease_is_never_wrong():
    for family, mix in ((dhcp4, {"dora": "50%", "release": "50%"}), (dhcp6, {"sarr": "50%", "release": "50%"})):
        n = run(family, {"type": "100%"}, mix=mix)[1]
        assert n["leases"] == n["released"] == 0 and n["no_bound_client"] > 0 and n["wrong_sent"]["type"] > 100, n


@test
def the_same_seed_has_the_same_wrong_messages():
    sent = [run(dhcp4, {"random": "10%", "hlen": "5%"})[1]["wrong_sent"] for _ in range(2)]
    assert sent[0] == sent[1] and 60 < sent[0]["random"] < 140 and 25 < sent[0]["hlen"] < 80, sent


@test
def more_than_all_is_refused():
    result = ddiperf(ring(dhcp4.clients(wrong={"hlen": "60%", "cut": "50%"}), responder=dhcp4.answers()))
    assert result.code == 2 and "more than 100% of the messages" in result.stderr, result


main()
