#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# One, two and four workers on a port: the same work, divided, and every packet of it accounted for; answers that come
# to another worker's queue are handed over.

import json
import tempfile
from pathlib import Path

import dhcp6
from dhcp4 import answers, check_agreement, check_laws, clients
from faults import NAMES, check_exact, check_responder, every_nth, expected_faults
from harness import binary, check_ledger, config_file, ddiperf, execute, main, test
from loop import item, ring

RATE = 10_000
SENDS = RATE // 2
EVERY = {"loss": 97, "duplicate": 31, "truncate": 41, "wrong_id": 47}
# Answers that are held back leave by any queue.
HELD_BACK = {"delay": {"uniform": {"min": "0s", "max": "3ms"}}}
# Rings need no asking before the run.
PROBE = {"steering_probe": "always"}


def workers(number):
    """So many, which take turns on one CPU."""
    return {"cpus": [1] * number, "tx_descriptors": 8192}


def with_workers(*numbers):
    """A test for each number of workers; what is decorated says what to run and how to judge it."""
    def add(prepare, number):
        def once():
            text, judge = prepare(number)
            result = ddiperf(text, timeout=60)
            assert result.json, result
            check_workers(result, number)
            judge(result)

        once.__name__ = f"{prepare.__name__}_{number}"
        test(once)

    def add_all(prepare):
        for number in numbers:
            add(prepare, number)

    return add_all


def answered_before(port):
    """Questions before the run that were answered before it."""
    probe = port.get("steering_probe")
    return probe["home"] + probe["elsewhere"] if probe else 0


def check_probe(port, number):
    """Each worker has asked, and what came late came as that."""
    probe = port.get("steering_probe")
    assert bool(probe) == (number > 1), port
    if probe:
        assert answered_before(port) + probe["unanswered"] == probe["sent"] == 4 * number, probe
        assert probe["late"] == probe["unanswered"] and (number < 4 or probe["elsewhere"] > 0), probe


def check_workers(result, number):
    """Everything that was handed over has arrived, and nothing was received twice."""
    mine = [worker for worker in result.json["workers"] if worker["port"] == "tester"]
    port = next(port for port in result.json["ports"] if port["name"] == "tester")
    assert len(mine) == number and port["hand_over_full"] == 0, (mine, port)
    assert sum(w["handed_over"] for w in mine) == sum(w["taken_over"] for w in mine) == port["handed_over"], (mine, port)
    # What is not theirs came before they began: answers to ARP, and to what was asked for where answers come to.
    before = port["rx_packets"] - sum(w["received"] for w in mine) - answered_before(port)
    assert 0 <= before <= 20, (mine, port)
    for one in result.json["traffic"]:
        check_ledger(one)
    return mine, port


@with_workers(1, 2, 4)
def every_fault_lands_in_its_cell_with_workers_in_number(number):
    def judge(result):
        check_responder(result.json)
        check_exact(result, result.json, expected_faults(EVERY, SENDS), SENDS)

    traffic = item(load={"rate": str(RATE)}, timeout="500ms", dns={"names": NAMES})
    return ring(traffic, run={"duration": "500ms"}, tester=workers(number), dut={"tx_descriptors": 8192},
                responder={"dns": {}, "faults": every_nth(EVERY)}), judge


@with_workers(1, 2, 4)
def answers_that_come_anywhere_find_their_worker_with_workers_in_number(number):
    def judge(result):
        one, handed = result.item("queries"), result.json["ports"][0]["handed_over"]
        assert one["due"] == one["sent"] == one["answered"] == SENDS, one
        assert one["stray"] == one["late"] == one["duplicate"] == 0, one
        expected = 1.4 * SENDS * (number - 1) / number
        assert 0.5 * expected <= handed <= 1.3 * expected, handed
        assert ("were handed over" in result.stdout) == (number > 1), result.stdout
        check_probe(result.json["ports"][0], number)

    return ring(item(load={"rate": str(RATE)}), run={"warmup": "200ms", "duration": "500ms"}, tester={**workers(number), **PROBE},
                dut={"tx_descriptors": 8192}, responder={"dns": {}, "faults": HELD_BACK}), judge


@with_workers(2, 4)
def clients_behind_relays_are_divided_with_workers_in_number(number):
    def judge(result):
        for one, exchanges in zip(result.json["traffic"], (1000, 500)):
            check_laws(one)
            assert one["due"] == one["answered"] == one["dhcp4"]["leases"] == exchanges, one
            assert one["dhcp4"]["duplicate_address"] == 0, one
        check_agreement(result)
        # Nothing is asked before the run: it would leave traces at the server.
        assert "no query of its traffic leaves the server unchanged" in result.stdout, result
        assert "steering_probe" not in result.json["ports"][0], result.json["ports"][0]

    return ring(clients(load={"rate": "2k"}, clients="4k"), clients("others", load={"rate": "1k"}, mac="02:01:00:00:00:00"),
                run={"duration": "500ms"}, tester={**workers(number), **PROBE}, dut={"tx_descriptors": 8192},
                responder=answers(HELD_BACK)), judge


@with_workers(2, 4)
def clients_of_dhcp6_and_their_leases_are_divided_with_workers_in_number(number):
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "leases.csv"

    def judge(result):
        for one, exchanges in zip(result.json["traffic"], (200, 100)):
            dhcp6.check_laws(one)
            n = one["dhcp6"]
            assert one["due"] == one["answered"] == n["leases"] == n["addresses"] == n["prefixes"] == exchanges, one
            assert n["duplicate_address"] == n["duplicate_prefix"] == 0, one
        dhcp6.check_agreement(result)
        rows = [line.split(",") for line in path.read_text().splitlines()[1:]]
        assert len(rows) == len({row[2] for row in rows}) == 400 and len({row[0] for row in rows}) == 200, len(rows)
        folder.cleanup()

    both = {"addresses": ["198.18.0.1/24", "2001:db8::1/64"]}
    return ring(dhcp6.clients(load={"outstanding": 16, "total": 200}, clients="4k", leases={"save": str(path)}),
                dhcp6.clients("on_link", load={"outstanding": 16, "total": 100}, relay=None, mac="02:01:00:00:00:00"),
                run={"warmup": "0s", "duration": "20s"}, tester={**both, **workers(number)},
                dut={"addresses": ["198.18.0.2/24", dhcp6.SERVER + "/64"], **workers(number // 2)},
                responder=dhcp6.answers(HELD_BACK)), judge


@with_workers(4)
def a_total_is_shared_to_the_last_one_with_workers_in_number(number):
    def judge(result):
        assert [result.item(name)["sent"] for name in ("open", "closed", "most")] == [501, 301, 1003], result
        assert result.json["run"]["measured_s"] < 10, result.json["run"]

    return ring(
        item("open", load={"rate": "5k", "total": "501"}), item("closed", load={"outstanding": 30, "total": "301"}),
        item("most", load={"rate": "max", "total": "1003"}),
        run={"warmup": "101ms", "duration": "20s"}, tester=workers(number)), judge


@test
def what_waits_at_a_worker_without_its_cpu_is_not_lost_to_another():
    text = ring(item(load={"rate": "4k"}, timeout="8ms"), tester=workers(2), run={"duration": "500ms"},
                responder={"dns": {}, "faults": {"delay": {"uniform": {"min": "0s", "max": "1ms"}}}})
    one = ddiperf(text, world="away=0:200ms-220ms").item("queries")
    check_ledger(one)
    # It waited longer than the timeout, and came in time.
    assert one["lost"] == one["late"] == 0, one
    assert one["latency"]["service"]["max_ns"] > 8e6, one


@test
def several_workers_of_the_responder_share_the_work_and_the_pool():
    result = ddiperf(ring(
        item(), clients(load={"rate": "2k"}), tester=workers(4), dut=workers(2), run={"duration": "500ms"},
        responder={"dns": {}, **answers()}))
    _, port = check_workers(result, 4)
    assert port["steering"] == "pair" and "steering_probe" not in port, port
    assert result.item("queries")["answered"] == 1000, result
    one = result.item("clients")
    check_laws(one)
    assert one["dhcp4"]["leases"] == 1000 and one["dhcp4"]["duplicate_address"] == 0, one
    check_agreement(result)


def asked(number):
    """What a dry run of so many workers asks for, in the order in which it is due."""
    text = json.dumps({
        "run": {"warmup": "0s", "duration": "10s"},
        "ports": [{"name": "tester", "driver": "null", "addresses": ["198.18.0.1/24"], **workers(number)}],
        "traffic": [item(load={"rate": "1k"}, source={"ports": ["2000-2063"]})]})
    with config_file(text) as path:
        out = path.parent / "first.pcapng"
        code, stdout, stderr = execute([binary(), "run", str(path), "--dry-run", str(out)])
        assert code == 0, stdout + stderr
        code, text, err = execute(["tshark", "-r", str(out), "-T", "fields", "-e", "frame.time_epoch", "-e", "dns.qry.name",
                                   "-e", "dns.id", "-e", "udp.srcport"])
        assert code == 0, err
    return [line.split("\t") for line in text.splitlines()]


@test
def the_same_is_asked_at_the_same_times_however_many_ask_it():
    alone = [line[:2] for line in asked(1)]
    assert len(alone) == 100
    for number in (2, 4):
        rows = asked(number)
        assert [line[:2] for line in rows] == alone
        assert rows == asked(number)
        # Each worker has source ports of its own.
        ports = [{line[3] for line in rows[worker::number]} for worker in range(number)]
        assert sum(map(len, ports)) == len(set.union(*ports)), ports


def probed(number, responder, **sections):
    """(result, port, probe) of so many workers that ask before the run."""
    result = ddiperf(ring(tester={**workers(number), **PROBE}, dut={"tx_descriptors": 8192},
                          responder=responder, **sections))
    port = result.json["ports"][0]
    return result, port, port["steering_probe"]


@test
def what_is_asked_before_the_run_shows_whose_queue_answers_come_to():
    result, port, probe = probed(4, {"dns": {}})
    one = result.item("queries")
    assert port["steering"] == "pair", port
    assert probe["unanswered"] == 0, probe
    assert probe == {"sent": 16, "home": 16, "elsewhere": 0, "unanswered": 0, "late": 0}, probe
    assert "16 queries before the run, 16 had their reply on the sender's queue" in result.stdout, result
    # It is not in the ledger, and the responder has seen it.
    assert one["sent"] == one["answered"] > 0 and one["stray"] == one["duplicate"] == 0, one
    assert result.json["responder"]["received"] == one["sent"] + 16, result.json["responder"]


@test
def answers_to_what_was_asked_before_the_run_are_no_strays_of_it():
    result, port, probe = probed(2, {"dns": {}, "faults": {"delay": {"uniform": {"min": "300ms", "max": "301ms"}}}})
    one = result.item("queries")
    check_ledger(one)
    assert probe == {"sent": 8, "home": 0, "elsewhere": 0, "unanswered": 8, "late": 8}, probe
    assert one["answered"] + one["lost"] == one["sent"] > 0 and one["late"] == one["lost"], one
    assert one["stray"] == one["duplicate"] == one["malformed"] == 0, one
    assert "none of 8 queries before the run had a reply" in result.stdout, result


main()
