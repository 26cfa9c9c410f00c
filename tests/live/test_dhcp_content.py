#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# What DHCP clients put into their messages, as real servers take it: INFORM without a lease, and lease queries of each kind.
# The argument chooses a server.

import contextlib
import signal
import tempfile
from pathlib import Path

from harness import check_ledger, execute, kill, main, nightly, start, test, until
from live import DHCP_PORT, SERVER, config, lab, leases

COUNT = 40


def run(server, *items):
    """The result, and by how much the server's counters have grown."""
    here = lab(server)
    before = here.stats()
    result = here.ddiperf(config("af_packet", *items, run={"duration": "1s"}, port=DHCP_PORT))
    assert result.json, result
    for one in result.json["traffic"]:
        check_ledger(one)
        assert one["answered"] == one["sent"] == one["due"] and one["failed"] == 0, one
    after = here.stats()
    return result, {name: after[name] - before.get(name, 0) for name in after}


def informs(server):
    items = [leases("link", "inform", rate=COUNT, mac="02:0f:01:00:00:00", clients=COUNT, inform_address="198.18.8.1-198.18.8.40"),
             leases("relayed", "inform", rate=COUNT, mac="02:0f:02:00:00:00", clients=COUNT, inform_address="198.18.9.1-198.18.9.40",
                    relayed=True)]
    result, grown = run(server, *items)
    assert all(result.item(name)["dhcp4"]["received"] == {"ACK": COUNT} for name in ("link", "relayed")), result.json["traffic"]
    assert grown["inform"] == grown["ack"] == 2 * COUNT, grown


@test
def kea_acknowledges_informs_without_a_lease():
    informs("kea")


@nightly
def dhcpd_acknowledges_informs_without_a_lease():
    informs("dhcpd")


@nightly
def dnsmasq_acknowledges_informs_without_a_lease():
    informs("dnsmasq")


CLIENTS = "\n".join(f"02:0f:09:00:{i // 256:02x}:{i % 256:02x},00030001020f0900{i:04x},host-{7 * i}" for i in range(COUNT)) + "\n"


def held(name):
    """{column: values} of the leases that Kea has written."""
    heading, *rows = Path(f"/run/{lab().prefix}-lab/{name}").read_text().splitlines()
    return {column: {row.split(",")[i] for row in rows} for i, column in enumerate(heading.split(","))}


def filed(server, section, relay, **settings):
    """A run of clients from a file."""
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        file.write(CLIENTS)
        file.flush()
        one = {"name": "filed", "server": SERVER[4 if section == "dhcp4" else 6], "load": {"rate": COUNT, "total": COUNT}, "timeout": "2s",
               section: {"clients": COUNT, "client_file": file.name, "mac_column": 1, "relay": {"addresses": [relay]}, **settings}}
        port = DHCP_PORT if section == "dhcp4" else {"addresses": ["2001:db8:40::1/64", "2001:db8::1/64"]}
        result = lab(server).ddiperf(config("af_packet", one, run={"duration": "1s"}, port=port))
    assert result.json and result.item("filed")["answered"] == COUNT, result
    return held("leases.csv")


@test
def kea_writes_down_clients_from_a_file():
    leased = filed("kea", "dhcp4", "198.18.0.64", client_id="hex", client_id_hex="ff00000001{file:2}",
                   options=[{"code": "12", "text": "{file:3}"}])
    rows = [line.split(",") for line in CLIENTS.splitlines()]
    assert {row[0] for row in rows} <= leased["hwaddr"], leased
    assert {f"ff:00:00:00:01:{row[1][:2]}" for row in rows} == {text[:17] for text in leased["client_id"]}, leased
    assert {row[2] for row in rows} <= leased["hostname"], leased


@test
def kea6_writes_down_clients_from_a_file():
    leased = filed("kea6", "dhcp6", "2001:db8:40::100", duid="hex", duid_hex="{file:2}")
    assert {line.split(",")[1] for line in CLIENTS.splitlines()} == {text.replace(":", "") for text in leased["duid"]}, leased


HEAD = "01010601{xid}{secs}0000 00000000 00000000 00000000{relay} {mac}00000000000000000000" + "00" * 192 + "63825363"
RAW = [{"message": "discover", "hex": HEAD + "350101 3d0701{mac} 370401030633 ff"},
       {"message": "request", "hex": HEAD + "350103 3204{address} 3604{server} 3d0701{mac} 370401030633 ff"}]


@test
def kea_leases_to_clients_whose_messages_are_given_as_a_whole():
    result, grown = run("kea", leases("raw", "dora", rate=COUNT, mac="02:0f:04:00:00:00", clients=COUNT, raw=RAW,
                                      relay={"addresses": ["198.18.0.64"]}))
    assert result.item("raw")["dhcp4"]["leases"] == grown["leases"] == grown["request"] == COUNT, grown


@contextlib.contextmanager
def dnsmasq(*options):
    """One that the lab does not know, on a server's side with two addresses."""
    here = lab("none")
    execute(here.dut("ip", "addr", "add", "198.18.0.3/24", "dev", "veth1"))
    with tempfile.TemporaryDirectory() as folder:
        process = start(here.dut("dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--user=root", "--port=0", "--log-facility=-",
                                 f"--pid-file={folder}/pid", f"--dhcp-leasefile={folder}/leases", "--interface=veth1", "--no-ping",
                                 "--dhcp-authoritative", "--dhcp-range=198.18.0.128,198.18.0.254,255.255.255.0,1h", *options))
        try:
            until(lambda: Path(folder, "pid").exists() or process.poll() is not None, "dnsmasq")
            assert process.poll() is None, process.communicate()
            yield here
        finally:
            kill(process, signal.SIGTERM)
            process.communicate()
            execute(here.dut("ip", "addr", "del", "198.18.0.3/24", "dev", "veth1"))


@test
def dnsmasq_answers_from_its_first_address_and_says_its_identifier_twice():
    one = {**leases("other", "dora", rate=COUNT, mac="02:0f:06:00:00:00", relay={"addresses": ["198.18.0.1"], "all": True},
                     expect={"options": [{"code": 54, "address": ["198.18.0.2"]}]}), "server": "198.18.0.3"}
    with dnsmasq("--dhcp-option-force=54,198.18.0.2") as here:
        result = here.ddiperf(config("af_packet", one, run={"duration": "1s"}))
    assert result.json, result
    got = result.item("other")
    check_ledger(got)
    assert got["answered"] == got["sent"] == COUNT and got["stray"] == got["malformed"] == 0, result
    assert got["dhcp4"]["other_source"] == got["dhcp4"]["option_repeated"] == 2 * COUNT, got["dhcp4"]
    assert got["dhcp4"]["option_unexpected"] == 0, "an option that is there twice is one"
    assert f"other: {2 * COUNT} replies came from 198.18.0.2; the server asked is 198.18.0.3" in result.stdout, result


@test
def dhcpd6_leases_temporary_addresses():
    one = {"name": "temporary", "server": SERVER[6], "timeout": "2s", "load": {"rate": COUNT}, "dhcp6": {
        "clients": COUNT, "mac": "02:0f:05:00:00:00", "temporary": True, "relay": {"addresses": ["2001:db8:40::100"]},
        "expect": {"pool": ["2001:db8:40::2:0:0/112"]}}}
    result = lab("dhcpd6").ddiperf(config("af_packet", one, run={"duration": "1s"},
                                          port={"addresses": ["2001:db8::1/64", "2001:db8:40::1/64"]}))
    n = result.item("temporary")["dhcp6"]
    assert n["leases"] == n["addresses"] == result.item("temporary")["due"] == COUNT, result


@test
def dhcpd_answers_lease_queries_of_each_kind():
    mix = {"dora": "50%", "leasequery": "50%"}
    result, _ = run("dhcpd", *(leases(query, mix, rate=COUNT, mac=f"02:0f:03:0{n}:00:00", query=query, relayed=True)
                               for n, query in enumerate(("address", "mac", "client_id"))))
    for query in ("address", "mac", "client_id"):
        n = result.item(query)["dhcp4"]
        assert n["received"]["LEASEACTIVE"] == n["sent"]["LEASEQUERY"] > COUNT / 4 and n["lease_unknown"] == 0, (query, n)


main()
