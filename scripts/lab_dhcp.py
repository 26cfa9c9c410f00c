# SPDX-License-Identifier: BSD-3-Clause
# The DHCP servers of scripts/lab: one class each {family, programs, configuration, command line, counters}, and the
# small clients that ask whether one answers. All servers of a family have the same two subnets. Starts and stops only
# the SQL server of Kea.
"""The subnets of DHCPv4, both served on the wire's far end, 198.18.0.2:

  198.18.0.0/15   attached: clients that broadcast, and relays in 198.18.0.0-198.18.15.255
  10.64.0.0/12    behind the tester: relays in 10.64.0.0-10.64.15.255

Leases last an hour, T1 1800 s, T2 3150 s. An address is free until it is leased: no server pings it first.

The subnets of DHCPv6, both served on the wire's far end, 2001:db8::2:

  2001:db8::/64     attached: clients on the link, and relays in 2001:db8::100-2001:db8::1ff
                    addresses from 2001:db8::1:0:0/96, prefixes of 56 bits from 2001:db8:8000::/34
  2001:db8:40::/64  behind the tester: relays in 2001:db8:40::100-2001:db8:40::1ff
                    addresses from 2001:db8:40::1:0:0/96, prefixes of 56 bits from 2001:db8:c000::/34

Leases last 4000 s, preferred 3000 s, T1 1000 s, T2 2000 s. dnsmasq delegates no prefixes, and its times are its own.
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
SQL_SECONDS = 60
SQL_SCHEMA = "/usr/share/kea/scripts/mysql/dhcpdb_create.mysql"
PGSQL_SCHEMA = "/usr/share/kea/scripts/pgsql/dhcpdb_create.pgsql"
THREADS = int(os.environ.get("LAB_THREADS", "1"))


class Family4:
    family = 4
    messages = ("discover", "offer", "request", "decline", "ack", "nak", "release", "inform")
    sent = ("offer", "ack", "nak")


class Family6:
    family = 6
    messages = (
        "solicit", "advertise", "request", "reply", "renew", "rebind", "release", "decline", "confirm", "infrequest",
    )
    sent = ("advertise", "reply")


def log_counters(server, folder, *patterns, more=()):
    """Messages by type, as the server logged them."""
    text = (folder / "log").read_text(errors="replace")
    found = [name.lower() for pattern in patterns for name in re.findall(pattern, text, re.M)]
    found = ["infrequest" if name == "information-request" else name for name in found]
    yield from ((name, found.count(name)) for name in (*server.messages, *more))


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

    leases = {"type": "memfile", "persist": True, "name": "{dir}/leases.csv", "lfc-interval": 0}
    files = ()

    @classmethod
    def config(cls, folder):
        text = json.dumps({f"Dhcp{cls.family}": {
            "interfaces-config": {
                "interfaces": cls.interfaces, "re-detect": False,
                # The wire has just been made: its end is "running" a moment later.
                "service-sockets-max-retries": 200, "service-sockets-retry-wait-time": 50,
            },
            # As Kea 2.2 does: one thread, and a lease that is released is gone at once. Several threads have a queue
            # without an end: of 64 places, the default, it would drop releases that come faster than they are written.
            "multi-threading": {
                "enable-multi-threading": THREADS > 1, "thread-pool-size": THREADS, "packet-queue-size": 0,
            },
            "expired-leases-processing": {"hold-reclaimed-time": 0},
            "control-socket": {"socket-type": "unix", "socket-name": "{dir}/kea.sock"},
            "lease-database": cls.leases, **cls.settings(),
            "loggers": [{
                "name": f"kea-dhcp{cls.family}", "severity": "WARN", "output_options": [{"output": "stderr"}],
            }],
        }}, indent=1)
        return text.replace("{dir}", str(folder))

    @classmethod
    def counters(cls, folder):
        now = {key: samples[0][0] for key, samples in command(folder, "statistic-get-all").items()}
        for name in cls.messages:
            yield name, now.get(f"pkt{cls.family}-{name}-{'sent' if name in cls.sent else 'received'}", 0)
        yield from cls.held(now)
        yield from ((key, value) for key, value in now.items() if isinstance(value, int))


def both_subnets(now, key):
    return sum(now.get(f"subnet[{subnet}].{key}", 0) for subnet in (1, 2))


class Kea4(Family4, Kea):
    programs = ("kea-dhcp4",)
    start = ("kea-dhcp4", "-c", "{dir}/server.conf")
    interfaces = ["veth1"]

    @staticmethod
    def settings():
        return {
            "valid-lifetime": 3600, "renew-timer": 1800, "rebind-timer": 3150, "authoritative": True,
            "option-data": [
                {"name": "domain-name-servers", "data": "198.18.0.2"}, {"name": "domain-name", "data": "example.com"},
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
        }

    @staticmethod
    def held(now):
        yield "leases", both_subnets(now, "assigned-addresses") - now.get("declined-addresses", 0)


class Kea6(Family6, Kea):
    programs = ("kea-dhcp6",)
    start = ("kea-dhcp6", "-c", "{dir}/server.conf")
    interfaces = ["veth1", "veth1/2001:db8::2"]

    @staticmethod
    def settings():
        def subnet(number, link, prefixes, **more):
            return {
                "id": number, "subnet": f"{link}/64", "rapid-commit": True,
                "pools": [{"pool": f"{link}1:0:0/96"}],
                "pd-pools": [{"prefix": prefixes, "prefix-len": 34, "delegated-len": 56}], **more,
            }

        return {
            "server-id": {"type": "EN", "enterprise-id": 2495, "identifier": "0123456789", "persist": False},
            "preferred-lifetime": 3000, "valid-lifetime": 4000, "renew-timer": 1000, "rebind-timer": 2000,
            "option-data": [
                {"name": "dns-servers", "data": "2001:db8::2"}, {"name": "domain-search", "data": "example.com"},
                {"name": "unicast", "data": "2001:db8::2"},
            ],
            "subnet6": [
                subnet(1, "2001:db8::", "2001:db8:8000::", interface="veth1"),
                subnet(2, "2001:db8:40::", "2001:db8:c000::"),
            ],
        }

    @staticmethod
    def held(now):
        yield "addresses", both_subnets(now, "assigned-nas")
        yield "prefixes", both_subnets(now, "assigned-pds")


class Kea6Radvd(Kea6):
    """With radvd beside it, which sends hosts to it (flags M and O)."""

    programs = ("kea-dhcp6", "radvd")
    start = ("sh", "-c", "radvd --nodaemon --logmethod stderr --config {dir}/radvd.conf --pidfile {dir}/radvd.pid & exec kea-dhcp6 -c {dir}/server.conf")
    text = """
interface veth1 {
    AdvSendAdvert on;
    AdvManagedFlag on;
    AdvOtherConfigFlag on;
    AdvDefaultLifetime 1800;
    prefix 2001:db8::/64 {
        AdvAutonomous off;
        AdvValidLifetime 86400;
        AdvPreferredLifetime 14400;
    };
};
"""

    @classmethod
    def config(cls, folder):
        (folder / "radvd.conf").write_text(cls.text)
        return super().config(folder)


class KeaMemory(Kea4):
    """Leases in memory alone."""

    leases = {"type": "memfile", "persist": False}


class KeaSql(Kea4):
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


def pgsql(program):
    """Debian has the programs of PostgreSQL's server outside of PATH, in a folder of their version."""
    return max(map(str, Path("/usr/lib/postgresql").glob(f"*/bin/{program}")), default=program)


class KeaPgsql(Kea4):
    """Leases in PostgreSQL, each change on the disk before it is acknowledged."""

    programs = ("kea-dhcp4", pgsql("postgres"), pgsql("initdb"), pgsql("psql"))
    leases = {"type": "postgresql", "name": "kea", "user": "kea", "host": "{dir}/sql", "connect-timeout": 10}
    start = (sys.executable, __file__, "{dir}", "pgsql")
    seconds = SQL_SECONDS


# --- ISC dhcpd, dnsmasq, FreeRADIUS -----------------------------------------------------------------------


class WithText:
    """A server whose configuration is a text."""

    text = ""

    @classmethod
    def config(cls, folder):
        return cls.text.replace("{dir}", str(folder))


class Dhcpd4(Family4, WithText):
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
    def counters(cls, folder):
        yield from log_counters(cls, folder, r"\bDHCP([A-Z]+)[ (]")
        # A journal: what stands last for an address is how it is now.
        text = (folder / "leases").read_text(errors="replace")
        now = dict(re.findall(r"^lease ([\d.]+) \{.*?^  binding state (\w+);", text, re.M | re.S))
        yield "leases", list(now.values()).count("active")


class Dhcpd4Sync(Dhcpd4):
    """Each change on the disk before it is acknowledged: its default."""

    text = Dhcpd4.text.replace("dont-use-fsync true;\n", "")


class Dhcpd6(Family6, WithText):
    """Small pools, as with DHCPv4. It counts relayed messages by their outermost message only."""

    programs = ("dhcpd",)
    start = ("dhcpd", "-6", "-f", "-d", "--no-pid", "-cf", "{dir}/server.conf", "-lf", "{dir}/leases", "veth1")
    files = ("leases",)
    text = """
authoritative;
dont-use-fsync true;
ddns-update-style none;
default-lease-time 4000;
preferred-lifetime 3000;
allow leasequery;
option dhcp-renewal-time 1000;
option dhcp-rebinding-time 2000;
option dhcp6.rapid-commit;
option dhcp6.name-servers 2001:db8::2;
option dhcp6.domain-search "example.com";
option dhcp6.unicast 2001:db8::2;
server-duid en 2495 "ddiperf";
subnet6 2001:db8::/64 {
    range6 2001:db8::1:0:0 2001:db8::1:0:ffff;
    prefix6 2001:db8:8000:: 2001:db8:80ff:ff00:: /56;
}
subnet6 2001:db8:40::/64 {
    range6 2001:db8:40::1:0:0 2001:db8:40::1:0:ffff;
    range6 2001:db8:40::2:0:0/112 temporary;
    prefix6 2001:db8:c000:: 2001:db8:c0ff:ff00:: /56;
}
"""

    @classmethod
    def counters(cls, folder):
        yield from log_counters(cls, folder, r"^([A-Z][a-z-]+) message from ", r"^Sending ([A-Z][a-z-]+) to ",
                                more=("relay-forward", "relay-reply", "leasequery", "leasequery-reply"))
        text = (folder / "leases").read_text(errors="replace")
        now = {(kind, name): state for kind, name, state in re.findall(
            r"^  (iaaddr|iaprefix) (\S+) \{\s*binding state (\w+);", text, re.M)}
        for kind, key in (("addresses", "iaaddr"), ("prefixes", "iaprefix")):
            yield kind, sum(lease[0] == key and state == "active" for lease, state in now.items())


class Dibbler6(Family6, WithText):
    """It answers lease queries of each type (and sends each answer twice), and knows relays by their interface-id alone: port."""

    programs = ("dibbler-server",)
    # Its paths cannot be chosen, and it ends at once without a link-local address.
    start = ("unshare", "--mount", "sh", "-c",
             "until ip -6 address show dev veth1 scope link -tentative | grep -q inet6; do sleep 0.1; done; "
             "mount --bind {dir} /etc/dibbler && mount --bind {dir} /var/lib/dibbler && exec dibbler-server run")
    files = ()
    text = """
log-level 7
log-mode short
iface "veth1" {
    unicast 2001:db8::2
    accept-leasequery
    t1 1000
    t2 2000
    prefered-lifetime 3000
    valid-lifetime 4000
    option dns-server 2001:db8::2
    option domain example.com
    class {
        pool 2001:db8::1:0:0/112
    }
}
iface "relay1" {
    relay "veth1"
    interface-id "port"
    t1 1000
    t2 2000
    prefered-lifetime 3000
    valid-lifetime 4000
    option dns-server 2001:db8::2
    option domain example.com
    class {
        pool 2001:db8:40::1:0:0/112
    }
}
"""

    @classmethod
    def counters(cls, folder):
        yield from log_counters(cls, folder, r"\bReceived ([A-Z-]+) on ", r"\bSending ([A-Z-]+) on ", more=("lease-query", "lease-query-reply"))
        database = folder / "server-AddrMgr.xml"
        yield "addresses", database.read_text().count("<AddrAddr ") if database.exists() else 0


class Dibbler6Keys(Dibbler6):
    """It gives keys, and sends a RECONFIGURE when it starts with a pool that lacks the address of a client that it knows. To clients
    behind relays these go without a relay message; their replay numbers are all 0."""

    text = "auth-protocol reconfigure-key\nreconfigure-enabled 1" + Dibbler6.text


class Dnsmasq(WithText):
    """Writes the whole lease file at every change: slow with many leases."""

    programs = ("dnsmasq",)
    files = ()
    start = ("dnsmasq", "--keep-in-foreground", "--conf-file={dir}/server.conf", "--log-facility=-", "--pid-file")
    common = """
user=root
port=0
interface=veth1
bind-interfaces
no-hosts
no-resolv
dhcp-authoritative
dhcp-rapid-commit
dhcp-lease-max=200000
dhcp-leasefile={dir}/leases
"""

    @classmethod
    def counters(cls, folder):
        yield from log_counters(cls, folder, cls.logged)
        yield from cls.held(folder / "leases")


class Dnsmasq4(Family4, Dnsmasq):
    logged = r"\bDHCP([A-Z]+)[ (]"
    text = Dnsmasq.common + """no-ping
dhcp-range=set:attached,198.18.16.0,198.19.255.254,255.254.0.0,1h
dhcp-range=set:relayed,10.64.16.0,10.65.255.254,255.240.0.0,1h
dhcp-option=tag:attached,option:router,198.18.0.1
dhcp-option=tag:relayed,option:router,10.64.0.1
dhcp-option=option:dns-server,198.18.0.2
dhcp-option=option:domain-name,example.com
"""

    @staticmethod
    def held(leases):
        yield "leases", len(leases.read_text().splitlines()) if leases.exists() else 0


class Dnsmasq6(Family6, Dnsmasq):
    """Addresses only."""

    logged = r"\bDHCP([A-Z-]+)\("
    text = Dnsmasq.common + """dhcp-range=2001:db8::1:0:0,2001:db8::1:0:ffff,64,4000
dhcp-range=2001:db8:40::1:0:0,2001:db8:40::1:0:ffff,64,4000
dhcp-option=option6:dns-server,[2001:db8::2]
dhcp-option=option6:domain-search,example.com
"""

    @staticmethod
    def held(leases):
        lines = leases.read_text().splitlines() if leases.exists() else []
        yield "addresses", sum(len(line.split()) == 5 and not line.startswith("duid ") for line in lines)
        yield "prefixes", 0


class FreeRadius4(Family4, WithText):
    """Its DHCP module without a database: the address of a client follows from the lower bits of its MAC, so an address has one
    client if bytes 2, 3 and 4 are below 16, 4 and 4."""

    programs = ("freeradius",)
    start = ("freeradius", "-f", "-l", "stdout", "-d", "{dir}", "-n", "server")
    files = ("dictionary", "messages")
    text = """
prefix = /usr
name = lab
raddbdir = {dir}
logdir = {dir}
run_dir = {dir}
libdir = /usr/lib/freeradius
cleanup_delay = 0
max_requests = 65536
log {
    destination = stdout
}
thread pool {
    start_servers = 1
    max_servers = 1
    min_spare_servers = 1
    max_spare_servers = 1
}
modules {
    always ok {
        rcode = ok
    }
    expr {
    }
    linelog messages {
        filename = {dir}/messages
        format = "%{DHCP-Message-Type} %{DHCP-Client-Hardware-Address}"
    }
    linelog replies {
        filename = {dir}/messages
        format = "%{reply:DHCP-Message-Type} %{DHCP-Client-Hardware-Address}"
    }
}
policy {
    common {
        update reply {
            &DHCP-Message-Type = DHCP-Ack
            &DHCP-DHCP-Server-Identifier = 198.18.0.2
            &DHCP-Subnet-Mask = 255.254.0.0
            &DHCP-Router-Address = 198.18.0.1
            &DHCP-Domain-Name-Server = 198.18.0.2
            &DHCP-Domain-Name = "example.com"
            &DHCP-Relay-Circuit-Id = &request:DHCP-Relay-Circuit-Id
            &DHCP-Relay-Remote-Id = &request:DHCP-Relay-Remote-Id
            &DHCP-Subscriber-Id = &request:DHCP-Subscriber-Id
        }
    }
    lease {
        if (&DHCP-Client-Hardware-Address =~ /^..:..:(..):(..):(..):(..)$/) {
            update reply {
                &DHCP-Your-IP-Address = "198.19.%{expr:(0x%{1} & 15) * 16 + (0x%{2} & 3) * 4 + (0x%{3} & 3)}.%{expr:0x%{4}}"
                &DHCP-IP-Address-Lease-Time = 3600
                &DHCP-Renewal-Time = 1800
                &DHCP-Rebinding-Time = 3150
            }
        }
        common
        replies
        ok
    }
    silent {
        messages
        update reply {
            &DHCP-Message-Type = DHCP-Do-Not-Respond
        }
        ok
    }
}
server dhcp {
    listen {
        type = dhcp
        ipaddr = *
        src_ipaddr = 198.18.0.2
        port = 67
        interface = veth1
        broadcast = yes
    }
    dhcp DHCP-Discover {
        messages
        update reply {
            &DHCP-Message-Type = DHCP-Offer
        }
        lease
    }
    dhcp DHCP-Request {
        messages
        lease
    }
    dhcp DHCP-Inform {
        messages
        common
        replies
        ok
    }
    dhcp DHCP-Release {
        silent
    }
    dhcp DHCP-Decline {
        silent
    }
}
"""

    @classmethod
    def counters(cls, folder):
        lines = [line.split() for line in (folder / "messages").read_text(errors="replace").splitlines()]
        kinds = [kind.removeprefix("DHCP-").lower() for kind, _ in lines]
        yield from ((name, kinds.count(name)) for name in cls.messages)
        held = {}
        for kind, (_, mac) in zip(kinds, lines, strict=True):
            if kind in ("request", "release", "decline"):
                held[mac] = kind == "request"
        yield "leases", sum(held.values())


SERVERS = {
    "kea": Kea4, "kea-memory": KeaMemory, "kea-sql": KeaSql, "kea-sql-lazy": KeaSqlLazy, "kea-pgsql": KeaPgsql,
    "dhcpd": Dhcpd4, "dhcpd-sync": Dhcpd4Sync, "dnsmasq": Dnsmasq4, "freeradius": FreeRadius4, "kea6": Kea6, "kea6-radvd": Kea6Radvd,
    "dhcpd6": Dhcpd6, "dnsmasq6": Dnsmasq6, "dibbler6": Dibbler6, "dibbler6-keys": Dibbler6Keys,
}


# --- does it answer? --------------------------------------------------------------------------

PROBE_MAC = bytes.fromhex("02000000fffe")
ALL_AGENTS = socket.inet_pton(socket.AF_INET6, "ff02::1:2")
SOLICITED = b"\x87\0"  # ICMPv6 type and code


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def discover(xid):
    """DHCPDISCOVER of a client that wants its answer as a broadcast, as an Ethernet frame."""
    message = struct.pack("!4B4sHH16x6s202x", 1, 1, 6, 0, xid, 0, 0x8000, PROBE_MAC)
    message += bytes.fromhex("63825363350101ff")
    message += bytes(300 - len(message))
    udp = struct.pack("!4H", 68, 67, 8 + len(message), 0) + message
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, bytes(4), b"\xff" * 4)
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    return b"\xff" * 6 + PROBE_MAC + b"\x08\x00" + ip + udp


def link_local(mac):
    return bytes.fromhex("fe80000000000000") + bytes([mac[0] ^ 2]) + mac[1:3] + b"\xff\xfe" + mac[3:]


def solicit(xid):
    """SOLICIT of a client on the link, as an Ethernet frame."""
    duid = b"\0\3\0\1" + PROBE_MAC
    message = b"\1" + xid[1:] + struct.pack("!HH", 1, len(duid)) + duid + struct.pack("!HHH", 8, 2, 0)
    message += struct.pack("!HHIII", 3, 12, 1, 0, 0)
    source = link_local(PROBE_MAC)
    udp = struct.pack("!4H", 546, 547, 8 + len(message), 0) + message
    padded = source + ALL_AGENTS + struct.pack("!II", len(udp), 17) + udp + b"\0" * (len(udp) % 2)
    udp = udp[:6] + struct.pack("!H", checksum(padded)) + udp[8:]
    ip = struct.pack("!IHBB", 6 << 28, len(udp), 17, 1) + source + ALL_AGENTS
    return b"\x33\x33\0\1\0\2" + PROBE_MAC + b"\x86\xdd" + ip + udp


def is_offer(frame, xid):
    return frame[34:36] == b"\0\x43" and frame[42:43] == b"\2" and frame[46:50] == xid


def asks_for_client(frame, xid):
    """The server asks for the neighbour that it wants to answer."""
    return frame[54:56] == SOLICITED and frame[62:78] == link_local(PROBE_MAC)


def probe(device, family):
    """Does a server offer an address to a client on this device?"""
    protocol, message, is_answer = {4: (0x0800, discover, is_offer), 6: (0x86DD, solicit, asks_for_client)}[family]
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(protocol)) as sock:
        sock.bind((device, 0))
        for seconds in (0.1, 0.2, 0.4, 0.8):
            xid = struct.pack("!I", 0x4C420000 | int(time.monotonic() * 1000) & 0xFFFF)
            sock.send(message(xid))
            end = time.monotonic() + seconds
            while (left := end - time.monotonic()) > 0:
                sock.settimeout(left)
                try:
                    if is_answer(sock.recv(2048), xid):
                        return True
                except TimeoutError:
                    break
    return False


# --- the SQL servers of Kea --------------------------------------------------------------------

SQL_USER = "nobody"  # they refuse to be root


NO_SYNC = ("--innodb-flush-method=nosync", "--debug-no-sync", "--innodb-flush-log-at-trx-commit=0")


def sql_options(data):
    return ("--no-defaults", f"--datadir={data}", f"--user={SQL_USER}")


def sql_start(data, *options):
    """MariaDB, once it answers; the words of its client."""
    files = (f"--socket={data}/socket", f"--pid-file={data}/pid")
    server = subprocess.Popen(("mariadbd", *sql_options(data), *files, "--skip-networking", *options))
    client = ("mariadb", "--no-defaults", f"--socket={data}/socket", "--user=root")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    while subprocess.run((*client, "-e", "SELECT 1"), **quiet).returncode:
        if server.poll() is not None:
            sys.exit("MariaDB ended at once")
        time.sleep(0.1)
    return server, client


def sql_folder(folder):
    """A folder of its own on a disk: /run is memory."""
    data = tempfile.mkdtemp(prefix="lab-sql-", dir="/var/tmp")
    Path(folder, "sql").symlink_to(data)
    shutil.chown(data, SQL_USER)
    return data


def pgsql_start(data, *options):
    """PostgreSQL, once it answers."""
    argv = (pgsql("postgres"), "-D", data, "-k", data, "-c", "listen_addresses=", *options)
    server = subprocess.Popen(argv, user=SQL_USER, cwd=data)
    client = (pgsql("psql"), "-q", "-h", data, "-U", SQL_USER)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    while subprocess.run((*client, "-c", "SELECT 1", "postgres"), **quiet).returncode:
        if server.poll() is not None:
            sys.exit("PostgreSQL ended at once")
        time.sleep(0.1)
    return server, client


def pgsql_run(folder):
    """Start PostgreSQL with an empty lease table."""
    data = sql_folder(folder)
    subprocess.run((pgsql("initdb"), "-N", "-A", "trust", "-E", "UTF8", "--locale=C", "-D", data), user=SQL_USER, cwd=data,
                   check=True, stdout=subprocess.DEVNULL)
    server, client = pgsql_start(data, "-F")
    for text in ("CREATE USER kea", "CREATE DATABASE kea OWNER kea"):
        subprocess.run((*client, "-c", text, "postgres"), check=True)
    # -q leaves the results of its SELECTs.
    subprocess.run((pgsql("psql"), "-q", "-h", data, "-U", "kea", "-f", PGSQL_SCHEMA, "kea"), check=True, stdout=subprocess.DEVNULL)
    server.terminate()
    server.wait()
    pgsql_start(data)


def sql_run(folder, flush):
    """Start MariaDB with an empty lease table."""
    data = sql_folder(folder)
    # The schema is some 200 changes of tables, each with files that are made anew: in memory they take a second.
    with tempfile.TemporaryDirectory(prefix="lab-sql-", dir="/dev/shm") as scratch:
        shutil.chown(scratch, SQL_USER)
        subprocess.run(
            ("mariadb-install-db", *sql_options(scratch), *NO_SYNC, "--skip-test-db", "--auth-root-authentication-method=normal"),
            check=True, stdout=subprocess.DEVNULL,
        )
        server, client = sql_start(scratch, *NO_SYNC)
        grant = "CREATE DATABASE kea; GRANT ALL ON kea.* TO kea@localhost IDENTIFIED BY 'kea'"
        subprocess.run((*client, "-e", grant), check=True)
        with open(SQL_SCHEMA) as schema:
            subprocess.run((*client, "kea"), stdin=schema, check=True, stdout=subprocess.DEVNULL)
        server.terminate()
        server.wait()
        subprocess.run(("cp", "-a", f"{scratch}/.", data), check=True)
    sql_start(data, f"--innodb-flush-log-at-trx-commit={flush}")
    return f"{data}/socket"


def sql_remove(folder):
    if (link := Path(folder, "sql")).is_symlink():
        shutil.rmtree(link.resolve(), ignore_errors=True)


def main(folder, kind, *unconfined):
    """The SQL server as a child, and this process becomes Kea: one session, to be stopped as one. kind: "pgsql", or of MariaDB
    the setting for flushes."""
    environment = dict(os.environ)
    if kind == "pgsql":
        pgsql_run(folder)
    else:
        environment["MYSQL_UNIX_PORT"] = sql_run(folder, kind)
    argv = (*unconfined, "kea-dhcp4", "-c", f"{folder}/server.conf")
    os.execvpe(argv[0], argv, environment)


if __name__ == "__main__":
    main(*sys.argv[1:])
