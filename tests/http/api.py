"""A small HTTP client, and the local server as tests see it."""

from __future__ import annotations

import http.client
import json as json_text
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from local.gateway import gateway
from local.lambdas import Lambdas
from local.schedules import Schedules
from local.server import Server
from local.template import load_template, read_functions

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Answer:
    """One HTTP answer; header names are in lower case, `json` is None unless the body is JSON."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as a JSON value."""
        return json_text.loads(self.body) if self.body else None


class Api:
    """Calls one server; what it sends is JSON unless the headers say otherwise."""

    def __init__(self, url: str) -> None:
        """Call the server at this URL."""
        self._address = urlsplit(url).netloc

    def get(self, path: str, *, headers: Mapping[str, str] | None = None) -> Answer:
        """GET the path, which may have a query."""
        return self.request("GET", path, headers=headers)

    def post(
        self,
        path: str,
        json: object = None,
        *,
        body: str | bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """POST a JSON value, or a body as it is, or nothing."""
        sent = json_text.dumps(json) if json is not None else body
        return self.request("POST", path, body=sent, headers=headers)

    def delete(self, path: str, *, headers: Mapping[str, str] | None = None) -> Answer:
        """DELETE the path."""
        return self.request("DELETE", path, headers=headers)

    def request(
        self,
        method: str,
        path: str,
        *,
        body: str | bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send one request on a connection of its own."""
        sent = body.encode() if isinstance(body, str) else body
        default = {} if sent is None else {"content-type": "application/json"}
        given = {name.lower(): value for name, value in (headers or {}).items()}
        connection = http.client.HTTPConnection(self._address, timeout=60)
        try:
            connection.request(method, path, body=sent, headers=default | given)
            response = connection.getresponse()
            names = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, names, response.read())
        finally:
            connection.close()


class LiveServer:
    """The local server with a clock that tests can move, and schedules that they run."""

    def __init__(self, variables: dict[str, str]) -> None:
        """Start it; the variables change the functions' environment."""
        template = load_template()
        self.lambdas = Lambdas(read_functions(template), variables)
        self.lambdas.clock_offset_ms = 0
        self._schedules = Schedules(template, self.lambdas)
        self._server = Server(gateway(template, self.lambdas))
        self._server.start()
        self.url = self._server.url

    def advance(self, seconds: float) -> None:
        """Move the server's clock forward, from the next request on."""
        self.lambdas.clock_offset_ms = self._offset() + round(seconds * 1000)

    def now_ms(self) -> int:
        """Return what time it is for the server, in milliseconds since the epoch."""
        return time.time_ns() // 1_000_000 + self._offset()

    def run_schedules(self) -> None:
        """Run every scheduled function once, now."""
        self._schedules.run_all()

    def stop(self) -> None:
        """Stop it."""
        self._server.stop()
        self.lambdas.close()

    def _offset(self) -> int:
        return self.lambdas.clock_offset_ms or 0
