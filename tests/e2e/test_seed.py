"""The usage that job-retry was first described by, run by a user of `make start`."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from local.engine import why_no_dynoxide
from local.ports import free_port
from local.template import REPOSITORY
from tests.conftest import skip_unless_ci
from tests.http.api import Api
from tests.local.processes import LocalRun, wait_until_gone

SCRIPT = Path(__file__).with_name("seed.sh")


@pytest.fixture(autouse=True)
def tools() -> None:
    """The script is a shell's."""
    missing = [tool for tool in ("bash", "curl", "jq", "make") if shutil.which(tool) is None]
    if missing:
        skip_unless_ci(f"not installed: {', '.join(missing)}")
    if reason := why_no_dynoxide():
        skip_unless_ci(reason)


def test_the_first_description_runs_unchanged_but_for_its_host(tmp_path: Path) -> None:
    with LocalRun(tmp_path, free_port(), with_make=True) as run:
        done = subprocess.run(
            ["bash", str(SCRIPT), run.url],
            cwd=REPOSITORY,
            env={**os.environ, "TMPDIR": str(tmp_path)},
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        jobs = {job["job_type"]: job for job in Api(run.url).get("/jobs").json["items"]}
        assert {name: job["status"] for name, job in jobs.items()} == {
            "send_welcome_email": "completed",
            "second_time_lucky": "completed",
            "hopeless": "completed",
        }
        assert all(job["result"] == {"ok": True} for job in jobs.values())
        assert all(job["claimed_by"] == "worker-1" for job in jobs.values())
        assert jobs["send_welcome_email"]["payload"] == {"user_id": 42}
        assert {name: job["attempts"] for name, job in jobs.items()} == {
            "send_welcome_email": 1,
            "second_time_lucky": 2,
            "hopeless": 1,
        }

        # It failed twice, died, was requeued from the dead letters and then succeeded.
        hopeless = Api(run.url).get(f"/jobs/{jobs['hopeless']['id']}").json
        assert [attempt["error"] for attempt in hopeless["history"]] == ["provider 5xx"] * 2
        assert Api(run.url).get("/dlq").json["items"] == []

        children = run.children()
        run.interrupt()
        run.end()
        wait_until_gone(children)
        assert run.children() == []
