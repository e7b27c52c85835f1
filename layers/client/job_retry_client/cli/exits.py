"""How a command ends: its exit code, and what it says of an error."""

from __future__ import annotations

import json
from enum import IntEnum

from job_retry_client.cli.streams import OutputError
from job_retry_client.errors import (
    AnswerError,
    ConflictError,
    CredentialsError,
    JobNotFoundError,
    NoAnswerError,
    NotAllowedError,
    QueueBusyError,
    QueueNotFoundError,
    ServerError,
    TooCostlyError,
)


class ExitCode(IntEnum):
    """What scripts may go by."""

    OK = 0
    REFUSED = 1
    USAGE = 2
    NOT_FOUND = 3
    CONFLICT = 4
    NOTHING_DUE = 5
    NO_ANSWER = 6
    INTERRUPTED = 130


EXIT_CODES = (
    "Exit codes: 0 done; 1 the queue refused, or failed, or the output cannot be written; "
    "2 wrong usage, or no way to the queue; 3 no such job or queue; "
    "4 conflict: lease lost, wrong status, key taken; 5 nothing due to claim; "
    "6 no answer, or too busy; 130 interrupted."
)


def code_of(error: Exception) -> ExitCode:
    """Return the exit code that an error stands for."""
    if isinstance(error, (NoAnswerError, QueueBusyError)):
        return ExitCode.NO_ANSWER
    if isinstance(error, (JobNotFoundError, QueueNotFoundError)) and error.code:
        return ExitCode.NOT_FOUND
    if isinstance(error, ConflictError):
        return ExitCode.CONFLICT
    if isinstance(error, OutputError):
        return ExitCode.REFUSED
    if isinstance(error, AnswerError):
        return ExitCode.REFUSED  # a 404 without a code too: some other server's
    return ExitCode.USAGE


def is_of_all(error: Exception) -> bool:
    """Whether it would meet the next job as well, so that going on makes no sense."""
    return isinstance(
        error, (CredentialsError, NoAnswerError, NotAllowedError, QueueBusyError, ServerError)
    )


def message_of(error: Exception) -> str:
    """Return an error as one line."""
    text = " ".join(str(error).split())
    if isinstance(error, TooCostlyError):
        text += "; --all goes on however many it takes, --queue makes it fewer"
    if isinstance(error, AnswerError):
        text += f" ({error.code or f'HTTP {error.status}'})"
    return text


def document_of(error: Exception) -> str:
    """Return an error as a line of JSON: the queue's problem document, or one like it."""
    if isinstance(error, AnswerError):
        return json.dumps({"status": error.status, **error.problem})
    if isinstance(error, NoAnswerError):
        code = "no_answer"
    else:
        code = "output" if isinstance(error, OutputError) else "usage"
    return json.dumps({"code": code, "detail": str(error)})
