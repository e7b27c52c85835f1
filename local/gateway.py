"""The HTTP side of the local run: the template's routes, as API Gateway's HTTP API serves them."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from local import events
from local.template import Route, read_routes
from local.workers import InvocationError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from local.lambdas import Lambdas

MAX_BODY_BYTES = 10 * 1024 * 1024  # API Gateway's limit
MAX_EVENT_BYTES = 6 * 1024 * 1024  # Lambda's limit

log = logging.getLogger(__name__)


def gateway(template: dict[str, Any], lambdas: Lambdas) -> Starlette:
    """Return an ASGI application that has exactly the template's routes."""
    # As on API Gateway, /jobs/claim wins over /jobs/{job_id}.
    routes = sorted(read_routes(template), key=lambda route: route.path.count("{"))
    app = Starlette(
        routes=[_starlette_route(route, lambdas) for route in routes],
        exception_handlers={404: _not_found, 405: _not_found},
    )
    app.router.redirect_slashes = False
    return app


def _starlette_route(route: Route, lambdas: Lambdas) -> StarletteRoute:
    made = StarletteRoute(route.path, _endpoint(route, lambdas), methods=[route.method])
    made.methods = {route.method}  # API Gateway does not add HEAD to GET
    return made


def _endpoint(route: Route, lambdas: Lambdas) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        body = await _read(request)
        if body is None:
            return _message(413, "Request Entity Too Large")
        event = events.http_event(_as_received(route, request, body))
        if len(json.dumps(event, ensure_ascii=False).encode()) > MAX_EVENT_BYTES:
            return _message(413, "Request Entity Too Large")
        try:
            result = await run_in_threadpool(lambdas.invoke, route.function, event)
            answer = events.http_response(result)
        except (InvocationError, ValueError) as error:
            log.warning("%s", error)
            return _internal_error()
        log.debug("%s %s %s", request.method, request.url.path, answer.status)
        response = Response(answer.body, status_code=answer.status)
        response.raw_headers = [
            (name.lower().encode("latin-1"), value.encode("latin-1", errors="replace"))
            for name, value in answer.headers
        ]
        if answer.status != 204:  # noqa: PLR2004 - No Content has no length either
            response.headers["content-length"] = str(len(answer.body))
        return response

    return serve


async def _read(request: Request) -> bytes | None:
    """Return the body, or None when it is too large; read to its end in either case.

    Answering earlier would close the connection under a client that is still sending.
    """
    body = bytearray()
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size <= MAX_BODY_BYTES:
            body += chunk
    return bytes(body) if size <= MAX_BODY_BYTES else None


def _as_received(route: Route, request: Request, body: bytes) -> events.Request:
    return events.Request(
        method=request.method,
        path=request.scope["raw_path"].decode("latin-1"),
        query=request.scope["query_string"].decode("latin-1"),
        headers=[
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw
        ],
        body=body,
        route=f"{route.method} {route.path}",
        path_parameters=request.path_params,
        source_ip=request.client.host if request.client else "127.0.0.1",
    )


async def _not_found(_request: Request, _error: Exception) -> Response:
    return _message(404, "Not Found")


def _message(status: int, text: str) -> Response:
    """Return an answer of API Gateway's own, which no function has seen."""
    body = json.dumps({"message": text}, separators=(",", ":"))
    return Response(body, status_code=status, media_type="application/json")


def _internal_error() -> Response:
    problem = {"type": "about:blank", "title": "Internal Server Error", "status": 500}
    return Response(json.dumps(problem), status_code=500, media_type="application/problem+json")
