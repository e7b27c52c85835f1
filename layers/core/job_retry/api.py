"""HTTP around the engine: one resolver for each function, one table of errors and answers."""

import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.utilities.typing import LambdaContext

from job_retry.errors import (
    InvalidJsonError,
    JobRetryError,
    MediaTypeError,
    StoreError,
    TooLargeError,
)
from job_retry.json_text import MAX_BODY, JsonText, expect_empty, render
from job_retry.observability import flush, logger
from job_retry.paths import read_id, read_queue_name
from job_retry.problems import NO_ROUTE, RETRY_AFTER_SECONDS, problem, problem_of
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

_NO_UTF8 = "the body is not UTF-8"

Handler = Callable[[dict[str, Any], LambdaContext], dict[str, Any]]


class _Resolver(APIGatewayHttpResolver):
    """Takes whatever API Gateway takes for a part of a path.

    Powertools' own pattern knows no ``#``, ``?`` or control character, and answers that there is
    no such route where a name is wrong.
    """

    @staticmethod
    def _compile_regex(rule: str, base_regex: str = "^{}$") -> re.Pattern[str]:
        return re.compile(base_regex.format(re.sub(r"<(\w+)>", r"(?P<\1>[^/]+)", rule)))


def create_app() -> APIGatewayHttpResolver:
    """Return a resolver that knows the prefix and answers every error as a problem.

    It keeps the current event on itself, so one serves one request at a time, as on Lambda.
    """
    app = _Resolver(strip_prefixes=[PREFIX])
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
    if "\ufffd" in text and not event.is_base64_encoded:
        _expect_length(text, event.headers.get("content-length", ""))
    return text


def read_no_body(app: APIGatewayHttpResolver) -> None:
    """Make sure that a request that needs no body has none, or an empty object.

    Raises:
        MediaTypeError, InvalidJsonError, InvalidFieldError, TooLargeError: it is not
            acceptable.
    """
    expect_empty(body_text(app, MAX_BODY))


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
        raise InvalidJsonError(_NO_UTF8) from None


def _expect_length(text: str, declared: str) -> None:
    """Refuse a body that API Gateway had to mend: it puts U+FFFD where the bytes are no UTF-8.

    Only the length tells that from a U+FFFD which was sent, since that one was three bytes before,
    too. So where it replaces three, which are a character of four cut short, it goes unnoticed, as
    does everything in a body that came without its length.
    """
    size = len(text.encode("utf-8", "surrogatepass"))  # an event made by hand may have anything
    if re.fullmatch("[0-9]{1,9}", declared) and int(declared) != size:
        raise InvalidJsonError(_NO_UTF8)


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
        headers = {"Retry-After": str(RETRY_AFTER_SECONDS)}
    return _problem(problem_of(error), headers)


def _no_route(_error: NotFoundError) -> Response[str]:
    return _problem(NO_ROUTE)


def _give_up(_error: Exception) -> Response[str]:
    logger.exception("unexpected error")
    return _problem(problem(500, "internal", "Internal error", "the request could not be served"))
