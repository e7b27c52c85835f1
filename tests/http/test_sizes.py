"""Limits are bytes of JSON in UTF-8, however a client writes it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.http.steps import HISTORY_KEYS, Jobs, named_fields, problem, token

if TYPE_CHECKING:
    from tests.http.api import Answer, Api

LIMIT = 256 * 1024
PROGRESS_LIMIT = 1024
ERROR_LIMIT = 4096
# one to four bytes in UTF-8, one or two \u escapes in ASCII
CHARACTERS = {"one": "a", "two": "é", "three": "€", "four": "🎉", "escaped": "\n", "slash": "/"}
characters = pytest.mark.parametrize("character", CHARACTERS.values(), ids=CHARACTERS)


@pytest.fixture
def jobs(api: Api, queue: str) -> Jobs:
    """A queue of its own."""
    return Jobs(api, queue)


def document(size: int, character: str) -> list[object]:
    """Return a value whose compact JSON has so many bytes in UTF-8."""
    overhead = len('["",1]')
    width = len(json.dumps(character, ensure_ascii=False).encode()) - 2
    count, rest = divmod(size - overhead, width)
    made: list[object] = [character * count + "-" * rest, 1]
    assert len(json.dumps(made, ensure_ascii=False, separators=(",", ":")).encode()) == size
    return made


def spellings(value: object) -> list[str]:
    """Return the same JSON as different encoders write it."""
    compact = (",", ":")
    return [
        json.dumps(value, ensure_ascii=False, separators=compact),
        json.dumps(value, ensure_ascii=True, separators=compact),
        json.dumps(value, ensure_ascii=False, indent=4),
        " " * 100_000 + json.dumps(value) + "\r\n\t " * 1000,
        json.dumps(value, separators=compact).replace("/", "\\/"),
    ]


def send(jobs: Jobs, path: str, name: str, text: str) -> Answer:
    """Send a document as it is written."""
    more = f'"job_type":"t","queue":"{jobs.queue}",' if path == "/jobs" else ""
    return jobs.api.post(path, body=f'{{{more}"{name}":{text}}}')


@characters
def test_a_payload_at_the_limit(jobs: Jobs, character: str) -> None:
    value = document(LIMIT, character)
    for text in spellings(value):
        made = send(jobs, "/jobs", "payload", text)
        assert made.status == 201
        assert made.json["payload"] == value
    assert jobs.claim()["payload"] == value


@characters
def test_a_payload_over_the_limit(jobs: Jobs, character: str) -> None:
    for text in spellings(document(LIMIT + 1, character)):
        refused = send(jobs, "/jobs", "payload", text)
        problem(refused, 413, "too_large")
        assert named_fields(refused) == {"payload"}
    assert jobs.list()["items"] == []


@characters
def test_a_result_over_the_limit_and_then_at_it(jobs: Jobs, character: str) -> None:
    job = jobs.in_status("running")
    before = jobs.get(job)
    path = f"/jobs/{job['id']}/complete"
    for text in spellings(document(LIMIT + 1, character)):
        refused = send(jobs, path, "result", text)
        problem(refused, 413, "too_large")
        assert named_fields(refused) == {"result"}
    assert jobs.get(job) == before
    jobs.done("heartbeat", job, **token(job))  # the lease is still held

    value = document(LIMIT, character)
    ended = [send(jobs, path, "result", text) for text in spellings(value)]

    assert [answer.status for answer in ended] == [200] * len(ended)  # all the same result
    assert jobs.get(job)["result"] == value


@characters
def test_progress_at_and_over_its_limit(jobs: Jobs, character: str) -> None:
    job = jobs.in_status("running")
    path = f"/jobs/{job['id']}/heartbeat"
    at_limit = document(PROGRESS_LIMIT, character)
    for text in spellings(at_limit):
        beat = send(jobs, path, "progress", text)
        assert beat.status == 200
        assert beat.json["progress"] == at_limit
    before = jobs.get(job)
    for text in spellings(document(PROGRESS_LIMIT + 1, character)):
        refused = send(jobs, path, "progress", text)
        problem(refused, 413, "too_large")
        assert named_fields(refused) == {"progress"}
    assert jobs.get(job) == before


def test_a_lone_surrogate_counts_as_its_escape(jobs: Jobs) -> None:
    text = '"' + "\\ud800" * 43_690 + '"'
    assert len(text) == LIMIT - 2
    assert send(jobs, "/jobs", "payload", text).status == 201
    problem(send(jobs, "/jobs", "payload", text[:-1] + 'aaa"'), 413, "too_large")


@pytest.mark.parametrize("size", [LIMIT * 2, 5_000_000])
def test_far_over_the_limit(jobs: Jobs, size: int) -> None:
    refused = send(jobs, "/jobs", "payload", json.dumps("x" * size))
    problem(refused, 413, "too_large")
    job = jobs.in_status("running")
    before = jobs.get(job)
    for verb, name in (("complete", "result"), ("heartbeat", "progress")):
        refused = send(jobs, f"/jobs/{job['id']}/{verb}", name, json.dumps("x" * size))
        problem(refused, 413, "too_large")
    assert jobs.get(job) == before


# -- errors ----------------------------------------------------------------------------


@characters
@pytest.mark.parametrize("length", [ERROR_LIMIT // 4, 5000, 100_000, 400_000])
def test_a_long_error_is_cut_never_refused(jobs: Jobs, character: str, length: int) -> None:
    made = send(jobs, "/jobs", "payload", json.dumps(document(LIMIT, "a")))
    assert made.status == 201
    jobs.claim()
    error = "x" + character * (length - 1)
    job = jobs.done("fail", made.json, error=error)
    kept = job["last_error"]
    assert len(kept.encode()) <= ERROR_LIMIT
    if len(error.encode()) <= ERROR_LIMIT:
        assert kept == error
    else:
        assert kept[:900] == error[:900]
        assert kept[-30:] != error[-30:]  # a mark tells that there was more
        assert f"{len(error.encode()):,}" in kept
        assert "\ufffd" not in kept
        assert len(kept.encode()) > ERROR_LIMIT - 4
    whole = jobs.get(job)
    assert [each["error"] for each in whole["history"]] == [kept]
    assert len(whole["payload"][0]) == len(document(LIMIT, "a")[0])  # type: ignore[arg-type]


def test_the_error_limit_is_exact(jobs: Jobs) -> None:
    jobs.enqueue(backoff_seconds=0)
    for error, is_cut in (("x" * ERROR_LIMIT, False), ("x" * (ERROR_LIMIT + 1), True)):
        job = jobs.done("fail", jobs.claim(), error=error)
        assert (job["last_error"] != error) == is_cut
        assert len(job["last_error"]) <= ERROR_LIMIT


def test_an_error_of_megabytes_is_a_failure_all_the_same(jobs: Jobs) -> None:
    job = jobs.in_status("running", payload=document(LIMIT, "é"))
    after = jobs.done("fail", job, **token(job), error="boom " * 1_000_000, retry=False)
    assert after["status"] == "dead"
    assert after["last_error"].startswith("boom boom")


def test_errors_do_not_pile_up_until_the_job_cannot_be_written(jobs: Jobs) -> None:
    jobs.enqueue(payload=document(LIMIT, "a"), max_attempts=1000)
    for number in range(60):
        job = jobs.claim()
        assert job["attempts"] == number + 1
        error = f"{number:02} " + "x" * 10_000
        jobs.done("fail", job, **token(job), error=error, retry_in_seconds=0)
    job = jobs.claim()
    assert job["payload"] == document(LIMIT, "a")
    history = jobs.get(job)["history"]
    assert [each["attempt"] for each in history] == list(range(1, 61))
    for number, each in enumerate(history):
        assert each.keys() == HISTORY_KEYS
        assert each["error"].startswith(f"{number:02} xxx")
        assert len(each["error"].encode()) <= ERROR_LIMIT
    jobs.done("complete", job, **token(job), result=document(LIMIT, "a"))
    whole = jobs.get(job)
    assert (len(whole["history"]), whole["result"]) == (60, document(LIMIT, "a"))


def test_a_history_too_long_for_one_answer_shows_its_latest_part(jobs: Jobs) -> None:
    runs = 112
    jobs.enqueue(payload=document(LIMIT, "🎉"), max_attempts=1000)
    for _ in range(runs):
        job = jobs.claim()
        jobs.done("fail", job, error="🎉" * 1024, retry_in_seconds=0)
    jobs.claim()
    jobs.done("complete", job, result=document(LIMIT, "🎉"))
    whole = jobs.get(job)
    shown = [each["attempt"] for each in whole["history"]]
    assert shown == list(range(runs - len(shown) + 1, runs + 1))
    assert 50 < len(shown) <= runs
    assert whole.get("history_omitted", 0) == runs - len(shown)
    assert (whole["payload"], whole["result"]) == (document(LIMIT, "🎉"),) * 2
    jobs.send("delete", job)
    problem(jobs.send("get", job), 404)


# -- answers ---------------------------------------------------------------------------


def test_a_claim_answer_too_large_for_lambda_gives_fewer_jobs(jobs: Jobs) -> None:
    payload = document(LIMIT, "🎉")  # twelve bytes a character in Lambda's own JSON
    made = {jobs.enqueue(payload=payload)["id"] for _ in range(10)}
    first = jobs.ask(max_jobs=10)["jobs"]
    assert 1 <= len(first) < 10
    waiting = jobs.list(status="queued")["items"]
    assert {job["id"] for job in waiting} == made - {job["id"] for job in first}
    assert {job["attempts"] for job in waiting} == {0}  # it cost them nothing
    taken = first
    while answer := jobs.ask(max_jobs=10)["jobs"]:
        taken += answer
    assert len(taken) == 10
    assert {job["id"] for job in taken} == made
    assert all(job["payload"] == payload for job in taken)
    for job in taken:
        jobs.done("complete", job, **token(job))


def test_ten_large_payloads_fit_one_claim(jobs: Jobs) -> None:
    for _ in range(10):
        jobs.enqueue(payload=document(LIMIT, "a"))
    assert len(jobs.ask(max_jobs=10)["jobs"]) == 10


def test_a_page_of_a_hundred_large_jobs(jobs: Jobs) -> None:
    for _ in range(40):
        jobs.enqueue(payload=document(20_000, "🎉"))
        jobs.done("fail", jobs.claim(), error="🎉" * 1024, retry=False)
    page = jobs.dead_letters(per_page=100)
    assert len(page["items"]) == 40
    assert {job["payload_bytes"] for job in page["items"]} == {20_000}
