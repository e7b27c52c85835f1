"""By invoking the endpoints' Lambda functions, past the API and its charge."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import boto3
from botocore.config import Config
from botocore.exceptions import (
    ClientError,
    ConnectTimeoutError,
    CredentialRetrievalError,
    EndpointConnectionError,
    NoCredentialsError,
)

from job_retry_client.errors import NoAnswerError
from job_retry_client.json_text import load_object
from job_retry_client.transports.base import Answer, seconds_of

if TYPE_CHECKING:
    from job_retry_client.transports.base import Request

_ALIAS = "live"

# One attempt: what may be repeated, the client knows and the SDK does not.
_CONFIG = Config(
    connect_timeout=5, read_timeout=35, retries={"total_max_attempts": 1}, max_pool_connections=32
)
_NOT_SENT = (
    EndpointConnectionError,
    ConnectTimeoutError,
    CredentialRetrievalError,
    NoCredentialsError,
)
_THROTTLED = ("TooManyRequestsException", "ThrottlingException")
_CONFLICT = 409


class InvokeTransport:
    """Reach the queue by invoking its functions.

    Args:
        stack: the name that job-retry was deployed under.
        session: that has credentials and region; by default the environment's.
        endpoint_url: of another Lambda than the region's.
    """

    def __init__(
        self,
        stack: str,
        *,
        session: boto3.session.Session | None = None,
        endpoint_url: str | None = None,
    ) -> None:
        self._stack = stack
        self._client: Any = (session or boto3.session.Session()).client(
            "lambda", endpoint_url=endpoint_url, config=_CONFIG
        )

    def send(self, request: Request) -> Answer:
        """Ask, once.

        Raises:
            NoAnswerError: none came.
        """
        try:
            invoked = self._client.invoke(
                FunctionName=f"{self._stack}-{request.operation.function}",
                Qualifier=_ALIAS,
                Payload=json.dumps(_event(request)).encode(),
            )
            payload = invoked["Payload"].read()
        except ClientError as error:
            return _refused(error)
        except Exception as error:
            # botocore's own, or whatever a credential process comes up with
            was_sent = not isinstance(error, _NOT_SENT)
            raise NoAnswerError(f"{type(error).__name__}: {error}", was_sent=was_sent) from error
        text = payload.decode("utf-8", "replace")
        answer = load_object(text)
        if "FunctionError" in invoked or answer is None or "statusCode" not in answer:
            raise NoAnswerError(f"the function failed: {text[:500]}", was_sent=True)
        headers = {name.lower(): given for name, given in (answer.get("headers") or {}).items()}
        retry_after = seconds_of(headers.get("retry-after"))
        return Answer(answer["statusCode"], answer.get("body") or "", retry_after)


def _event(request: Request) -> dict[str, Any]:
    """Return what an HTTP API would send to the function, payload format 2.0."""
    method, path = request.operation.method, request.path
    return {
        "version": "2.0",
        "routeKey": f"{method} {request.operation.route}",
        "rawPath": path,
        "rawQueryString": urlencode(request.query),
        "headers": request.headers,
        "queryStringParameters": dict(request.query),
        "pathParameters": dict(request.parameters),
        "requestContext": {
            "http": {
                "method": method,
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": "",
                "userAgent": "job-retry-client",
            },
            "requestId": "",
            "routeKey": f"{method} {request.operation.route}",
            "stage": "$default",
            "timeEpoch": time.time_ns() // 1_000_000,
        },
        "body": request.body,
        "isBase64Encoded": False,
    }


def _refused(error: ClientError) -> Answer:
    """Return Lambda's own refusal as an answer."""
    code = error.response["Error"]["Code"]
    metadata = error.response.get("ResponseMetadata", {})
    status = metadata.get("HTTPStatusCode", 500)
    if code in _THROTTLED or status == _CONFLICT:
        status = 429  # a conflict is a function that is about to start or to be updated
    elif code == "ResourceNotFoundException":
        status = 403  # so also where the caller may not invoke it
    retry_after = seconds_of(metadata.get("HTTPHeaders", {}).get("retry-after"))
    return Answer(status, json.dumps({"title": code, "detail": str(error)}), retry_after)
