#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Bulk lease queries to a server of others: DHCPKit (RFC 5460), which leased before what it is asked about; and
# the responder's answers over DHCPv4, as Wireshark reads them.

import contextlib
import json
import signal
import sys
import tempfile
import time
from pathlib import Path

import dhcpkit_server
from dissect import dissected
from harness import binary, check_ledger, config_file, kill, main, nightly, skip, start, test, timing
from live import SERVER, config, lab

COUNT, ASKED = 40, 5
MAC = "020f0c"
LOAD = {"rate": "20", "total": str(ASKED), "start_at": "2500ms"}  # when all have their leases, also from a slow server


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
    result = here.ddiperf(config("af_packet", leases(), *items, run={"duration": "8s"}))
    assert result.json, result
    timing(result.item("leases")["last_answer_s"] < 2.4, result)
    for one in result.json["traffic"]:
        check_ledger(one)
    assert result.item("leases")["dhcp6"]["leases"] == COUNT, result
    return {one["name"]: {**one, **one["leasequery6"]} for one in result.json["traffic"][1:]}, result


@test
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

# A relay on the far end takes three leases at once (rapid commit), and asks for all of them; it prints the messages.
RELAY = """
import socket, struct, sys
def message(kind, client, options=b"", giaddr="0.0.0.0"):
    mac = bytes([2, 0, 0, 0, 0, client]) if client else b""
    head = bytes([1, len(mac) > 0, len(mac), 0]) + bytes([1, 2, 3, client]) + b"\\0" * 16 + socket.inet_aton(giaddr)
    return head + mac.ljust(208, b"\\0") + b"\\x63\\x82\\x53\\x63" + bytes([53, 1, kind]) + options + b"\\xff"
relay = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
relay.bind(("198.18.0.2", 67))
relay.settimeout(5)
for client in (1, 2, 3):
    relay.sendto(message(1, client, bytes([80, 0, 61, 7, 1, 2, 0, 0, 0, 0, client]), "198.18.0.2"), ("198.18.0.1", 67))
    assert relay.recv(1500)[240:243] == bytes([53, 1, 5])
server = socket.create_connection(("198.18.0.1", 67), 5)
query, data = message(14, 0, bytes([55, 2, 51, 61])), b""
server.sendall(struct.pack("!H", len(query)) + query)
last = False
while not last:
    while len(data) < 2 or len(data) < 2 + struct.unpack("!H", data[:2])[0]:
        data += server.recv(65536)
    one, data = data[2:2 + struct.unpack("!H", data[:2])[0]], data[2 + struct.unpack("!H", data[:2])[0]:]
    last = one[240:243] == bytes([53, 1, 15])
    print(one.hex())
"""


@nightly
def another_program_reads_the_responders_answers():
    here = lab("none")
    document = {"ports": [{"name": "lan", "driver": "af_packet", "device": "veth0", "addresses": ["198.18.0.1/24"]}],
                "responder": {"port": "lan", "dhcp4": {"pool": ["198.18.0.64-198.18.0.67"], "rapid": True}}}
    with config_file(json.dumps(document)) as path:
        process = start(here.tester(binary(), "respond", str(path)))
        try:
            assert any("answered so far" in line for line in process.stdout), process.communicate()
            code, said, err = here.call("dut", sys.executable, "-c", RELAY)
        finally:
            kill(process, signal.SIGINT)
            process.communicate(timeout=20)
    assert code == 0, f"{said}{err}"
    parts = dissected([bytes.fromhex(line) for line in said.split()])
    assert len(parts) == 5, parts
    for client, lines in enumerate(parts[:3], 1):
        for line in ("DHCP: Lease Active (13)", f"Client IP address: 198.18.0.{63 + client}", f"Client MAC address: 02:00:00:00:00:0{client}",
                     "Dhcp State: Active (2)", "IP Address Lease Time: "):
            assert any(line in one for one in lines), (line, lines)
    assert any("Dhcp State: Available (1)" in one for one in parts[3]), parts[3]
    assert any("(15)" in one for one in parts[4]) and not any("Status Code" in one for one in parts[4]), parts[4]


main()
