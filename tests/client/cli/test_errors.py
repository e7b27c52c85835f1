"""What goes wrong: one line, an exit code, never a traceback."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import BotoCoreError
from typer.testing import CliRunner

from job_retry_client import NoAnswerError
from job_retry_client.cli.app import app
from tests.client.cli.fakes import FakeQueue, answered, job, lines, page, problem

if TYPE_CHECKING:
    from job_retry_client.transports.base import Answer, Request


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (problem(422, "invalid_field"), 1),
        (problem(403, ""), 1),
        (problem(500, "internal"), 1),
        (problem(404, "not_found"), 3),
        (answered(404, {"message": "Not Found"}), 1),  # of another server
        (problem(409, "lease_lost"), 4),
        (problem(409, "not_running", job_status="dead"), 4),
        (problem(409, "key_reused"), 4),
        (problem(429, "throttled"), 6),
        (problem(503, "unavailable"), 6),
    ],
)
def test_exit_codes(answer: Answer, code: int) -> None:
    done = FakeQueue().on("GET /jobs/{job_id}", answer).run("get", "7")
    assert (done.exit_code, done.stdout) == (code, "")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("job-retry: ")


def test_an_error_as_json_is_the_problem_document() -> None:
    answer = problem(409, "not_dead", job_status="queued")
    done = FakeQueue().on("POST /dlq/{job_id}/requeue", answer).run("--json", "get", "7")
    queue = FakeQueue().on("GET /jobs/{job_id}", answer)
    done = queue.run("--json", "get", "7")
    assert done.stdout == ""
    assert lines(done.stderr) == [
        {"status": 409, "code": "not_dead", "detail": "it is not_dead", "job_status": "queued"}
    ]


@pytest.mark.parametrize("error", [NoAnswerError("refused\nit", was_sent=False), BotoCoreError()])
def test_no_answer_is_one_line(error: Exception) -> None:
    def fail(_: Request) -> Answer:
        raise error

    queue = FakeQueue({"GET /jobs": fail})
    done = queue.run("list")
    assert done.exit_code == (6 if isinstance(error, NoAnswerError) else 2)
    assert len(done.stderr.splitlines()) == 1
    assert len(lines(queue.run("list", "--json").stderr)) == 1


def test_ctrl_c_is_told_by_the_code() -> None:
    def interrupt(_: Request) -> Answer:
        raise KeyboardInterrupt

    assert FakeQueue({"GET /jobs": interrupt}).run("list").exit_code == 130


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["list"], "where is the queue?"),
        (["--url", "ftp://x", "list"], "is none of https"),
        (["list", "--url", "http://[x"], "http://[x"),
        (["list", "--url", "https://x", "--profile", "nobody"], "nobody"),
        (["--token", "t", "list", "--url", "http://x.example"], "not sent over http"),
    ],
)
def test_no_way_to_the_queue_is_wrong_usage(
    arguments: list[str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JOB_RETRY_URL", raising=False)
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_option_is_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOB_RETRY_URL", "gopher://environment")
    for arguments in (["--url", "ftp://option", "list"], ["list", "--url", "ftp://option"]):
        assert "ftp://option" in CliRunner().invoke(app, arguments).stderr
    assert "gopher://environment" in CliRunner().invoke(app, ["list"]).stderr


def test_text_of_others_neither_steers_the_terminal_nor_breaks_it() -> None:
    evil = job(last_error="[/red]\x1b]0;gotcha\x07 \ud800 [bold]", payload="\x9b31m")
    queue = FakeQueue().on("GET /jobs/{job_id}", answered(200, evil)).on("GET /jobs", page(evil))
    for arguments in (["get", "7"], ["list"], ["watch", "--once"]):
        done = queue.run(*arguments)
        assert done.exit_code == 0
        assert r"[/red]\x1b]0;gotcha\x07 \ud800 [bold]" in done.stdout
        assert all(each.isprintable() or each == "\n" for each in done.stdout)
    done = FakeQueue().on("GET /jobs", problem(422, "x", detail="\x1b[31m\n2")).run("list")
    assert done.stderr == "job-retry: \\x1b[31m 2 (x)\n"


SECRET = "s3cr3t"  # noqa: S105 - of no one


@pytest.mark.parametrize("token", [f"{SECRET}\nx", f"{SECRET}-жx", f"{SECRET}\udcff", " "])
@pytest.mark.parametrize("command", [["list"], ["enqueue", "mail"], ["enqueue", "--many", "-"]])
@pytest.mark.parametrize("address", ["http://127.0.0.1:1", "https://jobs.example"])
def test_a_token_that_is_none_is_told_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, token: str, command: list[str], address: str
) -> None:
    for given in (["--token", token], []):
        name = "--token" if given else "JOB_RETRY_TOKEN"
        monkeypatch.setenv("JOB_RETRY_TOKEN", "good" if given else token)
        for form in ([], ["--json"]):
            done = CliRunner().invoke(app, [*given, *command, *form, "--url", address])
            assert done.exit_code == 2
            (line,) = done.stderr.splitlines()
            assert name in line
            assert "is no bearer token" in line
            assert SECRET not in line


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["enqueue", "mail", "1", "--jitter", "nan"], "--jitter"),
        (["enqueue", "mail", "1", "--jitter", "-inf"], "--jitter"),
        (["enqueue", "mail", "--many", "-", "--jitter", "nan"], "--jitter"),
        (["enqueue", "mail", "--idempotency-key", "ключ"], "--idempotency-key"),
        (["enqueue", "mail", "--idempotency-key", "a\nb"], "--idempotency-key"),
        (["watch", "--interval", "inf"], "--interval"),
        (["watch", "--interval", "nan"], "--interval"),
        (["watch", "--interval", "1e300"], "--interval"),
    ],
)
def test_the_blame_is_on_the_right_option(arguments: list[str], name: str) -> None:
    queue = FakeQueue()
    done = queue.run(*arguments, stdin="{}")
    assert done.exit_code == 2
    assert f"Invalid value for {name}" in done.stderr.replace("'", "")
    assert queue.requests == []
