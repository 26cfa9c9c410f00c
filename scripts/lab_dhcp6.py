# SPDX-License-Identifier: BSD-3-Clause
# The DHCPv6 servers of scripts/lab: one class each {programs, configuration, command line, counters}, all with the same
# two subnets, and the small client that asks whether one answers. Starts and stops nothing.
"""The subnets, both served on the wire's far end, 2001:db8::2:

  2001:db8::/64     attached: clients on the link, and relays in 2001:db8::100-2001:db8::1ff
                    addresses from 2001:db8::1:0:0/96, prefixes of 56 bits from 2001:db8:8000::/34
  2001:db8:40::/64  behind the tester: relays in 2001:db8:40::100-2001:db8:40::1ff
                    addresses from 2001:db8:40::1:0:0/96, prefixes of 56 bits from 2001:db8:c000::/34

Leases last 4000 s, preferred 3000 s, T1 1000 s, T2 2000 s. dnsmasq delegates no prefixes, and its times are its own.
"""

import json
import re
import socket
import struct
import time

from lab_dhcp import checksum, command

SENT = ("advertise", "reply")
MESSAGES = ("solicit", "advertise", "request", "reply", "renew", "rebind", "release", "decline", "confirm", "infrequest")
LOGGED = {"information-request": "infrequest"}


class Kea:
    """Leases in memory, and each change written to a lease file as it happens (without fsync)."""

    programs = ("kea-dhcp6",)
    start = ("kea-dhcp6", "-c", "{dir}/server.conf")
    files = ()

    @classmethod
    def config(cls, folder):
        def subnet(number, link, prefixes, **more):
            return {
                "id": number, "subnet": f"{link}/64", "rapid-commit": True,
                "pools": [{"pool": f"{link}1:0:0/96"}],
                "pd-pools": [{"prefix": prefixes, "prefix-len": 34, "delegated-len": 56}], **more,
            }

        text = json.dumps({"Dhcp6": {
            "interfaces-config": {
                "interfaces": ["veth1", "veth1/2001:db8::2"], "re-detect": False,
                "service-sockets-max-retries": 200, "service-sockets-retry-wait-time": 50,
            },
            "control-socket": {"socket-type": "unix", "socket-name": "{dir}/kea.sock"},
            "lease-database": {"type": "memfile", "persist": True, "name": "{dir}/leases.csv", "lfc-interval": 0},
            "server-id": {"type": "EN", "enterprise-id": 2495, "identifier": "0123456789", "persist": False},
            "preferred-lifetime": 3000, "valid-lifetime": 4000, "renew-timer": 1000, "rebind-timer": 2000,
            "option-data": [
                {"name": "dns-servers", "data": "2001:db8::2"}, {"name": "domain-search", "data": "example.com"},
            ],
            "subnet6": [
                subnet(1, "2001:db8::", "2001:db8:8000::", interface="veth1"),
                subnet(2, "2001:db8:40::", "2001:db8:c000::"),
            ],
            "loggers": [{"name": "kea-dhcp6", "severity": "WARN", "output_options": [{"output": "stderr"}]}],
        }}, indent=1)
        return text.replace("{dir}", str(folder))

    @staticmethod
    def counters(folder):
        now = {key: samples[0][0] for key, samples in command(folder, "statistic-get-all").items()}
        for name in MESSAGES:
            yield name, now.get(f"pkt6-{name}-{'sent' if name in SENT else 'received'}", 0)
        for kind, key in (("addresses", "assigned-nas"), ("prefixes", "assigned-pds")):
            yield kind, sum(now.get(f"subnet[{subnet}].{key}", 0) for subnet in (1, 2))
        yield from ((key, value) for key, value in now.items() if isinstance(value, int))


class Dhcpd:
    """Small pools, as with DHCPv4. It counts what is relayed by its outermost message only."""

    programs = ("dhcpd",)
    start = ("dhcpd", "-6", "-f", "-d", "--no-pid", "-cf", "{dir}/server.conf", "-lf", "{dir}/leases", "veth1")
    files = ("leases",)
    text = """
authoritative;
dont-use-fsync true;
ddns-update-style none;
default-lease-time 4000;
preferred-lifetime 3000;
option dhcp-renewal-time 1000;
option dhcp-rebinding-time 2000;
option dhcp6.rapid-commit;
option dhcp6.name-servers 2001:db8::2;
option dhcp6.domain-search "example.com";
server-duid en 2495 "ddiperf";
subnet6 2001:db8::/64 {
    range6 2001:db8::1:0:0 2001:db8::1:0:ffff;
    prefix6 2001:db8:8000:: 2001:db8:80ff:ff00:: /56;
}
subnet6 2001:db8:40::/64 {
    range6 2001:db8:40::1:0:0 2001:db8:40::1:0:ffff;
    prefix6 2001:db8:c000:: 2001:db8:c0ff:ff00:: /56;
}
"""

    @classmethod
    def config(cls, folder):
        return cls.text

    @staticmethod
    def counters(folder):
        text = (folder / "log").read_text(errors="replace")
        found = re.findall(r"^([A-Z][a-z-]+) message from ", text, re.M) + re.findall(r"^Sending ([A-Z][a-z-]+) to ", text, re.M)
        found = [LOGGED.get(name.lower(), name.lower()) for name in found]
        yield from ((name, found.count(name)) for name in (*MESSAGES, "relay-forward", "relay-reply"))
        leases = (folder / "leases").read_text(errors="replace")
        now = {}
        for kind, name, state in re.findall(r"^  (iaaddr|iaprefix) (\S+) \{\s*binding state (\w+);", leases, re.M):
            now[kind, name] = state
        for kind, key in (("addresses", "iaaddr"), ("prefixes", "iaprefix")):
            yield kind, sum(which[0] == key and state == "active" for which, state in now.items())


class Dnsmasq:
    """Addresses only."""

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
dhcp-authoritative
dhcp-rapid-commit
dhcp-lease-max=200000
dhcp-leasefile={dir}/leases
dhcp-range=2001:db8::1:0:0,2001:db8::1:0:ffff,64,4000
dhcp-range=2001:db8:40::1:0:0,2001:db8:40::1:0:ffff,64,4000
dhcp-option=option6:dns-server,[2001:db8::2]
dhcp-option=option6:domain-search,example.com
"""

    @classmethod
    def config(cls, folder):
        return cls.text.replace("{dir}", str(folder))

    @staticmethod
    def counters(folder):
        text = (folder / "log").read_text(errors="replace")
        found = [name.lower() for name in re.findall(r"\bDHCP([A-Z-]+)\(", text)]
        found = [LOGGED.get(name, name) for name in found]
        yield from ((name, found.count(name)) for name in MESSAGES)
        leases = folder / "leases"
        lines = leases.read_text().splitlines() if leases.exists() else []
        yield "addresses", sum(len(line.split()) == 5 and not line.startswith("duid ") for line in lines)
        yield "prefixes", 0


SERVERS = {"kea6": Kea, "dhcpd6": Dhcpd, "dnsmasq6": Dnsmasq}


# --- does it answer? --------------------------------------------------------------------------

PROBE_MAC = bytes.fromhex("02000000fffe")
ALL_AGENTS = socket.inet_pton(socket.AF_INET6, "ff02::1:2")
SOLICITED = b"\x87\0"  # ICMPv6 type and code


def link_local(mac):
    return bytes.fromhex("fe80000000000000") + bytes([mac[0] ^ 2]) + mac[1:3] + b"\xff\xfe" + mac[3:]


def solicit(xid):
    """SOLICIT of a client on the link, as an Ethernet frame."""
    duid = b"\0\3\0\1" + PROBE_MAC
    message = b"\1" + xid + struct.pack("!HH", 1, len(duid)) + duid + struct.pack("!HHH", 8, 2, 0)
    message += struct.pack("!HHIII", 3, 12, 1, 0, 0)
    source = link_local(PROBE_MAC)
    udp = struct.pack("!4H", 546, 547, 8 + len(message), 0) + message
    padded = source + ALL_AGENTS + struct.pack("!II", len(udp), 17) + udp + b"\0" * (len(udp) % 2)
    udp = udp[:6] + struct.pack("!H", checksum(padded)) + udp[8:]
    ip = struct.pack("!IHBB", 6 << 28, len(udp), 17, 1) + source + ALL_AGENTS
    return b"\x33\x33\0\1\0\2" + PROBE_MAC + b"\x86\xdd" + ip + udp


def probe(device):
    """0 when a server asks for the neighbour that it wants to answer."""
    xid = struct.pack("!I", int(time.monotonic() * 1000))[1:]
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x86DD)) as sock:
        sock.bind((device, 0))
        sock.send(solicit(xid))
        end = time.monotonic() + 1
        while (left := end - time.monotonic()) > 0:
            sock.settimeout(left)
            try:
                frame = sock.recv(2048)
            except TimeoutError:
                break
            if frame[54:56] == SOLICITED and frame[62:78] == link_local(PROBE_MAC):
                return 0
    return 1
