#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# EDNS at real servers: extended errors (RFC 8914) by their code, as many as the server has counted; and queries with
# padding, NSID, a zone's version and an unknown option are taken as any others.

from harness import check_ledger, main, nightly, test
from live import config, item, lab

COUNT = 400  # queries, half of them for a zone that the server does not have
NAMES = ["h{0-199}.example.com A", "h{0-199}.example.org A"]
EDNS = {"padding": 128, "nsid": True, "zoneversion": True, "options": [{"code": 65001, "hex": "c0ffee"}]}
REFUSED = COUNT // 2
# The extended error of the refusals, where the server has one, and what the server has counted itself.
SERVERS = {
    "knot": ("Not_Authoritative", {"mod-stats.response-code[REFUSED]": REFUSED}),
    "nsd": ("Not_Authoritative", {"num.rcode.REFUSED": REFUSED}),
    "bind": (None, {"rcodes.REFUSED": REFUSED, "nsstats.PadOpt": COUNT, "nsstats.NSIDOpt": COUNT, "nsstats.OtherOpt": 2 * COUNT}),
}


def refusals(server):
    here = lab(server)
    with here.counted() as growth:
        result = here.ddiperf(config("af_packet", item(
            dns={"names": NAMES, "rd": False, "edns": EDNS}, load={"rate": "2k", "total": str(COUNT)})))
    assert result.code == 0, result
    one, (error, counted) = result.item("queries"), SERVERS[server]
    check_ledger(one)
    dns = one["dns"]
    assert one["answered"] == COUNT and dns["rcode"] == {"NOERROR": COUNT - REFUSED, "REFUSED": REFUSED}, one
    assert dns["extended_error"] == ({error: REFUSED} if error else {}), dns
    assert {key: growth.get(key) for key in counted} == counted, {key: n for key, n in growth.items() if n}
    assert dns["request_bytes"] == 128 * COUNT and dns["edns_refused"] == 0, dns
    assert dns["nsid"] == (COUNT if server == "knot" else 0) and dns["zoneversion"] == dns["padded"] == 0, dns


@test
def knot_says_why_it_refuses():
    refusals("knot")


@nightly
def nsd_says_why_it_refuses():
    refusals("nsd")


@nightly
def bind_refuses_without_a_word():
    refusals("bind")


main()
