#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Drivers without a wire between namespaces, each under load with a second process of ours at the far end: memif,
# virtio_user and tap. And each driver of the wire as a user who has its capabilities and no others.

import contextlib
import json
import os
import shutil
import signal
import tempfile
import threading
import time
from pathlib import Path

from harness import EXIT, Result, binary, calm, check_ledger, config_file, ddiperf, execute, kill, main, start, test, timing
from live import check_untouched, config, item, lab

RATE = 5000
TESTER, DUT = {"cpus": [1], "addresses": ["198.18.0.1/24"]}, {"cpus": [0], "addresses": ["198.18.0.2/24"]}
# DPDK 22.11 unmaps the memory of a memif peer that goes away, from its interrupt thread, while the worker reads it. On one
# CPU that thread interrupts the worker; so each process keeps it away from its worker.
NEAR, FAR = {"management_cpu": 0}, {"management_cpu": 1}
LOAD = {"load": {"rate": RATE}, "timeout": "2s"}
# What doctor asks for; nobody has more.
CAPABILITIES = {"pcap": ("net_raw",), "af_packet": ("net_raw", "net_admin", "ipc_lock"),
                "af_xdp": ("net_raw", "net_admin", "sys_admin", "ipc_lock")}


class Responder:
    """`ddiperf respond` on a port. After the block: document, its result; None: it ended with the internal error of that text."""

    def __init__(self, port, prefix=(), fragile=None):
        self.fragile, self.document = fragile, None
        self.text = json.dumps({"host": FAR, "ports": [{"name": "dut", **DUT, **port}], "responder": {"port": "dut", "dns": {}}})
        self.prefix = prefix

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            path = stack.enter_context(config_file(self.text))
            self.out = path.parent / "result.json"
            self.process = start([*self.prefix, binary(), "respond", str(path), "--json", str(self.out)])
            stack.callback(kill, self.process)
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        with self.stack:
            self.process.send_signal(signal.SIGINT)
            _, err = self.process.communicate(timeout=30)
            if self.fragile and self.process.returncode == EXIT["internal"] and self.fragile in err:
                return
            assert self.process.returncode == 0 and self.out.exists(), (self.process.returncode, err)
            self.document = json.loads(self.out.read_text())


def wait_for(there, seconds=20):
    """Until there() is true, or the time is over: what comes then says why."""
    end = time.monotonic() + seconds
    while not there() and time.monotonic() < end:
        time.sleep(0.05)


def check(result, document, extra=0):
    """All was answered, and both sides have counted the same."""
    one, theirs = result.item("queries"), document["responder"]
    check_ledger(one)
    assert result.code == 0, result
    if not one["sent"] == theirs["received"] == one["answered"]:  # a queue of the kernel is full after some 10 ms
        calm(result, 5)
        timing(theirs["max_gap_ns"] < 5e6, theirs)
    assert one["due"] == RATE and one["sent"] == theirs["received"] == theirs["answered"], (one, theirs)
    assert one["stray"] == one["malformed"] == one["duplicate"] == one["late"] == 0, one
    calm(result, 1000)
    assert one["answered"] == one["sent"], (one, result.json["ports"], document["ports"])


def two_processes(tester, dut, socket, fragile=None):
    """The tester's side starts when the socket of the other is there. Was the end of the other as it should be?"""
    with Responder(dut, fragile=fragile) as responder:
        wait_for(lambda: os.path.exists(socket))
        result = ddiperf(config(tester["driver"], item(**LOAD), run={"duration": "1s"}, port={**TESTER, **tester}, host=NEAR))
    if responder.document:
        check(result, responder.document)
    assert result.code == 0 and result.item("queries")["answered"] == RATE, result
    assert result.json["ports"][0]["driver"] == tester["driver"], result.json["ports"]
    return responder.document is not None


@test
def memif_carries_a_load_between_two_processes():
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        path = f"{folder}/memif.sock"
        # When its peer ends, DPDK 22.11 unmaps the shared memory in another thread than that of the worker who reads it.
        whole = two_processes({"driver": "memif", "device": f"client:{path}"},
                              {"driver": "memif", "device": f"server:{path}"}, path, fragile="internal error: Segmentation fault")
        assert not whole or not os.listdir(folder), os.listdir(folder)


@test
def virtio_user_carries_a_load_to_a_vhost_backend():
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        path = f"{folder}/vhost.sock"
        two_processes({"driver": "virtio_user", "device": path}, {"driver": "vdev", "device": f"net_vhost0,iface={path}"}, path)


@test
def tap_carries_a_load_to_another_program_of_the_host():
    here, stop = lab("none"), threading.Event()
    far = Responder({"driver": "af_packet", "device": "tap9", "force": True}, here.tester())

    def is_there():
        return execute(here.tester("ip", "link", "show", "dev", "tap9"))[0] == 0

    def answer():
        wait_for(lambda: stop.is_set() or is_there())
        execute(here.tester("sh", "-c", "echo 1 >/proc/sys/net/ipv6/conf/tap9/disable_ipv6"))
        execute(here.tester("ip", "link", "set", "tap9", "up"))
        with far:
            stop.wait(60)

    helper = threading.Thread(target=answer)
    helper.start()
    try:
        result = here.ddiperf(config("tap", item(**LOAD), run={"duration": "1s"}, port={**TESTER, "device": "tap9"}))
    finally:
        stop.set()
        helper.join()
    timing(result.code != EXIT["unreachable"], result)  # the other one starts when the interface is there, and has 3 s
    check(result, far.document)
    assert not is_there(), "the interface is still there"


def as_nobody(driver):
    """The result of a run as a user with the capabilities of that driver alone."""
    with tempfile.TemporaryDirectory(prefix="ddiperf-nobody-") as name:
        folder = Path(name)
        program, file, out = (folder / name for name in ("ddiperf", "test.yaml", "out.json"))
        shutil.copy(binary(), program)
        file.write_text(config(driver, item(**LOAD), run={"duration": "1s"}, port={"addresses": ["198.18.0.1/24"]}))
        for path, mode in ((folder, 0o777), (program, 0o755), (file, 0o644)):
            path.chmod(mode)
        some = ",".join("+" + word for word in CAPABILITIES[driver])
        argv = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                *(f"--{kind}=-all,{some}" for kind in ("inh-caps", "ambient-caps", "bounding-set"))]
        code, text, err = execute(lab("knot").tester(*argv, str(program), "run", str(file), "--json", str(out)))
        return Result(code, json.loads(out.read_text()) if out.exists() else None, text, err)


def add(driver):
    def run():
        result = as_nobody(driver)
        assert result.code == 0, result
        one = result.item("queries")
        check_ledger(one)
        assert one["due"] == RATE and one["sent"] == one["answered"] > 0, one
        check_untouched()

    run.__name__ = f"a_user_with_the_capabilities_of_{driver}_alone_may_run"
    test(run)


for each in CAPABILITIES:
    add(each)


main()
