"""The client needs boto3 and no more, and each part of it only what it says."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.unit.test_structure import imports, packages

CLIENT = Path(__file__).parents[2] / "layers/client/job_retry_client"
MODULES = {
    ".".join(path.relative_to(CLIENT).with_suffix("").parts): path for path in CLIENT.rglob("*.py")
}
STANDARD = sys.stdlib_module_names - {"tomllib"}  # which Python 3.10 has not

LIBRARIES = {
    "connect": {"boto3", "botocore"},
    "cli.command": {"botocore"},
    "transports.http": {"urllib3"},
    "transports.signing": {"boto3", "botocore"},
    "transports.invoke": {"boto3", "botocore"},
    "transports.in_process": {"job_retry"},
}
COMMAND_LINE = {"typer", "rich"}

TRANSPORTS = sorted(name for name in MODULES if name.startswith("transports."))


@pytest.mark.parametrize("name", sorted(MODULES))
def test_each_library_has_its_place(name: str) -> None:
    is_command_line = name == "cli" or name.startswith("cli.")
    allowed = LIBRARIES.get(name, set()) | (COMMAND_LINE if is_command_line else set())
    assert packages(MODULES[name]) <= STANDARD | {"job_retry_client"} | allowed


@pytest.mark.parametrize("name", TRANSPORTS)
def test_a_transport_knows_nothing_of_the_queue(name: str) -> None:
    own = {
        each.removeprefix("job_retry_client.").split(".")[0]
        for each in imports(MODULES[name])
        if each.startswith("job_retry_client.")
    }
    assert own <= {"transports", "errors", "models", "operations", "json_text"}


def test_there_is_something_to_look_at() -> None:
    assert set(MODULES) >= {"queue", *LIBRARIES}
