"""What make sets up, and how it says what is missing."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from local import environment
from local.engine import DYNOXIDE
from tests.local.processes import Program

if TYPE_CHECKING:
    from pathlib import Path


def test_it_fetches_the_binary_that_the_engine_runs() -> None:
    assert environment.DYNOXIDE == DYNOXIDE


@pytest.mark.parametrize("python", ["false", "/no/such/python"])
def test_a_python_that_will_not_do_is_one_line(python: str) -> None:
    with Program(["make", "start", f"PYTHON={python}"]) as program:
        code, output, errors = program.end()
    assert (code != 0, output) == (True, "")
    said = [line for line in errors.splitlines() if not line.startswith("make: ***")]
    assert len(said) == 1
    assert said[0].startswith("job-retry needs Python 3.11 or newer")


def test_a_missing_venv_module_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    with pytest.raises(SystemExit, match="needs Python's venv module"):
        environment.create_venv()


def test_without_npm_there_is_no_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(environment, "DYNOXIDE", tmp_path / "missing")
    monkeypatch.setattr("shutil.which", lambda _name: None)
    assert not environment.install_engine()


def test_a_step_that_fails_shows_what_it_printed(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="Trying failed"):
        environment.run("Trying", ["sh", "-c", "echo why; exit 3"])
    assert capfd.readouterr().err == "why\n"


def test_what_one_file_includes_counts_as_installed_with_it() -> None:
    assert environment.included("requirements-local.txt") == [
        "requirements-local.txt",
        "layers/core/requirements.txt",
    ]
