# SPDX-License-Identifier: BSD-3-Clause
"""A real Prometheus beside a run, and HTTP by hand."""

import json
import shutil
import socket
import urllib.error
import urllib.parse
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from harness import kill, skip, start, until


def get(url, method="GET", data=None):
    """(status, headers, text)"""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, method=method), timeout=10) as reply:
            return reply.status, reply.headers, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


@contextmanager
def prometheus(url, folder, interval):
    """The address, to be asked(), of a Prometheus that reads url this often and keeps its data in the folder."""
    if not shutil.which("prometheus"):
        skip("prometheus is not installed: scripts/deps install test")
    file = Path(folder) / "prometheus.yml"
    file.write_text(json.dumps({
        "global": {"scrape_interval": interval, "scrape_timeout": interval},
        "scrape_configs": [{"job_name": "ddiperf", "static_configs": [{"targets": [urllib.parse.urlsplit(url).netloc]}]}]}))
    with socket.create_server(("127.0.0.1", 0)) as any_free:
        place = f"127.0.0.1:{any_free.getsockname()[1]}"
    process = start(["prometheus", f"--config.file={file}", f"--storage.tsdb.path={folder}/data",
                     f"--web.listen-address={place}", "--log.level=error"])
    try:
        yield f"http://{place}/api/v1/query?query="
    finally:
        kill(process)
        process.communicate()


def asked(api, expression):
    """What an expression gives now."""
    try:
        status, _, text = get(api + urllib.parse.quote(expression))
    except OSError:
        return []  # it starts
    assert status in (200, 503), text  # Service Unavailable: the same
    result = json.loads(text)["data"]["result"] if status == 200 else []
    return [one for one in result if one["value"][1] != "NaN"]
