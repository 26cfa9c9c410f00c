#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# What README.md and docs say works: each ```sh block is run by a shell, each ```yaml block is checked, and so are
# settings and options in the text. Examples of --help are run too. An option that does not exist fails here.
#
# The shell has no other programs than the stand-ins below. `ddiperf` there is this file again (stand_in): runs are short,
# and those that need a card or a server are self-checks, or write their first packets to a file.

import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

# --- in place of programs ------------------------------------------------------------------------------

# Programs of the box that documents may use.
REAL = ["bash", "env", "cat", "dirname", "mkdir", "rm"]
# Commands that are not run, and why.
NOT_RUN = {
    "modprobe": "changes the kernel", "sysctl": "changes the kernel",
    "scripts/deps": "installs packages", "scripts/quickstart": "builds", "scripts/test": "runs all tests, this one too",
    "meson": "installs", "start-my-server": "the reader's own", "socat": "waits for a run", "jq": "not installed everywhere",
    "curl": "asks a server that is not there", "systemctl": "starts a service", "sleep": "waits",
    "apt": "installs packages", "nats-server": "does not end", "nats": "not installed everywhere",
}
# Ends of commands that are right, besides 0.
OTHER_CODES = {"doctor": {3}, "compare": {1, 5}, "merge": {1, 5}}


def without_wire(words):
    """The words of a run, for a box without the cards and servers of the documents."""
    if {"--dump", "--dry-run", "--self-check", "--options"} & set(words):
        return words
    if words[0] == "as":
        return [*words, "--dump"]  # the output of each tool has its own tests
    if words[0].startswith("dhcp"):
        return [*words, "--dry-run", "first.pcapng"]
    words = [*words, "--set", "run.warmup=10ms", "--set", "run.duration=100ms"]
    named = next((Path(word) for word in words[1:] if word.endswith(".yaml")), None)
    return words if named and "driver: ring" in named.read_text() else [*words, "--self-check"]


# Words of a sample that its run needs real time for, or a server that is not the responder.
LONG = re.compile(r"\b(storm|avalanche|events|ddns|soak)\b")


def stand_in(words):
    if words[0] == "run" and ("--fleet" in words or "/" in words[1] and LONG.search(Path(words[1]).read_text())):
        sets = [f"--set={value}" for option, value in zip(words, words[1:]) if option == "--set"]
        words = ["check", words[1], *sets]  # no agents here, and no minutes
    elif words[0] in ("run", "dns", "dhcp", "dhcp6", "as"):
        words = without_wire(words)
    elif words[0] == "respond":
        words = ["check", *words[1:]]
    elif words[0] == "campaign":
        words = [*words, "--dump"]
    elif words[0] == "merge" and not Path(words[1]).exists():
        words = ["merge", "--help"]  # of the help: docs/fleet.md makes the parts
    elif words[0] in ("watch", "serve", "agent", "bind", "unbind") or words[:2] == ["list", "agents"]:
        words = [*words, "--help"]  # a server does not end, or there is none; bind and unbind take a card away
    code = subprocess.run([os.environ["DDIPERF"], *words], check=False).returncode
    sys.exit(0 if code in OTHER_CODES.get(words[0], ()) else code)


if sys.argv[1:2] == ["stand-in"]:
    stand_in(sys.argv[2:])

from harness import binary, config_file, execute, main, skip, test  # noqa: E402
from loop import fold, pcap_write  # noqa: E402

LAB = r"""#!/usr/bin/env bash
case $1 in
up) [[ " $(cat "$DOCS_LAB") " =~ [\ \(\"\[,]$2[\ \"\),\|:\;] ]] || { echo "lab up $2?" >&2; exit 2; } ;;
run) shift; exec "$@" ;;
fleet | down | status | stats) ;;
*) echo "lab $1?" >&2; exit 2 ;;
esac
"""
RESULTS = ["result.json", "before.json", "after.json", "monday.json", "tuesday.json"]
LEASES = "0,02:00:00:00:00:00,192.0.2.100,192.0.2.1,never\n"


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def make_folder(folder):
    """Where the shell works: samples, results, leases, a history, and stand-ins as the only programs."""
    shutil.copytree(ROOT / "config", folder / "config")
    shutil.copytree(ROOT / "config", folder, dirs_exist_ok=True)
    shutil.copy(ROOT / "config" / "selftest.yaml", folder / "test.yaml")
    (folder / "leases.csv").write_text(LEASES)
    for name in ("monday.pcapng", "before.pcapng"):
        (folder / name).write_bytes(CAPTURE)
    execute(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=ca",
             "-keyout", folder / "ca.key", "-out", folder / "ca.pem"])
    (folder / "bin").mkdir()
    for name in REAL:
        (folder / "bin" / name).symlink_to(shutil.which(name))
    for name in NOT_RUN:
        write(folder / name if "/" in name or name.startswith("start") else folder / "bin" / name, "#!/bin/sh\n")
    write(folder / "bin" / "sudo", '#!/bin/sh\nexec "$@"\n')
    write(folder / "bin" / "ddiperf", f'#!/bin/sh\nexec {sys.executable} {Path(__file__).resolve()} stand-in "$@"\n')
    write(folder / "scripts" / "lab", LAB)
    (folder / "bin" / "ddiperf-ci").symlink_to(ROOT / "scripts" / "ci" / "ddiperf-ci")
    code, out, err = execute([binary(), "run", "test.yaml", "--set", "run.warmup=10ms", "--set", "run.duration=100ms",
                              "--json", "result.json", "--quiet"], cwd=folder)
    assert code == 0, out + err
    for name in RESULTS[1:]:
        shutil.copy(folder / "result.json", folder / name)
    code, out, err = execute([binary(), "report", "result.json", "--append", "runs.jsonl"], cwd=folder)
    assert code == 0, err


# --- the documents -------------------------------------------------------------------------------------


def fences(page):
    """(line, kind, text) of each fenced block."""
    found = re.finditer(r"^```(.*)\n((?:.*\n)*?)```$", page.read_text(), re.M)
    return [(page.read_text()[:one.start()].count("\n") + 1, one[1], one[2]) for one in found]


def prose(page):
    return re.sub(r"^```(?:.*\n)*?```$", "", page.read_text(), flags=re.M)


def name_of(page, line=None):
    return f"{page.relative_to(ROOT)}{f':{line}' if line else ''}"


def every_page(work):
    """work(page) for all pages, some at once; their complaints as one."""
    with ThreadPoolExecutor(4) as pool:
        wrong = [text for found in pool.map(work, PAGES) for text in found]
    assert not wrong, "\n".join(wrong)


def statements(text):
    """Commands of a block: lines, with those that go on after a backslash or within quotes."""
    kept = ""
    for line in text.splitlines(keepends=True):
        kept += line
        if line.rstrip().endswith("\\") or kept.count("'") % 2:
            continue
        if kept.strip() and not kept.startswith("#"):
            yield kept
        kept = ""


# The steps of a pipeline: `- run: COMMAND` (GitHub), or the items of a list (GitLab).
STEPS = {"yaml github": r"^ +- run: (.*\n)", "yaml gitlab": r"^    - (.*\n)"}


def commands(page):
    """(line, command) of a page, in order."""
    for line, kind, text in fences(page):
        for one in statements(text) if kind == "sh" else re.findall(STEPS[kind], text, re.M) if kind in STEPS else []:
            yield line, one


def examples():
    """(command of ddiperf, example) of all helps."""
    for command in re.findall(r"^  (\w+)  +", execute([binary(), "--help"])[1], re.M):
        if command != "as":
            _, _, text = execute([binary(), command, "--help"])[1].partition("\nexample")
            lines = re.findall(r"^  (ddiperf .*?)(?:   .*)?$", text, re.M)
            assert lines, f"no example in ddiperf {command} --help"
            yield from ((command, line) for line in lines)


@test
def every_command_runs():
    with tempfile.TemporaryDirectory(prefix="ddiperf-docs-") as top:
        first = Path(top) / "first"
        first.mkdir()
        make_folder(first)
        environment = {**os.environ, "DDIPERF": binary(), "STEPPED": "delay=5ms", "DOCS_LAB": str(ROOT / "scripts" / "lab")}

        def run(page):
            folder = Path(top) / name_of(page).replace("/", "-")
            shutil.copytree(first, folder, symlinks=True)
            for _, kind, text in fences(page):
                if kind == "yaml" and text.startswith("run: {name: ci"):
                    (folder / "ci.yaml").write_text(text)
            for line, command in commands(page):
                yield from shell(command, folder, name_of(page, line))

        def shell(command, folder, name):
            code, out, err = execute(["bash", "-ec", command], cwd=folder, env={**environment, "PATH": str(folder / "bin")})
            if code:
                yield f"{name}: {command.strip()}\nexit code {code}\n{(out + err)[-600:]}"

        every_page(lambda page: list(run(page)))
        wrong = [text for command, line in examples() for text in shell(line, first, f"ddiperf {command} --help")]
        assert not wrong, "\n".join(wrong)


@test
def no_command_hides_in_an_unmarked_block():
    for page in PAGES:
        for line, kind, text in fences(page):
            assert kind in ("", "sh", "yaml", "c", "python", *STEPS), (name_of(page, line), kind)
            assert kind or not re.search(r"^(sudo|ddiperf|\./|scripts/|(run|ports|traffic|output|criteria): *[\n{\[])", text, re.M), name_of(page, line)


PORT = "ports: [{name: lan, driver: af_packet, device: eth1, addresses: [192.0.2.10/24, \"2001:db8::10/64\"]}]\n"
ITEM = "traffic:\n  - name: queries\n    server: 192.0.2.1\n"
LOAD = "    load: {rate: 100}\n"
DNS = "    dns: {names: [\"www.example.com A\"]}\n"
PROTOCOLS = {"dns", "dhcp4", "dhcp6", "leasequery4", "leasequery6"}
ITEM_KEYS = {"load", "timeout", "source", "server", "server_port"}
SECTIONS = {"run", "host", "ports", "traffic", "stop", "criteria", "validity", "output", "dut", "events", "hooks", "responder", "search"}


def completed(text):
    """A file of which the text is a part: sections, or a protocol or load of an item."""
    keys = set(re.findall(r"^(\w+):", text, re.M))
    if keys & (PROTOCOLS | ITEM_KEYS):
        paced = "load" in keys or re.search(r"^  life:", text, re.M)  # by a load, or by the clients
        rest = ("" if paced else LOAD) + (DNS if not keys & PROTOCOLS else "")
        text = ITEM + "".join(f"    {line}\n" for line in text.splitlines()) + rest
        text = text.replace("    server: 192.0.2.1\n", "", 1) if "server" in keys else text
    elif "traffic" not in keys and "responder" not in keys:
        text += ITEM + LOAD + DNS
    return text if "ports" in keys else PORT + text



def datagram(source, target, ports, message):
    """An Ethernet frame with a DNS message."""
    udp = struct.pack("!HHHH", *ports, 8 + len(message), 0) + message
    ip = struct.pack("!BBHIBBH4s4s", 0x45, 0, 20 + len(udp), 0, 64, 17, 0, source, target)
    ip = ip[:10] + struct.pack("!H", 0xFFFF ^ fold(ip)) + ip[12:]
    return b"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0" + ip + udp


QUESTION = b"\1a\0\0\1\0\1"
DISCOVER = b"\1\1\6\0" + bytes(24) + b"\2\0\0\0\0\1" + bytes(202) + b"\x63\x82\x53\x63\x35\1\1\xff"
CAPTURE = pcap_write([  # a query and its answer, and a DHCP client
    datagram(b"\xc0\0\2\5", b"\xc0\0\2\6", (5000, 53), b"\0\1\1\0\0\1\0\0\0\0\0\0" + QUESTION),
    datagram(b"\xc0\0\2\6", b"\xc0\0\2\5", (53, 5000), b"\0\1\x85\0\0\1\0\0\0\0\0\0" + QUESTION),
    datagram(b"\0\0\0\0", b"\xff\xff\xff\xff", (68, 67), DISCOVER),
])


def check(text):
    """What `check` says against a text; empty: nothing."""
    files = {"queries.txt": "a.example.com A\n", "tsig.key": 'key k { secret "AAAA"; };', "leases.csv": LEASES, "clients.csv": "02:00:00:00:00:01,a,b,c,192.0.2.80\n", "monday.pcapng": CAPTURE, "macs.txt": "02:00:00:00:00:01\n"}
    with config_file(completed(text)) as path:
        for name, content in files.items():
            (path.parent / name).write_bytes(content.encode() if isinstance(content, str) else content)
        code, _, err = execute([binary(), "check", path.name], cwd=path.parent)
    return "" if code == 0 else f"{text}\n{err}"


@test
def every_yaml_passes_check():
    def work(page):
        for line, kind, text in fences(page):
            if kind == "yaml" and (error := check(text)):
                yield f"{name_of(page, line)}: {error}"

    every_page(lambda page: list(work(page)))


def spans(page, beginning):
    """Code within the text; a bar is escaped in tables."""
    return {one.replace("\\|", "|") for one in re.findall(r"`([^`\n]+)`", prose(page)) if re.match(beginning, one)}


@test
def settings_in_the_text_exist():
    # A part stands without those that it needs, and capitals for a value: only a wrong name is wrong.
    def work(page):
        for span in sorted(spans(page, "(" + "|".join(SECTIONS | PROTOCOLS | ITEM_KEYS) + "): ")):
            if "..." not in span and re.search("unknown|is not one of", error := check(span + "\n")):
                yield f"{name_of(page)}: {error}"

    every_page(lambda page: list(work(page)))


@test
def names_in_the_text_exist():
    code, out, err = execute([binary(), "list", "settings", "--schema"])
    assert code == 0, err
    code, counters, err = execute([binary(), "list", "counters"])
    assert code == 0, err
    names = set(re.findall(r'"(\w+)": {', out)) | set(re.findall(r"\w+", counters)) | {"persist", "warning"}  # of Kea, and of diagnostics
    for page in PAGES:
        for span in spans(page, r"\w+: "):
            unknown = set(re.findall(r"(?:^|[{ ])(\w+): ", re.sub('".*?"', "", span))) - names
            assert not unknown, (name_of(page), span, unknown)


@test
def options_in_the_text_exist():
    helps = {}
    for page in PAGES:
        for span in spans(page, "ddiperf [a-z]"):
            words = shlex.split(span)
            for command in words[1].split("|"):
                if command not in helps:
                    code, helps[command], err = execute([binary(), command, "--help"])
                    assert code == 0 or command == "as", (name_of(page), span, err)
                known = set(re.findall(r"(?<![\w-])--?[\w-]+", helps[command]))
                assert command == "as" or {word for word in words[2:] if word[0] == "-"} <= known, (name_of(page), span)


@test
def links_lead_somewhere():
    def anchors(page):
        titles = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
        return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}

    for page in PAGES:
        for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
            if not re.match(r"https?:", link):
                path, _, anchor = link.partition("#")
                target = (page.parent / path) if path else page
                assert target.exists(), (name_of(page), link)
                assert not anchor or anchor in anchors(target), (name_of(page), link)


class Page(HTMLParser):
    """What a page of the site has: places (ids), links to others, and files that a browser loads with it."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loaded = set(), [], []
        text = path.read_text()
        self.feed(text)
        content = text.partition('role="main"')[2].partition("<footer")[0]
        self.tables, self.blocks = content.count("<table"), content.count("<pre")

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids.add(attrs.get("id"))
        if tag == "a" and "href" in attrs:
            self.links.append(attrs["href"])
        elif tag in ("script", "img", "link"):
            self.loaded += [attrs[key] for key in ("src", "href") if attrs.get(key)]


@test
def the_site_has_every_page_and_no_dead_link():
    if not shutil.which("mkdocs", path="/usr/bin"):
        skip("mkdocs is not installed: sudo scripts/deps install docs")
    contents = (ROOT / "docs" / "mkdocs.yml").read_text()
    with tempfile.TemporaryDirectory(prefix="ddiperf-docs-") as top:
        code, out, err = execute([ROOT / "scripts" / "site", "--program", binary(), top])
        assert code == 0, out + err
        pages = {path: Page(path) for path in Path(top).rglob("*.html")}
        for path, page in pages.items():
            for link in page.links + page.loaded:
                assert link not in page.loaded or "://" not in link, f"{path.name} loads {link} from another host"
                if not re.match(r"[a-z]+:", link):
                    name, _, place = link.partition("#")
                    target = (Path(top + name) if name[:1] == "/" else path.parent / unquote(name)).resolve() if name else path
                    assert target.exists(), (path, link)
                    assert not place or unquote(place) in pages[target].ids, (path, link)
        for source in PAGES[1:]:
            name = source.relative_to(ROOT / "docs")
            assert f": {name}\n" in contents, f"docs/mkdocs.yml does not have {name}"
            page = pages[Path(top) / name.with_suffix(".html").as_posix().replace("README", "index")]
            assert page.tables == len(re.findall(r"^\|[-| :]+\|$", prose(source), re.M)), f"{name}: a table is not shown as one"
            assert page.blocks == len(fences(source)), f"{name}: a block is not shown as one"


@test
def sections_of_the_measurement_model_fit_on_a_screen():
    pages = [page for page in PAGES if page.parent.name == "measurement"]
    assert pages
    for page in pages:
        for section in re.split(r"^(?=#)", page.read_text(), flags=re.M):
            assert section.count("\n") <= 45, (name_of(page), section[:60])


@test
def the_guide_has_what_perfdhcp_cannot():
    page = (ROOT / "docs" / "coming-from.md").read_text()
    table = page.split("| without effect, or refused |", 1)[1].split("\n\n", 1)[0]
    options = execute([binary(), "as", "perfdhcp", "--options"])[1]
    rows = re.findall(r"^  -(.)[^\n]*?(?:no effect|refused): (.*)", options, re.M)
    assert {letter for letter, _ in rows} == set(re.findall(r"`-(\w)", table)), (rows, table)
    for _, why in rows:
        assert why in table, why


@test
def readme_fits_on_a_screen_or_two():
    text = (ROOT / "README.md").read_text()
    assert text.count("\n") <= 120
    rates = re.findall(r"([\d.]+ [kM]) ", re.search(r"^\| rate over veth.*", text, re.M)[0])
    measured = (ROOT / "docs" / "performance.md").read_text()
    assert len(rates) == 5 and all(f"{rate}/s" in measured for rate in rates), rates


@test
def the_recording_is_text_and_its_command_exists():
    text = (ROOT / "docs" / "recording.svg").read_text()
    assert len(text) < 60_000
    title = re.search(r"<title>(.*)</title>", text)[1]
    rows = [unescape("".join(row.itertext())) for row in ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}text")]
    assert "$ " + unescape(title) in rows and any(row.startswith("PASS: ") for row in rows), rows
    code, out, err = execute([binary(), *shlex.split(unescape(title))[1:], "--dump"])
    assert code == 0, out + err


main()
