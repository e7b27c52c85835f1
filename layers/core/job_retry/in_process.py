"""The API without HTTP, for code that has this layer, the tables and the right to use them.

Each route does here what its function does, with the same checks, verbs, views and problems;
``tests/http/test_in_process.py`` sends the same requests both ways.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from job_retry import bodies
from job_retry.batching import answer_each, batch_view
from job_retry.engine import Engine
from job_retry.errors import JobRetryError, StoreError
from job_retry.json_text import MAX_BODY, expect_empty, render
from job_retry.paths import read_id, read_queue_name
from job_retry.problems import NO_ROUTE, RETRY_AFTER_SECONDS, problem_of
from job_retry.schemas.claim import ClaimBody
from job_retry.schemas.enqueue import EnqueueBody, EnqueueItem
from job_retry.schemas.fields import Body
from job_retry.schemas.lists import DeadLettersQuery, ListQuery
from job_retry.schemas.queue import QueueBody
from job_retry.schemas.requeue import RequeueBody
from job_retry.schemas.settle import (
    CompleteBody,
    CompleteItem,
    FailBody,
    FailItem,
    HeartbeatBody,
    ReleaseBody,
)
from job_retry.views import (
    claim_view,
    enqueued_briefly_view,
    enqueued_view,
    job_view,
    list_view,
    queue_view,
    settled_view,
    whole_job_view,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from job_retry.job import Job

B = TypeVar("B", bound=Body)

_log = logging.getLogger(__name__)
_NOTHING: Mapping[str, str] = MappingProxyType({})
_MOST_ENQUEUED = 100
_MOST_SETTLED = 25


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request comes to.

    Attributes:
        status: as over HTTP.
        body: JSON text, from status 400 on a problem document; empty with 204.
        retry_after_seconds: when to ask again what the store could not serve, else None.
    """

    status: int
    body: str
    retry_after_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class _Request:
    engine: Engine
    path: Mapping[str, str]
    query: Mapping[str, str]
    body: str
    idempotency_key: str | None

    def read(self, model: type[B]) -> B:
        return bodies.body_from(bodies.text_within(self.body, model.max_body), model)

    def read_batch(self, model: type[B], *, most: int) -> list[B | JobRetryError]:
        bodies.refuse_key_for_many(self.idempotency_key)
        text = bodies.text_within(self.body, bodies.MAX_BATCH_BODY)
        return bodies.batch_from(text, model, most=most)

    def job_id(self) -> int:
        return read_id(self.path["job_id"])

    def queue(self) -> str:
        return read_queue_name(self.path["queue"])


_Route: TypeAlias = "Callable[[_Request], tuple[int, str]]"


def call(
    method: str,
    route: str,
    *,
    engine: Engine,
    path: Mapping[str, str] = _NOTHING,
    query: Mapping[str, str] = _NOTHING,
    body: str = "",
    idempotency_key: str | None = None,
) -> Answer:
    """Answer a request as the route's function would.

    Only what is no `JobRetryError` differs: over HTTP it would be a 500 and a line in the
    function's log; here it is raised, since log and process are the caller's.

    Args:
        method: of HTTP, like ``POST``.
        route: as ``template.yaml`` has it, like ``/jobs/{job_id}/complete``, without a prefix.
        engine: of the queue, such as `runtime.engine` returns.
        path: the values of the names in braces, as they are, not percent-encoded.
        query: likewise.
        body: JSON text, or empty.
        idempotency_key: what the header of this name would be.

    Raises:
        KeyError: ``path`` lacks a name.
    """
    answer = ROUTES.get((method, route))
    if answer is None:
        return Answer(404, render(NO_ROUTE))
    try:
        status, shown = answer(_Request(engine, path, query, body, idempotency_key))
    except JobRetryError as error:
        return _refusal(error)
    return Answer(status, shown)


def _refusal(error: JobRetryError) -> Answer:
    problem = problem_of(error)
    after = None
    if isinstance(error, StoreError):
        _log.warning("the store refused: %s", error, exc_info=True)
        after = RETRY_AFTER_SECONDS
    return Answer(int(str(problem["status"])), render(problem), after)


def _enqueue(request: _Request) -> tuple[int, str]:
    new = request.read(EnqueueBody).new_job(request.idempotency_key)
    return enqueued_view(request.engine.enqueue_once(new))


def _enqueue_many(request: _Request) -> tuple[int, str]:
    items = request.read_batch(EnqueueItem, most=_MOST_ENQUEUED)
    outcomes = answer_each(lambda item: request.engine.enqueue_once(item.new_job()), items)
    return 200, batch_view(outcomes, enqueued_briefly_view)


def _list(model: type[DeadLettersQuery]) -> _Route:
    def answer(request: _Request) -> tuple[int, str]:
        asked = bodies.query_from(dict(request.query), model).request()
        return 200, list_view(asked, request.engine.list_jobs(asked))

    return answer


def _get(request: _Request) -> tuple[int, str]:
    return 200, whole_job_view(*request.engine.get(request.job_id()))


def _claim(request: _Request) -> tuple[int, str]:
    return 200, claim_view(request.engine.claim(request.read(ClaimBody).request()))


def _change(model: type[Body], verb: Callable[..., Job]) -> _Route:
    def answer(request: _Request) -> tuple[int, str]:
        body = request.read(model)
        return 200, job_view(verb(request.engine, request.job_id(), **dict(body)))

    return answer


def _settle_many(model: type[CompleteItem | FailItem], verb: Callable[..., Job]) -> _Route:
    def answer(request: _Request) -> tuple[int, str]:
        items = request.read_batch(model, most=_MOST_SETTLED)
        outcomes = answer_each(
            lambda item: verb(request.engine, item.id, **item.settlement()), items
        )
        return 200, batch_view(outcomes, settled_view)

    return answer


def _cancel(request: _Request) -> tuple[int, str]:
    expect_empty(bodies.text_within(request.body, MAX_BODY))
    return 200, job_view(request.engine.cancel(request.job_id()))


def _delete(request: _Request) -> tuple[int, str]:
    request.engine.delete(request.job_id())
    return 204, ""


def _get_queue(request: _Request) -> tuple[int, str]:
    return 200, queue_view(request.engine.queue(request.queue()), request.engine.now())


def _set_queue(request: _Request) -> tuple[int, str]:
    body = request.read(QueueBody)
    record = request.engine.set_queue(request.queue(), body.changed)
    return 200, queue_view(record, request.engine.now())


ROUTES: Mapping[tuple[str, str], _Route] = MappingProxyType(
    {
        ("POST", "/jobs"): _enqueue,
        ("POST", "/jobs/batch"): _enqueue_many,
        ("GET", "/jobs"): _list(ListQuery),
        ("GET", "/jobs/{job_id}"): _get,
        ("DELETE", "/jobs/{job_id}"): _delete,
        ("POST", "/jobs/claim"): _claim,
        ("POST", "/jobs/complete"): _settle_many(CompleteItem, Engine.complete),
        ("POST", "/jobs/fail"): _settle_many(FailItem, Engine.fail),
        ("POST", "/jobs/{job_id}/complete"): _change(CompleteBody, Engine.complete),
        ("POST", "/jobs/{job_id}/fail"): _change(FailBody, Engine.fail),
        ("POST", "/jobs/{job_id}/heartbeat"): _change(HeartbeatBody, Engine.heartbeat),
        ("POST", "/jobs/{job_id}/release"): _change(ReleaseBody, Engine.release),
        ("POST", "/jobs/{job_id}/cancel"): _cancel,
        ("GET", "/dlq"): _list(DeadLettersQuery),
        ("POST", "/dlq/{job_id}/requeue"): _change(RequeueBody, Engine.requeue),
        ("GET", "/queues/{queue}"): _get_queue,
        ("PUT", "/queues/{queue}"): _set_queue,
    }
)
"""What each method and route does."""
