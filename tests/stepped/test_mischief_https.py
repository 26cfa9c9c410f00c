#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Clients that misbehave by HTTPS beside a load, which has all its answers: what each kind does in its time, over rings
# against the embedded responder, and what the responder does with it.

from harness import EXIT, check_ledger, ddiperf, main, test
from loop import item, ring

NAMES = ["h{0-99}.example.com A"]
KINDS = ("h2_preface_only", "h2_streams_open", "h2_rapid_reset", "h2_settings_flood", "h2_window_zero", "h2_continuation_flood")
ENDS = ("refused", "no_answer", "closed", "reset", "lost_closed", "no_memory", "no_port", "left")


def doh(behave, dns=None, hold="200ms", many="50%", **https):
    """An item by HTTPS with such clients beside it: five at a time of each kind, each anew after 200 ms."""
    tcp = {"connections": 10, "behave": {"hold": hold, **{name: many for name in behave}}}
    return item(timeout="3s", dns={"names": NAMES, "transport": "https", "https": https, "tcp": tcp, **(dns or {})})


def run(one, https=None, dns=None, faults=None, duration="600ms"):
    """The clients of the result, and the responder: the load beside them has all its answers, and counts none of theirs."""
    responder = {"dns": dns or {}, "https": https or {}, **(faults or {})}
    result = ddiperf(ring(one, responder=responder, run={"duration": duration}))
    assert result.code == 0, result
    found = result.item("queries")
    check_ledger(found)
    assert found["answered"] == found["sent"] == found["due"] > 0, found
    assert found["stray"] == found["malformed"] == found["duplicate"] == found["late"] == 0, found
    conns = found["connections"]
    assert conns["opened"] == conns["tls"]["begun"] == conns["tls"]["full"] == 10 and all(conns[name] == 0 for name in ENDS), conns
    http = conns["http"]
    assert http["status"] == {"200": found["sent"]} and http["bad_frame"] == 0, http
    assert not http["rst_stream"] and not http["goaway"] and not http["error_sent"], http
    assert conns["behave"]["no_memory"] == 0, conns["behave"]
    return conns["behave"], result.json["responder"], found["sent"]


def check_begun(bad, name, shaken=True):
    """In 600 ms. Returns how many of them were able to misbehave."""
    opened = bad["opened"][name]
    assert 14 <= opened <= 16 and abs(bad["established"][name] - opened) <= 1, (name, bad)
    assert abs(bad["shaken"].get(name, 0) - opened * shaken) <= 1, (name, bad)
    return bad["shaken"].get(name, 0)


def check_ended(bad, name, closed):
    """The responder closed all of them, but the last ones, or none."""
    assert not bad["reset"].get(name), bad
    assert bad["opened"][name] * closed - 3 <= bad["closed"].get(name, 0) <= bad["opened"][name] * closed, (name, bad)


@test
def requests_without_an_end_wait_and_harm_nobody():
    for method in ("post", "get"):
        for streams in (100, 7):
            for name in ("h2_preface_only", "h2_streams_open"):
                bad, theirs, sent = run(doh([name], method=method), https={"streams": streams})
                check_begun(bad, name)
                check_ended(bad, name, False)
                assert theirs["received"] == sent and 0 < bad["received_bytes"][name] < 1500 * bad["opened"][name], (theirs, bad)


@test
def nobody_takes_the_streams_of_all():
    """80 clients ask for 1000 of the responder's 65 536 streams each: the last ones lose what they have."""
    bad, theirs, sent = run(doh(["h2_streams_open"], hold="500ms", many="160/s"), https={"streams": 1000}, duration="1s")
    assert 20 <= bad["closed"]["h2_streams_open"] <= 60 and bad["shaken"]["h2_streams_open"] >= 158, bad
    assert theirs["received"] == sent, (theirs, sent)


@test
def answers_without_a_window_are_as_many_as_streams():
    for method in ("post", "get"):
        for streams in (100, 7):
            bad, theirs, sent = run(doh(["h2_window_zero"], method=method), https={"streams": streams})
            begun = check_begun(bad, "h2_window_zero")
            check_ended(bad, "h2_window_zero", False)
            assert begun * streams - streams <= theirs["received"] - sent <= begun * streams, (theirs, sent, bad)
            assert theirs["answered"] == theirs["received"], theirs


@test
def requests_cancelled_at_once_leave_nothing_behind():
    for method in ("post", "get"):
        for faults in ({}, {"faults": {"delay": {"uniform": {"min": "20ms", "max": "50ms"}}}}):  # the answer leaves at once; or after RST_STREAM, to nobody
            bad, theirs, sent = run(doh(["h2_rapid_reset"], method=method), https={"streams": 30}, faults=faults)
            begun = check_begun(bad, "h2_rapid_reset")
            check_ended(bad, "h2_rapid_reset", False)
            asked = (theirs["received"] - sent) / begun
            assert 400 < asked < 1000, (asked, bad)  # 2 KiB and a bit in 5 ms
            assert (bad["received_bytes"]["h2_rapid_reset"] > 50 * asked * begun) == (not faults), (asked, bad)


@test
def floods_end():
    for name in ("h2_settings_flood", "h2_continuation_flood"):
        bad, theirs, sent = run(doh([name]))
        check_begun(bad, name)
        check_ended(bad, name, True)
        assert theirs["received"] == sent, (theirs, sent)
        # Beside each frame of settings, and each ping, at most one that answers it.
        assert bad["received_bytes"][name] < (80000 if name == "h2_settings_flood" else 2000) * bad["opened"][name], bad


@test
def all_kinds_at_once_and_those_of_tls():
    others = {"syn_only": False, "handshake_only": False, "mute": False, "tls_hello_only": False, "tls_hello_part": False, "tls_handshake_only": True,
              "tls_junk": False}
    for proxy in (False, True):
        bad, _, _ = run(doh([*KINDS, *others], dns={"proxy": {"local": True}} if proxy else {}), dns={"proxy": proxy})
        for name in KINDS:
            check_begun(bad, name)
            check_ended(bad, name, name.endswith("flood"))
        for name, shaken in others.items():
            check_begun(bad, name, shaken)


@test
def each_kind_is_for_its_transports():
    for transport, name, wanted in (
            ("tcp", "h2_rapid_reset", "https"), ("tls", "h2_preface_only", "https"), ("tcp", "tls_junk", "tls and https"),
            ("https", "part", "tcp"), ("https", "slow_reader", "tcp")):
        one = item(dns={"names": NAMES, "transport": transport, "tcp": {"connections": 10, "behave": {name: "10%"}}})
        result = ddiperf(ring(one))
        assert result.code == EXIT["usage"], result
        assert f"behave.{name}: is for transport: {wanted}\n" in result.stderr, result


if __name__ == "__main__":
    main()
