"""AWS signatures, worked out anew by whoever received a request."""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from tests.client.server import Received

SECRET = "not a real one"  # noqa: S105
_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request, "
    r"SignedHeaders=([^,]+), Signature=([0-9a-f]{64})"
)


def signature(received: Received) -> tuple[dict[str, str], str, str]:
    """Return what a signature says, and itself, and what it has to be.

    Written from AWS's description of version 4, not from botocore.
    """
    match = _AUTHORIZATION.fullmatch(received.headers["authorization"])
    assert match, received.headers
    key_id, date, region, service, signed, given = match.groups()
    path, _, query = received.target.partition("?")
    canonical = "\n".join(
        [
            received.method,
            quote(path, safe="/-_.~"),  # encoded a second time
            "&".join(sorted(query.split("&"))),
            *(f"{name}:{' '.join(received.headers[name].split())}" for name in signed.split(";")),
            "",
            signed,
            hashlib.sha256(received.body).hexdigest(),
        ]
    )
    moment = received.headers["x-amz-date"]
    text = "\n".join(
        [
            "AWS4-HMAC-SHA256",
            moment,
            f"{date}/{region}/{service}/aws4_request",
            hashlib.sha256(canonical.encode()).hexdigest(),
        ]
    )
    key = f"AWS4{SECRET}".encode()
    for part in (date, region, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    assert moment.startswith(date)
    said = {"key_id": key_id, "region": region, "service": service, "signed": signed}
    return said, given, hmac.digest(key, text.encode(), "sha256").hex()
