# SPDX-License-Identifier: BSD-3-Clause
"""Where each fault of the responder must show in the tester's ledger, computed from the settings alone."""

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


def expected_faults(every, total):
    """{fault: how often} when each is due at every N-th of so many answers."""
    counts = dict.fromkeys(TABLE, 0)
    for n in range(1, total + 1):
        for name in TABLE:
            if name in every and n % every[name] == 0:
                counts[name] += 1
                break
    return counts


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
