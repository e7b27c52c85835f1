"""A queue's settings, over HTTP."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.http.steps import PREFIX, named_fields, problem

if TYPE_CHECKING:
    from tests.http.api import Answer, Api, LiveServer


@pytest.fixture
def settings(api: Api, queue: str) -> Settings:
    """The settings of a queue of one's own."""
    return Settings(api, f"/queues/{queue}")


class Settings:
    """A queue's settings."""

    def __init__(self, api: Api, path: str) -> None:
        self._api = api
        self.path = path

    def get(self) -> Answer:
        """Ask for them."""
        return self._api.get(self.path)

    def put(self, **body: object) -> Answer:
        """Change some."""
        return self._api.request("PUT", self.path, body=json.dumps(body))


def test_a_queue_that_never_was_is_not_found(settings: Settings) -> None:
    answer = settings.get()
    assert (answer.status, answer.json["code"]) == (404, "not_found")


def test_settings_are_kept_and_jobs_take_them(
    api: Api, server: LiveServer, settings: Settings, queue: str
) -> None:
    answer = settings.put(max_attempts=2, backoff_seconds=7, lease_seconds=60, lanes=4)
    assert answer.status == 200
    assert answer.json["lanes"] == answer.json["lanes_read"] == 4
    assert answer.json["lanes_write"] == 1  # until everyone reads them
    server.advance(20)
    assert settings.get().json["lanes_write"] == 4
    job = api.post("/jobs", {"job_type": "x", "queue": queue, "backoff_seconds": 1}).json
    assert (job["max_attempts"], job["backoff_seconds"], job["lease_seconds"]) == (2, 1, 60)
    assert settings.put(max_attempts=None).json["max_attempts"] is None
    assert settings.get().json["lease_seconds"] == 60
    assert settings.get().json["priorities"] == [0]


def test_jobs_of_all_lanes_are_claimed_and_listed(
    api: Api, server: LiveServer, settings: Settings, queue: str
) -> None:
    settings.put(lanes=8)
    server.advance(20)
    batch = {"jobs": [{"job_type": "x", "queue": queue}] * 40}
    ids = {each["job"]["id"] for each in api.post("/jobs/batch", batch).json["results"]}
    listed = api.get(f"/jobs?queue={queue}&per_page=100").json["items"]
    assert {job["id"] for job in listed} == ids
    claimed: list[int] = []
    while jobs := api.post("/jobs/claim", {"queue": queue, "max_jobs": 25}).json["jobs"]:
        claimed += [job["id"] for job in jobs]
    assert sorted(claimed) == sorted(ids)


def test_a_claim_in_vain_of_many_lanes_says_that_it_has_not_seen_all(
    api: Api, server: LiveServer, settings: Settings, queue: str
) -> None:
    settings.put(lanes=64)
    server.advance(20)
    api.post("/jobs", {"job_type": "x", "queue": queue})
    claimed: dict[str, object] = {"claimed": False}
    while not claimed["claimed"]:
        claimed = api.post("/jobs/claim", {"queue": queue}).json
        server.advance(1)
    assert claimed.keys() == {"claimed", "job", "jobs"}
    nothing = api.post("/jobs/claim", {"queue": queue}).json
    members = {"claimed", "job", "jobs", "retry_after_seconds", "lanes_unseen"}
    assert nothing.keys() == members
    assert nothing["lanes_unseen"] is True


@pytest.mark.parametrize(
    ("field", "junk"),
    [
        ("lanes", 0),
        ("lanes", 257),
        ("lanes", "8"),
        ("lanes", True),
        ("lanes", 1.5),
        ("lease_seconds", 0),
        ("max_attempts", 1001),
        ("backoff_seconds", -1),
        ("unknown", 1),
    ],
)
def test_a_bad_setting_is_named_and_changes_nothing(
    settings: Settings, field: str, junk: object
) -> None:
    before = settings.put(lanes=2).json
    answer = settings.put(**{field: junk})
    assert answer.status == 422
    assert [error["field"] for error in answer.json["errors"]] == [field]
    assert settings.get().json == before


NO_NAMES = ["a%20b", "x" * 129, "%C3%A9", "a%23b", "a%3Fb", "%00", "%ff", "a%0A", "%22", "%5C"]


@pytest.mark.parametrize("prefix", ["", PREFIX])
@pytest.mark.parametrize("name", NO_NAMES)
def test_a_name_that_no_queue_can_have_is_refused(api: Api, prefix: str, name: str) -> None:
    path = f"{prefix}/queues/{name}"
    for answer in (api.get(path), api.request("PUT", path, body="{}")):
        problem(answer, 422, "invalid_field")
        assert named_fields(answer) == {"queue"}


def test_a_setting_given_twice_is_named_and_changes_nothing(api: Api, settings: Settings) -> None:
    before = settings.put(lanes=2).json
    answer = api.request("PUT", settings.path, body='{"lanes":3,"lanes":4}')
    problem(answer, 422, "invalid_field")
    assert named_fields(answer) == {"lanes"}
    assert settings.get().json == before


def test_both_spellings(api: Api, settings: Settings) -> None:
    settings.put(lanes=3)
    assert api.get(f"/api:job-retry{settings.path}").json == settings.get().json
