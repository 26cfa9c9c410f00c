#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Leases of Kea that kea-dhcp-ddns brings into BIND and Knot, signed with TSIG: each client's records are followed until they
# are there, and after its release until they are gone; what is counted is what the name server says then. The argument
# chooses a server.

import tempfile
from pathlib import Path

from harness import check_ledger, execute, main, nightly, test
from live import DHCP_PORT, SERVER, config, lab

NAME = "host-{client}.dhcp.example"
WHERE = {
    "dhcp4": {"port": DHCP_PORT, "relay": "198.18.0.64", "address": "A", "step": "ack"},
    "dhcp6": {"port": {"addresses": ["2001:db8:40::1/64", "2001:db8::1/64"]}, "relay": "2001:db8::100", "address": "AAAA", "step": "reply"},
}


def followed(server, step, *, clients, rate, within="120s", every="50ms", **settings):
    """The counters and the times of the records of so many clients, and the whole result."""
    family = "dhcp6" if server.startswith("kea6") else "dhcp4"
    where = WHERE[family]
    to = SERVER[6 if family == "dhcp6" else 4]
    items = [
        {"name": "leases", "server": to, "timeout": "30s", "load": {"rate": rate, "total": clients},
         family: {"clients": clients, "relay": {"addresses": [where["relay"]]},
                  "fqdn": {"name": NAME, "server_update": True}, **settings}},
        {"name": "records", "server": SERVER[4] if family == "dhcp4" else to, "timeout": "30s", "after": {"item": "leases", "step": step},
         "ddns": {"records": ["address", "ptr", "dhcid"], "every": every, "within": within}},
    ]
    result = lab(server).ddiperf(config("af_packet", *items, run={"duration": "300s"}, port=where["port"]))
    assert result.json and result.code == 0, result
    for one in result.json["traffic"]:
        check_ledger(one)
    records = result.item("records")
    kinds = {where["address"]: clients, "PTR": clients, "DHCID": clients}
    return records["ddns"], kinds, {mark["name"]: mark["latency"] for mark in records.get("marks", [])}


def log():
    """What Kea, D2 and the name server wrote."""
    return Path(f"/run/{lab().prefix}-lab/log").read_text(errors="replace")


def dig(server, name, kind):
    to = SERVER[6 if server.startswith("kea6") else 4]
    code, out, err = execute(lab().dut("kdig", f"@{to}", "+short", "+time=4", name, kind))
    assert code == 0, out + err
    return out.split()


def come_and_go(server, clients, rate):
    step = WHERE["dhcp6" if server.startswith("kea6") else "dhcp4"]["step"]
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/leases.csv"
        n, kinds, times = followed(server, step, clients=clients, rate=rate, leases={"save": file})
        assert n["leased"] == n["visible"] == kinds and n["beside"] == n["wrong"] == n["never"] == {}, f"{n}\n{log()[-2000:]}"
        assert all(one["count"] == clients for one in times.values()) and len(times) == 3, times
        with open(file) as held:
            client, _, address, *_ = held.read().splitlines()[-1].split(",")
        name = NAME.replace("{client}", client)
        address = address.split("/")[0]
        assert dig(server, name, "AAAA" if ":" in address else "A") == [address], (name, address)
        n, kinds, times = followed(server, "release", clients=clients, rate=rate, leases={"load": file}, exchange="release")
        assert n["released"] == n["gone"] == kinds and n["stayed"] == n["overtaken"] == {}, f"{n}\n{log()[-2000:]}"
        assert dig(server, name, "A") == dig(server, name, "AAAA") == [], name
    return times


def add(server, clients, rate, register):
    def comes_and_goes():
        come_and_go(server, clients, rate)

    comes_and_goes.__name__ = f"{server.replace('-', '_with_')}_brings_and_removes_each_record"
    register(comes_and_goes)


for row in (("kea-bind", 60, 100, test), ("kea6-knot", 60, 100, test), ("kea-knot", 2000, 50, nightly), ("kea6-bind", 1000, 25, nightly)):
    add(*row)


@nightly
def what_a_full_queue_of_updates_loses_is_counted():
    n, kinds, _ = followed("kea-knot", "ack", clients=10000, rate=1000, within="30s", every="2s")
    assert n["leased"] == kinds and n["wrong"] == n["unfinished"] == {}, n
    assert all(n["visible"].get(kind, 0) + n["never"].get(kind, 0) == count for kind, count in kinds.items()), n
    assert ("QUEUE_MGR_QUEUE_FULL" in log()) == bool(n["never"]), n


@test
def a_server_without_updates_shows_no_record():
    n, kinds, _ = followed("kea-bind", "ack", clients=10, rate=100, within="300ms", mac="02:0f:0a:00:00:00",
                           fqdn={"name": "other-{client}.dhcp.example", "no_update": True, "server_update": False})
    assert n["leased"] == n["never"] == kinds, n


main()
