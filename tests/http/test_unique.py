"""A key stands for one job: asking twice is asking once."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.http.steps import PREFIX, Job, Jobs, expect, named_fields, problem, together, token

if TYPE_CHECKING:
    from tests.http.api import Answer, Api, LiveServer
    from tests.http.conftest import MakeServer

KEY = "order-42"
LARGE = "x" * 100_000
DAY_SECONDS = 24 * 3600
ENDED = ["completed", "dead", "cancelled"]
JUNK: list[Any] = ["", "a" * 257, "a\n", "\x00", "a\x7f", "\ud800", 1, True, [], {}, ["a"]]


@pytest.fixture(scope="module")
def server(make_server: MakeServer) -> LiveServer:
    """A server of this module's own, whose clock it moves."""
    return make_server()


@pytest.fixture
def jobs(api: Api, queue: str) -> Jobs:
    """A queue of its own."""
    return Jobs(api, queue)


def ask(jobs: Jobs, *, header: str | None = None, **fields: object) -> Answer:
    """Ask for a job, perhaps with an Idempotency-Key, and return the answer as it is."""
    body = {"job_type": "t", "queue": jobs.queue, **fields}
    headers = {} if header is None else {"Idempotency-Key": header}
    sent = {"content-type": "application/json", **headers}
    return jobs.api.post(f"{jobs.prefix}/jobs", body, headers=sent)


def make(jobs: Jobs, **fields: Any) -> Job:
    """Ask for a job that is not there yet."""
    job = expect(ask(jobs, **fields), 201)
    assert "duplicate" not in job
    return job


def again(jobs: Jobs, **fields: Any) -> Job:
    """Ask for a job that is there already."""
    job = expect(ask(jobs, **fields), 200)
    assert job.pop("duplicate") is True
    return job


def reused(answer: Answer, job: Job) -> None:
    """See that a key was refused, since it stands for this job."""
    found = conflict(answer, "key_reused")
    assert found["job_id"] == job["id"]


def conflict(answer: Answer, code: str) -> dict[str, Any]:
    """Return the problem document of a key that is in the way."""
    assert answer.status == 409, answer.body
    assert answer.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = answer.json
    assert (found["status"], found["code"]) == (409, code)
    assert found["title"]
    assert str(found["job_id"]) in found["detail"]
    return found


def end(jobs: Jobs, status: str) -> Job:
    """Bring the one job of a queue, which waits, to its end."""
    if status == "cancelled":
        [job] = jobs.list(status="queued")["items"]
        return jobs.done("cancel", job)
    job = jobs.claim()
    if status == "completed":
        return jobs.done("complete", job, result="r", **token(job))
    return jobs.done("fail", job, error="e", retry=False, **token(job))


# -- unique_key ------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", ["", PREFIX])
def test_a_second_enqueue_finds_the_first(api: Api, queue: str, prefix: str) -> None:
    jobs = Jobs(api, queue, prefix)
    first = make(jobs, unique_key=KEY, payload={"n": 1})
    assert first["unique_key"] == KEY
    assert again(jobs, unique_key=KEY, payload={"n": 1}) == first
    assert jobs.get(first) == {**first, "history": []}
    assert jobs.list()["items"] == [first]


def test_a_job_without_a_key_says_so(jobs: Jobs) -> None:
    assert "unique_key" not in make(jobs)
    assert "unique_key" not in make(jobs, header="h")
    assert "unique_key" not in make(jobs, unique_key=None)
    assert len(jobs.list()["items"]) == 3


def test_a_key_is_held_while_its_job_runs_and_waits_again(jobs: Jobs, server: LiveServer) -> None:
    first = make(jobs, unique_key=KEY, backoff_seconds=60, lease_seconds=60)
    running = jobs.claim()
    assert again(jobs, unique_key=KEY)["status"] == "running"
    jobs.done("release", running, **token(running))
    assert again(jobs, unique_key=KEY)["id"] == first["id"]
    running = jobs.claim()
    jobs.done("fail", running, error="e", **token(running))
    found = again(jobs, unique_key=KEY)
    assert (found["id"], found["status"], found["attempts"]) == (first["id"], "queued", 1)
    server.advance(61)
    jobs.claim()
    server.advance(61)
    server.run_schedules()
    assert again(jobs, unique_key=KEY)["id"] == first["id"]
    assert len(jobs.list()["items"]) == 1


def test_a_duplicate_shows_nothing_of_the_lease(jobs: Jobs) -> None:
    make(jobs, unique_key=KEY)
    running = jobs.claim(worker_id="ann")
    assert "lease_token" not in again(jobs, unique_key=KEY)
    assert again(jobs, unique_key=KEY)["claimed_by"] == "ann"
    jobs.done("complete", running, **token(running))


@pytest.mark.parametrize("status", ENDED)
def test_a_key_is_free_when_its_job_has_ended(jobs: Jobs, status: str) -> None:
    first = make(jobs, unique_key=KEY)
    end(jobs, status)
    second = make(jobs, unique_key=KEY)
    assert second["id"] != first["id"]
    assert again(jobs, unique_key=KEY) == second
    end(jobs, status)
    make(jobs, unique_key=KEY, payload="another")  # nothing is left of the first ones


@pytest.mark.parametrize("status", ENDED)
def test_a_key_is_free_when_its_job_is_deleted(jobs: Jobs, status: str) -> None:
    first = make(jobs, unique_key=KEY)
    end(jobs, status)
    assert jobs.send("delete", first).status == 204
    second = make(jobs, unique_key=KEY)
    assert again(jobs, unique_key=KEY) == second


def test_a_delete_of_an_earlier_holder_does_not_free_the_key(jobs: Jobs) -> None:
    first = make(jobs, unique_key=KEY)
    end(jobs, "completed")
    second = make(jobs, unique_key=KEY)
    assert jobs.send("delete", first).status == 204
    assert again(jobs, unique_key=KEY) == second


def test_a_key_is_free_when_its_job_has_expired_for_good(jobs: Jobs, server: LiveServer) -> None:
    for take_up in (server.run_schedules, partial(jobs.claim_none)):
        first = make(jobs, unique_key=KEY, max_attempts=1, lease_seconds=60)
        jobs.claim()
        server.advance(61)
        take_up()
        assert jobs.get(first)["status"] == "dead"
        make(jobs, unique_key=KEY)
        end(jobs, "completed")


def test_another_queue_is_another_job(jobs: Jobs) -> None:
    other = Jobs(jobs.api, f"{jobs.queue}-2")
    first, second = make(jobs, unique_key=KEY), make(other, unique_key=KEY)
    assert first["id"] != second["id"]
    assert again(jobs, unique_key=KEY) == first
    assert again(other, unique_key=KEY) == second


@pytest.mark.parametrize(
    "key", ["a", "a" * 256, "é" * 256, "🎉", " a b ", "a#b#c", "#", "unique#q#a", '"', "\\", "%00"]
)
def test_odd_keys_are_keys(jobs: Jobs, key: str) -> None:
    first = make(jobs, unique_key=key)
    assert first["unique_key"] == key
    assert again(jobs, unique_key=key) == first
    assert make(jobs, unique_key="other")["id"] != first["id"]


def test_keys_differ_in_their_last_character_and_case(jobs: Jobs) -> None:
    keys = ["k", "K", "k ", " k", "k1", "ḱ", "k#"]
    assert len({make(jobs, unique_key=key)["id"] for key in keys}) == len(keys)


# -- what the job is to do -------------------------------------------------------------


@pytest.mark.parametrize(
    "other", [{"payload": {"n": 2}}, {"payload": None}, {"job_type": "u"}, {"payload": LARGE}]
)
@pytest.mark.parametrize("by_header", [False, True])
def test_another_request_with_the_same_key_is_refused(
    jobs: Jobs, *, by_header: bool, other: dict[str, Any]
) -> None:
    key: dict[str, Any] = {"header": KEY} if by_header else {"unique_key": KEY}
    first = make(jobs, payload={"n": 1}, **key)
    before = jobs.list()
    reused(ask(jobs, **{"payload": {"n": 1}, **key, **other}), first)
    assert jobs.list() == before
    assert again(jobs, payload={"n": 1}, **key) == first


def test_what_does_not_say_what_the_job_is_to_do_may_differ(jobs: Jobs) -> None:
    first = make(jobs, unique_key=KEY, payload=1, priority=1)
    fields: dict[str, Any] = {
        "priority": 9,
        "max_attempts": 1,
        "run_after": "2031-01-01T00:00:00Z",
        "jitter": 1,
    }
    assert again(jobs, unique_key=KEY, payload=1, **fields) == first


def test_the_same_payload_however_it_is_written(jobs: Jobs) -> None:
    head = f'{{"job_type":"t","queue":"{jobs.queue}","unique_key":"{KEY}","payload":'
    first = expect(jobs.api.post("/jobs", body=head + '{"a":"é","b":[1,2]}}'), 201)
    for text in ('{"a":"\\u00e9", "b":[1, 2]}}', ' {\n"a" : "é","b":[1,2] } }'):
        assert expect(jobs.api.post("/jobs", body=head + text), 200)["id"] == first["id"]
    for text in ('{"a":"é","b":[1.0,2]}}', '{"a":"é","b":[2,1]}}'):
        reused(jobs.api.post("/jobs", body=head + text), first)


def test_a_large_payload(jobs: Jobs) -> None:
    first = make(jobs, unique_key=KEY, payload=LARGE)
    second = again(jobs, unique_key=KEY, payload=LARGE)
    assert second["id"] == first["id"]
    assert jobs.get(first)["payload"] == LARGE
    assert jobs.claim()["payload"] == LARGE


# -- unique_for_seconds ----------------------------------------------------------------


@pytest.mark.parametrize("status", ENDED)
def test_a_key_is_kept_for_a_time(jobs: Jobs, server: LiveServer, status: str) -> None:
    given: dict[str, Any] = {"unique_key": KEY, "unique_for_seconds": 3600}
    first = make(jobs, **given)
    ended = end(jobs, status)
    server.advance(3500)
    assert again(jobs, **given) == ended  # and this does not prolong it
    assert again(jobs, unique_key=KEY)["id"] == first["id"]
    reused(ask(jobs, payload=2, **given), first)
    server.advance(100)
    second = make(jobs, **given)
    assert second["id"] != first["id"]
    assert again(jobs, unique_key=KEY) == second


def test_a_deleted_job_keeps_its_key_for_its_time(jobs: Jobs, server: LiveServer) -> None:
    given: dict[str, Any] = {"unique_key": KEY, "unique_for_seconds": 3600}
    first = make(jobs, **given)
    end(jobs, "completed")
    assert jobs.send("delete", first).status == 204
    reused(ask(jobs, **given), first)  # there is no job to show
    server.advance(3601)
    make(jobs, **given)


def test_a_job_that_outlives_the_time_still_holds_its_key(jobs: Jobs, server: LiveServer) -> None:
    given: dict[str, Any] = {"unique_key": KEY, "unique_for_seconds": 60}
    first = make(jobs, **given)
    server.advance(61)
    assert again(jobs, **given) == first
    end(jobs, "completed")
    make(jobs, **given)


def test_no_time_at_all(jobs: Jobs) -> None:
    make(jobs, unique_key=KEY, unique_for_seconds=0)
    end(jobs, "completed")
    make(jobs, unique_key=KEY, unique_for_seconds=0)


# -- Idempotency-Key -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Idempotency-Key", "idempotency-key", "IDEMPOTENCY-KEY"])
def test_a_repeated_request_finds_its_job(jobs: Jobs, name: str) -> None:
    body = {"job_type": "t", "queue": jobs.queue, "payload": 1}
    headers = {"content-type": "application/json", name: "r1"}
    first = expect(jobs.api.post("/jobs", body, headers=headers), 201)
    second = expect(jobs.api.post("/jobs", body, headers=headers), 200)
    assert second == {**first, "duplicate": True}
    assert jobs.list()["items"] == [first]


@pytest.mark.parametrize("status", ENDED)
def test_a_request_is_remembered_for_a_day(jobs: Jobs, server: LiveServer, status: str) -> None:
    first = make(jobs, header="r1")
    ended = end(jobs, status)
    server.advance(DAY_SECONDS - 10)
    assert again(jobs, header="r1") == ended
    server.advance(10)
    assert make(jobs, header="r1")["id"] != first["id"]


def test_a_header_is_of_its_queue(jobs: Jobs) -> None:
    other = Jobs(jobs.api, f"{jobs.queue}-2")
    assert make(jobs, header="r1")["id"] != make(other, header="r1")["id"]


def test_a_header_and_a_key_of_the_same_words_are_two(jobs: Jobs) -> None:
    first, second = make(jobs, unique_key="same"), make(jobs, header="same")
    assert again(jobs, unique_key="same") == first
    assert again(jobs, header="same") == second


@pytest.mark.parametrize("key", ["a", "a" * 256, "a b#c", '"quoted"', "a,b"])
def test_odd_headers_are_keys(jobs: Jobs, key: str) -> None:
    first = make(jobs, header=key)
    assert again(jobs, header=key) == first


# -- both ------------------------------------------------------------------------------


def test_both_keys_stand_for_the_job(jobs: Jobs) -> None:
    first = make(jobs, unique_key=KEY, header="r1")
    assert again(jobs, unique_key=KEY, header="r1") == first
    assert again(jobs, unique_key=KEY) == first
    assert again(jobs, header="r1") == first
    assert again(jobs, unique_key=KEY, header="r2") == first
    assert again(jobs, unique_key="other", header="r1") == first
    assert jobs.list()["items"] == [first]


def test_a_request_that_found_a_job_finds_it_again(jobs: Jobs) -> None:
    make(jobs, unique_key=KEY)
    again(jobs, unique_key=KEY, header="r1")
    ended = end(jobs, "completed")
    assert again(jobs, unique_key=KEY, header="r1") == ended  # asked again: no second run
    make(jobs, unique_key=KEY)
    assert again(jobs, unique_key=KEY, header="r1") == ended


def test_the_header_is_asked_first(jobs: Jobs) -> None:
    first, second = make(jobs, header="r1"), make(jobs, unique_key=KEY)
    assert again(jobs, unique_key=KEY, header="r1") == first
    assert again(jobs, unique_key=KEY) == second


def test_a_key_that_is_free_again_and_a_header_that_is_not(jobs: Jobs) -> None:
    make(jobs, unique_key=KEY, header="r1")
    ended = end(jobs, "completed")
    assert again(jobs, unique_key=KEY, header="r1") == ended
    second = make(jobs, unique_key=KEY, header="r2")
    assert again(jobs, unique_key=KEY) == second


def test_two_keys_that_contradict_each_other(jobs: Jobs) -> None:
    first = make(jobs, unique_key=KEY, header="r1", payload=1)
    reused(ask(jobs, unique_key=KEY, header="r2", payload=2), first)
    reused(ask(jobs, unique_key="k2", header="r1", payload=2), first)
    assert jobs.list()["items"] == [first]
    make(jobs, unique_key="k2", header="r2", payload=2)  # the refused ones took neither


# -- requeue ---------------------------------------------------------------------------


def test_a_requeued_job_holds_its_key_again(jobs: Jobs) -> None:
    first = make(jobs, unique_key=KEY)
    for _ in range(3):
        dead = end(jobs, "dead")
        queued = jobs.done("requeue", dead)
        assert again(jobs, unique_key=KEY) == queued
        assert queued["unique_key"] == KEY
    end(jobs, "completed")
    assert make(jobs, unique_key=KEY)["id"] != first["id"]


@pytest.mark.parametrize("status", ["queued", "running"])
def test_a_job_whose_key_was_taken_is_not_requeued(jobs: Jobs, status: str) -> None:
    make(jobs, unique_key=KEY)
    dead = end(jobs, "dead")
    second = make(jobs, unique_key=KEY)
    if status == "running":
        jobs.claim()
    before = jobs.get(dead)
    assert conflict(jobs.send("requeue", dead), "key_taken")["job_id"] == second["id"]
    assert jobs.get(dead) == before
    assert jobs.dead_letters()["items"][0]["id"] == dead["id"]
    jobs.done("complete" if status == "running" else "cancel", second)
    assert jobs.done("requeue", dead)["status"] == "queued"
    assert again(jobs, unique_key=KEY)["id"] == dead["id"]


def test_one_of_two_dead_jobs_of_a_key_is_requeued(jobs: Jobs) -> None:
    first = make(jobs, unique_key=KEY, payload=1)
    end(jobs, "dead")
    second = make(jobs, unique_key=KEY, payload=2)
    end(jobs, "dead")
    jobs.done("requeue", second)
    assert conflict(jobs.send("requeue", first), "key_taken")["job_id"] == second["id"]
    end(jobs, "completed")
    jobs.done("requeue", first)
    assert again(jobs, unique_key=KEY, payload=1)["id"] == first["id"]
    reused(ask(jobs, unique_key=KEY, payload=2), first)


def test_a_key_that_is_held_by_time_alone_is_in_the_way_too(jobs: Jobs, server: LiveServer) -> None:
    make(jobs, unique_key=KEY)
    dead = end(jobs, "dead")
    second = make(jobs, unique_key=KEY, unique_for_seconds=3600)
    end(jobs, "completed")
    assert conflict(jobs.send("requeue", dead), "key_taken")["job_id"] == second["id"]
    server.advance(3601)
    jobs.done("requeue", dead)


def test_a_header_is_not_in_the_way_of_a_requeue(jobs: Jobs) -> None:
    make(jobs, header="r1")
    dead = end(jobs, "dead")
    assert again(jobs, header="r1") == dead
    queued = jobs.done("requeue", dead)
    assert again(jobs, header="r1") == queued


# -- at the same moment ----------------------------------------------------------------


@pytest.mark.parametrize("payload", ["small", LARGE], ids=["small", "large"])
@pytest.mark.parametrize("keys", ["unique_key", "header", "both"])
def test_twenty_at_once_make_one_job(jobs: Jobs, keys: str, payload: str) -> None:
    given = {"unique_key": KEY, "header": "r1"}
    if keys != "both":
        given = {keys: given[keys]}
    answers = together([partial(ask, jobs, payload=payload, **given)] * 20)
    assert sorted(answer.status for answer in answers) == [200] * 19 + [201]
    assert len({answer.json["id"] for answer in answers}) == 1
    [job] = jobs.list()["items"]
    assert jobs.get(job)["payload"] == payload


def test_a_job_that_ends_meets_enqueues_of_its_key(jobs: Jobs) -> None:
    for _ in range(6):
        make(jobs, unique_key=KEY)
        job = jobs.claim()
        done, *answers = together(
            [
                partial(jobs.send, "complete", job, **token(job)),
                *[partial(ask, jobs, unique_key=KEY)] * 5,
            ]
        )
        assert done.status == 200
        made = [answer.json["id"] for answer in answers if answer.status == 201]
        found = {answer.json["id"] for answer in answers if answer.status == 200}
        assert len(made) + len([each for each in answers if each.status == 200]) == 5
        assert len(made) <= 1
        assert found <= {job["id"], *made}
        live = jobs.list(status="queued")["items"]
        assert [each["id"] for each in live] == made
        if made:
            assert again(jobs, unique_key=KEY)["id"] == made[0]
            jobs.done("cancel", made[0])


def test_a_requeue_meets_enqueues_of_its_key(jobs: Jobs) -> None:
    for _ in range(6):
        make(jobs, unique_key=KEY)
        dead = end(jobs, "dead")
        requeued, *answers = together(
            [partial(jobs.send, "requeue", dead), *[partial(ask, jobs, unique_key=KEY)] * 3]
        )
        assert {answer.status for answer in answers} <= {200, 201}
        [live] = jobs.list(status="queued")["items"]
        assert {answer.json["id"] for answer in answers} == {live["id"]}
        if requeued.status == 200:
            assert live["id"] == dead["id"]
        else:
            assert conflict(requeued, "key_taken")["job_id"] == live["id"]
        assert again(jobs, unique_key=KEY)["id"] == live["id"]
        jobs.done("cancel", live)


# -- what is refused -------------------------------------------------------------------


@pytest.mark.parametrize("key", JUNK, ids=ascii)
def test_junk_keys(jobs: Jobs, key: object) -> None:
    answer = ask(jobs, unique_key=key)
    problem(answer, 422, "invalid_field")
    assert named_fields(answer) == {"unique_key"}
    assert jobs.list()["items"] == []


@pytest.mark.parametrize("seconds", [-1, 1.5, "1", True, [], {}, 365 * DAY_SECONDS + 1, 10**30])
def test_junk_times(jobs: Jobs, seconds: object) -> None:
    answer = ask(jobs, unique_key=KEY, unique_for_seconds=seconds)
    problem(answer, 422, "invalid_field")
    assert named_fields(answer) == {"unique_for_seconds"}
    make(jobs, unique_key=KEY)  # the refused one took nothing


def test_a_time_without_a_key(jobs: Jobs) -> None:
    problem(ask(jobs, unique_for_seconds=60), 422, "invalid_field")
    problem(ask(jobs, header="r1", unique_for_seconds=60), 422, "invalid_field")
    assert jobs.list()["items"] == []


@pytest.mark.parametrize("key", ["", " ", "a" * 257, "a\tb", "a\x7f"], ids=ascii)
def test_junk_headers(jobs: Jobs, key: str) -> None:
    answer = ask(jobs, header=key)
    problem(answer, 422, "invalid_field")
    assert named_fields(answer) == {"Idempotency-Key"}
    assert jobs.list()["items"] == []


@pytest.mark.parametrize("name", ["idempotency_key", "Idempotency-Key", "duplicate"])
def test_a_header_is_no_field(jobs: Jobs, name: str) -> None:
    problem(ask(jobs, **{name: "r1"}), 422, "invalid_field")


def test_a_refused_request_takes_no_key(jobs: Jobs) -> None:
    problem(ask(jobs, unique_key=KEY, header="r1", priority=10), 422)
    problem(ask(jobs, unique_key=KEY, header="r1", payload=LARGE * 3), 413)
    make(jobs, unique_key=KEY)
    make(jobs, header="r1")
