"""Who holds a job: lease tokens, lost leases, heartbeats, and asking again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.http.api import Api, LiveServer
from tests.http.steps import Jobs, moment, named_fields, problem, token

if TYPE_CHECKING:
    from tests.http.conftest import MakeServer

SETTLE: dict[str, dict[str, object]] = {
    "complete": {"result": {"by": "late"}},
    "fail": {"error": "late"},
    "heartbeat": {"progress": "late"},
    "release": {},
}
verbs = pytest.mark.parametrize("verb", SETTLE)


@pytest.fixture(scope="module")
def server(make_server: MakeServer) -> LiveServer:
    """A server of this module's own: a schedule's run looks at every queue there ever was."""
    return make_server()


@pytest.fixture
def jobs(api: Api, queue: str) -> Jobs:
    """A queue of its own."""
    return Jobs(api, queue)


# -- a lease that was lost -------------------------------------------------------------


@verbs
def test_a_late_worker_changes_nothing_once_another_has_the_job(
    jobs: Jobs, server: LiveServer, verb: str
) -> None:
    jobs.enqueue(backoff_seconds=0, lease_seconds=2)
    late = jobs.claim(worker_id="a")
    server.advance(3)
    held = jobs.claim(worker_id="b")
    assert held["id"] == late["id"]
    assert held["lease_token"] != late["lease_token"]
    before = jobs.get(held)
    assert (before["status"], before["claimed_by"], before["attempts"]) == ("running", "b", 2)
    assert len(before["history"]) == 1

    refused = problem(jobs.send(verb, late, **token(late), **SETTLE[verb]), 409, "lease_lost")

    assert (refused["job_id"], refused["job_status"]) == (held["id"], "running")
    assert jobs.get(held) == before
    jobs.done(verb, held, **token(held), **SETTLE[verb])


@verbs
@pytest.mark.parametrize(("max_attempts", "status"), [(5, "queued"), (1, "dead")])
def test_a_late_worker_changes_nothing_once_its_lease_was_taken_up(
    jobs: Jobs, server: LiveServer, verb: str, max_attempts: int, status: str
) -> None:
    jobs.enqueue(max_attempts=max_attempts, lease_seconds=2)
    late = jobs.claim()
    server.advance(3)
    server.run_schedules()
    before = jobs.get(late)
    assert (before["status"], before["last_error"]) == (status, "lease expired")

    refused = problem(jobs.send(verb, late, **token(late), **SETTLE[verb]), 409, "lease_lost")

    assert refused["job_status"] == status
    assert jobs.get(late) == before


@verbs
def test_a_late_worker_without_a_token_is_refused_once_its_lease_was_taken_up(
    jobs: Jobs, server: LiveServer, verb: str
) -> None:
    jobs.enqueue(lease_seconds=2)
    late = jobs.claim()
    server.advance(3)
    server.run_schedules()
    before = jobs.get(late)
    problem(jobs.send(verb, late, **SETTLE[verb]), 409, "not_running")
    assert jobs.get(late) == before


@verbs
def test_a_late_worker_is_still_heard_while_nobody_took_its_lease_up(
    jobs: Jobs, server: LiveServer, verb: str
) -> None:
    jobs.enqueue(lease_seconds=2)
    late = jobs.claim()
    server.advance(30)
    jobs.done(verb, late, **token(late), **SETTLE[verb])
    server.run_schedules()
    assert jobs.get(late)["last_error"] != "lease expired"


@verbs
@pytest.mark.parametrize("wrong", ["x", "0" * 32, "x" * 128, "é", "\x00"])
def test_a_token_of_another_lease_is_refused(jobs: Jobs, verb: str, wrong: str) -> None:
    job = jobs.in_status("running")
    before = jobs.get(job)
    problem(jobs.send(verb, job, lease_token=wrong, **SETTLE[verb]), 409, "lease_lost")
    assert jobs.get(job) == before


@verbs
def test_a_token_of_another_jobs_lease_is_refused(jobs: Jobs, verb: str) -> None:
    job, other = jobs.in_status("running"), jobs.in_status("running")
    before = jobs.get(job)
    problem(jobs.send(verb, job, **token(other), **SETTLE[verb]), 409, "lease_lost")
    assert jobs.get(job) == before


@verbs
def test_a_token_of_an_earlier_run_is_refused(jobs: Jobs, verb: str) -> None:
    first = jobs.in_status("running")
    jobs.done("fail", first, **token(first), error="e", retry_in_seconds=0)
    second = jobs.claim()
    before = jobs.get(second)
    refused = jobs.send(verb, first, **token(first), **SETTLE[verb])
    problem(refused, 409, "lease_lost")
    assert jobs.get(second) == before


@verbs
def test_a_token_of_before_a_requeue_is_refused(jobs: Jobs, verb: str) -> None:
    dead = jobs.in_status("dead")
    jobs.done("requeue", dead)
    held = jobs.claim()
    before = jobs.get(held)
    problem(jobs.send(verb, dead, **token(dead), **SETTLE[verb]), 409, "lease_lost")
    assert jobs.get(held) == before


def test_every_claim_makes_a_token_of_its_own(jobs: Jobs) -> None:
    jobs.enqueue()
    tokens = set()
    for _ in range(10):
        job = jobs.claim()
        assert len(job["lease_token"]) >= 22  # 128 bits, however they are written
        tokens.add(job["lease_token"])
        jobs.done("release", job, **token(job))
    assert len(tokens) == 10


# -- the same request again ------------------------------------------------------------


@pytest.mark.parametrize("with_token", [True, False])
def test_complete_again_answers_with_the_recorded_job(
    jobs: Jobs, server: LiveServer, *, with_token: bool
) -> None:
    job = jobs.in_status("running")
    given = token(job) if with_token else {}
    first = jobs.done("complete", job, **given, result={"n": 1})
    server.advance(3600)
    assert jobs.done("complete", job, **given, result={"n": 1}) == first
    after = jobs.get(job)
    assert (after["status"], after["result"], after["history"]) == ("completed", {"n": 1}, [])


def test_complete_again_with_a_large_result_answers_with_the_recorded_job(jobs: Jobs) -> None:
    job = jobs.in_status("running")
    first = jobs.done("complete", job, **token(job), result="x" * 50_000)
    assert jobs.done("complete", job, **token(job), result="x" * 50_000) == first
    problem(jobs.send("complete", job, **token(job), result="y" * 50_000), 409)
    assert jobs.get(job)["result"] == "x" * 50_000


@pytest.mark.parametrize("with_token", [True, False])
def test_complete_again_with_another_result_keeps_the_first(
    jobs: Jobs, *, with_token: bool
) -> None:
    job = jobs.in_status("running")
    given = token(job) if with_token else {}
    jobs.done("complete", job, **given, result=1)
    before = jobs.get(job)
    for other in (2, None, "1", [1], {"result": 1}, "x" * 1000):
        refused = problem(jobs.send("complete", job, **given, result=other), 409, "not_running")
        assert refused["job_status"] == "completed"
    assert jobs.get(job) == before


@pytest.mark.parametrize("with_token", [True, False])
@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"error": "e"}, "queued"),
        ({"error": "e", "retry": False}, "dead"),
        ({"error": "e", "retry_in_seconds": 60}, "queued"),
        ({"error": "x" * 10_000}, "queued"),
    ],
)
def test_fail_again_counts_once(
    jobs: Jobs, server: LiveServer, body: dict[str, object], status: str, *, with_token: bool
) -> None:
    job = jobs.in_status("running")
    given = token(job) if with_token else {}
    first = jobs.done("fail", job, **given, **body)
    assert first["status"] == status
    server.advance(2)
    assert jobs.done("fail", job, **given, **body) == first
    assert len(jobs.get(job)["history"]) == 1


@pytest.mark.parametrize("retry", [True, False])
def test_fail_again_with_another_body_is_refused(jobs: Jobs, *, retry: bool) -> None:
    job = jobs.in_status("running")
    jobs.done("fail", job, **token(job), error="e", retry=retry)
    before = jobs.get(job)
    for other in ({"error": "other"}, {"error": "e", "retry": not retry}):
        problem(jobs.send("fail", job, **token(job), **other), 409, "not_running")
    problem(jobs.send("fail", job, **token(job), error="e", retry_in_seconds=5), 409)
    assert jobs.get(job) == before


def test_fail_again_leaves_the_next_run_alone(jobs: Jobs) -> None:
    first = jobs.in_status("running")
    jobs.done("fail", first, **token(first), error="e", retry_in_seconds=0)
    second = jobs.claim()
    before = jobs.get(second)
    # its outcome was recorded, but is no longer the job's: either answer is true
    assert jobs.send("fail", first, **token(first), error="e", retry_in_seconds=0).status in (
        200,
        409,
    )
    assert jobs.get(second) == before
    jobs.done("complete", second, **token(second))


def test_release_again_counts_once(jobs: Jobs, server: LiveServer) -> None:
    job = jobs.in_status("running")
    first = jobs.done("release", job, **token(job), delay_seconds=60)
    server.advance(2)
    assert jobs.done("release", job, **token(job), delay_seconds=60) == first
    problem(jobs.send("release", job, **token(job), delay_seconds=61), 409, "not_running")
    after = jobs.get(job)
    assert (after["status"], after["attempts"], after["history"]) == ("queued", 0, [])


def test_release_again_leaves_the_next_run_alone(jobs: Jobs) -> None:
    first = jobs.in_status("running")
    jobs.done("release", first, **token(first))
    second = jobs.claim()
    before = jobs.get(second)
    assert jobs.send("release", first, **token(first)).status in (200, 409)
    assert jobs.get(second) == before


@pytest.mark.parametrize("first", ["complete", "fail", "release"])
@verbs
def test_one_outcome_after_another_is_refused(jobs: Jobs, first: str, verb: str) -> None:
    job = jobs.in_status("running")
    bodies: dict[str, dict[str, object]] = {"fail": {"error": "first"}}
    jobs.done(first, job, **token(job), **bodies.get(first, {}))
    before = jobs.get(job)
    if verb == "release" and first == "release":
        jobs.done(verb, job, **token(job))
    else:
        problem(jobs.send(verb, job, **token(job), **SETTLE[verb]), 409, "not_running")
    assert jobs.get(job) == before


# -- settling what nobody claimed ------------------------------------------------------


@verbs
def test_a_job_that_nobody_claimed_cannot_be_settled(jobs: Jobs, verb: str) -> None:
    job = jobs.enqueue()
    before = jobs.get(job)
    refused = problem(jobs.send(verb, job, **SETTLE[verb]), 409, "not_running")
    assert refused["job_status"] == "queued"
    problem(jobs.send(verb, job, lease_token="x", **SETTLE[verb]), 409)
    assert jobs.get(job) == before


@verbs
def test_an_unknown_job_cannot_be_settled(jobs: Jobs, verb: str) -> None:
    problem(jobs.send(verb, 1, **SETTLE[verb]), 404, "not_found")
    problem(jobs.send(verb, 1, lease_token="x", **SETTLE[verb]), 404, "not_found")


@verbs
def test_without_a_token_the_running_job_is_settled(jobs: Jobs, verb: str) -> None:
    job = jobs.in_status("running")
    after = jobs.done(verb, job, **SETTLE[verb])
    expected = {"complete": "completed", "fail": "queued", "heartbeat": "running"}
    assert after["status"] == expected.get(verb, "queued")


@verbs
def test_a_null_token_is_no_token(jobs: Jobs, verb: str) -> None:
    jobs.done(verb, jobs.in_status("running"), lease_token=None, **SETTLE[verb])


# -- where the token is required -------------------------------------------------------


@pytest.fixture(scope="module")
def strict_api(make_server: MakeServer) -> Api:
    """A server that settles nothing without a token."""
    return Api(make_server(REQUIRE_LEASE_TOKEN="true").url)


@verbs
def test_a_stack_may_require_the_token(strict_api: Api, queue: str, verb: str) -> None:
    jobs = Jobs(strict_api, queue)
    job = _running(jobs)
    before = jobs.get(job)
    for missing in ({}, {"lease_token": None}):
        answer = jobs.send(verb, job, **missing, **SETTLE[verb])
        problem(answer, 422, "invalid_field")
        assert named_fields(answer) == {"lease_token"}
    problem(jobs.send(verb, job, lease_token="x", **SETTLE[verb]), 409, "lease_lost")
    assert jobs.get(job) == before
    jobs.done(verb, job, **token(job), **SETTLE[verb])


def test_a_required_token_is_asked_of_workers_alone(strict_api: Api, queue: str) -> None:
    jobs = Jobs(strict_api, queue)
    job = _running(jobs)
    jobs.done("fail", job, **token(job), error="e", retry=False)
    jobs.done("requeue", job)
    jobs.done("cancel", job)
    assert jobs.send("delete", job).status == 204


def _running(jobs: Jobs) -> dict[str, object]:
    jobs.enqueue()
    return jobs.claim()


# -- how long a lease is ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("at_enqueue", "at_claim", "length"),
    [
        (None, None, 900),
        (60, None, 60),
        (60, 5, 5),
        (None, 7, 7),
        (1, None, 1),
        (43_200, None, 43_200),
        (None, 1, 1),
        (None, 43_200, 43_200),
    ],
)
def test_the_length_of_a_lease(
    jobs: Jobs, at_enqueue: int | None, at_claim: int | None, length: int
) -> None:
    made = jobs.enqueue(**({} if at_enqueue is None else {"lease_seconds": at_enqueue}))
    assert made["lease_seconds"] == (at_enqueue or 900)
    job = jobs.claim(**({} if at_claim is None else {"lease_seconds": at_claim}))
    assert moment(job["lease_expires_at"]) - moment(job["claimed_at"]) == length * 1000
    assert job["run_after"] == job["lease_expires_at"]
    assert job["lease_seconds"] == (at_enqueue or 900)
    # a heartbeat without a length renews the lease by the length it has
    beat = jobs.done("heartbeat", job, **token(job))
    assert moment(beat["lease_expires_at"]) - moment(beat["updated_at"]) == length * 1000


def test_a_claims_length_is_for_that_run_alone(jobs: Jobs) -> None:
    jobs.enqueue(lease_seconds=60)
    jobs.done("release", jobs.claim(lease_seconds=5))
    job = jobs.claim()
    assert moment(job["lease_expires_at"]) - moment(job["claimed_at"]) == 60_000


def test_a_lease_holds_until_its_end_and_no_longer(jobs: Jobs, server: LiveServer) -> None:
    jobs.enqueue(lease_seconds=60, backoff_seconds=0)
    job = jobs.claim()
    server.advance(45)
    server.run_schedules()
    jobs.claim_none()
    assert jobs.get(job)["status"] == "running"
    server.advance(16)
    assert jobs.claim()["id"] == job["id"]


def test_heartbeats_keep_a_job_longer_than_its_lease(jobs: Jobs, server: LiveServer) -> None:
    jobs.enqueue(lease_seconds=60, backoff_seconds=0)
    job = jobs.claim()
    for _ in range(5):
        server.advance(40)
        jobs.done("heartbeat", job, **token(job))
    server.run_schedules()
    jobs.claim_none()
    after = jobs.get(job)
    assert (after["status"], after["attempts"], after["history"]) == ("running", 1, [])
    assert after["claimed_at"] == job["claimed_at"]


def test_a_heartbeat_may_change_the_length_for_the_rest_of_the_run(jobs: Jobs) -> None:
    job = jobs.in_status("running", lease_seconds=60)
    jobs.done("heartbeat", job, **token(job), lease_seconds=300)
    beat = jobs.done("heartbeat", job, **token(job))
    assert moment(beat["lease_expires_at"]) - moment(beat["updated_at"]) == 300_000
    assert beat["lease_seconds"] == 60


def test_a_heartbeat_may_shorten_the_lease(jobs: Jobs, server: LiveServer) -> None:
    job = jobs.in_status("running", lease_seconds=3600, backoff_seconds=0)
    jobs.done("heartbeat", job, **token(job), lease_seconds=1)
    server.advance(2)
    assert jobs.claim()["id"] == job["id"]


def test_a_heartbeat_after_the_end_changes_nothing(jobs: Jobs) -> None:
    job = jobs.in_status("running")
    jobs.done("complete", job, **token(job), result="done")
    before = jobs.get(job)
    refused = problem(jobs.send("heartbeat", job, **token(job), progress=1), 409, "not_running")
    assert refused["job_status"] == "completed"
    assert jobs.get(job) == before


def test_progress_is_kept_until_the_next_one(jobs: Jobs) -> None:
    job = jobs.in_status("running")
    assert job["progress"] is None
    assert jobs.done("heartbeat", job, progress={"done": 1})["progress"] == {"done": 1}
    assert jobs.done("heartbeat", job)["progress"] == {"done": 1}
    assert jobs.done("heartbeat", job, progress=None)["progress"] is None
    jobs.done("heartbeat", job, progress=50)
    assert jobs.done("complete", job)["progress"] == 50
