"""The program itself: entry point, missing extra, help, completion, workers."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from local.template import REPOSITORY
from tests.client.cli.fakes import FakeQueue

if TYPE_CHECKING:
    from pathlib import Path

CLIENT = str(REPOSITORY / "layers/client")


def program(
    *arguments: str, cwd: Path | None = None, code: str | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run it as a user does, or Python code in its place."""
    how = ["-m", "job_retry_client"] if code is None else ["-c", code]
    # as the installed command: the current folder is not on the path by itself
    path = {"PYTHONPATH": CLIENT, "PYTHONSAFEPATH": "1"}
    return subprocess.run(
        [sys.executable, *how, *arguments],
        env={**os.environ, **path, **environment},
        cwd=cwd,
        check=False,
        capture_output=True,
        text=True,
    )


def test_help_names_every_command_and_the_exit_codes() -> None:
    done = program("--help")
    assert done.returncode == 0
    words = done.stdout.split()
    for name in (
        *("enqueue", "claim", "complete", "fail", "heartbeat", "release", "get", "list"),
        *("cancel", "delete", "watch", "dlq", "queue", "worker"),
    ):
        assert name in words
    assert "5 nothing due" in " ".join(words)


@pytest.mark.parametrize("extra", ["typer", "rich"])
def test_a_missing_extra_says_what_to_install(extra: str) -> None:
    code = (
        f"import sys; sys.modules[{extra!r}] = None; from job_retry_client.cli import main; main()"
    )
    done = program(code=code)
    assert done.returncode == 1
    assert done.stderr == (
        f"job-retry: {extra} is not installed: pip install 'job-retry-client[cli]'\n"
    )


def test_the_version() -> None:
    done = program("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("job-retry ")


def test_completion_for_bash() -> None:
    def completed(line: str) -> set[str]:
        number = str(len(line.split(" ")) - 1)
        done = program(_JOB_RETRY_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=number)
        assert done.returncode == 0
        return set(done.stdout.split())

    assert completed("job-retry re") == {"release"}
    assert completed("job-retry dlq ") == {"list", "requeue", "delete"}
    assert {"--status", "--json", "--url"} <= completed("job-retry list --")
    assert completed("job-retry list --status c") == {"completed", "cancelled"}
    script = program("--show-completion", "bash").stdout
    assert "_JOB_RETRY_COMPLETE=complete_bash" in script


def test_no_colours_unless_for_a_terminal() -> None:
    assert "\x1b" not in program("get", "x").stderr


# -- worker run ------------------------------------------------------------------------

WORKER = """
import os
from job_retry_client import JobQueue, Worker

class Told(Worker):
    def run(self, *, until_idle=False):
        told = ("JOB_RETRY_URL", "JOB_RETRY_TOKEN", "AWS_PROFILE", "AWS_REGION")
        print(*(os.environ[each] for each in told), until_idle)
        return {"completed": 2, "lease_lost": 1}

class Workers:
    mail = Told(JobQueue(None))

worker = Workers.mail
"""


@pytest.mark.parametrize(
    ("name", "form", "sum_"),
    [
        ("app:worker", [], "2 completed, 1 lease lost"),
        ("app:Workers.mail", ["--json"], '{"completed": 2, "lease_lost": 1}'),
    ],
)
def test_a_worker_of_the_current_folder_runs_with_the_queue_of_the_options(
    tmp_path: Path, name: str, form: list[str], sum_: str
) -> None:
    (tmp_path / "app.py").write_text(WORKER)
    options = ["--url", "lambda:stack", "--profile", "mine", "--region", "eu-central-1"]
    arguments = ["--token", "t", "worker", "run", name, "--until-idle", *options, *form]
    done = program(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"lambda:stack t mine eu-central-1 True\n{sum_}\n"


@pytest.mark.parametrize(
    "name",
    ["app", "app:", ":worker", "nowhere:worker", "app.inner:worker", "app:nothing", "app:os"],
)
def test_what_is_no_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (tmp_path / "app.py").write_text(WORKER)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    done = FakeQueue().run("worker", "run", name)
    sys.modules.pop("app", None)
    assert done.exit_code == 2
    assert "MODULE:WORKER" in done.stderr


def test_what_the_module_misses_is_shown_where_it_misses_it(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("import nowhere")
    done = program("worker", "run", "app:worker", cwd=tmp_path)
    assert done.returncode == 1
    assert 'app.py", line 1' in done.stderr


def test_a_worker_without_a_way_to_the_queue_ends_in_one_line(tmp_path: Path) -> None:
    lines = [
        "from job_retry_client import JobQueue, Worker",
        "worker = Worker(JobQueue.connect())",
    ]
    (tmp_path / "app.py").write_text("\n".join(lines))
    done = program("worker", "run", "app:worker", cwd=tmp_path, JOB_RETRY_URL="")
    assert done.returncode == 2
    assert done.stderr.startswith("job-retry: where is the queue?")
    assert len(done.stderr.splitlines()) == 1


def test_integers_of_any_length_are_shown() -> None:
    code = """
import atexit, sys
from job_retry_client.cli import main
atexit.register(lambda: print(sys.get_int_max_str_digits()))
main()
"""
    assert program("--version", code=code).stdout.splitlines()[-1] == "0"
