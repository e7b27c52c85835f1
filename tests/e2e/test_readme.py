"""The README's own lines, run as they stand by somebody who follows it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from local.engine import why_no_dynoxide
from local.ports import free_port
from local.template import REPOSITORY
from tests.conftest import skip_unless_ci
from tests.http.api import Api
from tests.local.processes import LocalRun

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
HOST = "http://127.0.0.1:3000"

# What the README leaves to its reader: the work, and pressing Ctrl-C once it is done.
WORKER = """
do_work_based_on() { true; }
sleep() { exit 0; }
"""


def blocks(language: str) -> list[str]:
    """Return the README's code blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRun]:
    """A server as `make start` makes it."""
    if missing := [tool for tool in ("bash", "curl", "jq") if shutil.which(tool) is None]:
        skip_unless_ci(f"not installed: {', '.join(missing)}")
    if reason := why_no_dynoxide():
        skip_unless_ci(reason)
    path: Path = tmp_path_factory.mktemp("readme")
    with LocalRun(path, free_port()) as running:
        yield running


def output_of(command: Sequence[str], **environment: str) -> str:
    """Return what a program prints; it must succeed."""
    done = subprocess.run(
        command, env={**os.environ, **environment}, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_lines_to_paste_and_the_shell_worker(run: LocalRun) -> None:
    lines, worker = blocks("bash")
    assert lines.startswith(f"B={HOST}\n")
    lines = lines.replace(HOST, run.url)
    output = output_of(["bash", "-euo", "pipefail", "-c", lines])
    assert '"last_error": "still 5xx"' in output
    assert '"status": "queued"' in output
    (job,) = Api(run.url).get("/jobs").json["items"]
    assert (job["status"], job["attempts"], job["payload"]) == ("queued", 0, {"user_id": 42})

    output_of(["bash", "-c", f"B={run.url}\n{WORKER}{worker}"])
    (job,) = Api(run.url).get("/jobs").json["items"]
    assert (job["status"], job["result"]) == ("completed", {"ok": True})


def test_the_python_worker(run: LocalRun) -> None:
    (program,) = blocks("python")
    program = program.replace(HOST, run.url).replace("run()", "run(until_idle=True)")
    api = Api(run.url)
    job = api.post("/jobs", {"job_type": "send_welcome_email", "payload": {"user_id": 7}}).json
    output_of([sys.executable, "-c", program], PYTHONPATH=str(REPOSITORY / "layers/client"))
    done = api.get(f"/jobs/{job['id']}").json
    assert (done["status"], done["result"]) == ("completed", {"sent_to": 7})
