#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Output of dnsperf -v, which the installed original does not show beside ours: a line for each
# query. In real time, for the packets are those of the kernel's sockets; the server is one of a
# few lines, which knows two names.

import contextlib
import re
import socket
import tempfile
import threading
from pathlib import Path

from harness import Result, binary, execute, main, test

RCODES = {b"\x03www": 0, b"\x04none": 3}  # others are not answered
QUERIES = "www.Example.com A\nnone.example.com TYPE65\nlost\\.\\007.example. MX\n. NS\n"


def answer(query):
    rcode = next((code for name, code in RCODES.items() if query[12:].startswith(name)), None)
    return None if rcode is None else query[:2] + bytes([0x81, 0x80 | rcode]) + query[4:]


@contextlib.contextmanager
def server():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own, tempfile.TemporaryDirectory() as folder:
        own.bind(("127.0.0.1", 0))
        own.settimeout(0.05)
        ended = threading.Event()

        def loop():
            while not ended.is_set():
                with contextlib.suppress(socket.timeout):
                    query, client = own.recvfrom(4096)
                    if reply := answer(query):
                        own.sendto(reply, client)

        thread = threading.Thread(target=loop)
        thread.start()
        queries = Path(folder, "queries")
        queries.write_text(QUERIES)
        try:
            yield ["-p", str(own.getsockname()[1]), "-i", str(queries)]
        finally:
            ended.set()
            thread.join()


def call(*words):
    code, out, err = execute([binary(), "as", *words], timeout=30)
    return Result(code, None, out, err, invalid=True)


@test
def a_line_for_each_query_has_its_rcode_text_and_latency():
    """Of an invalid run (exit code 1) as well."""
    with server() as (p, port, _, queries):
        result = call("dnsperf", "-v", "-d", queries, p, port, "-t", "1", "-n", "20", "-Q", "400")
    lines = [re.sub(r" 0\.\d{6}$", " TIME", line) for line in result.stdout.splitlines() if line.startswith("> ")]
    answered = ["> NOERROR www.Example.com A TIME", "> NXDOMAIN none.example.com HTTPS TIME"]
    lost = [r"> T lost\.\007.example. MX", "> T . NS"]
    assert result.code in (0, 1) and sorted(lines[:40]) == sorted(20 * answered), result
    assert lines[40:] == 20 * lost, result
    assert "Queries completed:    40 (50.00%)" in result.stdout and "missing" not in result.stderr, result


main()
