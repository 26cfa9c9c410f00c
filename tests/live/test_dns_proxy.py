#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# PROXY headers to servers that take them, over UDP, TCP and TLS: dnsdist and Unbound log the clients that we claim.

import contextlib
import ipaddress
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from harness import check_ledger, execute, kill, main, skip, start, test
from live import SERVER, config, item, lab

PORT, TLS_PORT = 5300, 5853
UNBOUND = """
server:
    num-threads: 1
    interface: {v4}@5300
    interface: {v6}@5300
    interface: {v4}@5853
    proxy-protocol-port: 5300
    proxy-protocol-port: 5853
    tls-port: 5853
    tls-service-pem: {dir}/crt.pem
    tls-service-key: {dir}/key.pem
    access-control: 0.0.0.0/0 allow
    access-control: ::0/0 allow
    directory: "{dir}"
    chroot: ""
    username: ""
    pidfile: "{dir}/unbound.pid"
    use-syslog: no
    logfile: "{dir}/log"
    log-queries: yes
    module-config: "iterator"
    local-zone: "example.com." static
    local-data: "h1.example.com. A 192.0.2.1"
remote-control:
    control-enable: no
"""
DNSDIST = """
setACL({{"0.0.0.0/0", "::/0"}})
setProxyProtocolACL({{"198.18.0.0/15", "2001:db8::/64"}})
addLocal("{v4}:5300")
addLocal("[{v6}]:5300")
addTLSLocal("{v4}:5853", "{dir}/crt.pem", "{dir}/key.pem")
newServer({{address="{v4}:53", healthCheckMode="up"}})
local log = io.open("{dir}/log", "a")
addAction(AllRule(), LuaAction(function(query)
    local tlv = query:getProxyProtocolValues()[224] or "none"
    log:write("info: " .. query.remoteaddr:toString() .. " h1. tlv " .. tlv .. "\\n")
    log:flush()
    return DNSAction.None, ""
end))
"""


NETWORKS = {("udp", 4): "203.0.113.0/25", ("tcp", 4): "192.0.2.0/25", ("tls", 4): "192.0.2.128/25",
            ("udp", 6): "2001:db8:7::/121", ("tcp", 6): "2001:db8:8::/121"}


def listens(here):
    ports = [execute(here.dut("ss", "-Hln", family, f"sport = :{PORT}"), timeout=5)[1] for family in ("-t4", "-t6", "-u4", "-u6")]
    return all(ports)


@contextlib.contextmanager
def server(name):
    """Runs it on the other side of the wire; yields the lab and the server's log."""
    here = lab("knot")
    with tempfile.TemporaryDirectory() as folder:
        conf, log = Path(folder) / "conf", Path(folder) / "log"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
                        "-subj", "/CN=dns.example", "-keyout", f"{folder}/key.pem", "-out", f"{folder}/crt.pem"], check=True, capture_output=True)
        conf.write_text({"unbound": UNBOUND, "dnsdist": DNSDIST}[name].format(v4=SERVER[4], v6=SERVER[6], dir=folder))
        argv = ["unbound", "-d", "-c"] if name == "unbound" else ["dnsdist", "--supervised", "--disable-syslog", "-C"]
        process = start(here.dut(*argv, str(conf)))
        try:
            deadline = time.monotonic() + 30
            while not listens(here):
                assert process.poll() is None and time.monotonic() < deadline, process.communicate()
                time.sleep(0.05)
            yield here, log
        finally:
            kill(process)
            process.communicate()


def claimed(log):
    return {ipaddress.ip_address(one) for one in re.findall(r"info: ([0-9a-f.:]+) h1\.", log.read_text())}


def asking(transport, family, at_once):
    tcp = {"tcp": {"connections": 10, "queries_per_connection": 2}} if transport != "udp" else {}
    dns = {"names": ["h1.example.com A"], "proxy": {"clients": NETWORKS[transport, family], "tlvs": [{"type": 224, "text": "from ddiperf"}]}, "transport": transport,
           "expect": {"rcode": ["NOERROR"], "min_answers": 1}, **tcp}
    return item(f"{transport}{family}", server=SERVER[family], server_port=TLS_PORT if transport == "tls" else PORT, dns=dns, timeout="30s",
                load={"outstanding": at_once, "total": "256"})


def check(name, tcp_at_once=8, tcp_lost=0):
    """tcp_lost: queries of each item that the server may leave or cut off."""
    if not shutil.which(name):
        skip(f"{name} is not installed")
    with server(name) as (here, log):
        lost = 0
        for transport, at_once in (("udp", 8), ("tcp", tcp_at_once), ("tls", tcp_at_once)):
            # No time is asserted: each query has enough of it on any machine.
            items = [asking(*key, at_once) for key in NETWORKS if key[0] == transport]
            result = here.ddiperf(config("af_packet", *items, run={"duration": "60s"}), timeout=120, invalid=True)
            assert result.json, result
            for one in result.json["traffic"]:
                check_ledger(one)
                assert one["sent"] == 256 and one["answered"] + one["lost"] == 256, one
                assert one["lost"] <= (tcp_lost if transport != "udp" else 0), one
                lost += one["lost"]
        due = {address for network in NETWORKS.values() for address in list(ipaddress.ip_network(network))}
        deadline = time.monotonic() + 20
        while len(claimed(log)) < len(due) - lost and time.monotonic() < deadline:
            time.sleep(0.05)
        seen = claimed(log)
        assert seen <= due and len(seen) >= len(due) - lost, (seen ^ due, lost)
        assert name != "dnsdist" or set(re.findall(r" tlv (.*)", log.read_text())) == {"from ddiperf"}, log.read_text()[-300:]


@test
def dnsdist_sees_the_clients_that_are_claimed():
    # It resets some connections that it has just accepted.
    check("dnsdist", tcp_at_once=2, tcp_lost=64)


@test
def unbound_sees_the_clients_that_are_claimed():
    check("unbound")


main()
