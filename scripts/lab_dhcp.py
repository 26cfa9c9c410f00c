# SPDX-License-Identifier: BSD-3-Clause
# The DHCPv4 servers of scripts/lab: one class each {programs, configuration, command line, counters}, all with the same
# two subnets, and the small client that asks whether one answers. Starts and stops nothing but the SQL server of Kea.
"""The subnets, both served on the wire's far end, 198.18.0.2:

  198.18.0.0/15   attached: clients that broadcast, and relays in 198.18.0.0-198.18.15.255
  10.64.0.0/12    behind the tester: relays in 10.64.0.0-10.64.15.255

Leases last an hour, T1 1800 s, T2 3150 s. An address is free until it is leased: nobody pings it first.
"""

import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PREFIX_LENGTH = 15
MESSAGES = ("discover", "offer", "request", "decline", "ack", "nak", "release", "inform")
SQL_SECONDS = 60
SQL_SCHEMA = "/usr/share/kea/scripts/mysql/dhcpdb_create.mysql"


def log_counters(folder):
    """Messages by type, as a server logged them."""
    found = re.findall(r"\bDHCP([A-Z]+)[ (]", (folder / "log").read_text(errors="replace"))
    yield from ((name, found.count(name.upper())) for name in MESSAGES)


# --- Kea --------------------------------------------------------------------------------------


def command(folder, name):
    """What Kea answers on its control socket."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(10)
        sock.connect(str(folder / "kea.sock"))
        sock.sendall(json.dumps({"command": name}).encode())
        text = b"".join(iter(lambda: sock.recv(1 << 16), b""))
    return json.loads(text)["arguments"]


class Kea:
    """Leases in memory, and each change written to a lease file as it happens (without fsync)."""

    programs = ("kea-dhcp4",)
    leases = {"type": "memfile", "persist": True, "name": "{dir}/leases.csv", "lfc-interval": 0}
    start = ("kea-dhcp4", "-c", "{dir}/server.conf")
    files = ()

    @classmethod
    def config(cls, folder):
        text = json.dumps({"Dhcp4": {
            "interfaces-config": {
                "interfaces": ["veth1"], "re-detect": False,
                # The wire has just been made: its end is "running" a moment later.
                "service-sockets-max-retries": 200, "service-sockets-retry-wait-time": 50,
            },
            "control-socket": {"socket-type": "unix", "socket-name": "{dir}/kea.sock"},
            "lease-database": cls.leases,
            "valid-lifetime": 3600, "renew-timer": 1800, "rebind-timer": 3150,
            "authoritative": True,
            "option-data": [
                {"name": "domain-name-servers", "data": "198.18.0.2"},
                {"name": "domain-name", "data": "example.com"},
            ],
            "subnet4": [
                {
                    "id": 1, "subnet": "198.18.0.0/15", "interface": "veth1",
                    "pools": [{"pool": "198.18.16.0 - 198.19.255.254"}],
                    "option-data": [{"name": "routers", "data": "198.18.0.1"}],
                },
                {
                    "id": 2, "subnet": "10.64.0.0/12",
                    "pools": [{"pool": "10.64.16.0 - 10.79.255.254"}],
                    "option-data": [{"name": "routers", "data": "10.64.0.1"}],
                },
            ],
            "loggers": [{
                "name": "kea-dhcp4", "severity": "WARN", "output_options": [{"output": "stderr"}],
            }],
        }}, indent=1)
        return text.replace("{dir}", str(folder))

    @staticmethod
    def counters(folder):
        now = {key: samples[0][0] for key, samples in command(folder, "statistic-get-all").items()}
        for name in MESSAGES:
            ours = "sent" if name in ("offer", "ack", "nak") else "received"
            yield name, now.get(f"pkt4-{name}-{ours}", 0)
        assigned = sum(now.get(f"subnet[{subnet}].assigned-addresses", 0) for subnet in (1, 2))
        yield "leases", assigned - now.get("declined-addresses", 0)
        yield from ((key, value) for key, value in now.items() if isinstance(value, int))


class KeaMemory(Kea):
    """Leases in memory alone."""

    leases = {"type": "memfile", "persist": False}


class KeaSql(Kea):
    """Leases in MariaDB, each change on the disk before it is acknowledged."""

    programs = ("kea-dhcp4", "mariadbd", "mariadb", "mariadb-install-db")
    leases = {
        "type": "mysql", "name": "kea", "user": "kea", "password": "kea", "host": "localhost",
        "connect-timeout": 10,
    }
    start = (sys.executable, __file__, "{dir}", "1")
    seconds = SQL_SECONDS


class KeaSqlLazy(KeaSql):
    """Leases in MariaDB, which writes to the disk once a second."""

    start = (sys.executable, __file__, "{dir}", "2")


# --- ISC dhcpd, dnsmasq -----------------------------------------------------------------------


class Dhcpd:
    """Small pools: it keeps free addresses in a sorted list, and with 100 000 of them gives out four a second."""

    programs = ("dhcpd",)
    start = ("dhcpd", "-4", "-f", "-d", "--no-pid", "-cf", "{dir}/server.conf", "-lf", "{dir}/leases", "veth1")
    files = ("leases",)
    text = """
authoritative;
ping-check false;
dont-use-fsync true;
dhcp-cache-threshold 0;
echo-client-id true;
ddns-update-style none;
default-lease-time 3600;
max-lease-time 3600;
allow leasequery;
option dhcp-renewal-time 1800;
option dhcp-rebinding-time 3150;
option domain-name-servers 198.18.0.2;
option domain-name "example.com";
subnet 198.18.0.0 netmask 255.254.0.0 {
    range 198.18.16.0 198.18.79.254;
    option routers 198.18.0.1;
}
subnet 10.64.0.0 netmask 255.240.0.0 {
    range 10.64.16.0 10.64.79.254;
    option routers 10.64.0.1;
}
"""

    @classmethod
    def config(cls, folder):
        return cls.text

    @staticmethod
    def counters(folder):
        yield from log_counters(folder)
        # A journal: what stands last for an address is how it is now.
        text = (folder / "leases").read_text(errors="replace")
        now = dict(re.findall(r"^lease ([\d.]+) \{.*?^  binding state (\w+);", text, re.M | re.S))
        yield "leases", list(now.values()).count("active")


class Dnsmasq:
    """Writes the whole lease file at every change: slow with many leases."""

    programs = ("dnsmasq",)
    files = ()
    start = ("dnsmasq", "--keep-in-foreground", "--conf-file={dir}/server.conf", "--log-facility=-", "--pid-file")
    text = """
user=root
port=0
interface=veth1
bind-interfaces
no-hosts
no-resolv
no-ping
dhcp-authoritative
dhcp-rapid-commit
dhcp-lease-max=200000
dhcp-leasefile={dir}/leases
dhcp-range=set:attached,198.18.16.0,198.19.255.254,255.254.0.0,1h
dhcp-range=set:relayed,10.64.16.0,10.65.255.254,255.240.0.0,1h
dhcp-option=tag:attached,option:router,198.18.0.1
dhcp-option=tag:relayed,option:router,10.64.0.1
dhcp-option=option:dns-server,198.18.0.2
dhcp-option=option:domain-name,example.com
"""

    @classmethod
    def config(cls, folder):
        return cls.text.replace("{dir}", str(folder))

    @staticmethod
    def counters(folder):
        yield from log_counters(folder)
        leases = folder / "leases"
        yield "leases", len(leases.read_text().splitlines()) if leases.exists() else 0


SERVERS = {
    "kea": Kea, "kea-memory": KeaMemory, "kea-sql": KeaSql, "kea-sql-lazy": KeaSqlLazy, "dhcpd": Dhcpd,
    "dnsmasq": Dnsmasq,
}


# --- does it answer? --------------------------------------------------------------------------

PROBE_MAC = bytes.fromhex("02000000fffe")


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def discover(xid):
    """DHCPDISCOVER of a client that wants its answer as a broadcast, as an Ethernet frame."""
    message = struct.pack("!4BIHH16x6s202x", 1, 1, 6, 0, xid, 0, 0x8000, PROBE_MAC)
    message += bytes.fromhex("63825363350101ff")
    message += bytes(300 - len(message))
    udp = struct.pack("!4H", 68, 67, 8 + len(message), 0) + message
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, bytes(4), b"\xff" * 4)
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    return b"\xff" * 6 + PROBE_MAC + b"\x08\x00" + ip + udp


def probe(device):
    """0 when a server offers an address to a client that broadcasts on this device."""
    xid = 0x4C420000 | int(time.monotonic() * 1000) & 0xFFFF
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800)) as sock:
        sock.bind((device, 0))
        sock.send(discover(xid))
        end = time.monotonic() + 1
        while (left := end - time.monotonic()) > 0:
            sock.settimeout(left)
            try:
                frame = sock.recv(2048)
            except TimeoutError:
                break
            if frame[34:36] == b"\0\x43" and frame[42:43] == b"\2" and frame[46:50] == struct.pack("!I", xid):
                return 0
    return 1


# --- the SQL server of Kea --------------------------------------------------------------------

SQL_USER = "nobody"  # MariaDB refuses to be root


NO_SYNC = ("--innodb-flush-method=nosync", "--debug-no-sync", "--innodb-flush-log-at-trx-commit=0")


def sql_start(common, client, *options):
    """MariaDB, once it answers."""
    server = subprocess.Popen(("mariadbd", *common, "--skip-networking", *options))
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    while subprocess.run((*client, "-e", "SELECT 1"), **quiet).returncode:
        if server.poll() is not None:
            sys.exit("MariaDB ended at once")
        time.sleep(0.1)
    return server


def sql_run(folder, flush):
    """Start MariaDB with an empty lease table, in a folder of its own on a disk: /run is memory."""
    data = tempfile.mkdtemp(prefix="lab-sql-", dir="/var/tmp")
    Path(folder, "sql").symlink_to(data)
    shutil.chown(data, SQL_USER)
    common = ("--no-defaults", f"--datadir={data}", f"--user={SQL_USER}", f"--socket={data}/socket",
              f"--pid-file={data}/pid")
    client = ("mariadb", "--no-defaults", f"--socket={data}/socket", "--user=root")
    subprocess.run(
        ("mariadb-install-db", *common[:3], *NO_SYNC, "--skip-test-db", "--auth-root-authentication-method=normal"),
        check=True, stdout=subprocess.DEVNULL,
    )
    # The schema is some 200 changes of tables: half a minute when each waits for the disk.
    server = sql_start(common, client, *NO_SYNC)
    grant = "CREATE DATABASE kea; GRANT ALL ON kea.* TO kea@localhost IDENTIFIED BY 'kea'"
    subprocess.run((*client, "-e", grant), check=True)
    with open(SQL_SCHEMA) as schema:
        subprocess.run((*client, "kea"), stdin=schema, check=True, stdout=subprocess.DEVNULL)
    server.terminate()
    server.wait()
    sql_start(common, client, f"--innodb-flush-log-at-trx-commit={flush}")
    return f"{data}/socket"


def sql_remove(folder):
    if (link := Path(folder, "sql")).is_symlink():
        shutil.rmtree(link.resolve(), ignore_errors=True)


def main(folder, flush, *unconfined):
    """MariaDB as a child, and this process becomes Kea: one session, to be stopped as one."""
    environment = {**os.environ, "MYSQL_UNIX_PORT": sql_run(folder, flush)}
    argv = (*unconfined, "kea-dhcp4", "-c", f"{folder}/server.conf")
    os.execvpe(argv[0], argv, environment)


if __name__ == "__main__":
    main(*sys.argv[1:])
