"""Over HTTP, signed with AWS credentials, with a bearer token, or as it is.

urllib3 and the signer come with boto3.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote, urlencode, urlsplit

import boto3
import urllib3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest

from job_retry_client.errors import JobQueueError, NoAnswerError
from job_retry_client.transports.base import Answer, seconds_of

if TYPE_CHECKING:
    from job_retry_client.transports.base import Request

Sign: TypeAlias = Callable[[str, str, bytes | None, dict[str, str]], dict[str, str]]
"""Returns the headers of a request, given method, address, body and headers."""

_API_HOST = re.compile(r"[^.]+\.execute-api\.([a-z0-9-]+)\.amazonaws\.com(\.cn)?")
_CONNECT_SECONDS = 5
_READ_SECONDS = 30  # an HTTP API gives up after that
_UNRESERVED = "-_.~"


class HttpTransport:
    """Reach the queue through its HTTP API.

    Args:
        url: where the API is, without a route.
        sign: adds what tells who is calling; see `iam_signature` and `bearer_token`.
        connections: that are kept open; more are opened, and closed after use.
    """

    def __init__(self, url: str, *, sign: Sign | None = None, connections: int = 32) -> None:
        if urlsplit(url).scheme not in ("http", "https"):
            raise ValueError(f"{url} is no HTTP address")
        self.url = url.rstrip("/")
        self._sign = sign
        self._pool = urllib3.PoolManager(
            maxsize=connections,
            retries=False,
            timeout=urllib3.Timeout(connect=_CONNECT_SECONDS, read=_READ_SECONDS),
        )

    def send(self, request: Request) -> Answer:
        """Ask, once.

        Raises:
            NoAnswerError: none came.
        """
        url = self.url + quote(request.path, safe="/:" + _UNRESERVED)
        if request.query:
            # as a signature wants it: sorted, and %20 for a space
            url += f"?{urlencode(sorted(request.query.items()), quote_via=quote, safe=_UNRESERVED)}"
        body = None if request.body is None else request.body.encode()
        headers = request.headers
        if self._sign is not None:
            headers = self._sign(request.operation.method, url, body, headers)
        try:
            answer = self._pool.request(
                request.operation.method, url, body=body, headers=headers, redirect=False
            )
        except (
            urllib3.exceptions.NewConnectionError,
            urllib3.exceptions.ConnectTimeoutError,
        ) as error:
            raise NoAnswerError(str(error), was_sent=False) from error
        except urllib3.exceptions.HTTPError as error:
            raise NoAnswerError(str(error), was_sent=True) from error
        text = answer.data.decode("utf-8", "replace")
        return Answer(answer.status, text, seconds_of(answer.headers.get("retry-after")))


def iam_signature(
    session: boto3.session.Session | None = None, region: str | None = None, url: str = ""
) -> Sign:
    """Sign requests with AWS credentials, as an HTTP API wants it.

    Args:
        session: that has the credentials; by default the environment's.
        region: of the API; by default the one in its address, or the session's.
        url: the API's address.

    Raises:
        JobQueueError: there are no credentials, or no region.
    """
    session = session or boto3.session.Session()
    credentials = session.get_credentials()
    if credentials is None:
        raise JobQueueError("there are no AWS credentials to sign with")
    host = _API_HOST.fullmatch(urlsplit(url).hostname or "")
    region = region or (host.group(1) if host else None) or session.region_name
    if region is None:
        raise JobQueueError(
            "which AWS region the API is in is not known: give region, or AWS_REGION"
        )
    name = region

    def sign(method: str, url: str, body: bytes | None, headers: dict[str, str]) -> dict[str, str]:
        unsigned = AWSRequest(method, url, data=body, headers=headers)
        # frozen, so that a renewal amid the signing cannot mix two sets
        frozen = credentials.get_frozen_credentials()
        SigV4Auth(frozen, "execute-api", name).add_auth(unsigned)
        return dict(unsigned.headers.items())

    return sign


def bearer_token(token: str | Callable[[], str]) -> Sign:
    """Send a JSON web token along.

    Args:
        token: or a function that returns one, asked at each request, since they expire.
    """

    def sign(
        _method: str, _url: str, _body: bytes | None, headers: dict[str, str]
    ) -> dict[str, str]:
        return {
            **headers,
            "authorization": f"Bearer {token if isinstance(token, str) else token()}",
        }

    return sign
