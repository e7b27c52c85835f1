"""The template, read once."""

from __future__ import annotations

from typing import Any

import pytest

from local.template import load_template


@pytest.fixture(scope="session")
def template() -> dict[str, Any]:
    """template.yaml, its tags spelled out; tests only read it."""
    return load_template()
