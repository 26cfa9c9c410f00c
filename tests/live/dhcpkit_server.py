# SPDX-License-Identifier: BSD-3-Clause
"""DHCPKit 1.0.7, a DHCPv6 server that answers bulk lease queries (RFC 5460), on the Python of today.

Program: dhcpkit_server.py CONFIGURATION. Its pool, its data base and its look-up of plug-ins are of an older Python; what is
done for them here does not change a message.
"""

import functools
import importlib.metadata
import sqlite3
import sys
import types
from multiprocessing.pool import Pool

PACKAGES = types.ModuleType("pkg_resources")  # setuptools has it no more
PACKAGES.iter_entry_points = lambda group: importlib.metadata.entry_points(group=group)
PACKAGES.VersionConflict = type("VersionConflict", (Exception,), {})
sys.modules["pkg_resources"] = PACKAGES


class Connection(sqlite3.Connection):
    def execute(self, sql, *rest):
        return super().execute("SELECT 1" if sql == "VACUUM" else sql, *rest)  # in a transaction: an error since 3.6


sqlite3.connect = functools.partial(sqlite3.connect, factory=Connection)

CONFIGURATION = """
user root
workers 1
pid-file {dir}/pid
control-socket {dir}/socket
<logging>
  <console>
    level info
  </console>
</logging>
<listen-unicast 2001:db8::2 />
<listen-tcp>
  address 2001:db8::2
  allow-from 2001:db8::/32
</listen-tcp>
<duid-en server-id>
  enterprise-number 32473
  identifier 64:64:69
</duid-en>
<server-unicast>
  address 2001:db8::2
</server-unicast>
<static-csv {dir}/clients.csv />
<leasequery>
  allow-from {allowed}
  <lq-sqlite {dir}/leases.sqlite />
</leasequery>
"""


def write(folder, duids, allowed="2001:db8::/32"):
    """The configuration, in which each of these clients has an address and a prefix; its path."""
    rows = [f"duid:{duid},2001:db8::1:0:{i:x},2001:db8:c000:{i:x}00::/56" for i, duid in enumerate(duids)]
    (folder / "clients.csv").write_text("\n".join(["id,address,prefix", *rows, ""]))
    path = folder / "server.conf"
    path.write_text(CONFIGURATION.format(dir=folder, allowed=allowed))
    return path


if __name__ == "__main__":
    from dhcpkit.ipv6.server import main, nonblocking_pool

    nonblocking_pool.NonBlockingPool.apply_async = Pool.apply_async
    sys.exit(main.run())
