"""What stands in a request's path, checked."""

import re

from job_retry.errors import InvalidFieldError, JobNotFoundError
from job_retry.ids import MAX_ID
from job_retry.names import QUEUE, QUEUE_WORDS

_SHOWN_DIGITS = 32  # of an id that no job can have

_INTEGER = re.compile(r"-?[0-9]+")
_MAX_DIGITS = len(str(MAX_ID))


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
