"""The API without HTTP answers as the functions do: the same requests, sent both ways."""

from __future__ import annotations

import ast
import json
import sys
import time
from importlib.util import module_from_spec, spec_from_file_location
from random import Random
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import pytest

from job_retry import in_process, listing, parallel, runtime
from job_retry.engine import Engine
from job_retry.errors import StoreBusyError, StoreUnavailableError
from job_retry.in_process import ROUTES, Answer
from job_retry.memory import MemoryStore
from local.events import Request, http_event
from local.template import REPOSITORY, load_template, read_functions, read_routes
from local.worker import Context
from tests.http.steps import PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.conftest import MakeTables

T0 = 1_893_456_000_000
HOUR_MS = 3_600_000
LARGE = "x" * 5000
TOO_LARGE = "x" * 256 * 1024
JOB = {"job_type": "t", "payload": {"n": 1.0, "s": "é"}}

TEMPLATE = load_template()
SOURCES = {
    (route.method, route.path): read_functions(TEMPLATE)[route.function].source
    for route in read_routes(TEMPLATE)
    if not route.path.startswith(PREFIX)
}
Route = tuple[str, str]
# of each route that reads one, the smallest body that is acceptable
BODIES: dict[Route, dict[str, Any]] = {
    ("POST", "/jobs"): {"job_type": "t"},
    ("POST", "/jobs/batch"): {"jobs": [{"job_type": "t"}]},
    ("POST", "/jobs/claim"): {},
    ("POST", "/jobs/complete"): {"jobs": [{"id": 1}]},
    ("POST", "/jobs/fail"): {"jobs": [{"id": 1, "error": "e"}]},
    ("POST", "/jobs/{job_id}/complete"): {},
    ("POST", "/jobs/{job_id}/fail"): {"error": "e"},
    ("POST", "/jobs/{job_id}/heartbeat"): {},
    ("POST", "/jobs/{job_id}/release"): {},
    ("POST", "/jobs/{job_id}/cancel"): {},
    ("POST", "/dlq/{job_id}/requeue"): {},
    ("PUT", "/queues/{queue}"): {},
}
WITH_ID = [route for route in SOURCES if "{job_id}" in route[1]]
LISTS = [("GET", "/jobs"), ("GET", "/dlq")]
BATCHES = {"/jobs/batch": 100, "/jobs/complete": 25, "/jobs/fail": 25}
WORKING = ["complete", "fail", "heartbeat", "release"]

every_route = pytest.mark.parametrize("route", SOURCES, ids=" ".join)
every_body = pytest.mark.parametrize("route", BODIES, ids=" ".join)


def load(route: Route) -> Any:
    """Return the module of a route's function, loaded once."""
    name = f"in_process_{SOURCES[route].parent.name}"
    if name not in sys.modules:
        spec = spec_from_file_location(name, SOURCES[route])
        assert spec
        assert spec.loader
        sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


class Both:
    """Two queues with the same clock and the same luck: one behind the functions, one not."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self.now = T0
        self.stores = [MemoryStore(), MemoryStore()]
        self.engines = [self._engine(store) for store in self.stores]

    def _engine(self, store: MemoryStore, **more: Any) -> Engine:
        return Engine(store, clock=lambda: self.now, random=Random(7), **more)

    def require_lease_tokens(self) -> None:
        """Let both forbid what comes without a lease token."""
        self.engines = [self._engine(store, require_lease_token=True) for store in self.stores]

    def send(
        self,
        route: str,
        body: object = None,
        *,
        key: str | None = None,
        query: Mapping[str, str] | None = None,
        **path: object,
    ) -> Answer:
        """Send a request both ways; return the answer, which must be the same."""
        method, _, template = route.partition(" ")
        text = body if isinstance(body, str) else "" if body is None else json.dumps(body)
        values = {name: str(value) for name, value in path.items()}
        theirs = self.http((method, template), text, key=key, query=query or {}, path=values)
        ours = in_process.call(
            method,
            template,
            engine=self.engines[1],
            path=values,
            query=query or {},
            body=text,
            idempotency_key=key,
        )
        assert (ours.status, ours.body) == (theirs["statusCode"], theirs.get("body") or "")
        headers = {name.lower(): value for name, value in theirs.get("headers", {}).items()}
        after = ours.retry_after_seconds
        assert headers.get("retry-after") == (None if after is None else str(after))
        return ours

    def http(
        self, route: Route, text: str, *, key: str | None, query: Mapping[str, str], path: Any
    ) -> dict[str, Any]:
        """Call a route's function."""
        handler = load(route)
        if hasattr(handler, "engine"):
            self._monkeypatch.setattr(handler, "engine", lambda: self.engines[0])
        headers = [("Content-Type", "application/json")]
        if key is not None:
            headers.append(("Idempotency-Key", key))
        request = Request(
            method=route[0],
            path=route[1].format(**{name: quote(value, safe="") for name, value in path.items()}),
            query=urlencode(query),
            headers=headers,
            body=text.encode(),
            route=" ".join(route),
            path_parameters=path,
        )
        context = Context("f", 512, "r", time.monotonic() + 29)
        answer: dict[str, Any] = handler.lambda_handler(http_event(request), context)
        return answer

    def ok(self, route: str, body: object = None, *, status: int = 200, **more: Any) -> Any:
        """Send a request that goes well; return what it is answered."""
        answer = self.send(route, body, **more)
        assert answer.status == status, answer
        return json.loads(answer.body) if answer.body else None

    def refused(
        self, route: str, body: object = None, *, status: int, code: str, **more: Any
    ) -> Any:
        """Send a request that is refused; return the problem document."""
        answer = self.send(route, body, **more)
        problem = json.loads(answer.body)
        assert (answer.status, problem["status"], problem["code"]) == (status, status, code)
        return problem

    def claimed(self, **fields: object) -> dict[str, Any]:
        """Enqueue a job and claim it."""
        self.ok("POST /jobs", JOB | fields, status=201)
        job: dict[str, Any] = self.ok("POST /jobs/claim", {"worker_id": "w"})["job"]
        return job

    def in_status(self, status: str) -> int:
        """Return a new job in a status."""
        if status in ("queued", "cancelled"):
            job_id = self.ok("POST /jobs", JOB, status=201)["id"]
            if status == "cancelled":
                self.ok("POST /jobs/{job_id}/cancel", job_id=job_id)
        else:
            job_id = self.claimed()["id"]
            if status == "completed":
                self.ok("POST /jobs/{job_id}/complete", job_id=job_id)
            elif status == "dead":
                body = {"error": "e", "retry": False}
                self.ok("POST /jobs/{job_id}/fail", body, job_id=job_id)
        return int(job_id)


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> Iterator[Both]:
    """Two queues; a batch's jobs are done one after the other, so that luck falls alike."""
    monkeypatch.setattr(parallel, "THREADS", 1)
    parallel._threads.cache_clear()
    yield Both(monkeypatch)
    parallel._threads.cache_clear()


def test_every_route_is_there() -> None:
    assert ROUTES.keys() == SOURCES.keys()
    assert len(ROUTES) == 17


# -- what goes well --------------------------------------------------------------------


@pytest.mark.parametrize("payload", [None, LARGE], ids=["small", "large"])
def test_a_job_that_succeeds(both: Both, payload: str | None) -> None:
    both.ok("POST /jobs", JOB | {"payload": payload, "unique_key": "k"}, status=201)
    job = both.ok("POST /jobs/claim", {"worker_id": "w", "lease_seconds": 60})["job"]
    assert job["payload"] == payload
    both.now += 1
    held = {"lease_token": job["lease_token"]}
    both.ok("POST /jobs/{job_id}/heartbeat", held | {"progress": [1.0]}, job_id=job["id"])
    for _ in range(2):  # the second time it is recorded
        both.ok("POST /jobs/{job_id}/complete", held | {"result": payload}, job_id=job["id"])
    whole = both.ok("GET /jobs/{job_id}", job_id=job["id"])
    assert (whole["status"], whole["result"]) == ("completed", payload)
    both.ok("DELETE /jobs/{job_id}", job_id=job["id"], status=204)
    both.refused("GET /jobs/{job_id}", job_id=job["id"], status=404, code="not_found")


def test_a_job_that_fails_dies_and_is_requeued(both: Both) -> None:
    job = both.claimed(max_attempts=2, backoff_seconds=60)
    error = {"error": "é" * 3000, "lease_token": job["lease_token"]}
    assert both.ok("POST /jobs/{job_id}/fail", error, job_id=job["id"])["status"] == "queued"
    idle = both.ok("POST /jobs/claim", "")
    assert idle["retry_after_seconds"] > 0
    both.now += HOUR_MS
    both.ok("POST /jobs/claim", {"queues": ["other", "default"]})
    late = error | {"error": "another"}
    both.refused("POST /jobs/{job_id}/fail", late, job_id=job["id"], status=409, code="lease_lost")
    both.ok("POST /jobs/{job_id}/fail", {"error": "e"}, job_id=job["id"])
    assert len(both.ok("GET /dlq")["items"]) == 1
    later = {"run_after": both.now + HOUR_MS}
    both.ok("POST /dlq/{job_id}/requeue", later, job_id=job["id"])
    assert len(both.ok("GET /jobs/{job_id}", job_id=job["id"])["history"]) == 2


def test_a_job_that_is_given_back_and_cancelled(both: Both) -> None:
    job = both.claimed()
    held = {"lease_token": job["lease_token"]}
    both.ok("POST /jobs/{job_id}/release", held | {"delay_seconds": 5}, job_id=job["id"])
    both.ok("POST /jobs/{job_id}/cancel", job_id=job["id"])
    assert both.ok("GET /jobs", query={"status": "cancelled"})["items"]


@pytest.mark.parametrize("empty", ["", " \n", "{}", " { } "])
def test_a_body_may_be_empty(both: Both, empty: str) -> None:
    both.ok("POST /jobs/claim", empty)
    both.ok("PUT /queues/{queue}", empty, queue="q")
    both.ok("POST /jobs/{job_id}/complete", empty, job_id=both.in_status("running"))
    both.ok("POST /jobs/{job_id}/heartbeat", empty, job_id=both.in_status("running"))
    both.ok("POST /jobs/{job_id}/release", empty, job_id=both.in_status("running"))
    both.ok("POST /jobs/{job_id}/cancel", empty, job_id=both.in_status("queued"))
    both.ok("POST /dlq/{job_id}/requeue", empty, job_id=both.in_status("dead"))


def test_keys_of_one_job(both: Both) -> None:
    both.ok("POST /jobs", JOB, key="r1", status=201)
    assert both.ok("POST /jobs", JOB, key="r1")["duplicate"] is True
    both.refused("POST /jobs", {"job_type": "u"}, key="r1", status=409, code="key_reused")
    both.refused("POST /jobs", JOB, key="a\tb", status=422, code="invalid_field")
    both.refused("POST /jobs", JOB, key="", status=422, code="invalid_field")
    dead = both.claimed(unique_key="k", priority=9)["id"]
    both.ok("POST /jobs/{job_id}/fail", {"error": "e", "retry": False}, job_id=dead)
    both.ok("POST /jobs", JOB | {"unique_key": "k"}, status=201)
    both.refused("POST /dlq/{job_id}/requeue", job_id=dead, status=409, code="key_taken")


def test_batches(both: Both) -> None:
    items: list[Any] = [
        JOB,
        JOB | {"payload": LARGE, "idempotency_key": "r1"},
        JOB | {"payload": LARGE, "idempotency_key": "r1"},
        JOB | {"idempotency_key": "r1"},
        JOB | {"unique_key": "k"},
        JOB | {"payload": TOO_LARGE},
        JOB | {"priority": 10, "x": 1},
        None,
    ]
    made = both.ok("POST /jobs/batch", {"jobs": items})["results"]
    assert [each["status"] for each in made] == [201, 201, 200, 409, 201, 413, 422, 422]
    jobs = both.ok("POST /jobs/claim", {"max_jobs": 25})["jobs"]
    assert len(jobs) == 3
    for verb, more in (("complete", {"result": LARGE}), ("fail", {"error": "e"})):
        held = [{"id": job["id"], "lease_token": job["lease_token"], **more} for job in jobs[:2]]
        settled: list[Any] = [*held, {**held[0], "lease_token": "no"}, {"id": 1, **more}, {}, 7]
        results = both.ok(f"POST /jobs/{verb}", {"jobs": settled})["results"]
        statuses = [each["status"] for each in results]
        assert statuses == [*([200, 200] if verb == "complete" else [409, 409]), 409, 404, 422, 422]
    rest = {"id": jobs[2]["id"], "error": "e", "retry_in_seconds": 9}
    [failed] = both.ok("POST /jobs/fail", {"jobs": [rest]})["results"]
    assert failed["job"]["status"] == "queued"


@pytest.mark.parametrize("path", BATCHES)
def test_a_batch_has_a_size(both: Both, path: str) -> None:
    item = BODIES["POST", path]["jobs"][0]
    both.ok(f"POST {path}", {"jobs": [item] * BATCHES[path]})
    bad: list[Any] = [[item] * (BATCHES[path] + 1), [], None, {}]
    for jobs in bad:
        both.refused(f"POST {path}", {"jobs": jobs}, status=422, code="invalid_field")
    text = json.dumps({"jobs": [item]})
    both.ok(f"POST {path}", text + " " * (6_000_000 - len(text)))
    large = text + " " * (6_000_001 - len(text))
    both.refused(f"POST {path}", large, status=413, code="too_large")


@pytest.mark.parametrize("path", BATCHES)
def test_a_batch_has_no_key_of_its_own(both: Both, path: str) -> None:
    body = BODIES["POST", path]
    both.refused(f"POST {path}", body, key="r1", status=422, code="invalid_field")


@pytest.mark.parametrize("route", LISTS, ids=" ".join)
def test_lists(both: Both, route: Route) -> None:
    for _ in range(5):
        both.in_status("dead")
    listed = " ".join(route)
    first = both.ok(listed, query={"per_page": "2", "order": "asc", "queue": "default"})
    assert (len(first["items"]), first["next_page"]) == (2, 2)
    both.ok(listed, query={"per_page": "2", "order": "asc", "page": "3"})
    both.ok(listed, query={"per_page": "2", "order": "asc", "cursor": first["next_cursor"]})
    both.ok(listed, query={"job_type": "none", "queue": "none"})


def test_queues(both: Both) -> None:
    both.refused("GET /queues/{queue}", queue="q", status=404, code="not_found")
    settings = {"lanes": 4, "lease_seconds": 60, "max_attempts": 2, "backoff_seconds": 0}
    both.ok("PUT /queues/{queue}", settings, queue="q")
    both.ok("PUT /queues/{queue}", {"lease_seconds": None}, queue="q")
    assert both.ok("GET /queues/{queue}", queue="q")["lanes"] == 4
    for name in ("a b", "é", "x" * 129, "a:b"):
        for method in ("GET", "PUT"):
            route = f"{method} /queues/{{queue}}"
            both.refused(route, queue=name, status=422, code="invalid_field")


# -- what is refused -------------------------------------------------------------------


@every_body
@pytest.mark.parametrize("body", ["{", "[}", "nul", "{} x", '{"a":NaN}', "\x00", "'"])
def test_no_json(both: Both, route: Route, body: str) -> None:
    _refuse_body(both, route, body, status=400, code="invalid_json")


@every_body
@pytest.mark.parametrize("body", ["[]", "1", '"x"', "null", '{"x": 1, "y": 2}'])
def test_no_such_body(both: Both, route: Route, body: str) -> None:
    _refuse_body(both, route, body, status=422, code="invalid_field")


@every_body
def test_a_body_that_is_nested_too_deeply(both: Both, route: Route) -> None:
    for depth in (600, 100_000):
        deep = "[" * depth + "]" * depth
        for name in ("payload", "jobs", "x"):
            if name == "jobs" and route[1] in BATCHES and depth == 600:
                continue  # an array of one element, which is asked by itself
            body = json.dumps(BODIES[route] | {name: 0}).replace(f'"{name}": 0', f'"{name}":{deep}')
            _refuse_body(both, route, body, status=422, code="invalid_field")


@every_body
def test_a_body_that_is_too_long(both: Both, route: Route) -> None:
    text = json.dumps(BODIES[route])
    for length in (7 * 256 * 1024, 6_000_000):
        both.send(" ".join(route), text + " " * (length - len(text)), **_path(route))
    large = text + " " * (6_000_001 - len(text))
    _refuse_body(both, route, large, status=413, code="too_large")


def _refuse_body(both: Both, route: Route, body: str, *, status: int, code: str) -> None:
    both.refused(" ".join(route), body, status=status, code=code, **_path(route))


def _path(route: Route) -> dict[str, Any]:
    names = {"job_id": "1", "queue": "q"}
    return {name: value for name, value in names.items() if f"{{{name}}}" in route[1]}


@pytest.mark.parametrize("route", WITH_ID, ids=" ".join)
def test_ids(both: Both, route: Route) -> None:
    body = BODIES.get(route)
    for junk in ("x", "1.0", "0x1", "1e3", "٣", "--1"):
        both.refused(" ".join(route), body, job_id=junk, status=422, code="invalid_field")
    for unknown in ("1", "0", "-1", "9007199254740991", "9007199254740992", "9" * 5000):
        both.refused(" ".join(route), body, job_id=unknown, status=404, code="not_found")


@pytest.mark.parametrize("status", ["queued", "running", "completed", "dead", "cancelled"])
@pytest.mark.parametrize("route", WITH_ID, ids=" ".join)
def test_every_status(both: Both, route: Route, status: str) -> None:
    job_id = both.in_status(status)
    answer = both.send(" ".join(route), BODIES.get(route), job_id=job_id)
    assert answer.status in (200, 204, 409)
    both.ok("GET /jobs")


@pytest.mark.parametrize("verb", WORKING)
def test_a_lease_that_is_lost(both: Both, verb: str) -> None:
    job_id = both.in_status("running")
    route = f"POST /jobs/{{job_id}}/{verb}"
    body = BODIES["POST", f"/jobs/{{job_id}}/{verb}"] | {"lease_token": "0" * 32}
    both.refused(route, body, job_id=job_id, status=409, code="lease_lost")


@pytest.mark.parametrize("verb", WORKING)
def test_a_token_may_be_required(both: Both, verb: str) -> None:
    both.require_lease_tokens()
    job = both.claimed()
    route, body = f"POST /jobs/{{job_id}}/{verb}", BODIES["POST", f"/jobs/{{job_id}}/{verb}"]
    both.refused(route, body, job_id=job["id"], status=422, code="invalid_field")
    both.ok(route, body | {"lease_token": job["lease_token"]}, job_id=job["id"])


@pytest.mark.parametrize(
    ("verb", "body"),
    [
        ("complete", {"result": TOO_LARGE}),
        ("heartbeat", {"progress": "x" * 1024}),
    ],
)
def test_what_is_too_large(both: Both, verb: str, body: dict[str, Any]) -> None:
    both.refused("POST /jobs", JOB | {"payload": TOO_LARGE}, status=413, code="too_large")
    job_id = both.in_status("running")
    route = f"POST /jobs/{{job_id}}/{verb}"
    both.refused(route, body, job_id=job_id, status=413, code="too_large")


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("POST /jobs", {"job_type": "a b", "priority": -1, "jitter": 2}),
        ("POST /jobs", {"job_type": "t", "idempotency_key": "r1"}),
        ("POST /jobs/claim", {"queue": "a", "queues": ["b"]}),
        ("POST /jobs/{job_id}/fail", {"error": "e", "retry": False, "retry_in_seconds": 1}),
        ("POST /jobs/{job_id}/fail", {}),
        ("POST /jobs/{job_id}/release", {"run_after": T0, "delay_seconds": 1}),
        ("POST /jobs/{job_id}/heartbeat", {"lease_seconds": 0}),
        ("POST /jobs/{job_id}/complete", {"lease_token": ""}),
        ("POST /dlq/{job_id}/requeue", {"run_after": 1_893_456_000}),
        ("PUT /queues/{queue}", {"lanes": 257, "max_attempts": 0}),
    ],
    ids=str,
)
def test_fields(both: Both, route: str, body: dict[str, Any]) -> None:
    path = _path(("", route))
    assert both.refused(route, body, status=422, code="invalid_field", **path)["errors"]


@pytest.mark.parametrize("route", LISTS, ids=" ".join)
@pytest.mark.parametrize(
    "query",
    [
        {"page": "0"},
        {"page": "x", "per_page": "101", "y": "1"},
        {"page": "2", "cursor": "c"},
        {"cursor": "junk"},
        {"cursor": "é\U0001f600"},
        {"order": "up"},
        {"queue": ""},
        {"job_type": "a b"},
        {"status": "lost"},
    ],
    ids=str,
)
def test_queries(both: Both, route: Route, query: dict[str, str]) -> None:
    both.refused(" ".join(route), query=query, status=422, code="invalid_field")


def test_a_list_that_costs_too_much(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    both.in_status("dead")
    both.in_status("queued")
    monkeypatch.setattr(listing, "MAX_READS", 3)
    for route in LISTS:
        answer = both.send(" ".join(route), query={"job_type": "u"})
        assert answer.status == (422 if route == LISTS[0] else 200)


# -- what the store cannot serve ---------------------------------------------------------


class FaultyStore(MemoryStore):
    """A store that cannot serve anything."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    def __getattribute__(self, name: str) -> Any:
        """Return a method that fails."""
        if name.startswith("_"):
            return super().__getattribute__(name)

        def fail(*_arguments: Any, **_more: Any) -> Any:
            raise self._error

        return fail


@every_route
@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (StoreBusyError("busy"), 429, "throttled"),
        (StoreUnavailableError("away"), 503, "unavailable"),
    ],
    ids=["busy", "away"],
)
def test_a_store_that_fails(
    both: Both, route: Route, error: Exception, status: int, code: str
) -> None:
    both.engines = [both._engine(FaultyStore(error)) for _ in range(2)]
    answer = both.send(" ".join(route), BODIES.get(route), **_path(route))
    shown = json.loads(answer.body)
    if route[1] in BATCHES:
        assert (answer.status, answer.retry_after_seconds) == (200, None)
        [shown] = [each["problem"] for each in shown["results"]]
    else:
        assert (answer.status, answer.retry_after_seconds) == (status, 1)
    assert (shown["status"], shown["code"]) == (status, code)


@every_route
def test_what_is_no_error_of_the_queues_is_raised(both: Both, route: Route) -> None:
    error = RuntimeError("not allowed")
    both.engines = [both._engine(FaultyStore(error)) for _ in range(2)]
    text, path = json.dumps(BODIES.get(route, "")), _path(route)
    assert both.http(route, text, key=None, query={}, path=path)["statusCode"] == 500
    with pytest.raises(RuntimeError, match="not allowed"):
        in_process.call(*route, engine=both.engines[1], path=path, body=text)


# -- what only one of the two can be asked -----------------------------------------------


@pytest.mark.parametrize(
    ("method", "route"),
    [("GET", "/"), ("PATCH", "/jobs"), ("get", "/jobs"), ("POST", "/api:job-retry/jobs")],
)
def test_no_such_route(both: Both, method: str, route: str) -> None:
    answer = in_process.call(method, route, engine=both.engines[1])
    request = Request(method="GET", path="/no", query="", headers=[], body=b"", route="GET /no")
    handler = load(("GET", "/jobs")).lambda_handler
    theirs = handler(http_event(request), Context("f", 512, "r", time.monotonic() + 29))
    assert (answer.status, answer.body) == (theirs["statusCode"], theirs["body"])
    assert answer.status == 404


@every_body
def test_a_text_that_is_no_utf8(both: Both, route: Route) -> None:
    """No HTTP body can be: there it is bytes."""
    text = json.dumps(BODIES[route] | {"payload": "\ud800"}, ensure_ascii=False)
    answer = in_process.call(*route, engine=both.engines[1], path=_path(route), body=text)
    assert (answer.status, json.loads(answer.body)["code"]) == (400, "invalid_json")


def test_without_powertools_nor_the_sdk() -> None:
    """A worker's cold start pays for neither, unless it asks the runtime for an engine."""
    text = (REPOSITORY / "layers/core/job_retry/in_process.py").read_text(encoding="utf-8")
    modules = {
        node.module for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)
    }
    assert not modules & {"job_retry.api", "job_retry.reading", "job_retry.runtime"}


@pytest.fixture
def worker_engine(
    dynoxide_url: str, make_tables: MakeTables, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Engine]:
    """The engine of a process that was only told its tables."""
    tables = make_tables(dynoxide_url)
    monkeypatch.setenv("DYNAMODB_ENDPOINT_URL", dynoxide_url)
    monkeypatch.setenv("JOBS_TABLE", tables.jobs)
    monkeypatch.setenv("CONTROL_TABLE", tables.control)
    runtime.engine.cache_clear()
    yield runtime.engine()
    runtime.engine.cache_clear()


def test_a_worker_that_was_told_its_tables(worker_engine: Engine) -> None:
    def ask(route: str, body: object = None, **path: object) -> Any:
        method, _, template = route.partition(" ")
        values = {name: str(value) for name, value in path.items()}
        text = json.dumps(body or {})
        answer = in_process.call(method, template, engine=worker_engine, path=values, body=text)
        assert answer.status < 300, answer
        return json.loads(answer.body)

    for number in range(120):  # more than Powertools keep before they write metrics out
        ask("POST /jobs", {"job_type": "t", "payload": [number, LARGE]})
        job = ask("POST /jobs/claim")["job"]
        assert job["payload"] == [number, LARGE]
        held = {"lease_token": job["lease_token"]}
        if number % 2:
            ask("POST /jobs/{job_id}/complete", held, job_id=job["id"])
        else:
            fatal = held | {"error": "e", "retry": False}
            ask("POST /jobs/{job_id}/fail", fatal, job_id=job["id"])
    assert len(ask("GET /dlq")["items"]) == 25
