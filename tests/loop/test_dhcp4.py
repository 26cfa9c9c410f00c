#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Lease files of runs that are killed. In real time, as a signal meets the process while it writes.

import contextlib
import tempfile
from pathlib import Path

from dhcp4 import SERVER, answers, clients, lines, served
from harness import binary, config_file, kill, main, start, test
from loop import ring


def with_leases(count):
    """(folder, file with so many leases)."""
    folder = tempfile.TemporaryDirectory(prefix="ddiperf-leases-")
    path = Path(folder.name) / "leases.csv"
    served(clients(load={"outstanding": 16, "total": count}, clients=count, leases={"save": str(path)}))
    return folder, path


def written(path, before, size):
    """Has a run written so many bytes of new leases, to the file or beside it?"""
    if path.stat().st_size != before:
        return True
    with contextlib.suppress(FileNotFoundError):  # renamed in the meantime
        return any(draft.stat().st_size >= size for draft in path.parent.glob("leases.csv.*"))
    return True


@test
def leases_of_a_run_killed_while_it_writes_them_are_the_old_ones_or_the_new_ones():
    count = 30000
    folder, path = with_leases(10)
    with folder:
        head, first = path.read_text().splitlines()[:2]
        expires = first.rsplit(",", 1)[1]
        old = head + "\n" + "".join(
            f"{i},02:00:00:00:{i >> 8:02x}:{i & 255:02x},10.0.{i >> 8}.{i & 255},{SERVER},{expires}\n" for i in range(count))
        text = ring(
            clients(load={"outstanding": 1, "total": 20}, clients=count, exchange="renew",
                    leases={"load": str(path), "save": str(path)}),
            responder=answers(authoritative=True))
        cut = 0
        for size in (0, 1, 20_000, 200_000, 1_000_000, 1_600_000):
            for draft in path.parent.glob("leases.csv.*"):
                draft.unlink()
            path.write_text(old)
            with config_file(text) as file:
                process = start([binary(), "run", str(file)])
                while process.poll() is None and not written(path, len(old), size):
                    pass
                kill(process)
            cut += process.returncode != 0
            assert path.read_text() == old or len(lines(path)) == count, (size, path.stat())
        assert cut >= 3, cut  # a file that was just renamed is no reason to fail


main()
