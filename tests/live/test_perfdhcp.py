#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# perfdhcp and ddiperf as perfdhcp, one after the other at the same Kea: equal labels, lines and exit codes; equal
# figures, delays excepted. The lines are those of perfdhcp's manual and of the Kea guide, made shorter.

import re
import shutil
import tempfile
from pathlib import Path

from harness import binary, execute, main, nightly, skip, test, timing, tshark
from live import SERVER, config, dumped, lab

NETS = {4: "198.18.0.1/15", 6: "2001:db8::1/64"}
SILENT = "198.18.0.9"
FIGURE = re.compile(r"-?\b(?:nan|inf|\d[\d.]*|(?<=DUID to )\w+)\b")
FIGURE_OF_HEX = re.compile(r"^([0-9a-f]{4})   [0-9a-f]+$")
COUNTERS = ("sent packets", "received packets", "rejected leases", "non unique addresses")


CLIENTS = 40


def addresses_of(path):
    """{(hardware address, vendor class of the request): leased address} of a capture."""
    classes, leased = {}, {}
    for packet in tshark(path, ("dhcp.hw.mac_addr", "dhcp.option.dhcp", "dhcp.option.vendor_class_id", "dhcp.ip.your")):
        mac = packet["dhcp.hw.mac_addr"]
        if packet["dhcp.option.dhcp"] == "1":
            classes[mac] = packet["dhcp.option.vendor_class_id"]
        elif packet["dhcp.option.dhcp"] == "5":
            leased[mac, classes[mac]] = packet["dhcp.ip.your"]
    return leased


def ready(family=4):
    """The lab with Kea, and the tester's end as an ordinary host."""
    if not shutil.which("perfdhcp"):
        skip("no perfdhcp here")
    lab("kea" if family == 4 else "kea6")
    for words in (["sysctl", "-qw", "net.ipv6.conf.veth0.disable_ipv6=0"],
                  ["ip", "addr", "replace", NETS[family], "dev", "veth0", *(["nodad"] if family == 6 else [])],
                  ["ip", "link", "set", "dev", "lo", "up"]):
        code, out, err = execute(lab().tester(*words))
        assert code == 0, (words, out, err)


def labels(text):
    """The lines without their figures; one that comes again at once is one line."""
    lines = [FIGURE.sub("#", FIGURE_OF_HEX.sub(r"\1 hex", line)).replace(" -, ", " --scenario ") for line in text.split("\n")]
    return [line for n, line in enumerate(lines) if n == 0 or line == "" or line != lines[n - 1]]


def figures(text):
    """{(block, name): value}, and the rate."""
    block, out = "", {}
    for line in text.split("\n"):
        name, _, value = line.partition(": ")
        if line.startswith("***Statistics for"):
            block = line
        elif name in COUNTERS:
            out[block, name] = float(value)
        elif name == "Rate":
            out["", "Rate"] = float(value.split()[0])
    return out


def run(program, line):
    code, out, err = execute(lab().tester(*program, *line.split(" ")), timeout=60)
    return code, out, err


def both(line):
    """Outputs and exit codes of the two, whose labels are equal."""
    theirs, ours = run(["perfdhcp"], line), run([binary(), "as", "perfdhcp"], line)
    assert labels(theirs[1]) == labels(ours[1]), f"{line}\n{theirs}\n{ours}"
    return theirs, ours


def compare(line, but=()):
    """Likewise, and figures within 5 %, or 3: perfdhcp neither sends nor counts the last ones of its time."""
    theirs, ours = both(line)
    wanted, have = figures(theirs[1]), figures(ours[1])
    assert wanted.keys() == have.keys(), (line, wanted, have)
    for key, value in wanted.items():
        if key[1] not in but:
            timing(abs(have[key] - value) <= max(3, 0.05 * value), (line, key, value, have[key], ours))
    return ours


@test
def kea_rates():
    ready()
    for line in ("-4 -r 300 -p 1", "-r 100 -R 30 -p 2 -t 1"):
        code, _, err = compare(f"{line} {SERVER[4]}")
        timing(code == 0, err)


@nightly
def kea_without_a_rate():
    ready()
    both(f"-R 20 -p 1 {SERVER[4]}")


@test
def kea_two_messages():
    ready()
    compare(f"-4 -i -r 100 -R 50 -p 1 -xi -o 60,646f63736973 -b mac=00:0c:01:02:04:00 {SERVER[4]}")


@test
def kea_renewals_and_releases():
    ready()
    _, out, err = compare(f"-r 100 -f 50 -F 20 -R 500 -p 2 -t 1 {SERVER[4]}")
    assert "RELEASE has no reply" in err, err


@nightly
def kea_a_number_of_exchanges():
    ready()
    both(f"-r 50 -R 50 -n 40 -W 300000 -xe {SERVER[4]}")


@test
def kea_losses():
    ready()
    for line in (f"-r 20 -p 2 -D 3 {SILENT}", f"-i -r 20 -p 2 -D 5% -d 0.2 {SILENT}"):
        theirs, ours = both(line)
        assert theirs[0] == ours[0] == 3, (theirs, ours)


@test
def kea_broadcast():
    ready()
    compare("-B -r 50 -R 50 -p 1 -l veth0")


@test
def clients_of_perfdhcp_come_back_out_of_a_capture():
    """Kea gives each the address that it has: their hardware addresses and client identifiers are those of perfdhcp."""
    ready()
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        theirs = Path(folder, "theirs.pcapng")
        with dumped(theirs, "udp port 67", 4 * CLIENTS):
            code, out, err = run(["perfdhcp"], f"-4 -r 50 -R {CLIENTS} -n {CLIENTS} -W 300000 -o 60,646f63736973 {SERVER[4]}")
        assert code == 0, (out, err)
        before = addresses_of(theirs)
        one = {"name": "again", "server": SERVER[4], "timeout": "2s", "load": {"replay": {"file": str(theirs)}},
               "dhcp4": {"wire": str(theirs), "relay": {"addresses": ["198.18.0.1"], "all": True}}}
        ours = Path(folder, "ours.pcapng")
        with dumped(ours, "udp port 67", 4 * CLIENTS):
            result = lab().ddiperf(config("socket", one, run={"duration": "3s"}))
        assert result.json, result
        again = result.item("again")
        assert again["answered"] == again["sent"] == again["dhcp4"]["leases"] == CLIENTS and again["failed"] == 0, again
        assert again["input"].startswith(f"{CLIENTS} of {4 * CLIENTS} packets of theirs.pcapng; left out: "), again["input"]
        assert addresses_of(ours) == before and len(before) == CLIENTS, (before, addresses_of(ours))


@nightly
def kea_lines_for_programs():
    ready()
    compare(f"-r 50 -R 50 -p 2 -t 1 -C , {SERVER[4]}")


@nightly
def kea_diagnostics():
    ready()
    theirs, ours = both(f"-g multi -r 5 -R 5 -p 1 -x aeis -b mac=00:0c:01:02:05:00 -s 3 -L 67 -N 67 -u {SERVER[4]}")
    assert "Server id: c6120002" in ours[1].split("\n") and "c6120002" in theirs[1], ours


@test
def kea_packets():
    """-x t: as many lines; -x T: the same octets, but for the transaction ID."""
    ready()
    theirs, ours = both(f"-r 20 -R 20 -p 1 -x tT {SERVER[4]}")
    assert ours[1].count("sent / received: ") == 2 * figures(ours[1])["***Statistics for: REQUEST-ACK***", "received packets"], ours
    hexes = [re.findall(r"^[0-9a-f]{4}   ([0-9a-f]+)$", out, re.M) for _, out, _ in (theirs, ours)]
    assert hexes[0][1:17] == hexes[1][1:17] and len(hexes[0]) == len(hexes[1]), hexes


@nightly
def kea_avalanche():
    ready()
    theirs, ours = both(f"--scenario avalanche -R 50 {SERVER[4]}")
    assert figures(theirs[1])[("***Statistics for: REQUEST-ACK***", "received packets")] == 50, theirs
    assert theirs[0] == ours[0] == 0, (theirs, ours)


@nightly
def kea_files():
    ready()
    with tempfile.TemporaryDirectory() as folder:
        macs = Path(folder, "macs")
        macs.write_text("".join(f"00:0c:01:02:06:{i:02x}\n" for i in range(50)))
        compare(f"-M {macs} -r 50 -p 1 {SERVER[4]}", but=("non unique addresses",))


@test
def kea_templates():
    """A DISCOVER with a host name, whose last bytes are the client's; perfdhcp writes its own REQUEST."""
    ready()
    head = "01010601" + "00" * 20 + "c6120001" + "000c01020304" + "00" * 202 + "63825363"
    with tempfile.TemporaryDirectory() as folder:
        template = Path(folder, "discover.hex")
        template.write_text(f"{head} 350101 37020306 0c0a 74657374 000c01020304 ff\n")
        ours = compare(f"-T {template} -X 4 -O 33 -R 20 -r 50 -p 1 {SERVER[4]}")
        compare(f"-T {template} -i -O 258 -R 20 -r 50 -p 1 {SERVER[4]}")
        other = head.replace("01010601", "01010603", 1)[:16] + "00078001" + head[24:88] + "73727600" + head[96:]
        template.write_text(f"{other} 350101 ff\n")
        compare(f"-T {template} -O 33 -R 20 -r 50 -p 1 {SERVER[4]}", but=("non unique addresses",))
        _, out, _ = run([binary(), "as", "perfdhcp"], f"-T {template} -O 33 -R 20 -r 50 -p 1 -x T {SERVER[4]}")
        octets = "".join(re.findall(r"^[0-9a-f]{4}   ([0-9a-f]+)$", out.split("contents")[1], re.M))
        assert octets == other[:8] + octets[8:16] + other[16:] + "350101ff", (other, out)
    timing("received packets: 50" in ours[1], ours)


@nightly
def kea_preload():
    ready()
    compare(f"-P 10 -r 20 -R 50 -p 1 {SERVER[4]}")


@test
def kea6_clients_on_the_link():
    ready(6)
    for line in ("-6 -i -r 50 -R 50 -p 1 -l veth0 all", "-6 -r 50 -p 1 -e prefix-only -l veth0"):
        compare(line)


@test
def kea6_addresses_and_prefixes():
    ready(6)
    compare("-6 -r 50 -R 500 -f 20 -F 10 -p 2 -e address-and-prefix -l veth0 -t 1")


@test
def kea6_a_relay():
    ready(6)
    compare(f"-6 -A 1 -r 50 -R 50 -p 1 {SERVER[6]}")


@nightly
def kea6_nobody_answers():
    ready(6)
    theirs, ours = both("-6 -r 5 -p 1 -xe -l veth0 servers")
    assert theirs[0] == ours[0] == 3, (theirs, ours)


main()
