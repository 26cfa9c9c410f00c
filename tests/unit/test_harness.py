#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# The judges themselves: what tests/lib/harness.py makes of a test that fails now and then, and scripts/test of its words.
# STEPPED is in the environment, so that no test in here is made again.

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from unittest import mock

import harness
from harness import ROOT, SANITIZER, TRIES, Box, execute, main, skip, start, test

LEDGER = {"name": "q", "due": 10, "sent": 10, "unsent": 0, "answered": 9, "failed": 0, "lost": 1, "no_reply": 0, "in_flight": 0}
BUSY = {"max_gap_ns": 50e6, "gaps_over_1ms": 2, "stolen_s": 0.06}


def disturbed():
    Box.away_ms = 50


QUIET = {"stolen_ms": staticmethod(lambda: 0), "others_ms": staticmethod(lambda: 0), "settle": staticmethod(lambda: None)}


def outcome(body):
    """(exit code, line, how often it was made) of a test of that body, in real time on a box that is quiet."""
    calls = []

    def number():
        calls.append(body)
        return len(calls)

    names = {**vars(harness), "harness": harness, "number": number, "disturbed": disturbed}
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    exec(f"def one():\n    n = number()\n{lines}", names)
    with mock.patch.multiple(harness, STEPPED=None, forget=[]), mock.patch.multiple(Box, **QUIET), \
            contextlib.redirect_stdout(io.StringIO()) as out:
        code = int(harness.judge(1, names["one"]))
    line, = re.findall(r"^(?:not )?ok .*", out.getvalue(), re.M)
    return code, line, len(calls)


def is_final(body):
    code, line, calls = outcome(body)
    assert code == 1 and line == "not ok 1 - one" and calls == 1, (body, code, line, calls)


@test
def a_test_that_fails_one_time_in_two_fails_on_a_quiet_box_and_on_a_busy_one():
    for box in ("pass", "disturbed()"):
        is_final(f"{box}\nassert n % 2 == 0")
    is_final("timing(n % 2 == 0, 'too slow')")


@test
def a_wrong_ledger_wrong_bytes_a_signal_and_a_report_of_a_sanitizer_are_final_on_a_busy_box():
    wrong = {**LEDGER, "answered": 8}
    document = {"traffic": [wrong], "workers": [BUSY], "verdict": {}}
    is_final(f"disturbed()\nif n == 1: check_ledger({wrong})")
    is_final(f"disturbed()\nif n == 1: Result(0, {document}, '', '')")
    is_final("disturbed()\nassert n > 1 or b'a' == b'b'")
    is_final("disturbed()\nif n == 1: Result(-11, None, '', '').item('q')")
    is_final(f"disturbed()\nif n == 1: Result({SANITIZER}, None, '', '')")
    is_final("disturbed()\nif n == 1: execute(['sleep', '9'], timeout=0.1)")
    is_final(f"disturbed()\nif n == 1: execute(['sh', '-c', 'exit {SANITIZER}'])")


@test
def what_is_about_time_is_made_again_while_the_box_is_busy():
    code, line, calls = outcome("disturbed()\ntiming(n == 3, 'too slow')")
    assert code == 0 and line == "ok 1 - one" and calls == 3, (code, line, calls)
    code, line, calls = outcome("harness.forget[:] = [lambda: number()]\ndisturbed()\ntiming(n > 1, 'too slow')")
    assert code == 0 and calls == 3, (code, line, calls)  # twice by the test, and between
    code, line, calls = outcome(f"Box.saw({{'workers': [{BUSY}]}})\ntiming(n == 2, 'too slow')")
    assert code == 0 and line == "ok 1 - one" and calls == 2, (code, line, calls)
    code, line, calls = outcome(f"r = Result(0, {{'workers': [{BUSY}]}}, '', '')\nif n == 1: calm(r, 49)\nelse: calm(r, 51)")
    assert code == 0 and calls == 2, (code, line, calls)
    code, line, calls = outcome(f"r = Result(0, {{'workers': [{BUSY}], 'responder': {BUSY}}}, '', '')\ncalm(r, 101 if n == 2 else 99)")
    assert code == 0 and calls == 2, (code, line, calls)


@test
def an_answer_may_be_late_where_the_cpus_were_away_for_a_third_of_a_timeout():
    def saw(timeout):
        return f"Box.saw({{'workers': [{BUSY}], 'responder': {BUSY}, 'config': {{'traffic': [{{'timeout': '{timeout}'}}]}}}})\n"

    code, line, calls = outcome(saw("299ms") + "assert n == 2, 'one was lost'")
    assert code == 0 and line == "ok 1 - one" and calls == 2, (code, line, calls)
    is_final(saw("301ms") + "assert n == 2, 'one was lost'")
    is_final(saw("1m 1ms") + "assert n == 2, 'one was lost'")
    is_final(saw("200ms") + f"if n == 1: check_ledger({ {**LEDGER, 'answered': 8} })")


@test
def a_run_that_a_cpu_left_at_its_end_or_between_intervals_is_made_again():
    def saw(unsent, gap_ms, *lengths):
        worker = {"max_gap_ns": gap_ms * 1e6, "gaps_over_1ms": 2, "stolen_s": gap_ms / 1e3}
        return (f"Box.saw({{'workers': [{worker}], 'traffic': [{{'unsent': {unsent}}}], 'intervals': "
                f"{[{'length_s': length, 't_s': sum(lengths[:n + 1])} for n, length in enumerate(lengths)]}, 'run': {{'measured_s': 0.25}}, "
                f"'config': {{'run': {{'interval': '100ms'}}, 'traffic': []}}}})\n")

    for busy in (saw(1, 11), saw(0, 11, 0.1, 0.2, 0.1), saw(0, 11, 0.1, 0.2)):
        code, line, calls = outcome(busy + "assert n == 2, 'not all were sent'")
        assert code == 0 and line == "ok 1 - one" and calls == 2, (code, line, calls)
    for calm in (saw(1, 9), saw(0, 50), saw(0, 50, 0.1, 0.1, 0.9)):
        is_final(calm + "assert n == 2, 'not all were sent'")


@test
def what_other_programs_take_is_a_busy_box():
    took = "times = [0, {}]\nBox.others_ms = staticmethod(lambda: times.pop(0))\nbox = Box()\nassert bool(box.disturbed()) == {}"
    for ms, busy in ((40, False), (200, True)):
        code, line, _ = outcome(took.format(ms, busy))
        assert code == 0, (ms, line)


@test
def a_disturbance_of_an_earlier_try_is_none_of_the_next():
    code, line, calls = outcome("if n == 1: disturbed()\ntiming(n == 3, 'too slow')")
    assert code == 1 and line == "not ok 1 - one" and calls == 2, (code, line, calls)


@test
def what_is_always_late_on_a_busy_box_is_not_judged():
    code, line, calls = outcome("disturbed()\ntiming(False, 'too slow')")
    assert code == 0 and calls == TRIES, (code, line, calls)
    assert line.startswith("not ok 1 - one # TODO not judged: a CPU was away") and line.endswith("too slow"), line


@test
def an_invalid_run_is_the_boxs_only_where_its_reasons_are():
    def run(reason, by="tester", more=""):
        document = {"workers": [BUSY], "verdict": {"status": "invalid", "invalid_by": by, "reasons": [reason]}}
        return f"if n == 1: r = Result(5, {document}, '', ''{more}); assert r.code == 0\n"

    stolen = "port a: the worker on CPU 1 was descheduled for 3 s"
    code, line, calls = outcome(run(stolen))
    assert code == 0 and calls == 2, (code, line, calls)
    code, line, calls = outcome(run(stolen, by="disturbance"))
    assert code == 0 and calls == 2, (code, line, calls)
    is_final(run("port lan: the link was down 1 times"))
    is_final(run("q: nothing was sent in the measured part"))
    is_final(run("q: the tester did not send 3 of 4", by="load"))
    is_final(run(stolen, more=", invalid=True"))


# --- scripts/test -------------------------------------------------------------------------------------------------


def script(**environment):
    """scripts/test as a module, as it is with that environment."""
    path = str(ROOT / "scripts" / "test")
    before = dict(os.environ)
    os.environ.update(environment)
    try:
        loader = importlib.machinery.SourceFileLoader("ddiperf_scripts_test", path)
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
        write, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        loader.exec_module(module)
        sys.dont_write_bytecode = write
        return module
    finally:
        os.environ.clear()
        os.environ.update(before)


def closing(passed, unjudged, extra="", **environment):
    """(exit code, lines) of the summary of a loop suite with so many tests; extra: more of its TAP."""
    module = script(**environment)
    step = module.Step("loop")
    text = "".join(f"ok {n} - t\n" for n in range(passed))
    text += "".join(f"not ok {n} - u # TODO not judged: a CPU was away\n" for n in range(unjudged)) + extra
    record = {"name": "loop x", "stdout": text, "result": "FAIL" if extra.startswith("not ok") else "OK", "returncode": 0}
    with contextlib.redirect_stdout(io.StringIO()) as out:
        module.count_meson_test(step, record, shown=True)
        code = module.report([step], 1)
    return code, out.getvalue().splitlines()


@test
def up_to_two_in_a_hundred_need_not_be_judged_and_none_in_a_release():
    code, lines = closing(98, 2)
    assert code == 0 and lines[-1] == "98 passed, 0 failed" and lines[-2].startswith("not judged: 2 of 100 "), lines
    code, lines = closing(97, 3)
    assert code == 1 and lines[-1] == "97 passed, 0 failed" and lines[-2].startswith("not judged: 3 of 100 "), lines
    code, lines = closing(999, 1, RELEASE="1")
    assert code == 1 and lines[-1] == "999 passed, 0 failed", lines
    assert closing(999, 0, RELEASE="1")[0] == 0


@test
def a_failure_turns_the_suite_red_and_in_ci_a_skip_too():
    assert closing(99, 0, "not ok 7 - bad\n")[0] == 1
    assert closing(99, 0, "not ok 7 - bad # TODO one day\n")[0] == 1
    skipped = "ok 7 - somewhere else # SKIP needs root\n"
    assert closing(99, 0, skipped, CI="")[0] == 0
    code, lines = closing(99, 0, skipped, CI="true")
    assert code == 1 and lines[-1] == "99 passed, 0 failed, 1 skipped", lines


@test
def each_report_of_a_sanitizer_is_a_failure_that_is_shown():
    module = script()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as out:
        module.REPORTS = Path(folder)
        (Path(folder) / "asan.12").write_text("==12==ERROR: AddressSanitizer: heap-use-after-free on ...\n")
        (Path(folder) / "ubsan.13").write_text("a.c:7:1: runtime error: shift exponent 32 is too large\n")
        step = module.Step("loop")
        module.count_reports(step)
        assert not os.listdir(folder)
    assert len(step.failures) == 2 and "heap-use-after-free" in step.failures[0] and "shift" in step.failures[1], step.failures
    assert "heap-use-after-free" in out.getvalue() and "shift exponent" in out.getvalue()


@test
def a_program_that_a_sanitizer_stops_ends_with_a_code_of_its_own_and_leaves_a_report():
    if not shutil.which("gcc"):
        skip("gcc is not installed")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "leak.c"
        path.write_text("#include <stdlib.h>\n"
                        "int main(int c, char **v) { (void)v; return c > 1 ? c << (c + 30) : !malloc(7); }\n")
        code, _, err = execute(["gcc", "-fsanitize=address,undefined", "-o", f"{folder}/leak", str(path)])
        assert code == 0, err
        environment = {key: value.replace(str(script().REPORTS), folder) for key, value in script().ENVIRONMENT.items()}
        for words, report in ((["x"], "ubsan"), ([], "asan")):
            with start([f"{folder}/leak", *words], env=environment) as process:
                _, err = process.communicate()
            # gcc's libubsan beside libasan writes to standard error.
            found = [name for name in os.listdir(folder) if name.startswith(report)] or "runtime error" in err
            assert process.returncode == SANITIZER and found, (process.returncode, err, os.listdir(folder))


main()
