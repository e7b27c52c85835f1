"""A queue that answers by script, and what its answers look like."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from job_retry_client import JobQueue, NoAnswerError, Retries
from job_retry_client.transports.base import Answer

if TYPE_CHECKING:
    from job_retry_client.transports.base import Request

LOST = NoAnswerError("the connection broke", was_sent=True)
NOT_SENT = NoAnswerError("nobody listens", was_sent=False)


def job(**fields: Any) -> dict[str, Any]:
    """Return a job as the API shows it, queued unless the fields say otherwise."""
    return {
        "id": 7,
        "queue": "default",
        "job_type": "mail",
        "status": "queued",
        "priority": 0,
        "payload": None,
        "attempts": 0,
        "max_attempts": 5,
        "backoff_seconds": 30,
        "max_backoff_seconds": None,
        "jitter": None,
        "lease_seconds": 900,
        "run_after": "2030-01-01T00:00:00.000Z",
        "created_at": "2030-01-01T00:00:00.000Z",
        "updated_at": "2030-01-01T00:00:00.000Z",
        "claimed_at": None,
        "claimed_by": None,
        "lease_expires_at": None,
        "last_attempted_at": None,
        "last_error": None,
        "progress": None,
        "result": None,
        "completed_at": None,
        "died_at": None,
        "cancelled_at": None,
    } | fields


def answer(
    body: dict[str, Any], status: int = 200, retry_after_seconds: float | None = None
) -> Answer:
    """Return an answer with a JSON body."""
    return Answer(status, json.dumps(body), retry_after_seconds)


def problem(
    status: int, code: str, retry_after_seconds: float | None = None, **more: Any
) -> Answer:
    """Return a refusal as the API words it."""
    body = {"status": status, "code": code, "title": code, "detail": f"it is {code}"} | more
    return answer(body, status, retry_after_seconds)


THROTTLED = problem(429, "throttled", 1)
UNAVAILABLE = problem(503, "unavailable", 1)
FAILED = problem(500, "internal")


def results(*each: dict[str, Any] | Answer) -> Answer:
    """Return a batch's answer: jobs that were done, and refusals."""
    shown = [
        {"status": one.status, "problem": json.loads(one.body)}
        if isinstance(one, Answer)
        else {"status": 200, "job": one}
        for one in each
    ]
    return answer({"results": shown})


class ScriptedTransport:
    """Answers in the order of a script; the last step is for all further requests.

    Attributes:
        requests: that were sent, in order.
    """

    def __init__(self, *script: Answer | NoAnswerError) -> None:
        self._script = list(script)
        self.requests: list[Request] = []

    def send(self, request: Request) -> Answer:
        """Take the next step."""
        self.requests.append(request)
        step = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        if isinstance(step, NoAnswerError):
            raise NoAnswerError(step.args[0], was_sent=step.was_sent)
        return step

    @property
    def bodies(self) -> list[Any]:
        """What was sent, as JSON values."""
        return [json.loads(request.body or "null") for request in self.requests]


class Played:
    """A client on a scripted queue.

    Attributes:
        pauses: that the client made, in seconds.
    """

    def __init__(
        self,
        *script: Answer | NoAnswerError,
        attempts: int = 5,
        draw: float = 0.5,
        repeat_enqueues: bool = True,
    ) -> None:
        self.transport = ScriptedTransport(*script)
        self.pauses: list[float] = []
        retries = Retries(attempts=attempts, sleep=self.pauses.append, draw=lambda: draw)
        self.queue = JobQueue(self.transport, retries=retries, repeat_enqueues=repeat_enqueues)

    @property
    def requests(self) -> list[Request]:
        """That were sent, in order."""
        return self.transport.requests

    @property
    def request(self) -> Request:
        """The one that was sent."""
        (only,) = self.requests
        return only

    @property
    def body(self) -> Any:
        """What the one request said."""
        (only,) = self.transport.bodies
        return only
