"""Times in requests and answers, and jobs that wait for theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.http.steps import Job, Jobs, moment, named_fields, problem, rfc3339, together

if TYPE_CHECKING:
    from tests.http.api import Api, LiveServer
    from tests.http.conftest import MakeServer

YEAR_SECONDS = 365 * 24 * 3600
NOT_A_MOMENT: list[object] = [
    "2030-01-01T00:00:00",  # no offset: whose midnight?
    "2030-01-01 00:00:00",
    "2030-01-01",
    "2030-02-30T00:00:00Z",
    "2030-02-29T00:00:00Z",
    "2030-13-01T00:00:00Z",
    "2030-00-01T00:00:00Z",
    "2030-01-00T00:00:00Z",
    "2030-01-01T25:00:00Z",
    "2030-01-01T00:60:00Z",
    "2030-01-01T00:00:61Z",
    "2030-01-01T00:00Z",
    "2030-01-01T00:00:00.Z",
    "2030-01-01T00:00:00,5Z",
    "2030-01-01T00:00:00+0200",
    "2030-01-01T00:00:00+02",
    "2030-01-01T00:00:00+99:99",
    "2030-01-01T00:00:00+24:00",
    "2030-01-01T00:00:00Z ",
    " 2030-01-01T00:00:00Z",
    "2030-01-01T00:00:00Z\n",
    "20300101T000000Z",
    "2030-W01-1T00:00:00Z",
    "2030-1-1T0:0:0Z",
    "٢٠٣٠-01-01T00:00:00Z",
    "+2030-01-01T00:00:00Z",
    "0000-01-01T00:00:00Z",
    "0001-01-01T00:00:00+23:59",
    "1969-12-31T23:59:59Z",
    "9999-12-31T23:59:59-01:00",
    "10000-01-01T00:00:00Z",
    "tomorrow",
    "now",
    "",
    "1893456000000",
    1893456000,  # looks like seconds
    99_999_999_999,
    1,
    0,
    -1,
    -1893456000000,
    253_402_300_800_000,  # the year 10000
    10**15,
    2**63,
    10**30,
    1893456000000.5,
    1e300,
    True,
    False,
    [],
    {},
    [1893456000000],
]


@pytest.fixture(scope="module")
def server(make_server: MakeServer) -> LiveServer:
    """A server of this module's own: a schedule's run looks at every queue there ever was."""
    return make_server()


@pytest.fixture
def jobs(api: Api, queue: str) -> Jobs:
    """A queue of its own."""
    return Jobs(api, queue)


@pytest.mark.parametrize("given", NOT_A_MOMENT, ids=repr)
def test_what_is_no_moment_is_refused(jobs: Jobs, given: object) -> None:
    answer = jobs.send("enqueue", job_type="t", queue=jobs.queue, run_after=given)
    problem(answer, 422, "invalid_field")
    assert named_fields(answer) == {"run_after"}
    assert jobs.list()["items"] == []


@pytest.mark.parametrize(("verb", "status"), [("release", "running"), ("requeue", "dead")])
def test_what_is_no_moment_is_refused_everywhere(jobs: Jobs, verb: str, status: str) -> None:
    job = jobs.in_status(status)
    before = jobs.get(job)
    for given in NOT_A_MOMENT:
        answer = jobs.send(verb, job, run_after=given)
        problem(answer, 422, "invalid_field")
        assert named_fields(answer) == {"run_after"}, given
    assert jobs.get(job) == before


MOMENTS: list[tuple[object, str]] = [
    ("2030-01-01T00:00:00Z", "2030-01-01T00:00:00.000Z"),
    ("2030-01-01T00:00:00+02:00", "2029-12-31T22:00:00.000Z"),
    ("2030-01-01T00:00:00-02:00", "2030-01-01T02:00:00.000Z"),
    ("2030-01-01T05:45:00+05:45", "2030-01-01T00:00:00.000Z"),
    ("2030-01-01T00:00:00-00:00", "2030-01-01T00:00:00.000Z"),
    ("2030-01-01T23:59:00+23:59", "2030-01-01T00:00:00.000Z"),
    ("2030-01-01t00:00:00z", "2030-01-01T00:00:00.000Z"),
    ("2030-01-01T00:00:00.45Z", "2030-01-01T00:00:00.450Z"),
    ("2030-01-01T00:00:00.5Z", "2030-01-01T00:00:00.500Z"),
    ("2030-01-01T00:00:00.123456789Z", "2030-01-01T00:00:00.123Z"),
    ("2032-02-29T12:00:00Z", "2032-02-29T12:00:00.000Z"),
    ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
    (1893456000000, "2030-01-01T00:00:00.000Z"),
    (1893456000001, "2030-01-01T00:00:00.001Z"),
    (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
    (100_000_000_000, "1973-03-03T09:46:40.000Z"),
]


@pytest.mark.parametrize(("given", "shown"), MOMENTS, ids=repr)
def test_a_moment_is_stored_as_utc_milliseconds(jobs: Jobs, given: object, shown: str) -> None:
    job = jobs.enqueue(run_after=given)
    assert job["run_after"] == shown
    assert jobs.get(job)["run_after"] == shown
    assert [each["run_after"] for each in jobs.list()["items"]] == [shown]


@pytest.mark.parametrize(("verb", "status"), [("release", "running"), ("requeue", "dead")])
@pytest.mark.parametrize("given", ["2033-01-01T02:00:00+02:00", 1988150400000])
def test_when_may_be_said_later_too(jobs: Jobs, verb: str, status: str, given: object) -> None:
    job = jobs.done(verb, jobs.in_status(status), run_after=given)
    assert (job["status"], job["run_after"]) == ("queued", "2033-01-01T00:00:00.000Z")
    jobs.claim_none()


def test_null_is_at_once(jobs: Jobs) -> None:
    job = jobs.enqueue(run_after=None)
    assert job["run_after"] == job["created_at"]
    jobs.done("release", jobs.claim(), run_after=None, delay_seconds=None)
    jobs.done("fail", jobs.claim(), error="e", retry=False)
    jobs.done("requeue", job, run_after=None)
    jobs.claim()


@pytest.mark.parametrize(
    "past", ["2001-01-01T00:00:00Z", "1973-03-04T00:00:00+01:00", 100_000_000_000]
)
def test_a_moment_in_the_past_is_at_once(jobs: Jobs, past: object) -> None:
    job = jobs.enqueue(run_after=past)
    assert jobs.claim()["id"] == job["id"]
    jobs.done("release", job, run_after=past)
    assert jobs.claim()["id"] == job["id"]
    jobs.done("fail", job, error="e", retry=False)
    jobs.done("requeue", job, run_after=past)
    assert jobs.claim()["id"] == job["id"]


def test_fractions_of_a_second_are_compared_as_numbers(jobs: Jobs) -> None:
    written = ["2020-01-01T00:00:00Z", "2020-01-01T00:00:00.45Z", "2020-01-01T00:00:00.5Z"]
    due = {at: jobs.enqueue(run_after=at)["id"] for at in reversed(written)}
    assert [jobs.claim()["id"] for _ in written] == [due[at] for at in written]


def test_offsets_are_compared_as_moments(jobs: Jobs) -> None:
    written = [
        "2020-01-01T12:00:00+14:00",
        "2019-12-31T23:00:00Z",
        "2019-12-31T18:30:00-05:00",
        1577836800000,
    ]
    due = {at: jobs.enqueue(run_after=at)["id"] for at in reversed(written)}
    assert [jobs.claim()["id"] for _ in written] == [due[at] for at in written]


def test_now_is_the_servers_time(jobs: Jobs, server: LiveServer) -> None:
    earliest = server.now_ms()
    job = jobs.enqueue()
    assert job["created_at"] == job["updated_at"] == job["run_after"]
    latest = server.now_ms()
    assert earliest <= moment(job["created_at"]) <= latest
    server.advance(1000)
    claimed = jobs.claim()
    for name in ("claimed_at", "last_attempted_at", "updated_at"):
        assert earliest + 1_000_000 <= moment(claimed[name]) <= server.now_ms()
    assert claimed["created_at"] == job["created_at"]
    server.advance(100)
    dead = jobs.done("fail", claimed, error="e", retry=False)
    assert moment(dead["died_at"]) >= moment(claimed["claimed_at"]) + 100_000
    assert dead["last_attempted_at"] == claimed["claimed_at"]


# -- jobs that wait --------------------------------------------------------------------


@pytest.mark.parametrize("workers", [3, 8])
def test_a_delay_longer_than_the_lease_delivers_once(
    jobs: Jobs, server: LiveServer, workers: int
) -> None:
    job = jobs.enqueue(run_after=rfc3339(server.now_ms() + 60_000), lease_seconds=2)

    def poll() -> list[Job]:
        answers = together([jobs.ask] * workers)
        return [answer["job"] for answer in answers if answer["claimed"]]

    assert poll() == []
    server.advance(10)
    server.run_schedules()
    assert poll() == []
    server.advance(30)
    assert poll() == []
    server.advance(21)
    assert [each["id"] for each in poll()] == [job["id"]]
    jobs.done("complete", job)
    server.advance(10)
    server.run_schedules()
    assert poll() == []
    assert jobs.get(job)["attempts"] == 1


def test_a_waiting_job_becomes_due_by_itself(jobs: Jobs, server: LiveServer) -> None:
    job = jobs.enqueue(run_after=server.now_ms() + 3600_000)
    jobs.claim_none()
    server.advance(3590)
    jobs.claim_none()
    server.advance(11)
    assert jobs.claim()["id"] == job["id"]


def test_the_advice_when_to_come_back_leads_to_the_job(jobs: Jobs, server: LiveServer) -> None:
    job = jobs.enqueue(run_after=server.now_ms() + 7000)
    waited = 0.0
    while not (answer := jobs.ask())["claimed"]:
        assert 0 < answer["retry_after_seconds"] <= 20
        server.advance(answer["retry_after_seconds"])
        waited += answer["retry_after_seconds"]
        assert waited < 30
    assert answer["job"]["id"] == job["id"]
    assert waited <= 7


def test_the_advice_never_keeps_a_worker_away_for_long(jobs: Jobs) -> None:
    assert 0 < jobs.claim_none()["retry_after_seconds"] <= 20
    jobs.enqueue(run_after="2099-01-01T00:00:00Z")
    assert 0 < jobs.claim_none()["retry_after_seconds"] <= 20


def test_the_advice_looks_at_every_priority_and_queue(jobs: Jobs, server: LiveServer) -> None:
    other = Jobs(jobs.api, f"{jobs.queue}-b")
    jobs.enqueue(run_after=server.now_ms() + 3600_000, priority=9)
    jobs.enqueue(run_after=server.now_ms() + 15_000, priority=0)
    other.enqueue(run_after=server.now_ms() + 4000)
    assert jobs.claim_none()["retry_after_seconds"] <= 15
    assert jobs.ask(queues=[jobs.queue, other.queue])["retry_after_seconds"] <= 4


# -- seconds that are no seconds -------------------------------------------------------

NOT_SECONDS: list[object] = [-1, -0.5, 0.5, "5", "", True, [], {}, 1e15, 10**15, 10**30]


@pytest.mark.parametrize("given", [*NOT_SECONDS, None, 604_801], ids=repr)
def test_what_is_no_backoff_is_refused(jobs: Jobs, given: object) -> None:
    answer = jobs.send("enqueue", job_type="t", queue=jobs.queue, backoff_seconds=given)
    problem(answer, 422, "invalid_field")
    assert named_fields(answer) == {"backoff_seconds"}
    assert jobs.list()["items"] == []


@pytest.mark.parametrize(
    ("verb", "name", "most", "more"),
    [
        ("fail", "retry_in_seconds", YEAR_SECONDS, {"error": "e"}),
        ("release", "delay_seconds", YEAR_SECONDS, {}),
        ("heartbeat", "lease_seconds", 43_200, {}),
    ],
)
def test_what_are_no_seconds_is_refused(
    jobs: Jobs, verb: str, name: str, most: int, more: dict[str, object]
) -> None:
    job = jobs.in_status("running")
    before = jobs.get(job)
    for given in (*NOT_SECONDS, most + 1):
        answer = jobs.send(verb, job, **more, **{name: given})
        problem(answer, 422, "invalid_field")
        assert named_fields(answer) == {name}, given
    assert jobs.get(job) == before
    jobs.done(verb, job, **more, **{name: most})
