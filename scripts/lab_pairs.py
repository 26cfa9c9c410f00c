# SPDX-License-Identifier: BSD-3-Clause
# Pairs of servers of scripts/lab that stand in for each other: one class each {programs, the configuration of both, command
# line, is it ready}. The first is in the server's namespace, the second in one beside it.
"""Each server of a pair has a folder of its own, DIR/a and DIR/b, with its pid. Both are on the tester's wire:

  a   namespace PREFIX-dut    198.18.0.2, 2001:db8::2   on the link between both: 10.255.0.1
  b   namespace PREFIX-dut2   198.18.0.3, 2001:db8::3                             10.255.0.2

The servers of unbound-pair and unbound-vrrp also answer at 198.18.0.10, wherever that address is: at first at a.
"""

import json
from pathlib import Path

import lab_dhcp

NAMES = ("a", "b")
V4 = ("198.18.0.2", "198.18.0.3")
V6 = ("2001:db8::2", "2001:db8::3")
LINK = ("10.255.0.1", "10.255.0.2")  # between both servers
SERVICE = "198.18.0.10"
HOOKS = "/usr/lib/x86_64-linux-gnu/kea/hooks"


def environment(folder):
    return " ".join(f"KEA_{kind}_DIR={folder}" for kind in ("PIDFILE", "LOCKFILE", "CONTROL_SOCKET", "DHCP_DATA"))


class Pair:
    """command: of one server, with {dir}."""

    @classmethod
    def script(cls, folder, second):
        """Both in the background of one shell, which ends with them. second: words that enter the namespace of b."""
        one = [f"sh -c 'echo $$ >{folder / name}/pid; {environment(folder / name)} exec {cls.command.format(dir=folder / name)}'"
               for name in NAMES]
        return f"{one[0]} & {second} {one[1]} & wait"

    @classmethod
    def write(cls, folder, fill):
        for i, name in enumerate(NAMES):
            (folder / name).mkdir(mode=0o750)
            (folder / name / "leases").touch()
            (folder / name / "server.conf").write_text(cls.config(i, folder, fill))


class UnboundPair(Pair):
    dhcp = False
    programs = ("unbound",)
    command = "unbound -d -c {dir}/server.conf"

    @staticmethod
    def config(i, folder, fill):
        (folder / NAMES[i] / "zone").write_text((folder / "zone").read_text())
        text = fill(folder / NAMES[i], V4[i], V6[i])
        return text.replace("server:\n", f"server:\n    ip-freebind: yes\n    interface: {SERVICE}\n", 1)

    @staticmethod
    def ready(folder):
        return True


class UnboundVrrp(UnboundPair):
    """keepalived of each, with adverts every 100 ms, gives the service's address to a while the Unbound there lives."""

    programs = ("unbound", "keepalived")
    command = ("keepalived --dont-fork --dont-respawn --vrrp --log-console --use-file={dir}/keepalived.conf --pid={dir}/keepalived.pid "
               "--vrrp_pid={dir}/vrrp.pid --bfd_pid={dir}/bfd.pid & exec " + UnboundPair.command)

    @classmethod
    def config(cls, i, folder, fill):
        own = folder / NAMES[i]
        (own / "keepalived.conf").write_text(f"""global_defs {{
    script_user root
    enable_script_security
    vrrp_version 3
    vrrp_garp_master_delay 0
}}
vrrp_script lives {{
    script "{own}/lives"
    interval 1
    fall 1
    rise 1
    init_fail
}}
vrrp_instance service {{
    state BACKUP
    interface link0
    virtual_router_id 53
    priority {(200, 100)[i]}
    advert_int 0.1
    unicast_src_ip {LINK[i]}
    unicast_peer {{
        {LINK[1 - i]}
    }}
    virtual_ipaddress {{
        {SERVICE}/32 dev veth1
    }}
    track_script {{
        lives
    }}
    notify_master "/usr/bin/touch {own}/master"
    notify_backup "/usr/bin/rm -f {own}/master"
}}
""")
        (own / "lives").write_text(f"#!/bin/sh\nkill -0 $(cat {own}/pid)\n")
        (own / "lives").chmod(0o700)  # no link is on the way to it: keepalived 2.3 refuses those
        return super().config(i, folder, fill)

    @staticmethod
    def ready(folder):
        """a is preferred: a b that was faster gives the address back."""
        return [(folder / name / "master").exists() for name in NAMES] == [True, False]


class KeaPair(Pair):
    """libdhcp_ha: the partner is given up when it has not answered for 600 ms."""

    dhcp = True
    programs = ("kea-dhcp4",)
    command = "kea-dhcp4 -c {dir}/server.conf"

    @classmethod
    def config(cls, i, folder, fill):
        text = json.loads(lab_dhcp.Kea4.config(folder / NAMES[i]))["Dhcp4"]
        peers = [{"name": name, "url": f"http://{LINK[k]}:8000/", "role": cls.roles[k], "auto-failover": True}
                 for k, name in enumerate(NAMES)]
        text["interfaces-config"]["dhcp-socket-type"] = "udp"
        text["multi-threading"] = {"enable-multi-threading": True, "thread-pool-size": 1}
        for subnet in text["subnet4"]:
            subnet["pools"] = cls.pools(subnet["pools"][0]["pool"])
        text["hooks-libraries"] = [
            {"library": f"{HOOKS}/libdhcp_lease_cmds.so"},
            {"library": f"{HOOKS}/libdhcp_ha.so", "parameters": {"high-availability": [{
                "this-server-name": NAMES[i], "mode": cls.mode, "heartbeat-delay": 200, "max-response-delay": 600,
                "max-ack-delay": 100, "max-unacked-clients": 0, "peers": peers,
                "multi-threading": {"enable-multi-threading": True, "http-dedicated-listener": True,
                                    "http-listener-threads": 1, "http-client-threads": 1},
            }]}},
        ]
        return json.dumps({"Dhcp4": text}, indent=1)

    @staticmethod
    def pools(pool):
        return [{"pool": pool}]

    @classmethod
    def ready(cls, folder):
        try:
            return all(lab_dhcp.command(folder / name, "status-get")["high-availability"][0]["ha-servers"]["local"]["state"]
                       == cls.mode for name in NAMES)
        except (OSError, ValueError, KeyError, IndexError):
            return False


class KeaStandby(KeaPair):
    mode = "hot-standby"
    roles = ("primary", "standby")


class KeaBalance(KeaPair):
    """Each serves half of the clients, from a half of the pool."""

    mode = "load-balancing"
    roles = ("primary", "secondary")

    @staticmethod
    def pools(pool):
        first, last = pool.split(" - ")
        cut = {"198.18.16.0": ("198.18.255.255", "198.19.0.0"), "10.64.16.0": ("10.71.255.255", "10.72.0.0")}[first]
        return [{"pool": f"{first} - {cut[0]}", "client-class": "HA_a"}, {"pool": f"{cut[1]} - {last}", "client-class": "HA_b"}]


class KeaApart(KeaPair):
    """Neither knows of the other one, and their pools overlap: both have .16.50 - .16.255 of each subnet."""

    @classmethod
    def config(cls, i, folder, fill):
        text = json.loads(lab_dhcp.Kea4.config(folder / NAMES[i]))["Dhcp4"]
        text["interfaces-config"]["dhcp-socket-type"] = "udp"
        for subnet in text["subnet4"]:
            first, last = subnet["pools"][0]["pool"].split(" - ")
            network = first.rsplit(".", 1)[0]
            subnet["pools"] = [{"pool": f"{first} - {network}.255"}] if i == 0 else [{"pool": f"{network}.50 - {last}"}]
        return json.dumps({"Dhcp4": text}, indent=1)

    @classmethod
    def ready(cls, folder):
        try:
            return all(lab_dhcp.command(folder / name, "version-get") for name in NAMES)
        except (OSError, ValueError, KeyError):
            return False


class DhcpdFailover(Pair):
    """The failover protocol of ISC dhcpd: the pool is shared, and either serves all when the other one is gone."""

    dhcp = True
    programs = ("dhcpd",)
    command = "dhcpd -4 -f -d --no-pid -cf {dir}/server.conf -lf {dir}/leases veth1"

    @staticmethod
    def config(i, folder, fill):
        first = "    mclt 600;\n    split 128;\n" if i == 0 else ""
        peer = f"""failover peer "lab" {{
    {("primary", "secondary")[i]};
    address {LINK[i]};
    port 647;
    peer address {LINK[1 - i]};
    peer port 647;
    max-response-delay 2;
    max-unacked-updates 10;
    load balance max seconds 3;
{first}}}
"""
        text = lab_dhcp.Dhcpd4.text
        for last in ("198.18.79.254", "10.64.79.254"):
            network = last.rsplit(".", 2)[0]
            small = f"    range {network}.16.0 {network}.31.254;"
            text = text.replace(f"    range {network}.16.0 {last};", f'    pool {{ failover peer "lab"; {small.strip()} }}')
        return peer + text.replace("{dir}", str(folder / NAMES[i]))

    @staticmethod
    def ready(folder):
        return (folder / "log").read_text(errors="replace").count("to normal") >= 4


SERVERS = {
    "unbound-pair": UnboundPair, "unbound-vrrp": UnboundVrrp, "kea-standby": KeaStandby, "kea-balance": KeaBalance, "kea-apart": KeaApart,
    "dhcpd-failover": DhcpdFailover,
}
