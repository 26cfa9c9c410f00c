# SPDX-License-Identifier: BSD-3-Clause
"""A nats-server of a test's own, the certificates and keys that it may want, and JWTs as nsc makes them."""

import base64
import binascii
import contextlib
import json
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from harness import kill, skip, start, until

PREFIX = {"operator": 14 << 3, "account": 0, "user": 20 << 3, "seed": 18 << 3}  # of github.com/nats-io/nkeys


class NatsServer:
    """Up inside `with`, on a port of its own that it keeps over restarts. config: more of its configuration."""

    def __init__(self, config="", host="127.0.0.1", jetstream=False, prefix=()):
        if not shutil.which("nats-server"):
            skip("nats-server is not installed: sudo ./scripts/deps install test")
        self.config, self.host, self.jetstream, self.prefix = config, host, jetstream, prefix
        self.port, self.process = -1, None

    def __enter__(self):
        self.stack = contextlib.ExitStack()
        self.folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="ddiperf-nats-")))
        self.stack.callback(lambda: self.stop(signal.SIGKILL))
        self.start()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def start(self):
        """Returns when it takes connections."""
        jetstream = f'jetstream {{ store_dir: "{self.folder}/js" }}\n' if self.jetstream else ""
        file = self.folder / "server.conf"
        file.write_text(f'listen: "{self.host}:{self.port}"\nports_file_dir: "{self.folder}"\n{jetstream}{self.config}\n')
        self.log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen([*self.prefix, "nats-server", "-c", str(file)], stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log, start_new_session=True)
        until(self.answers, lambda: f"nats-server: {(self.folder / 'log').read_text()}")

    def answers(self):
        assert self.process.poll() is None, (self.folder / "log").read_text()
        for file in self.folder.glob("*.ports"):
            with contextlib.suppress(ValueError):
                self.port = int(json.loads(file.read_text())["nats"][0].rpartition(":")[2])
                return True

    def stop(self, number=signal.SIGTERM):
        if self.process:
            kill(self.process, number)
            self.process.wait(20)
            self.process = None
            self.log.close()
            for file in self.folder.glob("*.ports"):
                file.unlink()

    def restart(self, number=signal.SIGTERM):
        self.stop(number)
        self.start()

    def url(self, user="", scheme="nats", host=None):
        return f"{scheme}://{user}{'@' if user else ''}{host or self.host}:{self.port}"


class Talk:
    """The protocol of NATS by hand, as a judge of what others publish."""

    def __init__(self, server, subject):
        self.socket = socket.create_connection((server.host, server.port), timeout=10)
        self.file = self.socket.makefile("rwb")
        self.file.readline()  # INFO
        self.write(b'CONNECT {"verbose":false,"headers":false}\r\nSUB ' + subject.encode() + b" 1\r\nPING\r\n")
        assert self.file.readline() == b"PONG\r\n"

    def write(self, data):
        self.file.write(data)
        self.file.flush()

    def publish(self, subject, text="", reply=""):
        data = text.encode()
        self.write(f"PUB {subject} {reply} {len(data)}\r\n".encode() + data + b"\r\n")

    def read(self):
        """The next message: (subject, reply or "", text)."""
        while not (line := self.file.readline().decode().split())[0] == "MSG":
            assert line[0] in ("PING", "PONG"), line
        data = self.file.read(int(line[-1]) + 2)[:-2].decode()
        return line[1], line[3] if len(line) == 5 else "", data

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()


def openssl(*words, data=None):
    return subprocess.run(["openssl", *map(str, words)], input=data, check=True, capture_output=True).stdout


def certificates(folder, *names):
    """ca.pem, other-ca.pem and the pairs server.pem, client.pem with NAME.key in the folder. names: IP:127.0.0.1, DNS:a.b"""
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    for ca in ("ca", "other-ca"):
        openssl("req", "-x509", *key, "-keyout", folder / f"{ca}.key", "-out", folder / f"{ca}.pem", "-subj", f"/CN={ca}")
    for name in ("server", "client"):
        openssl("req", "-x509", *key, "-CA", folder / "ca.pem", "-CAkey", folder / "ca.key", "-keyout", folder / f"{name}.key",
                "-out", folder / f"{name}.pem", "-subj", f"/CN={name}", "-addext", f"subjectAltName={','.join(names)}")


def tls_config(folder, verify=False):
    more = f'ca_file: "{folder}/ca.pem", verify: true' if verify else ""
    return f'tls {{ cert_file: "{folder}/server.pem", key_file: "{folder}/server.key", {more} }}'


# --- nkeys and JWTs ---


class Nkey:
    """A pair of keys of an operator, an account or a user, made by openssl."""

    def __init__(self, kind):
        self.kind = kind
        self.pem = openssl("genpkey", "-algorithm", "ed25519")
        private = openssl("pkey", "-outform", "DER", data=self.pem)[-32:]
        public = openssl("pkey", "-pubout", "-outform", "DER", data=self.pem)[-32:]
        prefix = PREFIX[kind]
        self.public = self.text(bytes([prefix]) + public)
        self.seed = self.text(bytes([PREFIX["seed"] | prefix >> 5, (prefix & 31) << 3]) + private)

    @staticmethod
    def text(raw):
        return base64.b32encode(raw + binascii.crc_hqx(raw, 0).to_bytes(2, "little")).decode().rstrip("=")

    def sign(self, data):
        with tempfile.NamedTemporaryFile() as key, tempfile.NamedTemporaryFile() as text:
            for file, content in ((key, self.pem), (text, data)):
                file.write(content)
                file.flush()
            return openssl("pkeyutl", "-sign", "-rawin", "-inkey", key.name, "-in", text.name)

    def jwt(self, subject, **claims):
        """What this key says about another one."""
        def part(what):
            return base64.urlsafe_b64encode(what).rstrip(b"=")

        body = {"jti": subject.public, "iat": int(time.time()), "iss": self.public, "sub": subject.public, "name": subject.kind,
                "nats": {"type": subject.kind, "version": 2, **claims}}
        text = b".".join(part(json.dumps(one).encode()) for one in ({"typ": "JWT", "alg": "ed25519-nkey"}, body))
        return (text + b"." + part(self.sign(text))).decode()


def creds(user, jwt):
    """A file of credentials, as nsc writes it."""
    return f"""-----BEGIN NATS USER JWT-----
{jwt}
------END NATS USER JWT------

************************* IMPORTANT *************************
-----BEGIN USER NKEY SEED-----
{user.seed}
------END USER NKEY SEED------
"""


def operator_config():
    """(configuration of a server with an operator and one account, credentials of a user of it)"""
    operator, account, user = map(Nkey, ("operator", "account", "user"))
    free = {"subs": -1, "data": -1, "payload": -1}
    limits = {**free, "imports": -1, "exports": -1, "wildcards": True, "conn": -1, "leaf": -1}
    text = f"""operator: {operator.jwt(operator)}
resolver: MEMORY
resolver_preload: {{ {account.public}: {operator.jwt(account, limits=limits)} }}
"""
    return text, creds(user, account.jwt(user, pub={}, sub={}, **free))
