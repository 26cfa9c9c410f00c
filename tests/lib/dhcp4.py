# SPDX-License-Identifier: BSD-3-Clause
"""DHCPv4 clients and the responder: the functions of dhcp.Family for this family."""

from dhcp import Family, lines, of_clients, steps, total  # all but the first: for tests

SERVER = "198.18.0.2"
RELAYS = {"addresses": ["198.18.0.64/26"]}
POOL = ["10.0.0.0/15"]

family = Family(
    "dhcp4", RELAYS, item={"server": SERVER, "timeout": "500ms"}, relayed={}, clients={},
    answers={"pool": POOL, "server_id": SERVER}, silent=True,
    following="request-ack",  # from an offer; an exchange begins with one of the others
    sent_by={
        "DISCOVER": ("discover-offer", "discover-ack"), "REQUEST": ("request-ack", "renew-ack", "rebind-ack", "reboot-ack"),
        "INFORM": ("inform-ack",), "RELEASE": ("release",), "DECLINE": ("decline",), "LEASEQUERY": ("leasequery",),
    },
)
clients, answers, run, check_laws, check_agreement, served = (
    family.clients, family.answers, family.run, family.check_laws, family.check_agreement, family.served)
