#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# DHCP messages that are wrong on purpose, against real servers: each kind beside good exchanges. What a server does with
# each kind is the table of docs/dhcp.md. The argument chooses a server.

from harness import check_ledger, main, nightly, test
from live import RELAYS, SERVER, config, lab

ASKED = 30  # messages of each kind
KINDS = {
    4: "header cookie end cut length type no_type hlen nobody overload client_id relay_info reply random".split(),
    6: "empty cut type reply no_client_id duid_empty duid_long duid_twice server_id ia ia_address elapsed oro random".split(),
}
# Those that get an answer; random octets sometimes are a message.
ANSWERED = {
    "kea": "end cut overload relay_info reply",
    "dhcpd": "end nobody overload relay_info reply",
    "dnsmasq": "end cut overload client_id relay_info",
    "kea6": "cut",
    "dhcpd6": "duid_twice elapsed oro",
    "dnsmasq6": "cut duid_twice ia ia_address elapsed oro",
}
PORTS = {4: ["198.18.0.1/15", "10.64.0.1/12"], 6: ["2001:db8::1/64", "2001:db8:40::1/64"]}


def item(family, name, number, **keys):
    relays = RELAYS[:1] if family == 4 else ["2001:db8:40::100-2001:db8:40::10f"]
    return {
        "name": name, "server": SERVER[family], "timeout": "1s", "load": {"rate": 60, "total": ASKED},
        f"dhcp{family}": {"clients": 2 * ASKED, "mac": f"02:0e:00:{number:02x}:00:00", "relay": {"addresses": relays},
                          "exchange": "solicit" if family == 6 else "discover", **keys},
    }


def check(server):
    family = 6 if server.endswith("6") else 4
    items = [item(family, kind, number, wrong={kind: "100%"}) for number, kind in enumerate(KINDS[family])]
    good = item(family, "good", 99, exchange="sarr" if family == 6 else "dora")
    result = lab(server).ddiperf(config("af_packet", *items, good, run={"duration": "1s"}, port={"addresses": PORTS[family]}))
    assert result.json, result
    answered = []
    for kind in KINDS[family]:
        one = result.item(kind)
        n = one[one["protocol"]]
        check_ledger(one)
        assert one["sent"] == one["no_reply"] == n["wrong_sent"][kind] == ASKED and one["lost"] == 0, one
        if n["wrong_answered"]:
            answered.append(kind)
            assert n["wrong_answered"][kind] == ASKED or kind == "random", one
    one = result.item("good")
    assert one["answered"] == one["sent"] == ASKED == one[one["protocol"]]["leases"], one
    assert [kind for kind in answered if kind != "random"] == ANSWERED[server].split(), answered


def add(server):
    def run():
        check(server)

    run.__name__ = f"{server}_does_with_each_kind_as_it_is_known_to"
    (test if server.startswith("kea") else nightly)(run)


for name in ANSWERED:
    add(name)

main()
