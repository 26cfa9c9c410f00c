#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# The jobs of docs/ci.md, with the action and the template of scripts/ci: their steps run as a runner would run them, in
# a checkout with the file of the page, against a real server. The cache has the program under test, as after a first
# job; the nightly test begins without it, so it is built. In real time, as it runs processes.

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import yaml

from harness import ROOT, binary, execute, main, nightly, test, timing
from loop import free_port
from serving import quick

PAGE = (ROOT / "docs" / "ci.md").read_text()
CI = ROOT / "scripts" / "ci"
FILES = ["page.html", "result.json", "runs.jsonl", "verdict.xml"]


def block(kind):
    [text] = re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.M | re.S)
    assert text.count("\n") <= 10, text
    return yaml.safe_load(text)


def snapshot(folder):
    """The files of this tree, as an action or a clone has them."""
    git = ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), "ls-files", "-coz", "--exclude-standard"]
    for name in filter(None, subprocess.run(git, stdout=subprocess.PIPE, text=True, check=True).stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)


class Job:
    """Of one job after the other: the checkout is new, caches stay."""

    def __init__(self, folder):
        self.folder, self.caches, self.log = folder, folder / "caches", ""
        self.checkout, self.temp = folder / "work", folder / "temp"
        self.caches.mkdir()

    def cache(self, key, script=f'exec {binary()} "$@"'):
        """A folder with the program under test, or with another one."""
        folder = self.caches / key
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "ddiperf").write_text(f"#!/bin/sh\n{script}\n")
        (folder / "ddiperf").chmod(0o755)

    @contextlib.contextmanager
    def begun(self, rcode="NOERROR"):
        """With a checkout, in which ./start-my-server starts one in the background."""
        port = free_port()
        for folder in (self.checkout, self.temp):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        [text] = [one for one in re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.M | re.S) if "name: ci" in one]
        (self.checkout / "ci.yaml").write_text(text.replace("5300", str(port)).replace("3s", "1s"))
        (self.checkout / "respond.yaml").write_text(json.dumps({
            "ports": [{"name": "far", "driver": "socket", "addresses": ["127.0.0.1/8"]}], "responder": {"server_port": port, "dns": {"rcode": rcode}}}))
        server = self.checkout / "start-my-server"
        server.write_text(f"""#!/bin/bash
[ "$*" = "--port 5300" ] || exit 1
exec 2>server.log {{line}}< <(echo $BASHPID >server.pid && exec setsid {binary()} respond respond.yaml)
read -r -u $line
""")
        server.chmod(0o755)
        try:
            yield self
        finally:
            if (pid := self.checkout / "server.pid").exists():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid.read_text()), signal.SIGKILL)

    def shell(self, script, env, shell="bash -eo pipefail"):
        environment = {name: os.environ[name] for name in ("PATH", "HOME", "ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS") if name in os.environ}
        path = self.temp / "script"
        path.write_text(script)
        code, out, err = execute([*shell.split(), str(path)], timeout=900, cwd=self.checkout, env={**environment, **env})
        self.log += out + err
        return code

    def restore(self, path, *keys):
        for key in keys:
            found = sorted(one for one in self.caches.glob(f"{key}*"))
            if found:
                path.parent.mkdir(parents=True, exist_ok=True)
                (shutil.copytree if found[-1].is_dir() else shutil.copy)(found[-1], path)
                return

    def save(self, path, key):
        if path.exists() and not (self.caches / key).exists():
            (shutil.copytree if path.is_dir() else shutil.copy)(path, self.caches / key)


# --- a runner of GitHub, as far as these steps need one ---


class GitHub(Job):
    """built: the cache has the program."""

    def __init__(self, folder, built):
        super().__init__(folder)
        self.number, self.source = 0, ROOT if built else folder / "actions" / "ddiperf"
        if built:
            self.cache(execute([str(CI / "ddiperf-ci"), "key"])[1].strip().removeprefix("key="))
        else:
            snapshot(self.source)

    def run(self, inputs=None):
        """The job of the page: its exit code and the artifact."""
        workflow = block("yaml github")
        [job] = workflow["jobs"].values()
        assert re.fullmatch(r"debian:1[23]", job["container"])
        self.number, self.log, self.artifact = self.number + 1, "", None
        self.env = {"RUNNER_TEMP": str(self.temp), "GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(self.temp / "summary"), "GITHUB_OUTPUT": str(self.temp / "output"), "GITHUB_PATH": str(self.temp / "path")}
        code, after = 0, []
        for step in job["steps"]:
            if "run" in step:
                code = code or self.shell(step["run"], self.env, "sh -e")
            elif found := re.fullmatch(r"OWNER/ddiperf/(\S+)@TAG", step["uses"]):
                code = code or self.composite(self.source / found[1], {**step["with"], **(inputs or {})}, after)
            else:
                assert step["uses"] == "actions/checkout@v4", step
        for one in reversed(after):
            one() if code == 0 else None  # actions/cache saves if the job succeeds
        return code

    def composite(self, folder, given, after):
        action = yaml.safe_load((folder / "action.yml").read_text())
        inputs = {name: given.get(name, one.get("default")) for name, one in action["inputs"].items()}
        assert set(given) <= set(inputs) and None not in inputs.values(), given
        known = {**{f"inputs.{name}": value for name, value in inputs.items()}, "github.run_id": str(self.number), "github.run_attempt": "1"}
        failed = 0

        def value(text):
            return re.sub(r"\$\{\{ (\S+) \}\}", lambda one: known[one[1]], text)

        for step in action["runs"]["steps"]:
            if failed and step.get("if") != "always()":
                continue
            options = {name: value(str(text)) for name, text in step.get("with", {}).items()}
            if "run" in step:
                assert step["shell"] == "bash" and "${{" not in step["run"]
                env = {**self.env, "GITHUB_ACTION_PATH": str(folder), **{name: value(text) for name, text in step.get("env", {}).items()}}
                if Path(self.env["GITHUB_PATH"]).exists():
                    env["PATH"] = ":".join([*Path(self.env["GITHUB_PATH"]).read_text().split(), os.environ["PATH"]])
                failed = self.shell(step["run"], env) or failed
                output = Path(self.env["GITHUB_OUTPUT"])
                for line in output.read_text().splitlines() if output.exists() else ():
                    name, _, text = line.partition("=")
                    known[f"steps.{step.get('id')}.outputs.{name}"] = text
                output.unlink(missing_ok=True)
                continue
            path = self.checkout / options["path"]
            kind, _, version = step["uses"].partition("@")
            assert version == "v4", step
            if kind == "actions/cache":
                self.restore(path, options["key"])
                after.append(lambda path=path, key=options["key"]: self.save(path, key))
            elif kind == "actions/cache/restore":
                self.restore(path, options["key"], options["restore-keys"])
            elif kind == "actions/cache/save":
                self.save(path, options["key"])
            else:
                assert kind == "actions/upload-artifact" and step["if"] == "always()", step
                self.artifact = options["name"], {one.name: one.read_text() for one in path.iterdir()}
        return failed


# --- and of GitLab ---


class GitLab(Job):
    """built: as above."""

    def __init__(self, folder, built):
        super().__init__(folder)
        self.source = folder / "repository"
        snapshot(self.source)
        git = ["git", "-C", str(self.source), "-c", "user.name=x", "-c", "user.email=x@example.com"]
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"], ["tag", "v1"]):
            assert execute([*git, *words])[0] == 0
        if built:
            self.cache("ddiperf-v1")

    def run(self, **more):
        document, template = block("yaml gitlab"), yaml.safe_load((CI / "gitlab.yml").read_text())
        assert document["include"]["remote"].endswith("/TAG/scripts/ci/gitlab.yml")
        job = {**template[document["load"]["extends"]], **document["load"]}
        assert set(document["variables"]) <= set(job["variables"]) and re.fullmatch(r"debian:1[23]", job["image"])
        variables = {"DDIPERF_REPOSITORY": f"file://{self.source}", "DDIPERF_VERSION": "v1", "CI_JOB_NAME_SLUG": "load", **more}
        assert set(document["variables"]) <= set(variables)
        self.log = ""
        caches = [(self.checkout / one["paths"][0], re.sub(r"\$(\w+)", lambda name: variables[name[1]], one["key"]), one.get("when")) for one in job["cache"]]
        for path, key, _ in caches:
            self.restore(path, key)
        code = self.shell("\n".join([*job["before_script"], *job["script"]]), variables)
        for path, key, when in caches:
            if code == 0 or when == "always":
                shutil.rmtree(self.caches / key, ignore_errors=True) if path.is_dir() else (self.caches / key).unlink(missing_ok=True)
                self.save(path, key)
        [folder] = job["artifacts"]["paths"]
        self.artifact = job["artifacts"]["reports"]["junit"], {one.name: one.read_text() for one in (self.checkout / folder).iterdir()} if (self.checkout / folder).exists() else {}
        return code


def check_jobs(kind, built):
    """One that passes, one that does not, and their history."""
    with tempfile.TemporaryDirectory(prefix="ddiperf-ci-") as top:
        runner = kind(Path(top), built)
        for count, (rcode, wanted) in enumerate([("NOERROR", 0), ("SERVFAIL", 1)], 1):
            with runner.begun(rcode):
                code = runner.run()
            timing(code != 5, runner.log)
            assert code == wanted, (code, runner.log)
            assert built == ("build-release" not in runner.log) or count == 2, runner.log
            name, files = runner.artifact
            assert name.startswith("ddiperf-result") and sorted(files) == FILES, (name, list(files))
            assert ("<failure" in files["verdict.xml"]) == (wanted == 1) and json.loads(files["result.json"])["verdict"]["exit_code"] == wanted
            assert files["runs.jsonl"].count("\n") == count, files["runs.jsonl"]
            if kind is GitHub:
                assert "dns.rcode.SERVFAIL == 0" in (runner.temp / "summary").read_text()
        with runner.begun():
            (runner.checkout / "ci.yaml").write_text("run: {}\n")
            code = runner.run()
        assert code == 2 and "ci.yaml:1:1: ports: is missing" in runner.log, (code, runner.log)


@test
def the_job_for_github_runs_its_file_and_keeps_its_history():
    check_jobs(GitHub, True)


@test
def the_job_for_gitlab_runs_its_file_and_keeps_its_history():
    check_jobs(GitLab, True)


@nightly
def the_job_for_github_builds_what_it_runs():
    check_jobs(GitHub, False)


@nightly
def the_job_for_gitlab_builds_what_it_runs():
    check_jobs(GitLab, False)


@test
def a_command_line_of_the_action_keeps_its_words():
    with tempfile.TemporaryDirectory(prefix="ddiperf-ci-") as top:
        runner = GitHub(Path(top), True)
        [cached] = runner.caches.iterdir()
        runner.cache(cached.name, '[ "$1" = --version ] || for word; do echo "<$word>"; done')
        with runner.begun():
            assert runner.run({"command": "dns ::1 -C 'loss <= 1%'  -C \"p99 <= $HOME `id`\"", "name": "other"}) == 0, runner.log
        assert runner.log.endswith("<dns>\n<::1>\n<-C>\n<loss <= 1%>\n<-C>\n<p99 <= $HOME `id`>\n<--json>\n<other/result.json>\n"), runner.log


@test
def a_result_that_is_worse_than_its_history_fails_if_that_is_wanted():
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "quick.yaml").write_text(quick("200ms"))
        Path(folder, "ddiperf").symlink_to(binary())

        def gate(**more):
            code, out, err = execute([str(CI / "ddiperf-ci"), "run", "quick.yaml", "--quiet"], cwd=folder, env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", **more})
            return code, out + err

        for before in range(3):  # a fourth of them would be judged by how busy the box is
            code, said = gate(DDIPERF_COMPARE="true")
            assert code == 0 and ("at least 3 are needed" in said) == (before > 0), said
        history = Path(folder, "ddiperf-result", "runs.jsonl")
        better = [json.loads(line) for line in history.read_text().splitlines()]
        for one in better:
            for figures in one["traffic"]:
                figures["answered_per_s"] *= 100
        history.write_text("".join(json.dumps(one) + "\n" for one in better))
        code, said = gate(DDIPERF_COMPARE="true")
        assert code == 1 and "answered_per_s" in said, said
        assert gate()[0] == 0 and history.read_text().count("\n") == 5


main()
