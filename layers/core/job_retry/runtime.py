"""The one engine of a process, put together from its environment on first use."""

from __future__ import annotations

import gc
import logging
import os
from functools import cache
from random import SystemRandom
from typing import TYPE_CHECKING, cast

from botocore.config import Config
from botocore.session import get_session

from job_retry.clock import system_clock
from job_retry.dynamo import DynamoStore
from job_retry.engine import Engine
from job_retry.observability import observe
from job_retry.parallel import THREADS
from job_retry.settings import Settings

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from job_retry.clock import Clock

_CLIENT = Config(
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

_clock: Clock = system_clock


def use_clock(clock: Clock) -> None:
    """Take the time from elsewhere from now on, as tests of the local server do."""
    global _clock  # noqa: PLW0603 - the process's clock is just that
    _clock = clock


def warm_up() -> None:
    """On Lambda, put the engine together while the function starts, before the first call.

    A starting function has a whole core; a called one only the share that its memory buys.
    What is there by then, SnapStart's snapshot holds too.
    """
    if "AWS_LAMBDA_INITIALIZATION_TYPE" in os.environ:
        engine()
        gc.freeze()
        gc.enable()


def _now() -> int:
    return _clock()


@cache
def engine() -> Engine:
    """Return the process's engine, with one DynamoDB client."""
    settings = Settings.from_environment(os.environ)
    # boto3 would make the same client; importing it is a twentieth of a cold start.
    client = get_session().create_client(
        "dynamodb", endpoint_url=settings.endpoint_url, config=_CLIENT
    )
    store = DynamoStore(
        cast("DynamoDBClient", client),
        jobs_table=settings.jobs_table,
        control_table=settings.control_table,
    )
    return Engine(
        store,
        clock=_now,
        random=SystemRandom(),
        require_lease_token=settings.require_lease_token,
        observer=observe,
    )
