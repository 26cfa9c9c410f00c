#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# What the user puts into messages of DHCP clients, as tshark reads it and as the responder takes it.

import ipaddress
import json
import tempfile
from pathlib import Path

import dhcp4
import dhcp6
from harness import binary, config_file, execute, main, test, tshark

HEADER = {"flags": 1, "hops": 7, "ciaddr": "192.0.2.1", "siaddr": "192.0.2.3", "sname": "boot-{client}", "file": "{mac}.img"}
LEASES = "client,mac,address,server,expires\n" + "".join(
    f"{i},02:00:00:00:00:0{i},10.0.0.{16 + i},{dhcp4.SERVER},never\n" for i in range(4))
FIELDS = ("frame.comment", "dhcp.flags", "dhcp.hops", "dhcp.ip.client", "dhcp.ip.server", "dhcp.server", "dhcp.file", "dhcp.secs",
          "dhcp.option.type", "dhcpv6.hopcount", "dhcpv6.elapsed_time", "dhcpv6.option.type")


def packets(*items, leases=None):
    """The first packets of a file whose ports are not there; none is malformed."""
    port = {"name": "lan", "driver": "af_packet", "device": "nosuch0", "addresses": ["198.18.0.1/24", "2001:db8::1/64"]}
    with config_file(json.dumps({"run": {"warmup": "0s"}, "ports": [port], "traffic": items})) as path:
        (path.parent / "leases.csv").write_text(leases or "")
        out = path.parent / "out.pcapng"
        code, stdout, stderr = execute([binary(), "run", str(path), "--dry-run", str(out)], cwd=path.parent)
        assert code == 0, f"{code}\n{stdout}{stderr}"
        code, text, err = execute(["tshark", "-r", str(out), "-V"])
        assert code == 0 and "Malformed" not in text, err
        return tshark(out, FIELDS)


@test
def fields_of_the_header_are_as_given_and_the_exchange_goes_on():
    one = dhcp4.clients(header=HEADER, load={"rate": "1k", "total": 3})
    for client, packet in enumerate(packets(one)):
        assert (packet["dhcp.flags"], packet["dhcp.hops"]) == ("0x0001", "7"), packet
        assert (packet["dhcp.ip.client"], packet["dhcp.ip.server"]) == ("192.0.2.1", "192.0.2.3"), packet
        assert packet["dhcp.server"] == f"boot-{client}" and packet["dhcp.file"] == f"02:00:00:00:00:0{client}.img", packet
    # With another ciaddr a REQUEST is a renewal of another address, which the responder refuses.
    without = {name: value for name, value in HEADER.items() if name != "ciaddr"}
    assert dhcp4.of_clients(dhcp4.served(dhcp4.clients(header=without)))["dhcp4"]["leases"] == 400
    refused = dhcp4.of_clients(dhcp4.run(dhcp4.clients(header=HEADER)))
    assert refused["failed"] == refused["dhcp4"]["nak"] == refused["sent"] == 400, refused


@test
def options_are_in_the_messages_that_are_named():
    mine = {"code": "60", "text": "class-{client}", "messages": ["release", "leasequery"]}
    items = [dhcp4.clients(exchange, exchange=exchange, options=[mine], clients=4, leases={"load": "leases.csv"},
                           load={"rate": "1k", "total": 2}) for exchange in ("release", "leasequery", "renew")]
    for packet in packets(*items, leases=LEASES):
        assert ("60" in packet["dhcp.option.type"].split(",")) == (packet["frame.comment"] != "renew"), packet


@test
def clients_pretend_to_have_waited():
    secs = {"from": 3, "grow": True}
    relay = {**dhcp6.RELAYS, "hop_count": 5}
    four, six = (family.clients(load={"rate": "1k", "total": 2}, **more)
                 for family, more in ((dhcp4, {"secs": secs}), (dhcp6, {"elapsed": secs, "relay": relay})))
    assert all(packet["dhcp.secs"] == "3" for packet in packets(four))
    assert all(packet["dhcpv6.elapsed_time"] == "30" and packet["dhcpv6.hopcount"] == "5" for packet in packets(six)), packets(six)


@test
def lease_queries_are_about_address_mac_or_client_identifier():
    for query in ("address", "mac", "client_id"):
        one = dhcp4.clients(load={"rate": "1k", "total": 200}, clients=200, mix={"dora": "50%", "leasequery": "50%"}, query=query)
        n = dhcp4.of_clients(dhcp4.run(one))
        asked = n["dhcp4"]["sent"]["LEASEQUERY"]
        assert n["dhcp4"]["received"]["LEASEACTIVE"] == asked > 0 and n["failed"] == n["lost"] == 0, (query, n)
        assert asked > 80, (query, n)


@test
def clients_inform_without_a_lease():
    for relay in (dhcp4.RELAYS, None):
        one = dhcp4.clients(exchange="inform", inform_address="198.18.64.1-198.18.64.100", clients=100, relay=relay,
                            load={"rate": "1k", "total": 100})
        n = dhcp4.of_clients(dhcp4.served(one))
        assert n["dhcp4"]["sent"] == {"INFORM": 100} and n["answered"] == 100 and n["dhcp4"]["leases"] == 0, n


@test
def hardware_addresses_of_groups_are_content_behind_a_relay():
    """Kea's test list begins with 11:22:33:44:55:66."""
    for of in (dhcp4, dhcp6):
        result = of.served(of.clients(mac="11:22:33:44:55:66", clients=1000))
        assert of.of_clients(result)["answered"] == 400, result
        assert "clients: hardware addresses of groups, which no real client has (client 0: 11:22:33:44:55:66" in result.stderr, result


def served_with_file(of, rows, **settings):
    """Clients with a file, one after the other, and the result."""
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        path = Path(folder, "clients.csv")
        path.write_text("".join(f"x,{row}\n" for row in rows))
        one = of.clients(load={"outstanding": 1, "total": len(rows)}, clients=len(rows), client_file=str(path), **settings)
        return of.run(one)


@test
def each_client_is_given_the_address_of_its_line():
    """The responder gives its addresses in turn; the second line has another one, the fourth none."""
    for of in (dhcp4, dhcp6):
        with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
            saved = Path(folder, "leases.csv")
            given = of.of_clients(served_with_file(of, ["", "", "", ""], leases={"save": str(saved)}))
            rows = [line.split(",")[2] for line in saved.read_text().splitlines()[1:]]
        rows = rows[len(rows) // 4 - 1::len(rows) // 4]  # in DHCPv6 the prefixes
        assert given["answered"] == len(rows) == 4, rows
        right = of.of_clients(served_with_file(of, [*rows[:3], ""], address_column=2))
        assert (right["answered"], right["failed"]) == (4, 0), right
        wrong = of.of_clients(served_with_file(of, [rows[0], rows[2], rows[2], ""], address_column=2))
        assert (wrong["answered"], wrong["failed"]) == (3, 1), wrong
        assert wrong[wrong["protocol"]]["address_unexpected"] == 1, wrong


IDENTITY = ("dhcp.hw.mac_addr", "dhcp.option.value", "dhcp.option.type", "dhcpv6.duid.bytes", "dhcpv6.option.type",
            "dhcpv6.requested_option_code", "dhcpv6.userclass.opaque_data")


def captured(folder):
    """A capture with a message of six clients of each family, and with all of them once more."""
    vendor = [{"code": "60", "text": "class-{client}-{random:3}"}, {"code": "12", "text": "host-{client}"}]
    of = {"load": {"rate": "1k", "total": 6}}
    items = [
        dhcp4.clients("first", mac="00:11:22:33:44:50", clients=3, client_id="none", options=vendor, parameters=[1, 3, 121],
                      exchange="discover", **of),
        dhcp4.clients("more", mac="11:22:33:44:55:60", clients=3, client_id="text", client_id_text="port-{client}", exchange="discover",
                      relay={**dhcp4.RELAYS, "circuit_id": "c-{client}"}, **of),
        dhcp6.clients("six", user_class="class-{client}", parameters=[23, 24, 56], **of)]
    port = {"name": "lan", "driver": "af_packet", "device": "nosuch0", "addresses": ["198.18.0.1/24", "2001:db8::1/64"]}
    (folder / "monday.yaml").write_text(json.dumps({"run": {"warmup": "0s"}, "ports": [port], "traffic": items}))
    code, stdout, stderr = execute([binary(), "run", "monday.yaml", "--dry-run", "monday.pcapng"], cwd=folder)
    assert code == 0, f"{code}\n{stdout}{stderr}"
    monday = folder / "monday.pcapng"
    monday.write_bytes(2 * monday.read_bytes())  # a second section
    return monday


def identities(path):
    """What the file's clients said of themselves: by MAC address, or by DUID."""
    out = {}
    for packet in tshark(path, IDENTITY):
        taken = {name: sorted(value.split(",")) for name, value in packet.items() if value and "option.type" in name}
        own = [code for code in next(iter(taken.values())) if code not in ("0", "255", "53", "82")]
        out.setdefault(packet["dhcp.hw.mac_addr"] or packet["dhcpv6.duid.bytes"], [own, *(
            packet[name] for name in ("dhcpv6.requested_option_code", "dhcpv6.userclass.opaque_data"))])
    return out


@test
def clients_come_out_of_a_capture_as_they_were():
    """Address, identifier and options are those of the capture; relay, transaction and lease are the tester's."""
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as name:
        folder = Path(name)
        monday = captured(folder)
        six = {"load": {"rate": "1k", "total": 6}, "wire": str(monday)}
        config = json.loads((folder / "monday.yaml").read_text())
        config["traffic"] = [dhcp4.clients(**six), dhcp6.clients("six", **six)]
        (folder / "again.yaml").write_text(json.dumps(config))
        code, stdout, stderr = execute([binary(), "run", "again.yaml", "--dry-run", "again.pcapng"], cwd=folder)
        assert code == 0, f"{code}\n{stdout}{stderr}"
        assert identities(folder / "again.pcapng") == identities(monday), (identities(monday), identities(folder / "again.pcapng"))
        assert len(identities(monday)) == 12, identities(monday)
        for of in (dhcp4, dhcp6):
            result = of.served(of.clients(**six))
            n = of.of_clients(result)
            assert n["answered"] == n[n["protocol"]]["leases"] == 6 and n["failed"] == 0, n
            assert n["input"].startswith("6 of 24 packets of monday.pcapng; left out: "), n["input"]
            assert "6 further messages of these clients" in n["input"] and "12 other UDP" in n["input"], n["input"]
            assert n[n["protocol"]].get("client_id_missing", 0) == 0, n
            if of is dhcp4:  # on a link a client is a single station, and the other three have addresses of groups
                n = of.of_clients(of.served(of.clients(wire=str(monday), clients=3, relay=None, load={"rate": "1k", "total": 3})))
                assert n["answered"] == 3 and "6 hardware addresses of groups" in n["input"], n
            # Times of a replay are those of the clients' first messages, and of no other packet.
            n = of.of_clients(of.served(of.clients(wire=str(monday), clients="auto", load={"replay": {"file": str(monday)}})))
            assert n["sent"] == n["answered"] == 6, n


@test
def options_of_replies_are_as_expected_or_told():
    """By text, octets, addresses and fields of a client's line; a missing one is no match."""
    four = {"routers": [6], "right": {"code": 6, "address": ["192.0.2.53"]}, "wrong": {"code": 6, "address": ["192.0.2.54"]},
            "absent": {"code": 66, "text": "boot"}}
    six = {"right": {"code": 23, "address": ["2001:db8::53"]}, "wrong": {"code": 23, "address": ["2001:db8::54"]},
           "absent": {"code": 59, "text": "boot"}}
    for of, case, dns in ((dhcp4, four, "192.0.2.53"), (dhcp6, six, "2001:db8::53")):
        codes = [case["right"]["code"], case["absent"]["code"]]

        def run(*wanted):
            one = of.clients(load={"outstanding": 1, "total": 10}, parameters=codes, expect={"options": list(wanted)})
            return of.run(one, responder=of.answers(dns=[dns]))

        right = of.of_clients(run(case["right"]))
        assert (right["answered"], right["failed"]) == (10, 0), right
        n = right[right["protocol"]]
        assert n["missing"] == {str(codes[1]): n["parameters_missing"]} and n["parameters_missing"] == 10, n
        given = ipaddress.ip_address(dns).packed.hex()
        for bad, shown, first in ((case["wrong"], f"option {codes[0]} of 10 replies", given), (case["absent"], f"option {codes[1]} of 10 replies", "none")):
            result = run(case["right"], bad)
            n = of.of_clients(result)
            assert n["failed"] == n[n["protocol"]]["option_unexpected"] == 10, n
            assert shown in result.stderr and f"client 0 was given {first}\n" in result.stderr, result


@test
def long_options_are_split_and_echoed_whole():
    relay = {**dhcp4.RELAYS, "circuit_id": "c" * 140 + "{client}", "remote_id": "r" * 140}
    options = [{"code": 43, "hex": "ab" * 300}, {"code": 77, "text": "{mac}" * 16}]
    one = dhcp4.of_clients(dhcp4.served(dhcp4.clients(relay=relay, options=options)))
    assert one["answered"] == 400 and one["dhcp4"]["relay_info_wrong"] == 0, one
    sent = packets(dhcp4.clients(relay=relay, options=options, load={"rate": "1k"}, clients=4))
    assert all(packet["dhcp.option.type"].split(",").count("82") == 2 for packet in sent), sent


HEAD = "01010601{xid}{secs}0000 00000000 00000000 00000000{relay} {mac}00000000000000000000" + "00" * 192 + "63825363"
RAW = {
    dhcp4: [{"message": "discover", "hex": HEAD + "350101 3d0701{mac} fe04{client} ff"},
            {"message": "request", "hex": HEAD + "350103 3204{address} 3604{server} 3d0701{mac} ff"}],
    dhcp6: [{"message": "solicit", "hex": "01{xid} 00080002{elapsed} 0001000a{duid} 0003000c000000010000000000000000"}],
}


@test
def messages_can_be_given_as_a_whole():
    four = dhcp4.of_clients(dhcp4.served(dhcp4.clients(raw=RAW[dhcp4])))
    assert four["dhcp4"]["leases"] == 400 and four["dhcp4"]["request_bytes"] == 400 * (259 + 265), four
    six = dhcp6.of_clients(dhcp6.served(dhcp6.clients(raw=RAW[dhcp6], lease="address")))
    assert six["dhcp6"]["leases"] == 400, six


main()
