# SPDX-License-Identifier: BSD-3-Clause
"""A campaign in a folder of its own."""

import csv
import json
import tempfile
from pathlib import Path

from harness import binary, execute
from loop import item, ring

QUERIES = (20, 30)


class Campaign:
    """A folder with a campaign, its base and its files. The figure of each run is the number of its queries."""

    def __init__(self, *points, **keys):
        self.settings = {
            "base": "base.yaml",
            "vary": [{"name": "queries", "setting": "traffic.queries.load.total", "values": list(map(str, QUERIES))}],
            "points": list(points) or [{"name": "a"}, {"name": "b"}],
            "columns": [{"name": "sent", "figure": "traffic.queries.sent"}],
            "repeats": 2, "attempts": 2, "output": {"csv": "c.csv", "markdown": "c.md", "html": "c.html"}, **keys,
        }

    def __enter__(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="ddiperf-test-")
        self.folder = Path(self.temporary.name)
        (self.folder / "base.yaml").write_text(ring(item(load={"rate": "5k", "total": 10}), run={"duration": "60ms", "interval": "20ms"}))
        self.journal = self.folder / "c.jsonl"
        self.write()
        return self

    def __exit__(self, *_):
        self.temporary.cleanup()

    def write(self, **keys):
        self.settings.update(keys)
        (self.folder / "c.yaml").write_text(json.dumps(self.settings))

    def words(self, *options):
        return [binary(), "campaign", "c.yaml", *options]

    def run(self, *options, prefix=()):
        return execute([*prefix, *self.words(*options)], cwd=self.folder)

    def lines(self):
        return [json.loads(line) for line in self.journal.read_text().splitlines()[1:]]

    def rows(self):
        with open(self.folder / "c.csv", newline="") as file:
            return list(csv.DictReader(file))

    def means(self):
        return {(row["point"], row["queries"]): float(row["mean"]) for row in self.rows() if row["mean"]}

    def log(self):
        """What the hooks have said."""
        path = self.folder / "hooks"
        return path.read_text().split("\n")[:-1] if path.exists() else []


def say(words):
    """A hook that writes down what it knows."""
    return f"echo {words} >>hooks"
