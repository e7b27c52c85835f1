"""The server of the local run, as its clients feel it."""

from __future__ import annotations

import http.client
import socket

from starlette.applications import Starlette

from local.server import Server


def test_an_answer_does_not_wait_for_the_last_ones_acknowledgement() -> None:
    server = Server(Starlette())
    server.start()
    client = http.client.HTTPConnection(server.url.removeprefix("http://"))
    try:
        client.request("GET", "/")
        client.getresponse().read()
        [connection] = server._server.server_state.connections
        kept = connection.transport.get_extra_info("socket")
        assert kept.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    finally:
        client.close()
        server.stop()
