#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Dynamic updates to real servers: serial, records and the server's own counters agree with our ledger; the RCODE of each
# prerequisite; servers that take none; and dnsperf -u beside us.

import re
import tempfile
from pathlib import Path

from harness import binary, check_ledger, ddiperf, main, test, timing
from live import SERVER, config, item, lab

ZONE = "dyn.example"
ADD = f"{ZONE}\nprohibit n{{random:12}}\nadd n{{random:12}} 60 A 10.0.0.1\nadd n{{random:12}} 60 TXT two"
DELETE = f"{ZONE}\nrequire n{{random:12}} A 10.0.0.1\ndelete n{{random:12}}"


def zone(here):
    """(serial, records) by a transfer, the SOA record counted once."""
    code, out, err = here.call("dut", "kdig", "+noall", "+answer", f"@{SERVER[4]}", ZONE, "AXFR")
    lines = [line.split() for line in out.splitlines() if line and not line.startswith(";")]
    assert code == 0 and lines and lines[0][3] == "SOA", (code, out, err)
    return int(lines[0][6]), len(lines) - 1


def update(dns, total, outstanding=20, **keys):
    result = ddiperf(config("af_packet", item(
        load={"outstanding": outstanding, "total": str(total)}, dns=dns, timeout="2s", **keys), run={"duration": "20s"}),
        prefix=lab().tester())
    assert result.code == 0, result
    one = result.item("queries")
    check_ledger(one)
    assert one["sent"] == one["answered"] + one["failed"] == total, one
    return one["dns"]


def updates_to(server, counters, outstanding):
    here = lab(server)
    serial, records = zone(here)
    before = here.stats()
    ours = update({"update": [ADD, DELETE], "update_run": 100}, 500, outstanding)
    assert ours["rcode"] == {"NOERROR": 500}, ours
    after = here.stats()
    for name, per in counters.items():
        assert int(after[name]) - int(before.get(name, 0)) == 500 * per, (name, before.get(name), after[name])
    # Adds 1-100, deletes 1-100, adds, deletes, adds: 100 names of two records are left.
    assert zone(here) == (serial + 500, records + 200)


@test
def bind_has_what_was_sent():
    updates_to("bind", {"nsstats.UpdateDone": 1}, outstanding=20)


@test
def knot_has_what_was_sent():
    # Updates that wait together are one step of the serial.
    updates_to("knot", {"mod-stats.server-operation[update]": 1}, outstanding=1)


def rcodes_of(server):
    lab(server)
    kinds = ["require www AAAA", "require www A 192.0.2.80", "prohibit www A", "require q", "prohibit www",
             "require www.example.net.", "require www\nrequire www A\nprohibit q\nprohibit q A"]
    ours = update({"update": [f"{ZONE}\n{line}" for line in kinds], "expect": {"rcode": ["YXDOMAIN"]}}, 70)
    assert ours["rcode"] == {"NOERROR": 10, "NXDOMAIN": 10, "YXDOMAIN": 10, "YXRRSET": 10, "NXRRSET": 20, "NOTZONE": 10}, ours


@test
def bind_has_the_rcode_of_each_prerequisite():
    rcodes_of("bind")


@test
def knot_has_the_rcode_of_each_prerequisite():
    rcodes_of("knot")


@test
def nsd_takes_no_updates():
    lab("nsd")
    assert list(update({"update": [ADD]}, 20)["rcode"]) == ["NOTIMP"]


@test
def unbound_takes_no_updates():
    lab("unbound")
    rcodes = update({"update": [ADD]}, 20)["rcode"]
    assert len(rcodes) == 1 and set(rcodes) <= {"NOTIMP", "REFUSED"}, rcodes


@test
def the_command_line_of_dnsperf_prints_what_dnsperf_prints():
    here = lab("bind")
    text = "".join(f"{ZONE}\nadd d{i} 60 A 10.1.0.{i}\nsend\n{ZONE}\ndelete d{i}\nsend\n" for i in range(20))
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        path = Path(folder) / "u"
        path.write_text(text)
        here.call("run", "ip", "address", "replace", "198.18.0.9/24", "dev", "veth0")
        try:
            sides = []
            for tool in (["dnsperf"], [binary(), "as", "dnsperf"]):
                serial = zone(here)[0]
                code, out, err = here.call("run", *tool, "-s", SERVER[4], "-d", str(path), "-u", "-n", "1", "-q", "1", "-v")
                timing("this run is invalid" not in err, (tool, out, err))
                assert code == 0, (tool, out, err)
                assert zone(here)[0] == serial + 40, (tool, out, err)
                sides.append(out)
        finally:
            here.call("run", "ip", "address", "del", "198.18.0.9/24", "dev", "veth0")
    kept = [re.sub(r"(?m)^(\[Status\] (Command|Started)|  (Run time|Updates per|(Average )?Latency)).*\n", "", out) for out in sides]
    kept = [re.sub(r"(?m)^(> .* )[0-9.]+$", r"\1", out).strip() for out in kept]  # without the time
    assert kept[0] == kept[1] and kept[0].count(f"> NOERROR {ZONE} ") == 40, kept


main()
