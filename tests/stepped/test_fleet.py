#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# A run that several boxes divide sends what one box with all of their workers would have sent: the same messages, none of them
# twice. The first packets are those of a dry run; those of real runs come from their captures.

import concurrent.futures
import json
import socket
import struct
import tempfile
from collections import Counter
from pathlib import Path

from harness import EXIT, binary, config_file, ddiperf, execute, main, test, tshark
from loop import item, parse_udp, ring

PORT = {"name": "lan", "driver": "af_packet", "device": "nosuch0", "addresses": ["198.18.0.1/24", "2001:db8::1/64"]}
EVEN = [[1] * 2, [1] * 3, [1] * 4]
RANDOM = {"names": ["{random:12}.example.com AAAA", "h{0-99}.example.com A"], "cookies": "full", "case_0x20": True}
QUERIES = "".join(f"q{n}.example.com A\n" for n in range(37))


def text(weights, part, *items, workers=1, **run):
    """The file of a part of a fleet; part 0: of a box that has all of its workers."""
    weight = weights[part - 1] if part else sum(weights)
    fleet = {"agents": len(weights), "part": part, **({"weights": weights} if len(set(weights)) > 1 else {})}
    return json.dumps({
        "run": {"warmup": "0s", "duration": "10s", **run}, "fleet": fleet, "traffic": items,
        "ports": [{**PORT, "cpus": [900] * (weight * workers)}]})


def frames(path):
    """The packets of a pcapng file of this byte order: its enhanced packet blocks."""
    data, at, out = path.read_bytes(), 0, []
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        if kind == 6:
            out.append(data[at + 28:at + 28 + struct.unpack_from("<I", data, at + 20)[0]])
        at += size
    return out


def packets(config, files=None):
    """The packets of a dry run."""
    with config_file(config) as path:
        for name, content in (files or {}).items():
            (path.parent / name).write_text(content)
        code, stdout, stderr = execute([binary(), "run", str(path), "--dry-run", "out.pcapng"], cwd=path.parent)
        assert code == 0, f"{code}\n{stdout}{stderr}"
        return [parse_udp(frame) for frame in frames(path.parent / "out.pcapng")]


def parts_of(weights, *items, files=None, **more):
    """The packets of a box with all workers, and those of each part."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        whole, *parts = pool.map(lambda part: packets(text(weights, part, *items, **more), files), range(len(weights) + 1))
    return whole, parts


def assert_union(weights, *items, **more):
    whole, parts = parts_of(weights, *items, **more)
    sent, union = Counter(one.frame for one in whole), Counter(one.frame for part in parts for one in part)
    assert sent == union, (weights, items, list(map(len, parts)), [frame.hex() for frame in [*(sent - union), *(union - sent)][:4]])
    least = len(whole) * min(weights) // sum(weights) - 1
    assert all(len(part) >= least > 0 for part in parts), list(map(len, parts))
    return parts


def dns(load, **settings):
    return item(load=load, dns=settings or RANDOM)


def clients4(load, relays=None, **dhcp4):
    """Clients that each send a message of their own."""
    relay = {"relay": {"addresses": [relays]}} if relays else {}
    server = {"server": "198.18.0.2"} if relays else {}
    return {"name": "clients", "load": load, "timeout": "500ms", **server, "dhcp4": {**relay, **dhcp4}}


@test
def queries_of_each_load_are_those_of_one_box():
    loads = [
        {"rate": "9", "arrivals": "constant"}, {"rate": "1k", "total": 83}, {"rate": "9", "arrivals": "poisson"}, {"outstanding": 13},
        {"ramp": {"from": "2", "to": "12", "over": "10s"}}, {"steps": [{"rate": "3", "for": "4s"}, {"rate": "11", "for": "4s"}]},
        {"wave": {"mean": "8", "amplitude": "5", "period": "3s"}}, {"burst": {"size": 5, "every": "600ms"}},
    ]
    for number, load in enumerate(loads):
        assert_union(EVEN[number % 3], dns(load))


@test
def queries_of_weighted_parts_are_those_of_one_box():
    for load in ({"rate": "8"}, {"rate": "1k", "total": 90}, {"outstanding": 12}, {"ramp": {"from": "2", "to": "12", "over": "10s"}}):
        three, one = assert_union([3, 1], dns(load))
        assert len(three) in range(3 * len(one) - 3, 3 * len(one) + 4), (len(three), len(one))


@test
def the_warmup_is_divided_too():
    assert_union([1, 1, 1], dns({"rate": "20", "total": 37}), warmup="1s", duration="3s")


@test
def parts_of_several_workers_are_those_of_one_box():
    assert_union([1, 1], dns({"rate": "9"}), workers=2)
    assert_union([2, 1], item(load={"rate": "1k", "total": 40}), item("v6", server="2001:db8::2", load={"rate": "1k", "total": 31}))


@test
def queries_of_a_file_are_divided_in_each_order():
    for order in ("sequential", "random", "zipf"):
        assert_union([1, 1, 1], dns({"rate": "9"}, queries="queries.txt", order=order), files={"queries.txt": QUERIES})


@test
def clients_are_divided_with_their_identities():
    for weights in (EVEN[1], [3, 1]):
        load = {"rate": "1k", "total": 84}
        for one in (clients4(load, clients=120), clients4(load, "198.18.0.64-198.18.0.75", clients=480), clients4(load)):
            parts = assert_union(weights, one)
            macs = [set(sent.payload[28:34] for sent in part) for part in parts]
            assert sum(map(len, macs)) == len(set.union(*macs)), (weights, one)


@test
def clients6_are_divided_with_their_identities():
    relays = {"addresses": ["2001:db8::100-2001:db8::10b"]}
    for weights in (EVEN[1], [3, 1]):
        for settings in ({"dhcp6": {"clients": 120}}, {"server": "2001:db8::2", "dhcp6": {"clients": 480, "relay": relays}}):
            assert_union(weights, {"name": "clients", "timeout": "2s", "load": {"rate": "1k", "total": 84}, **settings})


@test
def relays_belong_to_the_box_of_their_clients():
    """A reply of the server goes to the relay's address: no two boxes have the same one."""
    parts = assert_union([1, 1], clients4({"rate": "9"}, "198.18.0.64-198.18.0.71", clients=80))
    relays = [set(socket.inet_ntoa(sent.src) for sent in part) for part in parts]
    assert [len(one) for one in relays] == [4, 4] and not relays[0] & relays[1], relays


@test
def source_addresses_are_divided_in_pieces():
    """Each box has its own, with all source ports; the questions are those of one box."""
    one = item(load={"rate": "1k", "total": 80}, source={"addresses": ["198.18.0.10-198.18.0.13", "198.18.0.20-198.18.0.21"]})
    whole, parts = parts_of([1, 1, 1], one)
    sources = [set(socket.inet_ntoa(sent.src) for sent in part) for part in parts]
    assert [sorted(one) for one in sources] == [[f"198.18.0.{a}", f"198.18.0.{b}"] for a, b in ((10, 11), (12, 13), (20, 21))], sources
    union = [sent for part in parts for sent in part]
    assert Counter(sent.payload[2:] for sent in union) == Counter(sent.payload[2:] for sent in whole)
    assert len({(sent.src, sent.sport, sent.payload[:2]) for sent in union}) == 80


def captured(folder, part, weights, load):
    """Payloads of the queries of a run over rings, and its result."""
    path = folder / f"{part}.pcapng"
    workers = weights[part - 1] if part else sum(weights)
    result = ddiperf(ring(
        item(load=load, timeout="2s", dns=RANDOM), run={"duration": "400ms", "seed": 7}, tester={"cpus": [1] * workers},
        dut={"cpus": [0] * workers}, output={"capture": {"file": str(path), "when": ["answered"], "limit": "30k"}},
        fleet={"agents": len(weights), "weights": weights, "part": part}))
    assert result.code == EXIT["pass"], result
    rows = tshark(path, ("udp.dstport", "udp.srcport", "udp.payload"))
    return Counter((row["udp.srcport"], row["udp.payload"]) for row in rows if row["udp.dstport"] == "53"), result.item("queries")


@test
def real_runs_send_what_one_box_sends():
    with tempfile.TemporaryDirectory() as folder:
        whole, first, second = (captured(Path(folder), part, [2, 1], {"rate": "4k"}) for part in range(3))
    assert first[0] + second[0] == whole[0] and whole[0].total() == 1600
    assert first[1]["due"] + second[1]["due"] == whole[1]["due"] == whole[1]["answered"] == 1600


if __name__ == "__main__":
    main()
