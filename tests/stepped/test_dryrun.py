#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# run --dry-run: the packets that a run would send, without a port and as any user.

import contextlib
import json
import os
import shutil
import tempfile
from pathlib import Path

from harness import binary, config_file, execute, main, test, tshark
from loop import item

# A port that no box has, with a CPU that no box has: nothing of it is touched.
PORT = {"name": "lan", "driver": "af_packet", "device": "nosuch0", "cpus": [900], "addresses": ["198.18.0.1/24", "2001:db8::1/64"]}
FULL = {
    "names": ["www.example.com A", "{random:12}.example.com AAAA"],
    "edns": {"size": 1232, "do": True, "nsid": True, "client_subnet": "198.51.100.0/24"},
    "cookies": "full", "case_0x20": True,
}


def text(*items, port=None, **sections):
    return json.dumps({
        "run": {"warmup": "0s", "duration": "10s"}, "ports": [{**PORT, **(port or {})}], "traffic": list(items or [item()]), **sections})


@contextlib.contextmanager
def dry_run(config, program=None):
    """Yields the path of the packet file of a run that must succeed."""
    with config_file(config) as path:
        path.parent.chmod(0o777)
        path.chmod(0o644)
        out = path.parent / "first.pcapng"
        code, stdout, stderr = execute([*(program or [binary()]), "run", str(path), "--dry-run", str(out)])
        assert code == 0, f"{code}\n{stdout}{stderr}"
        yield out


def rows_of(path, *fields):
    return [list(packet.values()) for packet in tshark(path, fields)]


def assert_clean(path):
    """tshark dissects every packet to its end and has nothing to complain about."""
    code, out, err = execute(["tshark", "-r", str(path), "-V", "-o", "udp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"])
    assert code == 0, err
    for word in ("Malformed", "malformed", "Severity level: Error", "Severity level: Warning", "[incorrect", "Unreassembled"):
        assert word not in out, next(line for line in out.splitlines() if word in line)
    assert "Domain Name System (query)" in out


@test
def the_first_hundred_are_there_at_the_times_of_the_schedule():
    with dry_run(text(item(load={"rate": "1k"}))) as path:
        rows = rows_of(path, "frame.time_epoch", "eth.dst", "ip.dst", "udp.dstport", "frame.interface_name", "frame.comment")
        assert_clean(path)
    assert len(rows) == 100
    assert [row[0] for row in rows] == [f"0.{500_000 + n * 1_000_000:09d}" for n in range(100)], rows[:3]
    assert all(row[1:] == ["02:00:00:00:00:01", "198.18.0.2", "53", "lan", "queries"] for row in rows), rows[0]


@test
def items_share_the_hundred_and_stand_in_order_of_time():
    many = [item("fast", load={"rate": "20k"}), item("slow", load={"rate": "100"}), item("loop", load={"outstanding": 5})]
    with dry_run(text(*many)) as path:
        rows = rows_of(path, "frame.time_epoch", "frame.comment")
    times, names = [float(row[0]) for row in rows], [row[1] for row in rows]
    assert times == sorted(times)
    assert {name: names.count(name) for name in set(names)} == {"fast": 33, "slow": 33, "loop": 5}, names


@test
def what_ends_early_is_not_more_than_the_run_would_send():
    with dry_run(text(item(load={"rate": "10", "total": 7}), item("short", load={"rate": "2"}))) as path:
        names = [row[0] for row in rows_of(path, "frame.comment")]
    assert names.count("queries") == 7 and names.count("short") == 20, names


@test
def tshark_finds_nothing_wrong_with_either_family_vlans_and_every_option():
    for vlans in ([], [100], [100, 200]):
        both = [item("four", dns=FULL), item("six", server="2001:db8::2", dns=FULL)]
        with dry_run(text(*both, port={"vlans": vlans})) as path:
            assert_clean(path)
            rows = rows_of(path, "frame.comment", "vlan.id", "ieee8021ad.id", "dns.opt.code", "udp.checksum.status", "dns.qry.name")
        assert len(rows) == 100
        assert {row[0] for row in rows} == {"four", "six"}
        assert all(set(row[3].split(",")) >= {"3", "8", "10"} for row in rows), rows[0]
        assert all(row[4] == "1" for row in rows)
        for row in rows:
            assert [word for cell in (row[2], row[1]) for word in cell.split(",") if word] == [str(tag) for tag in vlans], (vlans, row)
        assert any(row[5] != row[5].lower() for row in rows), "0x20"


@test
def the_same_seed_gives_the_same_file_and_another_one_another():
    def written(seed):
        with dry_run(text(run={"seed": seed}) if seed else text()) as path:
            return path.read_bytes()

    assert written(0) == written(0) and written(7) == written(7) != written(8)


@test
def any_user_may():
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        program = shutil.copy(binary(), folder)
        with dry_run(text(port={"driver": "pci", "device": "0000:ff:00.0"}), [*user, program] if os.geteuid() == 0 else [program]) as path:
            assert len(rows_of(path, "frame.number")) == 100


main()
