"""The real handlers, run through whole lives of jobs, never do what their policies do not grant.

On AWS an action that was forgotten in a policy is a 500 that no local engine would show.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.util import module_from_spec, spec_from_file_location
from typing import TYPE_CHECKING, Any

import pytest

from job_retry import dynamo_client, runtime
from local.template import REPOSITORY
from local.worker import Context
from tests.template.stack import folder_of, resources, statements
from tests.template.test_permissions import CONTROL, INDEX, JOBS, place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from botocore.model import OperationModel

    from tests.conftest import MakeTables, Tables

LARGE = "x" * 200_000
HOUR_MS = 3_600_000
# What a part of a transaction is called, and the action that it needs.
PARTS = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem"}


class Guard:
    """Stands where IAM stands: notes each action that the policy of the current function lacks."""

    def __init__(self, template: dict[str, Any], tables: Tables) -> None:
        """Know the policies of all functions."""
        self._places = {tables.jobs: JOBS, tables.control: CONTROL}
        self._granted = {
            folder_of(function): {
                (action.removeprefix("dynamodb:"), place(resource))
                for actions, resource in statements(function["Policies"])
                for action in actions
            }
            for function in resources(template, "AWS::Serverless::Function").values()
        }
        self.function = ""
        self.refused: set[tuple[str, str, str]] = set()

    def check(self, params: dict[str, Any], model: OperationModel, **_: object) -> None:
        """Note what of this call is not granted; botocore calls it before each call."""
        for action, where in self._needs(model.name, params):
            if (action, where) not in self._granted[self.function]:
                self.refused.add((self.function, action, where))

    def _needs(self, operation: str, parameters: dict[str, Any]) -> Iterator[tuple[str, str]]:
        if operation == "TransactWriteItems":
            for part in parameters["TransactItems"]:
                for kind, request in part.items():
                    yield PARTS[kind], self._places[request["TableName"]]
        elif "RequestItems" in parameters:
            for table in parameters["RequestItems"]:
                yield operation, self._places[table]
        elif "IndexName" in parameters:
            yield operation, INDEX
        else:
            yield operation, self._places[parameters["TableName"]]


class Stage:
    """Calls handlers with the samples of events/."""

    def __init__(self, guard: Guard) -> None:
        """Call them under the eyes of this guard."""
        self.guard = guard
        self.clock_ms = time.time_ns() // 1_000_000

    def call(
        self,
        folder: str,
        case: str,
        job: dict[str, Any] | None = None,
        body: dict[str, Any] | None = None,
        status: int = 0,
    ) -> Any:
        """Return the body of the answer to a sample about this job, its body changed by these."""
        text = (REPOSITORY / "events" / folder / f"{case}.json").read_text(encoding="utf-8")
        if job is not None:
            text = text.replace("JOB_ID", str(job["id"]))
            text = text.replace("LEASE_TOKEN", job.get("lease_token", ""))
        event = json.loads(text)
        if body is not None:
            event["body"] = json.dumps(json.loads(event["body"]) | body)
        self.guard.function = folder
        answer = _handler(folder)(event, Context(folder, 512, case, time.monotonic() + 29))
        if "statusCode" not in answer:
            return answer
        assert answer["statusCode"] == status or answer["statusCode"] < 300, answer
        return json.loads(answer["body"]) if answer.get("body") else None

    def enqueue(self, **body: Any) -> dict[str, Any]:
        """Enqueue a job that may be claimed now."""
        job: dict[str, Any] = self.call("enqueue_job", "minimal", body=body)
        return job

    def unique(self, **body: Any) -> dict[str, Any]:
        """Enqueue the job of a key that is free, or find it taken."""
        job: dict[str, Any] = self.call("enqueue_job", "unique_key", body=body)
        return job

    def claim(self, **body: Any) -> dict[str, Any]:
        """Claim the one job that is due."""
        job: dict[str, Any] = self.call("claim_jobs", "one", body=body)["job"]
        assert job is not None
        return job

    def claimed(self, **body: Any) -> dict[str, Any]:
        """Enqueue a job and claim it."""
        job = self.enqueue(**body)
        taken = self.claim()
        assert taken["id"] == job["id"]
        return taken


def _handler(folder: str) -> Any:
    name = f"permissions_{folder}"
    if name not in sys.modules:
        spec = spec_from_file_location(name, REPOSITORY / "functions" / folder / "handler.py")
        assert spec
        assert spec.loader
        sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name].lambda_handler


@pytest.fixture
def stage(
    template: dict[str, Any],
    dynoxide_url: str,
    make_tables: MakeTables,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Stage]:
    """Handlers on fresh tables; afterwards nothing may have been refused."""
    tables = make_tables(dynoxide_url)
    monkeypatch.setenv("DYNAMODB_ENDPOINT_URL", dynoxide_url)
    monkeypatch.setenv("JOBS_TABLE", tables.jobs)
    monkeypatch.setenv("CONTROL_TABLE", tables.control)
    stage = Stage(Guard(template, tables))
    session = dynamo_client.new_session()
    events = session.get_component("event_emitter")
    events.register("provide-client-params.dynamodb", stage.guard.check)
    monkeypatch.setattr(dynamo_client, "new_session", lambda: session)
    monkeypatch.setattr(runtime, "_clock", lambda: stage.clock_ms)
    runtime.engine.cache_clear()
    yield stage
    runtime.engine.cache_clear()
    assert not stage.guard.refused


@pytest.mark.parametrize("payload", [None, LARGE], ids=["small", "large"])
def test_a_job_that_succeeds(stage: Stage, payload: str | None) -> None:
    job = stage.claimed(payload=payload)
    stage.call("heartbeat_job", "with_progress", job)
    stage.call("complete_job", "with_token", job, body={"result": payload})
    # Asked again, as by a client whose answer was lost.
    stage.call("complete_job", "with_token", job, body={"result": payload})
    stage.call("get_job", "by_id", job)
    stage.call("delete_job", "by_id", job)


@pytest.mark.parametrize("payload", [None, LARGE], ids=["small", "large"])
def test_a_job_that_dies_and_is_requeued(stage: Stage, payload: str | None) -> None:
    job = stage.claimed(payload=payload, max_attempts=2, backoff_seconds=0)
    stage.call("fail_job", "with_token", job)
    job = stage.claim()
    stage.call("fail_job", "with_token", job)
    assert stage.call("list_dead_letters", "all")["items"]
    stage.call("requeue_dead_letter", "now_prefixed", job)
    assert stage.call("list_jobs", "filtered")["items"]
    job = stage.claim()
    stage.call("fail_job", "no_retry", job)
    stage.call("delete_job", "by_id", job)


def test_a_job_that_is_given_back_and_cancelled(stage: Stage) -> None:
    job = stage.claimed()
    stage.call("release_job", "at_once", job)
    stage.call("cancel_job", "by_id", job)
    stage.call("delete_job", "by_id", job)


@pytest.mark.parametrize("max_attempts", [1, 2], ids=["dead", "again"])
def test_the_schedule_expires_leases(stage: Stage, max_attempts: int) -> None:
    stage.claimed(max_attempts=max_attempts)
    stage.clock_ms += HOUR_MS
    assert stage.call("expire_leases", "every_minute") == {"expired": 1}


def test_a_claim_expires_leases(stage: Stage) -> None:
    stage.claimed(backoff_seconds=0, payload=LARGE)
    stage.clock_ms += HOUR_MS
    assert stage.claim()["attempts"] == 2


def test_a_large_result_of_one_who_lost_the_lease(stage: Stage) -> None:
    stage.claimed(backoff_seconds=0)
    stage.clock_ms += HOUR_MS
    job = stage.claim() | {"lease_token": "0" * 32}
    stage.call("complete_job", "with_token", job, body={"result": LARGE}, status=409)


def test_a_warm_function_looks_at_a_queue_again(stage: Stage) -> None:
    stage.enqueue()
    stage.clock_ms += HOUR_MS
    stage.enqueue()


def test_lists_over_all_queues_and_one(stage: Stage) -> None:
    stage.call("enqueue_job", "every_field")
    stage.call("enqueue_job", "usual_prefixed")
    assert len(stage.call("list_jobs", "all")["items"]) == 2
    stage.clock_ms += 1  # or the queue would be known already
    assert len(stage.call("list_jobs", "filtered")["items"]) == 1
    stage.clock_ms += 1
    assert stage.call("list_dead_letters", "filtered")["items"] == []
    assert len(stage.call("claim_jobs", "several")["jobs"]) == 1


# -- unique keys -----------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [0, 3600], ids=["while it lives", "for an hour"])
@pytest.mark.parametrize("payload", [None, LARGE], ids=["small", "large"])
def test_a_unique_job_that_ends(stage: Stage, payload: str | None, seconds: int) -> None:
    ends: list[tuple[str, str, dict[str, Any]]] = [
        ("complete_job", "with_token", {"result": payload}),
        ("complete_jobs", "with_token", {}),
        ("fail_job", "no_retry", {}),
        ("fail_jobs", "no_retry", {}),
    ]
    for number, (folder, case, body) in enumerate(ends):
        given = {
            "unique_key": f"k{number}",
            "unique_for_seconds": seconds,
            "payload": payload,
            "max_attempts": 1,
        }
        stage.unique(**given)
        assert stage.unique(**given)["duplicate"] is True
        job = stage.claim()
        stage.call(folder, case, job, body=body)
        assert stage.unique(**given).get("duplicate", False) == (seconds > 0)
        if not seconds:
            stage.call("complete_job", "with_token", stage.claim())
        stage.call("delete_job", "by_id", job)


@pytest.mark.parametrize("seconds", [0, 3 * HOUR_MS // 1000], ids=["while it lives", "longer"])
def test_a_unique_job_that_is_cancelled_or_left(stage: Stage, seconds: int) -> None:
    given = {"unique_for_seconds": seconds, "max_attempts": 1}
    stage.call("cancel_job", "by_id", stage.unique(unique_key="a", **given))
    for key in ("b", "c"):
        stage.unique(unique_key=key, **given)
        stage.claim()
        stage.clock_ms += HOUR_MS
        if key == "b":
            assert stage.call("expire_leases", "every_minute") == {"expired": 1}
        else:
            assert stage.call("claim_jobs", "one")["claimed"] is False
        assert stage.unique(unique_key=key, **given).get("duplicate", False) == (seconds > 0)
        if not seconds:
            stage.call("complete_job", "with_token", stage.claim())


def test_a_unique_job_that_is_requeued(stage: Stage) -> None:
    stage.unique()
    dead = stage.claim()
    stage.call("fail_job", "no_retry", dead)
    stage.call("requeue_dead_letter", "now", dead)
    assert stage.unique()["duplicate"] is True
    dead = stage.claim()
    stage.call("fail_job", "no_retry", dead)
    holder = stage.unique()
    refused = stage.call("requeue_dead_letter", "now", dead, status=409)
    assert (refused["code"], refused["job_id"]) == ("key_taken", holder["id"])


def test_a_request_that_is_repeated(stage: Stage) -> None:
    first = stage.call("enqueue_job", "idempotency_key")
    again = stage.call("enqueue_job", "idempotency_key")
    assert (again["id"], again["duplicate"]) == (first["id"], True)
    stage.call("complete_job", "with_token", stage.claim())
    stage.clock_ms += 25 * HOUR_MS
    assert stage.call("enqueue_job", "idempotency_key")["id"] != first["id"]


def test_a_key_for_a_while(stage: Stage) -> None:
    first = stage.call("enqueue_job", "unique_for_a_while")
    stage.call("complete_job", "with_token", stage.claim())
    assert stage.call("enqueue_job", "unique_for_a_while")["id"] == first["id"]
    stage.clock_ms += HOUR_MS
    assert stage.call("enqueue_job", "unique_for_a_while")["id"] != first["id"]


# -- batches ---------------------------------------------------------------------------


def test_batches(stage: Stage) -> None:
    made = stage.call("enqueue_jobs", "several")["results"]
    assert [each["status"] for each in made] == [201, 201, 201]
    again = stage.call("enqueue_jobs", "several_prefixed")["results"]
    assert [each["status"] for each in again] == [201, 201, 200]
    mixed = stage.call("enqueue_jobs", "partly_refused")["results"]
    assert [each["status"] for each in mixed] == [201, 422]
    for folder, case in [
        ("complete_jobs", "with_token"),
        ("complete_jobs", "without_token"),
        ("fail_jobs", "with_token"),
        ("fail_jobs", "no_retry"),
    ]:
        job = stage.call("claim_jobs", "one")["job"]
        [settled] = stage.call(folder, case, job)["results"]
        assert settled["status"] == 200, settled


def test_large_batches(stage: Stage) -> None:
    body = {"jobs": [{"job_type": "t", "payload": LARGE, "unique_key": "k"}] * 2}
    made = stage.call("enqueue_jobs", "several", body=body)["results"]
    assert sorted(each["status"] for each in made) == [200, 201]
    job = stage.claim()
    for token, status in (("0" * 32, 409), (job["lease_token"], 200)):
        item = {"id": job["id"], "lease_token": token, "result": LARGE}
        [settled] = stage.call("complete_jobs", "with_token", job, body={"jobs": [item]})["results"]
        assert settled["status"] == status
    stage.clock_ms += HOUR_MS  # a warm function looks at the queue again
    assert stage.call("enqueue_jobs", "several", body=body)["results"]


# -- queues ----------------------------------------------------------------------------


def test_a_queue_that_grows_and_shrinks(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("job_retry.queues.SAMPLE_SHARE", 1)  # counts every enqueue
    stage.call("set_queue", "lanes")
    stage.call("set_queue", "defaults_prefixed")
    stage.clock_ms += HOUR_MS
    for _ in range(8):
        stage.enqueue()
    shown = stage.call("get_queue", "by_name")
    assert (shown["lanes"], shown["max_attempts"]) == (4, 10)
    dead = stage.claim()
    stage.call("fail_job", "no_retry", dead)
    stage.call("set_queue", "lanes", body={"lanes": 1})
    stage.clock_ms += HOUR_MS
    stage.call("requeue_dead_letter", "now", dead)
    for _ in range(8):
        stage.call("complete_job", "with_token", stage.claim())
    stage.call("expire_leases", "every_minute")


def test_the_alarm_watches_the_metric_that_a_death_writes(
    template: dict[str, Any], stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    job = stage.claimed()
    capsys.readouterr()
    stage.call("fail_job", "no_retry", job)
    [written] = [
        json.loads(line) for line in capsys.readouterr().out.splitlines() if '"_aws"' in line
    ]
    alarm = resources(template, "AWS::CloudWatch::Alarm")["JobsDiedAlarm"]
    [metrics] = written["_aws"]["CloudWatchMetrics"]
    assert metrics["Namespace"] == alarm["Namespace"]
    assert alarm["MetricName"] in {metric["Name"] for metric in metrics["Metrics"]}
    dimensions = {dimension["Name"]: dimension["Value"] for dimension in alarm["Dimensions"]}
    assert metrics["Dimensions"] == [list(dimensions)]
    assert written.items() >= dimensions.items()
    assert {name: written[name] for name in dimensions} == dimensions
