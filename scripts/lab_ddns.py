# SPDX-License-Identifier: BSD-3-Clause
# Kea with DNS updates, for scripts/lab: kea-dhcp-ddns (D2) sends them, signed with TSIG, to BIND or Knot on the same
# address. Starts the name server and D2, and becomes Kea: one session, to be stopped as one.
"""The zones: dhcp.example, and those of the subnets: 18.198, 19.198 and 10.in-addr.arpa, 8.b.d.0.1.0.0.2.ip6.arpa.

Kea updates every name that a client sends in its FQDN option. The queues of Kea and D2 hold 65 536 requests in place
of their 1 024, which a burst of leases would fill.
"""

import json
import os
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import lab_dhcp

ZONE = "dhcp.example"
REVERSE = ("18.198.in-addr.arpa", "19.198.in-addr.arpa", "10.in-addr.arpa", "8.b.d.0.1.0.0.2.ip6.arpa")
SERVER = "198.18.0.2"
KEY, SECRET = "hmac-sha256", "A" * 43 + "="
QUEUE = 65536
D2_PORT = 53001
READY_S = 30
# D2 is a client with a port of its own for each update; its answers are small.
BIND = f"""
options {{
    directory "{{dir}}"; pid-file "{{dir}}/named.pid"; session-keyfile "{{dir}}/session.key";
    listen-on port 53 {{ {SERVER}; }}; listen-on-v6 port 53 {{ 2001:db8::2; }};
    recursion no; dnssec-validation no; notify no;
}};
controls {{ }};
key "{KEY}" {{ algorithm {KEY}; secret "{SECRET}"; }};
"""
BIND_ZONE = 'zone "{zone}" {{ type primary; file "{dir}/{zone}.zone"; allow-update {{ key ' + KEY + '; }}; }};\n'
KNOT = f"""
server:
    rundir: "{{dir}}"
    user: root:root
    listen: [ {SERVER}@53, "2001:db8::2@53" ]
key:
  - id: {KEY}
    algorithm: {KEY}
    secret: {SECRET}
acl:
  - id: updates
    key: {KEY}
    action: update
log:
  - target: stderr
    any: warning
database:
    storage: "{{dir}}/db"
template:
  - id: default
    zonefile-sync: -1
    acl: updates
zone:
"""
KNOT_ZONE = '  - domain: {zone}\n    file: "{dir}/{zone}.zone"\n'
NAME_SERVERS = {
    "bind": (BIND, BIND_ZONE, ("named", "-g", "-n", "1", "-c", "{dir}/dns.conf")),
    "knot": (KNOT, KNOT_ZONE, ("knotd", "-c", "{dir}/dns.conf")),
}


def d2_config():
    def domain(zone):
        return {"name": f"{zone}.", "key-name": KEY, "dns-servers": [{"ip-address": SERVER}]}

    return json.dumps({"DhcpDdns": {
        "ip-address": "127.0.0.1", "port": D2_PORT, "dns-server-timeout": 2000,
        "tsig-keys": [{"name": KEY, "algorithm": KEY.upper(), "secret": SECRET}],
        "forward-ddns": {"ddns-domains": [domain(ZONE)]},
        "reverse-ddns": {"ddns-domains": [domain(zone) for zone in REVERSE]},
        "loggers": [{"name": "kea-dhcp-ddns", "severity": "ERROR", "output_options": [{"output": "stderr"}]}],
    }}, indent=1)


def zone_text(zone):
    return f"$ORIGIN {zone}.\n$TTL 60\n@ SOA ns.{ZONE}. hostmaster.{ZONE}. 1 3600 900 604800 60\n@ NS ns.{ZONE}.\n" + (
        f"ns A {SERVER}\n" if zone == ZONE else "")


class WithUpdates:
    """A Kea whose clients get records; its name server is the last word of `start`."""

    @classmethod
    def settings(cls):
        return {
            **super().settings(), "ddns-send-updates": True, "ddns-override-client-update": True,
            "ddns-qualifying-suffix": f"{ZONE}.",
            "dhcp-ddns": {"enable-updates": True, "max-queue-size": QUEUE},
        }


def with_updates(kea, dns):
    program = kea.programs[0]
    return type(f"{kea.__name__}With{dns}", (WithUpdates, kea), {
        "programs": (program, "kea-dhcp-ddns", NAME_SERVERS[dns][2][0]),
        "start": (sys.executable, __file__, "{dir}", program, dns),
    })


SERVERS = {
    f"{name}-{dns}": with_updates(kea, dns)
    for name, kea in (("kea", lab_dhcp.Kea4), ("kea6", lab_dhcp.Kea6)) for dns in NAME_SERVERS
}


def serves(zone):
    """Does the name server have that zone? A SOA query over UDP."""
    labels = b"".join(bytes([len(label)]) + label for label in zone.encode().split(b"."))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(0.5)
        try:
            sock.connect((SERVER, 53))
            sock.send(struct.pack("!6H", 1, 0, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!HH", 6, 1))
            _, flags, _, answers = struct.unpack_from("!4H", sock.recv(4096))
        except OSError:
            return False
    return flags & 0x840F == 0x8400 and answers == 1


def listens(port):
    """Does a program have that UDP port?"""
    return any(line.split()[1].endswith(f":{port:04X}") for line in Path("/proc/net/udp").read_text().splitlines())


def main(folder, program, dns, *unconfined):
    head, zone_line, start = NAME_SERVERS[dns]
    folder = Path(folder)
    zones = (ZONE, *REVERSE)
    for zone in zones:
        (folder / f"{zone}.zone").write_text(zone_text(zone))
    lines = "".join(zone_line.format(zone=zone, dir=folder) for zone in zones)
    (folder / "dns.conf").write_text(head.replace("{dir}", str(folder)).replace("{{", "{").replace("}}", "}") + lines)
    (folder / "d2.conf").write_text(d2_config())
    # Kea sends no updates any more after the first one that D2 does not take, and D2 gives an update up that no server takes.
    for argv, is_ready in (([word.replace("{dir}", str(folder)) for word in start], lambda: all(map(serves, zones))),
                           (["kea-dhcp-ddns", "-c", str(folder / "d2.conf")], lambda: listens(D2_PORT))):
        child, end = subprocess.Popen((*unconfined, *argv)), time.monotonic() + READY_S
        while not is_ready():
            if child.poll() is not None or time.monotonic() > end:
                sys.exit(f"{argv[0]} {'is not ready after' if child.poll() is None else 'ended within'} {READY_S} s")
            time.sleep(0.02)
    argv = (*unconfined, program, "-c", str(folder / "server.conf"))
    os.execvp(argv[0], argv)


if __name__ == "__main__":
    main(*sys.argv[1:])
