#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Bad input about DHCPv4: each mistake is refused with its place and what would be right, before anything is sent, with exit
# code 2 and without a crash; in the file itself, and in the files that it names.

import json
import os
import random
import tempfile
from pathlib import Path

from harness import EXIT, ddiperf, main, nightly, test
from loop import RELAXED, refuse_mistakes

GOOD = """run: {warmup: 0s, duration: 200ms}
ports:
  - name: tester
    driver: ring
    device: dut
    addresses: [198.18.0.1/24]
  - {name: dut, driver: ring, device: tester, addresses: [198.18.0.2/24]}
traffic:
  - name: clients
    server: 198.18.0.2
    timeout: 500ms
    load: {rate: 1k}
    dhcp4:
      exchange: dora
      clients: 1000
      mac: "02:00:00:00:00:00"
      relay:
        addresses: [198.18.0.64/26]
        circuit_id: "port {client}"
      options:
        - {code: 12, text: "host-{client}"}
responder:
  port: dut
  dhcp4:
    pool: [10.0.0.0/16]
"""
RELAY = """      relay:
        addresses: [198.18.0.64/26]
        circuit_id: "port {client}"
"""
EXCHANGE, CLIENTS, CODE = "exchange: dora", "clients: 1000", '{code: 12, text: "host-{client}"}'
LONG = "x" * 260
DHCP4 = "traffic.clients.dhcp4."
# "What the file says", "what it says instead", where the message points to, and what it must hold.
MISTAKES = [
    # Exchanges and shares.
    (EXCHANGE, "exchange: dhcp", ":14:17:", DHCP4 + "exchange", '"dhcp"', "leasequery"),
    (EXCHANGE, "mix: {dora: 60%, renew: 50%}", ":14:12:", DHCP4 + "mix", "110%", "up to 100%"),
    (EXCHANGE, "mix: {dora: 60%, renwe: 40%}", ":14:", 'unknown key "renwe"', '"renew"'),
    (EXCHANGE, "mix: {dora: 160%}", ":14:", DHCP4 + "mix.dora", "160%"),
    (EXCHANGE, "exchange: renew", ":14:", DHCP4 + "exchange", "renew needs clients that hold a lease"),
    (EXCHANGE, "mix: {discover: 50%, release: 50%}", DHCP4 + "exchange", "release needs clients that hold a lease"),
    (EXCHANGE + "\n", "mix: {dora: 50%, leasequery: 50%}\n" , None),
    (RELAY, "      mix: {leasequery: 50%}\n", ":17:", DHCP4 + "mix", "leasequery needs a relay"),
    # Clients.
    (CLIENTS, "clients: 0", ":15:16:", DHCP4 + "clients"),
    (CLIENTS, "clients: lots", ":15:16:", DHCP4 + "clients", "is not a"),
    (CLIENTS, "clients: 1000\n      expect: {pool: [10.0.0.0/24]}", ":16:", DHCP4 + "expect.pool", "256 addresses for 1000 clients"),
    (CLIENTS, "clients: 1000\n      expect: {pool: [\"2001:db8::/112\"]}", ":16:", "not an IPv4 address"),
    ('"02:00:00:00:00:00"', '"03:00:00:00:00:00"', ":16:12:", DHCP4 + "mac", "a group address"),
    ('"02:00:00:00:00:00"', '"fe:ff:ff:ff:ff:00"', ":16:12:", DHCP4 + "mac", "runs into group addresses"),
    ('"02:00:00:00:00:00"', '"02:00:00:00:00"', ":16:12:", DHCP4 + "mac"),
    (CLIENTS, "clients: 1000\n      chaddr: 00:01:xx", ":16:15:", DHCP4 + "chaddr", "is not a hardware address (1 to 16 bytes"),
    (CLIENTS, "clients: 1000\n      chaddr: " + "01:" * 16 + "01", DHCP4 + "chaddr", "is not a hardware address"),
    (CLIENTS, 'clients: 1000\n      chaddr: "fc:00"', None),
    (CLIENTS, 'clients: 1000\n      chaddr: "fc:99"', ":16:15:", DHCP4 + "chaddr", "too near its end for 1000 clients"),
    (RELAY, '      chaddr: "00:01:02"\n', ":17:15:", DHCP4 + "chaddr", "needs a relay: a client that broadcasts has an Ethernet address"),
    (RELAY, "      htype: 6\n", ":17:14:", DHCP4 + "htype", "needs a relay"),
    (CLIENTS, "clients: 1000\n      htype: 32\n      client_id: none", ":17:", DHCP4 + "client_id", "InfiniBand"),
    (CLIENTS, "clients: 1000\n      htype: 256", ":16:14:", DHCP4 + "htype", "255"),
    (CLIENTS, "clients: 1000\n      client_id: text", DHCP4 + "client_id", "needs client_id_text"),
    (CLIENTS, "clients: 1000\n      client_id_text: x", DHCP4 + "client_id_text", "needs client_id: text"),
    (CLIENTS, "clients: 1000\n      vlans: [{clients: 0-9, vlans: [1, 2, 3]}]", ":16:", DHCP4 + "vlans[0].vlans", "3 VLANs (1 or 2)"),
    (CLIENTS, "clients: 1000\n      vlans: [{clients: 0-9, vlans: [1]}, {clients: 9-12, vlans: [2]}]", ":16:",
     DHCP4 + "vlans[1].clients", "in two ranges"),
    (CLIENTS, "clients: 1000\n      vlans: [{clients: 0-9, vlans: [4095]}]", ":16:", "4094"),
    (CLIENTS, "clients: 1000\n      vlans: [{outer: 1-9, inner: 2-101}]", ":16:", DHCP4 + "vlans[0].outer", "900 VLANs for 1000 clients"),
    (CLIENTS, "clients: 1000\n      vlans: {outer: 1-9, inner: 2-101}", ":16:", DHCP4 + "vlans.outer", "900 VLANs for 1000 clients"),
    (CLIENTS, "clients: 900\n      vlans: {outer: 1-9, inner: 2-101}", None),
    (CLIENTS, "clients: 10\n      vlans: [{inner: 2-101}]", ":16:", DHCP4 + "vlans[0].inner", "needs outer"),
    (CLIENTS, "clients: 10\n      vlans: [{outer: 9-99, vlans: [1]}]", ":16:", DHCP4 + "vlans[0].outer", "stands beside vlans"),
    # Servers and relays.
    ("    server: 198.18.0.2\n", "", ":9:", "traffic.clients.server", "is missing (the relays send to it)"),
    ("    server: 198.18.0.2\n" , '    server: "2001:db8::1"\n', ":10:13:", "traffic.clients.server", "not an IPv4 address"),
    ("server: 198.18.0.2", "server: 192.0.2.1", ":10:13:", "traffic.clients.server", "not on a subnet"),
    ("[198.18.0.64/26]", "[192.0.2.64/26]", ":18:", DHCP4 + "relay.addresses", "not on a subnet of port tester", "gateway"),
    ("[198.18.0.64/26]", '["2001:db8::/120"]', ":18:", DHCP4 + "relay.addresses", "not an IPv4 address"),
    ("[198.18.0.64/26]", "[]", ":18:", DHCP4 + "relay.addresses", "no address"),
    ("[198.18.0.64/26]", "[10.0.0.0/8]", ":18:", DHCP4 + "relay.addresses", "16777216 relays"),
    ("        addresses: [198.18.0.64/26]\n", "", DHCP4 + "relay.addresses", "missing"),
    ('circuit_id: "port {client}"', "hops: 256", ":19:", DHCP4 + "relay.hops", "255"),
    ('circuit_id: "port {client}"', "server_id_override: me", ":19:", DHCP4 + "relay.server_id_override", '"relay" or an IPv4 address'),
    (CLIENTS, "clients: 1000\n      spread: client\n      servers: [\"2001:db8::2\"]", ":17:", DHCP4 + "servers", "not an IPv4 address"),
    # Options and patterns.
    ("code: 12", "code: 256", ":21:", DHCP4 + "options[0].code", '"256" is not an option code'),
    ("code: 12", "code: twelve", ":21:", DHCP4 + "options[0].code", "is not an option code (like 12 or 82.1)"),
    ("code: 12", "code: 53", ":21:", DHCP4 + "options[0].code", "option 53 is written as the message needs it"),
    ("code: 12", "code: 50", ":21:", DHCP4 + "options[0].code", "is set by requested_address"),
    ("code: 12", "code: 82", ":21:", DHCP4 + "options[0].code", "has sub-options (like 82.1)"),
    ("code: 12", "code: 82.0", ":21:", DHCP4 + "options[0].code", '"82.0" is not an option code'),
    (CODE, "{code: 12}", ":21:", DHCP4 + "options[0]", "needs a value (one of text, hex and address)"),
    (CODE, '{code: 12, text: a, hex: "00"}', ":21:", "needs a value (one of text, hex and address)"),
    (CODE, f'{{code: 12, text: "{LONG}"}}', ":21:", DHCP4 + "options[0].text", "too long: 260 bytes (up to 255)"),
    (CODE, '{code: 12, text: "{random:250}{client:06}"}', ":21:", DHCP4 + "options[0].text", "too long: 256 bytes (up to 255)"),
    (CODE, '{code: 12, text: "{clinet}"}', ":21:", DHCP4 + "options[0].text", "clinet"),
    (CODE, '{code: 12, text: "{client"}', ":21:", DHCP4 + "options[0].text"),
    (CODE, '{code: 12, hex: "0"}', ":21:", DHCP4 + "options[0].hex"),
    (CODE, '{code: 12, hex: "xy"}', ":21:", DHCP4 + "options[0].hex"),
    (CODE, "{code: 6, address: [198.18.0.256]}", ":21:", DHCP4 + "options[0].address"),
    (CODE, '{code: 6, address: ["2001:db8::1"]}', ":21:", DHCP4 + "options[0].address", "not an IPv4 address"),
    (CODE, "\n        - ".join(f'{{code: {code}, text: "{LONG[:250]}"}}' for code in range(200, 206)), DHCP4 + "options",
     "messages get too long (up to 1400 bytes)"),
    ('circuit_id: "port {client}"', f'circuit_id: "{LONG[:200]}"\n        remote_id: "{LONG[:80]}"', ":18:", DHCP4 + "relay",
     "option 82", "255"),
    ('circuit_id: "port {client}"', 'circuit_id: "{address}"', ":19:", "not the same in all messages of a client"),
    (RELAY, '      client_id: text\n      client_id_text: "{relay}"\n', DHCP4 + "client_id_text", "{relay} needs a relay"),
    (CLIENTS, "clients: 1000\n      fqdn: {name: a..b}", ":16:", DHCP4 + "fqdn.name", "label"),
    (CLIENTS, "clients: 1000\n      fqdn: {name: a.b, no_update: true, server_update: true}", ":16:", "server_update"),
    (CLIENTS, "clients: 1000\n      parameters: [255]", ":16:", DHCP4 + "parameters", "254"),
    # Time and length.
    (CLIENTS, "clients: 1000\n      retransmit: {initial: 1s, jitter: 1s}", ":16:", DHCP4 + "retransmit.jitter", "not shorter than initial"),
    (CLIENTS, "clients: 1000\n      retransmit: {tries: 17}", ":16:", DHCP4 + "retransmit.tries", "16"),
    (CLIENTS, "clients: 1000\n      pad: 1401", ":16:", DHCP4 + "pad", "1400"),
    # The responder.
    ("pool: [10.0.0.0/16]", "pool: [10.0.0.0/23, 10.1.0.0/24]", ":25:11:", "responder.dhcp4.pool", "768 addresses for clients that want 1000",
     "full_pool: true"),
    ("pool: [10.0.0.0/16]", "clients: 999", ":25:14:", "responder.dhcp4.clients", "999 addresses for clients that want 1000"),
    ("pool: [10.0.0.0/16]", "pool: [10.0.0.0/23]\n    full_pool: true", None),
    ("pool: [10.0.0.0/16]", "pool: [10.0.0.0/23]", ":25:", "512 addresses for clients that want 1000"),
    ("pool: [10.0.0.0/16]", "pool: []", "responder.dhcp4.pool", "0 ranges"),
    ("pool: [10.0.0.0/16]", "pool: [10.0.0.0/16, 10.0.255.0/24]", ":25:", "responder.dhcp4.pool", "overlaps"),
    ("pool: [10.0.0.0/16]", 'pool: ["2001:db8::/112"]', ":25:", "responder.dhcp4.pool", "not an IPv4 address"),
    ("pool: [10.0.0.0/16]", "pool: [10.0.0.0/16]\n    t1: 2h", "responder.dhcp4.t1"),
    ("pool: [10.0.0.0/16]", "pool: [10.0.0.0/16]\n    subnet_mask: 255.0.255.0", "responder.dhcp4.subnet_mask", "not a subnet mask"),
    ("pool: [10.0.0.0/16]", "pool: [10.0.0.0/16]\n  faults: {nack: {every: 2}}", 'unknown key "nack"', '"nak"'),
]
PIECES = (b"{", b"]", b":", b"\n", b"\xff", b"- ", b"{client", b"82.", b"99999999999", b"%")


def check(text, **more):
    return ddiperf(text, command="check", **more)


@test
def the_file_without_mistakes_passes():
    result = ddiperf(GOOD + "validity: " + json.dumps(RELAXED))
    assert result.code == 0 and result.item("clients")["answered"] == 200, result


@test
def every_mistake_is_refused_with_its_place_and_what_is_right():
    refuse_mistakes(GOOD, MISTAKES)


@test
def clients_that_broadcast_need_a_server_for_what_they_send_to_one():
    without = GOOD.replace("    server: 198.18.0.2\n", "").replace(RELAY, "")
    assert check(without).code == 0, check(without)
    result = check(without.replace(EXCHANGE, "mix: {release: 50%}"))
    assert result.code == EXIT["usage"] and "is missing (renew, release and inform go to it)" in result.stderr, result
    result = check(GOOD.replace(RELAY, "").replace("server: 198.18.0.2", 'server: "2001:db8::1"'))
    assert result.code == EXIT["usage"] and ":10:13:" in result.stderr and "not an IPv4 address" in result.stderr, result


@test
def relays_beyond_a_gateway_are_fine():
    text = GOOD.replace("[198.18.0.64/26]", "[192.0.2.64/26]").replace(
        "addresses: [198.18.0.1/24]", "addresses: [198.18.0.1/24]\n    gateway: [198.18.0.254]")
    assert check(text).code == 0, check(text)


@test
def a_bad_line_of_a_mac_file_is_shown_with_its_number():
    text = GOOD.replace('mac: "02:00:00:00:00:00"', "mac_file: macs.txt").replace(CLIENTS, "clients: 3")
    good = ["02:00:00:00:00:07", "# a comment", "", "02:00:00:00:00:08", "  02:00:00:00:00:09  "]
    assert check(text, files={"macs.txt": "\n".join(good)}).code == 0
    for lines, words in (
        ([*good[:3], "02:00:00:00:00", good[4]], ("macs.txt:4:1:", '"02:00:00:00:00"', "not as long as those before")),
        ([*good[:3], "03:00:00:00:00:01", good[4]], ("macs.txt:4:1:", "one station")),
        (good[:4], (DHCP4 + "mac_file", "2 MAC addresses for 3 clients")),
        ([*good[:4], good[0]], (DHCP4 + "mac_file", "02:00:00:00:00:07 twice")),
    ):
        result = check(text, files={"macs.txt": "\n".join(lines)})
        assert result.code == EXIT["usage"] and all(word in result.stderr for word in words), (lines, result)
    result = check(text)
    assert result.code == EXIT["usage"] and "macs.txt" in result.stderr and "No such file" in result.stderr, result
    many = "\n".join(["nonsense"] * 25)
    result = check(text, files={"macs.txt": many})
    assert result.code == EXIT["usage"] and "macs.txt:11:1: and 15 more bad lines" in result.stderr, result


def with_leases(content):
    """check of a file that loads these leases; the path is from the working directory."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "leases.csv"
        if content is not None:
            path.write_text(content)
        return check(GOOD.replace(EXCHANGE, f"exchange: renew\n      leases: {{load: {path}}}"))


@test
def a_folder_is_no_file_without_leases():
    with tempfile.TemporaryDirectory() as folder:
        result = check(GOOD.replace(EXCHANGE, f"exchange: renew\n      leases: {{load: {folder}}}"))
    assert result.code == EXIT["usage"] and f"leases.load: {folder}: Is a directory" in result.stderr, result


@test
def a_lease_file_to_save_is_left_as_it_was_by_check():
    with tempfile.TemporaryDirectory() as folder:
        link, pipe = Path(folder) / "link.csv", Path(folder) / "pipe"
        link.symlink_to("leases.csv")
        os.mkfifo(pipe)
        for path, code in ((link, EXIT["pass"]), (pipe, EXIT["usage"])):
            result = check(GOOD.replace(EXCHANGE, f"leases: {{save: {path}}}"))
            assert result.code == code and sorted(os.listdir(folder)) == ["link.csv", "pipe"], (result, os.listdir(folder))


@test
def a_bad_line_of_a_lease_file_is_shown_with_its_number():
    heading, lease = "client,mac,address,server,expires", "0,02:00:00:00:00:00,10.0.0.1,198.18.0.2,never"
    for lines, words in (
        (["x" + lease], ("leases.csv:2:1:", "first column")),
        ([lease.replace("0,", "1000,", 1)], ("leases.csv:2:", "beyond those of the item")),
        ([lease, lease], ("leases.csv:3:", "second time")),
        ([lease.replace("10.0.0.1", "10.0.0.256")], ("leases.csv:2:", "third column")),
        ([lease.replace("never", "soon")], ("leases.csv:2:", "fifth column")),
        ([lease.replace(",never", "")], ("leases.csv:2:", "five columns")),
        ([lease.replace("00,10", "01,10")], ("leases.csv:2:", "another MAC address")),
        ([lease, lease.replace("0,02:00:00:00:00:00", "1,02:00:00:00:00:01")], ("10.0.0.1 is leased to two clients",)),
    ):
        result = with_leases("\n".join([heading, *lines]))
        assert result.code == EXIT["usage"] and all(word in result.stderr for word in words), (lines, result)
    assert "and 15 more bad lines" in with_leases("nonsense\n" * 25).stderr
    assert with_leases(f"{heading}\n{lease}\n").code == 0
    result = with_leases(None)
    assert result.code == EXIT["usage"] and "leases.csv" in result.stderr and "No such file" in result.stderr, result


@test
def a_file_for_leases_that_cannot_be_written_is_found_before_the_run():
    result = ddiperf(GOOD.replace(EXCHANGE, "leases: {save: /nonexistent/leases.csv}"))
    assert result.code == EXIT["usage"] and result.json is None, result
    assert ":14:" in result.stderr and DHCP4 + "leases.save" in result.stderr and "/nonexistent/leases.csv" in result.stderr, result


@nightly
def broken_files_never_crash_it():
    source = random.Random(4)
    for _ in range(40):
        text = bytearray(GOOD.encode())
        for _ in range(source.randrange(1, 6)):
            at = source.randrange(GOOD.index("dhcp4:"), len(text))
            text[at:at + source.randrange(3)] = source.choice(PIECES)
        result = check(text.decode("latin-1"))
        assert result.code in (0, EXIT["usage"]), (result, text)


main()
