"""Serves the gateway from a thread, so that the caller keeps its own."""

from __future__ import annotations

import errno
import socket
import threading
from typing import TYPE_CHECKING

import uvicorn

if TYPE_CHECKING:
    from starlette.applications import Starlette

# How long running requests may take to finish once the server is told to stop.
SHUTDOWN_SECONDS = 5


class PortInUseError(Exception):
    """Another program listens on the port."""


class Server:
    """One HTTP server on 127.0.0.1; it listens from the start, and serves from `start` on."""

    def __init__(self, app: Starlette, port: int = 0) -> None:
        """Listen on the port (0: any free one)."""
        # Only where the protocol is named does asyncio set TCP_NODELAY; without it, a request
        # on a kept connection waits 40 ms for the client's acknowledgement of the last answer.
        self._socket = socket.socket(proto=socket.IPPROTO_TCP)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind(("127.0.0.1", port))
            self._socket.listen(1024)
        except OSError as error:
            self._socket.close()
            message = f"port {port} is in use; take another: PORT={port + 1}"
            if error.errno != errno.EADDRINUSE:
                message = f"port {port} cannot be used: {error.strerror}"
            raise PortInUseError(message) from error
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                lifespan="off",
                server_header=False,
                timeout_graceful_shutdown=SHUTDOWN_SECONDS,
            )
        )
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="gateway", daemon=True
        )

    @property
    def url(self) -> str:
        """Where the server is."""
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def start(self) -> None:
        """Serve. What came in before waits in the socket's queue."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the requests that are running, then end."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join()
        self._socket.close()
