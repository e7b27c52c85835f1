"""A queue that answers as it is told, and the command line run against it."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from typer.testing import CliRunner, Result

from job_retry_client import JobQueue, Retries
from job_retry_client.cli.app import app
from job_retry_client.cli.session import Options, Session
from job_retry_client.transports.base import Answer, Request
from tests.client import fakes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


NOW = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)


def job(job_id: int = 7, **members: Any) -> dict[str, Any]:
    """Return a job as the API shows it: queued, due a minute ago."""
    moments = dict.fromkeys(("run_after", "created_at", "updated_at"), "2030-01-02T03:03:05.000Z")
    return fakes.job(id=job_id, **(moments | members))


def page(*jobs: Mapping[str, Any], next_cursor: str | None = None) -> Answer:
    """Return a page of jobs."""
    answer = {"items": jobs, "page": 1, "per_page": 25, "next_page": None}
    return answered(200, {**answer, "next_cursor": next_cursor})


def answered(status: int, content: Any = None) -> Answer:
    """Return an answer with a JSON value."""
    return Answer(status, "" if content is None else json.dumps(content))


def problem(status: int, code: str, **members: Any) -> Answer:
    """Return a problem document."""
    return answered(status, {"status": status, "code": code, "detail": f"it is {code}", **members})


@dataclass
class FakeQueue:
    """Answers each route as a function of the request says; a transport.

    Attributes:
        routes: by ``POST /jobs`` and the like.
        requests: what was asked, in order.
        slept: the pauses of the command line.
        sleep: what makes them; by default they are noted only.
        clock: returns the time of the command line.
    """

    routes: dict[str, Callable[[Request], Answer]] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)
    sleep: Callable[[float], None] | None = None
    clock: Callable[[], datetime] = lambda: NOW
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def on(self, route: str, *answers: Answer) -> FakeQueue:
        """Answer a route so, one after another; the last again and again."""
        waiting = list(answers)
        self.routes[route] = lambda _: waiting.pop(0) if len(waiting) > 1 else waiting[0]
        return self

    def send(self, request: Request) -> Answer:
        """Answer."""
        with self._lock:
            self.requests.append(request)
        return self.routes[f"{request.operation.method} {request.operation.route}"](request)

    @property
    def bodies(self) -> list[Any]:
        """The JSON of what was asked."""
        return [json.loads(each.body or "null") for each in self.requests]

    def run(self, *arguments: str, stdin: str | bytes | None = None, **environment: str) -> Result:
        """Run the command line against it."""

        def connect(_: Options) -> JobQueue:
            return JobQueue(self, retries=Retries(attempts=1))

        session = Session(connect=connect, clock=self.clock, sleep=self.sleep or self.slept.append)
        return CliRunner().invoke(app, arguments, input=stdin, obj=session, env=environment)


def lines(output: str) -> list[Any]:
    """Return the JSON of each line."""
    return [json.loads(line) for line in output.splitlines()]
