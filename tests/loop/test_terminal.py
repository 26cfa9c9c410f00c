#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# The view of a run on a terminal, in tmux: what is on the screen, at several sizes, and after it. In real time: keys, signals
# and sizes come from outside while the run is running. Its lines: tests/unit/app/test_view.c and transcripts/live.txt.

import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

from harness import EXIT, binary, config_file, execute, kill, main, skip, start, test, until
from loop import item, ring

LONG = {"duration": "60s", "warmup": "300ms", "name": "evening"}


class Screen:
    """A terminal with a shell that runs one command and then tells its exit code and modes."""

    def __init__(self, command, columns=80, rows=24, env=""):
        if not shutil.which("tmux"):
            skip("tmux is not installed: scripts/deps install test")
        self.folder = tempfile.TemporaryDirectory(prefix="ddiperf-test-")
        self.done = Path(self.folder.name, "done")
        Path(self.folder.name, "script").write_text(
            f"trap : INT\nstty -a > {self.folder.name}/before\n{env} {command}\necho $? > {self.folder.name}/code\n"
            "trap '' INT\n"  # a key that comes when the run has ended must not end what follows
            f"stty -a > {self.folder.name}/after\nmv {self.folder.name}/code {self.done}\nwhile :; do sleep 1; done\n")
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows),
                  f"env LC_ALL=C.UTF-8 sh {self.folder.name}/script")

    def tmux(self, *words):
        return subprocess.run(["tmux", "-u", "-S", f"{self.folder.name}/tmux", *words], check=True, capture_output=True,
                              encoding="utf-8").stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux("kill-server")
        self.folder.cleanup()

    def text(self):
        return self.tmux("capture-pane", "-p")

    def history(self):
        return self.tmux("capture-pane", "-p", "-J", "-S", "-")

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def resize(self, columns, rows):
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def see(self, pattern):
        """The screen once it has this."""
        def seen():
            text = self.text()
            return text if re.search(pattern, text, re.M) else None
        return until(seen, lambda: f"{pattern}\n{self.text()}")

    def end(self):
        """The exit code, and that the terminal is as it was."""
        until(self.done.exists, lambda: f"the end\n{self.text()}")
        before, after = (Path(self.folder.name, name).read_text() for name in ("before", "after"))
        assert strip_size(before) == strip_size(after), after
        return int(self.done.read_text())


def strip_size(modes):
    return re.sub(r"rows \d+; columns \d+", "", modes)


@contextmanager
def shown(text, *options, **more):
    with config_file(text) as path, Screen(f"{binary()} run {path} {' '.join(options)}", **more) as screen:
        yield screen


ITEMS = [item(), item("others", load={"rate": "200"})]


def view_of(text):
    """The lines of the view."""
    lines = text.splitlines()
    found = [n for n, line in enumerate(lines) if re.match("evening(, run 1)?  +q: ", line) or line == "evening, run 1"]
    assert len(found) == 1, text
    first = found[0]
    return [line for line in lines[first:] if line]


@test
def the_view_fits_the_screen_and_follows_its_size():
    with shown(ring(*ITEMS, run=LONG, criteria=["traffic.others.answered >= 1000000", "loss < 100%"])) as screen:
        for columns, rows in ((80, 24), (200, 50), (60, 10), (80, 24)):
            screen.resize(columns, rows)
            hint = r"^evening  +q: stop and report$"
            wide = rf"^measuring +\[#*\.*\] \d+ of 60 s, \d+ s left$"
            # The responder's thread may begin later than the tester's: the first view has no answer then.
            rate = r"^  per s  rcode NOERROR [\d.]+ k?" if rows > 10 else hint
            text = screen.see(hint)
            text = until(lambda: (t := screen.text()) and re.search(wide, t, re.M) and re.search(hint, t, re.M)
                         and re.search(rate, t, re.M) and "criteria so far: " in t
                         and len(re.search(hint, t, re.M)[0]) == columns - 1 and t, screen.text)
            lines = view_of(text)
            header = next(n for n, line in enumerate(lines) if line.startswith("item "))
            assert lines[header].split()[:3] == ["item", "due/s", "answered/s"], text
            assert re.match(r"queries +2\.\d+ k +\d", lines[header + 1]), text
            assert any(re.match(r"others +2\d\d ", line) for line in lines), text
            assert lines[-1].startswith("busy  tester/"), text
            assert text.count(" q: stop and report") == text.count("busy  tester/") == 1, text
            assert re.search(r"^  answered +[▁▂▃▄▅▆▇█]+ up to [\d.]+ k?/s$", text, re.M), text
            assert ("\nqueries: response latency so far\n" in text) == (rows == 50), text
            if rows > 10:
                assert re.search(r"^  MISSED  traffic.others.answered >= 1000000  [\d ]+$", text, re.M), text
            else:
                assert "\ncriteria so far: 1 missed" in text, text
        screen.keys("q")
        assert screen.end() == EXIT["interrupted"]
        text = screen.text()
        assert "q: stop" not in text and "up to" not in text, text
        assert text.rstrip().splitlines()[-2].startswith("INTERRUPTED"), text


@test
def the_terminal_is_restored_however_the_run_ends():
    for ends in (["C-c"], ["C-c", "C-c"], None):
        with shown(ring(run={**LONG, **({} if ends else {"duration": "3s"})})) as screen:
            screen.see("^busy ")
            for key in ends or []:
                screen.keys(key)
                time.sleep(0.2)
            assert screen.end() == (EXIT["interrupted"] if ends else 0), screen.text()
            text = screen.history()
            assert "q: stop" not in text and "up to" not in text and " measured, seed " in text, text
            assert text.count("interrupted: ending in order") == (ends is not None), text


@test
def a_crash_restores_the_terminal():
    with shown(ring(run=LONG), env="ASAN_OPTIONS=handle_segv=0:handle_abort=0") as screen:
        screen.see("^busy ")
        [pid] = execute(["pgrep", "-f", f"^{binary()} run {screen_file(screen)}"])[1].split()
        os.kill(int(pid), signal.SIGSEGV)
        assert screen.end() == EXIT["internal"], screen.text()
        assert "internal error" in screen.history() and "q: stop" not in screen.text(), screen.text()


def screen_file(screen):
    """The configuration that the command of the screen names."""
    return re.search(r" run (\S+)", Path(screen.folder.name, "script").read_text())[1]


@test
def a_shell_that_stops_the_run_has_its_terminal():
    with config_file(ring(run=LONG)) as path, Screen("bash --norc -i", env="PS1='ready '") as screen:
        screen.see("^ready")
        screen.keys(f"{binary()} run {path}", "Enter")
        screen.see("^busy ")
        screen.keys("C-z")
        text = screen.see("Stopped")
        assert "q: stop" not in text and "busy" not in text, text
        screen.keys("fg", "Enter")
        screen.see("^busy ")
        screen.keys("q")
        screen.see("^INTERRUPTED")
        screen.keys("exit", "Enter")
        screen.end()


@test
def a_watcher_and_a_question_have_the_same_view():
    """The first trial of a search; the answer to a signal is on standard error."""
    search = {"variable": "traffic.queries.load.rate", "from": "500", "to": "2k", "goals": [{"loss": "1%"}],
              "trial": "30s", "final": "30s", "method": "bisect", "warmup": "0s"}

    def check(text, hint):
        lines = view_of(text)
        assert lines[0].endswith(hint) and lines[1].startswith("measuring"), text
        assert re.match(r"trial 1: [\d ]+; met at none yet, not met at none yet  traffic.queries.load.", lines[2]), text
        assert lines[4].startswith("queries ") and any(line.startswith("others ") for line in lines), text

    with config_file(ring(*ITEMS, search=search, run={"name": "evening"})) as path:
        process = start([binary(), "run", str(path), "--quiet"])
        try:
            with Screen(f"sh -c 'until {binary()} watch {process.pid} 2>/dev/null; do sleep 0.1; done'") as screen:
                screen.see("^measuring")
                check(screen.see("^busy "), "q: leave")
                screen.keys("q")
                assert screen.end() == 0 and process.poll() is None
            process.send_signal(signal.SIGUSR1)
            err, watchdog = "", threading.Timer(60, kill, [process])
            watchdog.start()
            while line := process.stderr.readline():
                err += line
                if line.startswith("busy "):
                    break
            watchdog.cancel()
            assert process.poll() is None and "\033" not in err, err
            check(err, "")
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=20)
            assert process.returncode == EXIT["interrupted"] and out.startswith("INTERRUPTED"), (out, err)
        finally:
            kill(process)
            process.communicate()


main()
