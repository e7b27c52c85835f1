"""`python -m local.moto_engine HOST PORT`: moto as a server, one request at a time.

moto must never be raced: its conditional writes can succeed twice. It keeps nothing.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING, Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class _OneAtATime:
    """A WSGI application behind one lock."""

    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self._application = application
        self._lock = threading.Lock()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        with self._lock:
            return list(self._application(environ, start_response))


class _QuietHandler(WSGIRequestHandler):
    def log(self, type: str, message: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Print nothing per request."""


def _end_with_parent() -> None:
    sys.stdin.buffer.read()  # returns when the parent is gone, however it went
    os._exit(0)


def main() -> None:
    """Serve until the standard input closes."""
    host, port = sys.argv[1], int(sys.argv[2])
    threading.Thread(target=_end_with_parent, daemon=True).start()
    application = _OneAtATime(DomainDispatcherApplication(create_backend_app))
    make_server(
        host, port, application, threaded=True, request_handler=_QuietHandler
    ).serve_forever()


if __name__ == "__main__":
    main()
