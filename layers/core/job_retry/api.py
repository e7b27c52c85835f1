"""HTTP around the engine: one resolver for each function, one table of errors and answers."""

import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic import ValidationError

from job_retry import json_text
from job_retry.errors import (
    InvalidFieldError,
    InvalidJsonError,
    JobNotFoundError,
    JobRetryError,
    MediaTypeError,
    StateError,
    StoreBusyError,
    StoreUnavailableError,
    TooCostlyError,
    TooLargeError,
)
from job_retry.ids import MAX_ID
from job_retry.json_text import JsonText
from job_retry.observability import flush, logger
from job_retry.schemas.fields import Body
from job_retry.views import job_view

PREFIX = "/api:job-retry"
"""Every route is there again under this, the seed's own spelling."""

Handler = Callable[[dict[str, Any], LambdaContext], dict[str, Any]]
B = TypeVar("B", bound=Body)

_STATUS_AND_TITLE: dict[type[JobRetryError], tuple[int, str]] = {
    InvalidJsonError: (400, "The body is not JSON"),
    JobNotFoundError: (404, "No such job"),
    StateError: (409, "The job's state forbids this"),
    TooLargeError: (413, "Too large"),
    MediaTypeError: (415, "The body is not declared as JSON"),
    InvalidFieldError: (422, "A field is not acceptable"),
    TooCostlyError: (422, "The list costs too many reads"),
    StoreBusyError: (429, "Too busy"),
    StoreUnavailableError: (503, "The store is unavailable"),
}
_RETRY_AFTER_SECONDS = 1

_SHOWN_ERRORS = 20
_SHOWN_NAME = 100  # characters of a field's name, which may be as long as the body

_INTEGER = re.compile(r"-?[0-9]+")
_MAX_DIGITS = len(str(MAX_ID))


def create_app() -> APIGatewayHttpResolver:
    """Return a resolver that knows the prefix and answers every error as a problem.

    It keeps the current event on itself, so one serves one request at a time, as on Lambda.
    """
    app = APIGatewayHttpResolver(strip_prefixes=[PREFIX])
    app.exception_handler(JobRetryError)(_refuse)
    app.exception_handler(ValidationError)(_refuse_fields)
    app.exception_handler(Exception)(_give_up)
    app.not_found(_no_route)
    return app


def serve(app: APIGatewayHttpResolver) -> Handler:
    """Return the function that Lambda calls."""

    @logger.inject_lambda_context
    def lambda_handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
        try:
            return app.resolve(event, context)
        finally:
            flush()

    return lambda_handler


def read_body(app: APIGatewayHttpResolver, model: type[B]) -> B:
    """Return the request's body, checked.

    Raises:
        MediaTypeError, InvalidJsonError, InvalidFieldError, TooLargeError,
        pydantic.ValidationError: it is not acceptable.
    """
    event = app.current_event
    text = event.body or ""
    if len(text) > model.max_body:
        raise TooLargeError("body", len(text), model.max_body)
    if event.is_base64_encoded:
        text = _decode(text)
    if not text.strip(" \t\r\n"):
        return model.model_validate({})
    _check_media_type(event.headers)
    members = json_text.members(text)
    return model.model_validate(
        {
            name: member if name in model.json_texts else json_text.value(member)
            for name, member in members.items()
        }
    )


def read_query(app: APIGatewayHttpResolver, model: type[B]) -> B:
    """Return the request's query string, checked.

    Raises:
        pydantic.ValidationError: it is not acceptable.
    """
    return model.model_validate(app.current_event.query_string_parameters or {})


def read_id(text: str) -> int:
    """Return a job's id from its path.

    Raises:
        InvalidFieldError: it is no integer.
        JobNotFoundError: it is an integer that no job can have.
    """
    if not _INTEGER.fullmatch(text):
        raise InvalidFieldError("job_id", "must be an integer")
    # asked in this order, since Python reads no integer of more than 4,300 digits
    if len(text) > _MAX_DIGITS or not 0 < int(text) <= MAX_ID:
        raise JobNotFoundError(text[:_SHOWN_NAME])
    return int(text)


def answer(status: int, body: JsonText) -> Response[str]:
    """Answer with JSON."""
    return Response(status, content_type="application/json", body=body)


def no_content() -> Response[str]:
    """Answer 204."""
    return Response(204)


def _decode(body: str) -> str:
    try:
        return b64decode(body, validate=True).decode("utf-8")
    except ValueError:
        message = "the body is not UTF-8"
        raise InvalidJsonError(message) from None


def _check_media_type(headers: Mapping[str, str]) -> None:
    """Let JSON pass, and a body of no declared type: some clients declare none."""
    declared = headers.get("content-type", "application/json")
    media_type, *parameters = (part.strip() for part in declared.lower().split(";"))
    charsets = {each for each in parameters if each.startswith("charset=")}
    is_json = media_type == "application/json" or media_type.endswith("+json")
    if not is_json or not charsets <= {"charset=utf-8", 'charset="utf-8"'}:
        message = f"the body must be application/json in UTF-8, not {declared[:100]}"
        raise MediaTypeError(message)


def _problem(
    status: int,
    code: str,
    title: str,
    detail: str,
    headers: dict[str, str | list[str]] | None = None,
    **more: object,
) -> Response[str]:
    """Answer as RFC 9457 has it; ``code`` and the type that ends in it are for programs."""
    fields = {
        "type": f"urn:job-retry:problem:{code}",
        "title": title,
        "status": status,
        "detail": detail,
        "code": code,
        **more,
    }
    return Response(
        status,
        content_type="application/problem+json",
        body=json_text.render(fields),
        headers=headers,
    )


def _refuse(error: JobRetryError) -> Response[str]:
    status, title = next(
        _STATUS_AND_TITLE[kind] for kind in type(error).__mro__ if kind in _STATUS_AND_TITLE
    )
    more: dict[str, object] = {}
    headers: dict[str, str | list[str]] = {}
    match error:
        case StateError(job=job):
            more = {"job_id": job.id, "job_status": job.status}
        case InvalidFieldError(field=field) | TooLargeError(field=field):
            more = {"errors": [{"field": field[:_SHOWN_NAME], "detail": str(error)}]}
        case TooCostlyError(next_cursor=cursor, jobs=jobs):
            items = json_text.render_all(job_view(job) for job in jobs)
            more = {"items": items, "next_cursor": cursor}
        case StoreBusyError() | StoreUnavailableError():
            logger.warning("the store refused", reason=str(error), exc_info=True)
            headers = {"Retry-After": str(_RETRY_AFTER_SECONDS)}
    return _problem(status, error.code, title, str(error), headers, **more)


def _refuse_fields(error: ValidationError) -> Response[str]:
    errors = [
        {
            "field": ".".join(map(str, each["loc"]))[:_SHOWN_NAME] or "body",
            "detail": each["msg"].removeprefix("Value error, "),
        }
        for each in error.errors(include_url=False, include_context=False, include_input=False)
    ][:_SHOWN_ERRORS]
    detail = "; ".join(f"{each['field']}: {each['detail']}" for each in errors)
    title = _STATUS_AND_TITLE[InvalidFieldError][1]
    return _problem(422, InvalidFieldError.code, title, detail, errors=errors)


def _no_route(_error: NotFoundError) -> Response[str]:
    return _problem(404, "not_found", "No such route", "there is nothing at this address")


def _give_up(_error: Exception) -> Response[str]:
    logger.exception("unexpected error")
    return _problem(500, "internal", "Internal error", "the request could not be served")
