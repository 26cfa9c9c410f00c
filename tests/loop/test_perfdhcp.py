#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# ddiperf as perfdhcp: its options, those that it refuses, and the files that command lines stand for. Its output is
# held against that of perfdhcp in tests/live/test_perfdhcp.py.

import os
import re
import shutil
import tempfile
from pathlib import Path

from harness import ROOT, Result, binary, execute, main, skip, test

# Of perfdhcp 2.2.
LETTERS = "146AbBcCdDeEfFghiIJlLMnNoOpPrRsStTuvWwxXyY"
HERE = "127.0.0.1"


def perfdhcp(*words, **options):
    code, out, err = execute([binary(), "as", "perfdhcp", *words], **options)
    return Result(code, None, out, err)


def dump(line):
    """The settings of a command line, as one line of YAML without what all of them have."""
    result = perfdhcp("--dump", *line.split())
    assert result.code == 0, result
    text = re.sub(r"\n *", " ", result.stdout.split("\n", 1)[1])
    for common in ('pad: 0 ', 'parameters: [1, 28, 2, 3, 15, 6, 12] ', 'again: true ', 'name: perfdhcp ', 'warmup: 0s ', '"'):
        text = text.replace(common, "")
    return text


def files(**texts):
    folder = tempfile.TemporaryDirectory()
    for name, text in texts.items():
        Path(folder.name, name).write_text(text)
    return folder


@test
def each_option_is_in_the_table():
    result = perfdhcp("--options")
    rows = re.findall(r"^  -(.)[ ,]", result.stdout, re.M)
    assert result.code == 0 and sorted(rows) == sorted(LETTERS), result
    assert "--scenario" in result.stdout and perfdhcp("-h").stdout == result.stdout, result
    assert perfdhcp("-v").stdout == "VERSION: 2.2.0\n"


@test
def the_table_is_that_of_the_installed_perfdhcp():
    if not shutil.which("perfdhcp"):
        skip("no perfdhcp here")
    code, out, err = execute(["perfdhcp", "-h"])
    letters = set(re.findall(r"^-(\w)[<:]", out + err, re.M))
    assert code == 0 and letters - {"V"} == set(LETTERS) - {"V"}, (letters ^ set(LETTERS), out)  # -V of 2.6 is not in its list


@test
def wrong_lines_are_refused():
    for line, why in {
        "": "without an interface (-l), a server is required",
        "-q": "no such option: -q",
        "-r": "this option needs an argument: -r",
        "a b": "more than one server: b",
        f"-r 5x {HERE}": "-r 5x: not a whole number from 1 to 2147483647",
        f"-r 0 {HERE}": "-r 0: not a whole number",
        f"-L 65536 {HERE}": "-L 65536: not a whole number from 0 to 65535",
        f"-A 2 -6 {HERE}": "-A 2: not a whole number from 1 to 1",
        f"-n 1 -n 2 -n 3 {HERE}": "-n: more than 2 of them",
        f"-4 -6 {HERE}": "-4 and -6 exclude each other",
        f"-6 -B {HERE}": "-B is of DHCPv4",
        f"-c {HERE}": "-c needs -6",
        f"-6 -c {HERE}": "-c needs -i",
        f"-e prefix-only {HERE}": "-e needs -6",
        f"-e other -6 {HERE}": "other: not one of: address-only prefix-only address-and-prefix",
        f"-o 60,00 {HERE}": "-o needs -4 or -6 before it",
        f"-4 -o 60,0 {HERE}": "-o 60,0: not CODE,HEX",
        f"-i -f 2 -r 5 {HERE}": "-i excludes -f",
        f"-i -1 {HERE}": "-i excludes -1",
        f"-f 2 {HERE}": "-f needs -r",
        f"-r 5 -f 3 -F 3 {HERE}": "-f and -F together must not exceed -r",
        f"-X 4 {HERE}": "each -X needs a -T",
        f"-b mac=1:2:3 {HERE}": "-b mac=1:2:3: not a MAC address",
        f"-b ip=1 {HERE}": "-b ip=1: not mac=MAC",
        "-6 -b duid=0001 ::1": "-b duid=0001: not a DUID",
        f"-D 0 {HERE}": "-D 0: not a count from 1",
        f"-D 100% {HERE}": "-D 100%: not a count from 1, nor a percentage below 100%",
        f"-d x {HERE}": "-d x: not a number",
        f"-d 1 -d 2 {HERE}": "-d 2: another time than 1 for the second message",
        f"--scenario avalanche {HERE}": "--scenario avalanche needs -R",
        f"--scenario storm {HERE}": "storm: not one of: basic avalanche",
        f"-xt {HERE}": "-x t: times of single packets are not kept",
        f"-xT {HERE}": "-x T: templates are not printed",
        f"-y 1 {HERE}": "-y and -Y need each other",
        f"-y 0 -Y 1 {HERE}": "-y 0: not a whole number from 1 to 65535",
        f"-M /nowhere {HERE}": "-M /nowhere: No such file or directory",
        "all": "255.255.255.255 needs the name of an interface (-l)",
    }.items():
        result = perfdhcp(*line.split())
        assert result.code == 2 and why in result.stderr and result.stdout == "", (line, why, result)


@test
def options_without_effect_are_told():
    for option in ("-1", "-B", "-g single", "-W 5"):
        result = perfdhcp("--dump", *option.split(), HERE)
        assert result.code == 0 and f"{option[:2]} has no effect: " in result.stderr, result


@test
def lines_become_files():
    relay = f"relay: addresses: - {HERE} broadcast_flag: false"
    four = f"ports: - name: lan driver: socket traffic: - name: leases server: {HERE}"
    head = f"{four} timeout: 1s load:"
    mac = "mac: 00:0c:01:02:03:04"
    one = f"clients: 10 mac_count: 1 {mac}"
    for line, expected in {
        f"-r 100 -R 30 -p 60 {HERE}": f"run: duration: 60s {head} rate: 100 dhcp4: exchange: dora clients: 210 mac_count: 30 {mac} {relay}",
        f"-i -n 5 -s 3 -t 2 {HERE}": f"run: duration: 100d interval: 2s seed: 3 {head} outstanding: 1 total: 5 "
        f"dhcp4: exchange: discover clients: 1 {mac} {relay}",
        f"-4 -o 60,646f -o 55,2A -p 1 -r 5 -N 1067 -d 0.5 {HERE}": f"run: duration: 1s {four} server_port: 1067 timeout: "
        f"0.5s load: rate: 5 dhcp4: exchange: dora clients: 5 mac_count: 1 {mac} parameters: [1, 28, 2, 3, 15, 6, 12, 42] {relay} "
        "options: - {code: 60, hex: 646f}",
        f"-b mac=0::C:1:02:03:FF -p 1 -r 5 -L 1067 -l 127.0.0.9 -w ./x -D 3 -D 5% {HERE}": "run: duration: 1s interval: "
        f"100ms {head} rate: 5 dhcp4: exchange: dora clients: 10 mac_count: 1 mac: 00:0C:01:02:03:FF relay: addresses: - 127.0.0.9 port: 1067 "
        "source_port: false broadcast_flag: false stop: - traffic.leases.steps.discover-offer.lost >= 3 - "
        "traffic.leases.steps.request-ack.lost >= 5% hooks: start: ./x start stop: ./x stop",
        "-r 5 -p 1 -l lo": "run: duration: 1s ports: - name: lan driver: af_packet device: lo force: true addresses: - "
        f"127.0.0.1/8 traffic: - name: leases timeout: 1s load: rate: 5 dhcp4: exchange: dora {one}",
        "-6 -A 1 -c -i -p 1 -r 5 -b duid=00030001aabbccddeeff -R 2 ::1": "run: duration: 1s ports: - name: lan driver: "
        "socket traffic: - name: leases server: ::1 timeout: 1s load: rate: 5 dhcp6: exchange: rapid clients: 6 mac_count: 2 "
        f"{mac} duid: hex duid_hex: 00030001{{mac}} relay: addresses: - ::1",
        "-6 -e both -p 1 -r 5 -b duid=00030001aabbccddeeff -l lo servers".replace("both", "prefix-only"):
        "run: duration: 1s ports: - name: lan driver: af_packet device: lo force: true addresses: - ::1/128 traffic: - "
        f"name: leases timeout: 1s load: rate: 5 dhcp6: exchange: sarr {one} duid: hex duid_hex: 00030001aabbccddeeff "
        "lease: prefix to: servers",
        f"--scenario avalanche -R 50 {HERE}": f"run: duration: 100d {head} outstanding: 50 total: 50 dhcp4: exchange: dora "
        f"clients: 50 {mac} {relay} retransmit: initial: 1s jitter: 500ms tries: 16",
        f"-r 5 -p 9 -y 2 -Y 5 {HERE}": f"run: duration: 9s {head} rate: 5 dhcp4: exchange: dora {one} {relay} "
        "secs: from: 1 grow: true after: 5s for: 2s",
        f"-r 5 -R 9 -f 3 -F 2 -p 1 {HERE}": f"run: duration: 1s {head} rate: 5 dhcp4: exchange: dora mix: renew: 3/s "
        f"release: 2/s clients: 18 mac_count: 9 {mac} relay: addresses: - {HERE} all: true broadcast_flag: false",
    }.items():
        assert dump(line).strip() == expected, (line, dump(line), expected)


@test
def files_of_addresses_are_read():
    with files(macs="00:01:02:03:04:05\n\n00:01:02:03:04:06\n", relays="127.0.0.8\n127.0.0.9\n") as folder:
        macs, relays = Path(folder, "macs"), Path(folder, "relays")
        text = dump(f"-M {macs} -J {relays} -r 5 -p 1 {HERE}")
        assert f"clients: 2 mac_file: {macs}" in text and "addresses: - 127.0.0.8 - 127.0.0.9" in text, text
        assert "driver: af_packet device: lo" in text, text
        text = dump(f"-6 -M {macs} -r 5 -p 1 ::1")
        assert f"mac_file: {macs} duid: ll" in text, text


def message(kind, *options, address="000c01020304"):
    head = "01010601" + "00" * 20 + "c6120001"
    return head + address + "00" * 202 + "63825363" + f"3501{kind:02x}" + "".join(options) + "ff"


@test
def templates_become_options():
    name, identifier, parameters = "0c06686f73742d31", "3d0701000c01020304", "37020306"
    discover = message(1, name, identifier, parameters)
    request = message(3, "320400000000", "360400000000", name, identifier, parameters)
    named = message(1, name, "52080106010203040506")
    other = message(3, name.replace("31", "32"))
    duid = "0001000e00010001aabbccdd000c01020304"
    solicit = f"01000000{duid}0003000c00000007000000000000000000060004001700180008000200000010000400000009"
    assert len(bytes.fromhex(discover)) == 240 + 3 + 8 + 9 + 4 + 1
    with files(discover=discover, request=request, named=named, other=other, solicit=solicit, odd="0", text="hello") as folder:
        text = dump(f"-T {folder}/discover -T {folder}/request -X 4 -O 33 -S 255 -I 249 -R 5 -r 5 {HERE}")
        for part in ("client_id: mac", "parameters: [3, 6]", "options: - {code: 12, hex: 686f73742d31}", "pad: 265"):
            assert part in text, (part, text)
        text = dump(f"-T {folder}/named -O 250 -R 5 -r 5 {HERE}")
        assert "client_id: none" in text and "{code: 12, hex: {mac}} - {code: 82.1, hex: 010203040506}" in text, text
        text = dump(f"-6 -T {folder}/solicit -R 300 -r 5 ::1")
        for part in ("duid_hex: 00010001aabbccdd000c0102{client:2}", "iaid: 7", "parameters: [23, 24]", "{code: 16, hex: 00000009}"):
            assert part in text, (part, text)
        for line, why in {
            f"-T {folder}/odd {HERE}": "not pairs of hex digits",
            f"-T {folder}/text {HERE}": "not pairs of hex digits",
            f"-T {folder}/nowhere {HERE}": "No such file",
            f"-T {folder}/request {HERE}": "not a DISCOVER",
            f"-6 -T {folder}/odd -r 5 ::1": "not pairs of hex digits",
            f"-6 -T {folder}/discover -r 5 ::1": "cut off",
            f"-T {folder}/discover -O 5 {HERE}": "-O 5: neither in an option nor in the hardware address",
            f"-T {folder}/discover -X 5 {HERE}": "-X 5: the transaction id is at offset 4",
            f"-T {folder}/discover -T {folder}/other {HERE}": "option 12 is not that of",
        }.items():
            result = perfdhcp(*line.split())
            assert result.code == 2 and why in result.stderr, (line, why, result)


@test
def a_preload_is_an_item_of_its_own():
    text = dump(f"-P 20 -r 5 -R 8 -f 2 {HERE}")
    assert "mix: renew: 2/s" in text and text.count("name: ") == 3, text
    assert "exchange: discover" in text and text.strip().endswith("load: outstanding: 8 total: 20"), text


@test
def the_guide_has_what_is_refused():
    page = (ROOT / "docs" / "coming-from.md").read_text()
    table = page.split("| without effect, or refused |", 1)[1].split("\n\n", 1)[0]
    rows = re.findall(r"^  -(.)[^\n]*?(?:no effect|refused): (.*)", perfdhcp("--options").stdout, re.M)
    assert {letter for letter, _ in rows} | {"x"} == set(re.findall(r"`-(\w)", table)), (rows, table)
    for _, why in rows:
        assert why in table, why


@test
def a_name_is_looked_up():
    assert f"server: {HERE} " in dump("-r 1 localhost")
    result = perfdhcp("-r", "1", "no.such.name.invalid")
    assert result.code == 1 and "no.such.name.invalid" in result.stderr, result


@test
def a_link_of_that_name_is_perfdhcp():
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder, "ddiperf-perfdhcp")
        os.symlink(binary(), link)
        code, out, err = execute([str(link), "-v"])
    assert code == 0 and out == "VERSION: 2.2.0\n", (out, err)


main()
