#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Load shapes over rings: every one sends exactly what its formula says, in total and per interval, and its ledger adds
# up; stop rules end a run; criteria reach steps and intervals.

import tempfile
from pathlib import Path

from harness import EXIT, check_ledger, ddiperf, main, test
from loop import bucket, item, pcap_write, ring

LINK_NS = 2000  # there and back
RUN = {"duration": "600ms", "interval": "100ms"}
STEPS = [{"rate": "2k", "for": "100ms"}, {"rate": "0", "for": "100ms"}, {"rate": "500", "for": "200ms"}]
TIMES = "# seconds\n" + "".join(f"{1700000000 + 0.001 * k + 0.2 * (k >= 100):.6f}\n" for k in range(200))
# A load, and how many are due in each tenth of a second.
SHAPES = {
    "rate": ({"rate": "1k"}, [100] * 6),
    "ramp": ({"ramp": {"from": "0", "to": "6k", "over": "600ms"}}, [50, 150, 250, 350, 450, 550]),
    "ramp-with-hold": ({"ramp": {"from": "500", "to": "1500", "over": "200ms"}}, [75, 125, 150, 150, 150, 150]),
    "steps": ({"steps": STEPS}, [200, 0, 50, 50]),
    "wave": ({"wave": {"mean": "1k", "amplitude": "1k", "period": "200ms"}}, [164, 36] * 3),
    "burst": ({"burst": {"size": 50, "every": "50ms"}}, [100] * 6),
    "storm": ({"storm": {"clients": 500, "within": "200ms"}}, [250, 250]),
    "storm-at-once": ({"storm": {"clients": 300, "within": "0s"}}, [300]),
    "window": ({"rate": "1k", "start_at": "100ms", "stop_at": "300ms"}, [0, 100, 100]),
    "total": ({"ramp": {"from": "0", "to": "6k", "over": "600ms"}, "total": 300}, [50, 150, 100]),
    "replay": ({"replay": {"file": "times.txt"}}, [100, 0, 0, 100]),
    "fast-replay": ({"replay": {"file": "times.txt", "speed": "2"}}, [100, 100]),
}
IN_WARMUP = {"ramp": 0, "ramp-with-hold": 100, "steps": 400, "wave": 200, "burst": 200, "storm": 0, "window": 0, "replay": 0}


def exact(one, expected):
    check_ledger(one)
    assert one["due"] == one["sent"] + one["unsent"] == expected, one


def series(result, name):
    """(tenths of a second, due until then) at the end of each interval."""
    due, found = 0, []
    for interval in result.json["intervals"]:
        due += next(i["due"] for i in interval["traffic"] if i["name"] == name)
        found.append((round(interval["t_s"] * 10, 9), due))
    return found


def assert_follows(result, name, expected):
    exact(result.item(name), sum(expected))
    *whole, last = series(result, name)
    assert whole == [(n, sum(expected[:n])) for n in range(1, len(whole) + 1)], (name, whole)
    assert len(whole) >= len(expected) and last[1] == sum(expected), (name, whole, last)


def all_shapes(names, **run):
    items = (item(name, load=SHAPES[name][0]) for name in names)
    return ddiperf(ring(*items, run={**RUN, **run}), files={"times.txt": TIMES})


@test
def every_shape_is_due_exactly_as_its_formula_says_and_none_disturbs_another():
    result = all_shapes(SHAPES)
    for name, (_, expected) in SHAPES.items():
        one = result.item(name)
        assert one["loop"] == "open", name
        assert_follows(result, name, expected)
        latency = one["latency"]["response"]
        if name not in ("burst", "storm-at-once"):  # of which each waits for those before
            assert latency["min_ns"] == LINK_NS and latency["p50_ns"] == bucket(LINK_NS), (name, latency)


@test
def a_warmup_is_sent_at_the_first_rate_and_leaves_the_shape_alone():
    result = all_shapes(IN_WARMUP, warmup="200ms")
    for name in IN_WARMUP:
        assert_follows(result, name, SHAPES[name][1])
    early = result.json["responder"]["received"] - sum(one["sent"] for one in result.json["traffic"])
    assert early == sum(IN_WARMUP.values()), (early, result)


@test
def random_arrivals_are_the_same_for_a_seed_and_differ_between_items_and_seeds():
    items = [item(name, load={"rate": "2k", "arrivals": "poisson"}) for name in ("a", "b")]
    due = [[one["due"] for one in ddiperf(ring(*items, run={**RUN, "seed": seed})).json["traffic"]]
           for seed in (1, 1, 2)]
    assert due[0] == due[1] != due[2] and due[0][0] != due[0][1], due
    assert all(abs(n - 1200) < 5 * 1200 ** 0.5 for n in due[0] + due[2]), due


@test
def a_replay_sends_at_the_times_of_packets_that_pass_a_filter():
    frames = [bytes(12) + b"\x08\x00" + bytes([0x45]) + bytes(8) + bytes([proto]) + bytes(40)
              for proto in (17, 6, 17, 17)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "in.pcap"
        path.write_bytes(pcap_write(frames))
        for chosen, expected in (("udp", 3), (None, 4)):
            replay = {"file": str(path), **({"filter": chosen} if chosen else {})}
            result = ddiperf(ring(item(load={"replay": replay}), run=RUN))
            exact(result.item("queries"), expected)


@test
def a_line_of_a_replay_is_one_time_however_long_it_is():
    config = ring(item(load={"replay": {"file": "times.txt"}}))
    for at in range(240, 260):
        result = ddiperf(config, command="check", files={"times.txt": f"1.5 {'q' * at} 7 more\n1.6\n"})
        assert result.code == 0, (at, result)


@test
def a_closed_loop_ramps_up_and_keeps_its_window():
    load = {"outstanding": 8, "ramp_up": "200ms", "start_at": "100ms", "stop_at": "400ms"}
    result = ddiperf(ring(item(load=load), run=RUN), world="delay=500us")
    ledger = result.item("queries")
    check_ledger(ledger)
    assert ledger["loop"] == "closed" and ledger["sending_s"] == 0.3, ledger
    # Eight are allowed 200 ms after the start, each with a round trip of 1 ms.
    assert series(result, "queries")[:4] == [(1, 0), (2, 230), (3, 803), (4, 803 + 8 * 100)], series(result, "queries")


@test
def a_piece_of_work_is_rated_until_its_last_answer():
    delay = {"delay": {"constant": "300ms"}}
    one = item(load={"storm": {"clients": 100, "within": "100ms"}})
    result = ddiperf(ring(one, run=RUN, responder={"dns": {}, "faults": delay}))
    ledger = result.item("queries")
    exact(ledger, 100)
    assert ledger["sending_s"] == 0.0995, ledger  # the last of a hundred is due then
    assert LINK_NS <= 1e9 * (ledger["last_answer_s"] - 0.3995) <= LINK_NS + 512, ledger
    assert abs(ledger["answered_per_s"] * ledger["last_answer_s"] - 100) < 1e-9, ledger
    assert abs(ledger["due_per_s"] * ledger["sending_s"] - 100) < 1e-9, ledger
    assert result.json["run"]["measured_s"] == 0.0995, result.json["run"]
    assert result.json["workers"][0]["passes"]["count"] == 101, result.json["workers"]  # of the measured part only


# --- stop rules and criteria ---------------------------------------------------------------------------------------

DEAF = {"dns": {}, "faults": {"loss": {"share": "100%"}}}
DULL = {"dns": {"rcode": "SERVFAIL"}}
STRICT = {"names": ["a.example.com A"], "expect": {"rcode": ["NOERROR"]}}
LONG = {"duration": "20s", "interval": "100ms"}


def stopped(result, rule, at_s, status="fail"):
    verdict = result.json["verdict"]
    assert verdict["stopped_s"] == at_s, verdict
    assert verdict["stopped"] == rule and result.code == EXIT[status], (verdict, result)
    assert any(rule in reason for reason in verdict["reasons"]), verdict
    assert verdict["criteria"][-1]["pass"] is False, verdict
    # The workers stop 15 ms later.
    assert 0 <= round(result.json["run"]["measured_s"] - at_s - 0.015, 9) < 1e-6, result.json["run"]
    for one in result.json["traffic"]:
        check_ledger(one)


@test
def a_counter_ends_the_run_when_it_has_come_to_its_limit():
    one = item(load={"rate": "500"}, dns=STRICT)
    result = ddiperf(ring(one, run=LONG, responder=DULL, stop=["failed > 100", "loss > 5% for 3s"]), timeout=40)
    stopped(result, "failed > 100", 0.3)  # 50 in each interval
    assert result.item("queries")["failed"] == 158, result
    assert "failed > 100" in result.stdout.splitlines()[-1], result


@test
def a_loss_that_lasts_ends_the_run():
    good = item("good", load={"rate": "100"}, dns=STRICT)
    bad = item("bad", load={"rate": "500"}, timeout="100ms", server="198.18.0.3")
    run = ring(good, bad, run=LONG, dut={"addresses": ["198.18.0.2/24", "198.18.0.3/24"]}, stop=["loss > 5% for 300ms"],
               responder={"dns": {}, "faults": {"loss": {"share": "50%"}}})
    result = ddiperf(run, timeout=40)
    assert result.json["verdict"]["stopped"].endswith("loss > 5% for 300ms"), result
    assert result.code == EXIT["fail"] and result.json["verdict"]["stopped_s"] == 0.4, result  # the first 100 ms lose nothing yet


@test
def silence_ends_the_run_and_the_server_is_unreachable():
    result = ddiperf(ring(item(timeout="100ms"), run=LONG, responder=DEAF, stop=["unanswered for 300ms"]), timeout=40)
    assert result.code == EXIT["unreachable"], result
    verdict = result.json["verdict"]
    assert (verdict["stopped"], verdict["stopped_s"]) == ("unanswered for 300ms", 0.3), verdict
    assert result.json["run"]["measured_s"] == 0.315, result.json["run"]


@test
def more_outstanding_than_allowed_ends_the_run():
    one = item(load={"rate": "1k", "max_outstanding": 150})
    result = ddiperf(ring(one, run=LONG, responder={"dns": {}, "faults": {"delay": {"constant": "1s"}}}), timeout=40)
    stopped(result, "traffic.queries.in_flight > 150", 0.2)


@test
def a_rule_that_never_holds_changes_nothing():
    stop = ["loss > 5% for 400ms", "unanswered for 400ms", "failed > 0", "traffic.queries.sent > 100k"]
    result = ddiperf(ring(item(), run={"duration": "400ms"}, stop=stop))
    assert result.code == 0 and "stopped" not in result.json["verdict"], result
    assert result.item("queries")["due"] == 800, result


@test
def a_rule_may_end_a_run_before_the_turn_of_an_item():
    late = item("late", load={"rate": "1k", "start_at": "4s"})
    result = ddiperf(ring(item(), late, run={"duration": "5s"}, stop=["traffic.queries.sent > 100"]))
    stopped(result, "traffic.queries.sent > 100", 0.1)
    assert result.item("late")["due"] == 0, result.item("late")


@test
def the_drain_is_not_judged_by_stop_rules():
    faults = {"loss": {"every": 100}}
    stop = ["unanswered for 250ms", "answered_per_s < 1 for 250ms", "lost > 0"]
    result = ddiperf(ring(item(timeout="800ms"), responder={"dns": {}, "faults": faults}, stop=stop))
    assert result.item("queries")["lost"] == 6, result
    assert len(result.json["intervals"]) == 12, result
    assert result.code == 0 and "stopped" not in result.json["verdict"], result


@test
def criteria_reach_steps_and_intervals():
    leases = {
        "name": "leases", "server": "198.18.0.2", "timeout": "500ms", "load": {"rate": "500"},
        "dhcp4": {"clients": "10k", "relay": {"addresses": ["198.18.0.64/28"]}},
    }
    criteria = [
        "traffic.leases.steps.request-ack.p99 <= 3s", "traffic.leases.steps.request-ack.p99 <= 1ns",
        "traffic.leases.steps.renew-ack.p99 <= 1s", "traffic.leases.steps.renew-ack.lost == 0",
        "max(traffic.leases.interval.due) >= 50", "min(traffic.leases.interval.due_per_s) >= 1",
        "mean(traffic.leases.interval.due) >= 50", "max(traffic.leases.interval.loss) <= 0%",
    ]
    responder = {"dns": {}, "dhcp4": {"pool": "10.0.0.0/16", "server_id": "198.18.0.2"}}
    run = ring(leases, run={"duration": "500ms"}, responder=responder, criteria=criteria)
    result = ddiperf(run)
    verdict = result.json["verdict"]
    assert result.code == EXIT["fail"], result
    assert [c["pass"] for c in verdict["criteria"]] == [True, False, False, True, True, True, True, True], verdict
    assert verdict["criteria"][2]["value"] is None, verdict


main()
