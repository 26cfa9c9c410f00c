# SPDX-License-Identifier: BSD-3-Clause
"""What the live tests share: the drivers, configurations for the lab, and a lab that stays up from test to test."""

import atexit
import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import sys
from pathlib import Path

from harness import OTHER_ROOT, Lab, Result, binary, config_file, execute, forget, kill, skip, start, test, until

DRIVERS = ("pcap", "af_packet", "af_xdp")
SERVER = {4: "198.18.0.2", 6: "2001:db8::2"}
DHCP_PORT = {"addresses": ["198.18.0.1/15", "10.64.0.1/12"]}  # the subnets of the lab's DHCP servers
RELAYS = ["198.18.0.64-198.18.0.65", "10.64.0.2-10.64.0.3"]
RELAXED = {"unsent": "100%", "send_lag_p99": "1h", "stolen": "100%"}
SHARE = 3  # percent of what wire() loses, of what it doubles, and of what is late
FATES = ("lost", "doubled", "late")
PEER = str(Path(__file__).resolve().parent / "peer.py")
RELEASE = int(re.search(r'VERSION_ID="?(\d+)', Path(f"{OTHER_ROOT}/etc/os-release").read_text())[1])  # of the lab's servers: Debian 12, 13

_lab = _turn = None


def lab(server=None):
    """The lab with that server (None: as it is), brought up when it is not up yet, down at the end of the program."""
    global _lab, _turn
    if not _turn:
        _turn = open(__file__)
        if "LAB_PREFIX" not in os.environ:
            fcntl.flock(_turn, fcntl.LOCK_EX)  # one program at a time: they all use the same lab
        atexit.register(lambda: _lab and _lab.call("down"))
    if not _lab or server not in (None, _lab.server):
        _lab = Lab(server or "none")
        _lab.__enter__()
    return _lab


def forget_lab():
    """A test that is made again begins with a server that knows none of its clients."""
    global _lab
    if _lab:
        _lab.call("down")
        _lab = None


forget.append(forget_lab)


def since(release):
    """A test about servers or clients of that release of Debian, or later ones."""
    return test if RELEASE >= release else lambda function: function


def item(name="queries", **keys):
    return {
        "name": name, "server": SERVER[4], "timeout": "500ms", "load": {"rate": "1k"},
        "dns": {"names": ["h{0-999}.example.com A"]}, **keys,
    }


@contextlib.contextmanager
def dumped(path, what, packets):
    """Another program captures what (a filter of libpcap) at the tester's device until it has so many packets."""
    process = start(lab().tester("dumpcap", "-q", "-i", "veth0", "-f", what, "-c", str(packets), "-w", str(path)))
    try:
        # It listens before it makes the file.
        until(lambda: process.poll() is not None or (path.exists() and path.stat().st_size > 0), "dumpcap")
        yield
        process.communicate(timeout=30)
    finally:
        kill(process)
        process.communicate()


def leases(name, exchange, *, rate, mac, relayed=False, **keys):
    """DHCP clients from that MAC on, twice as many as exchanges in a second; exchange: a name, or shares of a mix."""
    what = {"mix": exchange} if isinstance(exchange, dict) else {"exchange": exchange}
    relay = {"addresses": RELAYS, "circuit_id": "port {client}", "subscriber_id": "lab"}
    topology = {"relay": relay} if relayed else {}
    return {
        "name": name, "server": SERVER[4], "timeout": "2s", "load": {"rate": rate},
        "dhcp4": {"clients": 2 * rate, "mac": mac, **what, **topology, **keys},
    }


def config(driver, *items, run=None, port=None, **sections):
    """A run of half a second on the tester's end of the wire."""
    return json.dumps({
        "run": {"warmup": "0s", "duration": "500ms", "interval": "250ms", **(run or {})},
        "ports": [{
            "name": "lan", "driver": driver, "device": "veth0", "addresses": ["198.18.0.1/24", "2001:db8::1/64"],
            **(port or {}),
        }],
        "traffic": list(items or [item()]),
        "validity": RELAXED,
        **sections,
    })


class Running:
    """A run in the background that has measured its first interval. After the block: result; invalid: see Result."""

    def __init__(self, text, *options, prefix=None, invalid=False):
        self.text, self.options, self.prefix, self.invalid = text, options, prefix, invalid
        self.result = self.process = None

    def __enter__(self):
        self.stack = contextlib.ExitStack()
        path = self.stack.enter_context(config_file(self.text))
        self.out = path.parent / "result.json"
        prefix = lab().tester() if self.prefix is None else self.prefix
        self.process = start([*prefix, binary(), "run", str(path), "--json", str(self.out), *self.options])
        self.head = ""
        for line in self.process.stdout:
            self.head += line
            if " s  " in line and "queries" in line:
                break
        else:
            self.__exit__(None, None, None)
            raise AssertionError(f"it did not start\n{self.result}")
        return self

    def __exit__(self, kind, *_):
        if kind:
            kill(self.process)
        try:
            out, err = self.process.communicate(timeout=30)
        except BaseException:
            kill(self.process)
            self.process.communicate()
            raise
        finally:
            document = self.out.read_text() if self.out.exists() else ""
            self.stack.close()
        document = json.loads(document) if document else None
        self.result = Result(self.process.returncode, document, self.head + out, err, self.invalid)

    def signal(self, number=signal.SIGINT):
        """To the program; what started it (ip netns exec) has become it."""
        self.process.send_signal(number)


@contextlib.contextmanager
def responding(driver, **settings):
    """The embedded server on the tester's side; yields a dict that has its part of the result after the block."""
    document = {
        "ports": [{"name": "lan", "driver": driver, "device": "veth0", "addresses": ["198.18.0.1/24", "2001:db8::1/64"]}],
        "responder": {"port": "lan", **settings},
    }
    seen = {}
    with config_file(json.dumps(document)) as path:
        out = path.parent / "result.json"
        process = start(lab("none").tester(binary(), "respond", str(path), "--json", str(out)))
        try:
            assert any("answered so far" in line for line in process.stdout), process.communicate()
            yield seen
        finally:
            kill(process, signal.SIGINT)
            process.communicate(timeout=20)
        assert process.returncode == 0, process.returncode
        seen.update(json.loads(out.read_text())["responder"])


@contextlib.contextmanager
def addresses(up, *prefixes):
    """The kernel of the tester's side has them while it lasts."""
    six = any(":" in prefix for prefix in prefixes)
    if six:
        execute(up.tester("sysctl", "-qw", "net.ipv6.conf.veth0.disable_ipv6=0"))
    for prefix in prefixes:
        code, out, err = execute(up.tester("ip", "address", "add", prefix, "dev", "veth0", *["nodad"] * (":" in prefix)))
        assert code == 0, out + err
    try:
        yield
    finally:
        for prefix in prefixes:
            execute(up.tester("ip", "address", "del", prefix, "dev", "veth0"))
        if six:
            execute(up.tester("sysctl", "-qw", "net.ipv6.conf.veth0.disable_ipv6=1"))


def done(*argv):
    code, out, err = execute(argv)
    assert code == 0, (argv, err)
    return out


@contextlib.contextmanager
def wire(here):
    """near0 leads to veth0 by way of the wire; yields a dict that holds, after the block, what befell which segments."""
    done(*here.tester("ip", "link", "add", "near0", "type", "veth", "peer", "name", "near1"))
    did = {}
    try:
        for device in ("near0", "near1"):
            done(*here.tester("ip", "link", "set", device, "up"))
        process = start(here.tester(sys.executable, PEER, "wire", str(SHARE), "veth0", "near1"))
        try:
            assert process.stdout.readline() == "ready\n", process.communicate()
            yield did
        finally:
            kill(process, signal.SIGTERM)
            out, err = process.communicate(timeout=10)
        assert process.returncode == 0, err
        did.update(zip(("to_tester", "from_tester"), json.loads(out).values()))
    finally:
        done(*here.tester("ip", "link", "del", "near0"))


def check_wire(did):
    assert all(did["to_tester"][fate] for fate in FATES) and sum(did["from_tester"][fate] for fate in FATES), did


@contextlib.contextmanager
def dropping(up, which=""):
    """The server's kernel drops TCP segments that come in: all, or those that the words of nft choose."""
    def nft(*words):
        code, _, err = execute(up.dut("nft", *words))
        assert code == 0, err

    if not shutil.which("nft", path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
        skip("nft is not installed (scripts/deps install lab)")
    nft(f"table inet lab {{ chain input {{ type filter hook input priority 0; meta l4proto tcp {which} drop; }}; }}")
    try:
        yield
    finally:
        nft("delete", "table", "inet", "lab")


def lab_again(server):
    """A lab whose server is gone, put right."""
    lab().call("down")
    code, out, err = lab().call("up", server)
    assert code == 0, (out, err)


def ping(address, count=5):
    """How many of so many echo requests the kernel at the far end gets an answer to."""
    code, out, err = execute(lab().dut(sys.executable, PEER, "ping", address, str(count)), timeout=30)
    assert code == 0, err
    return json.loads(out)["answered"]


def link():
    """The tester's interface as the kernel sees it: {flags, promiscuity, xdp, ...}."""
    code, out, err = execute(lab().tester("ip", "-d", "-j", "link", "show", "dev", "veth0"))
    assert code == 0, err
    return json.loads(out)[0]


def state_files():
    """What runs on the tester's interfaces wrote down, to be undone."""
    namespace = Path("/run/netns", f"{lab().prefix}-tester").stat().st_ino
    return list(Path("/run/ddiperf").glob(f"*@{namespace}"))


def check_untouched(up=True):
    """As up as before, no XDP program, no promiscuous flag, no state file."""
    now = link()
    assert ("UP" in now["flags"]) == up and "xdp" not in now and not now.get("promiscuity") and "PROMISC" not in now["flags"], now
    assert not state_files()


@contextlib.contextmanager
def foreign_xdp():
    """An XDP program of others on the tester's interface; yields its id."""
    code, out, err = execute(lab().tester(sys.executable, PEER, "xdp", "veth0"))
    assert code == 0, err
    try:
        yield json.loads(out)["id"]
    finally:
        execute(lab().tester("ip", "link", "set", "dev", "veth0", "xdpgeneric", "off"))


def attached_xdp():
    """The id of the XDP program on the tester's interface, None: there is none."""
    return link().get("xdp", {}).get("prog", {}).get("id")
