"""``enqueue``: one job, and many."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from job_retry_client import NoAnswerError
from tests.client.cli.fakes import FakeQueue, answered, job, lines, problem

if TYPE_CHECKING:
    from pathlib import Path

    from job_retry_client.transports.base import Answer, Request


@pytest.fixture
def queue() -> FakeQueue:
    """A queue that takes single jobs."""
    return FakeQueue().on("POST /jobs", answered(201, job()))


def test_a_job_with_every_option(queue: FakeQueue) -> None:
    done = queue.run(
        *("enqueue", "mail", '{"to": 7}', "--queue", "letters", "--priority", "9"),
        *("--run-after", "+10m", "--max-attempts", "3", "--backoff-seconds", "0"),
        *("--max-backoff-seconds", "60", "--jitter", "0.5", "--lease-seconds", "20"),
        *("--unique-key", "u", "--unique-for-seconds", "30", "--idempotency-key", "i"),
    )
    assert (done.exit_code, done.stdout) == (0, "job 7 is queued in default\n")
    assert queue.bodies == [
        {
            "job_type": "mail",
            "payload": {"to": 7},
            "queue": "letters",
            "priority": 9,
            "run_after": "2030-01-02T03:14:05+00:00",
            "max_attempts": 3,
            "backoff_seconds": 0,
            "max_backoff_seconds": 60,
            "jitter": 0.5,
            "lease_seconds": 20,
            "unique_key": "u",
            "unique_for_seconds": 30,
        }
    ]
    assert queue.requests[0].idempotency_key == "i"


def test_what_is_not_said_is_the_queues_to_say(queue: FakeQueue) -> None:
    assert queue.run("enqueue", "mail").exit_code == 0
    assert queue.bodies == [{"job_type": "mail"}]


def test_a_payload_from_a_file_or_standard_input(queue: FakeQueue, tmp_path: Path) -> None:
    file = tmp_path / "payload.json"
    file.write_text('{"of": "the file"}')
    queue.run("enqueue", "mail", f"@{file}")
    queue.run("enqueue", "mail", "-", stdin='["ü"]')
    assert [body["payload"] for body in queue.bodies] == [{"of": "the file"}, ["ü"]]


@pytest.mark.parametrize(
    "payload", ["text", "{", "NaN", "1e999", "@/no/such/file", '"\udcff"', "[" * 100_000]
)
def test_what_is_no_payload_is_not_sent(queue: FakeQueue, payload: str) -> None:
    done = queue.run("enqueue", "mail", payload)
    assert done.exit_code == 2
    assert "PAYLOAD" in done.stderr
    assert queue.requests == []


def test_a_payload_may_be_text_in_quotes(queue: FakeQueue) -> None:
    queue.run("enqueue", "mail", '"text"')
    assert queue.bodies[0]["payload"] == "text"


@pytest.mark.parametrize(
    "arguments",
    [
        ["enqueue"],
        ["enqueue", "mail", "--run-after", "[/soon]"],
        ["enqueue", "--many", "-", "--unique-key", "same"],
        ["enqueue", "mail", "7", "--many", "-"],
        ["enqueue", "--many", "/no/such/file"],
    ],
)
def test_wrong_usage(queue: FakeQueue, arguments: list[str]) -> None:
    assert queue.run(*arguments).exit_code == 2
    assert queue.requests == []


def test_a_duplicate_is_told() -> None:
    answer = answered(200, job(status="running", duplicate=True))
    done = FakeQueue().on("POST /jobs", answer).run("enqueue", "mail", "--unique-key", "u")
    assert (done.exit_code, done.stdout) == (0, "job 7 was there already: running in default\n")


def test_json_is_the_answer_as_it_came(queue: FakeQueue) -> None:
    done = queue.run("enqueue", "mail", "--json")
    assert lines(done.stdout) == [job()]


# -- many ------------------------------------------------------------------------------


def batch(request: Request) -> Answer:
    """Store each job under the number in its payload; refuse those of no type."""
    results: list[dict[str, Any]] = []
    for new in json.loads(request.body or "")["jobs"]:
        if new["job_type"]:
            members = {"duplicate": True} if new.get("unique_key") else {}
            results.append({"status": 201, "job": job(new["payload"], **members)})
        else:
            refused = json.loads(problem(422, "invalid_field").body)
            results.append({"status": 422, "problem": refused})
    return answered(200, {"results": results})


@pytest.fixture
def many() -> FakeQueue:
    """A queue that takes batches."""
    return FakeQueue({"POST /jobs/batch": batch})


def test_many_go_in_batches_of_a_hundred_and_come_out_in_order(many: FakeQueue) -> None:
    text = "".join(f'{{"job_type": "mail", "payload": {number}}}\n\n' for number in range(250))
    done = many.run("enqueue", "--many", "-", "--json", stdin=text)
    assert done.exit_code == 0
    assert [each["id"] for each in lines(done.stdout)] == list(range(250))
    assert sorted(len(body["jobs"]) for body in many.bodies) == [50, 100, 100]
    assert lines(done.stderr) == [{"enqueued": 250}]


def test_the_command_line_says_what_a_line_does_not(many: FakeQueue, tmp_path: Path) -> None:
    file = tmp_path / "jobs.ndjson"
    file.write_text('{"payload": 1}\n{"payload": 2, "job_type": "other", "priority": 1}')
    done = many.run("enqueue", "mail", "--priority", "5", "--many", str(file))
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "2 enqueued\n")
    given = [(each["job_type"], each["priority"]) for each in many.bodies[0]["jobs"]]
    assert given == [("mail", 5), ("other", 1)]


def test_each_job_has_a_key_so_that_a_batch_can_be_repeated(many: FakeQueue) -> None:
    text = '{"payload": 1}\n{"payload": 2, "idempotency_key": "mine"}'
    many.run("enqueue", "mail", "--many", "-", stdin=text)
    drawn, given = (each["idempotency_key"] for each in many.bodies[0]["jobs"])
    assert drawn
    assert given == "mine"


def test_lines_that_are_no_jobs_or_refused_do_not_hold_up_the_others(many: FakeQueue) -> None:
    text = "\n".join(
        [
            '{"job_type": "mail", "payload": 1}',
            "nonsense",
            '["mail"]',
            '{"payload": 2}',
            '{"job_type": "mail", "typo": 1}',
            '{"job_type": "", "payload": 3}',
            '{"job_type": "mail", "idempotency_key": 5}',
            '{"job_type": "mail", "payload": NaN}',
            "\udcff",
            "[" * 100_000,
            '{"job_type": "mail", "payload": 4, "unique_key": "u"}',
        ]
    ).encode("utf-8", "surrogateescape")
    done = many.run("enqueue", "--many", "-", stdin=text)
    assert done.exit_code == 2  # of the first that was not done
    *errors, last = done.stderr.splitlines()
    assert [error.split(":")[1].strip() for error in errors] == [f"line {n}" for n in range(2, 11)]
    assert "typo" in errors[3]
    assert "it is invalid_field" in errors[4]
    assert last == "1 enqueued, 9 failed, 1 there already"


def test_without_a_way_to_the_queue_the_rest_is_not_tried() -> None:
    def fail(_: Request) -> Answer:
        raise NoAnswerError("gone", was_sent=True)

    queue = FakeQueue({"POST /jobs/batch": fail})
    text = '{"job_type": "mail"}\n' * 100_000
    done = queue.run("enqueue", "--many", "-", "--parallel", "2", stdin=text)
    assert done.exit_code == 6
    assert len(queue.requests) <= 2 * 2
    first, *_, last = done.stderr.splitlines()
    assert first == "job-retry: lines 1-100: the queue did not answer: gone"
    assert last == f"0 enqueued, {100 * len(queue.requests)} failed (stopped)"
