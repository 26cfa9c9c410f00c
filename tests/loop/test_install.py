#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# What `meson install` leaves on a disk: its files, the service, and completion in bash and zsh, asked as a user at a
# keyboard would.

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

import yaml

from harness import EXIT, ROOT, binary, ddiperf, execute, main, nightly, skip, test

FOLDER = tempfile.TemporaryDirectory(prefix="ddiperf-install-")
PREFIX = Path(FOLDER.name) / "usr" / "local"
ENVIRONMENT = {**os.environ, "PATH": f"{PREFIX}/bin:{os.environ['PATH']}", "TERM": "dumb"}
FILE = "config/selftest.yaml"
TOOLS = ["dnsperf", "kxdpgun", "perfdhcp", "resperf"]


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
    for path in ("bin/ddiperf", "lib/systemd/system/ddiperf@.service", "lib/systemd/system/ddiperf-serve@.service",
                 "lib/systemd/system/ddiperf-agent.service", "share/man/man1/ddiperf.1",
                 "share/bash-completion/completions/ddiperf", "share/zsh/site-functions/_ddiperf"):
        assert (prefix / path).is_file(), path
    samples = {path.name for path in (share / "ddiperf" / "config").iterdir()}
    assert samples == {path.name for path in (ROOT / "config").iterdir()} - {"meson.build", "ddiperf@.service.in", "ddiperf-agent.service.in", "ddiperf-serve@.service.in"}
    schema = json.loads((share / "ddiperf" / "ddiperf.schema.json").read_text())
    assert "traffic" in schema["properties"]
    for path in (share / "ddiperf" / "config").glob("*.yaml"):
        named = re.match(r"# yaml-language-server: \$schema=(.*)\n", path.read_text())
        assert named and (path.parent / named[1]).is_file(), f"{path}: no schema for editors in its first line"


@test
def pages_of_the_manual_say_what_the_program_does():
    pages = {path.stem: path for path in (install() / "share" / "man").glob("man*/*") if not path.is_symlink()}
    assert set(pages) == {"ddiperf", "ddiperf.yaml", "ddiperf-campaign.yaml", *(f"ddiperf-{tool}" for tool in TOOLS)}, pages
    settings = execute([binary(), "list", "settings"])[1].splitlines()
    assert pages["ddiperf.yaml"].read_text().count("\n.TP\n") > len(settings)
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


@test
def an_installed_sample_is_found_by_its_path():
    prefix = install()
    code, out, err = execute([prefix / "bin" / "ddiperf", "check", prefix / "share/ddiperf/config/dns-steady.yaml"])
    assert code == 0 and out.endswith(": ok\n"), out + err


@test
def every_tool_that_it_can_be_has_a_link():
    prefix = install()
    code, out, err = execute([binary(), "complete", "--", "as", ""])
    tools = [line.partition("\t")[0] for line in out.splitlines()]
    assert tools and [path.name for path in sorted((prefix / "bin").iterdir())] == [
        "ddiperf", *(f"ddiperf-{tool}" for tool in sorted(tools))], tools
    for tool in tools:
        assert (prefix / "share" / "man" / "man1" / f"ddiperf-{tool}.1").exists(), tool
    code, out, err = execute([prefix / "bin" / "ddiperf-dnsperf", "-h"])
    assert code in (0, 1) and "-Q" in out + err, (code, out, err)


# --- the service ---


def service(name="ddiperf@"):
    return (install() / "lib" / "systemd" / "system" / f"{name}.service").read_text()


@test
def the_service_needs_no_root():
    text = service()
    assert f"ExecStart=/usr/local/bin/ddiperf run --json %S/ddiperf/%i/result.json %E/ddiperf/%i.yaml\n" in text, text
    settings = dict(line.split("=", 1) for line in text.split("\n") if re.match(r"\w+=", line))
    assert settings["DynamicUser"] == settings["NoNewPrivileges"] == "yes" and "User" not in settings
    assert settings["AmbientCapabilities"] == settings["CapabilityBoundingSet"] == "CAP_NET_RAW CAP_NET_ADMIN CAP_IPC_LOCK"
    assert settings["KillSignal"] == "SIGINT" and settings["SuccessExitStatus"] == "130", settings


@test
def the_service_of_an_agent_has_the_rights_of_ports_and_no_more():
    settings = dict(line.split("=", 1) for line in service("ddiperf-agent").split("\n") if re.match(r"\w+=", line))
    assert settings["CapabilityBoundingSet"] == "CAP_NET_RAW CAP_NET_ADMIN CAP_IPC_LOCK" and settings["NoNewPrivileges"] == "yes"
    named = set(re.findall(r"\$\{?(\w+)", settings["ExecStart"]))
    sample = (ROOT / "config" / "agent.env").read_text()
    assert named == set(re.findall(r"^#?(\w+)=", sample, re.M)) == {"NATS_URL", "NAME", "LABELS", "OPTIONS"}, (named, sample)


@test
def systemd_understands_the_service():
    if not shutil.which("systemd-analyze"):
        skip("systemd-analyze is not installed: sudo ./scripts/deps install test")
    for name, instance in ("ddiperf@", "dns"), ("ddiperf-serve@", "8080"), ("ddiperf-agent", ""):
        with tempfile.TemporaryDirectory() as folder:
            # A program and a page that are there, for it looks for both.
            text = re.sub(r"^ExecStart=\S+", f"ExecStart={binary()}", service(name), flags=re.M)
            unit = Path(folder) / f"{name}{instance}.service"
            unit.write_text(re.sub(r"^Documentation=.*\n", "", text, flags=re.M))
            code, out, err = execute(["systemd-analyze", "verify", "--man=no", unit])
            about = [line for line in (out + err).split("\n") if "ddiperf" in line]
            assert code == 0 and not about, about
            code, out, err = execute(["systemd-analyze", "security", "--offline=yes", "--threshold=30", "--no-pager", unit])
            assert code == 0, out + err


# --- packages and containers ---


@test
def the_package_has_the_version_of_the_program():
    version = re.match(r"ddiperf \((.*)\) ", (ROOT / "debian" / "changelog").read_text())[1]
    assert execute([binary(), "--version"])[1] == f"ddiperf {version}\n", version


@nightly
def the_job_needs_no_privilege_and_its_exit_code_is_the_verdict():
    files, job = yaml.safe_load_all((ROOT / "docs" / "kubernetes-job.yaml").read_text())
    assert (files["apiVersion"], files["kind"]) == ("v1", "ConfigMap")
    assert (job["apiVersion"], job["kind"], job["spec"]["backoffLimit"]) == ("batch/v1", "Job", 0)
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["restartPolicy"] == "Never" and pod["securityContext"]["runAsNonRoot"] is True, pod
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    mounts = {volumes[mount["name"]]["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert set(mounts) == set(volumes) and volumes["files"]["configMap"] == {"name": files["metadata"]["name"]}
    command, path = container["args"]
    name = path.removeprefix(mounts["files"] + "/")
    result = ddiperf(files["data"][name], command=command)
    assert result.code == EXIT["pass"], result
    result = ddiperf(files["data"][name], "--set", "criteria=[answered <= 1]", command=command)
    assert result.code == EXIT["fail"], result


@test
def an_image_runs_the_self_test_as_nobody():
    text = (ROOT / "Containerfile").read_text()
    steps = [line.split(" ", 1) for line in text.split("\n") if re.match("[A-Z]+ ", line)]
    last = {name: value for name, value in steps}
    assert [value for name, value in steps if name == "FROM"] == ["${BASE} AS build", "${BASE}"], steps
    assert last["USER"] == "65534:65534" and json.loads(last["ENTRYPOINT"]) == ["ddiperf"], last
    command, path = json.loads(last["CMD"])
    assert command == "run" and (install() / path.removeprefix("/usr/")).is_file(), last


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
