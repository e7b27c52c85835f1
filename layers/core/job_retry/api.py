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
    StoreError,
    TooLargeError,
)
from job_retry.ids import MAX_ID
from job_retry.json_text import JsonText
from job_retry.observability import flush, logger
from job_retry.problems import problem, problem_of
from job_retry.runtime import warm_up
from job_retry.schemas.fields import QUEUE, QUEUE_WORDS, Body

PREFIX = "/api:job-retry"
"""Every route is there again under this, the seed's own spelling."""

__all__ = [
    "Response",  # for the handlers, which so load this package first
    "answer",
    "create_app",
    "no_content",
    "read_batch",
    "read_body",
    "read_header",
    "read_id",
    "read_query",
    "read_queue_name",
    "serve",
]

Handler = Callable[[dict[str, Any], LambdaContext], dict[str, Any]]
B = TypeVar("B", bound=Body)

_RETRY_AFTER_SECONDS = 1

_MAX_BATCH_BODY = 6_000_000  # about what Lambda takes
_HEADER_OF_ONE = "is for one job; POST /jobs/batch takes an idempotency_key with each"
_SHOWN_DIGITS = 32  # of an id that no job can have

_INTEGER = re.compile(r"-?[0-9]+")
_MAX_DIGITS = len(str(MAX_ID))


def create_app() -> APIGatewayHttpResolver:
    """Return a resolver that knows the prefix and answers every error as a problem.

    It keeps the current event on itself, so one serves one request at a time, as on Lambda.
    """
    app = APIGatewayHttpResolver(strip_prefixes=[PREFIX])
    app.exception_handler(JobRetryError)(_refuse)
    app.exception_handler(Exception)(_give_up)
    app.not_found(_no_route)
    return app


def serve(app: APIGatewayHttpResolver) -> Handler:
    """Return the function that Lambda calls."""
    warm_up()

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
        MediaTypeError, InvalidJsonError, InvalidFieldError, TooLargeError: it is not
            acceptable.
    """
    return _checked(model, json_text.members(_body_text(app, model.max_body)))


def read_batch(
    app: APIGatewayHttpResolver, model: type[B], *, most: int
) -> list[B | JobRetryError]:
    """Return what is asked for each job of a batch, checked, or what is wrong with it.

    Args:
        app: the resolver that has the request.
        model: what stands for each job in the array ``jobs``.
        most: how many there may be.

    Raises:
        MediaTypeError, InvalidJsonError, InvalidFieldError, TooLargeError: the batch as a
            whole is not acceptable.
    """
    if read_header(app, "idempotency-key") is not None:
        raise InvalidFieldError("Idempotency-Key", _HEADER_OF_ONE)
    # the batch itself is two levels more
    members = json_text.members(_body_text(app, _MAX_BATCH_BODY), json_text.MAX_DEPTH + 2)
    unknown = [(name, "is unknown") for name in members if name != "jobs"]
    if unknown:
        raise InvalidFieldError(*unknown[0], *unknown[1:])
    jobs = json_text.elements(members.get("jobs", JsonText("null")), "jobs")
    if not 1 <= len(jobs) <= most:
        raise InvalidFieldError("jobs", f"must have 1 to {most} elements")
    return [_checked_or_error(model, job) for job in jobs]


def read_query(app: APIGatewayHttpResolver, model: type[B]) -> B:
    """Return the request's query string, checked.

    Raises:
        InvalidFieldError: it is not acceptable.
    """
    return _validated(model, app.current_event.query_string_parameters or {})


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
        raise JobNotFoundError(text[:_SHOWN_DIGITS])
    return int(text)


def read_queue_name(text: str) -> str:
    """Return a queue's name from its path.

    Raises:
        InvalidFieldError: no queue can have it.
    """
    if not QUEUE.fullmatch(text):
        raise InvalidFieldError("queue", f"must be {QUEUE_WORDS}")
    return text


def read_header(app: APIGatewayHttpResolver, name: str) -> str | None:
    """Return a request's header, whose name is given in lower case; None if it has none."""
    return app.current_event.headers.get(name)


def answer(status: int, body: JsonText) -> Response[str]:
    """Answer with JSON."""
    return Response(status, content_type="application/json", body=body)


def no_content() -> Response[str]:
    """Answer 204."""
    return Response(204)


def _body_text(app: APIGatewayHttpResolver, limit: int) -> str:
    """Return the body's JSON; an empty one stands for an empty object."""
    event = app.current_event
    text = event.body or ""
    if len(text) > limit:
        raise TooLargeError("body", len(text), limit)
    if event.is_base64_encoded:
        text = _decode(text)
    if not text.strip(" \t\r\n"):
        return "{}"
    _check_media_type(event.headers)
    return text


def _checked(model: type[B], members: Mapping[str, JsonText]) -> B:
    return _validated(
        model,
        {
            name: member if name in model.json_texts else json_text.value(member)
            for name, member in members.items()
        },
    )


def _checked_or_error(model: type[B], text: JsonText) -> B | JobRetryError:
    try:
        return _checked(model, json_text.members(text))
    except JobRetryError as error:
        return error


def _validated(model: type[B], given: Mapping[str, object]) -> B:
    try:
        return model.model_validate(given)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_context=False, include_input=False)
        fields = [
            (".".join(map(str, each["loc"])) or "body", each["msg"].removeprefix("Value error, "))
            for each in errors
        ]
        raise InvalidFieldError(*fields[0], *fields[1:]) from None


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
    members: Mapping[str, object], headers: dict[str, str | list[str]] | None = None
) -> Response[str]:
    return Response(
        int(str(members["status"])),
        content_type="application/problem+json",
        body=json_text.render(members),
        headers=headers,
    )


def _refuse(error: JobRetryError) -> Response[str]:
    headers: dict[str, str | list[str]] = {}
    if isinstance(error, StoreError):
        logger.warning("the store refused", reason=str(error), exc_info=True)
        headers = {"Retry-After": str(_RETRY_AFTER_SECONDS)}
    return _problem(problem_of(error), headers)


def _no_route(_error: NotFoundError) -> Response[str]:
    return _problem(problem(404, "not_found", "No such route", "there is nothing at this address"))


def _give_up(_error: Exception) -> Response[str]:
    logger.exception("unexpected error")
    return _problem(problem(500, "internal", "Internal error", "the request could not be served"))
