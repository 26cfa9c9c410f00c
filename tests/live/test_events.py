#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Things that happen to a real server, and to the tester's link, during a run: what the events' figures and the server's
# own counters say of them.

from pathlib import Path

from harness import main, test, timing
from live import DRIVERS, config, item, lab


def run(driver, events, **sections):
    """A second and a half at 2 000 a second, an event at 500 ms and one at 800 ms: the result, and each event's figures."""
    at = [{"at": when, **event} for when, event in zip(("500ms", "800ms"), events)]
    result = lab("unbound").ddiperf(config(
        driver, item(load={"rate": "2k"}, timeout="100ms"), run={"duration": "1500ms"}, events=at, **sections))
    assert result.json and result.item("queries")["due"] == 3000, result
    return result, [(one, one["traffic"][0]) for one in result.json["events"]]


def check_gap(events):
    """300 ms without an answer: a link and a server take a moment to come back."""
    (_, down), (_, up) = events
    timing(0.29e9 < down["longest_gap_ns"] < 0.4e9 and up["first_answer_ns"] < 0.1e9, events)
    timing(350 < down["lost"] + up["lost"] < 800, events)


@test
def a_server_that_stands_still_is_seen_by_its_gap_and_its_counters():
    here = lab("unbound")
    folder = f"/run/{here.prefix}-lab"
    pid = Path(folder, "unbound.pid").read_text().strip()
    result, events = run("af_packet", [{"run": f"kill -STOP {pid}", "name": "stop"}, {"run": f"kill -CONT {pid}"}],
                         dut={"counters": {"command": f"unbound-control -c {folder}/server.conf stats_noreset"}})
    for one, _ in events:
        assert one["exit_status"] == 0 and not one["failed"], one
    check_gap(events)
    # It answers what has waited for it, too late: the tester has lost it, the server has not.
    one, counters = result.item("queries"), {c["name"]: c["difference"] for c in result.json["dut"]["counters"]}
    assert counters["total.num.queries"] == one["sent"], (one, counters)
    assert one["late"] == one["lost"] > 0, one


def add(driver):
    def link():
        result, events = run(driver, [{"link": "down"}, {"link": "up"}])
        assert all(one["outcome"] == "exit status 0" for one, _ in events), events
        check_gap(events)
        # All that came back was answered, and the run is judged: its own event is no fault of the port.
        assert result.code == 0 and "INVALID" not in result.stdout, result

    link.__name__ = f"a_link_that_goes_down_and_up_is_survived_by_{driver}"
    test(link)


for name in DRIVERS[1:]:
    add(name)


main()
