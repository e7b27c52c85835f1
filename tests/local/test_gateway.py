"""The gateway and the workers behind it."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from local.schedules import Schedules
from local.workers import MAX_WORKERS, InvocationError

if TYPE_CHECKING:
    from pathlib import Path

    from local.lambdas import Lambdas
    from tests.http.api import Answer, Api

PROBLEM = {"type": "about:blank", "title": "Internal Server Error", "status": 500}


def test_a_request_reaches_the_function(echo: Api) -> None:
    event = echo.post("/jobs/a%20b?x=1", {"n": 1}).json["event"]
    assert event["routeKey"] == "POST /jobs/{job_id}"
    assert event["pathParameters"] == {"job_id": "a b"}
    assert event["body"] == '{"n": 1}'


def test_a_route_without_parameters_wins(echo: Api) -> None:
    assert echo.post("/jobs/claim").json["event"]["routeKey"] == "POST /jobs/claim"
    assert echo.get("/api:job-retry/jobs").json["event"]["routeKey"] == "GET /api:job-retry/jobs"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/nothing"),
        ("GET", "/jobs/7"),
        ("POST", "/jobs/7/"),
        ("POST", "/jobs/7/more"),
        ("POST", "/jobs/%2F"),
        ("HEAD", "/api:job-retry/jobs"),
        ("OPTIONS", "/jobs/7"),
    ],
)
def test_any_other_route_is_api_gateways_404(echo: Api, method: str, path: str) -> None:
    answer = echo.request(method, path)
    assert answer.status == 404
    if method != "HEAD":
        assert answer.json == {"message": "Not Found"}


def test_a_function_has_its_environment_and_the_layer(echo: Api) -> None:
    environment = echo.post("/jobs/7").json["environment"]
    assert (environment["GREETING"], environment["TABLE"]) == ("hello", "Jobs")
    assert environment["PYTHONPATH"].endswith("layers/core")


def test_logs_are_shown_and_metrics_are_not(echo: Api, capfd: pytest.CaptureFixture[str]) -> None:
    assert echo.post("/jobs/7").status == 200
    assert capfd.readouterr() == ("", "a print is not an outcome\n")


@pytest.mark.parametrize("body", ["raise", "nonsense", "large", "crash", "hang"])
def test_a_function_that_fails_is_a_500_that_tells_nothing(echo: Api, body: str) -> None:
    answer = echo.post("/jobs/7", body=body)
    assert (answer.status, answer.json) == (500, PROBLEM)
    assert answer.headers["content-type"] == "application/problem+json"
    assert echo.post("/jobs/7").status == 200


@pytest.mark.parametrize("size", [6 * 1024 * 1024, 10 * 1024 * 1024 + 1, 20 * 1024 * 1024])
def test_a_body_over_the_limits_is_413(echo: Api, size: int) -> None:
    answer = echo.post("/jobs/7", body="x" * size)
    assert (answer.status, answer.json) == (413, {"message": "Request Entity Too Large"})


def test_a_body_under_the_limits_arrives_whole(echo: Api) -> None:
    assert len(echo.post("/jobs/7", body="x" * 6_000_000).json["event"]["body"]) == 6_000_000


def test_requests_run_side_by_side(echo: Api, tmp_path: Path) -> None:
    # All but the last wait for a file that only the last one creates.
    waiting = MAX_WORKERS - 1
    with ThreadPoolExecutor(waiting) as pool:
        answers = [
            pool.submit(echo.post, "/jobs/7", body=f"wait for {tmp_path / 'go'}")
            for _ in range(waiting)
        ]
        creator = echo.post("/jobs/7", body=f"create {tmp_path / 'go'}")
        statuses = [answer.result().status for answer in answers]
    # The time limit may end some on a busy machine, but never one that the others hold up.
    assert creator.status == 200
    assert set(statuses) <= {200, 500}
    assert 200 in statuses


def test_a_crash_takes_no_other_request_with_it(echo: Api, tmp_path: Path) -> None:
    answers: list[Answer] = []
    waiting = threading.Thread(
        target=lambda: answers.append(echo.post("/jobs/7", body=f"wait for {tmp_path / 'go'}"))
    )
    waiting.start()
    assert echo.post("/jobs/7", body="crash").status == 500
    (tmp_path / "go").touch()
    waiting.join()
    assert answers[0].status == 200


def test_a_worker_that_was_killed_while_idle_is_replaced(echo: Api) -> None:
    pid = echo.post("/jobs/7").json["pid"]
    os.kill(pid, 9)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert echo.post("/jobs/7").json["pid"] != pid


def test_schedules_run_by_hand(template: dict[str, Any], lambdas: Lambdas) -> None:
    Schedules(template, lambdas).run_all()


def test_a_schedule_that_fails_tells_so(
    template: dict[str, Any], lambdas: Lambdas, project: Path
) -> None:
    (project / "echo/handler.py").write_text("def lambda_handler(event, context): raise ValueError")
    with pytest.raises(InvocationError, match="EchoFunction raised ValueError"):
        Schedules(template, lambdas).run_all()


def test_after_closing_nothing_runs(lambdas: Lambdas) -> None:
    pid = lambdas.invoke("EchoFunction", {})["pid"]
    lambdas.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(InvocationError, match="stopping"):
        lambdas.invoke("EchoFunction", {})
