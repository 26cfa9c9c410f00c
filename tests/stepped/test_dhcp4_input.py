#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Input about DHCPv4: check leaves a file of leases alone, and no broken file crashes it. Mistakes and their messages:
# tests/unit/app/transcripts.

import json
import os
import random
import tempfile
from pathlib import Path

from harness import EXIT, ddiperf, main, test
from loop import RELAXED

GOOD = """run: {warmup: 0s, duration: 200ms}
ports:
  - name: tester
    driver: ring
    device: dut
    addresses: [198.18.0.1/24]
  - {name: dut, driver: ring, device: tester, addresses: [198.18.0.2/24]}
traffic:
  - name: clients
    server: 198.18.0.2
    timeout: 500ms
    load: {rate: 1k}
    dhcp4:
      exchange: dora
      clients: 1000
      mac: "02:00:00:00:00:00"
      relay:
        addresses: [198.18.0.64/26]
        circuit_id: "port {client}"
      options:
        - {code: 12, text: "host-{client}"}
responder:
  port: dut
  dhcp4:
    pool: [10.0.0.0/16]
"""
EXCHANGE = "exchange: dora"
PIECES = (b"{", b"]", b":", b"\n", b"\xff", b"- ", b"{client", b"82.", b"99999999999", b"%")


def check(text, **more):
    return ddiperf(text, command="check", **more)


@test
def the_file_without_mistakes_passes():
    result = ddiperf(GOOD + "validity: " + json.dumps(RELAXED))
    assert result.code == 0 and result.item("clients")["answered"] == 200, result


@test
def a_lease_file_to_save_is_left_as_it_was_by_check():
    with tempfile.TemporaryDirectory() as folder:
        link, pipe = Path(folder) / "link.csv", Path(folder) / "pipe"
        link.symlink_to("leases.csv")
        os.mkfifo(pipe)
        for path, code in ((link, EXIT["pass"]), (pipe, EXIT["usage"])):
            result = check(GOOD.replace(EXCHANGE, f"leases: {{save: {path}}}"))
            assert result.code == code and sorted(os.listdir(folder)) == ["link.csv", "pipe"], (result, os.listdir(folder))


@test
def broken_files_never_crash_it():
    source = random.Random(4)
    for _ in range(40):
        text = bytearray(GOOD.encode())
        for _ in range(source.randrange(1, 6)):
            at = source.randrange(GOOD.index("dhcp4:"), len(text))
            text[at:at + source.randrange(3)] = source.choice(PIECES)
        result = check(text.decode("latin-1"))
        assert result.code in (0, EXIT["usage"]), (result, text)


main()
