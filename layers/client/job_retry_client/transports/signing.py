"""Signatures with AWS credentials; the signer comes with boto3."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.exceptions import BotoCoreError

from job_retry_client.errors import JobQueueError, NoAnswerError

if TYPE_CHECKING:
    from job_retry_client.transports.http import Sign

_API_HOST = re.compile(r"[^.]+\.execute-api\.([a-z0-9-]+)\.amazonaws\.com(\.cn)?")


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
        try:
            # frozen, so that a renewal amid the signing cannot mix two sets
            frozen = credentials.get_frozen_credentials()
        except BotoCoreError as error:
            raise NoAnswerError(f"no AWS credentials: {error}", was_sent=False) from error
        SigV4Auth(frozen, "execute-api", name).add_auth(unsigned)
        return dict(unsigned.headers.items())

    return sign
