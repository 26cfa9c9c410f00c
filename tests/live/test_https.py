#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# DNS over HTTPS at real servers: all queries are answered, by POST and GET, and the server has counted as many of them. What
# servers refuse, and the limits they announce. The responder, judged by other clients.

import json
import re
import tempfile
from pathlib import Path

from harness import EXIT, binary, check_ledger, execute, kill, main, nightly, start, test
from live import DRIVERS, RELEASE, SERVER, config, item, lab, responding, since

# The server's counter of queries by family.
SERVERS = {
    "unbound": {"counter": {4: "num.query.https", 6: "num.query.https"}},
    "bind": {"counter": {4: "nsstats.Requestv4", 6: "nsstats.Requestv6"}},
    "dnsdist": {"counter": {4: "dnsdist_queries", 6: "dnsdist_queries"}},
    "kresd": {"counter": {4: "request.doh", 6: "request.doh"}},
}
METHODS = ("post", "get")
SHAPES = {
    "a_pool": {"connections": 8},
    "some_each": {"connections": 8, "queries_per_connection": 16},
    "one_each": {"connections": 8, "queries_per_connection": 1},
}
ENDS = ("refused", "no_answer", "reset", "lost_closed", "no_memory", "no_port", "left")
WRONG = ("wrong_type", "cancelled", "goaway_refused", "wrong_id", "bad_frame")


def folder(here):
    return Path(f"/run/{here.prefix}-lab")


def doh(family=4, rate="500", dns=None, keys=None, tcp=None, tls=None, **https):
    """An item by HTTPS."""
    what = {"names": ["h{0-999}.example.com A"], "transport": "https", "tcp": tcp or {"connections": 8}, "tls": tls or {}, "https": https, **(dns or {})}
    return item(server=SERVER[family], dns=what, **{"timeout": "2s", "load": {"rate": rate}, **(keys or {})})


def run(one, *, here, driver="af_packet", code=0, **sections):
    """The item of the result, its ledger right; the growth of the server's counters; the result."""
    with here.counted() as growth:
        result = here.ddiperf(config(driver, one, **sections))
    assert result.code == code, result
    found = result.item("queries")
    check_ledger(found)
    assert found["unsent"] == 0, result
    return found, growth, result


def all_answered(found, growth, server, family=4):
    conns = found["connections"]
    http, where = conns["http"], (found, {name: n for name, n in growth.items() if n})
    assert found["answered"] == found["sent"] == found["due"] > 0, where
    assert found["stray"] == found["malformed"] == found["duplicate"] == found["late"] == 0, where
    assert growth[SERVERS[server]["counter"][family]] == found["sent"], where
    assert http["status"] == {"200": found["sent"]} and all(http[name] == 0 for name in WRONG), where
    assert not http["rst_stream"] and not http["error_sent"], where
    # Unbound of Debian 13 sometimes leaves a close_notify unread that comes with GOAWAY, so its kernel ends with a reset.
    ends = [name for name in ENDS if name != "reset" or (server, RELEASE) != ("unbound", 13)]
    assert all(conns[name] == 0 for name in ends), where
    assert conns["tls"]["full"] + conns["tls"]["resumed"] == conns["opened"] and conns["tls"]["no_alpn"] == 0, where
    return http


# --- all queries are answered ---


def add(server, driver, family, shape, method):
    def asks():
        rate = "200" if shape == "one_each" else "500"
        found, growth, _ = run(doh(family, rate, tcp=SHAPES[shape], method=method), here=lab(server), driver=driver)
        all_answered(found, growth, server, family)
        each, opened = SHAPES[shape].get("queries_per_connection"), found["connections"]["opened"]
        assert found["sent"] / each <= opened <= found["sent"] / each + 8 if each else opened == 8, found

    asks.__name__ = f"by_https_{server}_answers_all_of_{method}_on_{shape}_to_ipv{family}_through_{driver}"
    (test if driver == "af_packet" and (family == 4) == (method == "post") or shape == "some_each" and method == "post" else nightly)(asks)


for name in SERVERS:
    for driver in DRIVERS:
        for family in (4, 6):
            for shape in SHAPES:
                for method in METHODS:
                    add(name, driver, family, shape, method)


# In flight, by release: Unbound 1.17 and 1.26 stop reading what their TLS library holds, until something else comes, when many
# requests come at once. dnsdist 1.9 and Knot Resolver 5.7 close a connection when a write does not go through at once ("bad write retry").
FEWER = {("unbound", 12): 20, ("unbound", 13): 20, ("dnsdist", 13): 20, ("kresd", 13): 20}


def add_pipeline(server, method):
    def answers():
        outstanding = FEWER.get((server, RELEASE), 200)
        one = doh(tcp={"connections": 2}, method=method, keys={"load": {"outstanding": outstanding, "total": "2000"}})
        found, growth, _ = run(one, here=lab(server), run={"duration": "5s"})
        all_answered(found, growth, server)
        assert found["connections"]["opened"] == 2, found

    answers.__name__ = f"streams_{server}_answers_many_on_a_connection_of_{method}"
    test(answers)


for name in SERVERS:
    for method in METHODS:
        add_pipeline(name, method)


@since(13)
def streams_that_dnsdist_ends_with_their_connection_are_lost():
    """And never unsent. What it has counted lies between the answers that came and the requests that were sent."""
    one = doh(tcp={"connections": 2}, keys={"load": {"outstanding": 200, "total": "4000"}})
    found, growth, result = run(one, here=lab("dnsdist"), run={"duration": "5s"})
    conns = found["connections"]
    assert found["sent"] == found["answered"] + found["lost"] == 4000 and found["lost"] == conns["lost_closed"], result
    assert conns["opened"] == 2 + conns["closed"] + conns["reset"] and found["answered"] <= growth["dnsdist_queries"] <= found["sent"], result


def add_plain(server):
    def answers():
        """Without tables of headers at either end, and with a certificate that is verified, resumed connections, and long questions."""
        here = lab(server)
        tls = {"verify": "chain", "name": "dns.example", "ca": str(folder(here) / "crt.pem"), "resume": "each"}
        one = doh(tcp=SHAPES["some_each"], tls=tls, header_table=0, headers=["x-note: a test"])
        found, growth, _ = run(one, here=here, run={"duration": "1s"})
        all_answered(found, growth, server)
        assert found["connections"]["tls"]["resumed"] > 0, found

    answers.__name__ = f"headers_{server}_answers_without_a_table"
    test(answers)


for name in SERVERS:
    if name != "dnsdist":
        add_plain(name)


@test
def headers_dnsdist_ignores_the_size_of_our_table():
    """The library of 1.7 (h2o 2.2) uses a table of 4096 octets, whatever a client announces: nghttp2 refuses that as well."""
    found, _, _ = run(doh(rate="100", header_table=0), here=lab("dnsdist"))
    http = found["connections"]["http"]
    if RELEASE >= 13:
        assert found["answered"] == found["sent"] > 0 and http["bad_frame"] == 0, found
        return
    assert http["error_sent"] == {"compression_error": http["bad_frame"]} and found["lost"] == http["bad_frame"] > 0, found


# --- refusals ---




def add_path(server):
    def refuses():
        # Knot Resolver 5.7 takes contents at any path.
        method = "get" if (server, RELEASE) == ("kresd", 13) else "post"
        found, growth, _ = run(doh(path="/other{?dns}", method=method), here=lab(server))
        http = found["connections"]["http"]
        assert found["failed"] == found["sent"] > 0 and http["status"] == {"404": found["sent"]}, found
        assert growth[SERVERS[server]["counter"][4]] == 0, growth

    refuses.__name__ = f"refusals_{server}_does_not_know_the_path"
    test(refuses)


for name in SERVERS:
    add_path(name)


@test
def refusals_a_server_of_http_1_is_named():
    """Its port speaks TLS, without HTTP/2: no message is sent there."""
    here = lab("unbound")
    server = start(here.other("openssl", "s_server", "-accept", "8443", "-key", str(folder(here) / "key.pem"), "-cert",
                            str(folder(here) / "crt.pem"), "-alpn", "http/1.1", "-quiet"))
    try:
        found, _, result = run(doh(rate="20", keys={"server_port": 8443}), here=here, code=EXIT["unreachable"])
    finally:
        kill(server)
        server.communicate()
    tls = found["connections"]["tls"]
    assert tls["failed"] == tls["begun"] > 0 and found["lost"] == found["sent"], found
    assert "HTTP/2" in result.stdout or "no_application_protocol" in result.stdout, result


# --- the responder, and other clients ---


def responder(driver="af_packet", https=None, **dns):
    return responding(driver, dns=dns, https=https or {})


def tool(*argv):
    code, out, err = execute(lab("none").other(*argv), timeout=60)
    assert code == 0, (argv, out, err)
    return out + err


QUERY = b"\0\0\1\0\0\1\0\0\0\0\0\0\2h1\7example\3com\0\0\1\0\1"


@test
def judge_curl_has_its_answers_and_statuses():
    with responder() as seen, tempfile.TemporaryDirectory() as name:
        query = Path(name) / "query"
        query.write_bytes(QUERY)
        base = ("curl", "-sk", "--http2", "-o", f"{name}/answer", "-w", "%{http_code} %{content_type} %{http_version}")
        typed = ("-H", "content-type: application/dns-message", "--data-binary", f"@{query}")
        for address in ("198.18.0.1", "[2001:db8::1]"):
            url = f"https://{address}/dns-query"
            assert tool(*base, *typed, url) == "200 application/dns-message 2"
            assert (Path(name) / "answer").read_bytes()[:4] == b"\0\0\x85\0", address
            assert tool(*base, f"{url}?a=b&dns=AAABAAABAAAAAAAAAmgxB2V4YW1wbGUDY29tAAABAAE") == "200 application/dns-message 2"
        url = "https://198.18.0.1"
        for words, status in (((f"{url}/other",), "404"), ((*typed, f"{url}/other"), "404"), ((f"{url}/dns-query",), "400"), ((f"{url}/dns-query?dns=*",), "400"),
                              (("-X", "PUT", *typed, f"{url}/dns-query"), "405"), (("-H", "content-type: text/plain", "--data-binary", "x", f"{url}/dns-query"), "415")):
            assert tool(*base, *words).split()[0] == status, words
    assert seen["received"] == seen["answered"] == 4 and seen["connections"]["tls_failed"] == 0, seen


@test
def judge_kdig_has_its_answers():
    with responder(text="x" * 4000) as seen:
        for words in (("+https",), ("+https-get",), ("+https", "+notls-ca")):
            out = tool("kdig", "@198.18.0.1", *words, "h1.example.com", "TXT")
            assert "HTTP session (HTTP/2" in out and "status: NOERROR" in out and "xxxx" in out, out
    assert seen["answered"] == 3, seen


def add_h2load(streams):
    def judges():
        with responder() as seen, tempfile.NamedTemporaryFile() as file:
            file.write(QUERY)
            file.flush()
            out = tool("h2load", "-n", "4000", "-c", "4", "-m", str(streams), "-d", file.name, "-H", "content-type: application/dns-message",
                       "https://198.18.0.1/dns-query")
            assert "4000 succeeded, 0 failed" in out and "4000 2xx" in out, out
        assert seen["received"] == seen["answered"] == 4000, seen

    judges.__name__ = f"judge_h2load_has_all_answers_of_{streams}_streams"
    test(judges)


for streams in (1, 10, 100):
    add_h2load(streams)


def add_dnsperf(method):
    def judges():
        records = "".join(f"h{i}.example.com A\n" for i in range(500))
        with responder() as seen, tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(records)
            file.flush()
            for address in ("198.18.0.1", "2001:db8::1"):
                where = f"[{address}]" if ":" in address else address
                out = tool("dnsperf", "-m", "doh", "-s", address, "-d", file.name, "-n", "1", "-c", "5", "-Q", "500",
                           "-O", f"doh-uri=https://{where}/dns-query", "-O", f"doh-method={method.upper()}")
                assert "Queries completed:    500 (100.00%)" in out, out
                assert re.search(r"200 \(100.00%\)|200: 500", out) or "HTTP" not in out, out
        assert seen["received"] == seen["answered"] == 1000, seen

    judges.__name__ = f"judge_dnsperf_has_all_answers_of_{method}"
    test(judges)


for method in METHODS:
    add_dnsperf(method)


# The error of the end, 11: enhance_your_calm.
FLOODS = {"32_settings": None, "33_settings": 11, "900_pings": None, "2000_pings": 11, "2000_priorities": 11,
          "2000_empty_contents": 11, "2000_empty_parts": 11, "a_long_block": 11}


@test
def the_responder_ends_floods_of_frames():
    with responder():
        found = json.loads(tool("python3", str(Path(__file__).resolve().parent / "h2_floods.py"), "198.18.0.1"))
    assert found == FLOODS, found


main()
