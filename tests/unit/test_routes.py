"""Which path reaches a function's route: whatever stands in it, up to the next slash."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext

from job_retry.api import PREFIX, Response, answer, create_app
from job_retry.json_text import render
from local.events import Request, http_event

app = create_app()


@app.get("/things/<name>/parts/<part>")
def get_part(name: str, part: str) -> Response[str]:
    """Tell what stands in the path."""
    return answer(200, render({"name": name, "part": part}))


def get(path: str) -> tuple[int, Any]:
    """Return status and body of the answer for a path, given as it is, not percent-encoded."""
    request = Request(
        method="GET", path=quote(path), query="", headers=[], body=b"", route="GET /things"
    )
    result = app.resolve(http_event(request), LambdaContext())
    return result["statusCode"], json.loads(result["body"])


ONE = "a#?%\\'`\x00\n\r\x7f\ufffdé🎉 .^|<{"
MORE = ["a b", "..", "#?", "%23", "a\n", '"', "x" * 5000]


@pytest.mark.parametrize("prefix", ["", PREFIX])
@pytest.mark.parametrize("name", [*ONE, *MORE])
def test_any_text_may_stand_in_a_path(prefix: str, name: str) -> None:
    for path, part in ((f"{name}/parts/1", "1"), (f"1/parts/{name}", name)):
        expected = {"name": path.partition("/")[0], "part": part}
        assert get(f"{prefix}/things/{path}") == (200, expected)


@pytest.mark.parametrize(
    "path",
    [
        "/things/a/b/parts/1",
        "/things/a/parts/b/c",
        "/things//parts/1",
        "/things/a/parts/",
        "/things/a/parts/1/",
        "/things/a/parts",
        "/thing/a/parts/1",
        "/x/things/a/parts/1",
        "\n/things/a/parts/1",
    ],
)
def test_a_slash_ends_it(path: str) -> None:
    status, problem = get(path)
    assert (status, problem["title"]) == (404, "No such route")
