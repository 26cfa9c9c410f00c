#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# What users type besides `run FILE`: check and its dump, --set, --json, list, doctor, help, and what they mistype.

import copy
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path
from xml.etree import ElementTree

from harness import EXIT, ROOT, Box, Result, binary, config_file, ddiperf, execute, main, test
from loop import item, ring

# Those of a run; campaigns have a test of their own.
CONFIGS = sorted(path for path in (ROOT / "config").glob("*.yaml") if not path.name.startswith("campaign-"))
DRIVERS = ["pci", "af_xdp", "af_packet", "pcap", "tap", "memif", "virtio_user", "ring", "null", "socket", "vdev"]
COMMANDS = ["dns", "dhcp", "dhcp6", "run", "campaign", "check", "plan", "respond", "compare", "merge", "doctor", "bind", "unbind", "list"]


def call(*words, **options):
    code, out, err = execute([binary(), *map(str, words)], **options)
    return Result(code, None, out, err)


@test
def every_file_in_config_passes_check():
    assert CONFIGS
    for path in CONFIGS:
        result = call("check", path)
        assert result.code == 0 and result.stderr == "" and "ok" in result.stdout, result


@test
def a_dump_is_complete_and_dumps_to_itself():
    for path in CONFIGS:
        first = call("check", "--dump", path)
        assert first.code == 0, first
        # Beside the original, where the query file is.
        with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".yaml") as copy:
            copy.write(first.stdout)
            copy.flush()
            again = call("check", "--dump", copy.name)
        assert again.code == 0 and again.stdout == first.stdout, (path, again)
        for key in ("name: " + path.stem, "warmup:", "seed:", "memory_size:", "mtu: 1500", "send_lag_p99:"):
            assert key in first.stdout, (key, first)


@test
def a_dump_runs_like_the_file():
    dns = {"names": ["a.x A"], "edns": {"nsid": True}, "expect": {"rcode": ["NOERROR"]}}
    text = ring(item(dns=dns), criteria=["loss <= 0%"])
    dump = ddiperf(text, "--dump", command="check")
    assert dump.code == 0, dump
    result = ddiperf(dump.stdout)
    one = result.item("queries")
    assert result.code == 0 and one["dns"]["nsid"] == one["answered"] > 0, result


@test
def dump_shows_what_set_has_changed():
    options = ("--set", "traffic.queries.load.rate=50k", "--set", "ports[0].mtu=1400", "-s", "run.seed=9", "--dump")
    result = ddiperf(ring(), *options, command="check")
    assert result.code == 0, result
    for line in ("rate: 50000", "mtu: 1400", "seed: 9"):
        assert line in result.stdout.replace("50k", "50000"), (line, result)


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
    assert result.code == 0 and one["dns"]["nsid"] == one["answered"] > 0, result
    assert len(result.json["verdict"]["criteria"]) == 2, result.json["verdict"]


@test
def a_set_that_leads_nowhere_is_a_usage_error():
    for text, word in (
        ("traffic.nobody.timeout=1s", "nobody"), ("ports[7].mtu=1400", "7"), ("run.duratoin=1s", "duratoin"),
        ("run.duration=1", "run.duration"), ("run.duration", "="), ("=1", "="), ("run..seed=1", "run"),
    ):
        result = ddiperf(ring(), "--set", text)
        assert result.code == EXIT["usage"] and word in result.stderr, (text, result)


@test
def json_to_standard_output_is_json_alone():
    result = ddiperf(ring(), "--json", "-")
    assert result.code == 0, result
    document = json.loads(result.stdout)
    Box.saw(document)
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
        assert json.loads(path.read_text())["verdict"]["status"] == "done"
        assert [entry.name for entry in Path(folder).iterdir()] == ["out.json"]


@test
def json_that_cannot_be_written_is_refused_before_the_run():
    for path in ("/nonexistent/out.json", "/", ""):
        result = ddiperf(ring(), "--json", path)
        assert result.code == EXIT["usage"] and path in result.stderr and "measured" not in result.stdout, result


@test
def quiet_prints_the_last_line_only():
    result = ddiperf(ring(), "--quiet")
    assert result.code == 0 and len(result.stdout.splitlines()) == 1, result
    assert result.stdout.startswith("DONE: ") and result.stderr == "", result


@test
def the_report_has_no_escape_codes_when_it_is_no_terminal():
    result = ddiperf(ring())
    assert "\033" not in result.stdout + result.stderr and "\r" not in result.stdout, result


@test
def a_reader_that_goes_away_does_not_leave_a_run_behind():
    with config_file(ring()) as path:
        code, _, err = execute(["sh", "-c", f"{binary()} run {path} | head -1; echo $?"], timeout=20)
    assert code == 0, err


@test
def every_driver_protocol_setting_and_counter_is_listed():
    drivers = [line.split()[0] for line in call("list", "drivers").stdout.splitlines()]
    assert drivers == DRIVERS, drivers
    assert call("list", "protocols").stdout.split()[0] == "dns"
    settings = call("list", "settings").stdout
    for key in ("run.duration", "ports[].device", "traffic[].load.rate", "traffic[].dns.queries", "criteria"):
        assert re.search(rf"^{re.escape(key)} ", settings, re.M), key
    counters = call("list", "counters").stdout
    for key in ("traffic.NAME.lost", "traffic.NAME.latency.response.p99_ns", "traffic.NAME.dns.rcode.LABEL"):
        assert re.search(rf"^{re.escape(key)} ", counters, re.M), key


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


@test
def doctor_says_what_the_box_can_do_and_what_helps():
    result = call("doctor")
    assert result.code in (0, EXIT["environment"]), result
    for word in ("hugepages", "cpu", "drivers", *DRIVERS):
        assert word in result.stdout, (word, result)
    assert result.stdout.rstrip().splitlines()[-1].startswith(("ready", "not ready")), result


@test
def doctor_judges_the_ports_of_a_file():
    good = ddiperf(ring(), command="doctor")
    assert "tester" in good.stdout, good
    bad = ddiperf(json.dumps({
        "ports": [{"name": "lan", "driver": "af_packet", "device": "nosuch0", "addresses": ["198.18.0.1/24"]}],
        "traffic": [item()],
    }), command="doctor")
    assert bad.code == EXIT["environment"] and "lan" in bad.stdout and "not ready" in bad.stdout, bad


# Nothing here can take a card away: each line is refused before.
@test
def bind_lists_the_cards_and_refuses_what_it_cannot_bind():
    listed = call("bind")
    cards = re.findall(r"^([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])  .*\n +-> \S", listed.stdout, re.M)
    assert listed.code == 0 and (cards or listed.stdout == "no network card on the PCI bus\n"), listed
    offered = [line.partition("\t")[0] for line in call("complete", "--", "bind", "").stdout.splitlines()]
    assert offered == cards, offered
    for words in (("bind", "ffff:ff:1f.7"), ("bind", "--force", "lo"), ("unbind", "ffff:ff:1f.7")):
        result = call(*words)
        assert result.code == EXIT["environment"] and "there is no network card" in result.stderr, result
        assert all(card in result.stderr for card in cards), result
    assert call("unbind").code == EXIT["usage"]


@test
def help_and_version_are_on_standard_output():
    for words in (("--help",), ("-h",), *((command, "--help") for command in COMMANDS)):
        result = call(*words)
        assert result.code == 0 and result.stdout.startswith("usage: ddiperf") and result.stderr == "", result
    whole = call("--help").stdout
    assert all(command in whole for command in COMMANDS)
    assert re.fullmatch(r"ddiperf \d+\.\d+\.\d+\n", call("--version").stdout)
    for word in ("--set PATH=VALUE", "--json OUT", "--quiet"):
        assert word in call("run", "--help").stdout, word


@test
def what_is_mistyped_is_a_usage_error_on_standard_error():
    for words, expected in (
        ((), "usage"), (("rnu",), "did you mean run"), (("selftest.yaml",), "did you mean ddiperf run"),
        (("run",), "FILE"), (("run", "a.yaml", "b.yaml"), "b.yaml"), (("run", "--jsno", "-", "a.yaml"), "--jsno"),
        (("run", "--set"), "--set"), (("run", "-Zq", "a.yaml"), "option: -Z"),
        (("check", "--json", "-", "a"), "--json"), (("list",), "drivers"), (("list", "things"), "things"),
        (("--nonsense",), "--nonsense"),
    ):
        result = call(*words)
        assert result.code == EXIT["usage"] and expected in result.stderr and result.stdout == "", (words, result)


@test
def a_responder_file_cannot_be_run_and_says_what_can():
    result = call("run", ROOT / "config" / "dns-respond.yaml")
    assert result.code == EXIT["usage"] and "ddiperf respond" in result.stderr, result


@test
def check_and_list_need_neither_ports_nor_privilege():
    for words in (("check", CONFIGS[0]), ("list", "settings")):
        result = call(*words, env={"PATH": "/nonexistent"})
        assert result.code == 0, result


@test
def a_full_disk_is_not_a_pass():
    with open("/dev/full", "w") as full, config_file(ring()) as path:
        done = subprocess.run(
            [binary(), "run", str(path)], stdout=full, stderr=subprocess.PIPE, text=True, timeout=30)
    assert done.returncode == EXIT["environment"] and "standard output" in done.stderr, done


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


def junit(*criteria, **sections):
    """(root of the JUnit file, result) of a short run."""
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        path = Path(folder) / "junit.xml"
        result = ddiperf(ring(criteria=list(criteria), output={"junit": str(path)}, **sections))
        return (ElementTree.parse(path).getroot() if path.exists() else None), result


@test
def a_ci_reads_every_criterion_and_the_verdict():
    run = {"name": 'a <b> & "c"', "duration": "150ms"}
    root, result = junit("loss <= 100%", "sending_s >= 1m", run=run)
    assert result.code == EXIT["fail"], result
    suite = root.find("testsuite")
    assert suite.get("name") == run["name"] and suite.get("tests") == "3" and suite.get("failures") == "2", suite.attrib
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    assert list(cases) == ["loss <= 100%", "sending_s >= 1m", "verdict"], cases
    assert cases["loss <= 100%"].find("failure") is None
    assert cases["sending_s >= 1m"].find("failure").get("message") == "found 0.15 s", cases
    assert re.search(r"FAIL  sending_s >= 1m +0\.15 s", result.stdout), result
    assert cases["verdict"].find("failure").get("message") == "fail"
    names = {one.get("name"): one.get("value") for one in suite.iter("property")}
    assert names["seed"] == "1" and float(names["traffic.queries.answered_per_s"]) > 0, names


@test
def a_junit_file_that_cannot_be_written_is_known_before_the_run():
    result = ddiperf(ring(output={"junit": "/nonexistent/junit.xml"}))
    assert result.code == EXIT["usage"] and "output.junit: /nonexistent/junit.xml" in result.stderr, result


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
    code, _, err = execute([binary(), "list", "counters", "--schema"])
    assert code == EXIT["usage"] and "only settings have a schema" in err, err


main()
