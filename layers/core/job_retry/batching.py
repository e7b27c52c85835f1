"""Many requests in one: an answer for each, in order, whatever becomes of the others."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from job_retry.errors import JobRetryError
from job_retry.json_text import JsonText, render, render_all
from job_retry.parallel import run_all
from job_retry.problems import problem_of

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


def batch_view(
    outcomes: Iterable[R | JobRetryError], show: Callable[[R], tuple[int, JsonText]]
) -> JsonText:
    """Show what became of each request: a status, with the job or the problem.

    Args:
        outcomes: of `answer_each`.
        show: returns the status and the job's view of what went well.
    """
    results = []
    for outcome in outcomes:
        if isinstance(outcome, JobRetryError):
            problem = problem_of(outcome)
            results.append(render({"status": problem["status"], "problem": render(problem)}))
        else:
            status, job = show(outcome)
            results.append(render({"status": status, "job": job}))
    return render({"results": render_all(results)})
