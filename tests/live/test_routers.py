#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Clients on a link ask radvd for a router before they ask Kea: its advertisement is in the result, and without flag M nobody
# begins. PRINT=1 prints the reports.

import os
import signal
import time
from pathlib import Path

from harness import EXIT, check_ledger, main, nightly, test, timing
from live import DHCP_PORT, config, lab, lab_again

PORT = {"addresses": [*DHCP_PORT["addresses"], "2001:db8::1/64"]}


def run(**wanted):
    dhcp6 = {"clients": 100, "mac": "02:06:00:00:00:00", "router_solicitation": wanted}
    one = {"name": "leases", "timeout": "2s", "load": {"outstanding": 4, "total": 50}, "dhcp6": dhcp6}
    result = lab("kea6-radvd").ddiperf(config("af_packet", one, port=PORT, run={"duration": "5s"}))
    if os.environ.get("PRINT"):
        print("\n".join(f"# {line}" for line in result.stdout.splitlines()))
    assert result.json, result
    check_ledger(result.item("leases"))
    return result, result.json["routers"]


@test
def radvd_sends_the_clients_to_kea():
    result, (one,) = run()
    took = one.pop("took_ns")
    assert one == {
        "item": "leases", "port": "lan", "vlans": "none", "asked": 1, "heard": True, "router": "fe80::ff:fe00:2", "managed": True, "other": True,
        "hop_limit": 64, "lifetime_s": 1800,
        "prefixes": [{"prefix": "2001:db8::/64", "on_link": True, "autonomous": False, "valid_s": 86400, "preferred_s": 14400}]}, one
    assert result.code == 0 and result.item("leases")["answered"] == result.item("leases")["dhcp6"]["leases"] == 50, result
    timing(0 < took < 4e9, took)


@nightly
def without_flag_m_they_do_not_begin():
    lab("kea6-radvd")
    folder = Path(f"/run/{lab().prefix}-lab")
    text = (folder / "radvd.conf").read_text()
    (folder / "radvd.conf").write_text(text.replace("AdvManagedFlag on", "AdvManagedFlag off"))
    os.kill(int((folder / "radvd.pid").read_text()), signal.SIGHUP)
    time.sleep(1)
    try:
        result, (one,) = run()
        assert result.code == EXIT["unreachable"] and result.item("leases")["sent"] == 0, result
        assert one["heard"] and not one["managed"] and one["other"], one
        result, (one,) = run(need="advert")
        assert result.code == 0 and not one["managed"] and result.item("leases")["answered"] == 50, result
        os.kill(int((folder / "radvd.pid").read_text()), signal.SIGKILL)
        result, (one,) = run(interval="300ms")
        assert result.code == EXIT["unreachable"] and (one["heard"], one["asked"]) == (False, 3), result
    finally:
        lab_again("kea6-radvd")


main()
