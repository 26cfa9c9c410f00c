#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# What the machine cannot do. In real time, as memory and devices are the kernel's.

import json
import os
import tempfile

from harness import EXIT, ddiperf, main, test
from loop import item, ring


@test
def more_memory_than_there_is_is_an_error_of_the_environment():
    result = ddiperf(ring(host={"memory": "hugepages", "memory_size": "1000GiB"}))
    assert result.code == EXIT["environment"], result
    assert "hugepages" in result.stderr and "/proc/sys/vm/nr_hugepages" in result.stderr, result
    result = ddiperf(ring(host={"memory": "pages", "memory_size": "64MiB"}, tester={"mbufs": "1M"}))
    assert result.code == EXIT["environment"] and "memory" in result.stderr, result


@test
def a_device_that_is_not_there_is_an_error_of_the_environment():
    if os.geteuid() == 0:
        for driver in ("af_packet", "pcap", "af_xdp"):
            result = ddiperf(json.dumps({
                "ports": [{"name": "lan", "driver": driver, "device": "nosuch0", "addresses": ["198.18.0.1/24"]}],
                "traffic": [item()],
            }))
            assert result.code == EXIT["environment"] and "nosuch0" in result.stderr, result
    with tempfile.TemporaryDirectory() as folder:
        result = ddiperf(json.dumps({
            "ports": [{"name": "lan", "driver": "pcap", "rx_file": f"{folder}/none", "addresses": ["198.18.0.1/24"]}],
            "traffic": [item()],
        }))
    assert result.code == EXIT["environment"] and "cannot be read" in result.stderr, result


main()
