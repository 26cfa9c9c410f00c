#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# The tester at fault: a CPU that is elsewhere, too few buffers, slots or room. Each fault is counted under its name,
# exactly, and beyond the bounds the run is INVALID and says why.

import re

import dhcp4
import dhcp6
from harness import EXIT, check_ledger, ddiperf, main, test
from loop import RELAXED, item, ring

# The tester's worker is the first, the responder the second.
TESTER, RESPONDER = 0, 1
RATE = 2000


def away(worker, from_ms, to_ms):
    return f"away={worker}:{from_ms}ms-{to_ms}ms"


def says(result, words):
    reasons = result.json["verdict"]["reasons"]
    return any(words in reason for reason in reasons) and words in result.stdout


@test
def a_run_that_nothing_disturbs_is_limited_by_nothing():
    result = ddiperf(ring(validity={}))
    assert result.code == 0 and result.json["verdict"]["limited_by"] == "none", result
    host, worker, one = result.json["run"]["host"], result.json["workers"][0], result.item("queries")
    assert host["clock_deviation"] == 0, host
    assert worker["passes"]["count"] > 600 and worker["passes"]["max_ns"] == worker["max_gap_ns"] == 0, worker
    assert one["send_lag"]["max_ns"] == 0, one
    assert one["latency"]["response"]["min_ns"] == one["latency"]["response"]["max_ns"] == 2000, one  # there and back
    assert all(port["link_downs"] == 0 for port in result.json["ports"]), result.json["ports"]


def disturbed(result, share):
    """Everything was answered in time all the same."""
    verdict = result.json["verdict"]
    return (verdict["invalid_by"], verdict["limited_by"], verdict["disturbed"]) == ("disturbance", "none", share)


@test
def a_worker_without_its_cpu_makes_the_run_invalid_and_nobody_guilty():
    text = ring(run={"duration": "1s"}, validity={"send_lag_p99": "1h", "unsent": "100%"})
    result = ddiperf(text, invalid=True, world=f"{away(TESTER, 300, 400)} {away(TESTER, 600, 650)}")
    worker, one = result.json["workers"][0], result.item("queries")
    check_ledger(one)
    assert worker["passes"]["max_ns"] == worker["max_gap_ns"] == 100e6, worker
    assert worker["gaps_over_1ms"] == 2 and worker["stolen_s"] == 0.15, worker
    assert one["answered"] == RATE and 99e6 < one["send_lag"]["max_ns"] < 100e6, one
    # The send lag is part of the response latency, and not of the service latency.
    assert one["latency"]["service"]["max_ns"] < 1e6 < 99e6 < one["latency"]["response"]["max_ns"], one
    assert result.code == EXIT["invalid"] and says(result, "was descheduled"), result
    assert disturbed(result, 0.15), result.json["verdict"]
    assert result.json["verdict"]["cause"] == "others had the tester's CPU for 15 % of the time", result.json["verdict"]


def stamped(delay, away_ms, stamps=1):
    """An item whose worker is away from 1 s on, where packets say when they arrived; its worker's books."""
    world = f"stamps={stamps} delay={delay} {away(TESTER, 1000, 1000 + away_ms)}"
    result = ddiperf(ring(item(timeout="200ms"), run={"duration": "2s"}), world=world)
    one, worker = result.item("queries"), result.json["workers"][0]
    check_ledger(one)
    assert worker["arrival"] == ("kernel" if stamps else "burst"), worker
    assert ("wake" in worker) == bool(stamps), worker
    return one, worker


@test
def a_reply_counts_as_arrived_when_it_did_however_late_the_worker_sees_it():
    one, worker = stamped("80ms", 400)
    assert one["answered"] == 2 * RATE and one["late"] == one["lost"] == 0, one
    service, response = one["latency"]["service"], one["latency"]["response"]
    assert service["min_ns"] == 160e6 and service["max_ns"] < 160.1e6, service  # the last 0.1 ms: the responder's work
    assert 559e6 < response["max_ns"] < 560e6, response  # those that were sent late
    assert 399e6 < worker["wake"]["max_ns"] < 400e6 and worker["wake"]["p50_ns"] == 0, worker["wake"]
    assert worker["wake"]["count"] == 2 * RATE + 1, worker["wake"]  # and the answer of ARP
    without, _ = stamped("80ms", 400, stamps=0)
    assert without["answered"] == 2 * RATE and 559e6 < without["latency"]["service"]["max_ns"] < 560e6, without


@test
def late_or_in_time_is_decided_by_arrival():
    # Answers take 240 ms, the timeout is 200 ms. Of those that would have expired while the worker is away, 120 have
    # their replies by then, and those are late. The rest has as much time as the worker was away, at most 50 ms: as
    # it was stopped, its peer may have been, too.
    one, _ = stamped("120ms", 100)
    assert (one["answered"], one["lost"], one["late"]) == (100, 2 * RATE - 100, 2 * RATE - 100), one
    assert one["latency"]["service"]["max_ns"] == 240e6, one
    without, _ = stamped("120ms", 100, stamps=0)
    assert without["answered"] == 220, without


def counts_by_arrival(*items, delay="0ms", answered=(100, 220), late_again=0, one_each=False, **sections):
    """As above, of these: how many are in time where packets say when they arrived, and where they do not."""
    for stamps, count in zip((1, 0), answered):
        world = f"stamps={stamps} delay={delay} {away(TESTER, 1000, 1100)}"
        one = ddiperf(ring(*items, run={"duration": "2s"}, **sections), world=world).json["traffic"][0]
        check_ledger(one)
        assert (one["answered"], one["lost"]) == (count, one["sent"] - count), (stamps, one)
        never = one.get("connections", {}).get("pipeline_lost", 0)  # they waited for their turn
        assert one["late"] == one["lost"] - never + late_again and one["stray"] == 0, one
        # A late reply is no first answer: here each connection that had one had no other.
        if one_each:
            assert one["connections"]["first_answer"]["count"] == count, one["connections"]


@test
def and_so_it_is_over_tcp_with_several_servers_and_of_dhcp_clients():
    slow = {"dns": {}, "faults": {"delay": {"constant": "240ms"}}}
    tcp = {"names": ["h{0-99}.example.com A"], "transport": "tcp"}
    counts_by_arrival(item(timeout="200ms", dns=tcp), responder=slow)
    # One at a time on a connection: the next one is sent at once when it is known to be too late.
    one_by_one = item(timeout="200ms", dns={**tcp, "tcp": {"pipeline": 1}}, source={"ports": ["1024-8000"]})
    counts_by_arrival(one_by_one, responder=slow, answered=(30, 100), one_each=True)
    two = {"dut": {"addresses": ["198.18.0.2/24", "198.18.0.3/24"]}}
    counts_by_arrival(item(timeout="200ms", servers=["198.18.0.3"]), delay="120ms", **two)
    # Behind a tag replies are looked at one by one, not in a block.
    tagged = {"vlans": [7]}
    counts_by_arrival(item(timeout="200ms"), delay="120ms", tester=tagged, dut=tagged)
    for family, first in ((dhcp4.family, "discover"), (dhcp6.family, "solicit")):
        asking = family.clients(keys={"timeout": "200ms"}, load={"rate": "2k"}, mix={first: "100%"})
        counts_by_arrival(asking, delay="120ms", responder=family.answers(), **family.ports)


@test
def a_reply_that_came_when_the_next_message_was_due_is_taken():
    # Of the first server asked 220 are taken either way; of the second, which is the last, as above.
    stub = item(timeout="200ms", servers=["198.18.0.3"], spread="stub", attempts=1)
    two = {"dut": {"addresses": ["198.18.0.2/24", "198.18.0.3/24"]}}
    counts_by_arrival(stub, delay="120ms", answered=(320, 440), late_again=2 * RATE - 220, **two)
    again = dhcp4.clients(mix={"discover": "100%"}, load={"rate": "2k"}, retransmit={"initial": "200ms", "jitter": "0ms", "tries": 2})
    counts_by_arrival(again, delay="120ms", answered=(2 * RATE, 2 * RATE), responder=dhcp4.answers())


@test
def a_worker_without_its_cpu_that_sent_in_time_spoils_nothing_where_arrival_is_known():
    away_often = " ".join(away(TESTER, at, at + 9) for at in range(52, 450, 50))  # 72 of 500 ms
    text = ring(item(load={"rate": "200"}), run={"duration": "500ms"}, validity={})
    result = ddiperf(text, world=f"stamps=1 {away_often}")
    verdict, one = result.json["verdict"], result.item("queries")
    assert (verdict["status"], verdict["limited_by"], verdict["disturbed"]) == ("done", "none", 0.144), verdict
    assert verdict["harmed"] == 0, verdict
    assert one["answered"] == 100 and one["latency"]["service"]["max_ns"] == 2000, one
    # A closed loop sends when it sees replies, so it asked less of the server than it should.
    closed = ring(item(load={"outstanding": 1}), run={"duration": "500ms"}, validity={})
    verdict = ddiperf(closed, invalid=True, world=f"stamps=1 delay=1ms {away_often}").json["verdict"]
    assert verdict["invalid_by"] == "disturbance" and verdict["limited_by"] == "undecided", verdict
    # Nor is a schedule kept that is late, or a reply told in time without a stamp.
    late = ddiperf(text, invalid=True, world=f"stamps=1 {away(TESTER, 100, 200)}").json["verdict"]
    assert late["status"] == "invalid" and late["disturbed"] == 0.2, late
    assert late["cause"].startswith("others had the tester's CPU for 20 % of the time, and it sent late (99th percentile "), late
    blind = ddiperf(text, invalid=True, world=away_often).json["verdict"]
    assert blind["invalid_by"] == "disturbance" and blind["harmed"] == blind["disturbed"] == 0.144, blind


@test
def a_trial_that_failed_is_no_doubt_where_the_disturbance_did_no_harm():
    often = " ".join(away(TESTER, at, at + 9) for at in range(52, 450, 50))  # in the first trial
    search = {"variable": "traffic.queries.load.rate", "from": 100, "to": 200, "width": "50%", "trial": "400ms", "warmup": "0s",
              "settle": "0s", "goals": [{"loss": "1%"}], "attempts": 1}
    one = item(load={"rate": "200"}, timeout="100ms")
    text = ring(one, search=search, responder={"dns": {}, "faults": {"loss": {"every": 2}}}, validity={})
    for stamps, verdict in ((1, "fail"), (0, "undecided")):
        result = ddiperf(text, invalid=True, world=f"stamps={stamps} {often}")
        trials = result.json["search"]["trials"]
        assert trials[0]["verdict"] == verdict, (stamps, trials)


@test
def a_responder_without_its_cpu_makes_it_invalid_too():
    text = ring(item(timeout="1s"), run={"duration": "1s"}, validity={"send_lag_p99": "1h", "unsent": "100%"})
    result = ddiperf(text, invalid=True, world=away(RESPONDER, 300, 500))
    responder, one = result.json["responder"], result.item("queries")
    check_ledger(one)
    assert (responder["gaps_over_1ms"], responder["stolen_s"], responder["max_gap_ns"]) == (1, 0.2, 200e6), responder
    assert one["answered"] == RATE and 199e6 < one["latency"]["service"]["max_ns"] < 201e6, one
    assert result.code == EXIT["invalid"] and says(result, "the responder was descheduled"), result
    assert disturbed(result, 0.2), result.json["verdict"]


def stopped(spans):
    """Tester and responder without their CPUs at once, as a signal stops the whole program."""
    return " ".join(away(worker, *span) for span in spans for worker in (TESTER, RESPONDER))


@test
def a_stop_of_the_whole_program_loses_nothing():
    result = ddiperf(ring(item(timeout="100ms"), run={"duration": "2s"}, validity={}), invalid=True, world=stopped([(500, 800)]))
    one, worker = result.item("queries"), result.json["workers"][0]
    check_ledger(one)
    assert one["due"] == one["answered"] == 2 * RATE and one["lost"] == 0, one
    assert 299e6 < one["longest_gap_ns"] <= 301e6 and 299e6 < one["send_lag"]["max_ns"] < 300e6, one
    assert worker["max_gap_ns"] == 300e6 and worker["stolen_s"] == 0.3, worker
    assert result.code == EXIT["invalid"], result


@test
def a_program_that_is_stopped_again_and_again_still_declares_losses():
    responder = {"dns": {}, "faults": {"loss": {"every": 10}}}
    spans = [(at, at + 70) for at in (440, 525, 610, 695)]  # the last answers are due in them
    result = ddiperf(ring(item(timeout="100ms"), run={"duration": "500ms"}, responder=responder, validity={}), invalid=True,
                     world=stopped(spans))
    one = result.item("queries")
    check_ledger(one)
    assert result.json["workers"][0]["gaps_over_1ms"] == 2, result.json["workers"]  # of four, those in the measured part
    assert one["sent"] == RATE // 2 and one["lost"] == one["sent"] // 10, one


@test
def what_was_lost_while_the_responder_was_stopped_is_the_testers_loss():
    # The bound alone would let it pass.
    text = ring(item(timeout="2ms"), run={"duration": "1s"}, validity={**RELAXED, "stolen": "99%"})
    result = ddiperf(text, invalid=True, world=away(RESPONDER, 300, 350))
    one = result.item("queries")
    check_ledger(one)
    # All of 50 ms but those of the last 2 ms.
    assert one["lost"] == one["late"] == RATE * 48 // 1000, one
    assert result.json["responder"]["max_gap_ns"] == 50e6, result.json["responder"]
    assert result.code == EXIT["invalid"] and says(result, "longer than the timeout"), result


@test
def the_bound_for_stolen_time_is_a_setting():
    for bound, code in (("10%", EXIT["pass"]), ("9%", EXIT["invalid"])):
        result = ddiperf(ring(run={"duration": "1s"}, validity={**RELAXED, "stolen": bound}), invalid=True,
                         world=away(TESTER, 300, 400))
        assert result.json["workers"][0]["stolen_s"] == 0.1, result
        assert result.code == code, result


@test
def what_was_due_before_the_end_and_could_not_be_sent_is_unsent():
    text = ring(run={"duration": "1s"}, validity={"send_lag_p99": "1h", "stolen": "100%"})
    result = ddiperf(text, invalid=True, world=away(TESTER, 500, 1900))
    one = result.item("queries")
    check_ledger(one)
    # It returns after the end: of what it missed it sends what was due until the next interval.
    assert one["due"] == RATE and one["lost"] == 0 and one["unsent"] == RATE // 2, one
    assert result.code == EXIT["invalid"] and says(result, "did not send"), result


@test
def answers_that_the_tester_was_too_slow_to_take_are_its_own_loss():
    text = ring(item(timeout="1s"), run={"duration": "1s"}, validity={**RELAXED, "dropped": "0%"},
                responder={"dns": {}, "faults": {"delay": {"constant": "20ms"}}})
    result = ddiperf(text, invalid=True, world=f"queue=16 {away(TESTER, 300, 320)}")
    port, one = result.json["ports"][0], result.item("queries")
    check_ledger(one)
    # 20 ms of answers come while it is away, and its queue holds 16 of them. So does the server's of what it sends late.
    missed = RATE * 20 // 1000 - 16
    assert [one["rx_missed"] for one in result.json["ports"]] == [missed, missed] and port["rx_missed_known"], port
    assert one["lost"] == 2 * missed, one
    assert result.code == EXIT["invalid"] and says(result, "rx_missed"), result
    assert result.json["verdict"]["limited_by"] == "tester", result.json["verdict"]


@test
def a_schedule_that_the_tester_cannot_keep_is_missed_and_says_so():
    result = ddiperf(ring(item(load={"rate": "50k"}, timeout="20ms"), validity={}), invalid=True, world="cost=30us")
    one = result.item("queries")
    check_ledger(one)
    # A packet that is sent or received takes it 30 us: 16 667 transactions a second, and what is due before the end is sent for
    # some time after it.
    assert one["due"] == 15000 and 0.3 < one["sent"] / one["due"] < 0.4, one
    assert one["unsent"] > 0 and result.code == EXIT["invalid"], one
    assert says(result, "did not send") and result.json["verdict"]["limited_by"] == "tester", result
    # One sentence for the cause, and what would have been possible: 0.8 of what was.
    cause = result.json["verdict"]["cause"]
    assert re.fullmatch(r"this box was too slow for the load: it sent 1\d\.\d k/s of 50\.0 k/s", cause), cause
    assert f"INVALID: {cause}, so the run says nothing about the server (" in result.stdout, result
    able = re.search(r"the box would have sent about (\S+) k/s in time", result.stdout)
    assert abs(float(able[1]) * 1000 - 0.8 * one["sent_per_s"]) < 100, (able, one)


@test
def what_a_slow_tester_did_not_send_in_the_warmup_is_not_due_in_the_measured_part():
    loads = [{"rate": "5k"}, {"rate": "5k", "arrivals": "poisson"}, {"ramp": {"from": "5k", "to": "10k", "over": "300ms"}},
             {"steps": [{"rate": "6k", "for": "100ms"}, {"rate": "4k", "for": "200ms"}]},
             {"burst": {"size": 2000, "every": "400ms"}}, {"rate": "5k", "total": 200}]
    items = [item(str(n), load=load, timeout="50ms") for n, load in enumerate(loads)]
    for cpus in ([1], [1, 1]):
        tester = {"cpus": cpus, "tx_descriptors": 8192, "burst": 8}
        slow, quick = (ddiperf(ring(*items, tester=tester, run={"warmup": "500ms"}, validity={}), invalid=world != "", world=world)
                       for world in ("cost=300us", ""))
        for n, one in enumerate(slow.json["traffic"]):
            check_ledger(one)
            assert one["due"] == quick.json["traffic"][n]["due"], (n, one, quick.json["traffic"][n])
        for n, due in (0, 1500), (2, 2250), (3, 1400), (4, 2000), (5, 200):
            assert slow.json["traffic"][n]["due"] == due, (n, due, slow.json["traffic"][n])
        assert 0 < sum(one["sent"] for one in slow.json["traffic"]) < 6000, slow
        assert slow.json["verdict"]["limited_by"] == "tester", slow.json["verdict"]


@test
def buffers_that_were_not_there_are_counted():
    # What waits at the server is ours until it has looked at it: the pool is smaller than that.
    text = ring(item(load={"rate": "20k"}, timeout="1s"), tester={"mbufs": 1024}, run={"duration": "500ms"})
    result = ddiperf(text, invalid=True, world=away(RESPONDER, 200, 400))
    one = result.item("queries")
    check_ledger(one)
    assert one["lost"] == 0 and result.json["ports"][0]["tx_no_mbuf"] > 0, result
    assert one["send_lag"]["max_ns"] > 100e6, one  # they were sent when there were buffers again


@test
def slots_that_were_all_in_use_are_counted_and_limit_the_run():
    load, source = {"rate": "max", "slots": 500}, {"ports": ["2000"]}  # fewer than the device takes at once
    result = ddiperf(ring(item(load=load, source=source, timeout="2s"), run={"duration": "100ms"}, validity={}),
                     invalid=True, world="delay=10ms cost=2us")
    one = result.item("queries")
    check_ledger(one)
    assert one["sent"] <= 65536, one
    assert one["no_slot"] > 0, one
    assert result.json["verdict"]["limited_by"] == "tester", result.json["verdict"]


@test
def a_closed_loop_is_never_limited_by_nothing():
    result = ddiperf(ring(item(load={"outstanding": 64})), world="delay=1ms")
    assert result.json["verdict"]["limited_by"] in ("tester", "server"), result.json["verdict"]


main()
