#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Things that happen during a run, and counters of the server's machine around it.


from harness import ddiperf, main, test
from loop import item, ring


OUTAGE = {"off_at": "400ms", "on_at": "650ms"}


def event(result, name):
    """An event of the result and its only item."""
    one = next(one for one in result.json["events"] if one["name"] == name)
    return one, one["traffic"][0]


@test
def a_gap_is_measured_within_1_ms_of_the_outage():
    """The server's outage is known to the tester by its faults alone; the event names the moment."""
    text = ring(item(load={"rate": "20k"}, timeout="100ms"), run={"duration": "1s"}, responder={"dns": {}, "faults": {"outage": OUTAGE}},
                events=[{"at": "390ms", "run": "true", "name": "kill"}])
    result = ddiperf(text)
    one, after = event(result, "kill")
    assert one["exit_status"] == 0 and one["outcome"] == "exit status 0" and not one["failed"], one
    assert after["lost"] == result.item("queries")["lost"] and after["regained_s"] is not None, after
    assert abs(after["longest_gap_ns"] - 250e6) < 1e6 and abs(after["first_answer_ns"] - 260e6) < 1e6, after
    assert 0.3 <= after["regained_s"] <= 0.51 and abs(one["began_s"] - 0.39) < 0.01, one
    assert abs(after["lost"] - 5000) < 25, after
    at = [interval["events"] for interval in result.json["intervals"] if interval["events"]]
    assert at == [["kill"]] and "kill: exit status 0" in result.stdout, result


@test
def a_gap_that_does_not_end_has_no_first_answer_and_each_event_its_own_figures():
    text = ring(item(load={"rate": "20k"}, timeout="50ms"), run={"duration": "800ms"},
                responder={"dns": {}, "faults": {"outage": {"off_at": "600ms", "on_at": "9s"}}},
                events=[{"at": "200ms", "run": "true"}, {"at": "550ms", "run": "true", "name": "second"}])
    result = ddiperf(text)
    _, first = event(result, "true")
    _, second = event(result, "second")
    assert first["longest_gap_ns"] < 50e6 and first["lost"] == 0, first
    assert second["first_answer_ns"] is None and second["regained_s"] is None and second["lost"] > 3000, second
    assert abs(second["longest_gap_ns"] - 200e6) < 1e6, second


@test
def a_rate_changes_at_its_time():
    """To the transaction, over a warm-up too."""
    for warmup in "0s", "100ms":
        result = ddiperf(ring(item(load={"rate": "2k"}), run={"warmup": warmup, "duration": "600ms"}, events=[
            {"at": "200ms", "set": "traffic.queries.load.rate=10k"}, {"at": "400ms", "set": "traffic.queries.load.rate=1k"}]))
        assert result.item("queries")["due"] == 400 + 2000 + 200, result
        due = [interval["traffic"][0]["due"] for interval in result.json["intervals"][:6]]
        assert due == [200, 200, 1000, 1000, 100, 100], due


@test
def a_fault_changes_its_share_at_its_time():
    never = {"dns": {}, "faults": {"loss": {"share": "0.0000001%"}}}
    result = ddiperf(ring(item(load={"rate": "5k"}, timeout="200ms"), run={"duration": "600ms"}, responder=never, events=[
        {"at": "200ms", "set": "responder.faults.loss.share=50%", "name": "half"}, {"at": "400ms", "set": "responder.faults.loss.share=0%", "name": "none"}]))
    one = result.item("queries")
    lost = [interval["traffic"][0]["lost"] for interval in result.json["intervals"][:6]]
    # Lost at the end of a timeout: half of the 1000 that were due from 0.2 to 0.4 s.
    assert 200 < result.json["responder"]["faults"].get("loss", 0) < 800, result
    assert lost[:4] == [0, 0, 0, 0] and 400 < one["lost"] < 600, (lost, one)


main()
