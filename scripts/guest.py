# SPDX-License-Identifier: BSD-3-Clause
"""A virtual machine with PCI cards that QEMU emulates: for scripts/vm and tests/cards.

It needs neither KVM nor a disk: Debian's kernel, an initramfs with busybox and the built program, and two cards on one
hub, which are tester and DUT of one process. The cards are on PCIe ports that can be unplugged, behind an IOMMU, and
bound to vfio-pci. Commands reach the guest over a serial line, files over 9p. The guest ends with this process.

    with Guest("e1000e") as guest:
        code, out, err = guest.run("ddiperf run test.yaml")     # in guest.folder
        guest.monitor("set_link", name="a", up=False)

What it fetches (a kernel; QEMU of Debian 13 for cards that Debian 12 does not have) is kept in build-vm.
"""

import contextlib
import json
import lzma
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "build-vm"
BOOT_S, STOP_S = 120, 10
XZ = b"\xfd7zXZ\0"

# One row a card: device of QEMU and its properties, kernel driver, version of QEMU, queues of its backend.
CARDS = {
    "e1000e": ("e1000e", "", "e1000e", 7, 0),
    "vmxnet3": ("vmxnet3", "", "vmxnet3", 7, 0),
    "virtio": ("virtio-net-pci", "iommu_platform=on,disable-legacy=on", "virtio_net", 7, 0),
    "virtio-mq": ("virtio-net-pci", "iommu_platform=on,disable-legacy=on,mq=on,rss=on,vectors=10", "virtio_net", 7, 4),
    "igb": ("igb", "", "igb", 10, 0),
}
PLUGINS = ("bus_pci", "bus_vdev", "mempool_ring", "net_e1000", "net_vmxnet3", "net_virtio", "net_ring", "net_null")
MODULES = ("virtio_pci", "9pnet_virtio", "9p", "vfio_pci", "vfio_iommu_type1", "e1000e", "igb", "igbvf", "vmxnet3", "virtio_net")
PROGRAMS = ("sh", "mount", "modprobe", "stty", "poweroff", "mkdir", "cat", "ls", "echo", "kill", "pidof", "sleep", "ip", "ifconfig",
            "dmesg", "grep", "readlink", "basename", "ps", "env", "id", "true", "rm", "insmod", "lsmod", "setsid", "timeout")

INIT = """#!/bin/sh
export PATH=/bin HOME=/root
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp; mount -t tmpfs run /run
mkdir -p /dev/shm /dev/hugepages; mount -t tmpfs shm /dev/shm; mount -t hugetlbfs huge /dev/hugepages
echo {hugepages} > /proc/sys/vm/nr_hugepages
modprobe vfio_pci; modprobe vfio_iommu_type1
for card in /sys/bus/pci/devices/*; do
	case $(cat $card/class)/{bound} in 0x0200*/yes) ;; *) continue ;; esac
	echo vfio-pci > $card/driver_override
	echo ${{card##*/}} > /sys/bus/pci/drivers/vfio-pci/bind
done
modprobe virtio_pci; modprobe 9pnet_virtio; modprobe 9p
for name in work control; do mkdir /$name; mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 $name /$name; done
ip link set dev lo up
stty -F /dev/ttyS1 raw -echo
exec 3<>/dev/ttyS1
echo up >&3
while read -r n <&3; do
	(cd /work; setsid sh /control/$n.sh >/control/$n.out 2>/control/$n.err </dev/null; echo "$n $?" >&3) &
done
poweroff -f
"""


# Where a card has several queues its backend has as many: two interfaces on a bridge, in a namespace that ends with QEMU.
TAPS = """set -e
sysctl -qw net.ipv6.conf.default.disable_ipv6=1
ip link add wire type bridge ageing_time 0 mcast_snooping 0
for name in tap-a tap-b; do
	ip tuntap add $name mode tap multi_queue
	ip link set $name master wire mtu 9000 up
done
ip link set wire up
exec "$@"
"""


class GuestError(Exception):
    """No guest, or none any more: says what lacks."""


def command(*argv, **options):
    done = subprocess.run([str(a) for a in argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, **options)
    if done.returncode:
        raise GuestError(f"{' '.join(map(str, argv))}: {done.stderr.strip()[-500:]}")
    return done.stdout


def lacking(*programs):
    return [name for name in programs if not shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")]


def unfinished(folder, make):
    """The folder, made once by make(other folder): all of it or nothing."""
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        other = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
        try:
            make(other)
            other.chmod(0o755)
            other.rename(folder)
        finally:
            shutil.rmtree(other, ignore_errors=True)
    return folder


def kernel():
    """The folder of Debian's kernel, unpacked and not installed."""
    def fetch(folder):
        needs = command("apt-cache", "depends", "linux-image-amd64")
        name = re.search(r"Depends: (linux-image-\d\S+)", needs)
        if not name:
            raise GuestError("apt knows no linux-image-amd64: apt-get update")
        command("apt-get", "download", "-o", "APT::Sandbox::User=root", name[1], cwd=folder)
        [package] = folder.glob("*.deb")
        command("dpkg-deb", "-x", package, folder)
        package.unlink()
        [version] = (folder / "lib" / "modules").iterdir()
        command("/sbin/depmod", "-b", folder, version.name)
        # QEMU starts it as it is, and the guest would take 5 s to unpack it.
        [packed] = (folder / "boot").glob("vmlinuz-*")
        data = packed.read_bytes()
        (folder / "vmlinux").write_bytes(lzma.LZMADecompressor().decompress(data[data.index(XZ):]))
    return unfinished(KEPT / "kernel", fetch)


def mirror():
    """The mirror of Debian that apt of this machine uses."""
    lines = command("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian", "Label: Debian")
    return lines.split("\n", 1)[0]


def qemu(version):
    """The words that start QEMU: the machine's own, or that of Debian 13, unpacked and not installed."""
    program = "qemu-system-x86_64"
    own = shutil.which(program)
    if own and int(re.search(r"version (\d+)", command(own, "--version"))[1]) >= version:
        return [own]
    if version == 7:
        raise GuestError(f"{program} is not installed: sudo scripts/deps install vm")
    folder = unfinished(KEPT / "qemu", lambda other: command(
        "mmdebstrap", "--quiet", "--variant=extract", "--include=qemu-system-x86,seabios", "trixie", other,
        f"deb {mirror()} trixie main"))
    libraries = folder / "usr" / "lib" / "x86_64-linux-gnu"
    return ["env", f"QEMU_MODULE_DIR={libraries}/qemu", folder / "usr" / "lib64" / "ld-linux-x86-64.so.2",
            "--library-path", libraries, folder / "usr" / "bin" / program,
            *(word for name in ("qemu", "seabios") for word in ("-L", folder / "usr" / "share" / name))]


class Image:
    """The files of the initramfs, as a folder. root: of the system that the program was built in; "" for this one."""

    def __init__(self, folder, root):
        self.folder, self.root = folder, root.rstrip("/")

    def at(self, path):
        return Path(self.root + str(path))

    def inside(self, path):
        return Path(str(path).removeprefix(self.root))

    def copy(self, path):
        """A file of that system at the same place, with all links on the way to it: DPDK loads a copy beside it twice."""
        real = self.inside(Path(os.path.realpath(self.at(path).parent)) / path.name)
        for place in (path, real):
            there = Path(f"{self.folder}{place}")
            if not os.path.lexists(there):
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(self.at(real), there, follow_symlinks=False)
        if self.at(real).is_symlink():
            self.copy(Path(os.path.normpath(real.parent / os.readlink(self.at(real)))))

    def libraries(self, path):
        prefix = ["chroot", self.root] if self.root else []
        for found in re.findall(r"(/\S+) \(0x", command(*prefix, "ldd", path)):
            self.copy(Path(found))

    def program(self, binary):
        shutil.copy2(binary, self.folder / "bin" / "ddiperf")
        self.libraries(self.inside(binary))
        for name in PLUGINS:
            found = sorted(self.at("/usr/lib/x86_64-linux-gnu/dpdk").glob(f"pmds-*/librte_{name}.so*"))
            for path in map(self.inside, found):
                self.copy(path)
                self.libraries(path)

    def modules(self, tree):
        [home] = (tree / "lib" / "modules").iterdir()
        lines = dict(line.split(":", 1) for line in (home / "modules.dep").read_text().splitlines())
        names = {Path(path).name.removesuffix(".ko").replace("-", "_"): path for path in lines}
        wanted = [names[name] for name in MODULES]
        for path in {p for path in wanted for p in [path, *lines[path].split()]}:
            there = self.folder / "lib" / "modules" / home.name / path
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(home / path, there)
        for name in ("order", "builtin", "builtin.modinfo"):
            shutil.copy(home / f"modules.{name}", self.folder / "lib" / "modules" / home.name)
        command("/sbin/depmod", "-b", self.folder, home.name)

    def make(self, binary, tree, **init):
        for name in ("bin", "proc", "sys", "dev", "tmp", "run", "root", "etc", "usr", "usr/lib", "usr/lib64"):
            (self.folder / name).mkdir()
        for name in ("lib", "lib64"):  # as in Debian: a link of the loader goes through them
            (self.folder / name).symlink_to(f"usr/{name}")
        shutil.copy(shutil.which("busybox"), self.folder / "bin" / "busybox")
        for name in PROGRAMS:
            (self.folder / "bin" / name).symlink_to("busybox")
        (self.folder / "etc" / "passwd").write_text("root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n")
        (self.folder / "sbin").symlink_to("bin")
        self.program(binary)
        self.modules(tree)
        (self.folder / "init").write_text(INIT.format(**init))
        (self.folder / "init").chmod(0o755)

    def pack(self, path):
        """Not compressed: the guest would take longer to unpack than to read."""
        with open(path, "wb") as out:
            subprocess.run(["sh", "-c", "find . | cpio --quiet -o -H newc"], cwd=self.folder, stdout=out, check=True)


class Guest:
    """See the file's head. card: a name of CARDS. smp: CPUs. bound: the cards are vfio-pci's from the start. iommu: there
    is one.

    folder: the guest's working folder, /work there. wire: a datagram socket that gets each frame of the hub, and
    whose frames to `hub` in `own` go to it. counted: an instruction of the guest takes 1 ns of its time. log: what the kernel and the console said.
    """

    def __init__(self, card, smp=4, binary=None, root="", folder=None, bound=True, iommu=True, memory=3072, hugepages=512,
                 wire=None, counted=False):
        if card not in CARDS:
            raise GuestError(f"{card}: no such card: one of {', '.join(CARDS)}")
        self.card, self.smp, self.memory, self.root = card, smp, memory, root
        self.binary = Path(binary or newest()).resolve()
        self.own = Path(tempfile.mkdtemp(prefix="ddiperf-vm-"))
        self.folder = Path(folder or self.own / "work").resolve()
        self.init = {"bound": "yes" if bound else "no", "hugepages": hugepages}
        self.wire, self.iommu, self.counted = wire, iommu, counted
        self.process = self.line = self.qmp = None
        self.ended, self.changed = {}, threading.Condition()
        self.number = 0

    # --- start and end ---

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.kill()
            self.process.wait()
        for one in (self.line, self.qmp):
            if one:
                one.close()
        shutil.rmtree(self.own, ignore_errors=True)

    def start(self):
        lacks = lacking("busybox", "cpio", "depmod", "dpkg-deb")
        if lacks:
            raise GuestError(f"not installed: {' '.join(lacks)}: sudo scripts/deps install vm")
        begin = qemu(CARDS[self.card][3])
        tree = kernel()
        for name in ("control", "work", "image"):
            (self.own / name).mkdir()
        image = Image(self.own / "image", self.root)
        image.make(self.binary, tree, **self.init)
        image.pack(self.own / "image.cpio")
        if CARDS[self.card][4]:
            begin = ["unshare", "--net", "sh", "-c", TAPS, "sh", *begin]
        self.process = subprocess.Popen(
            [str(word) for word in ["setpriv", "--pdeathsig", "KILL", *begin, *self.arguments(tree / "vmlinux")]], stdin=subprocess.DEVNULL,
            stdout=open(self.own / "log", "wb"), stderr=subprocess.STDOUT, start_new_session=True)
        self.line, self.qmp = self.connect("line"), self.connect("qmp")
        self.qmp_answers = self.qmp.makefile("r")
        self.qmp_answers.readline()
        self.monitor("qmp_capabilities")
        threading.Thread(target=self.listen, daemon=True).start()
        self.wait("up", BOOT_S)

    def arguments(self, linux):
        device, properties, _, _, queues = CARDS[self.card]
        words = [
            *(["-accel", "tcg,thread=single", "-icount", "shift=0"] if self.counted else ["-accel", "tcg,thread=multi"]), "-cpu", "max", "-smp", self.smp, "-m", self.memory, "-machine", "q35",
            *(["-device", "intel-iommu"] if self.iommu else []),
            "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-kernel", linux, "-initrd", self.own / "image.cpio",
            "-append", "console=ttyS0 panic=-1 quiet rdinit=/init intel_iommu=on mitigations=off no_timer_check", "-serial", "stdio",
            "-chardev", f"socket,id=line,path={self.own}/line,server=on,wait=off", "-serial", "chardev:line",
            "-qmp", f"unix:{self.own}/qmp,server=on,wait=off"]
        for name, folder in (("work", self.folder), ("control", self.own / "control")):
            words += ["-virtfs", f"local,path={folder},mount_tag={name},security_model=none"]
        for n, name in enumerate("ab", 1):
            backend = f"tap,ifname=tap-{name},queues={queues},script=no,downscript=no" if queues else "hubport,hubid=0"
            words += ["-netdev", f"{backend},id=net-{name}", "-device", f"pcie-root-port,id=port-{name},slot={n},chassis={n},addr={4 + n}"]
            words += ["-device", ",".join(filter(None, (
                device, f"id={name},netdev=net-{name},bus=port-{name},mac=02:00:00:00:00:0{n},romfile=", properties)))]
        if self.wire:
            words += ["-netdev", f"dgram,id=wire,local.type=unix,local.path={self.own}/hub,remote.type=unix,remote.path={self.wire}",
                      "-netdev", "hubport,id=hub-wire,hubid=0,netdev=wire"]
        return words

    def connect(self, name):
        end = time.monotonic() + STOP_S
        while True:
            one = socket.socket(socket.AF_UNIX)
            try:
                one.connect(f"{self.own}/{name}")
                return one
            except OSError:
                one.close()
                if self.process.poll() is not None or time.monotonic() > end:
                    raise GuestError(f"QEMU did not start: {self.log()}") from None
                time.sleep(0.05)

    def log(self):
        path = self.own / "log"
        return path.read_text(errors="replace")[-3000:] if path.exists() else ""

    # --- commands ---

    def listen(self):
        for line in self.line.makefile("r", errors="replace"):
            with self.changed:
                name, _, code = line.strip().partition(" ")
                self.ended[name] = int(code or 0)
                self.changed.notify_all()

    def wait(self, name, seconds):
        end = time.monotonic() + seconds
        with self.changed:
            while name not in self.ended:
                if self.process.poll() is not None:
                    raise GuestError(f"the guest ended: {self.log()}")
                if time.monotonic() > end:
                    raise GuestError(f"no end of {name} after {seconds} s: {self.log()}")
                self.changed.wait(0.2)
            return self.ended[name]

    def begin(self, text):
        """Start a command of the shell in the folder; its name for end()."""
        self.number += 1
        name = str(self.number)
        (self.own / "control" / f"{name}.sh").write_text(text + "\n")
        self.line.sendall(f"{name}\n".encode())
        return name

    def out(self, name):
        """What a command has printed so far."""
        path = self.own / "control" / f"{name}.out"
        return path.read_text(errors="replace") if path.exists() else ""

    def end(self, name, seconds=60):
        """(exit code, stdout, stderr) of a command that began."""
        code = self.wait(name, seconds)
        return code, *((self.own / "control" / f"{name}.{kind}").read_text(errors="replace") for kind in ("out", "err"))

    def run(self, text, seconds=60):
        return self.end(self.begin(text), seconds)

    def monitor(self, execute, **arguments):
        """A command of QEMU's monitor (QMP); its answer."""
        self.qmp.sendall(json.dumps({"execute": execute, "arguments": arguments}).encode())
        while True:
            answer = json.loads(self.qmp_answers.readline())
            if "error" in answer:
                raise GuestError(f"{execute}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]


def newest():
    """The program that was built last."""
    found = [Path(os.environ["DDIPERF"])] if "DDIPERF" in os.environ else [*ROOT.glob("build*/app/ddiperf")]
    if not found:
        raise GuestError("no program is built: scripts/quickstart, or DDIPERF=its path")
    return max(found, key=lambda path: path.stat().st_mtime)
