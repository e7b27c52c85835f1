"""The command line ``job-retry``, for people and shell scripts."""

from __future__ import annotations

import sys

from job_retry_client.cli import streams

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
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)  # what the queue holds is to be shown, however long
    try:
        streams.prepare()
    except streams.OutputError as error:
        sys.exit(f"job-retry: {error}")
    try:
        with streams.flushed():
            app(prog_name="job-retry")
    except streams.OutputError as error:  # outside of a command, as --help is
        streams.give_up_output()
        sys.exit(f"job-retry: {error}")
