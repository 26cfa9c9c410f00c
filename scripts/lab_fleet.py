# SPDX-License-Identifier: BSD-3-Clause
# The fleet of scripts/lab: Knot and Kea on one wire with four agents, and a nats-server on a link of its own. What the
# namespaces are, how they are wired, and what runs in them. Starts and stops nothing by itself.
"""Namespaces, beside those of any lab:

  PREFIX-dut         Knot and Kea. Its veth1 is a bridge here: 198.18.0.2/15, 2001:db8::2/64
  PREFIX-agent1..4   an agent each: a1 and a2 with the label rack=1, a3 and a4 with rack=2. Agent N has the port veth0 with the
                     addresses 198.18.0.1N, 10.64.15.1N and 2001:db8::1N in each run; mgmt0 leads to NATS
  PREFIX-nats        nats-server at nats://lab:lab@10.255.1.1, for messages and files; its bridge is mgmt0
  PREFIX-tester      the coordinator: mgmt0 leads to NATS, and veth0 is on the wire too

A false clock or a delayed link: `ip netns exec PREFIX-agent3 tc qdisc add dev mgmt0 root netem delay 20ms`.
"""

import json
import os
import shutil
import socket
from pathlib import Path

import lab_dhcp

AGENTS = range(1, 5)
NATS = "10.255.1.1"
URL = f"nats://lab:lab@{NATS}:4222"
V4 = "198.18.0.2"
V6 = "2001:db8::2"
WAIT_S = 0.5
ROOT = Path(__file__).resolve().parent.parent


def addresses(i):
    """The setting by which an agent's port has addresses of its own in any run."""
    return f'ports[0].addresses=["198.18.0.{10 + i}/{lab_dhcp.PREFIX_LENGTH}", "10.64.15.{10 + i}/12", "2001:db8::{10 + i}/64"]'


def program():
    """The ddiperf that agents run."""
    built = sorted(ROOT.glob("build*/app/ddiperf"), key=lambda path: path.stat().st_mtime)
    found = os.environ.get("DDIPERF") or shutil.which("ddiperf") or (str(built[-1]) if built else None)
    return str(Path(found).resolve()) if found else None


def names(prefix):
    """Of the namespaces that only this lab has."""
    return [f"{prefix}-nats", *(f"{prefix}-agent{i}" for i in AGENTS)]


def wire_up(prefix, ip, sysctl, call):
    """From the wire between tester and server to a switch; and the link that leads to NATS."""
    dut, nats, tester = f"{prefix}-dut", f"{prefix}-nats", f"{prefix}-tester"
    agents = {i: f"{prefix}-agent{i}" for i in AGENTS}
    ip(None, *(f"netns add {name}" for name in names(prefix)))
    for agent in agents.values():
        sysctl(agent, disable_ipv6=1, autoconf=0, accept_ra=0)
    bridge = "type bridge mcast_snooping 0"
    ip(nats, "link set lo up", f"link add mgmt0 {bridge}", "link set mgmt0 up", f"addr add {NATS}/24 dev mgmt0",
       *(f"link add port{i} type veth peer name mgmt0 netns {name}" for i, name in {0: tester, **agents}.items()),
       *(f"link set port{i} master mgmt0 up" for i in (0, *AGENTS)))
    ip(tester, "addr add 10.255.1.10/24 dev mgmt0", "link set mgmt0 up")
    ip(dut, "link set veth1 down", "link set veth1 name port0", "addr flush dev port0",
       f"link add veth1 address 02:00:00:00:00:02 {bridge}", "link set veth1 up",
       *(f"link add port{i} type veth peer name veth0 address 02:00:00:00:01:{i:02x} netns {name}" for i, name in agents.items()),
       *(f"link set port{i} master veth1 up" for i in (0, *AGENTS)),
       f"addr add {V4}/{lab_dhcp.PREFIX_LENGTH} dev veth1", f"addr add {V6}/64 dev veth1 nodad",
       # Each agent has some of the relays of a run, and answers for them.
       "route add 10.64.0.0/12 dev veth1", "route add default via 198.18.0.1", "route add default via 2001:db8::1")
    for i in (0, *AGENTS):
        # A bridge hands on what a tester sent as it came: not joined to larger packets.
        call("ip", "netns", "exec", dut, "ethtool", "-K", f"port{i}", "tx", "off", "gro", "off")
    for i, name in agents.items():
        ip(name, "link set lo up", "link set veth0 addrgenmode none", "link set veth0 up", f"addr add 10.255.1.{10 + i}/24 dev mgmt0",
           "link set mgmt0 up")


class Fleet:
    programs = ("knotd", "kea-dhcp4", "nats-server")

    @staticmethod
    def write(folder, knot):
        """knot: the text of its configuration."""
        (folder / "server.conf").write_text(knot)
        (folder / "kea").mkdir(mode=0o750)
        (folder / "kea" / "server.conf").write_text(lab_dhcp.Kea4.config(folder / "kea"))
        (folder / "nats.conf").write_text(f"""listen: "{NATS}:4222"
authorization {{ user: lab, password: lab }}
jetstream {{ store_dir: "{folder}/nats" }}
""")

    @staticmethod
    def script(prefix, folder):
        """All programs in the background of one shell, which ends with the first of them."""
        kea = " ".join(f"KEA_{kind}_DIR={folder}/kea" for kind in ("PIDFILE", "LOCKFILE", "CONTROL_SOCKET", "DHCP_DATA"))
        inside = f"ip netns exec {prefix}"
        lines = [
            f"knotd -c {folder}/server.conf", f"{kea} kea-dhcp4 -c {folder}/kea/server.conf",
            f"{inside}-nats nats-server -c {folder}/nats.conf",
            f"until grep -q 'Server is ready' {folder}/log; do sleep 0.05; done",
        ]
        agents = [f"XDG_RUNTIME_DIR={folder}/agent{i} {inside}-agent{i} {program()} agent --nats {URL} --name a{i} "
                  f"--labels rack={(i + 1) // 2} --dir {folder}/agent{i} --set '{addresses(i)}'" for i in AGENTS]
        return " & ".join(lines[:3]) + f" & {lines[3]}; " + " & ".join(agents) + " & wait -n"

    @staticmethod
    def counters(folder):
        yield from lab_dhcp.Kea4.counters(folder / "kea")


def agents():
    """The names of those that answer on NATS. In a namespace that reaches it."""
    found = set()
    try:
        with socket.create_connection((NATS, 4222), timeout=WAIT_S) as sock, sock.makefile("rwb") as file:
            file.write(b'CONNECT {"verbose":false,"user":"lab","pass":"lab"}\r\nSUB me 1\r\nPUB $SRV.PING.ddiperf me 0\r\n\r\n')
            file.flush()
            while len(found) < len(AGENTS):
                line = file.readline().split()
                if line and line[0] == b"MSG":
                    found.add(json.loads(file.read(int(line[-1]) + 2))["metadata"]["agent"])
                elif not line or line[0] == b"-ERR":
                    break
    except (OSError, ValueError, KeyError):
        pass
    return found
