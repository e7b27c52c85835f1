"""Errors as RFC 9457 problem documents: the one table from the domain to HTTP."""

from job_retry.errors import (
    InvalidFieldError,
    InvalidJsonError,
    JobNotFoundError,
    JobRetryError,
    KeyReusedError,
    KeyTakenByOtherError,
    MediaTypeError,
    QueueNotFoundError,
    StateError,
    StoreBusyError,
    StoreUnavailableError,
    TooCostlyError,
    TooLargeError,
)
from job_retry.json_text import render_all
from job_retry.views import job_view

_STATUS_AND_TITLE: dict[type[JobRetryError], tuple[int, str]] = {
    InvalidJsonError: (400, "The body is not JSON"),
    JobNotFoundError: (404, "No such job"),
    QueueNotFoundError: (404, "No such queue"),
    StateError: (409, "The job's state forbids this"),
    KeyReusedError: (409, "The key stands for another job"),
    KeyTakenByOtherError: (409, "The key stands for another job"),
    TooLargeError: (413, "Too large"),
    MediaTypeError: (415, "The body is not declared as JSON"),
    InvalidFieldError: (422, "A field is not acceptable"),
    TooCostlyError: (422, "The list costs too many reads"),
    StoreBusyError: (429, "Too busy"),
    StoreUnavailableError: (503, "The store is unavailable"),
}
RETRY_AFTER_SECONDS = 1
"""When to ask again what the store could not serve."""

_SHOWN_ERRORS = 20
_SHOWN_NAME = 100  # characters of a field's name, which may be as long as the body


def problem(status: int, code: str, title: str, detail: str, **more: object) -> dict[str, object]:
    """Return a problem's members; ``code``, and the type that ends in it, are for programs."""
    return {
        "type": f"urn:job-retry:problem:{code}",
        "title": title,
        "status": status,
        "detail": detail,
        "code": code,
        **more,
    }


NO_ROUTE = problem(404, "not_found", "No such route", "there is nothing at this address")


def problem_of(error: JobRetryError) -> dict[str, object]:
    """Return an error as a problem's members."""
    status, title = next(
        _STATUS_AND_TITLE[kind] for kind in type(error).__mro__ if kind in _STATUS_AND_TITLE
    )
    more: dict[str, object] = {}
    match error:
        case KeyReusedError(job_id=job_id) | KeyTakenByOtherError(job_id=job_id):
            more = {"job_id": job_id}
        case StateError(job=job):
            more = {"job_id": job.id, "job_status": job.status}
        case InvalidFieldError(fields=fields):
            more = {"errors": [_field(*each) for each in fields[:_SHOWN_ERRORS]]}
        case TooLargeError(field=field):
            more = {"errors": [_field(field, str(error))]}
        case TooCostlyError(next_cursor=cursor, jobs=jobs):
            more = {"items": render_all(map(job_view, jobs)), "next_cursor": cursor}
    return problem(status, error.code, title, str(error), **more)


def _field(name: str, detail: str) -> dict[str, str]:
    return {"field": name[:_SHOWN_NAME], "detail": detail}
