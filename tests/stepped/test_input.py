#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Bad input that needs a box of its own, and what the box cannot do. Mistakes of files and their messages:
# tests/unit/app/transcripts.

import json
import os
import random
import tempfile
import time
from pathlib import Path

from harness import EXIT, binary, config_file, ddiperf, execute, main, skip, test
from loop import RELAXED, item, ring

COMMON = """run: {warmup: 0s, duration: 200ms}
ports:
  - name: tester
    driver: ring
    device: dut
    addresses: [198.18.0.1/24]
  - {name: dut, driver: ring, device: tester, addresses: [198.18.0.2/24]}
traffic:
  - name: queries
    server: 198.18.0.2
    timeout: 500ms
    load: {rate: 2k}
"""
DNS = COMMON + """    dns: {names: [www.example.com A]}
responder: {port: dut, dns: {}}
"""
DHCP = COMMON + """    dhcp4:
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
PIECES = (b"{", b"]", b":", b"\n", b"\xff", b"- ", b"&x", b"*x", b"{client", b"82.", b"99999999999", b"%")


@test
def the_files_without_mistakes_pass():
    for text in (DNS, DHCP):
        result = ddiperf(text + "validity: " + json.dumps(RELAXED))
        assert result.code == 0 and result.item("queries")["answered"] == 400, result


@test
def broken_files_never_crash_it():
    source = random.Random(1)
    for good, first, count in ((DNS, 0, 60), (DHCP, len(COMMON), 40)):
        for _ in range(count):
            text = bytearray(good.encode())
            for _ in range(source.randrange(1, 6)):
                at = source.randrange(first, len(text))
                text[at:at + source.randrange(3)] = source.choice(PIECES)
            result = ddiperf(text.decode("latin-1"), command="check")
            assert result.code in (0, EXIT["usage"]), (result, text)


@test
def a_lease_file_to_save_is_left_as_it_was_by_check():
    with tempfile.TemporaryDirectory() as folder:
        link, pipe = Path(folder) / "link.csv", Path(folder) / "pipe"
        link.symlink_to("leases.csv")
        os.mkfifo(pipe)
        for path, code in ((link, EXIT["pass"]), (pipe, EXIT["usage"])):
            result = ddiperf(DHCP.replace("exchange: dora", f"leases: {{save: {path}}}"), command="check")
            assert result.code == code and sorted(os.listdir(folder)) == ["link.csv", "pipe"], (result, os.listdir(folder))


# --- query files ---------------------------------------------------------------------------------------------


def with_file(content, **more):
    return ddiperf(DNS.replace("{names: [www.example.com A]}", "{queries: q.txt}"), files={"q.txt": content}, **more)


def named(names, text, command="run"):
    """The command on that file, with these lines as the only names of hosts: (exit code, stdout, stderr)."""
    if os.geteuid() != 0:
        skip("needs root, to change /etc/hosts for one program")
    with tempfile.TemporaryDirectory() as folder, config_file(text) as path:
        for name, content in (("hosts", names), ("resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")):
            Path(folder, name).write_text(content)
        mounts = " && ".join(f"mount --bind {folder}/{name} /etc/{name}" for name in ("hosts", "resolv.conf"))
        more = "--json -" if command == "run" else ""
        return execute(["unshare", "--mount", "sh", "-c", f"{mounts} && exec {binary()} {command} {path} {more}"])


@test
def a_line_needs_no_route_on_an_interface_of_its_own():
    if os.geteuid() != 0:
        skip("needs root, for a network namespace without routes")
    line = ["unshare", "--net", binary(), "dns", "192.0.2.1", "-D", "af_packet", "-a", "192.0.2.9/24", "--dump"]
    code, out, err = execute(line)
    assert code == EXIT["environment"] and "no route to 192.0.2.1" in err, (code, err)
    code, out, err = execute([*line, "-i", "eth1"])
    assert code == 0 and "device: eth1" in out and "no route" not in err, (code, err)


NAMES = "198.18.0.9 both.test\n198.18.0.2 both.test four.test\n2001:db8::2 both.test six.test\n192.0.2.9 far.test\n"
DUAL = {"addresses": ["198.18.0.1/24", "2001:db8::1/64"]}
SIX = {"addresses": ["2001:db8::1/64"]}


@test
def the_name_of_a_server_stands_for_the_first_address_that_the_port_reaches():
    for name, tester, address in (("four.test", {}, "198.18.0.2"), ("both.test", SIX, "2001:db8::2"),
                                  ("six.test.", DUAL, "2001:db8::2")):
        text = ring(item(server=name), tester=tester, dut={"addresses": ["198.18.0.2/24", "2001:db8::2/64"]},
                    run={"repeat": {"min": 2, "max": 2}} if name == "both.test" else None)
        code, out, err = named(NAMES.replace("six.test", "six.test six.test."), text)
        assert code == 0, (name, err)
        document = json.loads(out)
        one = document["traffic"][0]
        assert (one["server"], one["server_name"]) == (address, name) and one["answered"] == one["sent"] > 0, one
        assert document["config"]["traffic"][0]["server"] == name
        assert err.count(f"traffic queries: server {name} is {address}") == 1, err
        assert ("addresses not used: 198.18.0" in err) == (name == "both.test"), err
    code, out, err = named(NAMES, ring(item(server="four.test")), "check")
    assert code == 0 and "server four.test is 198.18.0.2" in err, err
    one = ddiperf(ring()).item("queries")
    assert one["server"] == "198.18.0.2" and "server_name" not in one, one


@test
def a_name_that_leads_nowhere_is_refused_with_the_reason():
    dhcp = {"dhcp4": {"clients": 10}, "load": {"rate": 5}}
    for name, more, words in (
            ("none.test", {}, "none.test: "), ("far.test", {}, "far.test is 192.0.2.9: port tester reaches none of them"),
            ("six.test", {}, "six.test is 2001:db8::2: port tester reaches none"),
            ("six.test", {"tester": DUAL, "dhcp": dhcp}, "six.test is 2001:db8::2: port tester reaches none")):
        one = {"name": "leases", "server": name, **dhcp} if "dhcp" in more else item(server=name)
        code, out, err = named(NAMES, ring(one, tester=more.get("tester")), "check")
        expected = EXIT["environment" if name == "none.test" else "usage"]
        assert code == expected and words in err and ".server: " in err, (name, code, err)
        assert err.count("test.yaml:") == 1, err


@test
def a_binary_query_file_is_refused_and_does_not_crash_it():
    source = random.Random(2)
    for content in (*(source.randbytes(size) + b"\n" for size in (1, 100, 70000)), "a" * (2 << 20)):
        result = with_file(content)
        assert result.code == EXIT["usage"] and "q.txt:1:" in result.stderr and result.json is None, result


@test
def a_hundred_thousand_queries_are_read_quickly():
    begin = time.monotonic()
    result = with_file("".join(f"h{i}.example.com A\n" for i in range(100000)), command="check")
    assert result.code == 0, result
    assert time.monotonic() - begin < 5, result


# --- what only the whole can tell ------------------------------------------------------------------------------


@test
def sixty_items_with_source_ports_of_their_own_are_accepted():
    items = [item(f"q{i}", load={"rate": "1k"}, source={"ports": [f"{2000 + 10 * i}-{2009 + 10 * i}"]}) for i in range(60)]
    result = ddiperf(ring(*items), command="check")
    assert result.code == 0, result


@test
def a_cpu_that_is_not_there_is_an_error_of_the_environment():
    result = ddiperf(ring(tester={"cpus": [4000]}))
    assert result.code == EXIT["environment"] and "4000" in result.stderr, result
    result = ddiperf(ring(host={"management_cpu": 4000}))
    assert result.code == EXIT["environment"] and "4000" in result.stderr, result


@test
def a_packet_file_that_is_none_is_an_error_of_the_environment():
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/in", "wb") as file:
            file.write(b"this is no packet file, however long one looks at it")
        result = ddiperf(json.dumps({
            "ports": [{"name": "lan", "driver": "pcap", "rx_file": f"{folder}/in", "addresses": ["198.18.0.1/24"]}],
            "traffic": [item()],
        }))
    assert result.code == EXIT["environment"] and "lan" in result.stderr, result


main()
