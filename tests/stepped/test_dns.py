#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# What can be asked and how: query files, patterns, orders, EDNS and its options, cookies, 0x20; over both families,
# against the embedded responder, and byte by byte where it leaves the port.

import struct
import tempfile
from collections import Counter
from pathlib import Path

from harness import EXIT, check_ledger, ddiperf, main, test
from loop import item, opt, question, ring, sent_to_file

EVERYTHING = {
    "size": 1400, "do": True, "nsid": True, "client_subnet": "192.0.2.0/20",
    "options": [{"code": 65001, "hex": "c0ffee"}],
}
CLIENTS = {"addresses": ["198.18.0.16-198.18.0.23"], "ports": ["2000-2009"]}


def answered(*items, files=None, **more):
    """Run it; all must be answered."""
    result = ddiperf(ring(*items, **more), files=files)
    assert result.code == 0, result
    for one in result.json["traffic"]:
        check_ledger(one)
        assert one["answered"] == one["sent"] == one["due"] > 0, one
        assert one["stray"] == one["malformed"] == one["duplicate"] == one["late"] == 0, one
    return result


def messages(dns, count=200, files=None, **keys):
    """What leaves the port: DNS messages in order."""
    with tempfile.TemporaryDirectory() as name:
        for file, text in (files or {}).items():
            (Path(name) / file).write_text(text)
            dns = {**dns, "queries": str(Path(name) / file)}
        one = item(load={"rate": "20k", "total": str(count)}, dns=dns, **keys)
        packets = sent_to_file(Path(name), one)[1]
    assert len(packets) == count
    return [packet.payload for packet in packets]


@test
def everything_at_once_is_answered_over_ipv4():
    dns = {"names": ["{random:12}.example.com A"], "case_0x20": True, "cookies": "full", "edns": EVERYTHING,
           "expect": {"rcode": ["NOERROR"], "min_answers": 1}}
    one = answered(item(dns=dns, source=CLIENTS)).item("queries")["dns"]
    assert one["nsid"] == 600 and one["cookies_learnt"] == 8, one
    assert one["badcookie_retries"] == one["cookie_bad"] == one["client_subnet_bad"] == one["case_mismatch"] == 0, one
    assert one["edns_refused"] == one["oversize"] == one["trailing"] == one["tc"] == 0, one


@test
def everything_at_once_is_answered_over_ipv6():
    dns = {"names": ["{random:12}.example.com AAAA"], "case_0x20": True, "cookies": "full",
           "edns": {**EVERYTHING, "client_subnet": "2001:db8:1::/40"}}
    result = answered(
        item(dns=dns, server="2001:db8::2", source={**CLIENTS, "addresses": ["2001:db8::10-2001:db8::17"]}),
        tester={"addresses": ["2001:db8::1/64"]}, dut={"addresses": ["2001:db8::2/64"]})
    assert result.item("queries")["dns"]["cookies_learnt"] == 8, result


@test
def both_families_run_on_one_port():
    both = {"tester": {"addresses": ["198.18.0.1/24", "2001:db8::1/64"]},
            "dut": {"addresses": ["198.18.0.2/24", "2001:db8::2/64"]}}
    result = answered(item("four"), item("six", server="2001:db8::2"), **both)
    assert result.json["responder"]["answered"] == 1200, result.json["responder"]


@test
def a_client_cookie_alone_learns_nothing():
    one = answered(item(dns={"names": ["a.example.com A"], "cookies": "client"})).item("queries")["dns"]
    assert one["cookies_learnt"] == one["cookie_bad"] == 0, one


@test
def every_query_of_a_file_is_asked_in_its_order_and_again():
    lines = [f"h{i}.example.com {kind}" for i, kind in enumerate(("A", "AAAA", "TXT", "MX", "SOA", "TYPE65280"))]
    text = "; a comment\n\n" + "\r\n".join(lines[:3]) + "\n\n  " + "\n".join(lines[3:])
    result = answered(item(dns={"queries": "q.txt"}), files={"q.txt": text})
    assert result.json["responder"]["protocols"][0]["dns"]["type"] == {"A": 100, "AAAA": 100, "TXT": 100, "other": 300}
    asked = [question(message)[:2] for message in messages({}, 12, files={"q.txt": text})]
    assert asked == [(f"h{i % 6}.example.com", (1, 28, 16, 15, 6, 65280)[i % 6]) for i in range(12)], asked


@test
def the_words_after_a_type_are_on_the_wire_of_that_query_alone():
    text = "a.x A\nb.x A E\nc.x A D\nd.x A 192.0.2.77/25\ne.x A d 2001:db8::/32\n"
    for edns in (None, {"size": 4096, "nsid": True}):
        size, common = (4096, {3: b""}) if edns else (1232, {})
        own = [None, (size, 0, 0, 0, common), (size, 0, 0, 0x8000, common),
               (size, 0, 0, 0, {8: b"\0\1\x19\0\xc0\0\2\0", **common}),
               (size, 0, 0, 0x8000, {8: b"\0\2\x20\0\x20\1\x0d\xb8", **common})]
        for i, message in enumerate(messages({"edns": edns} if edns else {}, 20, files={"q.txt": text})):
            want = own[i % 5] or (own[1] if edns else None)
            assert message[11] == (want is not None) and question(message)[0] == f"{'abcde'[i % 5]}.x", message.hex()
            assert opt(message) == want if want else question(message)[2] == len(message), (i, message.hex())


@test
def each_query_of_a_list_is_judged_by_its_own_edns():
    names = ["{random:9}.x A", "b.x A E", "c.x A D", "d.x A 192.0.2.0/24", "e.x TXT"]
    for more in ({}, {"case_0x20": True}, {"cookies": "full"}):
        one = answered(item(dns={"names": names, "expect": {"rcode": ["NOERROR"], "min_answers": 1}, **more}))
        one = one.item("queries")["dns"]
        assert one["edns_refused"] == one["oversize"] == one["client_subnet_bad"] == 0, one


@test
def a_class_is_that_of_the_line_or_of_the_list():
    dns = {"names": ["version.bind CH TXT", "a.x A"], "expect": {"rcode": ["NOERROR"], "min_answers": 1}}
    result = answered(item(dns=dns))
    assert result.json["responder"]["protocols"][0]["dns"]["type"] == {"A": 300, "TXT": 300}, result
    classes = [m[-2:] for m in messages({"names": ["a.x A", "b.x IN A", "c.x ANY A"], "class": "HS"}, 3)]
    assert classes == [b"\0\4", b"\0\1", b"\0\xff"], classes


@test
def a_word_that_is_not_known_is_refused_or_ignored_as_set():
    text, files = ring(item(dns={"queries": "q.txt"})), {"q.txt": "a.x A\nb.x A DNSSEC\n"}
    result = ddiperf(text, files=files)
    assert result.code == EXIT["usage"] and "q.txt:2:7: a word after the type" in result.stderr, result
    assert "extra_words" in result.stderr, result
    answered(item(dns={"queries": "q.txt", "extra_words": "ignore"}), files=files)


@test
def bad_lines_are_left_out_on_demand_and_plan_and_result_say_how_many():
    text, files = ring(item(dns={"queries": "q.txt", "bad_lines": "skip"})), {"q.txt": "a.x A\nb.x\nc\0.x A\nc.x AAA\nd.x A\n"}
    used = ("2 of 5 lines of q.txt; left out: 1 no type after the name, 1 holds a NUL octet: not a text, 1 not a type "
            "(first: line 2)")
    result = ddiperf(text, files=files)
    assert result.code == 0 and result.item("queries")["input"] == used, result
    assert f"  used {used}\n" in result.stdout, result.stdout
    assert f"  used         {used}\n" in ddiperf(text, command="plan", files=files).stdout
    strict = ddiperf(text, "--set", "traffic.queries.dns.bad_lines=error", files=files)
    assert strict.code == EXIT["usage"], strict


@test
def escapes_and_the_root_are_read_as_in_a_zone_file():
    text = "a\\.b\\032c.example A\n. NS\n\\255\\000.x TXT\n"
    asked = [question(message)[0] for message in messages({}, 3, files={"q.txt": text})]
    assert asked == ["a.b c.example", "", "\xff\0.x"], asked


@test
def names_out_of_a_random_pattern_never_repeat():
    names = [question(message)[0] for message in messages({"names": ["{random:8}.example.com A"]}, 5000)]
    assert len(set(names)) == 5000
    assert all(len(name) == len("12345678.example.com") for name in names)


@test
def a_range_counts_through_all_its_names():
    names = Counter(question(message)[0] for message in messages({"names": ["h{8-11}.example.com A"]}, 40))
    assert names == {f"h{i}.example.com": 10 for i in range(8, 12)}, names


@test
def random_order_draws_and_zipf_prefers_the_first():
    pattern = ["h{0-99}.example.com A"]
    drawn = [question(m)[0] for m in messages({"names": pattern, "order": "random"}, 5000)]
    counts = Counter(drawn)
    assert len(counts) == 100 and max(counts.values()) < 100, counts.most_common(3)
    assert drawn[:100] != [f"h{i}.example.com" for i in range(100)]
    zipf = Counter(question(m)[0] for m in messages({"names": pattern, "order": "zipf"}, 5000))
    first, second, last = (zipf[f"h{i}.example.com"] for i in (0, 1, 99))
    # 1/n over a hundred names: 19 %, 10 % and 0.2 % of them.
    assert 800 < first < 1130 and 390 < second < 580 and last < 40, zipf.most_common(3)


@test
def header_bits_are_those_of_the_settings():
    for dns, flags in (({}, 0x0100), ({"rd": False}, 0), ({"cd": True}, 0x0110), ({"rd": False, "ad": True}, 0x0020)):
        for message in messages({"names": ["a.example.com A"], **dns}, 5):
            assert struct.unpack_from("!5H", message, 2) == (flags, 1, 0, 0, 0), (dns, message.hex())


@test
def edns_is_on_the_wire_as_set():
    for message in messages({"names": ["a.example.com A"], "edns": EVERYTHING}, 50):
        assert struct.unpack_from("!4H", message, 4) == (1, 0, 0, 1)
        size, extended, version, flags, options = opt(message)
        assert (size, extended, version, flags) == (1400, 0, 0, 0x8000), message.hex()
        assert options[3] == b"" and options[65001] == b"\xc0\xff\xee", options
    size, _, version, flags, options = opt(messages({"names": ["a.example.com A"], "edns": {"version": 1}}, 1)[0])
    assert (size, version, flags, options) == (1232, 1, 0, {})


@test
def every_query_has_a_client_subnet_of_its_own_inside_the_given_network():
    subnets = [opt(m)[4][8] for m in messages({"names": ["a.x A"], "edns": {"client_subnet": "192.0.0.0/12"}}, 1000)]
    assert all(subnet[:4] == b"\0\1\x18\0" and len(subnet) == 7 for subnet in subnets), subnets[0].hex()
    assert all(subnet[4] == 192 and subnet[5] < 16 for subnet in subnets)
    assert len(set(subnets)) > 800
    sixth = opt(messages({"names": ["a.x A"], "edns": {"client_subnet": "2001:db8::/32"}}, 1)[0])[4][8]
    assert sixth[:4] == b"\0\2\x38\0" and sixth[4:8] == b"\x20\x01\x0d\xb8" and len(sixth) == 11, sixth.hex()


@test
def a_client_keeps_its_cookie_and_no_two_have_the_same():
    cookies = {}
    with tempfile.TemporaryDirectory() as name:
        one = item(load={"rate": "20k", "total": "800"}, dns={"names": ["a.x A"], "cookies": "full"},
                   source=CLIENTS)
        for packet in sent_to_file(Path(name), one)[1]:
            cookies.setdefault(packet.src, set()).add(opt(packet.payload)[4][10])
    assert len(cookies) == 8 and all(len(seen) == 1 for seen in cookies.values()), cookies
    assert len(set.union(*cookies.values())) == 8 and all(len(c) == 8 for c in set.union(*cookies.values()))


@test
def with_0x20_the_case_of_every_letter_is_drawn():
    names = [question(m)[0] for m in messages({"names": ["abcdefgh.example.com A"], "case_0x20": True}, 1000)]
    assert {name.lower() for name in names} == {"abcdefgh.example.com"} and len(set(names)) > 900
    for at, letter in enumerate("abcdefgh.example.com"):
        upper = sum(name[at].isupper() for name in names)
        assert letter == "." or 400 < upper < 600, (at, upper)


@test
def a_version_that_the_server_does_not_speak_is_counted_as_badvers():
    result = ddiperf(ring(item(dns={"names": ["a.example.com A"], "edns": {"version": 1}})))
    assert result.item("queries")["dns"]["rcode"] == {"BADVERS": 600}, result


@test
def a_name_of_255_octets_and_one_of_one_are_asked_and_answered():
    longest = ".".join(["a" * 63] * 3 + ["b" * 61])
    answered(item(dns={"queries": "q.txt", "case_0x20": True, "edns": EVERYTHING, "cookies": "full"}),
             files={"q.txt": f"{longest} A\n. NS\n"})


@test
def captured_queries_go_out_again_as_they_were():
    dns = {"names": ["h{0-19}.example.com A"], "edns": EVERYTHING, "case_0x20": True, "cookies": "client"}
    with tempfile.TemporaryDirectory() as name:
        first = [packet.payload for packet in sent_to_file(Path(name), item(load={"rate": "20k", "total": "20"}, dns=dns))[1]]
        files = {"out.pcap": (Path(name) / "out.pcap").read_bytes(),
                 "stream": b"".join(struct.pack(">H", len(message)) + message for message in first)}
        for file, data in files.items():
            (Path(name) / "again").write_bytes(data)
            again = messages({"wire": str(Path(name) / "again")}, 40)
            assert [message[2:] for message in again] == 2 * [message[2:] for message in first], file
            answers = answered(item(dns={"wire": str(Path(name) / "again"), "expect": {"min_answers": 1}}))
            assert answers.item("queries")["dns"]["rcode"] == {"NOERROR": 600}, answers


def captured(times):
    """A capture of raw IP with a query at each time, and its answer 1 ms later."""
    file = struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 101)
    for us in times:
        for later, flags, ports in ((0, 0x100, (4000, 53)), (1000, 0x8180, (53, 4000))):
            message = struct.pack(">6H", us & 0xffff, flags, 1, 0, 0, 0) + b"\1a\1x\0\0\1\0\1"
            udp = struct.pack(">4H", *ports, 8 + len(message), 0) + message
            packet = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, b"\xc6\x12\0\1", b"\xc6\x12\0\2")
            file += struct.pack("<4I", 7, us + later, *2 * [len(packet + udp)]) + packet + udp
    return file


@test
def a_replay_of_the_capture_that_the_queries_are_from_has_their_times():
    text = ring(item(load={"replay": {"file": "c.pcap"}}, dns={"wire": "c.pcap"}), run={"warmup": "0s", "duration": "1s"})
    files = {"c.pcap": captured([0, 100_000, 100_500, 300_000])}
    result = ddiperf(text, files=files)
    one = result.item("queries")
    assert result.code == 0 and one["sent"] == one["answered"] == 4, result
    assert one["input"] == "4 of 8 packets of c.pcap; left out: 4 answers", one["input"]
    plan = ddiperf(text, command="plan", files=files).stdout
    assert "10.0 /s exchanges" in plan and "at most" not in plan, plan


@test
def a_capture_that_ends_within_a_packet_is_read_up_to_there():
    text = ring(item(load={"rate": "100", "total": "3"}, dns={"wire": "c.pcap"}))
    one = ddiperf(text, files={"c.pcap": captured([0, 100_000])[:-5]}).item("queries")
    assert one["answered"] == 3, one
    assert one["input"] == "2 of 4 packets of c.pcap; left out: 1 answers, 1 at the end of the file, which is cut off", one


@test
def a_notify_has_its_opcode_and_so_has_its_answer():
    dns = {"names": ["example.com SOA"], "opcode": "NOTIFY"}
    assert {message[2] for message in messages(dns)} == {4 << 3 | 4}
    one = answered(item(dns=dns)).item("queries")["dns"]
    assert one["rcode"] == {"NOTIMP": 600} and one["no_question"] == 600, one  # the responder has no zones


@test
def a_file_that_is_cut_is_refused_where_it_ends():
    result = ddiperf(ring(item(dns={"wire": "cut"})), files={"cut": "\0\x0d\0\0\1\0\0\1"})
    assert result.code == EXIT["usage"] and "cut: message 1, at byte 0: cut off" in result.stderr, result


main()
