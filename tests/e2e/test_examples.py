"""The examples, run as their own comments say."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from job_retry_client import JobQueue
from local.ports import free_port
from local.template import REPOSITORY
from tests.client.server import Reply, ReplyingServer
from tests.client.signatures import SECRET, signature
from tests.conftest import skip_unless_ci
from tests.local.processes import LocalRun, Program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EXAMPLES = REPOSITORY / "examples"

WORK = """#!/bin/sh
case $1 in
bad) echo "no luck" >&2 && exit 3 ;;
deaf) echo done ;; # without a look at its input
huge) head -c 300000 /dev/zero | tr '\\0' x ;;
*) cat ;;
esac
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRun]:
    """A server as `make start` makes it."""
    with LocalRun(tmp_path_factory.mktemp("data"), free_port()) as running:
        yield running


@pytest.fixture
def queue(run: LocalRun) -> JobQueue:
    return JobQueue.connect(run.url)


def test_the_bash_worker(run: LocalRun, queue: JobQueue, tmp_path: Path) -> None:
    if shutil.which("jq") is None or shutil.which("curl") is None:
        skip_unless_ci("not installed: curl, jq")
    work = tmp_path / "work.sh"
    work.write_text(WORK)
    work.chmod(0o755)
    good = queue.enqueue("good", {"text": 'with "quotes" and ünïcode'}, queue="bash")
    bad, huge = (queue.enqueue(kind, queue="bash", max_attempts=1) for kind in ("bad", "huge"))
    deaf = [queue.enqueue("deaf", queue="bash", max_attempts=1) for _ in range(5)]
    subprocess.run(
        [EXAMPLES / "bash-worker/worker.sh", work],
        env={**os.environ, "JOB_RETRY_URL": run.url, "QUEUE": "bash", "UNTIL_IDLE": "1"},
        check=True,
    )
    done, dead = queue.get(good), queue.get(bad)
    assert done.status == "completed"
    assert json.loads(done.result) == good.payload
    assert (dead.status, dead.last_error) == ("dead", "exit code 3: no luck")
    assert {queue.get(job).result for job in deaf} == {"done\n"}
    refused = queue.get(huge).last_error or ""
    assert refused.startswith("the result was refused")
    assert "limit is 262,144" in refused


def test_the_python_worker(run: LocalRun, queue: JobQueue) -> None:
    contacts = [{"name": f"contact {number}"} for number in range(250)]
    jobs = [
        queue.enqueue("send_welcome_email", {"user_id": 42}),
        queue.enqueue("send_welcome_email", {"user_id": 1}),
        queue.enqueue("send_welcome_email", {"user_id": 43}),
        queue.enqueue("import_contacts", {"contacts": contacts}),
    ]
    with Program(
        [sys.executable, str(EXAMPLES / "python-worker/worker.py")],
        JOB_RETRY_URL=run.url,
        PYTHONPATH="layers/client",
    ) as worker:
        for _ in jobs:
            worker.wait_for_error(" s\n")  # a line for each run
        worker.send(signal.SIGTERM)
        assert worker.wait() == 0
    sent, discarded, busy, imported = (queue.get(job) for job in jobs)
    assert (sent.status, sent.result) == ("completed", {"sent_to": "ada@example.org"})
    assert (discarded.status, discarded.attempts) == ("dead", 1)
    assert (busy.status, (busy.run_after - busy.updated_at).seconds) == ("queued", 60)
    assert (imported.result, imported.progress) == (250, {"done": 200, "of": 250})


@pytest.fixture(scope="module")
def node_producer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the example, with its packages."""
    if shutil.which("npm") is None:
        skip_unless_ci("not installed: npm")
    folder = tmp_path_factory.mktemp("node") / "node-producer"
    shutil.copytree(
        EXAMPLES / "node-producer", folder, ignore=shutil.ignore_patterns("node_modules")
    )
    subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--silent"], cwd=folder, check=True)
    return folder


def enqueue_from_node(folder: Path, url: str) -> int:
    """Return the id that the example prints."""
    credentials = {
        "AWS_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": "ann",
        "AWS_SECRET_ACCESS_KEY": SECRET,
    }
    printed = subprocess.run(
        ["node", "enqueue.mjs", "send_welcome_email", '{"user_id": 42}'],
        cwd=folder,
        env={**os.environ, **credentials, "JOB_RETRY_URL": url},
        check=True,
        stdout=subprocess.PIPE,
    ).stdout
    job_id: int = json.loads(printed)["id"]
    return job_id


def test_the_node_producer(run: LocalRun, queue: JobQueue, node_producer: Path) -> None:
    job = queue.get(enqueue_from_node(node_producer, run.url))
    assert (job.job_type, job.payload, job.status) == (
        "send_welcome_email",
        {"user_id": 42},
        "queued",
    )


def test_it_signs_and_repeats_under_one_key(node_producer: Path) -> None:
    replies = iter([Reply(503), Reply(breaks=True), Reply(201, b'{"id": 7}')])
    with ReplyingServer(lambda _: next(replies)) as server:
        assert enqueue_from_node(node_producer, f"{server.url}/api:job-retry") == 7
    for received in server.received:
        said, given, right = signature(received)
        assert given == right
        assert (said["service"], said["region"]) == ("execute-api", "eu-central-1")
    assert len({received.headers["idempotency-key"] for received in server.received}) == 1
