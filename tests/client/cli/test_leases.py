"""``claim``, ``complete``, ``fail``, ``heartbeat``, ``release``."""

from __future__ import annotations

from typing import Any

import pytest

from tests.client.cli.fakes import FakeQueue, answered, job, lines, problem

NOTHING: dict[str, Any] = {"claimed": False, "job": None, "jobs": [], "retry_after_seconds": 1.5}
LEASED = job(
    status="running", payload={"to": 7}, lease_token="secret", run_after="2030-01-02T03:19:05.000Z"
)
CLAIMED = {"claimed": True, "job": LEASED, "jobs": [LEASED]}


def claiming(*answers: dict[str, Any]) -> FakeQueue:
    return FakeQueue().on("POST /jobs/claim", *(answered(200, each) for each in answers))


def test_a_claim_says_what_it_is_told() -> None:
    queue = claiming(CLAIMED)
    done = queue.run(
        *("claim", "-q", "first", "-q", "second", "--type", "mail", "--worker-id", "me"),
        *("--lease-seconds", "60", "--max-jobs", "2"),
    )
    assert done.exit_code == 0
    assert queue.bodies == [
        {
            "queues": ["first", "second"],
            "worker_id": "me",
            "job_types": ["mail"],
            "lease_seconds": 60,
            "max_jobs": 2,
        }
    ]


def test_a_claimed_job_is_shown_with_the_way_to_complete_it() -> None:
    queue = claiming(CLAIMED)
    done = queue.run("claim")
    assert queue.bodies == [{"queues": ["default"], "max_jobs": 1}]
    assert "lease ends   2030-01-02 03:19:05, in 15 min" in done.stdout
    assert '"to": 7' in done.stdout
    assert "job-retry complete 7 --lease-token secret" in done.stdout


def test_claimed_jobs_as_json_are_a_line_each() -> None:
    other = job(8, status="running", lease_token="other")
    done = claiming({"claimed": True, "jobs": [LEASED, other]}).run("claim", "--json")
    assert lines(done.stdout) == [LEASED, other]


def test_nothing_due_has_an_exit_code_of_its_own() -> None:
    done = claiming(NOTHING).run("claim")
    assert (done.exit_code, done.stdout) == (5, "")
    assert done.stderr == "nothing is due; ask again in 1.5 s\n"


def test_nothing_due_as_json_leaves_the_output_to_jobs() -> None:
    done = claiming(NOTHING).run("claim", "--json")
    assert (done.exit_code, done.stdout) == (5, "")
    assert lines(done.stderr) == [{"claimed": False, "retry_after_seconds": 1.5}]


def test_nothing_found_where_not_all_lanes_were_looked_at_is_told_as_that() -> None:
    unseen = NOTHING | {"lanes_unseen": True}
    done = claiming(unseen).run("claim")
    assert (done.exit_code, done.stdout) == (5, "")
    assert done.stderr == "nothing is due in the lanes that were looked at; ask again in 1.5 s\n"
    done = claiming(unseen).run("claim", "--json")
    assert lines(done.stderr) == [
        {"claimed": False, "retry_after_seconds": 1.5, "lanes_unseen": True}
    ]


def test_a_waiting_claim_asks_again_when_the_queue_says() -> None:
    queue = claiming(NOTHING, NOTHING, CLAIMED)
    done = queue.run("claim", "--wait", "60")
    assert done.exit_code == 0
    assert queue.slept == [1.5, 1.5]


@pytest.mark.parametrize(
    ("arguments", "route", "body"),
    [
        (["complete", "7"], "complete", {}),
        (["complete", "7", '{"n": 1}', "--token", "t"], "complete", {"result": {"n": 1}}),
        (["fail", "7", "boom"], "fail", {"error": "boom", "retry": True}),
        (
            ["fail", "7", "boom", "--retry-in", "60", "--no-retry", "--lease-token", "t"],
            "fail",
            {"error": "boom", "retry": False, "retry_in_seconds": 60},
        ),
        (["heartbeat", "7", "--token", "t"], "heartbeat", {}),
        (
            ["heartbeat", "7", "--lease-seconds", "60", "--progress", "0.5"],
            "heartbeat",
            {"lease_seconds": 60, "progress": 0.5},
        ),
        (["release", "7", "--token", "t"], "release", {}),
        (
            ["release", "7", "--run-after", "+1h"],
            "release",
            {"run_after": "2030-01-02T04:04:05+00:00"},
        ),
    ],
)
def test_what_the_holder_of_a_lease_says(
    arguments: list[str], route: str, body: dict[str, Any]
) -> None:
    queue = FakeQueue().on(f"POST /jobs/{{job_id}}/{route}", answered(200, job(status="dead")))
    done = queue.run(*arguments)
    assert done.exit_code == 0
    assert "status    dead" in done.stdout
    assert queue.requests[0].path == f"/jobs/7/{route}"
    token = {"lease_token": "t"} if "t" in arguments else {}
    assert queue.bodies == [body | token]


def test_a_result_from_standard_input() -> None:
    queue = FakeQueue().on("POST /jobs/{job_id}/complete", answered(200, job()))
    queue.run("complete", "7", "-", stdin="[1]")
    assert queue.bodies == [{"result": [1]}]


def test_a_lost_lease_is_a_conflict() -> None:
    queue = FakeQueue().on("POST /jobs/{job_id}/complete", problem(409, "lease_lost"))
    done = queue.run("complete", "7", "--token", "old")
    assert (done.exit_code, done.stdout) == (4, "")
    assert done.stderr == "job-retry: it is lease_lost (lease_lost)\n"
