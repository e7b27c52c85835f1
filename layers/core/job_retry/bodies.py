"""From a request's text to a checked model, however the request came.

What is wrong is said with the domain's own errors; where the text comes from is the caller's
affair.
"""

import math
from collections.abc import Mapping
from typing import TypeVar

from pydantic import ValidationError

from job_retry import json_text
from job_retry.errors import (
    InvalidFieldError,
    InvalidJsonError,
    JobRetryError,
    TooLargeError,
)
from job_retry.json_text import JsonText
from job_retry.names import readable
from job_retry.schemas.fields import Body

B = TypeVar("B", bound=Body)

MAX_BATCH_BODY = 6_000_000
"""Characters of a batch's body: about what Lambda takes."""


def text_within(text: str, limit: int) -> str:
    """Return a body's JSON; an empty one stands for an empty object.

    Args:
        text: the body as it came.
        limit: characters that it may have.

    Raises:
        TooLargeError: it has more.
        InvalidJsonError: it has lone surrogates, which no UTF-8 has.
    """
    if len(text) > limit:
        raise TooLargeError("body", len(text), limit)
    try:
        text.encode()
    except UnicodeEncodeError:
        message = "the body is not UTF-8"
        raise InvalidJsonError(message) from None
    return text if text.strip(" \t\r\n") else "{}"


def body_from(text: str, model: type[B]) -> B:
    """Return a body, checked.

    Args:
        text: its JSON.
        model: what it is to be.

    Raises:
        InvalidJsonError, InvalidFieldError, TooLargeError: it is not acceptable.
    """
    return _checked(json_text.members(text), model)


def batch_from(text: str, model: type[B], *, most: int) -> list[B | JobRetryError]:
    """Return what is asked for each job of a batch, checked, or what is wrong with it.

    Args:
        text: the JSON of an object whose one member, ``jobs``, is an array.
        model: what stands for each job in it.
        most: how many there may be.

    Raises:
        InvalidJsonError, InvalidFieldError: the batch as a whole is not acceptable.
    """
    # How deep each job may be is asked of each. As a whole the batch is refused only where the
    # parser gives up, near 1,000 levels with Python 3.11 and 10,000 with 3.13.
    members = json_text.members(text, math.inf)
    unknown = [(name, "is unknown") for name in members if name != "jobs"]
    if unknown:
        raise InvalidFieldError(*unknown[0], *unknown[1:])
    jobs = json_text.elements(members.get("jobs", JsonText("null")), "jobs")
    if not 1 <= len(jobs) <= most:
        raise InvalidFieldError("jobs", f"must have 1 to {most} elements")
    return [_body_or_error(job, model) for job in jobs]


def refuse_key_for_many(idempotency_key: str | None) -> None:
    """Make sure that a batch as a whole has no Idempotency-Key.

    Raises:
        InvalidFieldError: it has one.
    """
    if idempotency_key is not None:
        message = "is for one job; POST /jobs/batch takes an idempotency_key with each"
        raise InvalidFieldError("Idempotency-Key", message)


def query_from(given: Mapping[str, object], model: type[B]) -> B:
    """Return a query, checked.

    Args:
        given: its values by name.
        model: what it is to be.

    Raises:
        InvalidFieldError: it is not acceptable.
    """
    try:
        # pydantic has no name for a field that UTF-8 cannot carry
        return model.model_validate({readable(name): each for name, each in given.items()})
    except ValidationError as error:
        errors = error.errors(include_url=False, include_context=False, include_input=False)
        fields = [
            (".".join(map(str, each["loc"])), each["msg"].removeprefix("Value error, "))
            for each in errors
        ]
        raise InvalidFieldError(*fields[0], *fields[1:]) from None


def _checked(members: Mapping[str, JsonText], model: type[B]) -> B:
    return query_from(
        {
            name: member if name in model.json_texts else json_text.value(member)
            for name, member in members.items()
        },
        model,
    )


def _body_or_error(text: JsonText, model: type[B]) -> B | JobRetryError:
    try:
        return body_from(text, model)
    except JobRetryError as error:
        return error
