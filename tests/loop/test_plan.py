#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# plan: what a file asks for, before a port is touched; and whether a run then is as it said.

import json

import dhcp4
from harness import EXIT, ROOT, binary, config_file, ddiperf, execute, main, test
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
def every_example_with_traffic_has_a_plan():
    for path in sorted((ROOT / "config").glob("[!c]*.yaml")):  # those of campaigns are no runs
        code, out, err = execute([binary(), "plan", str(path)])
        if "-respond" in path.name:
            assert code == EXIT["usage"] and "no traffic" in err, (path, code, err)
            continue
        assert code == 0 and err == "" and "octets" in out and "warning" not in out, (path, code, out, err)


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
    assert (one["messages"], one["answers"], one["sampled"]) == (2, 2, 1000), one
    assert one["source_ports"] == 0, one
    for octets, counter, cell in (("message_octets", "request_bytes", "sent"), ("answer_octets", "reply_bytes", "answered")):
        messages = sum(step[cell] for step in ran["steps"])
        assert messages == 2 * ran[cell], ran
        assert abs(ran["dhcp4"][counter] / messages + HEADERS - one[octets]) < 1, (octets, ran["dhcp4"][counter], one)


@test
def clients_take_memory():
    few, many = (plan(leases(clients=n))["traffic"][0]["memory"] for n in ("10k", "110k"))
    assert 32 <= (many - few) / 100_000 <= 64, (few, many)


@test
def nothing_is_written_but_the_plan():
    with config_file(leases(leases={"save": "leases.csv"})) as file:
        (file.parent / "leases.csv").write_text("of an earlier run\n")
        code, out, err = execute([binary(), "plan", str(file)], cwd=file.parent)
        assert code == 0 and err == "", (code, out, err)
        assert (file.parent / "leases.csv").read_text() == "of an earlier run\n"
        assert sorted(path.name for path in file.parent.iterdir()) == ["leases.csv", "test.yaml"]


@test
def answers_that_end_an_exchange_early_are_told():
    right, wrong = (plan(leases(expect={"pool": [pool]})) for pool in (dhcp4.POOL[0], "192.168.0.0/17"))
    assert right["traffic"][0]["cut"] == 0 and right["warnings"] == [], right
    assert wrong["traffic"][0]["cut"] == 1000 and "ended early" in wrong["warnings"][0], wrong


@test
def what_would_not_fit_is_said_and_a_plan_is_no_verdict():
    text = ring(item(load={"rate": "50M"}, timeout="10ms"), tester={"link_speed": "10G"})
    with config_file(text) as file:
        code, out, _ = execute([binary(), "plan", str(file)])
    assert code == 0 and out.count("warning:") == 3, out
    assert "warning: port tester: " in out and "of the link" in out, out


@test
def a_file_that_does_not_pass_check_has_no_plan():
    with config_file(ring(item(load={"rate": "fast"}))) as file:
        code, out, err = execute([binary(), "plan", str(file)])
        assert code == EXIT["usage"] and out == "" and "rate" in err, (code, out, err)
        code, out, err = execute([binary(), "plan", str(file), "--set", "traffic.queries.load.rate=1k", "--set",
                                  "traffic.queries.dns.names=[nonsense {]"])
        assert code == EXIT["usage"] and out == "" and "names" in err, (code, out, err)


main()
