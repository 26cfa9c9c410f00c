#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# The options of other tools are those of the tools that are installed here.

import re
import shutil

from harness import ROOT, binary, execute, main, skip, test

OPTION = re.compile(r"^ +(-[A-Za-z0-9])\b(?:, (--[a-z-]+))?", re.M)
OF_PERFDHCP = re.compile(r"^(-\w)[<:]", re.M)


@test
def every_option_of_the_originals_is_known():
    for tool in ("dnsperf", "resperf", "kxdpgun", "perfdhcp"):
        original = shutil.which(tool) or shutil.which(tool, path="/usr/sbin")
        if not original:
            skip(f"{tool} is not installed: scripts/deps install bench")
        _, out, err = execute([original, "-h"])
        ours = set(OPTION.findall(execute([binary(), "as", tool, "--options"])[1]))
        if tool == "perfdhcp":
            theirs = {(letter, "") for letter in OF_PERFDHCP.findall(out + err)} - {("-V", "")}  # of 2.6
        else:
            theirs = set(OPTION.findall(out + err))
        assert len(theirs) > 10 and theirs <= ours, (tool, theirs - ours)


@test
def the_guide_has_what_perfdhcp_cannot():
    page = (ROOT / "docs" / "coming-from.md").read_text()
    table = page.split("| without effect, or refused |", 1)[1].split("\n\n", 1)[0]
    options = execute([binary(), "as", "perfdhcp", "--options"])[1]
    rows = re.findall(r"^  -(.)[^\n]*?(?:no effect|refused): (.*)", options, re.M)
    assert {letter for letter, _ in rows} | {"x"} == set(re.findall(r"`-(\w)", table)), (rows, table)
    for _, why in rows:
        assert why in table, why


main()
