"""What API Gateway's HTTP API (payload format 2.0) makes of a request, and of a function's answer.

The field-by-field description is in the API Gateway developer guide under "Working with AWS Lambda
proxy integrations for HTTP APIs"; what it leaves open is noted where it is decided.
"""

from __future__ import annotations

import base64
import json
import time
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, unquote

TEXT_TYPES = {"application/json", "application/javascript", "application/xml"}


@dataclass(frozen=True, kw_only=True)
class Request:
    """One HTTP request: path and query as they came in, path parameters decoded."""

    method: str
    path: str
    query: str
    headers: list[tuple[str, str]]
    body: bytes
    route: str
    path_parameters: dict[str, str] = field(default_factory=dict)
    source_ip: str = "127.0.0.1"


@dataclass(frozen=True, kw_only=True)
class Response:
    """One HTTP response, as it goes out."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


def http_event(request: Request) -> dict[str, Any]:
    """Return the event that API Gateway calls a function with."""
    headers, cookies = _headers(request.headers)
    body, encoded = _body(request.body, headers.get("content-type", ""))
    # HTTP APIs pass the path decoded in spite of the field's name, unlike REST APIs.
    path = unquote(request.path)
    now = time.time()
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": request.route,
        "rawPath": path,
        "rawQueryString": request.query,
        "headers": headers,
        "requestContext": {
            "accountId": "anonymous",
            "apiId": "local",
            "domainName": headers.get("host", "localhost"),
            "domainPrefix": headers.get("host", "localhost").partition(".")[0],
            "http": {
                "method": request.method,
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": request.source_ip,
                "userAgent": headers.get("user-agent", ""),
            },
            "requestId": uuid.uuid4().hex,
            "routeKey": request.route,
            "stage": "$default",
            "time": f"{datetime.fromtimestamp(now, tz=UTC):%d/%b/%Y:%H:%M:%S +0000}",
            "timeEpoch": int(now * 1000),
        },
        "isBase64Encoded": encoded,
    }
    # API Gateway leaves these out, rather than empty, when the request has none.
    if cookies:
        event["cookies"] = cookies
    if request.query:
        event["queryStringParameters"] = _joined(parse_qsl(request.query, keep_blank_values=True))
    if request.path_parameters:
        event["pathParameters"] = request.path_parameters
    if request.body:
        event["body"] = body
    return event


def http_response(result: Any) -> Response:
    """Return the response that API Gateway makes of a function's result.

    Raises:
        ValueError: when the result has no valid status or body.
    """
    if not isinstance(result, dict) or "statusCode" not in result:
        # Format 2.0 takes any other result as the JSON body of a success.
        text = result if isinstance(result, str) else json.dumps(result)
        return Response(
            status=200, headers=[("content-type", "application/json")], body=text.encode()
        )
    headers = [(str(name), str(value)) for name, value in (result.get("headers") or {}).items()]
    if not any(name.lower() == "content-type" for name, _ in headers):
        headers.append(("content-type", "application/json"))
    headers += [("set-cookie", cookie) for cookie in result.get("cookies") or []]
    body = result.get("body") or ""
    encoded = bool(result.get("isBase64Encoded"))
    return Response(
        status=int(result["statusCode"]),
        headers=headers,
        body=base64.b64decode(body) if encoded else str(body).encode(),
    )


def scheduled_event(rule: str) -> dict[str, Any]:
    """Return the event that EventBridge calls a scheduled function with."""
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": "local",
        "time": f"{datetime.now(tz=UTC):%Y-%m-%dT%H:%M:%SZ}",
        "region": "local",
        "resources": [f"arn:aws:events:local:local:rule/{rule}"],
        "detail": {},
    }


def _headers(pairs: list[tuple[str, str]]) -> tuple[dict[str, str], list[str]]:
    lowered = [(name.lower(), value) for name, value in pairs]
    cookies = [
        cookie.strip() for name, value in lowered if name == "cookie" for cookie in value.split(";")
    ]
    return _joined([pair for pair in lowered if pair[0] != "cookie"]), cookies


def _joined(pairs: list[tuple[str, str]]) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, value in pairs:
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined


def _body(body: bytes, content_type: str) -> tuple[str, bool]:
    media_type = content_type.partition(";")[0].strip().lower()
    is_text = (
        media_type.startswith("text/")
        or media_type in TEXT_TYPES
        or media_type.endswith(("+json", "+xml"))
    )
    if is_text or not body:
        return body.decode(errors="replace"), False
    return base64.b64encode(body).decode("ascii"), True
