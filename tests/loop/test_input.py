#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Bad input: each mistake is refused with its place and what would be right, before anything is sent, with exit code 2
# (or 3 when it is the box that cannot), and without a crash.

import json
import os
import random
import subprocess
import tempfile
import time
from pathlib import Path

from harness import EXIT, binary, config_file, ddiperf, execute, main, nightly, skip, test, timing
from loop import RELAXED, item, refuse_mistakes, ring

GOOD = """run: {warmup: 0s, duration: 200ms}
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
    dns: {names: [www.example.com A]}
responder: {port: dut, dns: {}}
"""
# "What the file says", "what it says instead", and what a message about it must hold.
MISTAKES = [
    ("driver: ring\n    device: dut", "driver: ring\n    devise: dut", ':5:', 'unknown key "devise"', '"device"'),
    ("run:", "rnu:", ":1:1:", 'unknown key "rnu"', '"run"'),
    ("200ms", "200", ":1:", "run.duration", '"200" is not a duration', "20ms"),
    ("200ms", "200mz", "run.duration", "is not a duration"),
    ("200ms", "-1s", "run.duration"),
    ("rate: 2k", "rate: 2kb", ":12:", "traffic.queries.load.rate", "is not a rate"),
    ("rate: 2k", "rate: 0", "traffic.queries.load"),
    ("rate: 2k", "rate: 2ms", "traffic.queries.load.rate", "is not a rate"),
    ("{rate: 2k}", "{}", "traffic.queries.load", "missing one of rate"),
    ("rate: 2k", "rate: 2k, outstanding: 10", "traffic.queries.load", "either"),
    ("rate: 2k", "outstanding: 0", "traffic.queries.load.outstanding"),
    ("    server: 198.18.0.2\n", "", ":9:", "traffic.queries.server", "missing"),
    ("server: 198.18.0.2", "server: 198.18.0.256", ":10:13:", "traffic.queries.server", "198.18.0.256"),
    ("server: 198.18.0.2", "server: 192.0.2.1", "traffic.queries.server", "not on a subnet"),
    ("server: 198.18.0.2", "server: 198.18.0.1", "traffic.queries.server", "an address of the tester, on port tester"),
    ("server: 198.18.0.2", 'server: "2001:db8::1"', "IPv6"),
    ("dns: {names: [www.example.com A]}", "dhcp5: {}", 'unknown key "dhcp5"', '"dhcp4"'),
    ("    dns: {names: [www.example.com A]}\n", "", "traffic.queries", "no protocol section"),
    ("[www.example.com A]}", "[www.example.com A]}\n    dns: {names: [b A]}", "traffic.queries.dns", "twice"),
    ("{names: [www.example.com A]}", "{}", "traffic.queries.dns"),
    ("[www.example.com A]", "[www.example.com]", "no type"),
    ("[www.example.com A]", "[www.example.com AAA]", "not a type"),
    ("[www.example.com A]", '["{0-}.example.com A"]', "traffic.queries.dns.names"),
    ("[www.example.com A]", '["a..example.com A"]', "traffic.queries.dns.names"),
    ("[www.example.com A]", '["' + "a" * 64 + '.example.com A"]', "63"),
    ("[www.example.com A]", '["' + ".".join(["a" * 59] * 5) + ' A"]', "255"),
    ("driver: ring\n", "driver: rnig\n", ":4:13:", "ports.tester.driver", "rnig", "af_xdp"),
    ("    driver: ring\n", "", "ports.tester.driver", "missing"),
    ("device: dut\n", "device: nobody\n", "ports.tester.device", "names no other port"),
    ("addresses: [198.18.0.1/24]", "addresses: [198.18.0.1/33]", ":6:", "ports.tester.addresses"),
    ("addresses: [198.18.0.1/24]", "addresses: []", "ports.tester"),
    ("addresses: [198.18.0.1/24]", "addresses: [198.18.0.1/24]\n    vlans: [4095]", "ports.tester.vlans", "4094"),
    ("addresses: [198.18.0.1/24]", "addresses: [198.18.0.1/24]\n    vlans: [1, 2, 3]", "more than two"),
    ("addresses: [198.18.0.1/24]", "addresses: [198.18.0.1/24]\n    mtu: 100", "ports.tester.mtu", "576"),
    ("addresses: [198.18.0.1/24]", "addresses: [198.18.0.1/24]\n    cpus: [0-16]", "ports.tester.cpus", "17 CPUs"),
    ("addresses: [198.18.0.2/24]", "addresses: [198.18.0.2/24], cpus: [0-1]", "ports.dut.cpus", "has 1: some workers"),
    ("addresses: [198.18.0.1/24]", "addresses: [198.18.0.1/24]\n    gateway: [192.0.2.1]", "ports.tester.gateway"),
    ("name: queries\n", "name: queries\n    port: nowhere\n", "traffic.queries.port", "nowhere"),
    ("name: queries\n", "name: queries\n    port: dut\n", "traffic.queries.port", "responder"),
    ("timeout: 500ms", "timeout: 0s", "traffic.queries.timeout"),
    ("timeout: 500ms", "source: {ports: 0-65535}", "traffic.queries.source.ports"),
    ("timeout: 500ms", "source: {ports: 3000-2000}", "traffic.queries.source.ports"),
    ("timeout: 500ms", "source: {addresses: [198.18.0.9-198.18.0.3]}", "traffic.queries.source.addresses"),
    ("timeout: 500ms", 'source: {addresses: ["2001:db8::1"]}', "traffic.queries.source.addresses", "family"),
    ("port: dut", "port: dtu", "responder.port", "dtu"),
    ("responder: {port: dut, dns: {}}", "responder: {port: dut}", "responder", "no protocol to answer"),
    ("responder:", "criteria: [loss < much]\nresponder:", "criteria", "loss < much"),
    ("responder:", "criteria: [lsos <= 1%]\nresponder:", "criteria", "lsos"),
    ("{rate: 2k}", "{ramp: {from: 5k, to: 1k, over: 100ms}}", ":12:", "traffic.queries.load.ramp.from", "goes up"),
    ("{rate: 2k}", "{steps: []}", ":12:", "traffic.queries.load.steps", "has no step"),
    ("rate: 2k", "rate: 2k, stop_at: 1s", "traffic.queries.load.stop_at", "after the end of the run"),
    ("{rate: 2k}", "{replay: {file: none.txt}}", "traffic.queries.load.replay.file", "No such file"),
    ("responder:", "stop: [lossy > 5%]\nresponder:", ":14:8:", "stop[0]", "lossy", '"loss"'),
    ("responder:", "criteria: [traffic.nobody.loss <= 1%]\nresponder:", "criteria", "nobody"),
    ("responder:", "criteria: [p99 <= 2]\nresponder:", "criteria", "p99 <= 2"),
    ("traffic:\n", "traffic:\n  - {name: queries, server: 198.18.0.2, load: {rate: 1}, dns: {names: [a A]}}\n",
     "queries", "earlier traffic item"),
    ("- name: queries", "- &a\n    name: queries", "anchor"),
    ("responder:", "run: {duration: 1s}\nresponder:", "run", "twice"),
    ("ports:", "ports: [", "not YAML"),
    ("    driver: ring", "\tdriver: ring", "not YAML"),
]
PIECES = (b"{", b"]", b":", b"\n", b"\xff", b"- ", b"&x", b"*x", b"99999999999")


def refused(result, *words):
    assert result.code == EXIT["usage"], result
    for word in words:
        assert word in result.stderr, (word, result)
    assert result.json is None, "a result of a run that never was"
    assert "test.yaml" in result.stderr or "q.txt" in result.stderr, result


@test
def the_file_without_mistakes_passes():
    result = ddiperf(GOOD + "validity: " + json.dumps(RELAXED))
    assert result.code == 0 and result.item("queries")["answered"] == 400, result


@test
def every_mistake_is_refused_with_its_place_and_what_is_right():
    refuse_mistakes(GOOD, MISTAKES)


@test
def run_says_the_same_as_check_and_sends_nothing():
    text = GOOD.replace("rate: 2k", "rate: 2kb")
    checked, run = ddiperf(text, command="check"), ddiperf(text)
    refused(run, "traffic.queries.load.rate")
    drop = lambda result: result.stderr.split("test.yaml", 1)[1]
    assert drop(checked) == drop(run)


@test
def all_mistakes_of_a_file_are_reported_at_once():
    text = GOOD.replace("200ms", "200").replace("rate: 2k", "rate: x").replace("device: dut", "devise: dut")
    result = ddiperf(text)
    refused(result, "run.duration", "load.rate", "devise")
    assert len(result.stderr.splitlines()) == 3, result


@test
def every_message_starts_with_file_line_and_column():
    text = GOOD.replace("200ms", "200").replace("rate: 2k", "rate: x")
    for line in ddiperf(text).stderr.splitlines():
        place = line.split("test.yaml:")[1].split(":")
        assert place[0].isdigit() and place[1].isdigit(), line


@test
def a_file_that_is_no_configuration_is_a_usage_error():
    texts = ("\n", "---\n", "- a\n", "hello\n", "{", "a: b: c\n", "\0", "&a [*a]\n", "? [a]\n: b\n")
    for text in (*texts, "x" * 100000, "[" * 5000):
        refused(ddiperf(text, command="check"))
        refused(ddiperf(text))


@test
def a_file_that_is_not_there_is_a_usage_error():
    for path in ("/nonexistent/x.yaml", "/"):
        result = ddiperf(None, path)
        assert result.code == EXIT["usage"] and path in result.stderr, result


@nightly
def broken_files_never_crash_it():
    source = random.Random(1)
    for _ in range(60):
        text = bytearray(GOOD.encode())
        for _ in range(source.randrange(1, 6)):
            at = source.randrange(len(text))
            text[at:at + source.randrange(3)] = source.choice(PIECES)
        result = ddiperf(text.decode("latin-1"), command="check")
        assert result.code in (0, EXIT["usage"]), (result, text)


# --- query files ---------------------------------------------------------------------------------------------


def with_file(content, **more):
    text = GOOD.replace("{names: [www.example.com A]}", "{queries: q.txt}")
    files = {} if content is None else {"q.txt": content}
    return ddiperf(text, files=files, **more)


@test
def a_query_file_that_is_not_there_is_named():
    refused(with_file(None), "q.txt", "No such file")


@test
def a_query_file_is_a_regular_file_or_standard_input():
    refused(ddiperf(GOOD.replace("{names: [www.example.com A]}", "{queries: /dev/zero}")),
            "queries: /dev/zero: not a regular file (or - for standard input)")
    with tempfile.TemporaryDirectory() as folder:
        os.mkfifo(f"{folder}/pipe")
        refused(ddiperf(GOOD.replace("{names: [www.example.com A]}", f"{{queries: {folder}/pipe}}"), timeout=10),
                "pipe: not a regular file")
    text = GOOD.replace("{names: [www.example.com A]}", '{queries: "-"}')
    for command in ("check", "plan", "run"):
        with config_file(text) as path:
            done = subprocess.run([binary(), command, str(path)], input="www.example.com A\n", text=True,
                                  capture_output=True, timeout=60)
        assert done.returncode in (0, EXIT["invalid"]), done
        refused(ddiperf(text, command=command), "queries: -: holds no query")
        leader, terminal = os.openpty()
        with config_file(text) as path:
            done = subprocess.run([binary(), command, str(path)], stdin=terminal, text=True, capture_output=True, timeout=60)
        assert done.returncode == EXIT["usage"] and "standard input is a terminal" in done.stderr, done
        os.close(leader), os.close(terminal)
        done = subprocess.run([binary(), command, "-"], input=text, text=True, capture_output=True, timeout=60)
        assert done.returncode == EXIT["usage"] and "was read before, as the configuration" in done.stderr, done


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
    assert code == 0 and "device: eth1" in out and not err, (code, err)


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
        assert code == EXIT["usage"] and words in err and ".server: " in err, (name, err)
        assert err.count("test.yaml:") == 1, err
    for text in ("a..b", "-a", "a b", "198.18.0", "a.5", "x" * 64, "a/24", ":1"):
        refused(ddiperf(ring(item(server=text)), command="check"), "is not an IP address or a host name")


@test
def an_empty_query_file_is_refused():
    for content in ("", "\n\n", "; nothing\n;\n", "  \t \r\n"):
        for command in ("check", "run"):
            refused(with_file(content, command=command), "q.txt")


@test
def ten_bad_lines_are_listed_with_their_place_and_the_rest_counted():
    lines = [f"h{i}.example.com A" for i in range(40)]
    for i in range(5, 30):
        lines[i] = f"h{i}.example.com NOSUCHTYPE"
    result = with_file("\n".join(lines))
    refused(result, "and 15 more bad lines")
    places = [int(line.split("q.txt:")[1].split(":")[0]) for line in result.stderr.splitlines() if "q.txt:" in line]
    assert places[:10] == list(range(6, 16)) and len(places) == 11, result
    assert "NOSUCHTYPE" in result.stderr


@test
def each_kind_of_bad_line_is_told_apart():
    longest = ".".join(["a" * 63] * 3 + ["b" * 61])
    three_hundred = ".".join(["a" * 59] * 5)
    cases = [
        ("a.example", "no type"), ("a.example B", "not a type"), ("a.example TYPE65536", "not a type"),
        (f"{three_hundred} A", "255"), (f"{longest}x A", "255"), ("a" * 64 + " A", "63"),
        ("a..b A", "empty label"), (".a A", "label"), ("a\\25 A", "\\"), ("a\\256 A", "\\"), ("a\\", "q.txt:2"),
    ]
    for line, words in cases:
        result = with_file(f"good.example.com A\n{line}\n")
        refused(result, "q.txt:2:", words)


@test
def a_bad_line_at_the_end_without_newline_is_found_too():
    refused(with_file("a A\nb"), "q.txt:2:", "no type")


@test
def a_binary_query_file_is_refused_and_does_not_crash_it():
    source = random.Random(2)
    for size in (1, 100, 70000):
        refused(with_file(source.randbytes(size) + b"\n"), "q.txt:1:")
    refused(with_file("a" * (2 << 20)), "q.txt")


@test
def a_hundred_thousand_queries_are_read_quickly():
    begin = time.monotonic()
    result = with_file("".join(f"h{i}.example.com A\n" for i in range(100000)), command="check")
    assert result.code == 0, result
    timing(time.monotonic() - begin < 5, result)


# --- what only the whole can tell ------------------------------------------------------------------------------


@test
def too_few_source_ports_for_rate_and_timeout_are_refused_with_the_number_needed():
    one = item(load={"rate": "1M"}, timeout="1s", source={"ports": ["2000-2009"]})
    result = ddiperf(ring(one), command="check")
    refused(result, "traffic.queries.source.ports", "10 source ports are too few", "at least 49")
    enough = item(load={"rate": "1M"}, timeout="1s", source={"ports": ["2000-2048"]})
    assert ddiperf(ring(enough), command="check").code == 0


@test
def items_that_share_too_few_ports_are_refused():
    items = [item(name, load={"rate": "100k"}, timeout="1s", source={"ports": ["2000-2007"]}) for name in ("a", "b")]
    refused(ddiperf(ring(*items), command="check"), "4 source ports are too few",
            "other items of the port take 4 of its 8", "at least 5 of its own")


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
def more_memory_than_there_is_is_an_error_of_the_environment():
    result = ddiperf(ring(host={"memory": "hugepages", "memory_size": "1000GiB"}))
    assert result.code == EXIT["environment"], result
    assert "hugepages" in result.stderr and "/proc/sys/vm/nr_hugepages" in result.stderr, result
    result = ddiperf(ring(host={"memory": "pages", "memory_size": "64MiB"}, tester={"mbufs": "1M"}))
    assert result.code == EXIT["environment"] and "memory" in result.stderr, result


@test
def a_device_that_is_not_there_is_an_error_of_the_environment():
    if os.geteuid() == 0:
        for driver in ("af_packet", "pcap", "af_xdp"):
            result = ddiperf(json.dumps({
                "ports": [{"name": "lan", "driver": driver, "device": "nosuch0", "addresses": ["198.18.0.1/24"]}],
                "traffic": [item()],
            }))
            assert result.code == EXIT["environment"] and "nosuch0" in result.stderr, result
    with tempfile.TemporaryDirectory() as folder:
        result = ddiperf(json.dumps({
            "ports": [{"name": "lan", "driver": "pcap", "rx_file": f"{folder}/none", "addresses": ["198.18.0.1/24"]}],
            "traffic": [item()],
        }))
    assert result.code == EXIT["environment"] and "cannot be read" in result.stderr, result


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
