#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# The interface is not ours: what others put there stays, looking at it changes nothing, and it is one run's at a time.

import os
import signal
import tempfile
from pathlib import Path

from harness import EXIT, binary, config_file, execute, main, nightly, test
from live import DRIVERS, Running, attached_xdp, check_untouched, config, foreign_xdp, lab, link, state_files

PACKET_DRIVERS = ("pcap", "af_packet")
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=+net_raw,+net_admin,+ipc_lock",
          "--ambient-caps=+net_raw,+net_admin,+ipc_lock")


def doctor(text, prefix=()):
    """(exit code, output) of doctor on that configuration."""
    with config_file(text) as path:
        os.chmod(path.parent, 0o755)
        code, out, err = execute(lab().tester(*prefix, binary(), "doctor", str(path)))
    return code, out + err


def kill(text):
    with Running(text) as running:
        running.signal(signal.SIGKILL)
    assert running.result.code == -signal.SIGKILL, running.result


def look():
    """All that a look could change: the interface, and what a killed run wrote about it."""
    return link(), [path.read_text() for path in state_files()]


def add(driver):
    def run():
        lab("knot")
        text = config(driver, port={"force": True}, run={"duration": "60s"})
        with foreign_xdp() as foreign:
            code, out = doctor(config(driver))
            assert code == EXIT["environment"] and f"(id {foreign})" in out and "ip link set dev veth0 xdpgeneric off" in out, out
            assert attached_xdp() == foreign
            code, out = doctor(text)
            assert code == 0 and attached_xdp() == foreign, out
            with Running(text) as running:
                assert attached_xdp() == foreign
                running.signal()
            assert running.result.item("queries")["lost"] == 0, running.result
            assert attached_xdp() == foreign
            kill(text)
            assert attached_xdp() == foreign
            result = lab().ddiperf(config(driver, port={"force": True}))
            assert result.code == 0 and result.item("queries")["answered"] == 500, result
            assert attached_xdp() == foreign
        check_untouched()

    run.__name__ = f"a_foreign_xdp_program_survives_doctor_run_kill_and_recovery_through_{driver}"
    test(run)


for each in PACKET_DRIVERS:
    add(each)


@test
def a_driver_that_needs_the_place_of_a_foreign_xdp_program_is_refused():
    with foreign_xdp() as foreign:
        for force in (False, True):
            text = config("af_xdp", port={"force": force})
            for code, said in (doctor(text), (lambda r: (r.code, r.stderr))(lab().ddiperf(text))):
                assert code == EXIT["environment"] and f"(id {foreign})" in said, said
                assert "ip link set dev veth0 xdpgeneric off" in said and "bpftool net attach" in said, said
                assert attached_xdp() == foreign
    check_untouched()


@test
def recovery_leaves_a_program_that_came_after_the_kill():
    lab("knot")
    kill(config("af_xdp", run={"duration": "60s"}))
    execute(lab().tester("ip", "link", "set", "dev", "veth0", "xdp", "off"))
    with foreign_xdp() as foreign:
        result = lab().ddiperf(config("af_xdp", port={"force": True}))
        assert result.code == EXIT["environment"] and attached_xdp() == foreign, result
        result = lab().ddiperf(config("af_packet", port={"force": True}))
        assert result.code == 0 and attached_xdp() == foreign, result
    check_untouched()


@nightly
def a_look_changes_nothing_even_after_a_kill():
    lab("knot")
    for driver in DRIVERS:
        kill(config(driver, run={"duration": "60s"}))
        left = look()
        assert state_files() and ("xdp" in left[0]) == (driver == "af_xdp"), left
        for command in ("doctor", "check", "plan"):
            with config_file(config(driver)) as path:
                code, out, err = execute(lab().tester(binary(), command, str(path)))
            assert code == 0, (command, out, err)
            assert look() == left, (command, left, look())
        result = lab().ddiperf(config(driver))
        assert result.code == 0 and result.item("queries")["answered"] == 500, result
        check_untouched()


@test
def an_interface_belongs_to_one_run_of_all_users():
    lab("knot")
    for folder in Path(binary()).parents:
        assert folder.stat().st_mode & 0o005 == 0o005, f"{folder}: another user cannot run the program"
    with Running(config("af_packet", run={"duration": "60s"})) as running:
        before = link()
        code, out = doctor(config("af_packet"), NOBODY)
        assert code == EXIT["environment"] and "in use by another run" in out, out
        code, out = doctor(config("af_packet"))
        assert code == EXIT["environment"] and f"in use by process {running.process.pid} " in out, out
        assert link() == before
        running.signal()
    assert running.result.code == EXIT["interrupted"] and running.result.item("queries")["lost"] == 0, running.result
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        code, out = doctor(config("af_packet"), (*NOBODY, "env", f"XDG_RUNTIME_DIR={folder}"))
        assert code == 0 and not os.listdir(folder), (out, os.listdir(folder))
    check_untouched()


main()
