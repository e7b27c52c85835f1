"""Requests at the same moment: one of them wins, the others are told, nothing is lost."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.http.steps import Job, Jobs, problem, together, token

if TYPE_CHECKING:
    from tests.http.api import Answer, Api, LiveServer
    from tests.http.conftest import MakeServer

ROUNDS = 12
SIDES = 6  # that call at once


@pytest.fixture(scope="module")
def server(make_server: MakeServer) -> LiveServer:
    """A server of this module's own: a schedule's run looks at every queue there ever was."""
    return make_server()


@pytest.fixture
def jobs(api: Api, queue: str) -> Jobs:
    """A queue of its own."""
    return Jobs(api, queue)


def statuses(answers: list[Answer]) -> list[int]:
    """Return the answers' statuses, lowest first; a refusal must be a problem document."""
    for answer in answers:
        if answer.status >= 400:
            problem(answer, answer.status)
    return sorted(answer.status for answer in answers)


def claims(answers: list[Any]) -> list[Job]:
    """Return the jobs of this queue that claims among the answers brought."""
    return [job for answer in answers if "jobs" in answer for job in answer["jobs"]]


# -- claim -----------------------------------------------------------------------------


@pytest.mark.parametrize("max_jobs", [1, 3])
def test_each_job_is_claimed_once(jobs: Jobs, max_jobs: int) -> None:
    made = {jobs.enqueue(priority=n % 3)["id"] for n in range(40)}

    def drain() -> list[Job]:
        taken: list[Job] = []
        nothing = 0
        while nothing < 3:  # one empty answer may be a race that was lost
            got = jobs.ask(max_jobs=max_jobs)["jobs"]
            taken += got
            nothing = 0 if got else nothing + 1
        return taken

    taken = [job for some in together([drain] * 8) for job in some]

    assert len(taken) == len(made)
    assert {job["id"] for job in taken} == made
    assert {job["attempts"] for job in taken} == {1}
    assert len({job["lease_token"] for job in taken}) == len(made)
    for job in taken:
        jobs.done("complete", job, **token(job))


def test_one_job_among_many_workers(jobs: Jobs) -> None:
    for _ in range(ROUNDS):
        made = jobs.enqueue()
        taken = claims(together([jobs.ask] * 8))
        assert [job["id"] for job in taken] == [made["id"]]
        jobs.done("complete", made, **token(taken[0]))


def test_an_ended_lease_is_taken_up_once(jobs: Jobs, server: LiveServer) -> None:
    for _ in range(ROUNDS):
        made = jobs.enqueue(lease_seconds=60, backoff_seconds=0)
        first = jobs.claim()
        server.advance(61)
        together([*[jobs.ask] * 5, server.run_schedules])
        jobs.ask()  # should those have left it to each other
        job = jobs.get(made)
        assert (job["status"], job["attempts"]) == ("running", 2)
        assert [each["attempt"] for each in job["history"]] == [1]
        problem(jobs.send("complete", made, **token(first)), 409, "lease_lost")
        jobs.done("complete", made)


def test_enqueued_at_once_every_job_has_its_own_id(jobs: Jobs) -> None:
    def several() -> list[int]:
        return [jobs.enqueue()["id"] for _ in range(10)]

    ids = [job_id for some in together([several] * 10) for job_id in some]
    assert len(set(ids)) == 100
    assert {job["id"] for job in jobs.list(per_page=100)["items"]} == set(ids)


# -- requeue ---------------------------------------------------------------------------


def test_two_people_requeue_at_once(jobs: Jobs) -> None:
    for _ in range(ROUNDS):
        dead = jobs.in_status("dead", payload={"n": 1}, priority=3, job_type="kept")
        answers = together([partial(jobs.send, "requeue", dead)] * SIDES)
        assert set(statuses(answers)) <= {200, 409}
        first = next(answer.json for answer in answers if answer.status == 200)
        for answer in answers:
            if answer.status == 200:
                assert answer.json == first
            else:
                assert answer.json["job_status"] == "queued"
        assert jobs.dead_letters()["items"] == []
        taken = claims(together([jobs.ask] * SIDES))
        assert [job["id"] for job in taken] == [dead["id"]]
        for name in ("payload", "priority", "job_type", "created_at", "max_attempts"):
            assert taken[0][name] == dead[name]
        assert (taken[0]["attempts"], len(jobs.get(dead)["history"])) == (1, 1)
        jobs.done("complete", dead)


# -- cancel and delete meet others ------------------------------------------------------


def test_cancel_meets_claim(jobs: Jobs) -> None:
    for turn in range(ROUNDS):
        made = jobs.enqueue()
        calls: list[Any] = [partial(jobs.send, "cancel", made), jobs.ask]
        answers = together(calls if turn % 2 else calls[::-1])
        cancelled = next(answer for answer in answers if not isinstance(answer, dict))
        claimed = next(answer for answer in answers if isinstance(answer, dict))
        after = jobs.get(made)
        if claimed["claimed"]:
            problem(cancelled, 409, "not_queued")
            assert cancelled.json["job_status"] == "running"
            assert after["status"] == "running"
            jobs.done("complete", made, **token(claimed["job"]))
        else:
            assert cancelled.status == 200
            assert (after["status"], after["attempts"]) == ("cancelled", 0)
            assert after == {**cancelled.json, "history": []}
            jobs.claim_none()


def test_cancel_meets_cancel(jobs: Jobs) -> None:
    for _ in range(ROUNDS):
        made = jobs.enqueue()
        answers = together([partial(jobs.send, "cancel", made)] * SIDES)
        assert 200 in statuses(answers)
        assert set(statuses(answers)) <= {200, 409}
        shown = [answer.json for answer in answers if answer.status == 200]
        assert all(each == shown[0] for each in shown)


@pytest.mark.parametrize("status", ["dead", "completed", "cancelled"])
def test_delete_meets_delete(jobs: Jobs, status: str) -> None:
    for _ in range(4):
        made = jobs.in_status(status, payload="x" * 5000)
        answers = together([partial(jobs.send, "delete", made)] * SIDES)
        assert 204 in statuses(answers)
        assert set(statuses(answers)) <= {204, 404}
        problem(jobs.send("get", made), 404, "not_found")
    assert jobs.list()["items"] == []


def test_delete_meets_requeue_and_claim(jobs: Jobs) -> None:
    for turn in range(ROUNDS):
        dead = jobs.in_status("dead", payload="x" * 5000)
        calls: list[Any] = [
            partial(jobs.send, "delete", dead),
            partial(jobs.send, "requeue", dead),
            jobs.ask,
            jobs.ask,
        ]
        answers = together(calls if turn % 2 else calls[::-1])
        deleted, requeued = (
            answer
            for answer in (answers if turn % 2 else answers[::-1])
            if not isinstance(answer, dict)
        )
        taken = claims([answer for answer in answers if isinstance(answer, dict)])
        if deleted.status == 204:
            problem(requeued, 404, "not_found")
            assert taken == []
            problem(jobs.send("get", dead), 404)
            jobs.claim_none()
        else:
            assert problem(deleted, 409, "not_ended")["job_status"] in ("queued", "running")
            assert requeued.status == 200
            taken = taken or claims([jobs.ask()])
            assert [job["id"] for job in taken] == [dead["id"]]
            assert taken[0]["payload"] == "x" * 5000
            jobs.done("complete", dead)


def test_cancel_and_delete_meet_claim(jobs: Jobs) -> None:
    for _ in range(ROUNDS):
        made = jobs.enqueue(payload="x" * 5000)

        def drop(made: Job = made) -> tuple[Answer, Answer]:
            return jobs.send("cancel", made), jobs.send("delete", made)

        dropped, *asked = together([drop, jobs.ask, jobs.ask])
        cancelled, deleted = dropped
        taken = claims(asked)
        if cancelled.status == 200:
            assert deleted.status == 204
            assert taken == []
            problem(jobs.send("get", made), 404)
        else:
            problem(cancelled, 409, "not_queued")
            problem(deleted, 409, "not_ended")
            assert [(job["id"], job["payload"]) for job in taken] == [(made["id"], "x" * 5000)]
            assert jobs.get(made)["status"] == "running"
            jobs.done("complete", made)


# -- settling --------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 5000])
def test_the_same_complete_at_once_is_one(jobs: Jobs, size: int) -> None:
    for _ in range(6):
        job = jobs.in_status("running")
        call = partial(jobs.send, "complete", job, **token(job), result="x" * size)
        answers = together([call] * SIDES)
        assert statuses(answers) == [200] * SIDES
        assert all(answer.json == answers[0].json for answer in answers)
        assert jobs.get(job)["result"] == "x" * size


@pytest.mark.parametrize("size", [1, 5000])
def test_of_different_results_one_is_kept(jobs: Jobs, size: int) -> None:
    for _ in range(6):
        job = jobs.in_status("running")
        results = [str(n) * size for n in range(SIDES)]
        answers = together(
            [partial(jobs.send, "complete", job, **token(job), result=each) for each in results]
        )
        assert statuses(answers) == [200] + [409] * (SIDES - 1)
        (kept,) = (
            each for each, answer in zip(results, answers, strict=True) if answer.status == 200
        )
        assert jobs.get(job)["result"] == kept


@pytest.mark.parametrize("body", [{}, {"retry": False}, {"retry_in_seconds": 0}])
def test_the_same_fail_at_once_counts_once(jobs: Jobs, body: dict[str, object]) -> None:
    for _ in range(6):
        job = jobs.in_status("running")
        answers = together([partial(jobs.send, "fail", job, **token(job), error="e", **body)] * 5)
        assert statuses(answers) == [200] * 5
        after = jobs.get(job)
        assert (after["attempts"], len(after["history"])) == (1, 1)
        if after["status"] == "queued":
            jobs.done("cancel", job)


@pytest.mark.parametrize("with_token", [True, False])
def test_complete_meets_fail_and_release(jobs: Jobs, *, with_token: bool) -> None:
    for _ in range(ROUNDS):
        job = jobs.in_status("running")
        given = token(job) if with_token else {}
        answers = together(
            [
                partial(jobs.send, "complete", job, **given, result="done"),
                partial(jobs.send, "fail", job, **given, error="failed"),
                partial(jobs.send, "release", job, **given, delay_seconds=3600),
            ]
        )
        assert statuses(answers) == [200, 409, 409]
        after = jobs.get(job)
        shown = (after["status"], after["attempts"], after["result"], len(after["history"]))
        (winner,) = (n for n, answer in enumerate(answers) if answer.status == 200)
        outcomes = [("completed", 1, "done", 0), ("queued", 1, None, 1), ("queued", 0, None, 0)]
        assert shown == outcomes[winner]


def test_heartbeats_meet_complete(jobs: Jobs) -> None:
    for _ in range(ROUNDS):
        job = jobs.in_status("running")
        beat = partial(jobs.send, "heartbeat", job, **token(job), progress=1)
        done, *beats = together([partial(jobs.send, "complete", job, **token(job)), *[beat] * 4])
        assert done.status == 200
        assert set(statuses(beats)) <= {200, 409}
        after = jobs.get(job)
        assert (after["status"], after["completed_at"]) == ("completed", done.json["completed_at"])


def test_heartbeats_at_once_all_count(jobs: Jobs) -> None:
    job = jobs.in_status("running", lease_seconds=1)
    beat = partial(jobs.send, "heartbeat", job, **token(job), lease_seconds=600)
    assert statuses(together([beat] * 8)) == [200] * 8
    assert jobs.get(job)["status"] == "running"


@pytest.mark.parametrize(
    ("verb", "body"),
    [("complete", {"result": 1}), ("fail", {"error": "e"}), ("heartbeat", {}), ("release", {})],
)
def test_a_late_worker_meets_the_schedule(
    jobs: Jobs, server: LiveServer, verb: str, body: dict[str, object]
) -> None:
    for _ in range(6):
        job = jobs.in_status("running", lease_seconds=60)
        server.advance(61)

        def settle(job: Job = job) -> Answer:
            return jobs.send(verb, job, **token(job), **body)

        answer, _ = together([settle, server.run_schedules])
        after = jobs.get(job)
        errors = [each["error"] for each in after["history"]]
        if answer.status == 200:
            assert "lease expired" not in errors
            assert len(errors) == (1 if verb == "fail" else 0)
        else:
            problem(answer, 409, "lease_lost")
            assert (after["status"], errors) == ("queued", ["lease expired"])
        if after["status"] == "queued":
            jobs.done("cancel", job)
        elif after["status"] == "running":
            jobs.done("complete", job)
