#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# What the machine cannot do. With DPDK's own start, which stepped time leaves out; each reason: tests/unit/io/test_preflight.c.

import json

from harness import EXIT, ddiperf, main, test
from loop import item, ring


@test
def what_the_machine_does_not_have_is_an_error_of_the_environment():
    for text, words in (
            (ring(host={"memory": "hugepages", "memory_size": "1000GiB"}), ("hugepages", "/proc/sys/vm/nr_hugepages")),
            (ring(host={"memory": "pages", "memory_size": "64MiB"}, tester={"mbufs": "1M"}), ("memory",)),
            (json.dumps({"ports": [{"name": "lan", "driver": "pcap", "rx_file": "/nosuch/file", "addresses": ["198.18.0.1/24"]}],
                         "traffic": [item()]}), ("/nosuch/file", "cannot be read"))):
        result = ddiperf(text)
        assert result.code == EXIT["environment"] and all(word in result.stderr for word in words), result


main()
