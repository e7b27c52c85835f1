"""The kinds of fields that requests are made of."""

import re
from typing import Annotated, ClassVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    InstanceOf,
    StringConstraints,
)

from job_retry.backoff import MAX_DELAY_SECONDS
from job_retry.clock import MAX_MOMENT, MAX_SECONDS, from_rfc3339
from job_retry.errors import TooLargeError
from job_retry.ids import MAX_ID
from job_retry.json_text import MAX_BODY, MAX_DOCUMENT_BYTES, JsonText
from job_retry.names import KEY, KEY_WORDS, QUEUE, QUEUE_WORDS

MAX_PROGRESS_BYTES = 1024
_MAX_LEASE_SECONDS = 12 * 3600


class Body(BaseModel):
    """A request's body. Nothing is converted, and nothing unknown is let pass.

    Attributes:
        json_texts: fields that stay JSON text.
        max_body: characters that it may have.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    json_texts: ClassVar[frozenset[str]] = frozenset()
    max_body: ClassVar[int] = MAX_BODY


def _moment(given: object) -> object:
    if isinstance(given, str):
        moment = from_rfc3339(given)
    elif type(given) is int:
        moment = given
        if 0 <= moment < MAX_SECONDS:
            message = "looks like seconds; must be milliseconds since 1970"
            raise ValueError(message)
    else:
        message = "must be RFC 3339 with an offset, or integer milliseconds since 1970"
        raise ValueError(message)
    if not 0 <= moment <= MAX_MOMENT:
        message = "must be between the years 1970 and 9999"
        raise ValueError(message)
    return moment


def _without_surrogates(given: object) -> object:
    """Mend what UTF-8 cannot carry: the report of a failure must not fail for it."""
    return given.encode("utf-8", "replace").decode() if isinstance(given, str) else given


def _at_most(field: str, limit: int) -> AfterValidator:
    def check(text: JsonText) -> JsonText:
        size = len(text.encode())
        if size > limit:
            raise TooLargeError(field, size, limit)
        return text

    return AfterValidator(check)


def _like(pattern: re.Pattern[str], words: str) -> AfterValidator:
    def check(given: str) -> str:
        if not pattern.fullmatch(given):
            message = f"must be {words}"
            raise ValueError(message)
        return given

    return AfterValidator(check)


def _name(characters: str, words: str) -> AfterValidator:
    return _like(re.compile(f"{characters}{{1,128}}"), f"1 to 128 {words}")


Queue = Annotated[str, _like(QUEUE, QUEUE_WORDS)]
JobType = Annotated[str, _name(r"[A-Za-z0-9._:/-]", "letters, digits, '.', '_', '-', ':' or '/'")]
WorkerId = Annotated[
    str, _name(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]", "characters, none a control character")
]
UniqueKey = Annotated[str, _like(KEY, KEY_WORDS)]
JobId = Annotated[int, Field(ge=1, le=MAX_ID)]
LeaseToken = Annotated[str, StringConstraints(min_length=1, max_length=128)]
ErrorText = Annotated[str, BeforeValidator(_without_surrogates)]
Moment = Annotated[int, BeforeValidator(_moment)]
MaxAttempts = Annotated[int, Field(ge=1, le=1000)]
BackoffSeconds = Annotated[int, Field(ge=0, le=7 * 24 * 3600)]
LeaseSeconds = Annotated[int, Field(ge=1, le=_MAX_LEASE_SECONDS)]
DelaySeconds = Annotated[int, Field(ge=0, le=MAX_DELAY_SECONDS)]
Payload = Annotated[InstanceOf[JsonText], _at_most("payload", MAX_DOCUMENT_BYTES)]
Result = Annotated[InstanceOf[JsonText], _at_most("result", MAX_DOCUMENT_BYTES)]
Progress = Annotated[InstanceOf[JsonText], _at_most("progress", MAX_PROGRESS_BYTES)]
