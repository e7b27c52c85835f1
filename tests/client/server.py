"""A small HTTP server that does as it is told, and keeps what it was sent."""

from __future__ import annotations

import socket
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self


@dataclass(frozen=True)
class Received:
    """A request as it came over the wire; header names are in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    connection: int


@dataclass(frozen=True)
class Reply:
    """What to answer.

    Attributes:
        length: that is declared, in place of the true one.
        closes: whether the connection is closed afterwards, as an idle one is.
        breaks: whether it is closed in place of an answer.
    """

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = None
    closes: bool = False
    breaks: bool = False


class ReplyingServer:
    """Answers each request as a function says.

    Attributes:
        received: all requests, in order.
        closed: released whenever a connection was closed.
    """

    def __init__(self, reply: Callable[[Received], Reply] | Reply, host: str = "127.0.0.1") -> None:
        self.received: list[Received] = []
        self.closed = threading.Semaphore(0)
        respond = (lambda _: reply) if isinstance(reply, Reply) else reply
        received, closed = self.received, self.closed

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # head and body in one go

            def serve(self) -> None:
                size = int(self.headers.get("content-length") or 0)
                request = Received(
                    self.command,
                    self.path,
                    {name.lower(): value for name, value in self.headers.items()},
                    self.rfile.read(size),
                    self.client_address[1],
                )
                received.append(request)
                answer = respond(request)
                self.close_connection = answer.closes or answer.breaks
                if answer.breaks:
                    return
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                size = len(answer.body) if answer.length is None else answer.length
                if answer.status != 204:
                    self.send_header("content-length", str(size))
                self.end_headers()
                self.wfile.write(answer.body)

            do_GET = do_POST = do_PUT = do_DELETE = serve  # noqa: N815 - their names

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Say nothing."""

        class Server(ThreadingHTTPServer):
            address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
            daemon_threads = True

            def shutdown_request(self, request: Any) -> None:
                super().shutdown_request(request)
                closed.release()

        self._server = Server((host, 0), Handler)
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self._server.server_address[1]}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
