#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# An item with several servers: which of them each transaction asks, and what the figures say of each. A server that is dead
# is an address behind the gateway that nobody has.


from harness import ddiperf, main, test
from loop import bucket, item, ring

SERVERS = ["198.18.0.2", "198.18.0.3", "198.18.0.4"]
DEAD = "203.0.113.1"
SLOW = {"load": {"rate": "1k"}, "timeout": "50ms"}


def run(servers, spread="round_robin", family=4, responder=None, events=(), **keys):
    """The result, its item, and the item's servers by name."""
    own = [f"{address}/24" for address in SERVERS] if family == 4 else ["2001:db8::2/64", "2001:db8::3/64"]
    text = ring(
        item(server=servers[0], servers=servers[1:], spread=spread, **{**SLOW, **keys}), responder=responder, events=list(events),
        tester={"addresses": ["198.18.0.1/24" if family == 4 else "2001:db8::1/64"], "gateway": [own[0].split("/")[0]]},
        dut={"addresses": own})
    result = ddiperf(text)
    one = result.item("queries")
    return result, one, {server["name"]: server for server in one["servers"]}


@test
def in_turn_each_server_has_the_same_share():
    result, one, servers = run(SERVERS)
    assert [s["answered"] for s in servers.values()] == [s["sent"] for s in servers.values()] == [100, 100, 100], servers
    assert one["answered"] == 300 and all(s["share"] == round(1 / 3, 15) and s["lost"] == 0 for s in servers.values()), one
    assert "198.18.0.4             100       100" in result.stdout, result
    for name in SERVERS:
        parts = [s["answered"] for i in result.json["intervals"] for s in i["traffic"][0]["servers"] if s["name"] == name]
        assert sum(parts) == 100, (name, parts)
    _, one, servers = run(["2001:db8::2", "2001:db8::3"], family=6)
    assert [s["answered"] for s in servers.values()] == [150, 150], servers
    _, one, servers = run(["198.18.0.2", "@198.18.0.3:53", "::ffff:198.18.0.4"])
    assert {name: s["answered"] for name, s in servers.items()} == {name: 100 for name in SERVERS}, "as people write them"


@test
def by_hash_a_source_port_keeps_to_its_server():
    _, one, servers = run(SERVERS, "hash")
    assert [s["answered"] for s in servers.values()] == [95, 108, 97], servers  # with the ports of seed 1
    _, one, servers = run(SERVERS, "hash", source={"ports": ["5000"]})
    assert sorted(s["answered"] for s in servers.values()) == [0, 0, 300], servers


@test
def a_stub_resolver_asks_the_next_server_after_the_timeout():
    result, one, servers = run([DEAD, *SERVERS[:2]], "stub")
    assert one["sent"] == one["answered"] == 300 and one["lost"] == one["stray"] == 0, one
    assert [(s["sent"], s["answered"], s["lost"]) for s in servers.values()] == [(300, 0, 300), (300, 300, 0), (0, 0, 0)], servers
    # From the due time to the answer it is the wait and more; from the last send it is none.
    response, service = (one["latency"][kind] for kind in ("response", "service"))
    assert (response["min_ns"], response["max_ns"]) == (50e6 + 2000, 50e6 + 2200), one  # a packet is ready every 200 ns
    assert service["min_ns"] == service["max_ns"] == 2000, one
    assert servers[DEAD]["longest_gap_ns"] == 299.5e6, servers  # until its last query
    # In turn, two thirds do not wait.
    _, one, servers = run([DEAD, *SERVERS[:2]], "stub", rotate=True)
    assert one["latency"]["response"]["p50_ns"] == bucket(2000) and one["latency"]["response"]["max_ns"] == 50e6 + 2400, one
    assert [(s["sent"], s["answered"]) for s in servers.values()] == [(100, 0), (200, 200), (100, 100)], servers


@test
def a_stub_resolver_gives_up_after_its_attempts():
    for attempts, servers in ((1, [DEAD]), (3, [DEAD]), (2, [DEAD, "203.0.113.2"])):
        _, one, figures = run(servers, "stub", attempts=attempts, timeout="20ms")
        assert one["lost"] == one["sent"] == 300 and one["answered"] == 0, one
        assert all(s["sent"] == s["lost"] == attempts * 300 for s in figures.values()), (attempts, figures)


@test
def a_server_that_was_given_up_answers_too_late():
    """All answers take 90 ms, and each server is asked for 60 ms: nobody listens to the first one any more."""
    _, one, _ = run(SERVERS[:2], "stub", responder={"dns": {}, "faults": {"delay": {"constant": "90ms"}}}, timeout="60ms", attempts=1)
    assert (one["lost"], one["answered"], one["late"], one["duplicate"], one["stray"]) == (300, 0, 600, 0, 0), one


@test
def an_event_says_how_long_clients_waited():
    """80 ms without an answer: those that were due in it and answered after it are the ones that waited. With a stub
    resolver nothing is lost: the same server is asked again every 20 ms until it is back."""
    outage = {"dns": {}, "faults": {"outage": {"off_at": "100ms", "on_at": "180ms"}}}
    result, one, servers = run(SERVERS[:1], "stub", responder=outage, attempts=8, timeout="20ms",
                               events=[{"at": "100ms", "run": "true", "name": "stop"}])
    after = result.json["events"][0]["traffic"][0]
    assert one["lost"] == 0 and one["answered"] == 300, one
    assert after["servers"][0]["name"] == SERVERS[0] and after["servers"][0]["lost"] == 80 + 60 + 40 + 20, after
    assert after["waited"]["count"] == 81 and after["waited"]["max_ns"] == 80e6 + 3200, after
    assert after["longest_gap_ns"] == 81e6 and after["servers"][0]["longest_gap_ns"] == 80e6 + 2000, after
    assert "waited over that gap" in result.stdout, result


main()
