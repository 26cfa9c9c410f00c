# SPDX-License-Identifier: BSD-3-Clause
"""Runs of the program on this machine, without a server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Iterable, Mapping

from .errors import ConfigError, Problem, ProgramError, Timeout
from .result import Result

Config = str | os.PathLike[str] | Mapping[str, Any]
Settings = Mapping[str, Any] | Iterable[str]

GRACE_S = 10.0  # for the end of an interrupted run


def config_path(config: Config) -> Path | None:
    """The file that is meant; None: the configuration itself. A single word that ends in .yaml is a file."""
    if isinstance(config, os.PathLike):
        return Path(config)
    if isinstance(config, str) and config.endswith((".yaml", ".yml")) and "\n" not in config:
        return Path(config)
    return None


def config_text(config: Config) -> str:
    """JSON is YAML, too."""
    path = config_path(config)
    if path:
        return path.read_text()
    return config if isinstance(config, str) else json.dumps(config, indent=1)


def config_settings(settings: Settings) -> list[str]:
    """PATH=VALUE, from a mapping or as they are."""
    if not isinstance(settings, Mapping):
        return [settings] if isinstance(settings, str) else list(settings)
    return [f"{path}={value if isinstance(value, str) else json.dumps(value)}" for path, value in settings.items()]


def run(config: Config, *, settings: Settings = (), timeout: float | None = None, program: str | None = None) -> Result:
    """Run a configuration (a file, YAML text or a mapping) and return its result, whatever the verdict is. Files that
    a text or a mapping names are relative to the working directory."""
    path = config_path(config)
    words = ["run", str(path) if path else "-"]
    for one in config_settings(settings):
        words += ["--set", one]
    return command(*words, timeout=timeout, program=program, stdin=None if path else config_text(config))


def command(*words: str, timeout: float | None = None, program: str | None = None, stdin: str | None = None) -> Result:
    """Run a command line such as "dns", "127.0.0.1", "example.com", "A", "-r", "100". program: by default $DDIPERF, or
    ddiperf. A run that does not end within `timeout` seconds is interrupted."""
    program = program or os.environ.get("DDIPERF") or "ddiperf"
    with tempfile.TemporaryDirectory(prefix="ddiperf-") as folder:
        out = Path(folder, "result.json")
        try:
            process = subprocess.Popen(
                [program, *words, "--quiet", "--json", str(out)], text=True, errors="replace",
                stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )
        except OSError as error:
            raise ProgramError(f"{program} cannot be started: {error.strerror}") from error
        said = _communicate(process, stdin, timeout)
        if out.exists():
            return Result.load(out)
    if process.returncode == 2:
        raise ConfigError((Problem.of_line(line) for line in said.splitlines() if line.strip()), 2)
    raise ProgramError(said.strip() or f"{program} ended with exit code {process.returncode}", process.returncode)


def _communicate(process: subprocess.Popen[str], stdin: str | None, timeout: float | None) -> str:
    try:
        return process.communicate(stdin, timeout)[1]
    except subprocess.TimeoutExpired as error:
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=GRACE_S)
        except subprocess.TimeoutExpired:
            pass
        raise Timeout(f"ddiperf did not end within {timeout:g} s and was interrupted") from error
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
