"""The program in scripts of the shell's."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from local.template import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

_JOB_RETRY = 'job-retry() { "$PYTHON" -m job_retry_client "$@"; }\n'


def in_shell(
    script: str, url: str, directory: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a script that may call `job-retry`, and return how it ended.

    Args:
        script: of bash.
        url: of the queue.
        directory: where it runs.
    """
    return subprocess.run(
        ["bash", "-c", _JOB_RETRY + script],
        cwd=directory,
        env={
            **os.environ,
            "PYTHON": sys.executable,
            "PYTHONPATH": str(REPOSITORY / "layers/client"),
            "JOB_RETRY_URL": url,
        },
        check=False,
        capture_output=True,
        text=True,
    )
