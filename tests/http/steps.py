"""What the tests do with a queue over HTTP, and what every answer must look like."""

from __future__ import annotations

import http.client
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Barrier
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlencode, urlsplit

from tests.http.api import Answer, Api

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Job: TypeAlias = dict[str, Any]

PREFIX = "/api:job-retry"

JOB_KEYS = {
    "id",
    "queue",
    "job_type",
    "status",
    "priority",
    "payload",
    "attempts",
    "max_attempts",
    "backoff_seconds",
    "max_backoff_seconds",
    "jitter",
    "lease_seconds",
    "run_after",
    "created_at",
    "updated_at",
    "claimed_at",
    "claimed_by",
    "lease_expires_at",
    "last_attempted_at",
    "last_error",
    "progress",
    "result",
    "completed_at",
    "died_at",
    "cancelled_at",
}
HISTORY_KEYS = {"attempt", "worker_id", "started_at", "ended_at", "error"}
KEY_PROBLEMS = {"key_reused": {"job_status"}, "key_taken": {"job_status"}}
LIST_KEYS = {"items", "page", "per_page", "next_page", "next_cursor"}

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@dataclass(frozen=True)
class Route:
    """One route, with a body that it accepts.

    Attributes:
        name: what it does.
        method: the HTTP method.
        path: with ``{id}`` where a job's id stands.
        body: the smallest body that is acceptable; None where none is read.
        status: of the job, when the call is allowed; None where there is no job yet.
    """

    name: str
    method: str
    path: str
    body: dict[str, Any] | None = field(default_factory=dict)
    status: str | None = None


ROUTES = {
    route.name: route
    for route in (
        Route("enqueue", "POST", "/jobs", {"job_type": "t"}),
        Route("list", "GET", "/jobs", None),
        Route("get", "GET", "/jobs/{id}", None, "queued"),
        Route("claim", "POST", "/jobs/claim"),
        Route("complete", "POST", "/jobs/{id}/complete", status="running"),
        Route("fail", "POST", "/jobs/{id}/fail", {"error": "e"}, "running"),
        Route("heartbeat", "POST", "/jobs/{id}/heartbeat", status="running"),
        Route("release", "POST", "/jobs/{id}/release", status="running"),
        Route("cancel", "POST", "/jobs/{id}/cancel", status="queued"),
        Route("delete", "DELETE", "/jobs/{id}", None, "dead"),
        Route("dead_letters", "GET", "/dlq", None),
        Route("requeue", "POST", "/dlq/{id}/requeue", status="dead"),
    )
}
WITH_ID = [route for route in ROUTES.values() if "{id}" in route.path]
WITH_BODY = [route for route in ROUTES.values() if route.body is not None]
STATUSES = ("queued", "running", "completed", "dead", "cancelled")


class Jobs:
    """One queue of its own; what is said to go well must go well."""

    def __init__(self, api: Api, queue: str, prefix: str = "") -> None:
        """Use the queue by one of the two spellings of the routes."""
        self.api = api
        self.queue = queue
        self.prefix = prefix

    def send(self, verb: str, job: Job | int | str | None = None, **body: object) -> Answer:
        """Call a route by its name, with exactly this body, if it takes one."""
        route = ROUTES[verb]
        path = self.prefix + route.path.replace("{id}", str(_id(job)))
        if route.method == "POST":
            return self.api.post(path, body)
        return self.api.request(route.method, path)

    def done(self, verb: str, job: Job, **body: object) -> Job:
        """Call a route with success, and return the job."""
        return expect(self.send(verb, job, **body), 200)

    def enqueue(self, **fields: object) -> Job:
        """Enqueue a job."""
        body = {"job_type": "t", "queue": self.queue, **fields}
        return expect(self.api.post(f"{self.prefix}/jobs", body), 201)

    def ask(self, **fields: object) -> dict[str, Any]:
        """Ask for a job, and return the whole answer."""
        body = fields if "queues" in fields else {"queue": self.queue, **fields}
        return expect(self.api.post(f"{self.prefix}/jobs/claim", body), 200)

    def claim(self, **fields: object) -> Job:
        """Claim a job that is there."""
        answer = self.ask(**fields)
        assert answer["claimed"] is True, answer
        job: Job = answer["job"]
        return job

    def claim_none(self, **fields: object) -> dict[str, Any]:
        """Ask for a job where none is due."""
        answer = self.ask(**fields)
        assert answer["claimed"] is False, answer
        return answer

    def get(self, job: Job | int) -> Job:
        """Return the whole job, with its history."""
        return expect(self.send("get", job), 200)

    def list(self, **query: object) -> dict[str, Any]:
        """List this queue's jobs."""
        return self._listed("/jobs", query)

    def dead_letters(self, **query: object) -> dict[str, Any]:
        """List this queue's dead letters."""
        return self._listed("/dlq", query)

    def in_status(self, status: str, **fields: object) -> Job:
        """Return a new job that stands in this status, as it was last shown.

        One that was claimed keeps its lease token in the answer.
        """
        job = self.enqueue(**fields)
        if status == "queued":
            return job
        if status == "cancelled":
            return self.done("cancel", job)
        claimed = self.claim()
        assert claimed["id"] == job["id"]
        if status == "completed":
            job = self.done("complete", claimed, result="first")
        elif status == "dead":
            job = self.done("fail", claimed, error="first", retry=False)
        return {**claimed, **job} if status != "running" else claimed

    def _listed(self, path: str, query: Mapping[str, object]) -> dict[str, Any]:
        given = urlencode({"queue": self.queue, **query})
        return expect(self.api.get(f"{self.prefix}{path}?{given}"), 200)


def token(job: Job) -> dict[str, str]:
    """Return the field by which a claimed job's worker shows that it holds the lease."""
    return {"lease_token": job["lease_token"]}


def expect(answer: Answer, status: int) -> dict[str, Any]:
    """Return the JSON of an answer that went well."""
    assert answer.status == status, f"{answer.status} {answer.body[:1000]!r}"
    assert answer.headers["content-type"] == "application/json"
    assert "location" not in answer.headers
    found: dict[str, Any] = answer.json
    return found


def problem(answer: Answer, status: int, code: str | None = None) -> dict[str, Any]:
    """Return the problem document that an answer must be."""
    fault = why_no_problem(answer)
    assert not fault, fault
    found: dict[str, Any] = answer.json
    assert found["status"] == status, found
    assert code is None or found["code"] == code, found
    return found


def why_no_problem(answer: Answer) -> str:
    """Say what keeps an answer from being a good problem document; "" for nothing."""
    shown = f"{answer.status} {answer.headers.get('content-type')} {answer.body[:300]!r}"
    if not 400 <= answer.status < 500:
        return f"is no refusal: {shown}"
    if answer.headers.get("content-type") != "application/problem+json":
        return f"is no problem document: {shown}"
    if len(answer.body) > 100_000:
        return f"is far too long, {len(answer.body):,} bytes: {shown}"
    found = answer.json
    texts = [found.get(name) for name in ("type", "title", "detail", "code")]
    faults = {
        "lacks type, title, detail or code": not all(isinstance(each, str) for each in texts)
        or "" in texts,
        "tells another status": found.get("status") != answer.status,
        "does not tell the job's status": answer.status == 409
        and not {"job_id", "job_status"} <= found.keys() | KEY_PROBLEMS.get(found["code"], set()),
        "names no field": answer.status == 422 and not found.get("errors"),
        "shows internals": re.search(rb"Traceback|\.py\b|pydantic|botocore", answer.body)
        is not None,
    }
    return "; ".join(f"{fault}: {shown}" for fault, found_it in faults.items() if found_it)


def named_fields(answer: Answer) -> set[str]:
    """Return the fields that a problem document names."""
    return {each["field"].partition(".")[0] for each in answer.json.get("errors", [])}


def moment(text: str) -> int:
    """Return a moment of an answer in milliseconds since the epoch."""
    assert _MOMENT.fullmatch(text), text
    return (datetime.fromisoformat(text) - _EPOCH) // timedelta(milliseconds=1)


def rfc3339(milliseconds: int) -> str:
    """Write a moment as a client might."""
    return (_EPOCH + timedelta(milliseconds=milliseconds)).isoformat()


def together(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Make the calls at the same moment, each in a thread of its own."""
    barrier = Barrier(len(calls))

    def make(call: Callable[[], Any]) -> Any:
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(make, calls))


def post_untyped(api_url: str, path: str, body: bytes) -> Answer:
    """POST without a content type, which API Gateway hands on in base64."""
    connection = http.client.HTTPConnection(urlsplit(api_url).netloc, timeout=60)
    try:
        connection.request("POST", path, body=body)
        response = connection.getresponse()
        names = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, names, response.read())
    finally:
        connection.close()


def _id(job: Job | int | str | None) -> object:
    return job["id"] if isinstance(job, dict) else job


_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00Z")
