#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# The fleet of the lab: four agents, by way of a nats-server, against one Knot and one Kea. The loop suite has the rest.

from harness import check_ledger, EXIT, Lab, main, ROOT, test

URL = "nats://lab:lab@10.255.1.1:4222"
SHORT = ["run.warmup=300ms", "run.duration=700ms", "host.idle=sleep", "validity.stolen=100%", "validity.send_lag_p99=1s",
         "validity.unsent=100%", "validity.fleet_skew=1s", "criteria=[]"]


def fleet(lab, name, *options):
    """A sample of config/, with its input files, by all four agents."""
    files = {"queries.txt": (ROOT / "config" / "queries.txt").read_text()}
    settings = [word for setting in SHORT for word in ("--set", setting)]
    result = lab.ddiperf((ROOT / "config" / f"{name}.yaml").read_text(), "--fleet", URL, *settings, *options, files=files)
    assert result.code == EXIT["pass"], result
    members = result.json["fleet"]["members"]
    assert [(one["name"], one["labels"]) for one in members] == [(f"a{i}", f"rack={(i + 1) // 2}") for i in range(1, 5)], members
    check_ledger(result.json["traffic"][0])
    return result.json["traffic"][0]


@test
def four_agents_ask_knot_what_one_box_would_and_lease_from_kea():
    with Lab("fleet") as lab:
        with lab.counted() as grown:
            one = fleet(lab, "dns-steady", "--set", "traffic.queries.load.rate=1k")
        assert one["sent"] == one["answered"] == 700 and grown["queries"] == 1000, (one, grown["queries"])
        with lab.counted() as grown:
            one = fleet(lab, "dhcp4-relay", "--set", "traffic.leases.load.rate=100")
        assert one["sent"] == one["answered"] == 70 and grown["leases"] == 100, (one, grown["leases"])


main()
