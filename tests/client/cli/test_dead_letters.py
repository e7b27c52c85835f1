"""``dlq``: by ids, or all."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from job_retry_client import NoAnswerError
from job_retry_client.cli.parallel import mapped
from tests.client.cli.fakes import FakeQueue, answered, job, lines, page, problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from job_retry_client.transports.base import Answer, Request

REQUEUE = "POST /dlq/{job_id}/requeue"


def dead(*job_ids: int) -> list[dict[str, object]]:
    return [job(each, status="dead") for each in job_ids]


def requeued(request: Request) -> Answer:
    """Requeue a job; those over 900 have something wrong with them."""
    job_id = int(request.parameters["job_id"])
    wrong = {
        901: problem(404, "not_found"),
        902: problem(409, "not_dead"),
        903: problem(409, "key_taken"),
        904: problem(403, ""),
    }
    return wrong.get(job_id) or answered(200, job(job_id))


@pytest.fixture
def queue() -> FakeQueue:
    """A queue with three dead letters on two pages."""
    queue = FakeQueue({REQUEUE: requeued})
    return queue.on("GET /jobs", page(*dead(1, 2), next_cursor="c"), page(*dead(3)))


def ids(queue: FakeQueue, route: str = "requeue") -> list[int]:
    asked = [each for each in queue.requests if each.operation.function.startswith(route)]
    return sorted(int(each.parameters["job_id"]) for each in asked)


def test_a_page_of_dead_letters() -> None:
    queue = FakeQueue().on("GET /dlq", page(*dead(1)))
    done = queue.run("dlq", "list", "--queue", "q", "--type", "mail", "--json")
    assert lines(done.stdout) == dead(1)
    assert queue.requests[0].query == {"queue": "q", "job_type": "mail", "order": "desc"}


def test_all_dead_letters(queue: FakeQueue) -> None:
    done = queue.run("dlq", "list", "--all", "--json")
    assert lines(done.stdout) == dead(1, 2, 3)
    assert queue.requests[0].query["status"] == "dead"


def test_requeue_by_ids(queue: FakeQueue) -> None:
    done = queue.run("dlq", "requeue", "1", "2", "2", "--run-after", "+1m")
    assert (done.exit_code, done.stderr) == (0, "2 requeued\n")
    assert ids(queue) == [1, 2]
    assert queue.bodies == [{"run_after": "2030-01-02T03:05:05+00:00"}] * 2


def test_one_of_the_ids_that_is_wrong_does_not_hold_up_the_others(queue: FakeQueue) -> None:
    done = queue.run("dlq", "requeue", "1", "902", "901", "2", "--json")
    assert done.exit_code == 4  # of the first that was not done
    assert [each["id"] for each in lines(done.stdout)] == [1, 2]
    first, second, counts = lines(done.stderr)
    assert (first["job"], first["code"]) == (902, "not_dead")
    assert (second["job"], second["code"]) == (901, "not_found")
    assert counts == {"requeued": 2, "failed": 2}


def test_requeue_all_that_the_filters_leave(queue: FakeQueue) -> None:
    done = queue.run("dlq", "requeue", "--all", "--yes", "--queue", "q", "--type", "mail")
    assert (done.exit_code, done.stderr) == (0, "3 requeued\n")
    assert ids(queue) == [1, 2, 3]
    asked = next(each.query for each in queue.requests if each.query)
    assert (asked["status"], asked["queue"], asked["job_type"]) == ("dead", "q", "mail")
    assert asked["order"] == "desc"  # what dies again meanwhile is not met again


def test_all_is_asked_about_first(queue: FakeQueue) -> None:
    done = queue.run("dlq", "requeue", "--all", stdin="n\n")
    assert done.exit_code == 1
    assert "Requeue 3 dead letters?" in done.stderr
    assert ids(queue) == []
    queue.on("GET /jobs", page(*dead(1, 2, 3)))
    assert queue.run("dlq", "requeue", "--all", stdin="y\n").exit_code == 0
    assert ids(queue) == [1, 2, 3]


def test_one_is_asked_about_in_the_singular() -> None:
    queue = FakeQueue({REQUEUE: requeued}).on("GET /jobs", page(*dead(1)))
    done = queue.run("dlq", "requeue", "--all", stdin="what\nyes\n")
    assert (done.exit_code, ids(queue)) == (0, [1])
    assert done.stderr.count("Requeue 1 dead letter? [y/N]: ") == 2


def interrupted() -> str:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("stdin", "code"), [(SimpleNamespace(readline=interrupted), 130), (None, 1)]
)
@pytest.mark.parametrize("verb", ["requeue", "delete"])
def test_ctrl_c_is_no_answer_and_a_closed_input_a_no(
    queue: FakeQueue,
    monkeypatch: pytest.MonkeyPatch,
    stdin: SimpleNamespace | None,
    code: int,
    verb: str,
) -> None:
    monkeypatch.setattr("job_retry_client.cli.asking.sys", SimpleNamespace(stdin=stdin))
    assert queue.run("dlq", verb, "--all").exit_code == code
    assert {each.operation.function for each in queue.requests} == {"list-jobs"}


def test_of_very_many_not_all_are_counted_first() -> None:
    queue = FakeQueue().on("GET /jobs", page(*dead(*range(1, 101)), next_cursor="c"))
    assert "over 100 dead letters?" in queue.run("dlq", "delete", "--all", stdin="n\n").stderr
    assert len(queue.requests) == 2


def test_nobody_to_ask_is_a_no(queue: FakeQueue) -> None:
    assert queue.run("dlq", "delete", "--all").exit_code == 1
    assert {each.operation.function for each in queue.requests} == {"list-jobs"}


def test_no_dead_letters_at_all_is_no_error() -> None:
    queue = FakeQueue().on("GET /jobs", page())
    assert queue.run("dlq", "requeue", "--all").stderr == "0 requeued\n"


def test_a_job_that_is_gone_meanwhile_is_counted() -> None:
    queue = FakeQueue({REQUEUE: requeued}).on("GET /jobs", page(*dead(1, 901, 902, 2)))
    done = queue.run("dlq", "requeue", "--all", "--yes", "--json")
    assert done.exit_code == 0
    assert [each["id"] for each in lines(done.stdout)] == [1, 2]
    assert lines(done.stderr) == [{"requeued": 2, "gone_meanwhile": 2}]


def test_a_job_whose_key_is_taken_is_told() -> None:
    queue = FakeQueue({REQUEUE: requeued}).on("GET /jobs", page(*dead(1, 903, 2)))
    done = queue.run("dlq", "requeue", "--all", "--yes")
    assert done.exit_code == 4
    assert done.stderr == "job-retry: job 903: it is key_taken (key_taken)\n2 requeued, 1 failed\n"


def test_what_every_job_would_meet_ends_it() -> None:
    queue = FakeQueue({REQUEUE: requeued}).on("GET /jobs", page(*dead(904, *range(1, 90))))
    done = queue.run("dlq", "requeue", "--all", "--yes", "--parallel", "2")
    assert done.exit_code == 1
    assert len(ids(queue)) <= 2 * 2
    assert done.stderr.splitlines()[-1] == f"{len(ids(queue)) - 1} requeued, 1 failed (stopped)"


def test_no_answer_ends_it() -> None:
    def silent(_: Request) -> Answer:
        raise NoAnswerError("gone", was_sent=True)

    queue = FakeQueue({REQUEUE: silent}).on("GET /jobs", page(*dead(*range(1, 90))))
    done = queue.run("dlq", "requeue", "--all", "--yes", "--parallel", "2")
    assert done.exit_code == 6
    assert len(ids(queue)) <= 2 * 2


def test_ctrl_c_tells_how_far_it_came() -> None:
    def listed(request: Request) -> Answer:
        if "cursor" in request.query:
            raise KeyboardInterrupt
        return page(*dead(*range(1, 21)), next_cursor="c")

    queue = FakeQueue({REQUEUE: requeued, "GET /jobs": listed})
    done = queue.run("dlq", "requeue", "--all", "--yes", "--parallel", "1")
    assert done.exit_code == 130
    assert done.stderr.startswith("19 requeued (interrupted")


def test_delete_leaves_what_is_no_dead_letter() -> None:
    def found(request: Request) -> Answer:
        job_id = int(request.parameters["job_id"])
        return answered(200, job(job_id, status="completed" if job_id == 2 else "dead"))

    queue = FakeQueue({"GET /jobs/{job_id}": found}).on("DELETE /jobs/{job_id}", answered(204))
    done = queue.run("dlq", "delete", "1", "2", "3")
    assert done.exit_code == 4
    assert ids(queue, "delete") == [1, 3]
    assert "job 2 is completed, and no dead letter" in done.stderr

    queue.on("GET /jobs", page(*dead(1, 2, 3)))
    done = queue.run("dlq", "delete", "--all", "--yes")
    assert (done.exit_code, done.stderr) == (0, "2 deleted, 1 gone meanwhile\n")


@pytest.mark.parametrize("arguments", [[], ["7", "--all"], ["7", "--queue", "q"]])
@pytest.mark.parametrize("verb", ["requeue", "delete"])
def test_either_ids_or_all(verb: str, arguments: list[str]) -> None:
    assert FakeQueue().run("dlq", verb, *arguments).exit_code == 2


def test_so_many_at_a_time_and_no_more() -> None:
    together = threading.Barrier(3)
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(9):
            taken.append(number)
            yield number

    def call(number: int) -> int:
        together.wait(timeout=60)  # needs three at once to go on
        return -number

    results = mapped(call, items(), 3)
    assert next(results) == (0, 0)
    assert len(taken) == 2 * 3  # the rest waits until somebody wants it
    assert list(results) == [(number, -number) for number in range(1, 9)]
