"""Batches: one answer for each request, in order."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2

from job_retry.batching import answer_each, batch_view
from job_retry.errors import (
    InvalidFieldError,
    InvalidJsonError,
    JobNotFoundError,
    JobRetryError,
    MediaTypeError,
    StoreBusyError,
    TooLargeError,
)
from job_retry.job import NewJob, Status
from job_retry.json_text import MAX_DEPTH, JsonText
from job_retry.parallel import THREADS
from job_retry.reading import read_batch
from job_retry.schemas.enqueue import EnqueueBody
from job_retry.schemas.settle import CompleteItem, FailItem
from job_retry.views import enqueued_briefly_view, settled_view

if TYPE_CHECKING:
    from job_retry.schemas.fields import Body
    from tests.unit.builders import Queue

LARGE = f'"{"x" * 5000}"'


# -- an answer for each ------------------------------------------------------------------


def halve(number: int) -> int:
    """Halve an even number."""
    if number % 2:
        raise JobNotFoundError(number)
    return number // 2


def test_answers_stand_in_order() -> None:
    answers = answer_each(halve, range(100))
    assert answers[::2] == list(range(50))
    assert [str(each) for each in answers[1::2]] == [
        f"there is no job {number}" for number in range(1, 100, 2)
    ]


def test_what_was_refused_is_passed_on() -> None:
    refusal = InvalidFieldError("a", "is bad")
    asked: list[int | JobRetryError] = [2, refusal, 4]
    assert answer_each(halve, asked) == [1, refusal, 2]
    assert answer_each(halve, []) == []


def test_requests_are_made_at_once() -> None:
    meeting = threading.Barrier(THREADS, timeout=30)  # lets none go before all have come
    assert len(answer_each(lambda _: meeting.wait(), range(THREADS))) == THREADS


def test_what_is_not_foreseen_is_not_hidden() -> None:
    made = []

    def call(number: int) -> None:
        made.append(number)
        if number == 3:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        answer_each(call, range(10))
    assert sorted(made) == list(range(10))


def test_each_answer_has_a_status_and_a_job_or_a_problem() -> None:
    outcomes: list[str | JobRetryError] = ["a", JobNotFoundError(7), "b", StoreBusyError("busy")]
    shown = json.loads(batch_view(outcomes, lambda name: (200, JsonText(f'{{"n":"{name}"}}'))))
    assert shown.keys() == {"results"}
    first, second, third, fourth = shown["results"]
    assert (first, third) == (
        {"status": 200, "job": {"n": "a"}},
        {"status": 200, "job": {"n": "b"}},
    )
    assert (second["status"], second["problem"]["code"]) == (404, "not_found")
    assert (fourth["status"], fourth["problem"]["status"]) == (429, 429)
    assert second.keys() == {"status", "problem"}


# -- on the engine -----------------------------------------------------------------------


def test_a_batch_of_jobs_is_stored(queue: Queue) -> None:
    new = [NewJob(job_type="mail", payload=f"{number}") for number in range(100)]
    made = answer_each(queue.engine.enqueue, new)
    assert [each.payload.text for each in made if not isinstance(each, JobRetryError)] == [
        f"{number}" for number in range(100)
    ]
    assert len(queue.claim(max_jobs=100)) == 100


def test_one_key_many_times_is_one_job(queue: Queue) -> None:
    outcomes = answer_each(
        queue.engine.enqueue_once, [NewJob(job_type="mail", unique_key="k")] * 50
    )
    made = [each for each in outcomes if not isinstance(each, JobRetryError)]
    assert len(made) == 50
    assert sum(not each.is_duplicate for each in made) == 1
    assert len({each.job.id for each in made}) == 1


def test_a_batch_shows_no_payload_that_stands_apart(queue: Queue) -> None:
    status, text = enqueued_briefly_view(
        queue.engine.enqueue_once(NewJob(job_type="mail", payload=LARGE))
    )
    shown = json.loads(text)
    assert status == 201
    assert "payload" not in shown
    assert shown["payload_bytes"] == len(LARGE)
    _, text = enqueued_briefly_view(
        queue.engine.enqueue_once(NewJob(job_type="mail", payload="[1]"))
    )
    assert json.loads(text)["payload"] == [1]


def test_a_job_twice_in_a_batch_is_completed_once(queue: Queue) -> None:
    queue.enqueue()
    job = queue.claim_one()
    outcomes = answer_each(
        lambda _: queue.engine.complete(job.id, lease_token=job.lease_token, result="1"), range(9)
    )
    assert {each.status for each in outcomes if not isinstance(each, JobRetryError)} == {
        Status.COMPLETED
    }
    assert queue.record(job.id).status is Status.COMPLETED
    shown = json.loads(batch_view(outcomes, settled_view))["results"]
    assert all(each == shown[0] for each in shown)


# -- reading a batch ---------------------------------------------------------------------


def app_with(body: object, content_type: str = "application/json") -> APIGatewayHttpResolver:
    """Return a resolver that has a request."""
    app = APIGatewayHttpResolver()
    text = body if isinstance(body, str) else json.dumps(body)
    app.current_event = APIGatewayProxyEventV2(
        {"headers": {"content-type": content_type}, "body": text, "isBase64Encoded": False}
    )
    return app


def read(body: object, model: type[Body] = EnqueueBody, most: int = 5) -> list[Any]:
    """Read a batch."""
    return list(read_batch(app_with(body), model, most=most))


def test_jobs_are_read_in_order() -> None:
    jobs = read({"jobs": [{"job_type": f"t{number}"} for number in range(5)]})
    assert [job.job_type for job in jobs] == ["t0", "t1", "t2", "t3", "t4"]


def test_a_payload_stays_its_text() -> None:
    [job] = read('{"jobs": [ {"job_type": "t", "payload": {"n": 1.0, "s": "\\u00e9"} } ]}')
    assert job.payload == '{"n":1.0,"s":"é"}'


def test_what_is_wrong_with_a_job_is_its_own_affair() -> None:
    bad: list[object] = [{"priority": 1}, 7, {"job_type": "t", "x": 1}, {"job_type": "a b"}]
    first, *refused = read({"jobs": [{"job_type": "t"}, *bad]})
    assert isinstance(first, EnqueueBody)
    assert all(isinstance(each, InvalidFieldError) for each in refused)
    assert [each.field for each in refused] == ["job_type", "body", "x", "job_type"]


def test_a_payload_that_is_too_large_is_its_own_affair() -> None:
    large, small = read(
        {"jobs": [{"job_type": "t", "payload": "x" * 300_000}, {"job_type": "t", "payload": 1}]}
    )
    assert isinstance(large, TooLargeError)
    assert isinstance(small, EnqueueBody)


@pytest.mark.parametrize(
    ("model", "item"),
    [
        (CompleteItem, {"id": 7, "lease_token": "t", "result": [1]}),
        (FailItem, {"id": 7, "lease_token": "t", "error": "e", "retry": False}),
    ],
)
def test_settlements_name_their_job(model: type[Body], item: dict[str, object]) -> None:
    without = {name: value for name, value in item.items() if name != "id"}
    good, *refused = read({"jobs": [item, without, {**item, "id": 0}, {**item, "id": "7"}]}, model)
    assert good.id == 7
    assert "id" not in good.settlement()
    assert [each.field for each in refused] == ["id", "id", "id"]


@pytest.mark.parametrize(
    "jobs", [[], [{"job_type": "t"}] * 6, None, {}, {"job_type": "t"}, "x", 1, True, 1.5]
)
def test_a_batch_is_an_array_of_one_to_so_many(jobs: object) -> None:
    with pytest.raises(InvalidFieldError) as refused:
        read({"jobs": jobs})
    assert refused.value.field == "jobs"


def test_a_batch_has_one_field() -> None:
    with pytest.raises(InvalidFieldError) as refused:
        read({"jobs": [{"job_type": "t"}], "queue": "q", "Jobs": []})
    assert [name for name, _ in refused.value.fields] == ["queue", "Jobs"]


@pytest.mark.parametrize("body", ["{}", "", "[]", "[{}]", '"x"', "1"])
def test_a_batch_is_an_object(body: str) -> None:
    with pytest.raises(InvalidFieldError):
        read(body)


@pytest.mark.parametrize("body", ['{"jobs": [}', '{"jobs": [{}', '{"jobs": [NaN]}', "{", "\x00"])
def test_broken_json_is_refused_as_a_whole(body: str) -> None:
    with pytest.raises(InvalidJsonError):
        read(body)


def test_another_type_is_refused_as_a_whole() -> None:
    with pytest.raises(MediaTypeError):
        read_batch(app_with({"jobs": [{}]}, "text/plain"), EnqueueBody, most=5)


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, MAX_DEPTH + 200])
def test_a_job_that_is_nested_too_deeply_is_its_own_affair(depth: int) -> None:
    deep = "[" * depth + "]" * depth
    first, second, third = read(
        f'{{"jobs": [{{"job_type": "a"}}, {{"job_type": "b", "payload": {deep}}}, {deep}]}}'
    )
    assert first.job_type == "a"
    assert (second.field, str(second)) == ("payload", "payload: is nested more than 500 deep")
    assert (third.field, str(third)) == ("body", "body: must be a JSON object")


def test_a_payload_may_be_as_deep_in_a_batch_as_alone() -> None:
    deep = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    [job] = read(f'{{"jobs": [{{"job_type": "t", "payload": {deep}}}]}}')
    assert job.payload == deep


def test_a_member_given_twice_is_the_job_s_own_affair() -> None:
    twice = '{"job_type": "a", "job_type": "b"}'
    first, second = read(f'{{"jobs": [{twice}, {{"job_type": "c"}}]}}')
    assert first.fields == [("job_type", "is given more than once")]
    assert second.job_type == "c"
    with pytest.raises(InvalidFieldError) as refused:
        read('{"jobs": [{"job_type": "t"}], "jobs": [{"job_type": "t"}]}')
    assert refused.value.field == "jobs"


def test_a_batch_of_absurd_depth_is_refused_as_a_whole() -> None:
    deep = "[" * 200_000 + "]" * 200_000
    with pytest.raises(InvalidFieldError) as refused:
        read(f'{{"jobs": [{{"job_type": "t", "payload": {deep}}}]}}')
    assert refused.value.field == "jobs"


def test_a_body_is_about_what_lambda_takes() -> None:
    head, tail = '{"jobs":[{"job_type":"t"}', "]}"
    padding = " " * (6_000_000 - len(head + tail))
    [job] = read(f"{head}{padding}{tail}")
    assert job.job_type == "t"
    with pytest.raises(TooLargeError) as refused:
        read(f"{head}{padding} {tail}")
    assert refused.value.field == "body"
