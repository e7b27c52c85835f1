"""The client of DynamoDB, made by botocore.

boto3 would make the same one; importing it is a twentieth of a cold start.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, cast

from botocore.config import Config
from botocore.handlers import BUILTIN_HANDLERS
from botocore.session import Session

from job_retry.parallel import THREADS

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_CONFIG = Config(
    # A table answers in milliseconds: what has not by then is asked again, well inside the
    # time that an API's caller waits.
    connect_timeout=1,
    read_timeout=3,
    retries={"mode": "standard", "total_max_attempts": 4},
    max_pool_connections=THREADS,
    # The store alone makes the parameters, whose form its tests have checked: DynamoDB checks
    # them again anyway.
    parameter_validation=False,
)

# Its line about found credentials, at each cold start, is no news.
logging.getLogger("botocore").setLevel(logging.WARNING)


def new_session() -> Session:
    """Return a session that knows what botocore does at events of every service, no others'.

    Those are nine in ten, and registering them takes a fortieth of a cold start.
    """
    session = Session(include_builtin_handlers=False)
    for event, handler, *_ in BUILTIN_HANDLERS:
        if "." not in event:
            session.register(event, handler)
    return session


def new_client(endpoint_url: str | None) -> DynamoDBClient:
    """Return a client that repeats what fails, and soon says so if it fails for good.

    Args:
        endpoint_url: of another DynamoDB than the region's.
    """
    client = new_session().create_client("dynamodb", endpoint_url=endpoint_url, config=_CONFIG)
    return cast("DynamoDBClient", client)
