#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# tests/bench/bench_worker ends by itself also with a file that has too few transactions for it. In real time, which is what it
# measures. That it measures at all is seen by tests/bench/costs.

from pathlib import Path

from harness import binary, config_file, execute, main, skip, test
from loop import item, ring

ONE_CPU = {"cpus": [0]}
TOO_FEW = ("bench_worker: no reply for 0.5 s, after ", " transactions of a round; ", "Ask for fewer, ")


def bench(one, *words, **responder):
    """(exit code, stdout, stderr) of the program with one item and no end of its run."""
    program = Path(binary()).parent.parent / "tests/bench/bench_worker"
    if not program.exists():
        skip("bench_worker was not built")
    with config_file(ring(one, run={"duration": "60s"}, tester=ONE_CPU, dut=ONE_CPU, **responder)) as path:
        return execute([program, path, *words], 30)


@test
def a_file_with_too_few_transactions_ends_it():
    clients = {"name": "leases", "server": "198.18.0.2", "load": {"outstanding": 8},
               "dhcp4": {"exchange": "dora", "clients": 100, "relay": {"addresses": ["198.18.0.64/26"]}}}
    code, out, err = bench(clients, "1000", "0.5", responder={"dhcp4": {"pool": "198.18.1.0/24", "server_id": "198.18.0.2"}})
    assert code == 1 and out == "" and all(part in err for part in TOO_FEW), (code, out, err)
    assert " after 100 of 1000 " in err and "in all 100 sent, 0 lost" in err, err
    # The same with replies that are all late.
    slow = {"dns": {}, "faults": {"delay": {"constant": "300ms"}}}
    code, out, err = bench(item(load={"rate": "1k"}, timeout="1ms"), "1000", "0.5", responder=slow)
    assert code == 1 and out == "" and all(part in err for part in TOO_FEW), (code, out, err)
    assert ", 0 lost" not in err, err


main()
