"""Any request at all: never a 5xx, and every refusal is a problem document."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.http.api import Api
from tests.http.steps import PREFIX, ROUTES, STATUSES, Jobs, why_no_problem

if TYPE_CHECKING:
    from tests.http.conftest import MakeServer

FIELDS = [
    "job_type",
    "queue",
    "queues",
    "payload",
    "max_attempts",
    "backoff_seconds",
    "run_after",
    "priority",
    "lease_seconds",
    "max_backoff_seconds",
    "jitter",
    "worker_id",
    "job_types",
    "max_jobs",
    "result",
    "lease_token",
    "error",
    "retry_in_seconds",
    "retry",
    "progress",
    "delay_seconds",
]
QUERY = ["status", "queue", "job_type", "page", "per_page", "cursor", "order"]

any_text = st.text(st.characters(exclude_categories=()), max_size=20)
numbers = st.integers() | st.integers(0, 10) | st.floats() | st.just(10**30)
scalars = (
    st.none()
    | st.booleans()
    | numbers
    | any_text
    | st.sampled_from(["t", "q", "2030-01-01T00:00:00Z", 1893456000000, "x" * 5000, "é" * 200])
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=10,
)
names = st.sampled_from(FIELDS) | any_text
objects = st.dictionaries(names, values, max_size=6)
nearly_good = st.dictionaries(st.sampled_from(FIELDS), scalars, max_size=2)
bodies = st.one_of(
    st.none(),
    st.binary(max_size=60),
    any_text.map(lambda text: text.encode("utf-8", "surrogatepass")),
    values.map(lambda value: json.dumps(value).encode()),
    objects.map(lambda value: json.dumps(value).encode()),
)
content_types = st.sampled_from(
    ["application/json"] * 8 + ["text/plain", "", "application/json; charset=latin-1", "x/y+json"]
)
ids = st.integers().map(str) | any_text | st.sampled_from(["0", "9" * 400, "1.0", "-1"])


@pytest.fixture(scope="module")
def api(make_server: MakeServer) -> Api:
    """A server of its own: lists of all queues are dear where other tests have theirs."""
    return Api(make_server().url)


@pytest.fixture(scope="module")
def victims(api: Api) -> list[str]:
    """Ids of jobs in every status."""
    jobs = Jobs(api, "victims")
    return [str(jobs.in_status(status)["id"]) for status in (*STATUSES[1:], "queued")]


def check(api: Api, method: str, path: str, body: bytes | None, content_type: str) -> None:
    """Send it, and judge the answer."""
    headers = {"content-type": content_type} if body else {}
    answer = api.request(method, path, body=body, headers=headers)
    sent = f"{method} {path[:200]} {(body or b'')[:300]!r}"
    assert answer.status < 500, f"{sent}: {answer.status} {answer.body[:300]!r}"
    if answer.status >= 400 and not is_api_gateways_own(answer.status, answer.json):
        fault = why_no_problem(answer)
        assert not fault, f"{sent}: {fault}"


def quoted(text: str) -> str:
    """Write a text in a URL, half characters too."""
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def is_api_gateways_own(status: int, document: Any) -> bool:
    """Say whether no function was asked: there is no such route."""
    return status == 404 and document == {"message": "Not Found"}


@settings(max_examples=250)
@given(data=st.data())
def test_any_body(api: Api, victims: list[str], data: st.DataObject) -> None:
    route = data.draw(st.sampled_from([each for each in ROUTES.values() if each.method == "POST"]))
    prefix = data.draw(st.sampled_from(["", PREFIX]))
    job_id = data.draw(st.sampled_from(victims))
    good = nearly_good.map(lambda more: json.dumps({**(route.body or {}), **more}).encode())
    body = data.draw(bodies | good | good)
    path = prefix + route.path.replace("{id}", job_id)
    check(api, route.method, path, body, data.draw(content_types))


@settings(max_examples=100)
@given(data=st.data())
def test_any_id(api: Api, data: st.DataObject) -> None:
    route = data.draw(st.sampled_from([each for each in ROUTES.values() if "{id}" in each.path]))
    job_id = quoted(data.draw(ids))
    path = route.path.replace("{id}", job_id)
    body = None if route.body is None else json.dumps(route.body).encode()
    check(api, route.method, path, body, "application/json")


@settings(max_examples=100)
@given(data=st.data())
def test_any_query(api: Api, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(["/jobs", "/dlq"]))
    pairs = data.draw(
        st.lists(
            st.tuples(
                st.sampled_from(QUERY) | any_text,
                any_text | st.integers(-5, 200).map(str) | st.sampled_from([*STATUSES, "asc"]),
            ),
            max_size=4,
        )
    )
    query = "&".join(f"{quoted(name)}={quoted(value)}" for name, value in pairs)
    check(api, "GET", f"{path}?{query}", None, "")
