# SPDX-License-Identifier: BSD-3-Clause
"""The far end of a wire: a veth pair whose peer turns DNS queries round in its driver (reflect_xdp.c) or above the
kernel's TCP (reflect_tcp.c), or `ddiperf respond` there. CPU 1 is the tester's, CPU 0 the server's; the XDP reflector
works where the sender is."""

import contextlib
import glob
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from measure import ROOT, Broken, Lab, folder, kill, need_root, output_of, skip, start

HERE = Path(__file__).resolve().parent
SERVER = "198.18.0.2"
TESTER = "198.18.0.1"


def compile_reflector(where):
    """The BPF object, or a reason to skip."""
    names = "clang", output_of(ROOT / "scripts" / "deps", "clang").strip()
    clang = next((name for name in names if shutil.which(name)), None)
    if clang is None:
        skip("no clang to compile for BPF (scripts/deps install bench)")
    headers = [f"-I{path}" for path in glob.glob("/usr/include/*-linux-gnu")]
    out = Path(where, "reflect.o")
    done = subprocess.run([clang, "-O2", "-g", "-target", "bpf", *headers, "-c", str(HERE / "reflect_xdp.c"), "-o", str(out)],
                          capture_output=True, text=True)
    if done.returncode:
        skip(f"reflect_xdp.c does not compile (scripts/deps install bench): {done.stderr.strip().splitlines()[0]}")
    return out


class Wire:
    """A lab without a server, and what is done to its two ends."""

    def __init__(self, lab, program):
        self.lab, self.program = lab, program

    def must(self, *words):
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            raise Broken(f"{' '.join(words)}: {done.stderr.strip()}")

    def attach(self, prefix, device, section, mode="xdpdrv"):
        """Instead of what is there."""
        self.detach(prefix, device)
        self.must(*prefix, "ip", "link", "set", "dev", device, mode, "obj", str(self.program), "sec", section)

    @staticmethod
    def detach(prefix, device):
        for mode in ("xdpdrv", "xdpgeneric"):
            subprocess.run([*prefix, "ip", "link", "set", "dev", device, mode, "off"], capture_output=True)

    @contextlib.contextmanager
    def threaded(self, *ends):
        """NAPI of these ends, (prefix, device) each, on kernel threads of their own, which get CPU 0. An end of a veth
        pair has NAPI with GRO or with an XDP program, and keeps the setting as long."""
        try:
            for prefix, device in ends:
                self.must(*prefix, "ethtool", "-K", device, "gro", "on")
                self.must(*prefix, "sh", "-c", f"echo 1 >/sys/class/net/{device}/threaded")
            for thread in napi_threads([device for _, device in ends]):
                os.sched_setaffinity(thread, {0})
            yield
        finally:
            for prefix, device in ends:
                subprocess.run([*prefix, "sh", "-c", f"echo 0 >/sys/class/net/{device}/threaded"])
                subprocess.run([*prefix, "ethtool", "-K", device, "gro", "off"])

    @contextlib.contextmanager
    def kernel_client(self, through):
        """The tester's end as a host: its address there; through: with a program that lets answers in."""
        prefix = self.lab.tester()
        self.detach(prefix, "veth0")
        self.must(*prefix, "ip", "addr", "replace", f"{TESTER}/24", "dev", "veth0")
        if through:
            self.attach(prefix, "veth0", "pass")
        try:
            yield prefix
        finally:
            self.detach(prefix, "veth0")
            subprocess.run([*prefix, "ip", "addr", "flush", "dev", "veth0"], capture_output=True)


def napi_threads(devices):
    """Kernel threads by the name that the kernel gives them: napi/DEVICE-ID."""
    names = [(int(path.parent.name), path.read_text()) for path in Path("/proc").glob("[0-9]*/comm")]
    found = [pid for pid, name in names if any(name.startswith(f"napi/{device}-") for device in devices)]
    if len(found) < len(devices):
        raise Broken(f"no NAPI threads of {', '.join(devices)}")
    return found


@contextlib.contextmanager
def fresh_lab():
    """Whatever a killed bench has left of the last one."""
    need_root()
    lab = Lab("none")
    lab.call("down")
    with lab:
        yield lab


@contextlib.contextmanager
def reflector(mode="xdpdrv"):
    """A Wire whose far end answers every DNS query, from the driver or (xdpgeneric) from the kernel above it, whose
    answers reach an end that has no XDP program of its own."""
    with folder() as where:
        program = compile_reflector(where)
        with fresh_lab() as lab:
            wire = Wire(lab, program)
            wire.attach(lab.dut(), "veth1", "reflect", mode)
            yield wire


@contextlib.contextmanager
def responder(binary, config, prefix=()):
    """`ddiperf respond` until the end of the block; it must be there after two seconds."""
    with folder() as where:
        file = Path(where, "server.yaml")
        file.write_text(json.dumps(config))
        with start([*prefix, binary, "respond", str(file), "--quiet"]) as process:
            try:
                time.sleep(2)
                if process.poll() is not None:
                    raise Broken(f"the responder did not start: {process.communicate()[1][-300:]}")
                yield process
            finally:
                stop(process)


@contextlib.contextmanager
def tcp_reflector(lab):
    """reflect_tcp.c on the far end, which is a host as long, on CPU 0."""
    with folder() as where:
        program = Path(where, "reflect_tcp")
        output_of("cc", "-O2", "-D_GNU_SOURCE", "-o", program, HERE / "reflect_tcp.c")
        output_of(*lab.dut("ip", "addr", "replace", f"{SERVER}/24", "dev", "veth1"))
        try:
            with start(lab.dut("taskset", "-c", "0", str(program), SERVER, "53")) as process:
                time.sleep(0.2)
                try:
                    yield
                finally:
                    stop(process)
        finally:
            output_of(*lab.dut("ip", "addr", "flush", "dev", "veth1"))


def stop(process):
    """As a user would, and after five seconds for good."""
    kill(process, 2)
    try:
        process.communicate(timeout=5)
    except subprocess.TimeoutExpired:
        kill(process)
        process.communicate()


def number(pattern, text, what, group=1):
    """A group of a pattern in the output of a program, as a number."""
    found = re.search(pattern, text, re.M)
    if not found:
        raise Broken(f"{what}: {text.strip()[-300:]}")
    return float(found[group])
