"""Processes in which handlers are measured, and the places they are loaded from."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from local.tables import LOCAL_CREDENTIALS
from local.template import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

HANDLERS = REPOSITORY / "bench/handlers"
REQUIREMENTS = (HANDLERS / "requirements.txt", REPOSITORY / "layers/core/requirements.txt")
PACKAGES = REPOSITORY / ".aws-sam/bench-cold"
PROBE = REPOSITORY / "bench/cold_probe.py"

# What Lambda sets, as far as the packages look at it: the tracer is off where it is missing.
LAMBDA = {
    "AWS_EXECUTION_ENV": "AWS_Lambda_python3.13",
    "AWS_LAMBDA_FUNCTION_NAME": "bench",
    "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
    "LAMBDA_TASK_ROOT": "/var/task",
    "_X_AMZN_TRACE_ID": "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1",
    # A deployed function's folder cannot be written to, so its handler is compiled each time.
    "PYTHONDONTWRITEBYTECODE": "1",
    # Credentials come from the environment there, and there is no home to look for files in.
    "HOME": "/nonexistent",
    **LOCAL_CREDENTIALS,
}


class HandlerError(Exception):
    """A handler that is to be measured did not answer as it should."""


@dataclass(frozen=True)
class Handler:
    """A module with a `lambda_handler`, and the folders that it is imported from."""

    module: str
    path: tuple[Path, ...]


@dataclass(frozen=True)
class Spent:
    """What a process took: CPU milliseconds since its start, and for these events alone."""

    life_ms: float
    events_ms: float
    answers: list[Any]


class Probe:
    """A fresh process that serves a handler until it is closed."""

    def __init__(self, python: str, handler: Handler, environment: dict[str, str]) -> None:
        """Start it: with Lambda's variables and these, and nothing of this machine's."""
        self._name = f"{handler.path[0].name}/{handler.module}"
        path = os.pathsep.join(map(str, handler.path))
        # -S and -P: no other packages than those, and not the probe's own folder.
        self._process = subprocess.Popen(  # noqa: S603 - our own command
            [python, "-S", "-P", str(PROBE), handler.module],
            env={**LAMBDA, **environment, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def call(self, events: list[dict[str, Any]]) -> Spent:
        """Let the handler serve these events one after the other.

        Raises:
            HandlerError: it ended, or gave an answer that is no success.
        """
        if self._process.stdin is None or self._process.stdout is None:
            raise ValueError(self._process)
        try:
            self._process.stdin.write(json.dumps(events) + "\n")
            self._process.stdin.flush()
            spent = Spent(**json.loads(self._process.stdout.readline()))
        except (BrokenPipeError, json.JSONDecodeError):
            raise HandlerError(f"{self._name} ended without an answer") from None
        for answer in spent.answers:
            if not is_success(answer):
                raise HandlerError(f"{self._name} answered {answer}")
        return spent

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def is_success(answer: dict[str, Any]) -> bool:
    """Tell whether a handler did its work: a claim that finds nothing has done too little."""
    body = answer.get("body") or ""
    return answer.get("statusCode", 200) < 300 and '"claimed":false' not in body  # noqa: PLR2004


def find_python() -> str:
    """Return the interpreter that `sam build` builds for, as the build itself finds it."""
    script = '. local/sam/common.sh; find_python; echo "$PYTHON313"'
    return _run("/bin/bash", "-c", script).strip()


def python_version(python: str) -> str:
    """Return an interpreter's version."""
    return _run(python, "-V").split()[1]


def install_packages(python: str) -> None:
    """Install what the reference handlers use, as pip does, in the versions of the layer."""
    wanted = "\n".join(each.read_text(encoding="utf-8") for each in REQUIREMENTS)
    stamp = PACKAGES / "installed"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    print(f"Installing the reference handlers' packages into {PACKAGES} …", file=sys.stderr)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    files = [argument for each in REQUIREMENTS for argument in ("-r", str(each))]
    _run(*pip, "--upgrade", "--target", str(PACKAGES), *files)
    stamp.write_text(wanted, encoding="utf-8")


def _run(*command: str) -> str:
    done = subprocess.run(  # noqa: S603 - our own command
        command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout
