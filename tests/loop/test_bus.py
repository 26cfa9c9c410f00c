#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# The connection to NATS against a real nats-server: bus_tool plays on a bus, as the program does. Judges are the protocol by
# hand, NATS' own Python library, and its command line where the box has it. In real time, as the server is a process.

import asyncio
import base64
import contextlib
import ctypes
import errno
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from harness import SANITIZER, binary, execute, main, nightly, skip, test, timing, until
from nats_server import NatsServer, Nkey, Talk, certificates, creds, operator_config, tls_config
from tcp_link import Link

TOOL = Path(binary()).parent.parent / "tests" / "loop" / "bus_tool"


class Bus:
    """The tool, up inside `with`. rc: the result of bus_open."""

    def __init__(self, url, creds="", ca="", cert="", key="", **options):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([str(TOOL), url, *map(str, (creds, ca, cert, key))], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors, text=True, **options)
        self.rc, _ = self.answer()

    def answer(self):
        lines = []
        while (line := self.process.stdout.readline()) and not line.startswith("= "):
            lines.append(line.rstrip("\n"))
        assert line, self.said()
        return int(line[2:]), lines

    def __call__(self, *words):
        """(return code, lines of output) of a command."""
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def does(self, *words):
        rc, lines = self(*words)
        assert rc >= 0, (words, errno.errorcode.get(-rc), self.said())
        return lines

    def came(self, count, seconds=10):
        """So many messages, from ticks: their subjects and texts."""
        lines = []
        until(lambda: lines.extend(self("tick", 100)[1]) or len(lines) >= count, lambda: lines, seconds)
        return [line.split(" ", 2)[1:] for line in lines if line.startswith("came ")]

    def said(self):
        self.errors.seek(0)
        return self.errors.read()

    def __enter__(self):
        assert self.rc == 0, self.said()
        return self

    def __exit__(self, kind, *_):
        self.process.stdin.close()
        try:
            code = self.process.wait(20)
        finally:
            self.process.kill()
        assert kind or code == 0, (code, self.said())


def opened(*words, **more):
    """(result of bus_open, its messages) for a connection that is not used."""
    bus = Bus(*words, **more)
    bus.process.communicate(timeout=20)
    assert bus.process.returncode != SANITIZER, bus.said()
    assert not re.search(r"\.c:\d", bus.said()), "a place in the source of a library: " + bus.said()
    return bus.rc, bus.said()


def refused(error, words, *arguments, **more):
    rc, said = opened(*arguments, **more)
    assert rc == -error and re.search(words, said), (errno.errorcode.get(-rc, rc), said)


def own_address():
    """An address of this host that is not loopback."""
    _, out, _ = execute(["ip", "-4", "-o", "addr", "show", "scope", "global"])
    found = re.search(r"inet ([\d.]+)/", out)
    return found[1] if found else skip("no address but that of loopback")


# --- messages ---


@test
def messages_come_in_order_requests_have_an_end_and_a_service_its_figures():
    with NatsServer() as server, Bus(server.url()) as bus, Bus(server.url()) as other, Talk(server, "answers") as judge:
        bus.does("sub", "work.*")
        for number in range(3):
            judge.publish(f"work.{number}", f"text {number}")
        assert bus.came(3) == [[f"work.{n}", f"text {n}"] for n in range(3)]
        judge.publish("work.x", "a question", reply="answers")
        bus.came(1)
        assert judge.read() == ("answers", "", "a question")
        # One that unsubscribes from its own handler, with more behind it.
        bus.does("sub", "own")
        for text in ("unsubscribe", "late", "later"):
            judge.publish("own", text)
        came = bus.came(1)
        assert came == [["own", "unsubscribe"]], came
        bus.does("unsub", "work.*")
        judge.publish("work.1", "nobody")
        bus.does("pub", "answers", "told")
        assert judge.read() == ("answers", "", "told")
        assert bus("tick", 100) == (0, []), "a message came without a subscription"
        other.does("stamp", "clock")
        for _ in range(20):
            word, stamp, before, at, after = bus.does("request", "clock", 5000, "now?")[0].split()
            assert word == "reply" and int(before) <= int(stamp) <= int(at) <= int(after), (stamp, before, at, after)
        assert bus("request", "nobody", 5000, "?")[0] == -errno.EHOSTUNREACH
        other.does("sub", "slow")
        assert bus("request", "slow", 100, "?")[0] == -errno.ETIMEDOUT
        other.came(1)  # its reply is too late
        assert bus.does("request", "clock", 5000, "now?")[0].split()[1].isdigit(), "a late reply was taken for another one's"
        inbox = bus.does("inbox")[0]
        bus.does("sub", inbox)
        bus.does("ask", "clock", inbox, "now?")
        assert bus.came(1)[0][0] == inbox
        assert bus("pub", "a b", "x")[0] <= 0 and int(bus.does("room")[0]) == 1 << 20
        bus.does("serve")
        bus.does("sub", "tool.echo")

        def ask(subject):
            judge.publish(subject, reply="answers")
            return json.loads(judge.read()[2])

        same = {"name": "ddiperf", "id": "TOOL1", "version": "1.2.3", "metadata": {"rack": "1"}}
        for end in ("", ".ddiperf", ".ddiperf.TOOL1"):
            assert ask(f"$SRV.PING{end}") == {**same, "type": "io.nats.micro.v1.ping_response"}
        info = ask("$SRV.INFO.ddiperf.TOOL1")
        assert info["type"] == "io.nats.micro.v1.info_response" and info["description"] == "a test", info
        assert [(e["name"], e["subject"]) for e in info["endpoints"]] == [("echo", "tool.echo")], info
        for _ in range(3):
            judge.publish("tool.echo", "x")
        bus.came(3)
        stats = ask("$SRV.STATS")
        assert stats["endpoints"][0]["num_requests"] == 3 and stats["endpoints"][0]["processing_time"] > 0, stats
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", stats["started"]), stats
        judge.publish("$SRV.PING.other", reply="answers")
        judge.publish("$SRV.OTHER", reply="answers")
        judge.publish("answers", "end")
        assert judge.read()[2] == "end", "a reply to a question for others"


@test
def a_server_that_starts_again_is_found_again_by_threads_without_power_or_signals():
    with NatsServer() as server, Bus(server.url()) as bus:
        bus.does("sub", "work")
        for number in (signal.SIGTERM, signal.SIGKILL):
            server.stop(number)
            until(lambda: bus("up")[0] == 0, "the loss")
            bus.does("flood", "work", 500)
            server.start()
            assert bus.came(500) == [["work", str(n)] for n in range(500)]
        assert "lost" in bus.said() and "back" in bus.said(), bus.said()
        seen = 0
        for thread in Path(f"/proc/{bus.process.pid}/task").iterdir():
            try:
                text = (thread / "status").read_text()
            except (FileNotFoundError, ProcessLookupError):  # it was for the time without a connection
                continue
            status = dict(line.split(":\t") for line in text.splitlines() if ":\t" in line)
            seen += 1
            if int(thread.name) == bus.process.pid or "lsan" in status["Name"].lower():
                continue
            wanted = 0 if os.geteuid() == 0 else None
            assert wanted is None or int(status["CapEff"], 16) == wanted, status
            assert int(status["SigBlk"], 16) & 1 << signal.SIGTERM - 1, status
        assert seen >= 3, seen


@nightly
def a_server_that_refuses_the_credentials_later_ends_the_connection():
    with NatsServer('authorization { user: a, password: b }') as server, Bus(server.url("a:b")) as bus:
        server.config = "authorization { user: a, password: c }"
        server.restart()
        until(lambda: bus("closed")[0] == 1, "the end of the connection")
        assert bus("pub", "work", "x")[0] == bus("sub", "work")[0] == -errno.ENOTCONN
        assert re.search("(?i)authorization", bus.said()), bus.said()


@test
def what_nobody_handles_does_not_fill_the_memory():
    with NatsServer() as server, Bus(server.url()) as bus, Bus(server.url()) as other:
        bus.does("sub", "work")
        bus.does("stamp", "marks")
        for n in range(2):
            other.does("large", "work", 100)
            other.does("request", "marks", 5000, "x")  # behind them
            assert len(bus.came(31)) == 31
            assert bus.said().count("messages to work arrive faster than they are handled") == n + 1, bus.said()
        assert not bus.came(0)


# --- who may talk ---


@test
def another_host_is_spoken_to_with_credentials_only():
    # Nothing is there: the refusal comes before the first packet.
    with tempfile.TemporaryDirectory() as folder:
        for url in ("nats://192.0.2.1", "tls://192.0.2.1:4222", "[2001:db8::1]:4222", "nats://127.0.0.1,nats://192.0.2.1",
                    "nats://nats.example:4222", "nats://127.0.0.1.example", "nats://0.0.0.0:4222"):
            refused(errno.EACCES, "no credentials", url)
        refused(errno.EINVAL, "URL", "http://127.0.0.1")
        refused(errno.EINVAL, "URL", "nats://")
        refused(errno.EINVAL, "key belong", "nats://127.0.0.1", cert="x")
        refused(errno.EINVAL, "neither", "nats://127.0.0.1", creds="/etc/passwd")
        refused(errno.ECONNREFUSED, "no connection to NATS at nats://127.0.0.1:1,nats://localhost:1: ", "nats://a:secret@127.0.0.1:1,localhost:1")
    host = own_address()
    with NatsServer('authorization { user: a, password: secret }', host="0.0.0.0") as server:
        refused(errno.EACCES, "no credentials", server.url(host=host))
        rc, said = opened(server.url("a:secret", host=host))
        assert rc == 0 and "tls:// always is" in said and "secret" not in said, said
        refused(errno.EACCES, "(?i)authorization", server.url("a:wrong", host=host))
        refused(errno.EACCES, "(?i)authorization", server.url(host="127.0.0.1"))


@test
def nkeys_and_files_of_credentials_open_the_door():
    config, text = operator_config()
    with NatsServer(config) as server:
        file = server.folder / "user.creds"
        refused(errno.EACCES, "(?i)authorization", server.url())
        file.write_text(text)
        with Bus(server.url(), creds=file) as bus:
            bus.does("sub", "work")
            server.restart()
            bus.does("pub", "work", "still")
            assert bus.came(1) == [["work", "still"]]
        other = operator_config()[1]
        file.write_text(other)
        refused(errno.EACCES, "(?i)authorization", server.url(), creds=file)
    user, stranger = Nkey("user"), Nkey("user")
    with NatsServer(f"authorization {{ users: [ {{ nkey: {user.public} }} ] }}") as server:
        file = server.folder / "seed"
        file.write_text(f"# of the lab\n{user.seed}\n")
        with Bus(server.url(), creds=file) as bus:
            server.restart()
            until(lambda: bus("up")[0] == 1, "the connection")
        file.write_text(stranger.seed)
        refused(errno.EACCES, "(?i)authorization", server.url(), creds=file)
        file.write_text(user.seed.replace(user.seed[30], "A" if user.seed[30] != "A" else "B", 1))
        refused(errno.EINVAL, "nor the seed|neither", server.url(), creds=file)


def two_nonces(seed):
    """A nonce whose signature begins with a byte that is 0, and one whose signature does not."""
    nats, found = ctypes.CDLL("libnats.so"), {}
    assert nats.nats_Open(ctypes.c_int64(-1)) == 0
    for number in range(100000):
        signature, length, nonce = ctypes.POINTER(ctypes.c_ubyte)(), ctypes.c_int(), f"nonce-{number}"
        assert nats.nats_Sign(seed.encode(), nonce.encode(), ctypes.byref(signature), ctypes.byref(length)) == 0
        found[signature[0] == 0] = nonce
        if len(found) == 2:
            break
    nats.nats_Close()
    return found[True], found[False]


def ask_to_sign(listener, nonces, seen):
    """A server's part, a connection for each nonce, until one comes with a signature."""
    for nonce in nonces:
        connection, _ = listener.accept()
        with connection, connection.makefile("rwb", buffering=0) as file:
            info = {"server_id": "S", "version": "2.9.0", "proto": 1, "auth_required": True, "max_payload": 1048576, "nonce": nonce}
            file.write(b"INFO " + json.dumps(info).encode() + b"\r\n")
            signed = "sig" in json.loads(file.readline().partition(b" ")[2])
            seen.append(signed)
            if not signed:
                file.write(b"-ERR 'Authorization Violation'\r\n")
                continue
            while line := file.readline():
                if line.startswith(b"PING"):
                    file.write(b"PONG\r\n")
            return


@test
def a_signature_that_begins_with_zero_is_no_wrong_one():
    """Libraries before 3.8.0 leave it out."""
    user = Nkey("user")
    with socket.create_server(("127.0.0.1", 0)) as listener, tempfile.NamedTemporaryFile("w") as file:
        file.write(f"{user.seed}\n")
        file.flush()
        seen = []
        server = threading.Thread(target=ask_to_sign, args=(listener, two_nonces(user.seed), seen))
        server.start()
        rc, said = opened(f"nats://127.0.0.1:{listener.getsockname()[1]}", creds=file.name)
        server.join(20)
        assert rc == 0 and seen in ([False, True], [True]), (rc, said, seen)


@test
def tls_wants_the_right_authority_and_name():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        certificates(folder, "IP:127.0.0.1")
        ca, other = folder / "ca.pem", folder / "other-ca.pem"
        with NatsServer(tls_config(folder)) as server:
            url = server.url(scheme="tls")
            with Bus(url, ca=ca) as bus:
                bus.does("sub", "work")
                server.restart()
                bus.does("pub", "work", "still")
                assert bus.came(1) == [["work", "still"]]
            refused(errno.EPROTO, "certificate", url)
            refused(errno.EPROTO, "certificate", url, ca=other)
            refused(errno.EPROTO, "(?i)mismatch", server.url(scheme="tls", host="localhost"), ca=ca)
            refused(errno.EINVAL, "no certificates", url, ca="/etc/passwd")
        with NatsServer() as server:
            refused(errno.EPROTO, "(?i)secure|tls", server.url(scheme="tls"), ca=ca)
        with NatsServer(tls_config(folder, verify=True)) as server:
            pair = {"cert": folder / "client.pem", "key": folder / "client.key"}
            rc, said = opened(server.url(scheme="tls"), ca=ca, **pair)
            assert rc == 0, said
            rc, said = opened(server.url(scheme="tls"), ca=ca)
            assert rc < 0, "no certificate, and let in"


# --- files ---


CHUNK = 128 << 10


def hashed(data):
    return hashlib.sha256(data).hexdigest()


def with_nats(server, work):
    """NATS' own library on a connection, for its coroutine work(JetStream)."""
    try:
        import nats
    except ImportError:
        skip("nats-py is not installed: sudo ./scripts/deps install test")

    async def run():
        client = await nats.connect(server.url())
        try:
            return await work(client.jetstream())
        finally:
            await client.close()

    return asyncio.run(run())


async def put_by_hand(js, data, between, change=lambda n, chunk: chunk, size=None):
    """A file whose chunks stand between messages of another one."""
    chunks = [data[at:at + CHUNK] for at in range(0, len(data), CHUNK)]
    for n, chunk in enumerate(chunks):
        for _ in range(between(n)):
            await js.publish("$O.ddiperf.C.other", b"another file's")
        await js.publish(f"$O.ddiperf.C.{hashed(data)[:20]}", change(n, chunk))
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode()
    meta = {"name": hashed(data), "bucket": "ddiperf", "nuid": hashed(data)[:20], "size": len(data) if size is None else size, "chunks": len(chunks),
            "digest": f"SHA-256={digest}"}
    await js.publish(f"$O.ddiperf.M.{base64.urlsafe_b64encode(hashed(data).encode()).decode()}", json.dumps(meta).encode())


@test
def a_file_goes_by_its_hash_as_nats_own_library_sees_it():
    data = os.urandom(3 * CHUNK + 1234)
    with NatsServer(jetstream=True) as server, Bus(server.url()) as bus:
        file, copy = server.folder / "in", server.folder / "out"
        assert bus("get", hashed(data), copy)[0] == -errno.ENOENT and not copy.exists()
        for content in (data, b"", b"x", data[:CHUNK]):
            file.write_bytes(content)
            for _ in range(2):
                assert bus.does("put", file) == [hashed(content)]
            bus.does("get", hashed(content), copy)
            assert copy.read_bytes() == content

        async def judge(js):
            store = await js.object_store("ddiperf")
            found = await store.get(hashed(data))
            state = (await js.stream_info("OBJ_ddiperf")).state
            await store.put("0" * 64, b"other")
            await store.put(hashed(b"theirs"), b"theirs")
            await store.delete(hashed(b"x"))
            return found.data, found.info, state.messages

        content, info, messages = with_nats(server, judge)
        assert content == data and info.chunks == 4 and info.size == len(data) and info.digest.startswith("SHA-256="), info
        assert messages == 4 + 0 + 1 + 1 + 4, "a file is there twice"
        bus.does("get", hashed(b"theirs"), copy)
        assert copy.read_bytes() == b"theirs"
        assert bus("get", hashed(b"x"), copy)[0] == -errno.ENOENT
        assert bus("get", "0" * 64, copy)[0] == -errno.EBADMSG and "damaged" in bus.said()
        assert bus("get", "../x", copy)[0] == -errno.EINVAL and bus("put", "/nonexistent")[0] == -errno.ENOENT
        assert copy.read_bytes() == b"theirs" and not [*server.folder.glob("out?*")], "a damaged file took its place"
        # Nobody fills a disk by a file that is said to be larger than any, or is larger than it is said to be.
        for said, error in ((9 * 10 ** 9, errno.EFBIG), (3, errno.EBADMSG)):
            with_nats(server, lambda js: put_by_hand(js, b"huge", lambda n: 0, size=said))
            assert bus("get", hashed(b"huge"), copy)[0] == -error and copy.read_bytes() == b"theirs", bus.said()
        # Chunks of files that are stored at the same time are told apart.
        whole, garbled = os.urandom(20 * CHUNK + 5), os.urandom(20 * CHUNK)
        with_nats(server, lambda js: put_by_hand(js, whole, lambda n: n % 4))
        bus.does("get", hashed(whole), copy)
        assert copy.read_bytes() == whole
        copy.unlink()
        with_nats(server, lambda js: put_by_hand(js, garbled, lambda n: 0, lambda n, chunk: chunk[::-1] if n == 11 else chunk))
        assert bus("get", hashed(garbled), copy)[0] == -errno.EBADMSG and not copy.exists(), bus.said()


@test
def a_damaged_chunk_and_a_server_without_a_store_are_told():
    with NatsServer(jetstream=True) as server, Bus(server.url()) as bus:
        file, copy, messages = server.folder / "in", server.folder / "out", 0
        for chunks, lost in ((3, 2), (20, 1), (20, 12), (20, 20)):
            data = os.urandom(chunks * CHUNK)
            file.write_bytes(data)
            bus.does("put", file)
            with_nats(server, lambda js: js.delete_msg("OBJ_ddiperf", messages + lost))
            assert bus("get", hashed(data), copy)[0] == -errno.EBADMSG and not copy.exists(), (chunks, lost)
            messages += chunks + 1
    with NatsServer() as server, Bus(server.url()) as bus:
        assert bus("put", "/etc/passwd")[0] == -errno.ENOTSUP and "without JetStream" in bus.said()
        assert bus("get", "0" * 64, "/tmp/none")[0] == -errno.ENOTSUP
    accounts = 'accounts { A: { users: [ { user: a, password: a } ] }, B: { jetstream: enabled, users: [ { user: b, password: b } ] } }'
    with NatsServer(accounts, jetstream=True) as server, Bus(server.url("a:a")) as bus, Bus(server.url("b:b")) as other:
        assert bus.does("place") == [server.url()]
        assert bus("put", "/etc/passwd")[0] == -errno.ENOTSUP and other("put", "/etc/passwd")[0] == 0


@nightly
def a_long_link_is_filled_both_ways():
    """One chunk after the other would take 32 times there and back: 2.56 s."""
    data = os.urandom(32 * CHUNK)
    with NatsServer(jetstream=True) as server, Link(server, 0.04, 0.04) as link, Bus(link.url()) as bus:
        file, copy = server.folder / "in", server.folder / "out"
        file.write_bytes(data)
        for words in (("put", file), ("get", hashed(data), copy)):
            begin = time.monotonic()
            bus.does(*words)
            took = time.monotonic() - begin
            timing(took < 1.8, (words, took))
        assert copy.read_bytes() == data


@nightly
def a_link_that_breaks_while_a_file_is_stored_leaves_no_part_of_it():
    data, left = os.urandom(64 * CHUNK), [20 * CHUNK]

    def cut(piece):
        before, left[0] = left[0], left[0] - len(piece)
        return b"" if before > 0 >= left[0] else piece

    with NatsServer(jetstream=True) as server, Link(server, 0.02, 0.02, change=cut) as link, Bus(link.url()) as bus:
        file, copy = server.folder / "in", server.folder / "out"
        file.write_bytes(data)
        rc = bus("put", file)[0]
        assert rc == -errno.ETIMEDOUT, rc
        assert bus("get", hashed(data), copy)[0] == -errno.ENOENT
        bus.does("put", file)
        bus.does("get", hashed(data), copy)
        assert copy.read_bytes() == data


@nightly
def the_command_line_of_nats_sees_services_and_files():
    if not shutil.which("nats"):
        skip("the command line of NATS is not installed: github.com/nats-io/natscli")
    with NatsServer(jetstream=True) as server, Bus(server.url()) as bus, contextlib.ExitStack() as stack:
        home = stack.enter_context(tempfile.TemporaryDirectory())

        def nats(*words):
            code, out, err = execute(["nats", "-s", server.url(), *words], env={**os.environ, "HOME": home})
            assert code == 0, out + err
            return out + err

        bus.does("serve")
        bus.does("put", "/etc/passwd")
        name = hashed(Path("/etc/passwd").read_bytes())
        assert "TOOL1" in nats("micro", "ls") and "tool.echo" in nats("micro", "info", "ddiperf", "TOOL1")
        assert name in nats("object", "ls", "ddiperf")
        nats("object", "get", "ddiperf", name, "--output", f"{home}/copy", "--force", "--no-progress")
        assert Path(home, "copy").read_bytes() == Path("/etc/passwd").read_bytes()


main()
