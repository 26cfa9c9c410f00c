#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Several workers on one interface with four queues, where a kernel puts answers into any of them: each answer finds the
# worker that asked, none is lost on the way, and the server has counted as many questions as were sent.

import os

os.environ["LAB_QUEUES"] = "4"

from harness import EXIT, check_ledger, main, nightly, test, timing
from live import SERVER, check_untouched, config, item, lab

RATE = 2000


def port(cpus):
    return {"cpus": [1] * cpus}


def check(result, growth, workers):
    assert result.json, result
    answered = 0
    for one in result.json["traffic"]:
        check_ledger(one)
        assert one["due"] == one["sent"] == one["answered"] == RATE, (one, result)
        assert one["stray"] == one["late"] == one["duplicate"] == one["malformed"] == 0, one
        answered += one["answered"]
    lan, mine = result.json["ports"][0], result.json["workers"]
    # A kernel that puts answers anywhere is asked beforehand where that is, apart from the ledger.
    probe = lan["steering_probe"]
    assert lan["steering"] == "none" and probe["sent"] == 2 * 4 * workers, lan
    assert probe["home"] + probe["elsewhere"] + probe["late"] == probe["sent"], probe
    assert growth["queries"] == answered + probe["sent"], growth
    assert len(mine) == workers and lan["hand_over_full"] == 0, (mine, lan)
    received, given, taken = (sum(w[key] for w in mine) for key in ("received", "handed_over", "taken_over"))
    assert given == taken == lan["handed_over"] and received >= answered, (mine, lan)
    # By chance one of so many comes to its own worker.
    expected = answered * (workers - 1) / workers
    assert 0.6 * expected < given < 1.3 * expected, (mine, lan)
    assert sum(w["received"] > 0.02 * answered for w in mine) >= workers - 1, mine


def add(driver, workers):
    def run():
        here = lab("knot")
        text = config(driver, item(load={"rate": RATE}, source={"ports": ["2000-9999"]}),
                      item("six", server=SERVER[6], load={"rate": RATE}),
                      run={"duration": "1s"}, port=port(workers))

        with here.counted() as growth:
            result = here.ddiperf(text)
        check(result, growth, workers)
        check_untouched()

    run.__name__ = f"answers_in_any_queue_find_their_worker_of_{workers}_through_{driver}"
    test(run)


def add_connections(driver, workers, each):
    def run():
        here, tcp = lab("knot"), {"connections": 13, **({"queries_per_connection": each} if each else {})}
        rate = 400 if each == 1 else RATE  # a connection a message: Knot leaves ten in its queue
        one = item(load={"rate": rate}, timeout="2s", dns={"names": ["h{0-999}.example.com A"], "transport": "tcp", "tcp": tcp})
        with here.counted() as growth:
            result = here.ddiperf(config(driver, one, port=port(workers)))
        assert result.json, result
        found, lan = result.item("queries"), result.json["ports"][0]
        check_ledger(found)
        conns = found["connections"]
        # A server without a CPU takes no connections, and its kernel makes cookies for the load.
        timing(growth["kernel.TcpExtListenOverflows"] == growth["kernel.TcpExtSyncookiesRecv"] == 0, growth)
        assert found["answered"] == found["sent"] == growth["mod-stats.request-protocol[tcp4]"] == rate / 2, (found, growth)
        assert conns["opened"] == conns["established"] == growth["kernel.TcpPassiveOpens"], (conns, growth)
        assert growth["kernel.TcpOutRsts"] == growth["kernel.TcpEstabResets"] == growth["kernel.TcpInErrs"] == 0, growth
        assert lan["handed_over"] > 0 and lan["hand_over_full"] == 0, lan
        probe = lan["steering_probe"]  # connections that are given up once they are accepted
        given_up = growth["kernel.TcpAttemptFails"] + growth["kernel.TcpExtSyncookiesSent"]
        assert probe["sent"] == given_up == 4 * workers, (probe, growth)

    name = f"of_{each}_messages" if each else "that_live"
    run.__name__ = f"segments_in_any_queue_find_their_connections_{name}_among_{workers}_workers_through_{driver}"
    (nightly if each == 5 else test)(run)


for each in (None, 5, 1):
    add_connections("af_packet", 2, each)
    add_connections("af_xdp", 4, each)
add("af_packet", 2)
add("af_packet", 4)
add("af_xdp", 4)


@test
def queues_that_nobody_would_read_are_refused():
    result = lab("knot").ddiperf(config("af_xdp", port=port(2)))
    assert result.code == EXIT["environment"], result
    assert "4 receive queues and the port uses 2" in result.stderr and "cpus: with 4 CPUs" in result.stderr, result.stderr
    check_untouched()


main()
