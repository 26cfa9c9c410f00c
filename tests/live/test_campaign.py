#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# The campaign of lease operations against Kea and ISC dhcpd: what it says is what each server has counted.

import csv
import json
import os
import shutil
import tempfile
from pathlib import Path

import yaml
from harness import EXIT, LAB, ROOT, binary, execute, main, need_root, skip, test, timing

LEASES = 200
POINTS = ("kea memfile", "dhcpd no fsync")
SAMPLE = ROOT / "config" / "campaign-lease-operations.yaml"


def reduced(folder):
    """The sample with two points, Kea with two threads, and few leases; before a server stops, it tells its counters."""
    settings = yaml.safe_load(SAMPLE.read_text())
    settings["base"] = str(ROOT / "config" / settings["base"])
    settings["through"] = f"{LAB} run"
    settings["set"] = [f"traffic.leases.load.total={LEASES}", "traffic.leases.dhcp4.clients=auto", "validity.stolen=100%"]
    settings["vary"][0]["values"] = ["1", "2"]
    settings["points"] = [point for point in settings["points"] if point["name"] in POINTS]
    for point in settings["points"]:
        point["only"] = ["threads=2" if point["name"].startswith("kea") else "threads=1"]
        point["start"] = point["start"].replace("scripts/lab", LAB)
        point["stop"] = f'{LAB} stats >"{folder}/$DDIPERF_POINT $DDIPERF_VARY_THREADS"; {LAB} down'
    for one in settings["operations"]:
        one["points"] = [name for name in one.get("points", POINTS) if name in POINTS]
        for key in ("before", "until"):
            if key in one:
                one[key] = one[key].replace("scripts/lab", LAB)
        for key in ("set", "before"):
            if key in one:
                one[key] = json.loads(json.dumps(one[key]).replace("/tmp/", f"{folder}/"))
    settings["columns"].append({"name": "sent", "figure": "traffic.leases.sent"})
    settings.update(repeats=1, output={"jsonl": "c.jsonl", "csv": "c.csv"})
    return settings


@test
def lease_operations_are_those_that_the_servers_counted():
    need_root()
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    if missing := [program for program in ("kea-dhcp4", "dhcpd") if not shutil.which(program, path=path)]:
        skip(f"not installed: {' '.join(missing)}")
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as name:
        folder = Path(name)
        (folder / "c.yaml").write_text(json.dumps(reduced(folder)))
        code, out, err = execute([binary(), "campaign", "c.yaml"], cwd=folder, timeout=240,
                                 env={**os.environ, "LAB_PREFIX": os.environ.get("LAB_PREFIX", "ddiperf-test")})
        timing(code != EXIT["invalid"], (out, err))
        assert code == 0, (out, err)
        with open(folder / "c.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == 2 * 5 * 3 and {row["mean"] for row in rows if row["figure"] == "sent"} == {str(LEASES)}, rows
        for row in rows:
            assert row["figure"] != "seconds" or 0 < float(row["mean"]) < 30, row
        for one in ("kea memfile 2", "dhcpd no fsync 1"):
            pairs = (line.split(" ", 1) for line in (folder / one).read_text().splitlines())
            counted = dict(pairs)
            kea = one.startswith("kea")
            # The lab asks whether the server answers: a DISCOVER or two of its own.
            assert LEASES <= int(counted["discover"]) - kea * LEASES <= LEASES + 5, (one, counted)
            assert (counted["request"], counted["ack"]) == (str(2 * LEASES),) * 2, (one, counted)
            assert (counted["release"], counted["leases"]) == (str(LEASES), "0"), (one, counted)


main()
