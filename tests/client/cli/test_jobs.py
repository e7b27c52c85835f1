"""``get``, ``list``, ``cancel``, ``delete``, ``queue``."""

from __future__ import annotations

import pytest

from tests.client.cli.fakes import FakeQueue, answered, job, lines, page, problem

DEAD = job(
    status="dead",
    attempts=2,
    max_attempts=2,
    claimed_by="w1",
    claimed_at="2030-01-02T03:00:00.000Z",
    last_error="second",
    payload_bytes=5000,
    result={"ü": [1]},
    history=[
        {
            "attempt": number,
            "worker_id": "w1",
            "started_at": "2030-01-02T03:00:00.000Z",
            "ended_at": "2030-01-02T03:00:02.500Z",
            "error": error,
        }
        for number, error in ((1, "first"), (2, "second"))
    ],
)
del DEAD["payload"]


def test_a_job_is_shown_whole() -> None:
    done = FakeQueue().on("GET /jobs/{job_id}", answered(200, DEAD)).run("get", "7")
    assert done.exit_code == 0
    shown = [" ".join(line.split()) for line in done.stdout.splitlines()]
    for line in (
        "job 7",
        "attempts 2 of 2",
        "dead 2030-01-02 03:03:05, 1 min ago",
        "claimed by w1",
        "payload 5000 bytes; see job-retry get 7",
        '"ü": [',
        "last error second",
        "1 2030-01-02 03:00:00 2.5 s w1 first",
        "2 2030-01-02 03:00:00 2.5 s w1 second",
    ):
        assert line in shown


def test_a_job_as_json_is_the_answer_as_it_came() -> None:
    queue = FakeQueue().on("GET /jobs/{job_id}", answered(200, DEAD))
    assert lines(queue.run("--json", "get", "7").stdout) == [DEAD]
    assert lines(queue.run("get", "7", "--json").stdout) == [DEAD]


def test_a_page_of_a_list_and_the_way_to_the_next() -> None:
    jobs = [job(2**53 - 1), job(8, job_type="x" * 128, last_error="why\nwhy not")]
    queue = FakeQueue().on("GET /jobs", page(*jobs, next_cursor="more"))
    done = queue.run(
        *("list", "--status", "queued", "--queue", "q", "--type", "mail"),
        *("--order", "asc", "--per-page", "2", "--cursor", "here"),
    )
    assert done.exit_code == 0
    assert queue.requests[0].query == {
        "status": "queued",
        "queue": "q",
        "job_type": "mail",
        "order": "asc",
        "per_page": "2",
        "cursor": "here",
    }
    rows = [line.split() for line in done.stdout.splitlines() if line.strip()]
    assert " ".join(rows[2]) == "9007199254740991 queued default mail 0/5 due 1 min ago"
    assert " ".join(rows[3]) == f"8 queued default {'x' * 128} 0/5 due 1 min ago why"
    assert done.stderr == "there are more: --cursor more, or --all\n"


def test_a_list_as_json_is_a_job_a_line() -> None:
    queue = FakeQueue().on("GET /jobs", page(job(1), job(2), next_cursor="more"))
    done = queue.run("list", "--json")
    assert lines(done.stdout) == [job(1), job(2)]
    assert lines(done.stderr) == [{"next_cursor": "more"}]


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_all_pages(form: list[str]) -> None:
    queue = FakeQueue().on("GET /jobs", page(job(1), next_cursor="more"), page(job(2)))
    done = queue.run("list", "--all", *form)
    assert done.exit_code == 0
    ids = [each["id"] for each in lines(done.stdout)] if form else done.stdout.split()
    assert {1, 2} <= {int(each) for each in ids if str(each).isdigit()}
    assert [each.query.get("cursor") for each in queue.requests] == [None, "more"]


@pytest.mark.parametrize("command", [["list"], ["dlq", "list"]])
def test_all_is_no_page(command: list[str]) -> None:
    assert FakeQueue().run(*command, "--all", "--cursor", "c").exit_code == 2


def test_an_empty_list_is_no_error() -> None:
    done = FakeQueue().on("GET /jobs", page()).run("list")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "there are no such jobs\n")


def test_a_list_that_costs_too_much_says_what_helps() -> None:
    answer = problem(422, "too_costly", items=[], next_cursor="c")
    done = FakeQueue().on("GET /jobs", answer).run("list")
    assert done.exit_code == 1
    assert "--all" in done.stderr


def test_cancel_and_delete() -> None:
    queue = FakeQueue()
    queue.on("POST /jobs/{job_id}/cancel", answered(200, job(status="cancelled")))
    queue.on("DELETE /jobs/{job_id}", answered(204))
    assert queue.run("cancel", "7").stdout == "job 7 is cancelled\n"
    assert queue.run("delete", "7").stdout == "job 7 is deleted\n"
    assert queue.run("delete", "7", "--json").stdout == ""


SETTINGS = {
    "queue": "q",
    "priorities": [9, 0],
    "lanes": 4,
    "lanes_from": None,
    "max_attempts": None,
}


def test_the_settings_of_a_queue() -> None:
    queue = FakeQueue().on("GET /queues/{queue}", answered(200, SETTINGS))
    shown = [line.split() for line in queue.run("queue", "show", "q").stdout.splitlines()]
    assert ["priorities", "9,", "0"] in shown
    assert ["max", "attempts", "default"] in shown
    assert lines(queue.run("queue", "show", "q", "--json").stdout) == [SETTINGS]


def test_only_what_is_said_is_set_and_a_default_can_be_had_again() -> None:
    queue = FakeQueue().on("PUT /queues/{queue}", answered(200, SETTINGS))
    queue.run("queue", "set", "q", "--lanes", "4", "--max-attempts", "default")
    assert queue.bodies == [{"lanes": 4, "max_attempts": None}]


@pytest.mark.parametrize("arguments", [[], ["--lanes", "many"]])
def test_settings_that_are_none(arguments: list[str]) -> None:
    assert FakeQueue().run("queue", "set", "q", *arguments).exit_code == 2
