"""Several calls to DynamoDB at once, for what one request needs many of."""

from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

T = TypeVar("T")
R = TypeVar("R")

THREADS = 10
"""Calls at once; the client keeps as many connections."""


def run_all(call: Callable[[T], R], arguments: Iterable[T]) -> list[R]:
    """Return a call's results for each argument, in their order.

    A single argument is called in place: most claims want one job, and need no thread.

    Raises:
        Exception: the first that a call raised, when all have ended.
    """
    listed = list(arguments)
    if len(listed) <= 1:
        return [call(each) for each in listed]
    threads = _threads()
    running = [threads.submit(call, each) for each in listed]
    # All must have ended before the function answers: Lambda would freeze the rest.
    errors = [error for each in running if (error := each.exception()) is not None]
    if errors:
        raise errors[0]
    return [each.result() for each in running]


@cache
def _threads() -> "ThreadPoolExecutor":
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - spares cold starts

    return ThreadPoolExecutor(THREADS)
