"""A job's way from enqueue to complete as a script goes it, against the local server."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from local.engine import why_no_dynoxide
from local.ports import free_port
from tests.client.cli.shell import in_shell
from tests.conftest import skip_unless_ci
from tests.local.processes import LocalRun

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCRIPT = """
for number in 1 2 3; do
  printf '{"payload": {"number": %d}}\\n' "$number"
done | job-retry enqueue mail --max-attempts 1 --many - --json >enqueued
test "$(jq -c .payload.number enqueued | paste -sd,)" = 1,2,3

while job=$(job-retry claim --worker-id first --json); do
  job-retry fail "$(jq .id <<<"$job")" 'provider 5xx' --token "$(jq -r .lease_token <<<"$job")" >&2
done
test "$(job-retry list --status queued --json | wc -l)" = 0

test "$(job-retry dlq list --json | jq -r .last_error | sort -u)" = 'provider 5xx'
job-retry dlq requeue --all --queue default --yes --json | jq .id | sort >requeued
jq .id enqueued | sort | diff - requeued

while job=$(job-retry claim --worker-id second --json); do
  id=$(jq .id <<<"$job")
  jq .payload <<<"$job" | job-retry complete "$id" - --token "$(jq -r .lease_token <<<"$job")" >&2
done

job-retry get "$id" --json
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRun]:
    """A server as `make start` makes it."""
    if missing := [tool for tool in ("bash", "jq") if shutil.which(tool) is None]:
        skip_unless_ci(f"not installed: {', '.join(missing)}")
    if reason := why_no_dynoxide():
        skip_unless_ci(reason)
    with LocalRun(tmp_path_factory.mktemp("cli"), free_port()) as running:
        yield running


def run(server: LocalRun, script: str, tmp_path: Path) -> str:
    """Return what a script prints; it must succeed."""
    done = in_shell("set -euo pipefail\n" + script, server.url, tmp_path)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_whole_way(server: LocalRun, tmp_path: Path) -> None:
    job = json.loads(run(server, SCRIPT, tmp_path))
    assert (job["status"], job["claimed_by"]) == ("completed", "second")
    assert job["result"] == job["payload"]
    assert [each["error"] for each in job["history"]] == ["provider 5xx"]


WORKER = """
from job_retry_client import JobQueue, Worker

worker = Worker(JobQueue.connect(), "sums")


@worker.handler("sum")
def add(context):
    return sum(context.payload)
"""

WORK = """
id=$(job-retry enqueue sum '[1, 2, 3]' --queue sums --json | jq .id)
test "$(job-retry worker run sums:worker --until-idle --json | jq .completed)" = 1
job-retry get "$id" --json
"""


def test_a_worker(server: LocalRun, tmp_path: Path) -> None:
    (tmp_path / "sums.py").write_text(WORKER)
    job = json.loads(run(server, WORK, tmp_path))
    assert (job["status"], job["result"]) == ("completed", 6)
