#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Campaigns that are killed, are interrupted or fill the disk, their page in a browser and the schema of their settings. Campaign
# and runs are processes of their own, but their clocks are stepped.

import json
import os
import signal
from pathlib import Path

from browser import Browser
from campaign import QUERIES, Campaign, say
from harness import EXIT, ROOT, binary, execute, main, nightly, start, test, until

WANTED = {(point, str(queries)): queries for point in "ab" for queries in QUERIES}


@test
def a_campaign_that_is_killed_goes_on_where_it_stopped():
    hooks = {"start": say("start $DDIPERF_POINT $DDIPERF_VARY_QUERIES $DDIPERF_REPEAT"), "stop": say("stop")}
    # The kill meets the second run of point b, which then waits in a hook of its own.
    wait = "test $DDIPERF_POINT = a || test -e go || { touch asleep; exec sleep 60; }"
    operations = [{"name": "quick"}, {"name": "slow", "set": [f"hooks={json.dumps({'start': wait, 'timeout': '24h'})}"]}]
    with Campaign({"name": "a", **hooks}, {"name": "b", **hooks}, operations=operations, average=True, timeout="24h") as c:
        c.write(vary=[{**c.settings["vary"][0], "values": ["20"]}])
        process = start(c.words(), cwd=c.folder)
        until(lambda: (c.folder / "asleep").exists(), "the run that waits")
        child = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0]
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        until(lambda: not Path(f"/proc/{child}").exists(), "the end of the run that the campaign had started", 10)
        (c.folder / "go").touch()
        before = c.journal.read_text()
        assert len(before.splitlines()) == 1 + 3, before
        c.journal.write_text(before + '{"cell":0,"repe')
        code, out, err = c.run()
        assert code == 0, (out, err)
        assert c.journal.read_text().startswith(before), "lines of the first part are as they were"
        # Each point and value twice, and once more the one that was cut.
        counted = {}
        for line in c.lines():
            assert line["status"] == "done" and line["counts"], line
            counted.setdefault((line["cell"], line["repeat"]), {}).setdefault(line["attempt"], []).append(line["operation"])
        assert len(counted) == 4 and sum(len(one) for one in counted.values()) == 5, counted
        assert all(["quick", "slow"] in one.values() for one in counted.values()), counted
        assert {(row["operation"], row["mean"]) for row in c.rows()} == {
            ("quick", "20"), ("slow", "20"), ("average", "20")}, c.rows()
        assert c.means() == {("a", "20"): 20, ("b", "20"): 20} and all(row["repeats"] == row["kept"] == "2" for row in c.rows()), c.rows()
        assert c.log().count("start b 20 1") == 2 and "start b 20 2" in c.log() and c.log()[-1] == "stop", c.log()
        # Nothing is left to do.
        again = c.run()
        assert again[0] == 0 and len(c.lines()) == sum(len(ops) for one in counted.values() for ops in one.values()), again
        assert "| b     | 20      | 20.0 ± 0 | 20.0 ± 0 | 20.0 ± 0 |" in (c.folder / "c.md").read_text(), (c.folder / "c.md").read_text()
        assert '"campaign"' in (c.folder / "c.html").read_text()


@nightly
def a_full_disk_ends_the_campaign_and_keeps_its_runs():
    with Campaign(repeats=1) as c:
        assert c.run()[0] == 0
        heading, *lines = c.journal.read_text().splitlines()
        # Room for results of a run, but not for one line more in this file.
        c.journal.write_text("\n".join([heading + " " * (256 * 1024 - len(heading) - sum(map(len, lines[:2])) - 50), *lines[:2], ""]))
        before = c.journal.read_bytes()
        code, out, err = c.run(prefix=["bash", "-c", 'ulimit -f 256; exec "$@"', "-"])
        assert code == EXIT["environment"] and "output.jsonl: c.jsonl: " in err, (out, err)
        assert c.journal.read_bytes() == before and "not run" in out, out
        assert c.run()[0] == 0 and c.means() == WANTED


@test
def an_interrupt_ends_the_run_and_stops_the_server():
    with Campaign({"name": "a", "stop": say("stop")}, timeout="24h", set=["traffic.queries.load.rate=1", "run.duration=200h"]) as c:
        process = start(c.words(), cwd=c.folder)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        until(lambda: children.read_text().split(), "a run")
        until(lambda: (c.folder / "c.jsonl.result.part").exists(), "its first packets")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        assert process.returncode == EXIT["interrupted"] and "not run" in out, (out, err)
        assert c.log() == ["stop"] and c.lines() == [] and not list(c.folder.glob("c.jsonl.*")), list(c.folder.iterdir())


@test
def the_page_draws_each_figure_over_the_varied_setting_or_over_the_points():
    columns = [{"name": "sent", "figure": "traffic.queries.sent"}, {"name": "<b>loss", "figure": "traffic.queries.loss"}]
    with Campaign({"name": "a"}, vary=[{"name": "queries", "setting": "traffic.queries.load.total", "values": ["5", "6", "7"]}],
                  columns=columns, repeats=2) as c, Browser() as browser:
        assert c.run()[0] == 0
        browser.open(c.folder / "c.html")
        assert browser.complaints() == [] and not [url for url in browser.requests() if not url.startswith("file:")], browser.complaints()
        drawn = "[...document.querySelectorAll('figure')].map(one => [one.dataset.chart, one.dataset.points, one.dataset.lines])"
        assert browser.value(f"JSON.stringify({drawn})") == '[["campaign sent","3","1"]]', browser.value(f"JSON.stringify({drawn})")
        cells = json.loads(browser.value("JSON.stringify([...document.querySelectorAll('[data-table] td')].map(one => one.textContent))"))
        assert cells[:3] == ["a", "5", "5 ± 0"] and cells[9:12] == ["a", "5", "0 ± 0"], cells


@test
def settings_have_a_schema_and_samples_keep_it():
    import jsonschema
    import yaml
    code, out, err = execute([binary(), "list", "campaign", "--schema"])
    assert code == 0 and not err, err
    known = jsonschema.Draft202012Validator(json.loads(out))
    samples = sorted((ROOT / "config").glob("campaign-*.yaml"))
    assert len(samples) == 2
    for path in samples:
        assert not list(known.iter_errors(yaml.safe_load(path.read_text()))), path
        code, out, err = execute([binary(), "campaign", str(path), "--dump"])
        assert code == 0 and not err, err
    assert list(known.iter_errors({"base": "x", "points": [{"nome": "x"}]}))


main()
