#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Zone transfers from the responder's zones over TCP: of many messages, more than its memory holds at once; the changes by
# updates, as far as the journal reaches back; signed ones, whose mistakes are counted apart; delegations and DNAME.

import base64

from harness import check_ledger, ddiperf, main, test
from loop import item, ring

HEAD = "$ORIGIN example.com.\n$TTL 300\n@ SOA ns hostmaster 10 3600 900 604800 60\n@ NS ns\nns A 192.0.2.53\n"
TCP = {"transport": "tcp", "tcp": {"connections": 4}}
KEY = {"secret_file": "k", "name": "k.example"}
SECRET = base64.b64encode(bytes(range(100, 132))).decode()


def zone(names):
    return HEAD + "".join(f"h{i} A 10.{i >> 16}.{i >> 8 & 255}.{i & 255}\n" for i in range(names))


def transfer(zone_text, items, responder=None, run=None, **dns):
    """Transfers, and other items: [the item's part], the responder's, its connections, and the result."""
    result = ddiperf(ring(*items, run={"duration": "1s", **(run or {})}, responder={
        "dns": {"zone": "zone", **dns}, **(responder or {})}), files={"zone": zone_text, "k": SECRET})
    assert result.json, result
    for one in result.json["traffic"]:
        check_ledger(one)
        assert one["sent"] == one["due"] > 0, result
    theirs = result.json["responder"]
    return [one["dns"] for one in result.json["traffic"]], theirs["protocols"][0]["dns"], theirs.get("connections"), result


def transfers(total=20, name="transfers", lines=("example.com",), rate="1k", at="0s", **dns):
    return item(name, timeout="30s", load={"rate": rate, "total": str(total), "start_at": at},
                dns={**TCP, "transfers": list(lines), **dns})


@test
def a_zone_of_many_messages_comes_whole():
    [ours], theirs, conns, result = transfer(zone(3000), [transfers(6)], transfer_size="4KiB")
    assert ours["transfers"] == theirs["transfers"] == 6 and ours["rcode"] == {"NOERROR": ours["transfer_messages"]}, result
    assert ours["transfer_records"] == theirs["transfer_records"] == 6 * (3000 + 4), (ours, theirs)
    assert ours["transfer_messages"] == theirs["transfer_messages"] > 6 * 12, (ours, theirs)
    assert conns["further"] == theirs["transfer_messages"] - 6, conns


@test
def zones_beyond_the_memory_of_the_responder_wait_for_their_turn():
    # 28 MB at once; the blocks for what waits are 15 MB.
    [ours], theirs, _, result = transfer(zone(30000), [transfers(40, rate="max", tcp={"connections": 40})], transfer_size="60KiB")
    assert ours["transfers"] == theirs["transfers"] == 40 and theirs["transfers_dropped"] == 0, result
    assert ours["transfer_records"] == 40 * 30004 and result.item("transfers")["connections"]["no_memory"] == 0, result


ADD = "example.com\nadd n{random:12} 60 A 10.0.0.1\nadd n{random:12} 60 TXT two"
DELETE = "example.com\ndelete n{random:12} TXT"


def updates(total, run):
    return item("updates", load={"rate": "20k", "total": str(total)}, dns={"update": [ADD, DELETE], "update_run": run})


@test
def the_changes_by_updates_come_in_their_order():
    # 100 additions of two records, 50 deletions of one; the SOA records before and after each are in it.
    lines = ["example.com 10", "example.com 110", "example.com 160", "example.com 9"]
    [_, ours], theirs, _, result = transfer(HEAD, [
        updates(150, 100), transfers(4, rate="100", lines=lines, at="300ms")], zone_room="1MiB", transfer_size="1000B")
    assert ours["transfers"] == theirs["transfers"] == 4 and ours["transfers_unchanged"] == theirs["transfers_unchanged"] == 1, result
    assert theirs["transfers_incremental"] == 2 and theirs["transfers_overtaken"] == 0, theirs
    whole = 4 + 200 - 50
    assert ours["transfer_records"] == (2 + 100 * 4 + 50 * 3) + (2 + 50 * 3) + 1 + whole, ours
    assert ours["transfer_messages"] == theirs["transfer_messages"] > 20, ours


@test
def a_journal_that_is_too_small_gives_whole_zones():
    [_, ours], theirs, _, result = transfer(HEAD, [
        updates(150, 100), transfers(2, rate="100", lines=["example.com 10", "example.com 158"], at="300ms")],
        zone_room="1MiB", journal="2KiB")
    assert ours["transfers"] == 2 and theirs["transfers_incremental"] == 1, result
    assert ours["transfer_records"] == (4 + 200 - 50) + (2 + 2 * 3), ours


@test
def a_transfer_that_a_change_overtakes_ends_with_servfail():
    # It lasts, as the client's window is small.
    slow = {"connections": 2, "window": "2KiB"}
    [_, ours], theirs, _, result = transfer(zone(20000), [
        item("updates", load={"rate": "100", "total": "100"}, dns={"update": [ADD]}), transfers(20, tcp=slow)], zone_room="1MiB")
    assert theirs["transfers_overtaken"] == ours["rcode"]["SERVFAIL"] > 0, result
    assert ours["transfers"] == theirs["transfers"] and ours["transfers"] + ours["unexpected_rcode"] == 20, result


def signatures(dns):
    return {name: n for name, n in dns.items() if name.startswith("tsig") and n}


@test
def transfers_are_signed_and_verified():
    for every, signed in ((1, lambda n: n), (10, lambda n: 1 + -(-(n - 1) // 10)), (1000, lambda n: 2)):
        [ours], theirs, _, result = transfer(zone(4000), [transfers(2, key=KEY)], keys=[KEY], transfer_size="1KiB",
                                             transfer_signed_every=every)
        each = ours["transfer_messages"] // 2
        assert ours["transfers"] == theirs["transfers"] == 2 and each > 60, result
        assert signatures(ours) == {"tsig_verified": 2 * signed(each)} and signatures(theirs) == {"tsig_verified": 2}, result


@test
def each_mistake_in_a_signed_transfer_is_counted_apart():
    for counter, dns, faults in (
            ("tsig_chain_unsigned", {"transfer_signed_every": 101, "transfer_size": "512B"}, None),
            ("tsig_chain_bad", {"transfer_size": "1KiB"}, {"tsig_mac": {"every": 50}}),
            ("tsig_chain_bad", {"transfer_size": "1KiB"}, {"tsig_unsigned": {"every": 50}})):
        [ours], _, _, result = transfer(zone(4000), [transfers(1, key=KEY)], keys=[KEY],
                                        responder={"faults": faults} if faults else None, **dns)
        assert ours["transfers"] == 0 and ours[counter] == 1 and result.item("transfers")["failed"] == 1, (counter, result)
    [ours], theirs, _, result = transfer(zone(10), [transfers(1, key=KEY, lines=["example.com 9"])], keys=[])
    assert signatures(ours) == {"tsig_unsigned": 1} and theirs["transfers"] == 1, result


@test
def names_below_are_delegated_or_redirected():
    text = HEAD + ("sub NS ns.sub\nsub NS ns.example.net.\nns.sub A 192.0.2.54\nns.sub AAAA 2001:db8::54\n"
                   "old DNAME new\nwww.new A 192.0.2.80\ninto CNAME x.sub\n")
    names = {"a.b.sub A": ("empty", False), "sub NS": ("empty", False), "ns.sub A": ("empty", False), "sub DS": ("empty", True),
             "www.old A": ("", True), "into A": ("", True)}
    items = [item(f"item{i}", load={"rate": "1k", "total": "5"}, dns={"names": [name.replace(" ", ".example.com ", 1)]})
             for i, name in enumerate(names)]
    found, theirs, _, result = transfer(text, items, run={"duration": "100ms"})
    for (name, (empty, aa)), one in zip(names.items(), found):
        assert one["rcode"] == {"NOERROR": 5} and one["aa"] == (5 if aa else 0) and one["empty"] == (5 if empty else 0), (name, one)


main()
