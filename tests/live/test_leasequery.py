#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Bulk lease queries to a server of others: DHCPKit (RFC 5460), which leased before what it is asked about.

import contextlib
import signal
import sys
import tempfile
import time
from pathlib import Path

import dhcpkit_server
from harness import check_ledger, kill, main, nightly, skip, start
from live import SERVER, config, lab

COUNT, ASKED = 40, 5
MAC = "020f0c"
LOAD = {"rate": "20", "total": str(ASKED), "start_at": "1500ms"}


@contextlib.contextmanager
def dhcpkit(**settings):
    """DHCPKit on the far end of the wire: the lab. Its clients are the first ones of leases()."""
    try:
        import dhcpkit  # noqa: F401
    except ImportError:
        skip("no dhcpkit (scripts/deps install test)")
    here = lab("none")
    with tempfile.TemporaryDirectory() as folder:
        path = dhcpkit_server.write(Path(folder), [f"00030001{MAC}{i:06x}" for i in range(COUNT)], **settings)
        process = start(here.dut(sys.executable, dhcpkit_server.__file__, str(path)))
        try:
            said = []
            for line in process.stderr:
                said.append(line)
                if "ready to handle" in line:
                    break
            else:
                raise AssertionError("".join(said))
            yield here
        finally:
            kill(process, signal.SIGTERM)
            time.sleep(0.2)
            kill(process)
            process.communicate()


def leases():
    """Clients behind a relay that take an address and a prefix."""
    return {"name": "leases", "server": SERVER[6], "timeout": "2s", "load": {"rate": "50", "total": str(COUNT)}, "dhcp6": {
        "clients": COUNT, "mac": "02:0f:0c:00:00:00", "lease": "both", "relay": {"addresses": ["2001:db8::100"]}}}


def asking(name, **settings):
    return {"name": name, "server": SERVER[6], "timeout": "3s", "load": LOAD, "leasequery6": {"tcp": {"connections": 1}, **settings}}


def run(here, *items):
    """The items of queries with their counters by name, and the result."""
    result = here.ddiperf(config("af_packet", leases(), *items, run={"duration": "5s"}))
    assert result.json, result
    for one in result.json["traffic"]:
        check_ledger(one)
    assert result.item("leases")["dhcp6"]["leases"] == COUNT, result
    return {one["name"]: {**one, **one["leasequery6"]} for one in result.json["traffic"][1:]}, result


@nightly
def dhcpkit_tells_each_binding_that_it_made():
    with dhcpkit() as here:  # it takes no query about relays
        items, result = run(
            here, asking("all"), asking("nowhere", link="2001:db8:77::1"),
            asking("client_id", query="client_id", subject=f"00030001{MAC}{{client:3}}", clients=COUNT),
            asking("address", query="address", address="2001:db8::1:0:0-2001:db8::1:0:ff", clients=COUNT))
    assert all(one["answered"] == ASKED for one in items.values()), result
    for name, each in {"all": COUNT, "client_id": 1, "address": 1, "nowhere": 0}.items():
        one = items[name]
        assert one["bindings"] == ASKED * each and one["leases"] == 2 * one["bindings"], (name, one)
        assert one["empty"] == (0 if each else ASKED), (name, one)
        assert one["received"].get("LEASEQUERY-DONE", 0) == (ASKED if each else 0), (name, one)


@nightly
def dhcpkit_refuses_who_may_not_ask():
    with dhcpkit(allowed="2001:db8:99::/48") as here:
        items, result = run(here, asking("all"))
    assert items["all"]["failed"] == items["all"]["refused"] == items["all"]["status"]["NotAllowed"] == ASKED, result


main()
