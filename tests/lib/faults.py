# SPDX-License-Identifier: BSD-3-Clause
"""Where each fault of the responder must show in the tester's ledger, computed from the settings alone."""

from math import lcm

# In this order the first one that has its turn befalls an answer, and no other.
TABLE = ("loss", "duplicate", "reorder", "corrupt", "corrupt_checksum", "truncate", "wrong_port", "wrong_address",
         "wrong_id", "wrong_question", "rcode", "tc", "empty", "unsolicited")
LOSING = {"loss", "corrupt", "corrupt_checksum", "truncate", "wrong_port", "wrong_address", "wrong_id", "wrong_question"}
CELL = {
    "duplicate": {"duplicate"},
    "stray": {"corrupt", "wrong_port", "wrong_address", "wrong_id", "wrong_question", "unsolicited"},
    "malformed": {"truncate"},
    "late": set(),
}
# The byte in the middle of an answer is a letter of "example".
NAMES = ["{random:12}.some.example.com A"]


def every_nth(every):
    """The section of the file for {fault: N}."""
    return {name: {"every": n} for name, n in every.items()}


def multiples(own, others, total):
    """How many numbers up to total are multiples of own and of none of the others."""
    if own > total:
        return 0
    return total // own - sum(multiples(lcm(own, n), others[:i], total) for i, n in enumerate(others))


def expected_faults(every, total):
    """{fault: how often} when each is due at every N-th of so many answers."""
    names = [name for name in TABLE if name in every]
    turns = [every[name] for name in names]
    counts = {name: multiples(turns[i], turns[:i], total) for i, name in enumerate(names)}
    return dict.fromkeys(TABLE, 0) | counts


def check_responder(document):
    """In a result with a responder, every request is accounted for, and every packet that left."""
    one = document["responder"]
    dut, = (port for port in document["ports"] if port["name"] == one["port"])
    dropped = sum(one["faults"].get(name, 0) for name in ("outage", "capacity", "loss"))
    assert one["received"] == one["answered"] + one["ignored"] + one["no_buffer"] + dropped, one
    extra = sum(one["faults"].get(name, 0) for name in ("duplicate", "unsolicited"))
    if not dut["tx_refused"]:
        sent = one["answered"] + extra - one["waiting"] + dut["other"]["neighbour_answered"]
        assert dut["tx_packets"] == sent, (one, dut)


def check_exact(result, document, counts, total):
    """The tester's result against what happened, and that against what the responder's document says was done."""
    one, port = result.item("queries"), result.json["ports"][0]
    done = {name: n for name, n in document["responder"]["faults"].items() if name in TABLE}
    assert done == {name: n for name, n in counts.items() if n}, (done, counts)
    lost = sum(counts[name] for name in LOSING)
    assert one["due"] == one["sent"] == total, one
    assert (one["answered"], one["failed"], one["lost"]) == (total - lost, 0, lost), (one, counts)
    for cell, names in CELL.items():
        assert one[cell] == sum(counts[name] for name in names), (cell, one, counts)
    assert port["other"]["bad_checksum"] == counts["corrupt_checksum"], port
    dns = one["dns"]
    assert dns["rcode"].get("SERVFAIL", 0) == counts["rcode"], dns
    assert dns["tc"] == counts["tc"] and dns["empty"] == counts["tc"] + counts["empty"], dns
    assert sum(dns["rcode"].values()) == total - lost, dns
