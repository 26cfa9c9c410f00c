#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Whether a run is as its plan said. The words of plans: tests/unit/app/transcripts/plan.txt.

import json

import dhcp4
from harness import binary, config_file, ddiperf, execute, main, test
from loop import item, ring

HEADERS = 42 + 24  # Ethernet, IPv4 and UDP; checksum, preamble and gap


def leases(**keys):
    """Tester and responder, clients behind relays."""
    return ring(dhcp4.clients(**keys), responder=dhcp4.answers())


def plan(text, *options):
    with config_file(text) as file:
        code, out, err = execute([binary(), "plan", str(file), "--json", "-", *options])
    assert code == 0, (code, out, err)
    return json.loads(out)


@test
def a_dns_run_is_as_its_plan_says():
    many = [item("short", dns={"names": ["a.x A"]}),
            item("long", load={"rate": "1k"}, dns={"names": ["h{0-999}.some.example.com A"], "edns": {"size": 1232}})]
    forecast, result = plan(ring(*many)), ddiperf(ring(*many))
    assert result.json, result
    for one in forecast["traffic"]:
        ran = result.item(one["name"])
        assert one["per_s"] == round(ran["due_per_s"]) and one["messages"] == one["answers"] == 1, (one, ran)
        for octets, counter in (("message_octets", "request_bytes"), ("answer_octets", "reply_bytes")):
            mean = ran["dns"][counter] / ran["sent" if octets == "message_octets" else "answered"] + HEADERS
            assert abs(max(mean, 84) - one[octets]) < 1, (octets, mean, one)


@test
def an_exchange_of_several_messages_is_planned_with_all_of_them():
    text = leases(load={"rate": "1k"}, keys={"timeout": "5s"})
    (one,), result = plan(text)["traffic"], ddiperf(text)
    ran = result.item(one["name"])
    assert (one["messages"], one["answers"], one["sampled"]) == (2, 2, 331), one
    assert one["source_ports"] == 0, one
    for octets, counter, cell in (("message_octets", "request_bytes", "sent"), ("answer_octets", "reply_bytes", "answered")):
        messages = sum(step[cell] for step in ran["steps"])
        assert messages == 2 * ran[cell], ran
        assert abs(ran["dhcp4"][counter] / messages + HEADERS - one[octets]) < 1, (octets, ran["dhcp4"][counter], one)


main()
