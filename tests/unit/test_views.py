"""Jobs as the API shows them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from job_retry.claiming import Taken
from job_retry.job import Attempt, Document, Job, Status
from job_retry.listing import ListAnswer, ListRequest
from job_retry.transitions import Action
from job_retry.views import claim_view, job_view, list_view, whole_job_view
from tests.unit.builders import LEASE_MS, T0, Queue, a_job, a_running_job

if TYPE_CHECKING:
    from collections.abc import Sequence

LAMBDA_ANSWER = 6 * 1024 * 1024
NOW = "2030-01-01T00:00:00.000Z"

FIELDS = [
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
]


def shown(job: Job) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(job_view(job))
    return fields


def said(job: Job) -> set[str]:
    """Return the fields that apply to a job."""
    return {name for name, value in shown(job).items() if value is not None}


def test_a_new_job() -> None:
    job = a_job()
    assert shown(job) == dict.fromkeys(FIELDS) | {
        "id": job.id,
        "queue": "default",
        "job_type": "mail",
        "status": "queued",
        "priority": 0,
        "payload": None,
        "attempts": 0,
        "max_attempts": 5,
        "backoff_seconds": 30,
        "lease_seconds": 900,
        "run_after": NOW,
        "created_at": NOW,
        "updated_at": NOW,
    }
    assert list(shown(job)) == FIELDS


MOMENTS = {"claimed_at", "lease_expires_at", "completed_at", "died_at", "cancelled_at"}


@pytest.mark.parametrize(
    ("status", "apply"),
    [
        (Status.QUEUED, set()),
        (Status.RUNNING, {"claimed_at", "lease_expires_at"}),
        (Status.COMPLETED, {"claimed_at", "completed_at"}),
        (Status.DEAD, {"claimed_at", "died_at"}),
        (Status.CANCELLED, {"cancelled_at"}),
    ],
)
def test_a_moment_is_null_where_it_does_not_apply(status: Status, apply: set[str]) -> None:
    assert said(a_running_job(status=status)) & MOMENTS == apply


def test_the_life_of_a_job_as_it_is_shown(queue: Queue) -> None:
    job = queue.enqueue(max_attempts=2, backoff_seconds=0)
    always = said(job)
    queue.claim_one(worker_id="w")
    ran = {"last_attempted_at"}
    running = {"claimed_at", "claimed_by", "lease_expires_at"}
    assert said(queue.record(job.id)) == always | ran | running
    assert said(queue.engine.fail(job.id, error="e")) == always | ran | {"last_error"}
    queue.claim_one(worker_id="w")
    dead = queue.engine.fail(job.id, error="e")
    assert said(dead) - always == ran | {"claimed_at", "claimed_by", "died_at", "last_error"}
    assert said(queue.engine.requeue(job.id)) == always | ran | {"last_error"}
    queue.claim_one()
    queue.engine.complete(job.id, result="1")
    assert said(queue.record(job.id)) - always == ran | {
        "claimed_at",
        "completed_at",
        "last_error",
        "result",
    }


def test_the_lease_token_is_shown_by_claim_alone() -> None:
    job = a_running_job()
    assert "lease_token" not in shown(job)
    assert "lease_token" not in json.loads(whole_job_view(job, []))
    claimed = json.loads(claim_view(Taken(T0, jobs=[job])))["job"]
    assert claimed == shown(job) | {"lease_token": job.lease_token}
    answer = ListAnswer([job], more=False, next_cursor=None)
    assert "tok" not in list_view(ListRequest(), answer)


@pytest.mark.parametrize("inside", ["enqueue_token", "fingerprint", "lane", "failures", "part"])
def test_what_is_the_queue_s_own_is_not_shown(inside: str) -> None:
    job = a_running_job(fingerprint="f", failures=2)
    assert inside not in json.loads(whole_job_view(job, []))


def test_documents_are_shown_in_their_own_words() -> None:
    text = '{"a":1.0,"b":12345678901234567890,"c":"\\ud800"}'
    job = a_running_job(
        payload=Document(len(text), text), progress=text, result=Document(len(text), text)
    )
    assert job_view(job).count(text) == 3


def test_a_large_document_gives_way_to_its_size() -> None:
    job = a_job(payload=Document(5000, None, "payload"), result=Document(6000, None, "result#f"))
    fields = shown(job)
    assert (fields["payload_bytes"], fields["result_bytes"]) == (5000, 6000)
    assert "payload" not in fields
    assert "result" not in fields
    read = replace(job, payload=Document(4, "1234", "payload"))
    assert shown(read)["payload"] == 1234
    assert "payload_bytes" not in shown(read)


def test_json_null_and_no_result_look_the_same() -> None:
    assert shown(a_job(result=Document(4, "null")))["result"] is None
    assert shown(a_job(result=None))["result"] is None


# -- history -----------------------------------------------------------------------------


def attempts(count: int, error: str = "boom") -> list[Attempt]:
    return [
        Attempt(number, number, "w", T0 + number, T0 + number + 500, error)
        for number in range(1, count + 1)
    ]


def whole(job: Job, history: Sequence[Attempt]) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(whole_job_view(job, history))
    return fields


def test_the_history_is_shown_oldest_first() -> None:
    fields = whole(a_job(failures=2), attempts(2))
    assert list(fields) == [*FIELDS, "history"]
    assert fields["history"][0] == {
        "attempt": 1,
        "worker_id": "w",
        "started_at": "2030-01-01T00:00:00.001Z",
        "ended_at": "2030-01-01T00:00:00.501Z",
        "error": "boom",
    }
    assert [each["attempt"] for each in fields["history"]] == [1, 2]


def test_a_job_that_never_failed_has_an_empty_one() -> None:
    assert whole(a_job(), [])["history"] == []


def test_the_last_error_is_shown_as_whole_as_it_is_kept() -> None:
    history = attempts(2, "e" * 4096)
    assert whole(a_job(failures=2, last_error="e" * 512), history)["last_error"] == "e" * 4096


@pytest.mark.parametrize("error", ["x" * 4096, "é" * 2048, "\x01" * 4096, "😀" * 1024])
def test_of_a_very_long_history_the_latest_part_is_shown(error: str) -> None:
    history = attempts(1000, error)
    widest = '"' + "é" * (128 * 1024 - 1) + '"'
    job = a_job(
        failures=1000,
        payload=Document(262_144, widest, "payload"),
        result=Document(262_144, widest, "result#f"),
    )
    fields = whole(job, history)
    numbers = [each["attempt"] for each in fields["history"]]
    assert 0 < len(numbers) < 1000
    assert numbers == list(range(1001 - len(numbers), 1001))
    assert fields["history_omitted"] == 1000 - len(numbers)
    assert len(json.dumps({"body": whole_job_view(job, history)})) < LAMBDA_ANSWER


def test_a_history_that_fits_is_shown_whole() -> None:
    fields = whole(a_job(failures=1000), attempts(1000))
    assert len(fields["history"]) == 1000
    assert "history_omitted" not in fields


# -- claim and list ----------------------------------------------------------------------


def test_what_a_claim_brought() -> None:
    jobs = [a_running_job(), a_running_job(lease_token="tik")]
    answer = json.loads(claim_view(Taken(T0, jobs=jobs)))
    assert list(answer) == ["claimed", "job", "jobs"]
    assert answer["claimed"] is True
    assert answer["job"] == answer["jobs"][0]
    assert [each["lease_token"] for each in answer["jobs"]] == ["tok", "tik"]


def test_a_claim_that_brought_nothing() -> None:
    assert json.loads(claim_view(Taken(T0, next_due=T0 + 1500))) == {
        "claimed": False,
        "job": None,
        "jobs": [],
        "retry_after_seconds": 1.5,
    }


def test_a_claim_that_brought_nothing_and_has_not_looked_everywhere() -> None:
    answer = json.loads(claim_view(Taken(T0, next_due=T0 + 1500, lanes_unseen=True)))
    assert list(answer) == ["claimed", "job", "jobs", "retry_after_seconds", "lanes_unseen"]
    assert answer["lanes_unseen"] is True


def test_what_was_not_looked_at_does_not_matter_to_who_has_jobs() -> None:
    answer = json.loads(claim_view(Taken(T0, jobs=[a_running_job()], lanes_unseen=True)))
    assert list(answer) == ["claimed", "job", "jobs"]


def listed(request: ListRequest, *, more: bool) -> dict[str, Any]:
    answer = ListAnswer([a_job()], more=more, next_cursor="c" if more else None)
    fields: dict[str, Any] = json.loads(list_view(request, answer))
    assert fields.pop("items") == [shown(a_job())]
    return fields


def test_a_page_says_what_follows() -> None:
    assert listed(ListRequest(page=2, per_page=1), more=True) == {
        "page": 2,
        "per_page": 1,
        "next_page": 3,
        "next_cursor": "c",
    }


def test_the_last_page_says_that_nothing_does() -> None:
    assert listed(ListRequest(page=2, per_page=1), more=False) == {
        "page": 2,
        "per_page": 1,
        "next_page": None,
        "next_cursor": None,
    }


def test_a_page_that_a_cursor_led_to_has_no_number() -> None:
    assert listed(ListRequest(cursor="b", per_page=1), more=True) == {
        "page": None,
        "per_page": 1,
        "next_page": None,
        "next_cursor": "c",
    }


def test_a_full_page_of_the_longest_records_fits() -> None:
    inline = '"' + "é" * 199 + '"'
    job = a_running_job(
        payload=Document(400, inline),
        progress='"' + "é" * 511 + '"',
        last_error="\x01" * 512,
        claimed_by="é" * 128,
    )
    text = list_view(ListRequest(), ListAnswer([job] * 100, more=False, next_cursor=None))
    assert len(json.dumps({"body": text})) < LAMBDA_ANSWER


def test_the_end_of_a_lease_is_shown(queue: Queue) -> None:
    queue.enqueue()
    queue.claim_one()
    (action, job) = queue.seen[-1]
    assert action is Action.CLAIM
    assert job.lease_expires_at == T0 + LEASE_MS
    assert shown(job)["lease_expires_at"] == shown(job)["run_after"] == "2030-01-01T00:15:00.000Z"
