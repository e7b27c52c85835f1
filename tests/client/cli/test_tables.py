"""Lists of jobs on terminals of all widths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len
from rich.console import Console

from job_retry_client.cli.fitting import fitted
from job_retry_client.cli.session import Session
from tests.client.cli.fakes import FakeQueue, job, page

if TYPE_CHECKING:
    from job_retry_client.transports.base import Answer, Request

IDS = (246993876254721, 246993876254722)
ERROR = "ConnectionRefusedError: [Errno 111] Connection refused by smtp.example.com " * 9
DEAD = job(
    IDS[0],
    status="dead",
    job_type="send_welcome_email",
    attempts=5,
    last_error=ERROR,
    run_after="2030-01-02T03:00:03.000Z",
)
RUNNING = job(
    IDS[1],
    status="running",
    job_type="send_welcome_email",
    attempts=2,
    last_error=ERROR,
    run_after="2030-01-02T03:18:54.000Z",
)


def answer(request: Request) -> Answer:
    """Return the page of a status, or of all."""
    jobs = {"dead": [DEAD], "running": [RUNNING], None: [DEAD, RUNNING]}
    return page(*jobs.get(request.query.get("status"), []))


def shown(monkeypatch: pytest.MonkeyPatch, width: int, *arguments: str) -> list[str]:
    """Return the lines on a terminal of a width."""
    console = Console(force_terminal=True, color_system=None, width=width, markup=False)
    monkeypatch.setattr(Session, "out", console)
    queue = FakeQueue({"GET /jobs": answer}).on("GET /dlq", page(DEAD))
    with console.capture() as capture:
        assert queue.run(*arguments).exit_code == 0
    return capture.get().splitlines()


@pytest.mark.parametrize("width", [60, 80, 100, 140])
@pytest.mark.parametrize("command", [("list",), ("dlq", "list"), ("watch", "--once")])
def test_what_matters_is_whole_beside_a_long_error(
    monkeypatch: pytest.MonkeyPatch, width: int, command: tuple[str, ...]
) -> None:
    lines = shown(monkeypatch, width, *command)
    assert all(cell_len(line) <= width for line in lines)
    row = next(line for line in lines if line.startswith(str(IDS[0])))
    assert row.split()[:2] == [str(IDS[0]), "dead"]
    assert " default " in row or "def… " in row
    assert " 5/5 " in row
    if command != ("dlq", "list"):
        row = next(line for line in lines if line.startswith(str(IDS[1])))
        assert row.split()[1] == "running"
        assert " 2/5 " in row
    if width > 60:  # else in several lines
        assert "4 min 2 s ago" in "\n".join(lines)
        assert command == ("dlq", "list") or "lease ends in 14 min 49 s" in row


def test_an_error_gets_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    row = shown(monkeypatch, 140, "dlq", "list")[2]
    assert " send_welcome_email " in row
    assert row.endswith("…")
    assert "ConnectionRefusedError: [Errno 111] Connection refused by" in row
    assert len(row) == 140


def test_an_error_is_left_out_where_too_little_of_it_would_be_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "Last error" in shown(monkeypatch, 80, "dlq", "list")[0]
    assert "Last error" not in shown(monkeypatch, 70, "dlq", "list")[0]


NATURAL = {
    "ID": 15,
    "Status": 7,
    "Queue": 7,
    "Type": 18,
    "Attempts": 8,
    "When": 24,
    "Last error": 500,
}
WHOLE = ("ID", "Status", "Attempts")


@pytest.mark.parametrize("room", range(46, 700, 3))
def test_the_columns_fill_the_room_and_no_more(room: int) -> None:
    widths = fitted(NATURAL, room)
    total = sum(widths.values()) + 2 * (len(widths) - 1)
    assert total <= room
    assert all(widths[name] == NATURAL[name] for name in WHOLE)
    assert all(width <= NATURAL[name] for name, width in widths.items())
    if "Last error" in widths:
        assert total == min(room, sum(NATURAL.values()) + 12)


def test_names_are_cut_only_where_they_must_be() -> None:
    assert fitted(NATURAL, 1000) == NATURAL
    assert fitted(NATURAL, 101) == {**NATURAL, "Last error": 10}
    assert fitted(NATURAL, 100) == {**NATURAL, "Type": 17, "Last error": 10}
    without = {name: width for name, width in NATURAL.items() if name != "Last error"}
    assert fitted(NATURAL, 90) == without
    assert fitted(NATURAL, 80) == {**without, "Type": 9}
    assert fitted(NATURAL, 60) == {**without, "Queue": 4, "Type": 4, "When": 12}


def test_a_terminal_too_narrow_for_all_of_it_folds_and_loses_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = shown(monkeypatch, 30, "dlq", "list")
    assert all(cell_len(line) <= 30 for line in lines)
    digits = "".join(line.split(" ")[0] for line in lines[2:])
    assert str(IDS[0]) in digits
