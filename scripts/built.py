# SPDX-License-Identifier: BSD-3-Clause
"""The objects of a build, for the checkers that read them."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def run(*argv):
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout


def ninja(build, *targets):
    done = subprocess.run(
        ["ninja", "-C", build, *targets], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        sys.exit(done.stdout[-3000:])


def objects(build):
    """{source of lib or app, from ROOT: its object, up to date}, by what the build itself compiles."""
    ninja(build, "build.ninja")
    found = {}
    for command in json.loads((build / "compile_commands.json").read_text()):
        source = (Path(command["directory"]) / command["file"]).resolve()
        output = Path(command["output"])  # a test may build a source again
        if source.is_relative_to(ROOT) and source.relative_to(ROOT).parts[0] == output.parts[0]:
            if output.parts[0] in ("lib", "app"):
                found[source.relative_to(ROOT).as_posix()] = output
    ninja(build, *found.values())
    return {source: build / output for source, output in found.items()}
