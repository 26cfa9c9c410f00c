#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# What dnsperf asked a real server and what it answered, captured by another program, is asked again: all answers are
# equal, and after a change of the zone each differing answer is in its class and in our capture with the reason.

import tempfile
from collections import Counter
from pathlib import Path

from harness import check_ledger, main, nightly, test, tshark
from live import SERVER, addresses, config, dumped, item, lab

NAMES = ["www.dyn.example A", "ns.dyn.example A", "dyn.example NS", "dyn.example SOA", "new.dyn.example A",
         "no.dyn.example A", "www.dyn.example AAAA", "example.com MX", "h1.example.com A", "h2.example.com MX"]
ROUNDS = 20
ALL = ["rcode", "flags", "answer", "authority", "additional"]
# The address of a host, of the name server, and a name that was not there. The serial of the SOA record grows.
CHANGE = f"""server {SERVER[4]}
zone dyn.example.
del www.dyn.example. 300 A 192.0.2.80
add www.dyn.example. 300 A 192.0.2.82
del ns.dyn.example. 300 A {SERVER[4]}
add ns.dyn.example. 300 A 192.0.2.53
add new.dyn.example. 300 A 192.0.2.1
send
"""


def capture(here, folder):
    (folder / "names").write_text("\n".join(NAMES) + "\n")
    with addresses(here, "198.18.0.9/24"), dumped(folder / "theirs.pcapng", "udp port 53", 2 * len(NAMES) * ROUNDS):
        code, out, err = here.call("run", "dnsperf", "-s", SERVER[4], "-d", str(folder / "names"), "-n", str(ROUNDS))
    assert code == 0 and f"Queries completed:    {len(NAMES) * ROUNDS} (100.00%)" in out, (out, err)


def replay(here, folder, parts=ALL, server=SERVER[4]):
    """The result of our item, and how many answers there are for each reason in our capture."""
    dns = {"wire": str(folder / "theirs.pcapng"), "expect": {"captured": parts}}
    load = {"rate": "1k", "total": str(len(NAMES) * ROUNDS)}
    path = folder / "ours.pcapng"
    result = here.ddiperf(config("af_packet", item(dns=dns, load=load, server=server), run={"duration": "5s"},
                                 output={"capture": {"file": str(path), "when": ["failed"], "limit": 10_000}}))
    assert result.code == 0, result
    one = result.item("queries")
    check_ledger(one)
    assert one["answered"] + one["failed"] == one["sent"] == len(NAMES) * ROUNDS, one
    reasons = Counter(p["frame.comment"].split(",")[-1] for p in tshark(path, ("frame.p2p_dir", "frame.comment"))
                      if p["frame.p2p_dir"] == "1")
    return one["dns"], reasons


def replayed(server, changed, reasons):
    here = lab(server)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        capture(here, folder)
        dns, none = replay(here, folder)
        assert dns["captured_same"] == len(NAMES) * ROUNDS and dns["captured_unknown"] == 0 and not none, (dns, none)
        (folder / "change").write_text(CHANGE)
        code, out, err = here.call("dut", "knsupdate", str(folder / "change"))
        assert code == 0 and not err, (out, err)
        dns, seen = replay(here, folder)
    assert dns["captured_differs"] == {part: n * ROUNDS for part, n in changed.items()}, dns
    assert dns["captured_same"] == (len(NAMES) - sum(changed.values())) * ROUNDS, dns
    assert seen == {reason: n * ROUNDS for reason, n in reasons.items()}, seen


CHANGED = {"answer": 3, "additional": 1, "rcode": 1, "authority": 2}
REASONS = {"another RCODE than in the capture": 1, **{f"another {part} section than in the capture": n
                                                      for part, n in CHANGED.items() if part != "rcode"}}


@test
def knot_answers_as_captured_until_its_zone_changes():
    replayed("knot", CHANGED, REASONS)


@nightly
def bind_answers_as_captured_until_its_zone_changes():
    replayed("bind", CHANGED, REASONS)


@nightly
def nsd_answers_as_knot_has_for_the_zone_that_both_serve():
    with tempfile.TemporaryDirectory() as name:
        capture(lab("knot"), Path(name))
        every, _ = replay(lab("nsd"), Path(name))
        dns, reasons = replay(lab("nsd"), Path(name), ["rcode", "flags", "answer"])
    assert dns["captured_differs"] == {"rcode": 7 * ROUNDS} and dns["captured_same"] == 3 * ROUNDS, dns
    assert reasons == {"another RCODE than in the capture": 7 * ROUNDS}, reasons
    # NSD names its zone's servers in the authority section.
    assert every["captured_differs"] == {"rcode": 7 * ROUNDS, "authority": 2 * ROUNDS}, every


main()
