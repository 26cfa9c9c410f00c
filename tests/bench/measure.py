# SPDX-License-Identifier: BSD-3-Clause
"""Running what is compared, one after the other and again, and never leaving one of them behind."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests" / "lib"), str(ROOT / "tests" / "loop")]

import harness  # noqa: E402
from harness import EXIT, Lab, Skipped, config_file, kill, need_root, skip  # noqa: E402, F401
from loop import RELAXED, item, ring  # noqa: E402, F401

os.environ["PATH"] += ":/usr/sbin:/sbin"
NAMES = {"names": ["h{0-999}.example.com A"]}
FINISHED = (EXIT["pass"], EXIT["fail"], EXIT["invalid"])


FAVOUR = ["sh", "-c", "echo -19 >/proc/self/autogroup; exec nice -n -19 \"$@\"", "sh"]
_before = []  # words before every command line


def favour():
    """What is measured goes before what other users of the box do (a session is a scheduling group of its own)."""
    _before[:] = FAVOUR


def start(argv, **options):
    return harness.start([*_before, *argv], **options)


def execute(argv, *words, **options):
    return harness.execute([*_before, *argv], *words, **options)


class Broken(Exception):
    """Something that is measured did not do what it is there for."""


class Bench:
    """What every row needs to know."""

    def __init__(self, binary, repeats, seconds):
        self.binary, self.repeats, self.seconds = str(Path(binary).resolve()), repeats, seconds

    def duration(self):
        return f"{round(self.seconds * 1000)}ms"

    def alternate(self, **cases):
        """{name: [result]} of cases {name: function}, each called in turn, again and again."""
        results = {name: [] for name in cases}
        for _ in range(self.repeats):
            for name, case in cases.items():
                results[name].append(case())
        return results

    def run(self, text, prefix=(), binary=None, timeout=120):
        """The JSON result of a configuration (a dict or text)."""
        with config_file(text if isinstance(text, str) else json.dumps(text)) as file:
            out = file.parent / "result.json"
            argv = [*prefix, binary or self.binary, "run", str(file), "--json", str(out), "--quiet"]
            code, stdout, stderr = execute(argv, timeout, cwd=file.parent)
            if code not in FINISHED or not out.exists():
                raise Broken(f"exit code {code}: {(stderr or stdout).strip()[-300:]}")
            return json.loads(out.read_text())

    def refusal(self, text):
        """What `check` says against a configuration; empty: nothing."""
        with config_file(text) as file:
            code, _, stderr = execute([self.binary, "check", str(file)])
        return stderr.strip().split("\n")[0].partition(": ")[2] if code else ""

    def build_folder(self):
        """Where ninja has built the binary; None when it comes from elsewhere."""
        folder = Path(self.binary).parent.parent
        return folder if (folder / "build.ninja").exists() else None


def cost(result):
    return result["workers"][0]["ns_per_transaction"]


def rate(result):
    return result["traffic"][0]["answered_per_s"]


def median(values):
    return statistics.median(values)


def paired(numbers, others):
    """The median of the ratios of what was measured side by side."""
    return statistics.median(a / b for a, b in zip(numbers, others) if b)


def say(*words):
    """Progress, where it does not get into the table."""
    print("#", *words, file=sys.stderr, flush=True)


def output_of(*argv, timeout=60, **options):
    """Standard output of a program that must succeed."""
    code, out, err = execute([str(word) for word in argv], timeout, **options)
    if code:
        raise Broken(f"{argv[0]}: {(err or out).strip()[-300:]}")
    return out


def machine():
    """Where and of what the figures are."""
    with open("/proc/cpuinfo", encoding="ascii") as file:
        model = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "?")
    done = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty"], capture_output=True, text=True)
    return {"cpu": model, "cpus": os.cpu_count(), "kernel": os.uname().release,
            "commit": done.stdout.strip() or "unknown", "seed": 1}


def folder():
    return tempfile.TemporaryDirectory(prefix="ddiperf-bench-")
