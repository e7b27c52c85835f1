"""The one engine of a process, put together from its environment on first use."""

from __future__ import annotations

import gc
import os
from functools import cache
from random import SystemRandom
from typing import TYPE_CHECKING

from job_retry.clock import system_clock
from job_retry.dynamo import DynamoStore
from job_retry.dynamo_client import new_client
from job_retry.engine import Engine
from job_retry.observability import observe
from job_retry.settings import Settings

if TYPE_CHECKING:
    from job_retry.clock import Clock

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
    store = DynamoStore(
        new_client(settings.endpoint_url),
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
