#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Messages that are wrong on purpose, against real servers: each kind beside good queries. What a server answers to each
# kind is the table of docs/dns.md. The argument chooses a server.

from harness import check_ledger, main, nightly, test
from live import config, item, lab

ASKED = 60  # messages of each kind
FEW = 10  # where no more than about a hundred errors are sent in a second
USUAL = {kind: "FORMERR" for kind in ("counts", "loop", "label", "name", "questions", "opts")}
USUAL |= {"header": "", "response": "", "version": "BADVERS", "tsig": "NOTAUTH"}
# Those that answer so, for each kind; what random octets are is by chance, so any of those, or none.
ANSWERS = {
    "bind": {**USUAL, "random": "FORMERR", "cookie": "FORMERR", "tsig_mac": "NOTAUTH"},
    "knot": {**USUAL, "loop": "", "label": "", "name": "", "random": "", "questions": "", "cookie": "NOERROR", "tsig_mac": "NOTAUTH"},
    "nsd": {**USUAL, "random": "FORMERR NOTIMP", "cookie": "NOERROR"},
    "unbound": {**USUAL, "random": "FORMERR NOTIMP", "cookie": "NOERROR", "tsig": "FORMERR"},
}
LIMITED = ("nsd", "unbound")
KEY = {"secret_file": "k", "name": "hmac-sha256"}  # of the lab's BIND and Knot


def asked(server):
    return FEW if server in LIMITED else ASKED


def ask(server, kinds, transport):
    names = {"names": ["h{0-999}.example.com A"], "rd": False, **transport}
    load = {"rate": "150", "total": str(asked(server))}
    items = [item(kind, timeout="2s", dns={**names, "wrong": {kind: "100%"}, **({"key": KEY} if kind == "tsig_mac" else {})}, load=load)
             for kind in kinds]
    items.append(item("good", dns=names, load={"rate": "2k"}))
    return lab(server).ddiperf(config("af_packet", *items), files={"k": "A" * 43 + "="})


def check(server, kinds, transport):
    result = ask(server, kinds, transport)
    assert result.json, result
    count = asked(server)
    for kind in kinds:
        said = ANSWERS[server][kind]
        one = result.item(kind)
        dns, answers = one["dns"], one["dns"]["wrong_rcode"]
        check_ledger(one)
        assert one["sent"] == one["no_reply"] == dns["wrong_sent"][kind] == count and one["lost"] == 0, one
        assert set(answers) <= set(said.split()), (server, kind, answers)
        # Knot closes a connection after such a message, and does not answer those that are under way then.
        least = 1 if one.get("connections", {}).get("closed_open") else count
        assert sum(answers.values()) >= least or not said or kind == "random", (kind, answers)
        assert dns["wrong_unexpected"] == (count if server == "unbound" and kind == "tsig" else 0), one
    good = result.item("good")
    assert good["answered"] == good["sent"] == 1000 and good["dns"]["rcode"] == {"NOERROR": 1000}, good


def add(server, mark, what="", **transport):
    def run():
        kinds = list(ANSWERS[server])
        for some in (kinds[::2], kinds[1::2]) if transport else (kinds,):  # a server accepts ten connections at once
            check(server, some, transport)

    run.__name__ = f"{server}_answers_each_kind_{what}as_it_is_known_to"
    mark(run)


for name in ANSWERS:
    add(name, test)
    add(name, test if name == "bind" else nightly, "over_tcp_", transport="tcp", tcp={"connections": 1})

main()
