#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Campaigns that wait for commands, which only a real clock measures. The others: tests/stepped/test_campaign.py.

from campaign import Campaign
from harness import EXIT, main, test, timing


@test
def an_operation_lasts_until_the_server_says_so():
    operations = [{"name": "a"}, {"name": "b", "before": "touch held", "until": "test ! -e held"}]
    columns = [{"name": "s", "figure": "seconds"}, {"name": "rate", "figure": "per_s"}]
    # The responder's own counters cannot be asked from outside: a hook of the base is its voice.
    base = ["hooks={stop: 'sleep 0.3; rm -f held'}"]
    with Campaign({"name": "a"}, operations=operations, columns=columns, vary=[], repeats=1, set=base) as c:
        code, out, err = c.run()
        assert code == 0, (out, err)
        seconds = {(row["operation"], row["figure"]): float(row["mean"]) for row in c.rows()}
        assert 0.3 < seconds["b", "s"], seconds
        timing(seconds["a", "s"] < 0.1 and seconds["b", "s"] < 5, seconds)
        assert abs(seconds["b", "rate"] - 10 / seconds["b", "s"]) < 1e-6, seconds
        # It does not wait for the server of a run that went wrong.
        c.journal.unlink()
        c.write(set=["run.warmup=0s", "traffic.queries.dns.names=['x A']"], points=[{"name": "a", "set": ["output.capture={file: /nonexistent/x}"]}])
        code, out, err = c.run()
        assert code == EXIT["environment"] and "no values: a: exit status 2: " in out, (out, err)


main()
