# SPDX-License-Identifier: BSD-3-Clause
"""Messages without packets, as Wireshark reads them over UDP."""

import tempfile
from pathlib import Path

from harness import execute


def dissected(messages, port=67):
    """[the lines of what tshark says about each message], none of which is malformed."""
    with tempfile.TemporaryDirectory() as folder:
        dump, path = Path(folder) / "all.txt", Path(folder) / "all.pcap"
        dump.write_text("".join(f"000000 {message.hex(' ')}\n" for message in messages))
        code, text, err = execute(["text2pcap", "-q", "-u", f"{port},{port}", str(dump), str(path)])
        assert code == 0, f"{text}{err}"
        code, text, err = execute(["tshark", "-r", str(path), "-V"])
    assert code == 0 and "Malformed" not in text, f"{text}{err}"
    parts = [[line.strip() for line in part.splitlines()] for part in f"\n{text}".split("\nFrame ")[1:]]
    assert len(parts) == len(messages), text
    return parts
