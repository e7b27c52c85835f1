"""What a claim takes, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.http.steps import Jobs, named_fields, problem, together, token

if TYPE_CHECKING:
    from tests.http.api import Api, LiveServer

RECORD_IS_READ_AGAIN_SECONDS = 11  # what a warm function knows of a queue is that old at most


@pytest.fixture
def jobs(api: Api, queue: str) -> Jobs:
    """A queue of its own."""
    return Jobs(api, queue)


# -- order -----------------------------------------------------------------------------


def test_the_highest_priority_comes_first(jobs: Jobs) -> None:
    given = [0, 9, 5, 1, 9, 0, 8]
    for priority in given:
        jobs.enqueue(priority=priority)
    assert [jobs.claim()["priority"] for _ in given] == sorted(given, reverse=True)


def test_within_a_priority_the_longest_due_comes_first(jobs: Jobs) -> None:
    due = [1_600_000_000_000 + minute * 60_000 for minute in range(6)]
    made = {at: jobs.enqueue(run_after=at)["id"] for at in (due[3], due[0], due[5], *due[1:3])}
    assert [jobs.claim()["id"] for _ in made] == [made[at] for at in sorted(made)]


def test_jobs_enqueued_one_after_the_other_run_in_that_order(
    jobs: Jobs, server: LiveServer
) -> None:
    made = []
    for _ in range(5):
        made.append(jobs.enqueue()["id"])
        server.advance(0.01)
    assert [jobs.claim()["id"] for _ in made] == made


def test_a_priority_used_for_the_first_time_is_not_missed(jobs: Jobs, server: LiveServer) -> None:
    low = jobs.enqueue(priority=0)
    jobs.done("release", jobs.claim())
    high = jobs.enqueue(priority=9)
    server.advance(RECORD_IS_READ_AGAIN_SECONDS)
    assert jobs.claim()["id"] == high["id"]
    assert jobs.claim()["id"] == low["id"]
    only = jobs.enqueue(priority=4)
    assert jobs.claim()["id"] == only["id"]  # at once, with nothing else there


def test_a_retried_job_keeps_its_priority(jobs: Jobs) -> None:
    high = jobs.enqueue(priority=9)
    jobs.enqueue(priority=0)
    jobs.done("fail", jobs.claim(), error="e", retry_in_seconds=0)
    job = jobs.claim()
    assert (job["id"], job["priority"]) == (high["id"], 9)


def test_a_released_job_keeps_its_priority(jobs: Jobs) -> None:
    high = jobs.enqueue(priority=9)
    jobs.enqueue(priority=0)
    jobs.done("release", jobs.claim())
    job = jobs.claim()
    assert (job["id"], job["priority"]) == (high["id"], 9)


def test_an_expired_job_keeps_its_priority(jobs: Jobs, server: LiveServer) -> None:
    high = jobs.enqueue(priority=9, lease_seconds=1, backoff_seconds=0)
    jobs.enqueue(priority=0)
    jobs.claim()
    server.advance(2)
    server.run_schedules()
    job = jobs.claim()
    assert (job["id"], job["priority"]) == (high["id"], 9)


def test_a_requeued_job_keeps_its_priority(jobs: Jobs) -> None:
    high = jobs.enqueue(priority=9)
    jobs.enqueue(priority=0)
    jobs.done("fail", jobs.claim(), error="e", retry=False)
    jobs.done("requeue", high)
    job = jobs.claim()
    assert (job["id"], job["priority"]) == (high["id"], 9)


def test_a_job_for_tomorrow_hides_none_that_is_due(jobs: Jobs, server: LiveServer) -> None:
    tomorrow = server.now_ms() + 24 * 3600_000
    for _ in range(30):
        jobs.enqueue(priority=9, run_after=tomorrow)
    low = jobs.enqueue(priority=0)
    assert jobs.claim()["id"] == low["id"]
    jobs.claim_none()


# -- which queues ----------------------------------------------------------------------


def test_queues_are_asked_in_order_of_preference(jobs: Jobs) -> None:
    second = Jobs(jobs.api, f"{jobs.queue}-b")
    second.enqueue(priority=9)
    second.enqueue(priority=9)
    jobs.enqueue(priority=0)
    names = [jobs.queue, second.queue, f"{jobs.queue}-unknown"]
    taken = [jobs.ask(queues=names)["job"]["queue"] for _ in range(3)]
    assert taken == [jobs.queue, second.queue, second.queue]
    assert jobs.ask(queues=names)["claimed"] is False


def test_one_claim_may_take_from_several_queues(jobs: Jobs) -> None:
    second = Jobs(jobs.api, f"{jobs.queue}-b")
    for _ in range(2):
        second.enqueue()
        jobs.enqueue()
    names = [second.queue, jobs.queue, second.queue]  # one twice, which changes nothing
    taken = jobs.ask(queues=names, max_jobs=3)["jobs"]
    assert [job["queue"] for job in taken] == [second.queue, second.queue, jobs.queue]


def test_other_queues_are_left_alone(jobs: Jobs) -> None:
    jobs.enqueue()
    for name in (f"{jobs.queue}x", jobs.queue[:-1], jobs.queue.upper()):
        assert Jobs(jobs.api, name).ask()["claimed"] is False
    jobs.claim()


def test_the_default_queue(api: Api) -> None:
    made = api.post("/jobs", {"job_type": "default-queue"}).json
    assert made["queue"] == "default"
    taken = api.post("/jobs/claim", {"job_types": ["default-queue"]}).json["job"]
    assert (taken["id"], taken["queue"]) == (made["id"], "default")


def test_a_claim_needs_no_body(api: Api) -> None:
    for body in (None, "", "{}", "\n"):
        answer = api.post("/jobs/claim", body=body)
        assert answer.status == 200
        if answer.json["claimed"]:
            assert answer.json["job"]["queue"] == "default"


# -- which types -----------------------------------------------------------------------


def test_only_the_types_asked_for_are_taken(jobs: Jobs) -> None:
    made = {name: jobs.enqueue(job_type=name)["id"] for name in ("a", "b", "c")}
    assert jobs.ask(job_types=["d"])["claimed"] is False
    assert jobs.ask(job_types=["c", "d"])["job"]["id"] == made["c"]
    taken = jobs.ask(job_types=["a", "b"], max_jobs=5)["jobs"]
    assert [job["job_type"] for job in taken] == ["a", "b"]


def test_other_types_ahead_hide_none(jobs: Jobs) -> None:
    for _ in range(60):
        jobs.enqueue(job_type="common", run_after=1_600_000_000_000)
    rare = jobs.enqueue(job_type="rare")
    assert jobs.claim(job_types=["rare"])["id"] == rare["id"]
    assert jobs.claim()["job_type"] == "common"


# -- how many --------------------------------------------------------------------------


def test_a_claim_may_take_several(jobs: Jobs) -> None:
    made = [jobs.enqueue(run_after=1_600_000_000_000 + n * 1000)["id"] for n in range(12)]
    answer = jobs.ask(max_jobs=10, worker_id="w", lease_seconds=77)
    assert answer["job"] == answer["jobs"][0]
    assert [job["id"] for job in answer["jobs"]] == made[:10]
    assert len({job["lease_token"] for job in answer["jobs"]}) == 10
    assert {job["claimed_by"] for job in answer["jobs"]} == {"w"}
    rest = jobs.ask(max_jobs=10)
    assert [job["id"] for job in rest["jobs"]] == made[10:]
    for job in answer["jobs"]:
        jobs.done("complete", job, **token(job))


def test_a_claim_takes_one_unless_told_otherwise(jobs: Jobs) -> None:
    jobs.enqueue()
    jobs.enqueue()
    assert len(jobs.ask()["jobs"]) == 1
    assert len(jobs.list(status="queued")["items"]) == 1


# -- who ------------------------------------------------------------------------------


def test_ten_workers_of_one_name_take_ten_jobs(jobs: Jobs) -> None:
    made = {jobs.enqueue()["id"] for _ in range(10)}
    taken = together([lambda: jobs.claim(worker_id="same")] * 10)
    assert {job["id"] for job in taken} == made
    assert {job["claimed_by"] for job in taken} == {"same"}
    assert len({job["lease_token"] for job in taken}) == 10
    for job in taken:
        jobs.done("complete", job, **token(job))


def test_one_worker_may_hold_several_jobs(jobs: Jobs) -> None:
    jobs.enqueue()
    jobs.enqueue()
    first, second = jobs.claim(worker_id="w"), jobs.claim(worker_id="w")
    problem(jobs.send("complete", first, **token(second)), 409, "lease_lost")
    jobs.done("complete", second, **token(second))
    jobs.done("complete", first, **token(first))


@pytest.mark.parametrize("worker_id", ["w", "x" * 128, "żółć 🎉", "a b/c:d#e", " ", "0"])
def test_a_worker_is_called_as_it_says(jobs: Jobs, worker_id: str) -> None:
    jobs.enqueue()
    job = jobs.claim(worker_id=worker_id)
    assert job["claimed_by"] == worker_id
    assert jobs.get(job)["claimed_by"] == worker_id
    jobs.done("fail", job, error="e")
    assert [each["worker_id"] for each in jobs.get(job)["history"]] == [worker_id]


def test_a_worker_without_a_name(jobs: Jobs) -> None:
    jobs.enqueue()
    job = jobs.claim()
    assert job["claimed_by"] is None
    jobs.done("fail", job, error="e")
    assert [each["worker_id"] for each in jobs.get(job)["history"]] == [None]


@pytest.mark.parametrize(
    "worker_id",
    ["", "x" * 129, "x" * 1000, "a\x00", "\x1b[31m", "a\nb", "a\n", "\t", "\x7f", "\x85", "\ud800"],
    ids=ascii,
)
def test_a_name_that_would_spoil_a_log_is_refused(jobs: Jobs, worker_id: str) -> None:
    job = jobs.enqueue()
    answer = jobs.send("claim", queue=jobs.queue, worker_id=worker_id)
    problem(answer, 422, "invalid_field")
    assert named_fields(answer) == {"worker_id"}
    assert jobs.get(job)["status"] == "queued"
