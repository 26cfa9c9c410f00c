#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Services, the package, the image and the Job: what they run, with which rights. Their files on a disk:
# tests/loop/test_install.py.

import json
import re
import shutil
import tempfile
from pathlib import Path

import yaml

from harness import EXIT, ROOT, binary, ddiperf, execute, main, skip, test


def service(name):
    """Its text, and the last of each setting."""
    text = (Path(binary()).parents[2] / "config" / f"{name}.service").read_text()
    return text, dict(re.findall(r"^(\w+)=(.*)", text, re.M))


@test
def the_service_needs_no_root():
    _, settings = service("ddiperf@")
    assert settings["ExecStart"].endswith("/bin/ddiperf run --json %S/ddiperf/%i/result.json %E/ddiperf/%i.yaml"), settings
    assert settings["DynamicUser"] == settings["NoNewPrivileges"] == "yes" and "User" not in settings
    assert settings["AmbientCapabilities"] == settings["CapabilityBoundingSet"] == "CAP_NET_RAW CAP_NET_ADMIN CAP_IPC_LOCK"
    assert settings["KillSignal"] == "SIGINT" and settings["SuccessExitStatus"] == "130", settings


@test
def the_service_of_an_agent_has_the_rights_of_ports_and_no_more():
    _, settings = service("ddiperf-agent")
    assert settings["CapabilityBoundingSet"] == "CAP_NET_RAW CAP_NET_ADMIN CAP_IPC_LOCK" and settings["NoNewPrivileges"] == "yes"
    named = set(re.findall(r"\$\{?(\w+)", settings["ExecStart"]))
    sample = (ROOT / "config" / "agent.env").read_text()
    assert named == set(re.findall(r"^#?(\w+)=", sample, re.M)) == {"NATS_URL", "NAME", "LABELS", "OPTIONS"}, (named, sample)


@test
def a_purge_leaves_nothing_of_the_services():
    postrm = (ROOT / "debian" / "postrm").read_text()
    removed = set(re.findall(r"/var/lib/\S+", postrm[postrm.index("purge"):]))
    for unit in (ROOT / "config").glob("*.service.in"):
        _, settings = service(unit.name.removesuffix(".service.in"))
        state = settings["StateDirectory"].partition("/")[0]
        places = {f"/var/lib/{state}"} | ({f"/var/lib/private/{state}"} if "DynamicUser" in settings else set())
        assert places <= removed, (unit, places - removed)


@test
def systemd_understands_the_services():
    if not shutil.which("systemd-analyze"):
        skip("systemd-analyze is not installed: sudo ./scripts/deps install test")
    for name, instance in ("ddiperf@", "dns"), ("ddiperf-serve@", "8080"), ("ddiperf-agent", ""):
        with tempfile.TemporaryDirectory() as folder:
            # A program and a page that are there, for it looks for both.
            text = re.sub(r"^ExecStart=\S+", f"ExecStart={binary()}", service(name)[0], flags=re.M)
            unit = Path(folder) / f"{name}{instance}.service"
            unit.write_text(re.sub(r"^Documentation=.*\n", "", text, flags=re.M))
            code, out, err = execute(["systemd-analyze", "verify", "--man=no", unit])
            about = [line for line in (out + err).split("\n") if "ddiperf" in line]
            assert code == 0 and not about, about
            code, out, err = execute(["systemd-analyze", "security", "--offline=yes", "--threshold=30", "--no-pager", unit])
            assert code == 0, out + err


@test
def the_package_has_the_version_of_the_program():
    version = re.match(r"ddiperf \((.*)\) ", (ROOT / "debian" / "changelog").read_text())[1]
    assert execute([binary(), "--version"])[1] == f"ddiperf {version}\n", version


@test
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
    assert result.code == EXIT["pass"] and result.item("queries")["answered"] == 15000, result
    result = ddiperf(files["data"][name], "--set", "criteria=[answered <= 1]", command=command)
    assert result.code == EXIT["fail"], result


@test
def the_image_runs_the_self_test_as_nobody():
    text = (ROOT / "Containerfile").read_text()
    steps = [line.split(" ", 1) for line in text.split("\n") if re.match("[A-Z]+ ", line)]
    last = {name: value for name, value in steps}
    assert [value for name, value in steps if name == "FROM"] == ["${BASE} AS build", "${BASE}"], steps
    assert last["USER"] == "65534:65534" and json.loads(last["ENTRYPOINT"]) == ["ddiperf"], last
    command, path = json.loads(last["CMD"])
    assert command == "run" and (ROOT / path.removeprefix("/usr/share/ddiperf/")).is_file(), last


main()
