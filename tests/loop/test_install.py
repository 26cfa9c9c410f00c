#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# What `meson install` leaves on a disk: its files, pages, and completion in bash, fish and zsh, asked as a user at a keyboard
# would. In real time, for it is the real program that is installed and that the shells start.

import contextlib
import json
import os
import pty
import re
import select
import shutil
import signal
import tempfile
import time
from pathlib import Path

from harness import ROOT, binary, execute, main, skip, test

FOLDER = tempfile.TemporaryDirectory(prefix="ddiperf-install-")
PREFIX = Path(FOLDER.name) / "usr" / "local"
ENVIRONMENT = {**os.environ, "PATH": f"{PREFIX}/bin:{os.environ['PATH']}", "TERM": "dumb"}
FILE = "config/selftest.yaml"
TOOLS = ["dnsperf", "kxdpgun", "netperf", "perfdhcp", "resperf"]


def install():
    """Once, for all tests: into a folder."""
    if not PREFIX.exists():
        build = Path(binary()).resolve().parent.parent
        environment = {**os.environ, "DESTDIR": FOLDER.name}
        code, out, err = execute(["meson", "install", "-C", build, "--no-rebuild", "--quiet"], env=environment)
        assert code == 0, out + err
    return PREFIX


@test
def installed_files_are_where_others_look_for_them():
    prefix = install()
    share = prefix / "share"
    services = [f"lib/systemd/system/ddiperf{name}.service" for name in ("@", "-serve@", "-agent")]
    for path in ("share/bash-completion/completions/ddiperf", "share/zsh/site-functions/_ddiperf",
                 "share/fish/vendor_completions.d/ddiperf.fish", *services):
        assert (prefix / path).is_file(), path
    assert all("\nExecStart=/usr/local/bin/ddiperf " in (prefix / path).read_text() for path in services)
    samples = {path.name for path in (share / "ddiperf" / "config").iterdir()}
    assert samples == {path.name for path in (ROOT / "config").iterdir() if path.suffix not in (".build", ".in")}, samples
    schema = json.loads((share / "ddiperf" / "ddiperf.schema.json").read_text())
    assert "traffic" in schema["properties"]
    for path in (share / "ddiperf" / "config").glob("*.yaml"):
        named = re.match(r"# yaml-language-server: \$schema=(.*)\n", path.read_text())
        assert named and (path.parent / named[1]).is_file(), f"{path}: no schema for editors in its first line"
    tools = [line.partition("\t")[0] for line in execute([binary(), "complete", "--", "as", ""])[1].splitlines()]
    assert set(tools) > set(TOOLS), tools
    assert {path.name for path in (prefix / "bin").iterdir()} == {"ddiperf", *(f"ddiperf-{tool}" for tool in tools)}, tools
    assert all((share / "man" / "man1" / f"ddiperf{name}.1").exists() for name in ("", *(f"-{tool}" for tool in tools))), tools
    code, out, err = execute([prefix / "bin" / "ddiperf-dnsperf", "-h"])
    assert code in (0, 1) and "-Q" in out + err, (code, out, err)
    code, out, err = execute([prefix / "bin" / "ddiperf", "check", share / "ddiperf" / "config" / "dns-steady.yaml"])
    assert code == 0 and out.endswith(": ok\n"), out + err


@test
def pages_of_the_manual_say_what_the_program_does():
    pages = {path.stem: path for path in (install() / "share" / "man").glob("man*/*") if not path.is_symlink()}
    assert set(pages) == {"ddiperf", "ddiperf.yaml", "ddiperf-campaign.yaml", *(f"ddiperf-{tool}" for tool in TOOLS)}, pages
    settings = [line for options in (["settings", "--all"], ["responder"]) for line in execute([binary(), "list", *options])[1].splitlines()]
    settings_page = pages["ddiperf.yaml"].read_text().replace("\\-", "-")
    headings = re.findall(r'^\.SS "(.*)"$', settings_page, re.M)
    assert settings_page.count("\n.TP\n") + len(headings) > len(settings)
    top = {re.split(r"[\[.]", line.split()[0])[0] for line in settings if line[0].isalpha()}
    assert {re.split(r"[\[.]", heading)[0] for heading in headings} == top, (headings, top)
    in_map = re.findall(r'^\.B "(.*)"$', settings_page.partition(".SH MAP")[2].partition(".SH DESCRIPTION")[0].partition("\n.PD\n")[0], re.M)
    assert sorted(in_map) == sorted(set(headings)), (in_map, headings)
    whole = re.sub(r"\\f.", "", pages["ddiperf"].read_text()).replace(r"\-", "-")
    for command in re.findall(r"^  (\w+)  +", execute([binary(), "--help"])[1], re.M):
        assert re.search(rf"^\.BI?R? .*\b{command}\b", whole.partition(".SH COMMANDS")[2].partition(".SH OPTIONS")[0], re.M), command
        options = re.findall(r"^  (?:-\w,|   ) (--[\w-]+)", execute([binary(), command, "--help"])[1], re.M)
        assert command == "as" or all(option in whole for option in options), (command, options)
    for path in pages.values():
        assert "\n@" not in path.read_text(), path
        if shutil.which("man"):
            code, out, err = execute(["man", "--warnings", "--encoding=UTF-8", "--ditroff", "--local-file", path])
            assert code == 0 and out and not err, (path, err)


# --- completion ---


# Asked by the shell itself: readline's list of candidates, without a terminal.
BASH = r"""
. "$1"
complete -p ddiperf
COMP_LINE=$2 COMP_POINT=${#2}
compopt() { echo "option ${!#}"; }
_ddiperf "${2%% *}"
printf '%s\n' "${COMPREPLY[@]}"
"""


def bash(line):
    script = install() / "share" / "bash-completion" / "completions" / "ddiperf"
    code, out, err = execute(["bash", "-c", BASH, "bash", script, line], cwd=ROOT, env=ENVIRONMENT)
    assert code == 0 and not err and out.startswith("complete -F _ddiperf ddiperf\n"), out + err
    return out.splitlines()[1:]


@test
def bash_completes_commands_files_and_settings():
    assert bash("ddiperf ch") == ["check"]
    assert bash("ddiperf check config/self") == ["option filenames", FILE]
    assert bash("ddiperf run --j") == ["--json"]
    assert bash(f"ddiperf run {FILE} --set ports.tester.dri") == ["option nospace", "ports.tester.driver="]
    assert bash("ddiperf-dnsperf -Q") == ["-Q"] and bash("ddiperf as dnsperf -Q") == ["-Q"]
    # bash has parted the word at "=".
    assert bash(f"ddiperf run {FILE} --set ports.tester.driver=af_") == ["af_xdp", "af_packet"]


@test
def fish_completes_commands_files_and_settings():
    if not shutil.which("fish"):
        skip("fish is not installed: sudo ./scripts/deps install test")

    def complete(line):
        script = install() / "share" / "fish" / "vendor_completions.d" / "ddiperf.fish"
        command = ["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"]
        code, out, err = execute(command, cwd=ROOT, env={**ENVIRONMENT, "HOME": FOLDER.name})
        assert code == 0 and not err, out + err
        return [one.partition("\t")[0] for one in out.splitlines()]

    assert complete("ddiperf resp") == ["respond"]
    assert complete("ddiperf check config/selft") == [FILE]
    assert complete("ddiperf run --j") == ["--json"]
    assert complete(f"ddiperf run {FILE} --set ports.tester.dri") == ["ports.tester.driver="]
    assert complete("ddiperf-dnsperf -Q") == ["-Q"] and complete("ddiperf as dnsp") == ["dnsperf"]


SHOW = r"""show() { zle -I; print -r -- "line<$BUFFER>"; BUFFER= }; zle -N show; bindkey "^T" show"""


class Zsh:
    """A zsh at a terminal, with the completion of the installation. Control-T shows the line and begins anew."""

    def __enter__(self):
        functions = install() / "share" / "zsh" / "site-functions"
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(ROOT)
            os.execvpe("zsh", ["zsh", "-f", "-i"], {**ENVIRONMENT, "COLUMNS": "200", "PS1": "> "})
        os.write(self.terminal, f"fpath=({functions} $fpath); autoload -U compinit; compinit -u -D; {SHOW}\n".encode())
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)

    def complete(self, line):
        """The line after a tabulator, and all that was printed."""
        os.write(self.terminal, line.encode() + b"\t\x14")
        seen, end = "", time.monotonic() + 20
        while not (found := re.search(r"line<([^>$]*)>", seen)):
            assert time.monotonic() < end, seen
            if select.select([self.terminal], [], [], 0.1)[0]:
                seen += os.read(self.terminal, 4096).decode(errors="replace")
        return found[1], seen


@test
def zsh_completes_commands_files_and_settings():
    if not shutil.which("zsh"):
        skip("zsh is not installed: sudo ./scripts/deps install test")
    with Zsh() as zsh:
        assert zsh.complete("ddiperf resp")[0] == "ddiperf respond "
        assert zsh.complete("ddiperf-dnsperf -Q")[0] == "ddiperf-dnsperf -Q "
        assert zsh.complete("ddiperf check config/selft")[0] == f"ddiperf check {FILE} "
        assert zsh.complete("ddiperf run --set ports[0].drive")[0] == r"ddiperf run --set ports\[0\].driver="
        line, seen = zsh.complete(f"ddiperf run {FILE} --set traffic.queries.load.ra")
        assert line.endswith("load.ra") and "load.rate=  open loop: transactions per second" in seen, seen


main()
