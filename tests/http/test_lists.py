"""Lists: exact pages, one order for pages and cursors, filters, dead letters."""

from __future__ import annotations

import base64
import json
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from tests.http.api import Api
from tests.http.steps import STATUSES, Job, Jobs, expect, moment, named_fields, problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.http.api import LiveServer
    from tests.http.conftest import MakeServer

SAME_MOMENT = 1_700_000_000_000
JOBS = 45


@pytest.fixture
def jobs(api: Api, queue: str) -> Jobs:
    """A queue of its own."""
    return Jobs(api, queue)


@pytest.fixture(scope="module")
def many(server: LiveServer) -> Jobs:
    """A queue of 45 jobs in every status; no test may change it.

    Most have one run_after, over three priorities; every ninth is of a rare type.
    """
    jobs = Jobs(Api(server.url), f"many-{uuid.uuid4().hex}")
    for number in range(JOBS):
        made = jobs.enqueue(
            job_type="rare" if number % 9 == 4 else "common",
            priority=(0, 4, 9)[number % 3],
            run_after=SAME_MOMENT,
        )
        if number % 5 == 1:
            jobs.done("cancel", made)
        elif number % 15 == 2:
            jobs.claim()
        elif number % 15 == 7:
            jobs.done("complete", jobs.claim())
        elif number % 15 == 12:
            jobs.done("fail", jobs.claim(), error="e", retry=False)
    return jobs


def by_page(ask: Callable[..., dict[str, Any]], per_page: int, **query: object) -> list[Job]:
    """Return a whole list, page by page, each as full as it can be."""
    found: list[Job] = []
    page: int | None = 1
    while page is not None:
        answer = ask(page=page, per_page=per_page, **query)
        assert (answer["page"], answer["per_page"]) == (page, per_page)
        assert answer["next_page"] in (None, page + 1)
        assert (answer["next_page"] is None) == (answer["next_cursor"] is None)
        if answer["next_page"] is not None:
            assert len(answer["items"]) == per_page
        found += answer["items"]
        page = answer["next_page"]
    return found


def by_cursor(ask: Callable[..., dict[str, Any]], per_page: int, **query: object) -> list[Job]:
    """Return a whole list, cursor by cursor."""
    answer = ask(per_page=per_page, **query)
    found: list[Job] = answer["items"]
    while answer["next_cursor"] is not None:
        assert len(answer["items"]) == per_page
        answer = ask(per_page=per_page, cursor=answer["next_cursor"], **query)
        assert (answer["page"], answer["next_page"]) == (None, None)
        assert answer["items"]
        found += answer["items"]
    return found


# -- order -----------------------------------------------------------------------------


@pytest.mark.parametrize("per_page", [2, 7, 15, 44, 45, 46, 100])
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_pages_and_cursors_walk_one_sequence(many: Jobs, order: str, per_page: int) -> None:
    whole = many.list(per_page=100, order=order)["items"]
    assert len({job["id"] for job in whole}) == len(whole) == JOBS
    assert by_page(many.list, per_page, order=order) == whole
    assert by_cursor(many.list, per_page, order=order) == whole


def test_the_latest_comes_first_and_asc_is_the_other_way(many: Jobs) -> None:
    latest_first = many.list(per_page=100)["items"]
    moments = [moment(job["run_after"]) for job in latest_first]
    assert moments == sorted(moments, reverse=True)
    assert many.list(per_page=100, order="desc")["items"] == latest_first
    assert many.list(per_page=100, order="asc")["items"] == latest_first[::-1]


def test_the_order_is_by_time_over_all_statuses_and_priorities(
    jobs: Jobs, server: LiveServer
) -> None:
    now = server.now_ms()
    made = [
        jobs.enqueue(run_after=now + offset * 60_000, priority=priority)["id"]
        for offset, priority in ((3, 0), (1, 9), (2, 5), (5, 9), (4, 0))
    ]
    done = jobs.in_status("completed")
    expected = [made[3], made[4], made[0], made[2], made[1], done["id"]]
    assert [job["id"] for job in jobs.list()["items"]] == expected


def test_default_pages_have_25_jobs(many: Jobs) -> None:
    first = many.list()
    assert (len(first["items"]), first["per_page"], first["next_page"]) == (25, 25, 2)
    assert len(many.list(page=2)["items"]) == JOBS - 25


def test_beyond_the_last_page_there_is_nothing(many: Jobs) -> None:
    for page in (4, 1000, 999_999_999):
        answer = many.list(page=page, per_page=15)
        assert answer["items"] == []
        assert (answer["next_page"], answer["next_cursor"]) == (None, None)
    assert many.list(page=3, per_page=15)["next_page"] is None  # full, and the last


# -- filters ---------------------------------------------------------------------------


@pytest.mark.parametrize("per_page", [2, 5, 100])
@pytest.mark.parametrize("status", STATUSES)
def test_a_status(many: Jobs, status: str, per_page: int) -> None:
    whole = many.list(per_page=100)["items"]
    expected = [job for job in whole if job["status"] == status]
    assert len(expected) >= 3
    assert by_page(many.list, per_page, status=status) == expected
    assert by_cursor(many.list, per_page, status=status) == expected


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("per_page", [1, 2, 5, 100])
def test_a_rare_type_still_fills_its_pages(many: Jobs, per_page: int, order: str) -> None:
    whole = many.list(per_page=100, order=order)["items"]
    expected = [job for job in whole if job["job_type"] == "rare"]
    assert len(expected) == 5
    assert by_page(many.list, per_page, job_type="rare", order=order) == expected
    assert by_cursor(many.list, per_page, job_type="rare", order=order) == expected


def test_several_filters_at_once(many: Jobs) -> None:
    whole = many.list(per_page=100)["items"]
    for status in STATUSES:
        for job_type in ("rare", "common", "unknown"):
            expected = [j for j in whole if (j["status"], j["job_type"]) == (status, job_type)]
            assert by_page(many.list, 3, status=status, job_type=job_type) == expected


def test_a_job_moves_from_list_to_list_at_once(jobs: Jobs) -> None:
    def shown() -> list[str]:
        return [status for status in STATUSES if jobs.list(status=status)["items"]]

    made = jobs.enqueue(priority=3)
    assert shown() == ["queued"]
    jobs.claim()
    assert shown() == ["running"]
    jobs.done("fail", made, error="e", retry=False)
    assert shown() == ["dead"]
    jobs.done("requeue", made)
    assert shown() == ["queued"]
    jobs.done("complete", jobs.claim())
    assert shown() == ["completed"]
    jobs.send("delete", made)
    assert shown() == []


def test_a_queue_that_never_was(api: Api) -> None:
    answer = expect(api.get(f"/jobs?queue=never-{uuid.uuid4().hex}"), 200)
    assert (answer["items"], answer["next_page"], answer["next_cursor"]) == ([], None, None)


def test_names_are_compared_whole(jobs: Jobs) -> None:
    longer = Jobs(jobs.api, f"{jobs.queue}.x")
    longer.enqueue(job_type="ab")
    jobs.enqueue(job_type="a")
    assert [job["queue"] for job in jobs.list()["items"]] == [jobs.queue]
    assert [job["job_type"] for job in jobs.list(job_type="a")["items"]] == ["a"]
    assert jobs.list(job_type="ab")["items"] == []
    assert jobs.list(job_type="A")["items"] == []


def test_all_queues(make_server: MakeServer) -> None:
    api = Api(make_server().url)
    queues = [Jobs(api, name) for name in ("b", "a", "a.b", "Z", "default")]
    for number in range(20):
        queue = queues[number % 5]
        queue.enqueue(run_after=SAME_MOMENT, priority=number % 2)
        if number % 4 == 3:
            queue.done("fail", queue.claim(), error="e", retry=False)

    def ask(**query: object) -> dict[str, Any]:
        given = "&".join(f"{name}={value}" for name, value in query.items())
        return expect(api.get(f"/jobs?{given}"), 200)

    def ask_dead(**query: object) -> dict[str, Any]:
        given = "&".join(f"{name}={value}" for name, value in query.items())
        return expect(api.get(f"/dlq?{given}"), 200)

    whole = ask(per_page=100)["items"]
    assert len({job["id"] for job in whole}) == len(whole) == 20
    assert {job["queue"] for job in whole} == {queue.queue for queue in queues}
    for per_page in (3, 10):
        assert by_page(ask, per_page) == by_cursor(ask, per_page) == whole
    dead = [job for job in whole if job["status"] == "dead"]
    assert len(dead) == 5
    assert by_page(ask_dead, 2) == by_cursor(ask_dead, 2) == dead
    assert by_page(ask, 2, status="dead") == dead
    for queue in queues:
        expected = [job for job in whole if job["queue"] == queue.queue]
        assert queue.list()["items"] == expected


# -- dead letters ----------------------------------------------------------------------


@pytest.mark.parametrize("per_page", [1, 2, 100])
def test_dead_letters_are_the_dead_jobs(many: Jobs, per_page: int) -> None:
    expected = many.list(status="dead", per_page=100)["items"]
    assert len(expected) == 3
    assert by_page(many.dead_letters, per_page) == expected
    assert by_cursor(many.dead_letters, per_page) == expected


def test_the_latest_dead_letter_comes_first(jobs: Jobs, server: LiveServer) -> None:
    made = []
    for priority in (0, 9, 4):
        made.append(jobs.in_status("dead", priority=priority, job_type=f"t{priority}")["id"])
        server.advance(1)
    assert [job["id"] for job in jobs.dead_letters()["items"]] == made[::-1]
    assert [job["id"] for job in jobs.dead_letters(job_type="t9")["items"]] == [made[1]]


def test_a_dead_letter_tells_why(jobs: Jobs) -> None:
    jobs.enqueue(payload={"user": 7})
    jobs.done("fail", jobs.claim(worker_id="w"), error="no such user", retry=False)
    (dead,) = jobs.dead_letters()["items"]
    assert (dead["payload"], dead["last_error"]) == ({"user": 7}, "no such user")
    assert (dead["claimed_by"], dead["attempts"]) == ("w", 1)


# -- cursors ---------------------------------------------------------------------------


def test_a_cursor_outlives_the_jobs_around_it(jobs: Jobs) -> None:
    for number in range(9):
        jobs.enqueue(run_after=1_600_000_000_000 + number * 1000)
    whole = jobs.list()["items"]
    first = jobs.list(per_page=3)
    for job in first["items"]:
        jobs.done("cancel", job)
        assert jobs.send("delete", job).status == 204
    rest = jobs.list(per_page=100, cursor=first["next_cursor"])["items"]
    assert rest == whole[3:]


def test_new_jobs_do_not_shift_a_cursor(jobs: Jobs) -> None:
    for number in range(6):
        jobs.enqueue(run_after=1_600_000_000_000 + number * 1000)
    whole = jobs.list()["items"]
    first = jobs.list(per_page=3)
    jobs.enqueue(run_after=1_650_000_000_000)
    jobs.enqueue(run_after=1_650_000_000_000, priority=9)
    assert jobs.list(cursor=first["next_cursor"])["items"] == whole[3:]


def test_the_same_cursor_again_is_the_same_page(many: Jobs) -> None:
    cursor = many.list(per_page=10)["next_cursor"]
    assert many.list(per_page=10, cursor=cursor) == many.list(per_page=10, cursor=cursor)
    assert (
        many.list(per_page=20, cursor=cursor)["items"][:10]
        == (many.list(per_page=10, cursor=cursor)["items"])
    )


def test_a_cursor_of_another_list_is_refused(many: Jobs, jobs: Jobs) -> None:
    jobs.enqueue()
    cursor = many.list(per_page=10)["next_cursor"]
    queued = many.list(per_page=3, status="queued")["next_cursor"]
    for path in (
        f"/jobs?queue={jobs.queue}&cursor={cursor}",
        f"/jobs?queue={many.queue}&order=asc&cursor={cursor}",
        f"/jobs?queue={many.queue}&status=running&cursor={queued}",
        f"/dlq?queue={many.queue}&cursor={queued}",
    ):
        answer = many.api.get(path)
        problem(answer, 422, "invalid_field")
        assert named_fields(answer) == {"cursor"}


def test_a_cursor_together_with_a_page_is_refused(many: Jobs) -> None:
    cursor = many.list(per_page=10)["next_cursor"]
    problem(many.api.get(f"/jobs?queue={many.queue}&page=2&cursor={cursor}"), 422)


def test_a_cursor_that_was_tampered_with_never_breaks_the_list(many: Jobs) -> None:
    cursor = many.list(per_page=10)["next_cursor"]
    tampered = [cursor[:length] for length in range(1, len(cursor))]
    tampered += [cursor + tail for tail in ("A", "AAAA", "!", "%00", cursor)]
    tampered += [cursor.swapcase(), cursor[::-1], "A" * len(cursor)]
    for given in tampered:
        answer = many.api.get(f"/jobs?queue={many.queue}&per_page=10&cursor={given}")
        if answer.status != 200:
            problem(answer, 422, "invalid_field")
            assert named_fields(answer) == {"cursor"}


def test_a_cursor_made_up_of_json_never_breaks_the_list(many: Jobs) -> None:
    cursor = many.list(per_page=10)["next_cursor"]
    fields = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    strange = [None, True, -1, 0, 1.5, 10**40, "", "x", "\ud800", [], {}, [1], {"a": 1}]
    made_up: list[object] = [*strange, [], fields[:-1], [*fields, 1], [[*fields]]]
    for place in range(len(fields)):
        made_up += [[*fields[:place], value, *fields[place + 1 :]] for value in strange]
    texts = [json.dumps(each) for each in made_up]
    texts += ["[" * 700, '{"a":' * 100, "9" * 700, '["desc",' + "9" * 600 + ',"x",1]', "NaN"]
    for text in texts:
        given = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
        answer = many.api.get(f"/jobs?queue={many.queue}&per_page=10&cursor={given}")
        if answer.status != 200:
            problem(answer, 422, "invalid_field")
            assert named_fields(answer) == {"cursor"}
