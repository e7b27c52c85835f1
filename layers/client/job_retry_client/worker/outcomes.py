"""What became of a run: from a handler's return or exception to what the queue is told."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeAlias

from job_retry_client.json_text import dump
from job_retry_client.models import Failure
from job_retry_client.worker.descriptions import describe, reasons_of, text_of

_LONGEST_RESULT = 2_000_000  # characters; the queue takes 256 KB, which escapes make longer


class Discard(Exception):  # noqa: N818 - a handler's word to the queue, not a fault
    """Raised by a handler: the job is dead at once, whatever attempts it has left."""


class RetryIn(Exception):  # noqa: N818 - as above
    """Raised by a handler: the run failed, and the next is to be so much later.

    Args:
        seconds: in place of the job's backoff; whole ones, rounded up.
        error: why.
    """

    def __init__(self, seconds: float | timedelta, error: str = "") -> None:
        self.seconds = _whole_seconds(seconds)
        super().__init__(error or f"to be run again in {self.seconds} s")


class Snooze(Exception):  # noqa: N818 - as above
    """Raised by a handler: not now, but so much later; it costs no attempt.

    Args:
        seconds: until the job is due again; whole ones, rounded up.
    """

    def __init__(self, seconds: float | timedelta) -> None:
        self.seconds = _whole_seconds(seconds)
        super().__init__(f"snoozed for {self.seconds} s")


@dataclass(frozen=True)
class Completed:
    """The job is done."""

    result: Any


@dataclass(frozen=True)
class Released:
    """The job goes back unworked, due after a delay."""

    delay_seconds: int = 0


Outcome: TypeAlias = Completed | Failure | Released


def outcome_of_result(result: Any) -> Outcome:
    """Return what a handler's return value means.

    A value that is no JSON is the handler's fault, and the run has failed; so is one that is far
    too large to be sent at all.
    """
    if result is not None:
        try:
            size = len(dump(result))
        except Exception as error:  # noqa: BLE001 - a dict of the handler's own may raise anything
            return Failure(f"the handler's result is no JSON value: {text_of(error)}")
        if size > _LONGEST_RESULT:
            return Failure(f"the handler's result is too large: {size:,} characters of JSON")
    return Completed(result)


def outcome_of_error(error: BaseException) -> Outcome:
    """Return what a handler's exception means."""
    if isinstance(error, Snooze):
        return Released(error.seconds)
    if isinstance(error, RetryIn):
        return Failure(_with_reasons(error), retry_in_seconds=error.seconds)
    if isinstance(error, Discard):
        return Failure(_with_reasons(error), retry=False)
    return Failure(describe(error))


def _with_reasons(error: Discard | RetryIn) -> str:
    return "\n".join([text_of(error) or "discarded", *reasons_of(error)])


def _whole_seconds(given: float | timedelta) -> int:
    seconds = given.total_seconds() if isinstance(given, timedelta) else given
    if not seconds >= 0 or math.isinf(seconds):
        raise ValueError(f"{given} is no time to wait")
    return math.ceil(seconds)
