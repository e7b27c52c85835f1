"""Many requests in one: an answer for each, in order, whatever becomes of the others."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from job_retry.errors import JobRetryError
from job_retry.parallel import run_all

T = TypeVar("T")
R = TypeVar("R")


def answer_each(
    call: Callable[[T], R], requests: Sequence[T | JobRetryError]
) -> list[R | JobRetryError]:
    """Return what a call answers to each request, or the error that it raises.

    Args:
        call: does one request.
        requests: in order; what was refused already is passed on as it is.
    """

    def try_call(request: T | JobRetryError) -> R | JobRetryError:
        if isinstance(request, JobRetryError):
            return request
        try:
            return call(request)
        except JobRetryError as error:
            return error

    return run_all(try_call, requests)
