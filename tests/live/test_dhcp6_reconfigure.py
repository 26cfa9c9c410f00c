#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# RECONFIGUREs of a real server (RFC 8415 section 18.2.11): Dibbler gives each client a key, and calls on all of them when it
# starts with a pool that their addresses are not in.

import contextlib
import json
import os
import re
import signal
import tempfile
import time
from pathlib import Path

from harness import check_ledger, kill, main, start, test, until
from live import Running, config, lab

COUNT = 8
BEGIN = "mount --bind {0} /etc/dibbler && mount --bind {0} /var/lib/dibbler && exec dibbler-server run"


def clients(name, mac, reconfigure):
    """On the server's link. The name of one of them has to be "queries": Running waits for its first interval."""
    return {"name": name, "timeout": "1s", "dhcp6": {"clients": COUNT, "mac": mac, "reconfigure": reconfigure,
                                                      "life": {"t1": "1000s", "power_on": "200ms"}}}


@contextlib.contextmanager
def begun_anew(up, pool):
    """The server, stopped and started with another pool; yields a function for what it has logged since."""
    folder = Path(f"/run/{up.prefix}-lab")
    os.kill(int((folder / "server.pid").read_text()), signal.SIGTERM)
    end = time.monotonic() + 10
    while (folder / "server.pid").exists() and time.monotonic() < end:
        time.sleep(0.02)
    server = folder / "server.conf"
    server.write_text(re.sub(r"pool 2001:db8::1:0:0", f"pool {pool}", server.read_text()))
    process = start(up.dut("unshare", "--mount", "sh", "-c", BEGIN.format(folder)))
    try:
        yield lambda: process.communicate(timeout=10)[0]
    finally:
        kill(process)


@test
def dibbler6_calls_on_its_clients_and_they_renew():
    up = lab("dibbler6-keys")

    def counted(path, name, of):
        lines = [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
        return sum(of(next(one for one in line["traffic"] if one["name"] == name)["dhcp6"]) for line in lines if "traffic" in line)

    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "lines"
        text = config("af_packet", clients("queries", "02:0f:21:00:00:00", "lenient"), clients("strict", "02:0f:22:00:00:00", "accept"),
                      run={"duration": "60s", "interval": "500ms"}, port={"addresses": ["2001:db8::1/64"]}, output={"jsonl": str(lines)})
        with Running(text) as running:
            until(lambda: all(counted(lines, name, lambda n: n["leases"]) == COUNT for name in ("queries", "strict")), "leases")
            with begun_anew(up, "2001:db8::5:0:0"):
                until(lambda: counted(lines, "queries", lambda n: n["leases"]) == 2 * COUNT
                      and counted(lines, "strict", lambda n: n["received"].get("RECONFIGURE", 0)) == COUNT, "what it calls for", 40)
                running.signal()
                running.process.wait(timeout=30)
    items = {one["name"]: one for one in running.result.json["traffic"]}
    for one in items.values():
        check_ledger(one)
        assert one["dhcp6"]["received"]["RECONFIGURE"] == COUNT and one["lost"] == 0, one
    lenient, strict = items["queries"]["dhcp6"], items["strict"]["dhcp6"]
    # Their MACs are right, or they would be counted so before their numbers are looked at.
    assert lenient["reconfigured"] == {"RENEW": COUNT} and lenient["reconfigure_bad"] == {}, lenient
    # It refuses the address of the pool that it had before, and they take one of its new pool.
    assert lenient["sent"]["RENEW"] == items["queries"]["failed"] == COUNT and lenient["leases"] == 2 * COUNT, items["queries"]
    # Dibbler numbers all of its messages 0.
    assert strict["reconfigure_bad"] == {"replay": COUNT} and strict["reconfigured"] == {} and strict["leases"] == COUNT, strict


main()
