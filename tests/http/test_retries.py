"""Runs that fail: the backoff, the last attempt, dead letters, requeue, release, crash loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.http.steps import HISTORY_KEYS, Job, Jobs, moment, problem, token

if TYPE_CHECKING:
    from tests.http.api import Api, LiveServer
    from tests.http.conftest import MakeServer

YEAR_SECONDS = 365 * 24 * 3600


@pytest.fixture(scope="module")
def server(make_server: MakeServer) -> LiveServer:
    """A server of this module's own: a schedule's run looks at every queue there ever was."""
    return make_server()


@pytest.fixture
def jobs(api: Api, queue: str) -> Jobs:
    """A queue of its own."""
    return Jobs(api, queue)


def delay_ms(job: Job) -> int:
    """Return how long a job that just failed waits."""
    assert job["status"] == "queued"
    return moment(job["run_after"]) - moment(job["updated_at"])


def run_and_fail(jobs: Jobs, **body: object) -> Job:
    """Claim the job that is due, and fail it."""
    job = jobs.claim()
    return jobs.done("fail", job, **token(job), **{"error": "e", **body})


# -- the formula -----------------------------------------------------------------------


def test_the_default_backoff_is_the_documented_table(jobs: Jobs, server: LiveServer) -> None:
    jobs.enqueue()
    for attempt, seconds in enumerate([30, 60, 120, 240], start=1):
        job = run_and_fail(jobs, error=f"provider 5xx, attempt {attempt}")
        assert (job["attempts"], delay_ms(job)) == (attempt, seconds * 1000)
        assert (job["claimed_at"], job["claimed_by"], job["lease_expires_at"]) == (None, None, None)
        jobs.claim_none()
        server.advance(seconds - 10)
        jobs.claim_none()
        server.advance(11)
    dead = run_and_fail(jobs, error="the last one")
    assert (dead["status"], dead["attempts"], dead["last_error"]) == ("dead", 5, "the last one")
    assert dead["died_at"] == dead["run_after"]
    server.advance(YEAR_SECONDS / 12)
    jobs.claim_none()


def test_no_attempt_overflows_the_backoff(jobs: Jobs, server: LiveServer) -> None:
    jobs.enqueue(max_attempts=1000, backoff_seconds=1)
    by_formula = {*range(1, 29), *range(30, 36), *range(62, 67), 127, 128, 255, 256, 257, 310, 311}
    previous = 0
    for attempt in range(1, 312):
        if attempt not in by_formula:  # to get there without waiting for a year each time
            run_and_fail(jobs, retry_in_seconds=0)
            continue
        job = run_and_fail(jobs)
        assert job["attempts"] == attempt
        delay = delay_ms(job)
        assert delay == min(2 ** (attempt - 1), YEAR_SECONDS) * 1000
        assert delay >= previous
        previous = delay
        server.advance(delay / 1000 + 1)


def test_the_longest_backoff_of_all(jobs: Jobs, server: LiveServer) -> None:
    jobs.enqueue(max_attempts=1000, backoff_seconds=604_800)
    for _ in range(8):
        job = run_and_fail(jobs)
        assert delay_ms(job) == min(604_800 << (job["attempts"] - 1), YEAR_SECONDS) * 1000
        server.advance(delay_ms(job) / 1000 + 1)


def test_without_backoff_a_failed_job_is_due_at_once(jobs: Jobs) -> None:
    jobs.enqueue(backoff_seconds=0, max_attempts=4)
    for attempt in (1, 2, 3):
        job = run_and_fail(jobs)
        assert (job["attempts"], delay_ms(job)) == (attempt, 0)
    assert run_and_fail(jobs)["status"] == "dead"


def test_a_cap_on_the_backoff(jobs: Jobs, server: LiveServer) -> None:
    jobs.enqueue(max_backoff_seconds=100)
    for expected in (30, 60, 100, 100):
        job = run_and_fail(jobs)
        assert delay_ms(job) == expected * 1000
        server.advance(expected + 1)


def test_jitter_is_a_share_of_the_delay(jobs: Jobs) -> None:
    for _ in range(12):
        jobs.enqueue(backoff_seconds=1000, jitter=0.5)
    delays = [delay_ms(run_and_fail(jobs)) for _ in range(12)]
    assert all(500_000 <= delay <= 1_000_000 for delay in delays)
    assert len(set(delays)) > 1


def test_jitter_never_passes_the_cap(jobs: Jobs) -> None:
    for _ in range(6):
        jobs.enqueue(backoff_seconds=1000, max_backoff_seconds=50, jitter=1)
    assert all(0 <= delay_ms(run_and_fail(jobs)) <= 50_000 for _ in range(6))


def test_no_jitter_unless_asked_for(jobs: Jobs) -> None:
    jobs.enqueue(backoff_seconds=1000)
    jobs.enqueue(backoff_seconds=1000, jitter=0)
    assert [delay_ms(run_and_fail(jobs)) for _ in range(2)] == [1_000_000, 1_000_000]


# -- what fail may say -----------------------------------------------------------------


@pytest.mark.parametrize("seconds", [0, 1, 3600, YEAR_SECONDS])
def test_fail_may_name_the_delay(jobs: Jobs, seconds: int) -> None:
    jobs.enqueue()
    assert delay_ms(run_and_fail(jobs, retry_in_seconds=seconds)) == seconds * 1000


def test_a_named_delay_is_no_further_attempt(jobs: Jobs) -> None:
    jobs.enqueue(max_attempts=2)
    assert run_and_fail(jobs, retry_in_seconds=0)["status"] == "queued"
    dead = run_and_fail(jobs, retry_in_seconds=0)
    assert (dead["status"], dead["attempts"]) == ("dead", 2)


def test_fail_without_retry_goes_straight_to_the_dead_letters(jobs: Jobs) -> None:
    jobs.enqueue()
    dead = run_and_fail(jobs, error="no such user", retry=False)
    assert (dead["status"], dead["attempts"], dead["last_error"]) == ("dead", 1, "no such user")
    assert [each["id"] for each in jobs.dead_letters()["items"]] == [dead["id"]]


def test_retry_true_is_the_default(jobs: Jobs) -> None:
    jobs.enqueue()
    assert run_and_fail(jobs, retry=True)["status"] == "queued"


@pytest.mark.parametrize("error", ["", " ", "line\nbreak", "\x00", "żółć 🎉", "null"])
def test_every_error_text_is_kept(jobs: Jobs, error: str) -> None:
    jobs.enqueue()
    job = run_and_fail(jobs, error=error)
    assert job["last_error"] == error
    assert [each["error"] for each in jobs.get(job)["history"]] == [error]


def test_half_a_character_in_an_error_does_not_lose_the_report(jobs: Jobs) -> None:
    jobs.enqueue()
    job = run_and_fail(jobs, error="before \ud800 after \udfff")
    assert job["last_error"].startswith("before ")
    assert " after " in job["last_error"]


# -- how many runs ---------------------------------------------------------------------


@pytest.mark.parametrize("max_attempts", [1, 2, 3, 7])
def test_a_job_runs_as_often_as_it_may_and_is_then_dead(jobs: Jobs, max_attempts: int) -> None:
    made = jobs.enqueue(max_attempts=max_attempts, backoff_seconds=0)
    runs = 0
    while jobs.get(made)["status"] == "queued":
        assert run_and_fail(jobs)["id"] == made["id"]
        runs += 1
        assert runs <= max_attempts
    assert runs == max_attempts
    jobs.claim_none()
    (dead,) = jobs.dead_letters()["items"]
    assert (dead["id"], dead["attempts"]) == (made["id"], max_attempts)
    assert len(jobs.get(made)["history"]) == max_attempts


@pytest.mark.parametrize("taken_up_by", ["claim", "schedule"])
def test_a_crash_loop_ends_among_the_dead_letters(
    jobs: Jobs, server: LiveServer, taken_up_by: str
) -> None:
    made = jobs.enqueue(max_attempts=3, backoff_seconds=0, lease_seconds=10)
    for attempt in (1, 2, 3):
        job = jobs.claim(worker_id=f"w{attempt}")
        assert (job["id"], job["attempts"]) == (made["id"], attempt)
        server.advance(11)
        if taken_up_by == "schedule":
            server.run_schedules()
    jobs.claim_none()

    (dead,) = jobs.dead_letters()["items"]
    assert (dead["id"], dead["attempts"]) == (made["id"], 3)
    assert (dead["status"], dead["last_error"]) == ("dead", "lease expired")
    history = jobs.get(made)["history"]
    assert [each["attempt"] for each in history] == [1, 2, 3]
    assert [each["worker_id"] for each in history] == ["w1", "w2", "w3"]
    for each in history:
        assert each.keys() == HISTORY_KEYS
        assert each["error"] == "lease expired"
        assert moment(each["ended_at"]) - moment(each["started_at"]) == 10_000


def test_an_expired_lease_waits_out_its_backoff(jobs: Jobs, server: LiveServer) -> None:
    jobs.enqueue(lease_seconds=10)
    jobs.claim()
    server.advance(11)
    jobs.claim_none()  # takes the lease up
    (job,) = jobs.list()["items"]
    assert (job["attempts"], delay_ms(job)) == (1, 30_000)
    server.advance(20)
    jobs.claim_none()
    server.advance(11)
    assert jobs.claim()["attempts"] == 2


def test_the_job_of_a_dead_worker_goes_before_what_came_later(
    jobs: Jobs, server: LiveServer
) -> None:
    first = jobs.enqueue(lease_seconds=10, backoff_seconds=0)
    jobs.claim()
    later = []
    for _ in range(5):
        server.advance(1)
        later.append(jobs.enqueue())
    server.advance(10)
    server.run_schedules()
    assert jobs.get(first)["run_after"] == first["run_after"]
    claimed = [jobs.claim()["id"] for _ in range(6)]
    assert claimed == [first["id"], *(each["id"] for each in later)]


def test_a_failed_job_goes_behind_what_is_due(jobs: Jobs, server: LiveServer) -> None:
    first = jobs.enqueue(backoff_seconds=0)
    claimed = jobs.claim()
    server.advance(1)
    second = jobs.enqueue()
    server.advance(1)
    jobs.done("fail", claimed, error="boom")
    server.advance(1)
    assert [jobs.claim()["id"] for _ in range(2)] == [second["id"], first["id"]]


def test_crashes_and_failures_count_alike(jobs: Jobs, server: LiveServer) -> None:
    jobs.enqueue(max_attempts=3, backoff_seconds=0, lease_seconds=10)
    run_and_fail(jobs, error="failed")
    jobs.claim()
    server.advance(11)
    dead = run_and_fail(jobs, error="failed again")
    assert dead["status"] == "dead"
    errors = [each["error"] for each in jobs.get(dead)["history"]]
    assert errors == ["failed", "lease expired", "failed again"]


def test_the_schedule_takes_up_every_ended_lease_and_no_other(
    jobs: Jobs, server: LiveServer
) -> None:
    for priority in (0, 5, 9):
        for _ in range(4):
            jobs.enqueue(lease_seconds=10, priority=priority)
    ended = {job["id"] for job in jobs.ask(max_jobs=10)["jobs"]}
    held = {job["id"] for job in jobs.ask(max_jobs=10, lease_seconds=600)["jobs"]}
    assert (len(ended), len(held)) == (10, 2)
    server.advance(11)
    server.run_schedules()
    assert {job["id"] for job in jobs.list(status="queued")["items"]} == ended
    assert {job["id"] for job in jobs.list(status="running")["items"]} == held
    server.run_schedules()
    assert all(len(jobs.get(job_id)["history"]) == 1 for job_id in ended)


# -- requeue ---------------------------------------------------------------------------


def test_requeue_gives_all_attempts_again_and_keeps_the_history(jobs: Jobs) -> None:
    made = jobs.enqueue(max_attempts=2, backoff_seconds=0)
    run_and_fail(jobs, error="one")
    run_and_fail(jobs, error="two")
    assert [job["id"] for job in jobs.dead_letters()["items"]] == [made["id"]]

    job = jobs.done("requeue", made)

    assert (job["status"], job["attempts"], job["died_at"]) == ("queued", 0, None)
    assert job["run_after"] == job["updated_at"]
    assert jobs.dead_letters()["items"] == []
    assert [each["error"] for each in jobs.get(made)["history"]] == ["one", "two"]
    again = run_and_fail(jobs, error="three")
    assert (again["status"], again["attempts"]) == ("queued", 1)
    assert run_and_fail(jobs, error="four")["status"] == "dead"
    history = jobs.get(made)["history"]
    assert [each["error"] for each in history] == ["one", "two", "three", "four"]
    assert [each["attempt"] for each in history] == [1, 2, 1, 2]


def test_requeue_changes_nothing_else(jobs: Jobs) -> None:
    made = jobs.enqueue(
        payload={"n": [1, 2.5]}, priority=7, job_type="a:b/c", jitter=0.5, max_backoff_seconds=9
    )
    run_and_fail(jobs, retry=False)
    job = jobs.done("requeue", made)
    kept = made.keys() - {"attempts", "run_after", "updated_at", "last_attempted_at", "last_error"}
    assert {name: job[name] for name in kept} == {name: made[name] for name in kept}


def test_requeue_after_a_crash_loop(jobs: Jobs, server: LiveServer) -> None:
    jobs.enqueue(max_attempts=1, lease_seconds=10)
    job = jobs.claim()
    server.advance(11)
    server.run_schedules()
    assert jobs.done("requeue", job)["attempts"] == 0
    assert jobs.claim()["id"] == job["id"]


def test_requeue_again_is_refused_or_the_same(jobs: Jobs) -> None:
    dead = jobs.in_status("dead")
    job = jobs.done("requeue", dead)
    answer = jobs.send("requeue", dead)
    if answer.status == 200:
        assert answer.json == job
    else:
        assert problem(answer, 409, "not_dead")["job_status"] == "queued"
    jobs.claim()
    jobs.claim_none()


# -- release ---------------------------------------------------------------------------


def test_release_uses_up_no_attempt(jobs: Jobs) -> None:
    jobs.enqueue(max_attempts=2, backoff_seconds=0)
    for _ in range(10):
        job = jobs.claim()
        assert job["attempts"] == 1
        after = jobs.done("release", job, **token(job))
        assert (after["status"], after["attempts"], after["last_error"]) == ("queued", 0, None)
        assert (after["claimed_by"], after["claimed_at"]) == (None, None)
    assert jobs.get(job)["history"] == []
    assert run_and_fail(jobs)["status"] == "queued"
    released = jobs.done("release", jobs.claim())
    assert released["attempts"] == 1
    assert run_and_fail(jobs)["status"] == "dead"


def test_release_may_say_when(jobs: Jobs, server: LiveServer) -> None:
    jobs.enqueue()
    later = jobs.done("release", jobs.claim(), delay_seconds=60)
    assert delay_ms(later) == 60_000
    jobs.claim_none()
    server.advance(61)
    jobs.claim()
