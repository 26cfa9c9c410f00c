#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# The plot data of a ramp beside resperf's own, on one Knot, well below what Knot can answer.

import shutil
import tempfile
from pathlib import Path

from harness import main, skip, test, timing
from live import config, item, lab

PEAK, OVER, INTERVAL = 4000, 5, 0.5
ADDRESS = "198.18.0.9/24"
FEWEST = 500  # queries per second: below, one query more or less is a large part of an interval


def rows(path):
    lines = Path(path).read_text().splitlines()
    return lines[0], [[float(word) for word in line.split()] for line in lines[1:]]


def of_resperf(here, folder):
    queries, out = Path(folder) / "queries.txt", Path(folder) / "resperf.gnuplot"
    queries.write_text("".join(f"h{i}.example.com A\n" for i in range(1000)))
    device = ["ip", "address", "add", ADDRESS, "dev", "veth0"]
    assert here.call("run", *device)[0] == 0
    try:
        code, text, err = here.call("run", "resperf", "-s", "198.18.0.2", "-d", str(queries), "-m", str(PEAK), "-R",
                                    "-r", str(OVER), "-c", "0", "-i", str(INTERVAL), "-t", "1", "-P", str(out))
    finally:
        here.call("run", *["del" if word == "add" else word for word in device])
    assert code == 0, (text, err)
    return rows(out)


def of_ddiperf(here, folder):
    out = str(Path(folder) / "ddiperf.gnuplot")
    ramp = {"from": 0, "to": PEAK, "over": f"{OVER}s", "hold": "0s"}
    result = here.ddiperf(config("af_packet", item(load={"ramp": ramp}), output={"resperf": out},
                                 run={"duration": f"{OVER}s", "interval": f"{INTERVAL}s"}))
    assert result.code == 0, result
    return rows(out)


@test
def the_curves_of_a_ramp_are_those_of_resperf():
    if not shutil.which("resperf"):
        skip("resperf is not installed: scripts/deps install bench")
    here = lab("knot")
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as folder:
        theirs_head, theirs = of_resperf(here, folder)
        ours_head, ours = of_ddiperf(here, folder)
    assert ours_head == theirs_head, (ours_head, theirs_head)
    assert abs(len(ours) - len(theirs)) <= 1 and len(ours) >= OVER / INTERVAL - 1, (ours, theirs)
    pairs = [(a, b) for a, b in zip(ours, theirs) if b[1] >= FEWEST]
    timing(all(abs(a[0] - b[0]) <= 0.05 and abs(a[1] - b[1]) <= 0.005 * b[1] for a, b in pairs), pairs)
    assert all(a[4] == b[4] == 0 for a, b in pairs), pairs
    for column in (2, 3):  # sent, replies; another program on the box disturbs one interval or the other
        away = sum(abs(a[column] - b[column]) / b[column] for a, b in pairs) / len(pairs)
        print(f"# column {column + 1}: {100 * away:.2f} % apart over {len(pairs)} intervals")
        timing(away <= 0.03, (column, pairs))


main()
