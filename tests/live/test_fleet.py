#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# The fleet of the lab: four agents, by way of a nats-server, against one Knot and one Kea. The loop suite has the rest.

from harness import check_ledger, Lab, main, ROOT, test

URL = "nats://lab:lab@10.255.1.1:4222"
# Few at once until all are answered, however late: nothing of a busy machine is asserted.
PATIENT = ["run.warmup=0s", "run.duration=60s", "host.idle=sleep", "validity.stolen=100%", "validity.send_lag_p99=1h",
           "validity.unsent=100%", "validity.fleet_skew=1h", "criteria=[]"]


def fleet(lab, name, *options):
    """A sample of config/, with its input files, by all four agents."""
    files = {"queries.txt": (ROOT / "config" / "queries.txt").read_text()}
    settings = [word for setting in (*PATIENT, *options) for word in ("--set", setting)]
    result = lab.ddiperf((ROOT / "config" / f"{name}.yaml").read_text(), "--fleet", URL, *settings, files=files, timeout=120, invalid=True)
    assert result.json, result
    members = result.json["fleet"]["members"]
    assert [(one["name"], one["labels"]) for one in members] == [(f"a{i}", f"rack={(i + 1) // 2}") for i in range(1, 5)], members
    check_ledger(result.json["traffic"][0])
    return result.json["traffic"][0]


@test
def four_agents_ask_knot_what_one_box_would_and_lease_from_kea():
    with Lab("fleet") as lab:
        with lab.counted() as grown:
            one = fleet(lab, "dns-steady", "traffic.queries.load={outstanding: 8, total: 700}", "traffic.queries.timeout=30s")
        assert one["sent"] == one["answered"] == grown["queries"] == 700, (one, grown["queries"])
        with lab.counted() as grown:
            one = fleet(lab, "dhcp4-relay", "traffic.leases.load={outstanding: 8, total: 70}", "traffic.leases.timeout=30s")
        assert one["sent"] == one["answered"] == grown["leases"] == 70, (one, grown["leases"])


main()
