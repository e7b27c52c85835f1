"""What each route answers: its status, the exact shape, the defaults; both spellings."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import pytest

from tests.http.steps import (
    HISTORY_KEYS,
    JOB_KEYS,
    LIST_KEYS,
    PREFIX,
    ROUTES,
    WITH_ID,
    Jobs,
    expect,
    moment,
    problem,
    token,
)

if TYPE_CHECKING:
    from tests.http.api import Answer, Api, LiveServer

PROBLEM_KEYS = {"type", "title", "status", "detail", "code"}
prefixes = pytest.mark.parametrize("prefix", ["", PREFIX, "/api%3Ajob-retry"])


@pytest.fixture
def jobs(api: Api, queue: str) -> Jobs:
    """A queue of its own."""
    return Jobs(api, queue)


# -- shapes ----------------------------------------------------------------------------


def test_enqueue_fills_in_the_defaults(jobs: Jobs) -> None:
    job = jobs.enqueue()
    assert job.keys() == JOB_KEYS
    assert type(job["id"]) is int
    assert 0 < job["id"] < 2**53
    now = job["created_at"]
    assert job == {
        **dict.fromkeys(JOB_KEYS),
        "id": job["id"],
        "queue": jobs.queue,
        "job_type": "t",
        "status": "queued",
        "priority": 0,
        "attempts": 0,
        "max_attempts": 5,
        "backoff_seconds": 30,
        "lease_seconds": 900,
        "run_after": now,
        "created_at": now,
        "updated_at": now,
    }


def test_enqueue_keeps_what_was_given(jobs: Jobs) -> None:
    given = {
        "job_type": "mail:welcome/v2.1_x-y",
        "payload": {"user_id": 42},
        "max_attempts": 1000,
        "backoff_seconds": 604_800,
        "run_after": "2031-01-01T00:00:00.000Z",
        "priority": 9,
        "lease_seconds": 43_200,
        "max_backoff_seconds": 365 * 24 * 3600,
        "jitter": 0.25,
    }
    job = jobs.enqueue(**given)
    assert {name: job[name] for name in given} == given
    whole = jobs.get(job)
    assert {name: whole[name] for name in given} == given


def test_the_smallest_values(jobs: Jobs) -> None:
    given = {
        "max_attempts": 1,
        "backoff_seconds": 0,
        "priority": 0,
        "lease_seconds": 1,
        "max_backoff_seconds": 0,
        "jitter": 0,
    }
    job = jobs.enqueue(**given)
    assert {name: job[name] for name in given} == given


@pytest.mark.parametrize("name", ["a", "A" * 128, "0", ".", "-", "_", "a.b-c_D9", "..", "--x"])
def test_names_of_queues(api: Api, name: str) -> None:
    unlike_others = f"{name[:100]}.{uuid.uuid4().hex}"[-128:] if len(name) < 128 else name
    job = expect(api.post("/jobs", {"job_type": "t", "queue": unlike_others}), 201)
    assert job["queue"] == unlike_others
    expect(api.get(f"/jobs?queue={unlike_others}"), 200)
    expect(api.post("/jobs/claim", {"queue": unlike_others}), 200)


@pytest.mark.parametrize("name", ["a", "A" * 128, "0", "a/b", "a:b", "/", ":", "a.b-c_D9", "null"])
def test_names_of_types(jobs: Jobs, name: str) -> None:
    made = jobs.enqueue(job_type=name)
    assert made["job_type"] == name
    assert [job["id"] for job in jobs.list(job_type=name)["items"]] == [made["id"]]
    assert jobs.claim(job_types=[name])["id"] == made["id"]


def test_ids_grow_with_time(jobs: Jobs, server: LiveServer) -> None:
    ids = []
    for _ in range(5):
        ids.append(jobs.enqueue()["id"])
        server.advance(0.002)
    assert ids == sorted(set(ids))


def test_a_claim_that_brings_something(jobs: Jobs) -> None:
    made = jobs.enqueue(payload=1)
    answer = jobs.ask(worker_id="w")
    assert answer.keys() == {"claimed", "job", "jobs"}
    assert answer["jobs"] == [answer["job"]]
    job = answer["job"]
    assert job.keys() == JOB_KEYS | {"lease_token"}
    assert (job["id"], job["status"], job["attempts"]) == (made["id"], "running", 1)
    assert job["claimed_by"] == "w"
    assert job["claimed_at"] == job["last_attempted_at"] == job["updated_at"]


def test_a_claim_that_brings_nothing(jobs: Jobs) -> None:
    answer = jobs.ask()
    assert answer.keys() == {"claimed", "job", "jobs", "retry_after_seconds"}
    assert (answer["claimed"], answer["job"], answer["jobs"]) == (False, None, [])
    assert type(answer["retry_after_seconds"]) in (int, float)


def test_a_whole_job_has_its_history(jobs: Jobs, server: LiveServer) -> None:
    made = jobs.enqueue()
    assert jobs.get(made) == {**made, "history": []}
    job = jobs.claim(worker_id="w")
    server.advance(5)
    failed = jobs.done("fail", job, **token(job), error="boom")
    whole = jobs.get(made)
    assert whole.keys() == JOB_KEYS | {"history"}
    (attempt,) = whole["history"]
    assert attempt.keys() == HISTORY_KEYS
    assert attempt == {
        "attempt": 1,
        "worker_id": "w",
        "started_at": job["claimed_at"],
        "ended_at": failed["updated_at"],
        "error": "boom",
    }
    assert moment(attempt["ended_at"]) >= moment(attempt["started_at"]) + 5000


@pytest.mark.parametrize("path", ["list", "dead_letters"])
def test_a_list(jobs: Jobs, path: str) -> None:
    empty = getattr(jobs, path)()
    assert empty == {
        "items": [],
        "page": 1,
        "per_page": 25,
        "next_page": None,
        "next_cursor": None,
    }
    jobs.in_status("dead")
    full = getattr(jobs, path)()
    assert full.keys() == LIST_KEYS
    assert [job.keys() for job in full["items"]] == [JOB_KEYS]


@pytest.mark.parametrize(
    ("verb", "before", "after", "body"),
    [
        ("complete", "running", "completed", {"result": 1}),
        ("fail", "running", "queued", {"error": "e"}),
        ("heartbeat", "running", "running", {}),
        ("release", "running", "queued", {}),
        ("cancel", "queued", "cancelled", {}),
        ("requeue", "dead", "queued", {}),
    ],
)
def test_a_change_answers_with_the_job(
    jobs: Jobs, verb: str, before: str, after: str, body: dict[str, Any]
) -> None:
    job = jobs.done(verb, jobs.in_status(before, payload="kept"), **body)
    assert job.keys() == JOB_KEYS
    assert (job["status"], job["payload"]) == (after, "kept")
    whole = jobs.get(job)
    del whole["history"]
    assert whole == job
    ended_at = {"completed": "completed_at", "dead": "died_at", "cancelled": "cancelled_at"}
    for status, name in ended_at.items():
        assert job[name] == (job["updated_at"] if status == after else None)
    assert (job["lease_expires_at"] is None) == (after != "running")


def test_a_change_of_a_job_with_a_large_payload_tells_its_size(jobs: Jobs) -> None:
    jobs.enqueue(payload="x" * 5000)
    job = jobs.done("complete", jobs.claim(), result=1)
    assert job.keys() == JOB_KEYS - {"payload"} | {"payload_bytes"}
    assert job["payload_bytes"] == 5002


def test_delete_answers_with_nothing(jobs: Jobs) -> None:
    for status in ("dead", "completed", "cancelled"):
        answer = jobs.send("delete", jobs.in_status(status))
        assert (answer.status, answer.body) == (204, b"")
        assert "location" not in answer.headers


def test_a_deleted_job_is_gone(jobs: Jobs) -> None:
    job = jobs.in_status("dead", payload="x" * 5000)
    assert jobs.send("delete", job).status == 204
    for route in WITH_ID:
        problem(jobs.send(route.name, job, **(route.body or {})), 404, "not_found")
    assert jobs.list()["items"] == jobs.dead_letters()["items"] == []


# -- problems --------------------------------------------------------------------------


def test_the_shape_of_each_problem(jobs: Jobs) -> None:
    job = jobs.enqueue()
    api = jobs.api
    seen: list[tuple[Answer, int, str, set[str]]] = [
        (api.post("/jobs", body="{"), 400, "invalid_json", set()),
        (api.get("/jobs/1"), 404, "not_found", set()),
        (jobs.send("complete", job), 409, "not_running", {"job_id", "job_status"}),
        (jobs.send("heartbeat", job, lease_token="x"), 409, "lease_lost", {"job_id", "job_status"}),
        (jobs.send("requeue", job), 409, "not_dead", {"job_id", "job_status"}),
        (jobs.send("delete", job), 409, "not_ended", {"job_id", "job_status"}),
        (jobs.send("enqueue", job_type="t", payload="x" * 270_000), 413, "too_large", {"errors"}),
        (api.post("/jobs", body="x", headers={"content-type": "text/plain"}), 415, "", set()),
        (jobs.send("enqueue"), 422, "invalid_field", {"errors"}),
        (api.get("/jobs?cursor=x"), 422, "invalid_field", {"errors"}),
    ]
    for answer, status, code, more in seen:
        found = problem(answer, status, code or None)
        assert found.keys() == PROBLEM_KEYS | more
        assert found["type"].endswith(found["code"])
        for each in found.get("errors", []):
            assert each.keys() == {"field", "detail"}
        if status == 409:
            assert (found["job_id"], found["job_status"]) == (job["id"], "queued")


# -- spellings -------------------------------------------------------------------------


@prefixes
def test_a_life_under_each_spelling(jobs: Jobs, prefix: str) -> None:
    jobs = Jobs(jobs.api, jobs.queue, prefix)
    made = jobs.enqueue()
    jobs.done("heartbeat", jobs.claim())
    jobs.done("release", made)
    jobs.claim()
    jobs.done("fail", made, error="e", retry=False)
    assert [job["id"] for job in jobs.dead_letters()["items"]] == [made["id"]]
    jobs.done("requeue", made)
    jobs.done("complete", jobs.claim())
    assert jobs.get(made)["status"] == "completed"
    assert [job["id"] for job in jobs.list()["items"]] == [made["id"]]
    assert jobs.send("delete", made).status == 204
    jobs.done("cancel", jobs.enqueue())


@prefixes
def test_each_spelling_refuses_alike(jobs: Jobs, prefix: str) -> None:
    for route in ROUTES.values():
        path = prefix + route.path.replace("{id}", "x")
        if route.body is None and "{id}" not in path:
            problem(jobs.api.get(f"{path}?x=1"), 422)
        else:
            body = None if route.body is None else '{"x":1}'
            problem(jobs.api.request(route.method, path, body=body), 422)


@pytest.mark.parametrize(
    "path", ["/api:job-retry/api:job-retry/jobs", "/api/jobs", "/api:job-retryjobs", "//jobs"]
)
def test_no_other_spelling(api: Api, path: str) -> None:
    assert api.get(path).status == 404


# -- the token stays between claim and its worker --------------------------------------


def test_only_a_claim_shows_the_token(
    jobs: Jobs, server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[Answer] = []
    request = jobs.api.request

    def remember(*args: Any, **kwargs: Any) -> Answer:
        answers.append(request(*args, **kwargs))
        return answers[-1]

    monkeypatch.setattr(jobs.api, "request", remember)
    tokens = []

    def claim() -> dict[str, str]:
        given = token(jobs.claim())
        answers.pop()  # the one that may
        tokens.append(given["lease_token"])
        return given

    def look() -> None:
        jobs.get(made)
        jobs.list()
        jobs.dead_letters()
        jobs.send("cancel", made)
        jobs.send("requeue", made, run_after="x")
        for given in ({}, {"lease_token": "wrong"}, {"lease_token": 5}):
            jobs.send("complete", made, **given, result=1, x=1)
        jobs.claim_none()

    made = jobs.enqueue(lease_seconds=5, backoff_seconds=0, payload="x" * 1000)
    first = claim()
    look()
    jobs.send("heartbeat", made, lease_token="wrong")
    jobs.send("heartbeat", made, **first, progress=1)
    jobs.send("release", made, **first)
    second = claim()
    jobs.send("fail", made, **first, error="late")
    jobs.send("fail", made, **second, error="e")
    jobs.send("fail", made, **second, error="e")
    jobs.send("fail", made, **second, error="other")
    claim()
    server.advance(6)
    server.run_schedules()
    jobs.send("fail", made, error="nobody runs it")
    last = claim()
    jobs.send("fail", made, **last, error="e", retry=False)
    look()
    jobs.send("requeue", made)
    last = claim()
    jobs.send("complete", made, **last, result="x" * 1000)
    jobs.send("complete", made, **last, result="x" * 1000)
    jobs.send("complete", made, **last, result=2)
    look()

    assert len(tokens) == len(set(tokens)) == 5
    for answer in answers:
        for secret in tokens:
            assert secret.encode() not in answer.body
            assert secret not in str(answer.headers)
        assert b"lease_token" not in answer.body or answer.status == 422


# -- every state and every action ------------------------------------------------------

CODES = {
    "complete": ("running", "not_running"),
    "fail": ("running", "not_running"),
    "heartbeat": ("running", "not_running"),
    "release": ("running", "not_running"),
    "cancel": ("queued", "not_queued"),
    "requeue": ("dead", "not_dead"),
    "delete": ("dead completed cancelled", "not_ended"),
}


@pytest.mark.parametrize("status", ["queued", "running", "completed", "dead", "cancelled"])
@pytest.mark.parametrize("verb", CODES)
def test_what_may_be_done_in_which_state(jobs: Jobs, verb: str, status: str) -> None:
    allowed, code = CODES[verb]
    job = jobs.in_status(status)
    before = jobs.get(job)
    answer = jobs.send(verb, job, **(ROUTES[verb].body or {}))
    if status in allowed.split():
        assert answer.status in (200, 204), answer.body
        return
    refused = problem(answer, 409, code)
    assert (refused["job_id"], refused["job_status"]) == (job["id"], status)
    assert jobs.get(job) == before


@pytest.mark.parametrize("status", ["running", "completed", "dead", "cancelled"])
def test_only_a_queued_job_is_claimed(jobs: Jobs, status: str) -> None:
    job = jobs.in_status(status)
    before = jobs.get(job)
    jobs.claim_none()
    assert jobs.get(job) == before
