#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Options of runs, their files and their standard output, and what has to agree with other programs. Commands that print
# and send nothing: tests/unit/app/transcripts.

import contextlib
import copy
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from harness import EXIT, ROOT, Result, binary, config_file, ddiperf, execute, main, skip, test
from loop import item, ring

# Those of a run; campaigns have a test of their own.
CONFIGS = sorted(path for path in (ROOT / "config").glob("*.yaml") if not path.name.startswith("campaign-"))


def call(*words, **options):
    code, out, err = execute([binary(), *map(str, words)], **options)
    return Result(code, None, out, err)


@test
def a_dump_runs_like_the_file():
    dns = {"names": ["a.x A"], "edns": {"nsid": True}, "expect": {"rcode": ["NOERROR"]}}
    text = ring(item(dns=dns), criteria=["loss <= 0%"])
    dump = ddiperf(text, "--dump", command="check")
    assert dump.code == 0, dump
    result = ddiperf(dump.stdout)
    one = result.item("queries")
    assert result.code == 0 and one["dns"]["nsid"] == one["answered"] == 600, result


@test
def set_changes_what_is_run():
    result = ddiperf(ring(), "--set", "traffic.queries.load.rate=1k", "--set", "run.duration=200ms")
    assert result.code == 0 and result.item("queries")["sent"] == 200, result
    assert "--set" in result.json["run"]["command"], result.json["run"]


@test
def set_reaches_what_the_file_does_not_have_and_lists():
    options = ("--set", "traffic.queries.dns.edns.nsid=true", "--set", "criteria=[loss <= 0%, sent == 600]")
    result = ddiperf(ring(), *options)
    one = result.item("queries")
    assert result.code == 0 and one["dns"]["nsid"] == one["answered"] == 600, result
    assert len(result.json["verdict"]["criteria"]) == 2, result.json["verdict"]


@test
def what_only_prints_ends_with_its_reader():
    for words in (["list", "settings"], ["check", str(CONFIGS[0]), "--dump"], ["doctor"]):
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run([binary(), *words], stdout=write, stderr=subprocess.PIPE, text=True)
        os.close(write)
        assert done.returncode == -signal.SIGPIPE and not done.stderr, (words, done)
    # A run is judged all the same, and says what became of its report.
    read, write = os.pipe()
    os.close(read)
    with config_file(ring()) as path:
        done = subprocess.run([binary(), "run", str(path)], stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert done.returncode == EXIT["environment"] and "600 requests sent" in done.stderr, done


@test
def json_to_standard_output_is_json_alone():
    result = ddiperf(ring(), "--json", "-")
    assert result.code == 0, result
    document = json.loads(result.stdout)
    assert document["schema"] == "ddiperf-result/1" and document["traffic"][0]["sent"] == 600, document["traffic"]


@test
def json_alone_also_when_nobody_answers():
    result = ddiperf(ring(item(server="198.18.0.9")), "--json", "-")
    assert result.code == EXIT["unreachable"], result
    assert json.loads(result.stdout)["verdict"]["status"] == "unreachable"
    assert "198.18.0.9" in result.stderr


@test
def json_to_a_file_replaces_it_whole_and_the_report_stays_on_standard_output():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out.json"
        path.write_text("x" * 1000000)
        result = ddiperf(ring(), "--json", str(path))
        assert result.code == 0 and "DONE" in result.stdout, result
        assert "\033" not in result.stdout + result.stderr and "\r" not in result.stdout, result  # no terminal
        assert json.loads(path.read_text())["verdict"]["status"] == "done"
        assert [entry.name for entry in Path(folder).iterdir()] == ["out.json"]


@test
def quiet_prints_the_last_line_only():
    result = ddiperf(ring(), "--quiet")
    assert result.code == 0 and len(result.stdout.splitlines()) == 1, result
    assert result.stdout.startswith("DONE: ") and result.stderr == "", result


def on_terminal(term, *options):
    """What a run writes to a terminal of this kind."""
    ours, its = os.openpty()
    text = b""
    with config_file(ring()) as path, subprocess.Popen(
            [binary(), "run", str(path), *options], stdin=its, stdout=its, stderr=its, env={**os.environ, "TERM": term}) as process:
        os.close(its)
        with contextlib.suppress(OSError):  # EIO: the other end is closed
            while part := os.read(ours, 65536):
                text += part
        os.close(ours)
    assert process.returncode == 0, text
    return text.decode()


@test
def a_dumb_terminal_or_a_format_for_scripts_has_lines():
    view, lines, formatted = on_terminal("xterm"), on_terminal("dumb"), on_terminal("xterm", "--interval-format", "at {t_s}")
    assert "q: stop" in view and "\033[" in view, view
    assert "answered/s" in lines and "q: stop" not in lines and "\033" not in lines, lines
    assert "at 0.1\r\nat 0.2\r\nat 0.3\r\n" in formatted and "q: stop" not in formatted, formatted


@test
def every_key_of_a_result_is_listed_as_a_counter():
    listed = {line.split()[0] for line in call("list", "counters").stdout.splitlines()}
    document = ddiperf(ring(criteria=["loss <= 0%"])).json
    document.pop("config")
    unlisted = set()

    def walk(node, path):
        if isinstance(node, dict):
            for key, value in node.items():
                walk(value, f"{path}.{key}" if path else key)
        elif isinstance(node, list):
            named = node and isinstance(node[0], dict) and "name" in node[0]
            for value in node:
                walk(value, f"{path}.NAME" if named else f"{path}[]" if isinstance(value, dict) else path)
        elif path not in listed and re.sub(r"\.[^.]*$", ".LABEL", path) not in listed:
            unlisted.add(path)

    walk(document, "")
    assert not unlisted, sorted(unlisted)


# Nothing here can take a card away: each line is refused before.
@test
def bind_lists_the_cards_and_refuses_what_it_cannot_bind():
    listed = call("bind")
    cards = re.findall(r"^([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])  .*\n +-> \S", listed.stdout, re.M)
    assert listed.code == 0 and (cards or listed.stdout == "no network card on the PCI bus\n"), listed
    offered = [line.partition("\t")[0] for line in call("complete", "--", "bind", "").stdout.splitlines()]
    assert offered == cards, offered
    for words in (("bind", "ffff:ff:1f.7"), ("bind", "--force", "lo"), ("bind", "--release", "ffff:ff:1f.7"), ("unbind", "ffff:ff:1f.7")):
        result = call(*words)
        assert result.code == EXIT["environment"] and "there is no network card" in result.stderr, result
        assert all(card in result.stderr for card in cards), result
    assert call("unbind").code == EXIT["usage"]


@test
def a_full_disk_or_a_reader_that_went_away_is_not_a_pass():
    """The run comes to its end all the same, and its summary is on standard error."""
    reader, pipe = os.pipe()
    os.close(reader)
    with open("/dev/full", "w") as full, open(pipe, "w") as broken, config_file(ring()) as path:
        for place in full, broken:
            out = path.parent / "out.json"
            done = subprocess.run(
                [binary(), "run", str(path), "--json", str(out)], stdout=place, stderr=subprocess.PIPE, text=True, timeout=30)
            assert done.returncode == EXIT["environment"] and "standard output" in done.stderr, done
            assert json.loads(out.read_text())["traffic"][0]["answered"] == 600
        for options in ((), ("--json", "-"), ("--quiet", "--json", "/dev/full")):
            done = subprocess.run([binary(), "run", str(path), *options], stdout=full, stderr=subprocess.PIPE, text=True, timeout=30)
            assert done.returncode == EXIT["environment"], (options, done)
            assert "queries: dns on port tester" in done.stderr and (not options or "No space" in done.stderr), (options, done)


@test
def an_output_that_cannot_be_written_is_not_a_pass():
    for name in "jsonl", "html", "csv", "keyval", "hdr", "dns_metrics", "resperf", "openmetrics", "junit", "capture":
        where = {"file": "/dev/full", "when": ["answered"]} if name == "capture" else "/dev/full"
        result = ddiperf(ring(output={name: where}))
        assert result.code == EXIT["environment"], (name, result)
        assert f"output.{name}:" in result.stderr and "No space left" in result.stderr, (name, result)
    with config_file(ring(output={"jsonl": "/dev/full"}, criteria=["loss > 50%"])) as path:
        assert call("run", path).code == EXIT["fail"], "what failed anyway keeps its code"


@test
def a_limit_of_file_size_is_an_error_and_no_crash():
    with tempfile.TemporaryDirectory() as folder, config_file(ring()) as path:
        out = Path(folder) / "out.json"
        done = subprocess.run(
            ["sh", "-c", 'ulimit -f 1; exec "$0" "$@"', binary(), "run", str(path), "--json", str(out)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=30)
        assert done.returncode == EXIT["environment"] and str(out) in done.stderr and not os.listdir(folder), done


@test
def a_report_without_a_place_to_go_is_not_put_into_another_file():
    with tempfile.TemporaryDirectory() as folder, config_file(
            ring(output={"capture": {"file": str(Path(folder) / "bad.pcapng")}})) as path:
        done = subprocess.run(
            ["sh", "-c", 'exec "$0" "$@" >&-', binary(), "run", str(path)], stderr=subprocess.PIPE, text=True, timeout=30)
        assert done.returncode == EXIT["environment"] and "standard output" in done.stderr, done
        assert b"answered/s" not in (Path(folder) / "bad.pcapng").read_bytes()


def samples():
    """{name: text} of config/, and one of them with every default filled in."""
    texts = {path.name: path.read_text() for path in CONFIGS}
    code, out, err = execute([binary(), "check", str(ROOT / "config" / "mixed-monday.yaml"), "--dump"])
    assert code == 0 and len(texts) > 20, err
    return {**texts, "a dump": out}


@test
def editors_know_the_settings_by_a_schema():
    import jsonschema
    import yaml
    code, out, err = execute([binary(), "list", "settings", "--schema"])
    assert code == 0 and not err, err
    schema = json.loads(out)
    jsonschema.Draft202012Validator.check_schema(schema)
    known = jsonschema.Draft202012Validator(schema)
    for name, text in samples().items():
        wrong = [(list(one.absolute_path), one.message) for one in known.iter_errors(yaml.safe_load(text))]
        assert not wrong, (name, wrong[:3])
    right = yaml.safe_load(ring())
    right["traffic"].append({"name": "one", "load": {"rate": "1"}, "dhcp4": {"vlans": {"outer": "1-9"}}})  # a list of one
    for place, value in [
            (("run",), {"durations": "1s"}), (("run",), {"duration": 10}), (("run",), {"seed": "1x"}), (("ports", 0), {"driver": "fast"}),
            (("traffic", 0), {"timeout": "1 s"}), (("traffic", 0), {"dns": {"names": {}}}), (("traffic", 0, "load"), {"rate": "fast"})]:
        text = copy.deepcopy(right)
        at = text
        for key in place:
            at = at[key]
        at.update(value)
        assert known.is_valid(right) and not known.is_valid(text), (place, value)
        assert ddiperf(json.dumps(text), command="check").code == EXIT["usage"], (place, value)


OPTION = re.compile(r"^ +(-[A-Za-z0-9])\b(?:, (--[a-z-]+))?", re.M)
OF_PERFDHCP = re.compile(r"^(-\w)[<:]", re.M)


@test
def every_option_of_the_originals_is_known():
    for tool in ("dnsperf", "resperf", "kxdpgun", "perfdhcp"):
        original = shutil.which(tool) or shutil.which(tool, path="/usr/sbin")
        if not original:
            skip(f"{tool} is not installed: scripts/deps install bench")
        _, out, err = execute([original, "-h"])
        ours = set(OPTION.findall(call("as", tool, "--options").stdout))
        if tool == "perfdhcp":
            theirs = {(letter, "") for letter in OF_PERFDHCP.findall(out + err)} - {("-V", "")}  # of 2.6
        else:
            theirs = set(OPTION.findall(out + err))
        if ("-j", "--json") in theirs:  # kxdpgun from 3.4 on; --json has another meaning in every command of ddiperf
            theirs = theirs - {("-j", "--json")} | {("-j", "")}
        assert len(theirs) > 10 and theirs <= ours, (tool, theirs - ours)


def as_resperf(*words):
    """The lines of a run that all answer."""
    ports = [{"name": "lan", "driver": "ring", "device": "dut", "addresses": ["127.0.0.1/8"]},
             {"name": "dut", "driver": "ring", "device": "lan", "addresses": ["127.0.0.2/8"]}]
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        queries = Path(folder) / "queries"
        queries.write_text("www.example.com A\n")
        code, out, err = execute(
            [binary(), "as", "resperf", "-s", "127.0.0.2", "-d", str(queries), "-R", "-P", f"{folder}/plot", *words, "--set",
             f"ports={json.dumps(ports)}", "--set", "traffic.queries.port=lan", "--set", "responder={port: dut, dns: {}}"])
    assert code == 0, (code, out, err)
    return out.split("\n")


@test
def a_ramp_sends_as_many_queries_as_resperf_and_as_long():
    for words, sent, run_s in [("-m 1 -r 2 -c 2", 2, 4), ("-m 100 -r 2 -c 1", 199, 3), ("-m 100 -r 2", 100, 2), ("-m 3 -r 1 -c 1.4", 5, 2.4),
                               ("-m 10 -r 1 -c 0.01", 5, 1.01), ("-m 5000 -r 2 -c 1", 9999, 3), ("-m 101 -r 1", 50, 1)]:
        lines = as_resperf(*words.split())
        assert f"  Queries sent:         {sent}" in lines, (words, sent, lines)
        took = float(next(line for line in lines if "Run time" in line).split()[-1])
        assert abs(took - run_s) <= 0.02, (words, took)


main()
