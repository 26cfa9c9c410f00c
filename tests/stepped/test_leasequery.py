#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Bulk lease queries over TCP (RFC 6926, RFC 5460): one item leases, another one asks the responder for what it knows.


import dhcp4
import dhcp6
from dhcp import check_query_steps
from harness import check_ledger, ddiperf, main, test
from loop import ring

COUNT = 300  # more than the responder looks at for one message
ASKED = 10


def queries(protocol, name="bulk", tcp=None, **settings):
    """An item that asks when the leases are there."""
    server = {"leasequery4": "198.18.0.2", "leasequery6": dhcp6.SERVER}[protocol]
    return {"name": name, "server": server, "timeout": "30s", "load": {"rate": "1k", "total": str(ASKED), "start_at": "500ms"},
            protocol: {"tcp": {"connections": 4, **(tcp or {})}, **settings}}


def leases(family, count=COUNT, **settings):
    """An item whose clients all get a lease."""
    return family.clients(name="leases", load={"rate": "5k", "total": str(count)}, clients=count, **settings)


def run(*items, responder, faultless=True):
    """[the queries with their counters], those of the responder, and the result."""
    result = ddiperf(ring(*items, run={"duration": "3s"}, responder=responder, **dhcp6.family.ports))
    assert result.json, result
    for one in result.json["traffic"]:
        check_ledger(one)
        assert one["sent"] == one["due"] > 0 and (one["lost"] == 0 or not faultless), result
    for one in result.json["traffic"]:
        assert one["protocol"].startswith("lease") or one["last_answer_s"] < 0.5, result
    theirs = result.json["responder"]["protocols"][0]
    asked = [{**one, **one[one["protocol"]]} for one in result.json["traffic"] if "leasequery" in one["protocol"]]
    for one in asked:
        check_query_steps(one)
    return asked, theirs[theirs["name"]], result


@test
def a_query_for_all_gets_each_lease_once():
    size = COUNT + 50
    [one], theirs, result = run(leases(dhcp4), queries("leasequery4"),
                                responder=dhcp4.answers(pool=[f"10.64.0.1-10.64.{size >> 8}.{size & 255}"]))
    assert one["answered"] == ASKED and one["bindings"] == theirs["bulk_bindings"] == ASKED * COUNT, result
    assert one["unassigned"] == ASKED * 50 and one["received"] == {
        "LEASEACTIVE": ASKED * COUNT, "LEASEUNASSIGNED": ASKED * 50, "LEASEQUERYDONE": ASKED}, one
    assert theirs["bulk_queries"] == theirs["type"]["BULKLEASEQUERY"] == ASKED and theirs["sent"]["LEASEACTIVE"] == one["bindings"], theirs


@test
def a_query_for_a_link_gets_each_client_once():
    [one], theirs, result = run(leases(dhcp6, lease="both"), queries("leasequery6"), responder=dhcp6.answers(leasequery=True))
    assert one["answered"] == ASKED and one["bindings"] == theirs["bulk_bindings"] == ASKED * COUNT, result
    assert one["leases"] == 2 * one["bindings"] and one["received"] == {
        "LEASEQUERY-REPLY": ASKED, "LEASEQUERY-DATA": ASKED * (COUNT - 1), "LEASEQUERY-DONE": ASKED}, one
    assert theirs["bulk_queries"] == ASKED and theirs["bulk_dropped"] == 0, theirs


@test
def a_query_for_a_client_gets_its_binding():
    # Half of the clients have no lease.
    known = {"clients": ASKED, "subject": "0200{client:4}", "query": "mac"}
    asked, theirs, result = run(
        leases(dhcp4, ASKED // 2), queries("leasequery4", "mac", **known),
        queries("leasequery4", "client_id", **{**known, "query": "client_id", "subject": "010200{client:4}"}),
        queries("leasequery4", "relay_id", **{**known, "query": "relay_id"}),
        queries("leasequery4", "remote_id", **{**known, "query": "remote_id"}), responder=dhcp4.answers())
    for one in asked[:2]:
        assert one["answered"] == ASKED and one["bindings"] == one["empty"] == ASKED // 2, result
    for one in asked[2:]:  # it does not know the relays of clients
        assert one["failed"] == one["refused"] == one["status"]["NotAllowed"] == ASKED, result
    assert theirs["bulk_queries"] == 4 * ASKED, theirs


@test
def a_query_for_a_duid_or_address_gets_its_binding():
    known = {"clients": ASKED}
    asked, _, result = run(
        leases(dhcp6, ASKED // 2), queries("leasequery6", "client_id", query="client_id", subject="000300010200{client:4}", **known),
        queries("leasequery6", "address", query="address", address="2001:db8:0:1::-2001:db8:0:1::ff", **known),
        queries("leasequery6", "relay_id", query="relay_id", subject="0003000102000000000a"), responder=dhcp6.answers(leasequery=True))
    for one in asked[:2]:
        assert one["answered"] == ASKED and one["bindings"] == one["empty"] == ASKED // 2, result
    assert asked[2]["refused"] == asked[2]["status"]["UnknownQueryType"] == ASKED, result
    [one], theirs, result = run(leases(dhcp6, ASKED), queries("leasequery6"), responder=dhcp6.answers())
    assert one["refused"] == one["failed"] == one["status"]["NotAllowed"] == theirs["status"]["NotAllowed"] == ASKED, result


main()
