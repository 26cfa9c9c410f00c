#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Drivers without a wire between namespaces, each under load with a second process of ours at the far end: memif,
# virtio_user and tap. And each driver of the wire as a user who has its capabilities and no others.

import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from harness import EXIT, Result, binary, check_ledger, config_file, ddiperf, execute, kill, main, start, test, until
from live import check_untouched, config, item, lab

# No time is asserted, so nothing that a busy machine changes: few queries at once, each with time enough for any answer.
COUNT = 2000
RUN = {"duration": "60s"}
TESTER, DUT = {"cpus": [1], "addresses": ["198.18.0.1/24"]}, {"cpus": [0], "addresses": ["198.18.0.2/24"]}
# DPDK 22.11 unmaps the memory of a memif peer that goes away, from its interrupt thread, while the worker reads it. On one
# CPU that thread interrupts the worker; so each process keeps it away from its worker.
NEAR, FAR = {"management_cpu": 0}, {"management_cpu": 1}
LOAD = {"load": {"outstanding": 8, "total": COUNT}, "timeout": "30s"}
# What doctor asks for; nobody has more.
CAPABILITIES = {"pcap": ("net_raw",), "af_packet": ("net_raw", "net_admin", "ipc_lock"),
                "af_xdp": ("net_raw", "net_admin", "sys_admin", "ipc_lock")}


class Responder:
    """`ddiperf respond` on a port. After the block: document, its result; None: it ended with the internal error of that text."""

    def __init__(self, port, fragile=None):
        self.fragile, self.document = fragile, None
        self.text = json.dumps({"host": FAR, "ports": [{"name": "dut", **DUT, **port}], "responder": {"port": "dut", "dns": {}}})

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            path = stack.enter_context(config_file(self.text))
            self.out = path.parent / "result.json"
            self.process = start([binary(), "respond", str(path), "--json", str(self.out)])
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


def all_answered(result, driver):
    one = result.item("queries")
    check_ledger(one)
    assert one["sent"] == one["answered"] == COUNT, result
    assert one["stray"] == one["malformed"] == one["duplicate"] == one["late"] == 0, one
    assert result.json["ports"][0]["driver"] == driver, result.json["ports"]


def two_processes(tester, dut, socket, fragile=None):
    """The tester's side starts when the socket of the other is there. Was the end of the other as it should be?"""
    with Responder(dut, fragile=fragile) as responder:
        until(lambda: os.path.exists(socket), "the responder's socket", 60)
        result = ddiperf(config(tester["driver"], item(**LOAD), run=RUN, port={**TESTER, **tester}, host=NEAR), timeout=120, invalid=True)
    all_answered(result, tester["driver"])
    if responder.document:
        theirs = responder.document["responder"]
        assert theirs["received"] == theirs["answered"] == COUNT, theirs
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


# The kernel's end of a tap device: its address as soon as the run has made the device, and an echo of DNS that waits there.
TAKE = "until ip address add 198.18.0.2/24 dev tap9 2>/dev/null; do sleep 0.02; done; ip link set tap9 up"
ECHO = """
import socket
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.setsockopt(socket.SOL_IP, 15, 1)  # IP_FREEBIND
sock.bind(("198.18.0.2", 53))
print("ready", flush=True)
while True:
    query, client = sock.recvfrom(4096)
    sock.sendto(query[:2] + bytes([query[2] | 0x80]) + query[3:], client)
"""


@test
def tap_carries_a_load_to_another_program_of_the_host():
    here = lab("none")
    echo, take = start(here.tester(sys.executable, "-c", ECHO)), start(here.tester("sh", "-c", TAKE))
    try:
        assert echo.stdout.readline() == "ready\n", echo.communicate()
        result = here.ddiperf(config("tap", item(**LOAD), run=RUN, port={**TESTER, "device": "tap9"}), timeout=120, invalid=True)
    finally:
        for process in (echo, take):
            kill(process)
            process.communicate()
    all_answered(result, "tap")
    assert execute(here.tester("ip", "link", "show", "dev", "tap9"))[0] != 0, "the interface is still there"


def as_nobody(driver):
    """The result of a run as a user with the capabilities of that driver alone."""
    with tempfile.TemporaryDirectory(prefix="ddiperf-nobody-") as name:
        folder = Path(name)
        program, file, out = (folder / name for name in ("ddiperf", "test.yaml", "out.json"))
        shutil.copy(binary(), program)
        file.write_text(config(driver, item(**LOAD), run=RUN, port={"addresses": ["198.18.0.1/24"]}))
        for path, mode in ((folder, 0o777), (program, 0o755), (file, 0o644)):
            path.chmod(mode)
        some = ",".join("+" + word for word in CAPABILITIES[driver])
        argv = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                *(f"--{kind}=-all,{some}" for kind in ("inh-caps", "ambient-caps", "bounding-set"))]
        code, text, err = execute(lab("knot").tester(*argv, str(program), "run", str(file), "--json", str(out)))
        return Result(code, json.loads(out.read_text()) if out.exists() else None, text, err, invalid=True)


def add(driver):
    def run():
        result = as_nobody(driver)
        assert result.json, result
        all_answered(result, driver)
        check_untouched()

    run.__name__ = f"a_user_with_the_capabilities_of_{driver}_alone_may_run"
    test(run)


for each in CAPABILITIES:
    add(each)


main()
