"""Over HTTP: as it is, or with what tells who is calling.

urllib3 comes with boto3.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote, urlencode

import urllib3

from job_retry_client.errors import CredentialsError, JobQueueError, NoAnswerError
from job_retry_client.transports.base import Answer, is_header_text, seconds_of

if TYPE_CHECKING:
    from job_retry_client.transports.base import Request

Sign: TypeAlias = Callable[[str, str, bytes | None, dict[str, str]], dict[str, str]]
"""Returns the headers of a request, given method, address, body and headers."""

_CONNECT_SECONDS = 5
_READ_SECONDS = 35  # an HTTP API gives up after 30, and says so

# what http.client refuses it shows in its error, and it may be a secret
_SENDABLE = re.compile(r"[\t\x20-\x7e\xa0-\xff]*")


class HttpTransport:
    """Reach the queue through its HTTP API.

    Args:
        url: where the API is, without a route.
        sign: adds what tells who is calling; see `iam_signature` and `bearer_token`.
        connections: that are kept open; more are opened, and closed after use.

    Raises:
        JobQueueError: the address is none.
    """

    def __init__(self, url: str, *, sign: Sign | None = None, connections: int = 32) -> None:
        self.url = _base(url)
        self._sign = sign
        self._pool = urllib3.PoolManager(
            maxsize=connections,
            retries=False,
            timeout=urllib3.Timeout(connect=_CONNECT_SECONDS, read=_READ_SECONDS),
        )

    def send(self, request: Request) -> Answer:
        """Ask, once.

        Raises:
            CredentialsError: what tells who is calling cannot be sent.
            NoAnswerError: none came.
        """
        url = self.url + _target(request)
        body = None if request.body is None else request.body.encode()
        headers = request.headers
        if self._sign is not None:
            headers = _signed(self._sign, request.operation.method, url, body, headers)
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


def _signed(
    sign: Sign, method: str, url: str, body: bytes | None, headers: dict[str, str]
) -> dict[str, str]:
    try:
        signed = sign(method, url, body, headers)
    except JobQueueError:
        raise
    except Exception as error:
        # whatever an identity provider or a credential process comes up with, it may pass
        raise NoAnswerError(f"cannot sign the request: {error!r}", was_sent=False) from error
    for name, text in signed.items():
        if not _SENDABLE.fullmatch(text):
            raise CredentialsError(
                f"the credentials cannot be sent: header {name} would have a line break or another "
                "character that a header cannot have"
            )
    return signed


def bearer_token(token: str | Callable[[], str], name: str = "the token") -> Sign:
    """Send a JSON web token along.

    Args:
        token: or a function that returns one, asked at each request, since they expire.
        name: of the token, for errors.

    Raises:
        CredentialsError: it is no text for a header. Of what a function returns, each request
            raises it.
    """
    if isinstance(token, str):
        given = _bearer(token, name)
        return lambda _method, _url, _body, headers: {**headers, "authorization": given}
    ask = token

    def sign(
        _method: str, _url: str, _body: bytes | None, headers: dict[str, str]
    ) -> dict[str, str]:
        current = _bearer(ask(), "what the token function returned")
        return {**headers, "authorization": current}

    return sign


def _bearer(token: object, what: str) -> str:
    text = token.strip() if isinstance(token, str) else ""
    if not text or not is_header_text(text):
        # without the token: logs are read by many
        raise CredentialsError(f"{what} is no bearer token, which is printable ASCII in one line")
    return f"Bearer {text}"


def _base(url: str) -> str:
    """Return an address in urllib3's own spelling: what is signed must not change on its way."""
    try:
        parts = urllib3.util.parse_url(url)
    except urllib3.exceptions.LocationParseError as error:
        raise JobQueueError(f"{url} is no address") from error
    if parts.scheme not in ("http", "https") or not parts.host:
        raise JobQueueError(f"{url} is no HTTP address")
    if parts.auth or parts.query is not None or parts.fragment is not None:
        raise JobQueueError("the API's address has a host and a path, and nothing else")
    return parts.url.rstrip("/")


def _target(request: Request) -> str:
    """Return path and query as they go over the wire, and as a signature wants them."""
    path = request.operation.route
    for name, given in request.parameters.items():
        path = path.replace(f"{{{name}}}", _segment(given))
    if not request.query:
        return path
    # sorted, and %20 for a space
    return f"{path}?{urlencode(sorted(request.query.items()), quote_via=quote, safe='')}"


def _segment(given: str) -> str:
    """Return a part of a path; one of dots alone would be taken for a way up."""
    quoted = quote(given, safe="")
    return quoted if quoted.strip(".") else quoted.replace(".", "%2E")
