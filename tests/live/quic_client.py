#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: quic_client.py ADDRESS

A client of DNS over QUIC (aioquic). Prints, as JSON, a row for each of its connections: messages answered, resumed?, early
data accepted?

  3 messages; 5 with the ticket of before, as early data; 50 at once with a ticket
"""

import asyncio
import json
import ssl
import struct
import sys

from aioquic.asyncio import QuicConnectionProtocol
from aioquic.asyncio.client import connect
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import StreamDataReceived

QUERY = b"\0\0\1\0\0\1\0\0\0\0\0\0\2h1\7example\3com\0\0\1\0\1"
CONNECTIONS = ((3, False), (5, True), (50, False))  # messages, before the handshake is done?


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.octets, self.answered, self.wanted, self.done = {}, 0, 0, asyncio.Event()

    def quic_event_received(self, event):
        if not isinstance(event, StreamDataReceived):
            return
        message = self.octets[event.stream_id] = self.octets.get(event.stream_id, b"") + event.data
        if event.end_stream:
            assert struct.unpack("!H", message[:2])[0] == len(message) - 2 and message[2:6] == b"\0\0\x85\0", message
            self.answered += 1
            if self.answered == self.wanted:
                self.done.set()

    def ask(self, count):
        self.wanted = count
        for _ in range(count):
            self._quic.send_stream_data(self._quic.get_next_available_stream_id(), struct.pack("!H", len(QUERY)) + QUERY, True)
        self.transmit()


async def run(address):
    tickets, rows = [None], []
    for count, early in CONNECTIONS:
        settings = QuicConfiguration(is_client=True, alpn_protocols=["doq"], verify_mode=ssl.CERT_NONE, server_name="dns.example",
                                     session_ticket=tickets[-1])
        async with connect(address, 853, configuration=settings, create_protocol=Client, session_ticket_handler=tickets.append,
                           wait_connected=not early) as client:
            client.ask(count)
            await asyncio.wait_for(client.done.wait(), 5)
            tls = client._quic.tls
            rows.append([client.answered, tls.session_resumed, tls.early_data_accepted])
            await asyncio.sleep(0.1)  # a ticket may follow
    print(json.dumps(rows))


asyncio.run(run(sys.argv[1]))
