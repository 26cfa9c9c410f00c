#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# `ddiperf respond`, which a signal asks for its totals and another one ends: both are the kernel's. What it answers:
# tests/stepped/test_respond.py.

import json
import signal
import tempfile
from pathlib import Path

from harness import binary, kill, main, start, test, until
from loop import datagram, pcap_write, query


@test
def it_tells_its_totals_when_asked_and_ends_when_told():
    with tempfile.TemporaryDirectory(prefix="ddiperf-test-") as name:
        folder = Path(name)
        (folder / "in.pcap").write_bytes(pcap_write([datagram(query(ident=n)) for n in range(5)]))
        (folder / "r.yaml").write_text(json.dumps({
            "run": {"interval": "100ms"},
            "ports": [{"name": "dut", "driver": "pcap", "rx_file": str(folder / "in.pcap"),
                       "tx_file": str(folder / "out.pcap"), "addresses": ["198.18.0.2/24"]}],
            "responder": {"port": "dut", "dns": {}},
        }))
        out, said = folder / "result.json", folder / "said"
        argv = ["sh", "-c", f'exec "$@" 2>{said}', "sh", binary(), "respond", str(folder / "r.yaml"), "--json", str(out)]
        with start(argv) as process:
            def tells():
                process.send_signal(signal.SIGUSR1)
                return "received 5, answered 5\n" in said.read_text()
            try:
                assert any(" s  " in line for line in process.stdout), said.read_text()
                until(tells, said.read_text)
                process.send_signal(signal.SIGINT)
                process.communicate(timeout=10)
            except BaseException:
                kill(process)
                raise
        assert process.returncode == 0, said.read_text()
        assert json.loads(out.read_text())["responder"]["received"] == 5, said.read_text()


main()
