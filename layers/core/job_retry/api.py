"""HTTP around the engine: one resolver for each function, one table of errors and answers."""

import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.utilities.typing import LambdaContext

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
from job_retry.json_text import MAX_BODY, JsonText, members, render
from job_retry.names import QUEUE, QUEUE_WORDS
from job_retry.observability import flush, logger
from job_retry.problems import problem, problem_of
from job_retry.runtime import warm_up

PREFIX = "/api:job-retry"
"""Every route is there again under this, the seed's own spelling."""

__all__ = [
    "Response",  # for the handlers, which so load this package first
    "answer",
    "body_text",
    "create_app",
    "no_content",
    "read_header",
    "read_id",
    "read_no_body",
    "read_queue_name",
    "serve",
]

Handler = Callable[[dict[str, Any], LambdaContext], dict[str, Any]]

_RETRY_AFTER_SECONDS = 1

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


def body_text(app: APIGatewayHttpResolver, limit: int) -> str:
    """Return the body's JSON; an empty one stands for an empty object.

    Args:
        app: the resolver that has the request.
        limit: characters that it may have.

    Raises:
        MediaTypeError, InvalidJsonError, TooLargeError: it is not acceptable.
    """
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


def read_no_body(app: APIGatewayHttpResolver) -> None:
    """Make sure that a request that needs no body has none, or an empty object.

    Raises:
        MediaTypeError, InvalidJsonError, InvalidFieldError, TooLargeError: it is not
            acceptable.
    """
    unknown = [
        (name, "Extra inputs are not permitted") for name in members(body_text(app, MAX_BODY))
    ]
    if unknown:
        raise InvalidFieldError(*unknown[0], *unknown[1:])


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
        body=render(members),
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
