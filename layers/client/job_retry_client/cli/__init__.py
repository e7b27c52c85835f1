"""The command line ``job-retry``, for people and shell scripts."""

from __future__ import annotations

import sys

_EXTRA = ("typer", "rich")


def main() -> None:
    """Run the command line on the process's arguments, and end the process."""
    try:
        from job_retry_client.cli.app import app  # noqa: PLC0415 - an extra that may be absent
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _EXTRA:
            raise
        sys.exit(f"job-retry: {missing} is not installed: pip install 'job-retry-client[cli]'")
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="replace")  # a terminal that lacks a character shows a ?
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)  # what the queue holds is to be shown, however long
    app(prog_name="job-retry")
