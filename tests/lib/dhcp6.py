# SPDX-License-Identifier: BSD-3-Clause
"""DHCPv6 clients and the responder: the functions of dhcp.Family for this family."""

from dhcp import Family, lines, of_clients, steps, total  # all but the first: for tests

SERVER = "2001:db8::2"
RELAYS = {"addresses": ["2001:db8::100-2001:db8::13f"]}
POOL, PREFIXES, LENGTH = "2001:db8:0:1::/64", "2001:db8:8000::/33", 56
EXPECT = {"pool": [POOL], "prefixes": [PREFIXES], "prefix_length": LENGTH}

family = Family(
    "dhcp6", RELAYS, item={"timeout": "2s"}, relayed={"server": SERVER}, clients={"lease": "both", "expect": EXPECT},
    answers={**EXPECT, "rapid": True, "dns": [SERVER], "domain": "example.com"}, silent=False,
    following="request-reply",  # from an ADVERTISE; an exchange begins with one of the others
    sent_by={
        "SOLICIT": ("solicit-advertise", "solicit-reply"), "REQUEST": ("request-reply",), "RENEW": ("renew-reply",),
        "REBIND": ("rebind-reply",), "RELEASE": ("release-reply",), "DECLINE": ("decline-reply",), "CONFIRM": ("confirm-reply",),
        "INFORMATION-REQUEST": ("information-reply",), "LEASEQUERY": ("leasequery",),
    },
    ports={"tester": {"addresses": ["198.18.0.1/24", "2001:db8::1/64"]}, "dut": {"addresses": ["198.18.0.2/24", SERVER + "/64"]}},
)
clients, answers, run, check_laws, check_agreement, served = (
    family.clients, family.answers, family.run, family.check_laws, family.check_agreement, family.served)
