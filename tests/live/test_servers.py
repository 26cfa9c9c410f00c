#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# The main job: 20 000 queries a second at each real server, through each driver, over both families. All answered, none
# lost, and the server itself has counted as many as were sent. The argument chooses a server.

from harness import ROOT, check_ledger, main, nightly, test, timing
from live import DRIVERS, SERVER, config, item, lab

CONFIG = (ROOT / "config" / "dns-steady.yaml").read_text()
FILES = {"queries.txt": (ROOT / "config" / "queries.txt").read_bytes()}
RATE = 20000


def settings(values):
    return [word for path, value in values.items() for word in ("--set", f"{path}={value}")]


def where(result, growth):
    """Everything that tells whose loss it is."""
    kernel = {key: value for key, value in growth.items() if value and key.startswith(("queries", "kernel."))}
    ports = [{key: value for key, value in port.items() if value} for port in result.json["ports"]]
    return f"ports {ports}\nserver {kernel}\n{result}"


def measure(server, driver, family, warmup_s, duration_s):
    """One run, every query of it accounted for on both sides."""
    options = settings({
        "ports.lan.driver": driver, "traffic.queries.server": SERVER[family], "run.warmup": f"{warmup_s}s",
        "run.duration": f"{duration_s}s",
        # How fast is not judged here: tester and server share two CPUs.
        "criteria": '["loss <= 0%"]', "validity.send_lag_p99": "100ms", "validity.stolen": "50%",
    })

    here = lab(server)
    with here.counted() as growth:
        result = here.ddiperf(CONFIG, *options, files=FILES)
    check(result, growth, warmup_s, duration_s)
    assert result.code == 0, where(result, growth)
    assert result.json["verdict"]["status"] == "pass"


def check(result, growth, warmup_s, duration_s):
    assert result.json, result
    one = result.item("queries")
    check_ledger(one)
    assert one["due"] == RATE * duration_s, where(result, growth)
    # What the server's kernel has no room for while the server has no CPU.
    timing(all(growth.get(f"kernel.Udp{six}RcvbufErrors", 0) == 0 for six in ("", "6")), where(result, growth))
    assert one["lost"] == one["failed"] == 0 and one["answered"] == one["sent"], where(result, growth)
    assert one["stray"] == one["malformed"] == one["duplicate"] == one["late"] == 0, where(result, growth)
    assert one["dns"]["rcode"] == {"NOERROR": one["answered"]}, where(result, growth)
    if one["unsent"] == 0:
        assert growth["queries"] == RATE * warmup_s + one["sent"], where(result, growth)


def add(server, driver, family, warmup_s, duration_s, register=test):
    def run():
        measure(server, driver, family, warmup_s, duration_s)

    run.__name__ = f"{server}_answers_all_over_ipv{family}_through_{driver}_for_{duration_s}_s"
    register(run)


def ask(server, lines, each=250, **dns):
    """Each line so often, in half a second: the DNS counters of the item, and the growth of the server's."""
    here, count = lab(server), each * len(lines)
    with here.counted() as growth:
        result = here.ddiperf(config("af_packet", item(load={"rate": str(2 * count)}, dns={"names": lines, **dns})))
    check_ledger(result.item("queries"))
    assert result.item("queries")["answered"] == count, where(result, growth)
    return result.item("queries")["dns"], growth


@test
def knot_sees_do_only_in_the_queries_that_set_it():
    lines = ["h0.example.com A", "h0.example.com A E", "h1.example.com A D", "version.server CH TXT"]
    one, growth = ask("knot", lines, expect={"rcode": ["NOERROR"], "min_answers": 1})
    assert one["rcode"] == {"NOERROR": 1000} and one["edns_refused"] == 0, one
    assert growth["mod-stats.edns-presence[request]"] == 500, growth
    assert growth["mod-stats.flag-presence[DO]"] == 250, growth


for driver in DRIVERS:
    add("knot", driver, 4, *((1, 3) if driver == "af_packet" else (0, 1)))
    add("knot", driver, 6, 0, 1)
for server in ("nsd", "unbound", "bind"):
    for driver in DRIVERS:
        for family in (4, 6):
            add(server, driver, family, 0, 1, test if (driver == "af_packet") == (family == 4) else nightly)


@test
def bind_sees_the_words_after_a_type_and_tells_its_version():
    lines = ["h0.example.com A", "h0.example.com A E", "h1.example.com A D", "h2.example.com A 192.0.2.0/24"]
    one, growth = ask("bind", lines)
    assert one["edns_refused"] == one["client_subnet_bad"] == 0 and one["rcode"] == {"NOERROR": 1000}, one
    assert growth["nsstats.ReqEdns0"] == 750 and growth["nsstats.ECSOpt"] == 250, growth
    # BIND sends three of them a second.
    one, _ = ask("bind", ["version.bind CH TXT"], each=2, expect={"rcode": ["NOERROR"], "min_answers": 1})
    assert one["rcode"] == {"NOERROR": 2}, one
    one, _ = ask("bind", ["h0.example.com HS A"])
    assert one["rcode"] == {"REFUSED": 250}, one


main()
