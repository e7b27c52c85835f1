"""From an address to the way to reach the queue."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from job_retry_client.errors import JobQueueError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from urllib.parse import SplitResult

    from boto3.session import Session

    from job_retry_client.transports.base import Transport

URL_VARIABLE = "JOB_RETRY_URL"
TOKEN_VARIABLE = "JOB_RETRY_TOKEN"  # noqa: S105 - the variable's name, not a token

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def transport_of(
    address: str | None = None,
    *,
    token: str | Callable[[], str] | None = None,
    profile: str | None = None,
    region: str | None = None,
) -> Transport:
    """Return the way to reach the queue at an address.

    Args:
        address: ``https://…`` (signed with AWS credentials, or with the token), ``http://…`` (a
            server on this machine; not signed), ``lambda:STACK`` (the functions of a stack, with
            ``?region=`` where it is not the environment's) or ``in-process:`` (the tables, by the
            core layer). By default the environment's JOB_RETRY_URL.
        token: a bearer token for ``https://``, or a function that returns one; by default the
            environment's JOB_RETRY_TOKEN.
        profile: of the AWS configuration, in place of the environment's.
        region: of the API or the stack.

    Raises:
        CredentialsError: the token cannot be one.
        JobQueueError: there is no address, or no such way.
    """
    address = address or os.environ.get(URL_VARIABLE)
    if not address:
        raise JobQueueError(f"where is the queue? Give its address, or set {URL_VARIABLE}")
    whose = "the token" if token else TOKEN_VARIABLE
    token = token or os.environ.get(TOKEN_VARIABLE) or None  # set to nothing is not set
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise JobQueueError(f"{address} is no address: {error}") from error
    # imported here, so that a program pays for the way it takes only
    if parts.scheme in ("http", "https"):
        return _http(address, token, whose, profile, region)
    if parts.scheme == "lambda":
        return _invoke(parts, profile, region)
    if parts.scheme == "in-process":
        from job_retry_client.transports.in_process import InProcessTransport  # noqa: PLC0415

        with _told():
            return InProcessTransport()
    raise JobQueueError(f"{address} is none of https:, http:, lambda: and in-process:")


def _http(
    address: str,
    token: str | Callable[[], str] | None,
    whose: str,
    profile: str | None,
    region: str | None,
) -> Transport:
    from job_retry_client.transports.http import HttpTransport, bearer_token  # noqa: PLC0415

    parts = urlsplit(address)
    if token is not None:
        if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
            raise JobQueueError("a token is not sent over http to another machine")
        return HttpTransport(address, sign=bearer_token(token, whose))
    if parts.scheme == "http":
        return HttpTransport(address)
    from job_retry_client.transports.signing import iam_signature  # noqa: PLC0415

    with _told():
        return HttpTransport(
            address, sign=iam_signature(_session(profile, region), region, address)
        )


def _invoke(parts: SplitResult, profile: str | None, region: str | None) -> Transport:
    from job_retry_client.transports.invoke import InvokeTransport  # noqa: PLC0415

    stack = parts.netloc or parts.path
    if not stack:
        raise JobQueueError("which stack's functions? Say lambda:STACK")
    region = region or parse_qs(parts.query).get("region", [None])[0]
    with _told():
        return InvokeTransport(stack, session=_session(profile, region))


def _session(profile: str | None, region: str | None) -> Session:
    from boto3.session import Session  # noqa: PLC0415

    return Session(profile_name=profile, region_name=region)


@contextmanager
def _told() -> Iterator[None]:
    """Raise what is wrong with the AWS configuration as an error of the queue's."""
    from botocore.exceptions import BotoCoreError  # noqa: PLC0415

    try:
        yield
    except BotoCoreError as error:
        raise JobQueueError(str(error)) from error
