#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# How runs end that are ended from outside, as any user, on a full disk; and that nothing is left. In real time, as signals,
# processes, mounts and privileges are the kernel's.

import contextlib
import ctypes
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from harness import (
    EXIT, ROOT, Result, binary, check_ledger, config_file, ddiperf, execute, kill, main, nightly, need_root, skip, start, test,
    timing,
)
from loop import item, ring, unanswered

LEFT = ("/run/ddiperf", "/run/dpdk", "/var/run/dpdk", "/tmp/dpdk", "/tmp/ddiperf-[0-9]*", "/dev/hugepages/*map_*")
CLONE_NEWNS = 0x20000
ENDS_S = 20  # on any box


def own_places():
    """A /run and pages of this program's own: tests beside it kill runs, and what those leave is theirs. Without privilege
    no run of another user writes where this one's do."""
    if os.geteuid() == 0:
        if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS):
            raise OSError(ctypes.get_errno(), "unshare")
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        subprocess.run(["mount", "-t", "tmpfs", "own", "/run"], check=True)
        if os.path.ismount("/dev/hugepages"):
            subprocess.run(["mount", "-t", "hugetlbfs", "own", "/dev/hugepages"], check=True)


def lives(path):
    """Does it belong to a run that is running? Other tests run at the same time."""
    owner = re.search(r"/(?:eal-|draft-|run-|hugepages/ddiperf-)(\d+)", path)
    return owner and Path("/proc", owner[1]).exists()


def places():
    """What runs of this program and of DPDK have left behind, and what is in use."""
    patterns = [*LEFT, os.path.join(os.environ.get("XDG_RUNTIME_DIR", "/nonexistent"), "d[dp]*")]
    tops = [top for pattern in patterns for top in glob.glob(pattern)]
    found = {*tops, *(path.rstrip("/") for top in tops for path in glob.glob(top + "/**", recursive=True))}
    in_use = {path for path in found if lives(path)}
    folders = {str(folder) for path in in_use for folder in Path(path).parents}
    return {path for path in found - in_use - folders if os.path.lexists(path)}


def left(before):
    """What is in those places for good and was not before: tests beside this one come and go there."""
    end = time.monotonic() + 20
    while (found := places() - before) and time.monotonic() < end:
        time.sleep(0.05)
    return found


class Running:
    """A run in the background, past its first interval; result after the block, which may take ENDS_S of the 30 or 60 s that
    the run would take."""

    def __init__(self, text):
        self.text, self.result = text, None

    def __enter__(self):
        self.stack = contextlib.ExitStack()
        path = self.stack.enter_context(config_file(self.text))
        self.out = path.parent / "result.json"
        self.process = start([binary(), "run", str(path), "--json", str(self.out)])
        self.head = ""
        for line in self.process.stdout:
            self.head += line
            if " s  " in line:
                break
        return self

    def signal(self, number):
        self.process.send_signal(number)
        return time.monotonic()

    def __exit__(self, *_):
        try:
            out, err = self.process.communicate(timeout=ENDS_S)
        except BaseException:
            kill(self.process)
            self.process.communicate()
            raise
        finally:
            document = json.loads(self.out.read_text()) if self.out.exists() else None
            self.stack.close()
        self.result = Result(self.process.returncode, document, self.head + out, err)


LONG = {"duration": "60s"}


@test
def the_first_signal_ends_the_run_with_its_full_report():
    for number in (signal.SIGINT, signal.SIGTERM):
        with Running(ring(run=LONG)) as running:
            running.signal(number)
        result = running.result
        assert result.code == EXIT["interrupted"], result
        verdict = result.json["verdict"]
        assert verdict["status"] == "interrupted" and verdict["exit_code"] == EXIT["interrupted"], verdict
        one = result.item("queries")
        check_ledger(one)
        assert one["sent"] == one["answered"] > 0, one
        assert 0 < result.json["run"]["measured_s"] < 30, result.json["run"]
        assert "INTERRUPTED" in result.stdout.splitlines()[-1], result


@test
def what_is_in_flight_is_waited_for_after_the_first_signal_but_not_the_second():
    with tempfile.TemporaryDirectory() as folder:
        with Running(unanswered(Path(folder), "1s")) as running:
            sent = running.signal(signal.SIGINT)
        took = time.monotonic() - sent
        assert took > 0.7, took
        result = running.result
        one = result.item("queries")
        check_ledger(one)
        assert result.code == EXIT["interrupted"] and one["lost"] == one["sent"] > 0, one
    with tempfile.TemporaryDirectory() as folder:
        with Running(unanswered(Path(folder))) as running:
            running.signal(signal.SIGINT)
            time.sleep(0.5)
            assert running.process.poll() is None, "the first one waits for 30 s"
            running.signal(signal.SIGINT)
        result = running.result
        assert result.code == EXIT["interrupted"], result
        one = result.item("queries")
        assert one["in_flight"] == one["sent"] > 0 and one["due"] == one["sent"] + one["unsent"], one
        assert "INTERRUPTED" in result.stdout, result


@nightly
def the_third_signal_ends_a_program_that_hangs():
    for hook in ("start", "stop"):
        with config_file(ring(run={"duration": "100ms"}, hooks={hook: "sleep 9"})) as path:
            out = path.parent / "result.json"
            process = start([binary(), "run", str(path), "--json", str(out)])
            time.sleep(3)
            for _ in range(3):
                sent = time.monotonic()
                process.send_signal(signal.SIGINT)
                time.sleep(0.3)
            try:
                process.wait(timeout=8)
                timing(time.monotonic() - sent < 3, "it took too long")
            finally:
                kill(process)
                process.stdout.close()  # the hook has the other end
                process.stderr.close()
            assert process.returncode == EXIT["interrupted"], (hook, process.returncode)
            if out.exists() and out.stat().st_size:
                json.loads(out.read_text())


@nightly
def a_kill_while_the_result_is_written_leaves_the_earlier_one():
    """Killed as soon as its draft is there, again and again: the file is the earlier result or the whole new one."""
    caught = 0
    with config_file(ring(run={"duration": "1s", "interval": "10ms"})) as path:
        out = path.parent / "result.json"

        def drafts():
            return {entry.name for entry in path.parent.iterdir()} - {path.name, out.name}

        for n in range(6):
            earlier = json.dumps({"earlier": n})
            out.write_text(earlier)
            process = start([binary(), "run", str(path), "--json", str(out), "--quiet"])
            time.sleep(1)  # the draft of the check before the run is gone
            while process.poll() is None and not drafts():
                pass
            process.kill()
            process.communicate()
            left = out.read_text()
            if drafts():
                assert process.returncode == -signal.SIGKILL and left == earlier, (process.returncode, left[:200])
                caught += 1
            else:
                assert len(json.loads(left)["intervals"]) > 1, left[:200]
            for name in drafts():
                (path.parent / name).unlink()
    timing(caught > 0, "it was never killed in time")


@test
def a_disk_that_is_full_at_the_end_leaves_the_earlier_result():
    need_root()
    with config_file(ring(run={"duration": "1s", "interval": "10ms"})) as path:
        disk = path.parent / "disk"
        disk.mkdir()
        script = f"""mount -t tmpfs -o size=20k ddiperf-test {disk} && echo '"earlier"' > {disk}/out.json &&
            {binary()} run {path} --json {disk}/out.json; echo "code $?"; ls {disk}; cat {disk}/out.json"""
        code, out, err = execute(["unshare", "--mount", "--propagation", "private", "sh", "-c", script], env={**os.environ, "TMPDIR": str(path.parent)})
        assert code == 0 and out.endswith('code 3\nout.json\n"earlier"\n'), (code, out[-600:], err)
        assert f"{disk}/out.json: No space left on device" in err, err
        # Nothing is lost: it is where there is room, with all of its intervals.
        found = re.search(r"the result is in (\S+) instead", err)
        document = json.loads(Path(found[1]).read_text())
        check_ledger(document["traffic"][0])
        sent = [one["traffic"][0]["sent"] for one in document["intervals"]]
        assert len(sent) > 1 and sum(sent) == document["traffic"][0]["sent"], (sent, err)


@test
def a_read_only_disk_is_the_boxs_doing():
    need_root()
    with config_file(ring()) as path:
        script = f"mount -t tmpfs -o ro ddiperf-test {path.parent}/disk && {binary()} run {path} --json {path.parent}/disk/out.json"
        (path.parent / "disk").mkdir()
        code, out, err = execute(["unshare", "--mount", "--propagation", "private", "sh", "-c", script])
    assert code == EXIT["environment"] and "Read-only file system" in err, (code, out, err)


@test
def runs_leave_nothing_behind_however_they_end():
    before = places()
    ddiperf(ring())
    ddiperf(ring(item(server="198.18.0.9")))
    ddiperf(ring(tester={"cpus": [4000]}))
    ddiperf(ring(), "--set", "run.duration=1")
    ddiperf(ring(), command="check")
    ddiperf(ring(), command="doctor")
    with Running(ring(run=LONG)) as running:
        running.signal(signal.SIGINT)
        running.signal(signal.SIGINT)
    assert not (found := left(before)), found
    # What a killed run leaves the next one removes.
    with Running(ring(run=LONG)) as running:
        running.signal(signal.SIGKILL)
    assert running.result.code == -signal.SIGKILL
    assert ddiperf(ring()).code == 0
    assert not (found := left(before)), found


@test
def two_runs_at_once_do_not_know_of_each_other():
    with Running(ring(run={"duration": "3s"})) as first:
        second = ddiperf(ring())
    for result in (first.result, second):
        assert result.code == 0 and result.item("queries")["lost"] == 0, result


# --- without privilege ------------------------------------------------------------------------------------------


@contextlib.contextmanager
def nobody():
    """Yields a function that runs the binary as nobody, on a file, from a folder that everybody may read."""
    need_root()
    if not shutil.which("setpriv"):
        skip("setpriv is not installed")
    with tempfile.TemporaryDirectory(prefix="ddiperf-nobody-") as name:
        folder = Path(name)
        shutil.copy(binary(), folder / "ddiperf")
        folder.chmod(0o755)
        (folder / "ddiperf").chmod(0o755)
        (folder / "own").mkdir()
        shutil.chown(folder / "own", 65534, 65534)

        def run(text, *options, runtime=None):
            path = folder / "test.yaml"
            path.write_text(text)
            path.chmod(0o644)
            environment = {key: value for key, value in os.environ.items() if key != "XDG_RUNTIME_DIR"}
            environment |= {"XDG_RUNTIME_DIR": str(folder / "own")} if runtime else {}
            argv = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all"]
            argv += ["--inh-caps=-all", str(folder / "ddiperf"), "run", str(path), *options]
            code, out, err = execute(argv, env=environment, cwd="/")
            return Result(code, None, out, err)

        run.folder = folder
        yield run


@test
def any_user_may_run_the_selftest_and_is_told_which_capability_a_driver_needs():
    before = places()
    with nobody() as run:
        text = (ROOT / "config" / "selftest.yaml").read_text()
        for runtime in (False, True):
            settings = ("run.warmup=0s", "traffic.queries.load.total=1k", "validity.send_lag_p99=1h", "validity.stolen=100%")
            result = run(text, *(f"--set={setting}" for setting in settings), runtime=runtime)
            assert result.code == 0 and "PASS: 1 000 requests sent, all answered" in result.stdout, result
        assert not list((run.folder / "own").iterdir()), list((run.folder / "own").iterdir())
        for driver in ("af_packet", "pcap", "af_xdp", "tap"):
            result = run(json.dumps({
                "ports": [{"name": "lan", "driver": driver, "device": "veth9", "addresses": ["198.18.0.1/24"]}],
                "traffic": [item()],
            }))
            assert result.code == EXIT["environment"], result
            assert "CAP_NET_" in result.stderr and "setcap" in result.stderr, result
    assert not (found := left(before)), found


own_places()
main()
