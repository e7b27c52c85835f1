"""``watch``."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from job_retry_client import AnswerError, NoAnswerError
from job_retry_client.cli.session import Session
from tests.client.cli.fakes import NOW, FakeQueue, job, lines, page

if TYPE_CHECKING:
    from typer.testing import Result

    from job_retry_client.transports.base import Answer, Request

PAGES = {
    "queued": page(
        job(1, run_after="2030-01-02T03:04:35Z", updated_at="2030-01-02T03:04:01Z"),
        job(2, updated_at="2030-01-02T03:04:02Z"),
        next_cursor="more",
    ),
    # it was queued when that page was made, and is running by now
    "running": page(
        job(
            1,
            status="running",
            attempts=1,
            run_after="2030-01-02T03:19:05Z",
            updated_at="2030-01-02T03:04:04Z",
        )
    ),
    "completed": page(),
    "dead": page(
        job(
            3,
            status="dead",
            attempts=5,
            last_error="provider 5xx",
            updated_at="2030-01-02T03:04:03Z",
        )
    ),
    "cancelled": page(),
}


def listing(request: Request) -> Answer:
    """Return the page of a status."""
    return PAGES[request.query["status"]]


@pytest.fixture
def queue() -> FakeQueue:
    """A queue with a few jobs."""
    return FakeQueue({"GET /jobs": listing})


FRAME = """\
default, 2030-01-02 03:04:05
Status Jobs
queued 2+ next is due in 30 s
running 1 first lease ends in 15 min
completed 0
dead 1 last one 1 min ago
cancelled 0
ID Status Queue Type Attempts When Last error
1 running default mail 1/5 lease ends in 15 min
3 dead default mail 5/5 1 min ago provider 5xx
2 queued default mail 0/5 due 1 min ago
"""


def test_a_frame(queue: FakeQueue) -> None:
    done = queue.run("watch", "--once")
    assert done.exit_code == 0
    words = (" ".join(re.sub("─+", "", line).split()) for line in done.stdout.splitlines())
    assert "\n".join(filter(None, words)) + "\n" == FRAME


def test_a_look_asks_for_a_short_page_of_each_state(queue: FakeQueue) -> None:
    queue.run("watch", "--once", "--queue", "mail", "--count-to", "7")
    assert len(queue.requests) == len(PAGES)
    assert {each.query["queue"] for each in queue.requests} == {"mail"}
    assert {each.query["per_page"] for each in queue.requests} == {"7"}
    assert {each.query["status"]: each.query["order"] for each in queue.requests} == {
        "queued": "asc",
        "running": "asc",
        "completed": "desc",
        "dead": "desc",
        "cancelled": "desc",
    }


def test_a_look_as_json(queue: FakeQueue) -> None:
    (frame,) = lines(queue.run("watch", "--once", "--json", "--rows", "2").stdout)
    assert frame["counts"] == {
        "queued": "2+",
        "running": "1",
        "completed": "0",
        "dead": "1",
        "cancelled": "0",
    }
    assert [each["id"] for each in frame["latest"]] == [1, 3]
    assert frame["at"] == NOW.isoformat()


def looks_until_ctrl_c(queue: FakeQueue, *arguments: str) -> tuple[int, str]:
    """Press Ctrl-C in the third pause."""

    def sleep(seconds: float) -> None:
        queue.slept.append(seconds)
        if len(queue.slept) == 3:
            raise KeyboardInterrupt

    queue.sleep = sleep
    done = queue.run("watch", "--interval", "2", *arguments)
    return done.exit_code, done.stdout


def test_where_nobody_looks_frames_are_printed_one_after_another(queue: FakeQueue) -> None:
    code, output = looks_until_ctrl_c(queue)
    assert (code, output.count("default, 2030-01-02 03:04:05")) == (0, 3)
    assert queue.slept == [2, 2, 2]


def test_ctrl_c_leaves_the_last_frame_on_the_terminal(
    queue: FakeQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    console = Console(force_terminal=True, width=100, height=40, legacy_windows=False)
    monkeypatch.setattr(Session, "out", console)
    with console.capture() as capture:
        code, _ = looks_until_ctrl_c(queue)
    shown = capture.get()
    assert code == 0
    assert shown.count("first lease ends") >= 3  # Live paints the last one again
    assert shown.endswith("\x1b[?25h")  # the cursor is back


# -- outages ---------------------------------------------------------------------------

GONE = NoAnswerError("nobody listens", was_sent=False)


def failing(queue: FakeQueue, *looks: int, error: Exception = GONE) -> FakeQueue:
    """Let the looks of these numbers fail, from 0."""
    number = 0

    def answer(request: Request) -> Answer:
        nonlocal number
        is_first = request.query["status"] == "queued"
        if is_first:
            number += 1
        if is_first and number - 1 in looks:
            raise error
        return listing(request)

    queue.routes["GET /jobs"] = answer
    return queue


def watched(queue: FakeQueue, pauses: int, *arguments: str) -> Result:
    """Press Ctrl-C in a pause; each pause takes a minute of the clock."""

    def sleep(_: float) -> None:
        queue.slept.append(0)
        if len(queue.slept) == pauses:
            raise KeyboardInterrupt

    queue.sleep = sleep
    queue.clock = lambda: NOW + timedelta(minutes=len(queue.slept))
    return queue.run("watch", *arguments)


def test_an_outage_is_told_and_lasted_out(queue: FakeQueue) -> None:
    done = watched(failing(queue, 1, 2, 4), 6)
    assert done.exit_code == 0
    times = re.findall("^default, 2030-01-02 (.*)", done.stdout, re.MULTILINE)
    assert times == ["03:04:05", "03:07:05", "03:09:05"]
    told = "job-retry: since 2030-01-02 {}: the queue did not answer: nobody listens"
    assert done.stderr.splitlines() == [
        told.format("03:05:05"),
        told.format("03:05:05"),
        told.format("03:08:05"),
    ]


def test_an_outage_as_json(queue: FakeQueue) -> None:
    done = watched(failing(queue, 1), 3, "--json")
    assert (done.exit_code, len(lines(done.stdout))) == (0, 2)
    (told,) = lines(done.stderr)
    assert (told["code"], told["since"]) == ("no_answer", "2030-01-02T03:05:05+00:00")


@pytest.mark.parametrize("form", [[], ["--once"]])
def test_a_first_look_that_fails_ends_it(queue: FakeQueue, form: list[str]) -> None:
    done = watched(failing(queue, 0), 3, *form)
    assert (done.exit_code, done.stdout, queue.slept) == (6, "", [])
    assert len(done.stderr.splitlines()) == 1


def test_on_a_terminal_the_trouble_stands_above_what_was_seen_last(
    queue: FakeQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    console = Console(
        force_terminal=True, width=100, height=40, legacy_windows=False, color_system=None
    )
    monkeypatch.setattr(Session, "out", console)
    with console.capture() as capture:
        done = watched(failing(queue, 1, 2, error=AnswerError(503, {"detail": "\x1b[busy"})), 3)
    assert done.exit_code == 0
    last = capture.get().rpartition("since ")[2].splitlines()
    assert last[0].startswith("2030-01-02 03:05:05: \\x1b[busy")
    assert last[1].startswith("default, 2030-01-02 03:04:05")
