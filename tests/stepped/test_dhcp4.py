#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# DHCPv4 clients against the embedded responder: every exchange in each topology, who makes the next one and what becomes
# of the client, retransmission, leases in a file, several items at once. Faults, packets and bad input: test_dhcp4_*.py.

import tempfile
from pathlib import Path

import dhcp6
from dhcp4 import (RELAYS, SERVER, answers, check_agreement, clients, family, lines, of_clients, run, served, steps)
from harness import EXIT, binary, config_file, execute, main, test
from loop import RELAXED, item, ring, sent_to_file

LIFE = {
    "dora": "36%", "discover": "6%", "rapid": "6%", "renew": "10%", "rebind": "10%", "reboot": "10%", "inform": "6%",
    "release": "8%", "decline": "4%",
}
MANY = {"outstanding": 16, "total": 1000}
ONE_BY_ONE = {"outstanding": 1, "total": 10}
FOLDER = "ddiperf-leases-"
OTHERS = ("02:01:00:00:00:00", "02:02:00:00:00:00", "02:03:00:00:00:00")  # first MAC addresses of further items


# --- exchanges ----------------------------------------------------------------------------------------------


def check_life(one, asked):
    """All kinds of exchanges took place, each with its messages, and the clients know it."""
    n, did = one["dhcp4"], {name: step["sent"] for name, step in steps(one).items()}
    assert all(did[name] > 0 for name in asked), did
    assert n["leases"] == did["request-ack"] and n["released"] == did["release"] and n["declined"] == did["decline"], one
    assert n["renewed"] == did["renew-ack"] + did["rebind-ack"] + did["reboot-ack"], one
    assert n["rapid_fallback"] == did["discover-ack"], one
    assert n["expired"] == n["duplicate_address"] == n["retransmitted"] == 0, one


EVERY_STEP = ("discover-offer", "request-ack", "discover-ack", "renew-ack", "rebind-ack", "reboot-ack", "inform-ack",
              "release", "decline")


@test
def every_exchange_of_clients_behind_relays_is_answered_and_counted_alike_on_both_sides():
    mix = {**LIFE, "dora": "30%", "leasequery": "6%"}
    one = of_clients(served(clients(load=MANY, mix=mix)))
    check_life(one, (*EVERY_STEP, "leasequery"))
    assert one["dhcp4"]["received"]["LEASEACTIVE"] == steps(one)["leasequery"]["answered"], one


@test
def every_exchange_of_clients_that_broadcast_is_answered_and_counted_alike_on_both_sides():
    check_life(of_clients(served(clients(load=MANY, relay=None, mix=LIFE))), EVERY_STEP)


@test
def each_new_client_takes_four_messages_and_a_lease():
    result = served(clients("relayed"), clients("broadcasting", relay=None, mac=OTHERS[0]))
    for one in result.json["traffic"]:
        assert one["dhcp4"]["sent"] == {"DISCOVER": 400, "REQUEST": 400}, one
        assert one["dhcp4"]["received"] == {"OFFER": 400, "ACK": 400} and one["dhcp4"]["leases"] == 400, one
        assert one["dhcp4"]["request_bytes"] == one["dhcp4"]["reply_bytes"] == 800 * 300, one
        whole = one["latency"]["response"]
        both = [steps(one)[name]["latency"]["response"] for name in ("discover-offer", "request-ack")]
        # The exchange lasts from the first due time to the ACK, and the second step begins with the OFFER.
        assert whole["max_ns"] >= max(part["max_ns"] for part in both), (whole, both)
        parts = sum(part["mean_ns"] for part in both)
        assert abs(whole["mean_ns"] - parts) < 0.02 * whole["mean_ns"] + 3000, (whole, both)


@test
def clients_that_only_discover_stay_free():
    one = of_clients(served(clients(exchange="discover", clients=10)))
    assert one["dhcp4"]["sent"] == {"DISCOVER": 400} and one["dhcp4"]["leases"] == 0, one


@test
def rapid_commit_takes_two_messages_where_the_server_grants_it():
    result = served(clients("relayed", exchange="rapid"), clients("broadcasting", relay=None, mac=OTHERS[0], exchange="rapid"),
                    responder=answers(rapid=True))
    for one in result.json["traffic"]:
        assert one["dhcp4"]["received"] == {"ACK": 400} and one["dhcp4"]["leases"] == 400, one
        assert [step["name"] for step in one["steps"]] == ["discover-ack"], one["steps"]
    assert result.json["responder"]["protocols"][0]["dhcp4"]["rapid"] == 800, result.json["responder"]


@test
def the_shares_of_a_mix_are_kept():
    did = steps(of_clients(served(clients(load=MANY, mix={"discover": "30%", "rapid": "10%"}))))
    # `exchange` is the rest: dora. What is drawn is as even as it can be, so the shares hold to a few.
    assert abs(did["discover-ack"]["sent"] - 100) <= 4, did
    assert abs(did["request-ack"]["sent"] - 700) <= 6, did


@test
def answers_reach_clients_that_ask_for_unicast():
    one = of_clients(served(clients(relay=None, broadcast_flag=False, mix={"dora": "60%", "renew": "20%", "release": "20%"})))
    assert one["dhcp4"]["released"] > 0, one


@test
def relays_on_a_port_of_their_own_are_answered_there_or_at_67():
    served(clients("there", relay={**RELAYS, "port": 1067}),
           clients("at 67", relay={**RELAYS, "port": 1068, "source_port": False}, mac=OTHERS[0]))


@test
def replies_to_the_sender_reach_the_clients_of_all_relays():
    """Relays of other networks, and one address that sends for them."""
    for of, there, own in ((family, "10.80.0.0/26", "198.18.0.1"), (dhcp6.family, "2001:db8:80::/122", "2001:db8::1")):
        result = of.served(of.clients(relay={"addresses": [there], "from": own}))
        assert of_clients(result)["answered"] == 400, result


@test
def the_first_message_and_the_others_have_waits_of_their_own():
    slow = {"delay": {"constant": "300ms"}}
    for of, first, second in ((family, "discover-offer", "request-ack"), (dhcp6.family, "solicit-advertise", "request-reply")):
        patient = of.clients(keys={"timeout": "1s"}, request_timeout="100ms")
        did = steps(of_clients(of.run(patient, responder=of.answers(slow))))
        assert (did[first]["lost"], did[second]["lost"], did[second]["answered"]) == (0, 400, 0), did
        hasty = of.clients(keys={"timeout": "100ms"}, request_timeout="1s")
        assert steps(of_clients(of.run(hasty, responder=of.answers(slow))))[first]["lost"] == 400, first


@test
def a_server_id_of_the_relay_brings_renewals_back_through_it():
    relay = {**RELAYS, "server_id_override": "relay", "circuit_id": "p{client}", "remote_id": "{mac}"}
    one = of_clients(served(clients(relay=relay, mix={"dora": "50%", "renew": "25%", "release": "25%"})))
    assert one["dhcp4"]["renewed"] > 0 and one["dhcp4"]["released"] > 0, one


@test
def clients_are_told_apart_by_every_kind_of_identifier():
    kinds = ({"client_id": "none"}, {"client_id": "duid"}, {"client_id": "text", "client_id_text": "c{client:06}"})
    result = served(*(clients(kind["client_id"], mix={"dora": "70%", "renew": "30%"}, mac=mac, **kind)
                      for mac, kind in zip(OTHERS, kinds)))
    for one in result.json["traffic"]:
        assert one["dhcp4"]["client_id_missing"] == 0 and one["dhcp4"]["duplicate_address"] == 0, one


@test
def hardware_addresses_need_not_be_those_of_ethernet():
    life = {"mix": {"renew": "30%", "release": "20%"}, "clients": 200}
    for identity in ({"chaddr": "ff:00", "htype": 7}, {"chaddr": ":".join(["00"] * 14 + ["fe", "f0"]), "htype": 6},
                     {"chaddr": "00:00:00:00:fe:80:00:00", "htype": 32, "client_id": "duid"}):
        served(clients(load=MANY, **life, **identity))
        served(clients(load=MANY, **life, **{"client_id": "none", **identity}))


@test
def clients_on_vlans_of_their_own_are_answered_there():
    vlans = [{"clients": "0-99", "vlans": [100]}, {"clients": "100-199", "vlans": [200, 7]}]
    vlans += [{"clients": "200-349", "outer": "300-309", "inner": "2-16"}]
    served(*(clients(name, relay=relay, clients=400, mac=mac, vlans=vlans, mix={"renew": "30%"})
             for name, relay, mac in (("relayed", RELAYS, OTHERS[0]), ("broadcasting", None, OTHERS[1]))))


@test
def options_and_a_name_of_each_client_change_nothing_for_the_ledger():
    more = {
        "options": [{"code": "12", "text": "host-{client}"}, {"code": "60", "text": "x"}, {"code": "77", "hex": "{mac}"},
                    {"code": "82.151", "hex": "00{client:4}"}],
        "fqdn": {"name": "c{client}.example.com"}, "lease_time": "10m", "requested_address": "10.0.100.0/22", "pad": 0,
    }
    one = of_clients(served(clients(relay={**RELAYS, "circuit_id": "p{client}"}, expect={"pool": ["10.0.100.0/22"]}, clients=1000, **more)))
    assert one["dhcp4"]["outside_pool"] == 0 and one["dhcp4"]["request_bytes"] > 800 * 300, one


@test
def several_servers_are_asked_in_turn_and_each_has_its_results():
    two = ["198.18.0.2/24", "198.18.0.3/24"]
    result = served(clients(servers=["198.18.0.3"], spread="round_robin"), dut={"addresses": two})
    # One responder is both of them; its identifier is that of the first.
    assert of_clients(result)["dhcp4"]["server"] == {"1": 400}, of_clients(result)
    result = served(clients(exchange="discover", servers=["198.18.0.3"], spread="round_robin"), dut={"addresses": two})
    assert of_clients(result)["dhcp4"]["server"] == {"1": 200, "2": 200}, of_clients(result)


@test
def a_relay_that_asks_all_servers_goes_on_with_the_first():
    two = {"addresses": ["198.18.0.2/24", "198.18.0.3/24"]}
    every = {"servers": ["198.18.0.3"], "spread": "all"}
    # One responder is both of them: it answers everything twice.
    result = run(clients(**every, vlans=[{"clients": "0-99", "vlans": [100]}]),
                 clients("two_way", exchange="discover", mac=OTHERS[0], **every), dut=two, copies=2)
    for one, asked in ((of_clients(result), {"DISCOVER": 800, "REQUEST": 800}), (result.item("two_way"), {"DISCOVER": 800})):
        assert one["answered"] == 400 and one["lost"] == one["stray"] == one["late"] == 0, one
        assert one["dhcp4"]["sent"] == asked and one["duplicate"] == sum(asked.values()) // 2, one
    responder = result.json["responder"]
    assert responder["received"] == responder["answered"] == 2400, responder


@test
def offers_of_a_server_that_is_not_to_be_accepted_are_passed_over():
    load = {"outstanding": 50, "total": 50}
    result = run(clients(accept="198.18.0.9", load=load, keys={"timeout": "300ms"}),
                 clients("content", accept=SERVER, load=load, mac=OTHERS[0]))
    one, other = of_clients(result), result.item("content")
    assert one["lost"] == one["duplicate"] == one["dhcp4"]["other_offers"] == 50 and one["answered"] == 0, one
    assert other["answered"] == 50 and other["dhcp4"]["other_offers"] == other["duplicate"] == 0, other


# --- clients ------------------------------------------------------------------------------------------------


@test
def running_out_of_free_clients_is_counted_and_said():
    strict = {**RELAXED, "unsent": "1%"}
    result = run(clients(load={"rate": "2k", "total": 400}, clients=100), validity=strict, invalid=True)
    one = of_clients(result)
    assert one["due"] == 400 and one["sent"] == one["answered"] == 100, one
    assert one["unsent"] == one["dhcp4"]["no_free_client"] == 300 and one["dhcp4"]["no_bound_client"] == 0, one
    assert "300 exchanges could not begin: no client was free" in result.stderr, result
    reasons = result.json["verdict"]["reasons"]
    said = "300 not sent: no client was free for them, the first 0.0"
    assert any(said in reason and "raise dhcp4.clients, or set again: true, or" in reason for reason in reasons), reasons
    assert result.json["verdict"]["invalid_by"] == "load", result
    assert result.json["verdict"]["limited_by"] == "none", result
    assert "INVALID: too few clients or connections were free" in result.stdout.splitlines()[-1], result
    assert "limited by the load:" in result.stdout and "too slow" not in result.stdout, result


@test
def clients_that_start_over_already_are_not_told_to():
    strict = {**RELAXED, "unsent": "1%"}
    result = run(clients(load={"rate": "2k", "total": 400}, clients=100, again=True), validity=strict, invalid=True,
                 responder={"dhcp4": {"pool": ["10.0.0.0/16"]}, "faults": {"loss": {"share": "50%"}}})
    said = [reason for reason in result.json["verdict"]["reasons"] if "no client was free" in reason]
    assert said and "raise dhcp4.clients, or lower the rate" in said[0], result.json["verdict"]
    assert "(raise dhcp4.clients, or a share of release)" in result.stderr, result


@test
def without_a_number_there_are_as_many_clients_as_the_load_begins():
    for family_, text in ((family, "dhcp4"), (dhcp6.family, "dhcp6")):
        given = family_.clients(load={"rate": "500"})
        del given[text]["clients"]
        result = family_.run(given, duration="1s", warmup="500ms")
        one = of_clients(result)
        assert one["clients"] == 750 and one["due"] == one["sent"] == one["answered"] == one[text]["leases"] == 500, one
        assert "traffic clients: 750 clients (auto: for the load of the run)" in result.stdout, result
        assert "run out" not in result.stderr and result.json["config"]["traffic"][0][text]["clients"] == "auto", result


@test
def clients_that_start_over_get_leases_for_ever():
    for family_, text in ((family, "dhcp4"), (dhcp6.family, "dhcp6")):
        one = of_clients(family_.served(family_.clients(load={"outstanding": 4, "total": 400}, clients=10, again=True)))
        n = one[text]
        assert (n["leases"], n["forgotten"], n["renewed"], n["no_free_client"]) == (400, 390, 0, 0), one
        assert n["duplicate_address"] == 0 and one["clients"] == 10, one
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        one = of_clients(served(clients(
            load=MANY, clients=20, again=True, mix={"renew": "20%", "release": "10%"}, leases={"save": file.name})))
        n = one["dhcp4"]
        held = len(Path(file.name).read_text().splitlines()) - 1
        assert n["forgotten"] and n["leases"] == n["forgotten"] + n["released"] + held, (one, held)


@test
def rates_of_a_mix_come_on_top_of_the_rate_of_the_load():
    for family_, text, first in ((family, "dhcp4", "DISCOVER"), (dhcp6.family, "dhcp6", "SOLICIT")):
        given = family_.clients(load={"rate": "500"}, clients="auto", mix={"renew": "100/s", "release": "50/s"})
        one = of_clients(family_.run(given, duration="1s"))
        n = one[text]
        assert one["due"] == 650 and n["sent"][first] == n["leases"] == 500, one
        # The first ones find no client that holds a lease.
        assert n["renewed"] + n["released"] + n["no_bound_client"] == 150 and 90 <= n["renewed"] <= 100, one
    text = ring(clients(load={"rate": "500"}, mix={"renew": "100/s", "release": "2000/s"}), responder=answers())
    with config_file(text) as file, config_file(execute([binary(), "check", str(file), "--dump"])[1]) as dumped:
        out = execute([binary(), "check", str(dumped), "--dump"])[1]
        assert "renew: 100/s" in out and "release: 2k/s" in out and out == Path(dumped).read_text(), out
    for more, said in (({"mix": {"renew": "100/s", "release": "5%"}}, "mix.release: a share beside rates"),
                       ({"mix": {"renew": "100/s"}, "load": {"outstanding": 3}}, "mix: its rates come on top of load.rate, and the load"),
                       ({"mix": {"renew": "100/s"}, "load": {"ramp": {"to": 9, "over": "1s"}}}, "mix: its rates come on top of load.rate"),
                       ({"mix": {"renew": 100}}, 'mix.renew: "100" is not a percentage with its sign, or a rate (like 10% or 100/s')):
        with config_file(ring(clients(**{"load": {"rate": "1k"}, **more}), responder=answers())) as file:
            code, out, err = execute([binary(), "check", str(file)])
            assert code == EXIT["usage"] and said in err, (code, out, err)


@test
def running_out_of_bound_clients_is_counted_and_said():
    result = run(clients(load={"rate": "2k", "total": 400}, mix={"release": "60%"}))
    one = of_clients(result)
    # At 40 % new leases and 60 % releases, every third release finds nobody.
    assert one["unsent"] == one["dhcp4"]["no_bound_client"] > 0 and one["dhcp4"]["no_free_client"] == 0, one
    assert one["due"] == 400 and one["dhcp4"]["released"] <= one["dhcp4"]["leases"], one
    said = f"{one['unsent']} exchanges could not begin: no client held a lease"
    assert said in result.stderr, result


@test
def a_mix_that_starts_from_nothing_is_valid_and_one_that_ends_too_many_leases_says_so():
    for family_, text in ((family, "dhcp4"), (dhcp6.family, "dhcp6")):
        for mix, valid in (({"renew": "2.5%"}, True), ({"renew": "10%", "release": "5%"}, True), ({"release": "60%"}, False)):
            result = family_.run(family_.clients(load={"rate": "1k"}, clients="auto", mix=mix), duration="1s", validity={},
                                 world="delay=10ms", **({} if valid else {"invalid": True}))
            one = of_clients(result)
            assert one["unsent"] == one[text]["no_bound_client"] > 0, one
            if valid:  # there is no lease for two round trips
                assert result.code == 0 and one["unsent"] <= 25, (mix, result)
                continue
            verdict = result.json["verdict"]
            assert verdict["invalid_by"] == "load" and result.code == EXIT["invalid"], verdict
            said = f"{one['unsent']} not sent: no client was bound and idle for them: raise the share of "
            assert any(said in reason and f"{text}.leases.load" in reason for reason in verdict["reasons"]), verdict
            assert not any("tester" in reason or "clients," in reason for reason in verdict["reasons"]), verdict


@test
def a_client_rests_after_a_decline():
    assert family.seconds_of_declines("dora", decline_rest="400ms") > 0.8
    assert family.seconds_of_declines("dora") < 0.8, "without a rest it takes as long"


@test
def a_closed_loop_that_has_no_free_client_left_waits():
    one = of_clients(run(clients(load={"outstanding": 16}, clients=50), duration="200ms"))
    assert one["due"] == one["sent"] == one["answered"] == 50 and one["unsent"] == 0, one
    assert one["dhcp4"]["no_free_client"] >= 1, one


@test
def a_closed_loop_tells_when_its_clients_ran_out():
    ran_out = clients(load={"outstanding": 16}, clients=50)
    result = run(ran_out, duration="400ms", world="delay=10ms")
    assert "traffic clients: its 50 clients ran out after 0.1" in result.stderr, result
    assert "its rates are too low (raise dhcp4.clients, or set again: true)" in result.stderr, result
    result = run(ran_out, duration="200ms", warmup="400ms", world="delay=10ms", invalid=True)
    reasons, verdict = result.json["verdict"]["reasons"], result.json["verdict"]
    assert reasons[0] == "clients: nothing was due in the measured part", reasons
    assert reasons[1].startswith("clients: its 50 clients ran out in the warm-up, 0."), reasons
    assert reasons[1].endswith(" s after the start: raise dhcp4.clients, or set again: true"), reasons
    assert (verdict["status"], verdict["invalid_by"], result.code) == ("invalid", "load", EXIT["invalid"]), result
    result = run(clients(load={"outstanding": 16}, clients=50, again=True), duration="300ms", world="delay=1ms")
    assert "ran out" not in result.stderr, result
    assert of_clients(result)["sent"] == 16 * 300 // 4, result  # two messages and their replies, of 1 ms each


@test
def a_client_has_one_exchange_open_at_a_time():
    one = of_clients(run(clients(load={"outstanding": 64}, exchange="discover", clients=4, keys={"timeout": "200ms"}),
                         responder=answers({"loss": {"every": 1}}), duration="300ms"))
    assert one["sent"] == one["lost"] and 4 <= one["sent"] <= 12, one  # four in every timeout


@test
def leases_that_run_out_make_their_clients_free_again():
    one = of_clients(run(clients(load={"outstanding": 16}, clients=50), duration="2300ms",
                         responder=answers(lease_time="2s", t1="0s", t2="1s")))
    assert one["dhcp4"]["expired"] == 50 and one["dhcp4"]["leases"] == one["answered"] == 100, one
    assert one["dhcp4"]["duplicate_address"] == one["dhcp4"]["times_wrong"] == 0, one


@test
def what_is_neither_released_nor_over_is_held_by_one_client_only():
    life = {"dora": "50%", "release": "30%", "decline": "20%"}
    one = of_clients(served(clients(load=MANY, clients=200, mix=life), responder=answers(pool=["10.0.0.0/22"])))
    assert one["dhcp4"]["duplicate_address"] == 0 and one["dhcp4"]["leases"] > 300, one


@test
def with_a_full_pool_the_rest_is_lost_and_the_server_says_why():
    result = run(clients(load={"outstanding": 60, "total": 60}, keys={"timeout": "300ms"}),
                 responder=answers(pool=["10.0.0.0-10.0.0.19"], full_pool=True))
    one = of_clients(result)
    assert (one["answered"], one["failed"], one["lost"]) == (20, 0, 40), one
    assert result.json["responder"]["protocols"][0]["dhcp4"]["pool_full"] == 40, result.json["responder"]
    assert steps(one)["discover-offer"]["lost"] == 40, one


# --- retransmission -----------------------------------------------------------------------------------------


TRY_AGAIN = {"initial": "50ms", "factor": 2, "jitter": "10ms", "tries": 4}


@test
def what_is_lost_is_asked_again_and_counted_by_attempt():
    result = run(clients(load=ONE_BY_ONE, exchange="discover", retransmit=TRY_AGAIN),
                 responder=answers({"loss": {"every": 2}}))
    one, n = of_clients(result), of_clients(result)["dhcp4"]
    assert (one["sent"], one["answered"], one["lost"]) == (10, 10, 0), one
    # Every second answer is lost: all but the first DISCOVER are sent twice.
    assert n["attempt"] == {"1": 1, "2": 9} and n["retransmitted"] == 9, n
    assert n["sent"] == {"DISCOVER": 19} and steps(one)["discover-offer"]["sent"] == 10, one
    check_agreement(result, faultless=False)
    # From the first due time it is a whole wait longer than from the last send.
    response, service = one["latency"]["response"], one["latency"]["service"]
    assert response["p50_ns"] >= 40e6 and response["max_ns"] >= 40e6, response
    assert service["p50_ns"] < 40e6, service
    assert steps(one)["discover-offer"]["latency"]["response"]["p50_ns"] >= 40e6, one


def attempts_expected(exchanges, every, tries):
    """(attempts, retransmitted, lost) of DORA one after the other when every N-th answer is lost."""
    answer, attempts, again, lost = 0, {}, 0, 0
    for _ in range(exchanges):
        for _ in ("discover", "request"):
            for n in range(1, tries + 1):
                answer += 1
                if answer % every:
                    attempts[str(n)] = attempts.get(str(n), 0) + 1
                    break
                again += n < tries
            else:
                lost += 1
                break
    return attempts, again, lost


@test
def each_message_of_an_exchange_is_asked_again_by_itself():
    result = run(clients(load={"outstanding": 1, "total": 20}, retransmit={**TRY_AGAIN, "tries": 2}),
                 responder=answers({"loss": {"every": 7}}))
    one, n = of_clients(result), of_clients(result)["dhcp4"]
    attempts, again, lost = attempts_expected(20, 7, 2)
    assert (n["attempt"], n["retransmitted"], one["lost"]) == (attempts, again, lost), (n, attempts, again, lost)
    assert n["leases"] == one["answered"] == 20, one
    check_agreement(result, faultless=False)


@test
def an_exchange_is_lost_when_all_its_tries_are():
    result = run(clients(load={"outstanding": 50, "total": 50}, retransmit={**TRY_AGAIN, "tries": 3}),
                 responder=answers({"loss": {"every": 1}}))
    one, n = of_clients(result), of_clients(result)["dhcp4"]
    assert one["sent"] == one["lost"] == 50 and one["answered"] == 0, one
    assert n["sent"] == {"DISCOVER": 150} and n["retransmitted"] == 100 and n["attempt"] == {}, n
    assert steps(one)["discover-offer"]["lost"] == 50, one


@test
def a_reply_that_crosses_a_retransmission_answers_the_message_before():
    # 15 us a packet: replies wait, and some are taken in the turn in which their clients ask again.
    retransmit = {"initial": "100ms", "factor": 1, "jitter": "0s", "tries": 4}
    result = run(clients(load={"rate": "8k"}, clients=20000, retransmit=retransmit, keys={"timeout": "2s"}), duration="1s",
                 responder=answers({"delay": {"uniform": {"min": "50ms", "max": "150ms"}}}), world="cost=15us")
    one = of_clients(result)
    assert one["sent"] == one["answered"] == 8000 and one["duplicate"] > 1000, one
    # No reply comes in the instant of a message: it takes 1 us each way.
    assert one["latency"]["service"]["min_ns"] >= 2000, one["latency"]["service"]


@test
def a_retransmission_has_the_same_xid_and_tells_how_long_the_client_has_waited():
    retransmit = {"initial": "510ms", "factor": 1, "jitter": "0s", "tries": 3}
    with tempfile.TemporaryDirectory() as folder:
        one = clients(load={"rate": "1k", "total": 5}, relay=RELAYS, exchange="discover", retransmit=retransmit)
        sent = [packet.payload for packet in sent_to_file(Path(folder), one)[1]]
    by_xid = {}
    for message in sent:
        by_xid.setdefault(message[4:8], []).append(message)
    assert len(sent) == 15 and len(by_xid) == 5, [message[:12].hex() for message in sent]
    for tries in by_xid.values():
        assert [int.from_bytes(message[8:10], "big") for message in tries] == [0, 0, 1], [m[:12].hex() for m in tries]
        # Nothing else differs.
        assert len({message[:8] + message[10:] for message in tries}) == 1


@test
def without_retransmission_one_try_is_all():
    one = of_clients(run(clients(load={"outstanding": 50, "total": 50}, keys={"timeout": "200ms"}),
                         responder=answers({"loss": {"every": 1}})))
    assert one["lost"] == 50 and one["dhcp4"]["retransmitted"] == 0 and one["dhcp4"]["sent"] == {"DISCOVER": 50}, one


# --- leases in a file ---------------------------------------------------------------------------------------


def with_leases(count):
    """(folder, file with so many leases)."""
    folder = tempfile.TemporaryDirectory(prefix=FOLDER)
    path = Path(folder.name) / "leases.csv"
    served(clients(load={"outstanding": 16, "total": count}, clients=count, leases={"save": str(path)}))
    return folder, path


@test
def a_later_run_renews_and_releases_what_an_earlier_one_got():
    folder, path = with_leases(100)
    with folder:
        rows = lines(path)
        assert sorted(int(row[0]) for row in rows) == list(range(100)) and len({row[2] for row in rows}) == 100, rows[:3]
        assert all(row[1] == f"02:00:00:00:00:{int(row[0]):02x}" and row[3] == SERVER for row in rows), rows[:3]
        kept = {"leases": {"load": str(path), "save": str(path)}, "clients": 100}
        one = of_clients(served(clients(exchange="renew", **kept), responder=answers(authoritative=True)))
        assert one["dhcp4"]["renewed"] == 400 and one["dhcp4"]["leases"] == 0, one
        assert {tuple(row[:4]) for row in lines(path)} == {tuple(row[:4]) for row in rows}
        result = run(clients(exchange="release", load={"outstanding": 1, "total": 60}, **kept), criteria=["p99 <= 1m"])
        one = of_clients(result)
        assert not result.json["verdict"]["criteria"], result  # nothing answers, so there is no latency to judge
        assert one["no_reply"] == one["dhcp4"]["released"] == 60, one
        assert len(lines(path)) == 40


@test
def leases_that_could_not_be_written_are_no_pass():
    result = run(clients(load={"outstanding": 1, "total": 5}, leases={"save": "/dev/full"}))
    assert result.code == EXIT["environment"] and "/dev/full: No space left" in result.stderr, result


@test
def a_refused_client_has_lost_its_lease_and_a_lost_renewal_has_not():
    folder, path = with_leases(50)
    with folder:
        after = path.with_name("after.csv")
        load = {"clients": 50, "exchange": "renew", "leases": {"load": str(path), "save": str(after)}}
        result = run(clients(load={"outstanding": 1, "total": 100}, **load),
                     responder=answers({"nak": {"every": 5}}, authoritative=True))
        one = of_clients(result)
        assert (one["answered"], one["failed"], one["dhcp4"]["nak"]) == (80, 20, 20), one
        assert len(lines(after)) == 30
        result = run(clients(load={"outstanding": 50, "total": 100}, keys={"timeout": "300ms"}, **load),
                     responder=answers({"loss": {"every": 5}}, authoritative=True))
        assert of_clients(result)["lost"] == 20 and len(lines(after)) == 50, of_clients(result)


# --- several items ------------------------------------------------------------------------------------------


@test
def several_items_share_a_port_and_keep_their_books_apart():
    life = {"dora": "60%", "renew": "20%", "release": "20%"}
    result = served(
        clients("relayed", mix=life), clients("broadcasting", relay=None, mac=OTHERS[0], mix=life),
        clients("another", mac=OTHERS[1], exchange="discover", relay={"addresses": ["198.18.0.200"], "port": 1067}),
        item("names", load={"outstanding": 16, "total": 400}),
        responder={**answers(), "dns": {}})
    assert result.item("names")["answered"] == 400 and result.item("another")["dhcp4"]["sent"] == {"DISCOVER": 400}, result
    for name in ("relayed", "broadcasting"):
        assert abs(result.item(name)["dhcp4"]["leases"] - 240) < 20, result.item(name)
    held = [result.item(name)["dhcp4"] for name in ("relayed", "broadcasting")]
    theirs = next(p["dhcp4"] for p in result.json["responder"]["protocols"] if p["name"] == "dhcp4")
    assert sum(n["leases"] + n["renewed"] for n in held) == theirs["sent"]["ACK"], (held, theirs)


@test
def the_warm_up_is_kept_out_of_the_counters_and_its_leases_are_held_on():
    result = run(clients(load={"rate": "2k", "total": 200}, clients=500), warmup="200ms")
    one = of_clients(result)
    assert (one["due"], one["sent"], one["dhcp4"]["no_free_client"], one["dhcp4"]["leases"]) == (200, 100, 100, 100), one
    assert result.json["responder"]["received"] == 1000, result.json["responder"]


main()
