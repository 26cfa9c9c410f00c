# SPDX-License-Identifier: BSD-3-Clause
"""A client of `ddiperf serve` (docs/serve.md). Each request has a connection of its own, so a Client and its runs can be
used by several threads."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import re
import socket
import ssl
import time
from pathlib import Path
from typing import Any, Iterator, Mapping
from urllib.parse import quote, urlsplit

from .errors import AccessError, ConfigError, ConnectionLost, DdiperfError, NotFoundError, Problem
from .errors import ProgramError, RefusedError, ServerError, Timeout
from .local import Config, Settings, config_path, config_settings, config_text
from .result import Interval, Progress, Result, RunState, line_of

API = "/api/v1"
SILENCE_S = 15.0  # the server sends something every 3 s to those who follow a run
AFTER_ALL = 1 << 31  # a line that no run has
_KIND = {401: AccessError, 403: AccessError, 404: NotFoundError, 409: RefusedError, 503: RefusedError}


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Client:
    """A server at a URL: http://HOST:PORT, https://HOST:PORT or unix:PATH. token: of the server's --token. context: for
    https, with the CA and the certificate of the client as the server wants them. timeout: of a request, in seconds."""

    def __init__(
        self, url: str = "http://127.0.0.1:8080", *, token: str | None = None, context: ssl.SSLContext | None = None,
        timeout: float = 30.0,
    ):
        self.url, self.timeout, self._context = url.rstrip("/"), timeout, context
        self._headers = {"X-Ddiperf": "1", **({"Authorization": f"Bearer {token}"} if token else {})}
        if not url.startswith(("http://", "https://", "unix:")):
            raise ValueError(f"{url}: not http://HOST:PORT, https://HOST:PORT or unix:PATH")

    # --- requests ---

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        if self.url.startswith("unix:"):
            return _UnixConnection(self.url.removeprefix("unix:"), timeout)
        parts = urlsplit(self.url)
        if parts.scheme == "https":
            return http.client.HTTPSConnection(parts.hostname or "", parts.port, timeout=timeout, context=self._context)
        return http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout)

    @contextlib.contextmanager
    def _reply(
        self, method: str, path: str, body: bytes | None = None, timeout: float | None = None
    ) -> Iterator[tuple[http.client.HTTPResponse, socket.socket]]:
        """The reply to a request that was accepted, and its socket. The body is read within `with`."""
        connection = self._connect(self.timeout if timeout is None else timeout)
        try:
            connection.connect()
            wire: socket.socket = connection.sock
            connection.request(method, API + path, body, self._headers)
            reply = connection.getresponse()
            if reply.status >= 400:
                raise self._refusal(reply.status, reply.read())
            yield reply, wire
        except TimeoutError as error:
            raise Timeout(f"{self.url}: no reply in time") from error
        except (OSError, http.client.HTTPException) as error:
            if isinstance(error, ConnectionLost):
                raise
            raise ConnectionLost(f"{self.url}: {error or type(error).__name__}") from error
        finally:
            connection.close()

    @staticmethod
    def _refusal(status: int, body: bytes) -> ServerError | ConfigError:
        try:
            document = json.loads(body)
        except ValueError:
            document = {}
        document = document if isinstance(document, dict) else {}
        if document.get("errors"):
            return ConfigError(map(Problem.of_json, document["errors"]))
        return _KIND.get(status, ServerError)(status, str(document.get("error", f"HTTP status {status}")))

    def _ask(self, method: str, path: str, body: bytes | Mapping[str, Any] | None = None) -> bytes:
        data = json.dumps(body).encode() if isinstance(body, Mapping) else body
        with self._reply(method, path, data) as (reply, _):
            return reply.read()

    def _json(self, method: str, path: str, body: bytes | Mapping[str, Any] | None = None) -> dict[str, Any]:
        document = json.loads(self._ask(method, path, body))
        return document if isinstance(document, dict) else {}

    # --- the server and its files ---

    def version(self) -> str:
        return str(self._json("GET", "").get("version", ""))

    def check(self, config: Config) -> tuple[Problem, ...]:
        """All errors of a configuration; empty: it is right."""
        return tuple(map(Problem.of_json, self._json("POST", "/check", config_text(config).encode()).get("errors", [])))

    def put_file(self, name: str, content: str | bytes | os.PathLike[str]) -> None:
        """Store a file, such as the queries of a configuration."""
        data = Path(content).read_bytes() if isinstance(content, os.PathLike) else content
        self._ask("PUT", f"/files/{quote(name)}", data.encode() if isinstance(data, str) else data)

    def file(self, name: str) -> bytes:
        return self._ask("GET", f"/files/{quote(name)}")

    def files(self) -> list[str]:
        return [str(one["name"]) for one in self._json("GET", "/files").get("files", [])]

    def delete_file(self, name: str) -> None:
        self._ask("DELETE", f"/files/{quote(name)}")

    def history(self) -> list[dict[str, Any]]:
        """A line of each run that has ended, oldest first."""
        return list(self._json("GET", "/history").get("runs", []))

    # --- runs ---

    def start(
        self, config: Config, *, settings: Settings = (), name: str | None = None, fleet: Mapping[str, Any] | None = None
    ) -> Run:
        """Store a configuration (a file, YAML text or a mapping) and start it. name: of the file on the server, by
        default one that says what is in it, so equal configurations share a history. fleet: such as {"agents": 2}."""
        text = config_text(config).encode()
        if name is None:
            path = config_path(config)
            stem = re.sub(r"[^\w.-]", "-", path.stem, flags=re.A).lstrip(".-")[:80] if path else ""
            name = f"{stem or 'python'}-{hashlib.sha256(text).hexdigest()[:8]}.yaml"
        self.put_file(name, text)
        body: dict[str, Any] = {"file": name, "set": config_settings(settings)}
        if fleet is not None:
            body["fleet"] = fleet
        return Run(self, str(self._json("POST", "/runs", body)["id"]))

    def run(self, config: Config, *, settings: Settings = (), timeout: float | None = None) -> Result:
        """Start, wait and fetch. A run that does not end in time, or whose caller is interrupted, is stopped."""
        started = self.start(config, settings=settings)
        try:
            return started.result(timeout)
        except BaseException:
            with contextlib.suppress(DdiperfError):
                started.stop()
            raise

    def runs(self) -> list[RunState]:
        """The newest first."""
        return list(map(RunState.read, self._json("GET", "/runs").get("runs", [])))

    def get(self, id: str) -> Run:
        """A run by its id; nothing is requested yet."""
        return Run(self, id)


class Run:
    """A run on a server."""

    def __init__(self, client: Client, id: str):
        self.client, self.id = client, id
        self._path = f"/runs/{quote(id)}"

    def state(self) -> RunState:
        return RunState.read(self.client._json("GET", self._path))

    def follow(self, timeout: float | None = None, from_line: int = 1) -> Iterator[Progress]:
        """All lines of the run from its begin on, as they come, and finally its RunState. Timeout: it has not ended
        within `timeout` seconds. ConnectionLost: the server ended, or is silent."""
        end = None if timeout is None else time.monotonic() + timeout
        first = SILENCE_S if timeout is None else max(0.001, min(timeout, SILENCE_S))
        try:
            with self.client._reply("GET", f"{self._path}/follow?from={from_line}", timeout=first) as (reply, wire):
                kind = ""
                while line := reply.readline():
                    name, _, value = line.decode().rstrip("\r\n").partition(": ")
                    if name == "event":
                        kind = value
                    elif name == "data" and kind == "end":
                        yield RunState.read(json.loads(value))
                        return
                    elif name == "data" and (found := line_of(json.loads(value))):
                        yield found
                    left = SILENCE_S if end is None else min(SILENCE_S, end - time.monotonic())
                    if left <= 0:
                        raise TimeoutError
                    wire.settimeout(left)
        except Timeout as error:
            if end is not None and time.monotonic() >= end - 0.01:
                raise Timeout(f"run {self.id} did not end within {timeout:g} s") from error
            raise ConnectionLost(f"{self.client.url}: silent for {SILENCE_S:g} s") from error
        raise ConnectionLost(f"{self.client.url}: the server ended before run {self.id}")

    def intervals(self, timeout: float | None = None) -> Iterator[Interval]:
        """Those of the measured part, as they end."""
        return (one for one in self.follow(timeout) if isinstance(one, Interval) and not one.warmup)

    def wait(self, timeout: float | None = None) -> RunState:
        """Until its end."""
        for one in self.follow(timeout, AFTER_ALL):
            if isinstance(one, RunState):
                return one
        raise ConnectionLost(f"{self.client.url}: no end of run {self.id}")

    def result(self, timeout: float | None = None) -> Result:
        """Wait for its end and fetch the result. ProgramError: it ended without one; the message is its output."""
        state = self.wait(timeout)
        try:
            return Result.of(self.client._json("GET", f"{self._path}/result"))
        except NotFoundError as error:
            raise ProgramError(self.log().strip() or state.said or state.status, state.exit_code) from error

    def order(self, setting: str, at_ns: int | None = None) -> None:
        """Pass an order such as "traffic.queries.load.rate=5k". at_ns: Unix time of the interval from which it applies.
        The run may still refuse it: follow() has the Order with the reason."""
        self.client._ask("POST", f"{self._path}/orders", {"order": setting, **({} if at_ns is None else {"at_ns": at_ns})})

    def set_rate(self, item: str, rate: float | str, at_ns: int | None = None) -> None:
        """Another rate for an item, up to that in the file."""
        self.order(f"traffic.{item}.load.rate={rate}", at_ns)

    def stop(self) -> None:
        """End it in order; the second time without waiting for replies."""
        self.client._ask("POST", f"{self._path}/stop")

    def report(self, format: str = "html") -> str:
        """The result in a format of `ddiperf list formats`."""
        return self.client._ask("GET", f"{self._path}/report?format={quote(format)}").decode()

    def log(self) -> str:
        """Its output so far."""
        return self.client._ask("GET", f"{self._path}/log").decode(errors="replace")

    def config(self) -> str:
        """The configuration as it was written."""
        return self.client._ask("GET", f"{self._path}/config").decode()

    def output(self, name: str) -> bytes:
        """A file that the run has written."""
        return self.client._ask("GET", f"{self._path}/files/{quote(name)}")

    def delete(self) -> None:
        """Once it has ended."""
        self.client._ask("DELETE", self._path)
