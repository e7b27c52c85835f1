"""The example's worker is woken by what is due at once, may do what it needs, and is bounded."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from job_retry.claiming import ClaimRequest
from job_retry.engine import Engine
from job_retry.items import job_to_item
from job_retry.job import NewJob
from job_retry.memory import MemoryStore
from job_retry.observability import flush, observe
from local.template import REPOSITORY, load_template
from tests.template.stack import resources, translate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from job_retry.job import Job

EXAMPLE = REPOSITORY / "examples/lambda-worker/template.yaml"
NOW = 1_800_000_000_000
HOUR_MS = 3_600_000


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    """The example's template, as CloudFormation gets it."""
    return translate(load_template(EXAMPLE))


@pytest.fixture
def function(example: dict[str, Any]) -> dict[str, Any]:
    """The worker."""
    [worker] = resources(example, "AWS::Lambda::Function").values()
    return worker


@pytest.fixture
def mapping(example: dict[str, Any]) -> dict[str, Any]:
    """What wakes it by the stream."""
    [stream] = resources(example, "AWS::Lambda::EventSourceMapping").values()
    return stream


# -- what it is given ------------------------------------------------------------------


def test_its_parameters_are_filled_by_the_outputs_as_they_are(
    template: dict[str, Any], example: dict[str, Any]
) -> None:
    asked = {
        name for name, parameter in example["Parameters"].items() if "Default" not in parameter
    }
    assert asked <= set(template["Outputs"])


def test_it_has_both_layers_and_the_policy_for_the_tables(
    example: dict[str, Any], function: dict[str, Any]
) -> None:
    assert function["Layers"] == [{"Ref": "InProcessLayerArn"}, {"Ref": "ClientLayerArn"}]
    [role] = resources(example, "AWS::IAM::Role").values()
    assert {"Ref": "InProcessPolicyArn"} in role["ManagedPolicyArns"]
    assert "Policies" not in role


def test_what_dies_in_a_worker_is_counted_where_the_alarm_looks(
    template: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "TheWorkersOwn")
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "the-workers-own")
    flush()
    capsys.readouterr()
    engine = Engine(MemoryStore(), clock=lambda: NOW, random=Random(1), observer=observe)
    engine.enqueue(NewJob(job_type="t", max_attempts=1))
    (job,) = engine.claim(ClaimRequest()).jobs
    engine.fail(job.id, error="e")
    flush()
    written = json.loads(capsys.readouterr().out.splitlines()[-1])
    alarms = [
        each["Properties"]
        for each in template["Resources"].values()
        if each["Type"] == "AWS::CloudWatch::Alarm"
        and each["Properties"].get("MetricName") == "JobsDied"
    ]
    (alarm,) = alarms
    assert written["_aws"]["CloudWatchMetrics"][0]["Namespace"] == alarm["Namespace"]
    assert alarm["Dimensions"] == [{"Name": "service", "Value": written["service"]}]
    assert written["JobsDied"]


def test_it_knows_the_tables(function: dict[str, Any]) -> None:
    variables = function["Environment"]["Variables"]
    assert variables["JOBS_TABLE"] == {"Ref": "JobsTableName"}
    assert variables["CONTROL_TABLE"] == {"Ref": "ControlTableName"}


def test_it_runs_where_the_layers_were_built_for(
    template: dict[str, Any], function: dict[str, Any]
) -> None:
    assert function["Runtime"] == template["Globals"]["Function"]["Runtime"]
    assert function["Architectures"] == [{"Ref": "Architecture"}]


# -- what bounds it --------------------------------------------------------------------


def test_it_cannot_stampede(
    example: dict[str, Any], function: dict[str, Any], mapping: dict[str, Any]
) -> None:
    assert function["ReservedConcurrentExecutions"] == {"Ref": "MaxWorkers"}
    assert mapping["ParallelizationFactor"] == {"Ref": "WakeUpsAtOnce"}
    parameters = example["Parameters"]
    assert parameters["WakeUpsAtOnce"]["Default"] <= parameters["MaxWorkers"]["Default"]
    assert parameters["WakeUpsAtOnce"]["MaxValue"] == 10  # Lambda takes no more


def test_a_wake_up_that_fails_does_not_hold_up_the_stream(mapping: dict[str, Any]) -> None:
    assert mapping["MaximumRetryAttempts"] <= 2
    assert mapping["MaximumRecordAgeInSeconds"] == 60  # the least that Lambda takes


def test_wake_ups_of_the_schedule_do_not_pile_up(example: dict[str, Any]) -> None:
    [settings] = resources(example, "AWS::Lambda::EventInvokeConfig").values()
    assert settings["MaximumEventAgeInSeconds"] == 60
    assert settings["MaximumRetryAttempts"] == 0
    [rule] = resources(example, "AWS::Events::Rule").values()
    assert rule["ScheduleExpression"] == "rate(1 minute)"


# -- what wakes it ---------------------------------------------------------------------


def leaves(value: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield what is no object, with the way to it: all that Lambda's filters look at."""
    for name, item in value.items():
        if isinstance(item, dict):
            yield from leaves(item, (*path, name))
        else:
            yield (*path, name), item


def wakes(mapping: dict[str, Any], image: dict[str, Any]) -> bool:
    """Tell whether Lambda would call the worker for a record of the stream with this image."""
    found = dict(leaves({"dynamodb": {"NewImage": image}}))
    [only] = mapping["FilterCriteria"]["Filters"]
    return all(
        path not in found if allowed == [{"exists": False}] else found.get(path) in allowed
        for path, allowed in leaves(json.loads(only["Pattern"]))
    )


def test_it_starts_at_the_end_of_the_stream_and_waits_for_nothing(mapping: dict[str, Any]) -> None:
    assert mapping["EventSourceArn"] == {"Ref": "JobsTableStreamArn"}
    assert mapping["StartingPosition"] == "LATEST"
    assert mapping["MaximumBatchingWindowInSeconds"] == 0


class Queue:
    """A queue on a clock that stands, and the latest image of its one job."""

    def __init__(self) -> None:
        """Be empty."""
        self._store = MemoryStore()
        self.now = NOW
        self.engine = Engine(self._store, clock=lambda: self.now, random=Random(1))

    def enqueue(self, **fields: Any) -> Job:
        """Enqueue the job."""
        return self.engine.enqueue(NewJob(job_type="t", **fields))

    def claimed(self, **fields: Any) -> Job:
        """Return the job, running."""
        self.enqueue(**fields)
        [job] = self.engine.claim(ClaimRequest(queues=["default"])).jobs
        return job

    def image(self, job: Job) -> dict[str, Any]:
        """Return what the stream shows of the job now."""
        stored = self._store.read(job.id)
        assert stored
        return job_to_item(stored)


def requeued(queue: Queue, run_after: int | None = None) -> Job:
    """Return a job that died and was requeued."""
    dead = queue.engine.fail(queue.claimed().id, error="e", retry=False)
    return queue.engine.requeue(dead.id, run_after=run_after)


@pytest.mark.parametrize(
    "arrive",
    [
        pytest.param(lambda queue: queue.enqueue(), id="enqueued"),
        pytest.param(lambda queue: queue.enqueue(unique_key="k"), id="unique"),
        pytest.param(
            lambda queue: queue.engine.fail(queue.claimed(backoff_seconds=0).id, error="e"),
            id="to be tried again at once",
        ),
        pytest.param(lambda queue: queue.engine.release(queue.claimed().id), id="released"),
        pytest.param(requeued, id="requeued"),
    ],
)
def test_a_job_that_is_due_wakes_it(
    mapping: dict[str, Any], arrive: Callable[[Queue], Job]
) -> None:
    queue = Queue()
    assert wakes(mapping, queue.image(arrive(queue)))


@pytest.mark.parametrize(
    "arrive",
    [
        pytest.param(lambda queue: queue.enqueue(run_after=NOW + HOUR_MS), id="delayed"),
        pytest.param(lambda queue: queue.claimed(), id="claimed"),
        pytest.param(
            lambda queue: queue.engine.fail(queue.claimed().id, error="e"), id="backing off"
        ),
        pytest.param(
            lambda queue: queue.engine.fail(queue.claimed(max_attempts=1).id, error="e"), id="dead"
        ),
        pytest.param(lambda queue: queue.engine.complete(queue.claimed().id), id="completed"),
        pytest.param(lambda queue: queue.engine.cancel(queue.enqueue().id), id="cancelled"),
        pytest.param(lambda queue: requeued(queue, NOW + HOUR_MS), id="requeued for later"),
    ],
)
def test_nothing_else_that_happens_to_a_job_does(
    mapping: dict[str, Any], arrive: Callable[[Queue], Job]
) -> None:
    queue = Queue()
    assert not wakes(mapping, queue.image(arrive(queue)))


@pytest.mark.parametrize("part", ["payload", "attempt#000001", "result#f"])
def test_other_items_of_a_job_do_not(mapping: dict[str, Any], part: str) -> None:
    assert not wakes(mapping, {"id": {"N": "1"}, "part": {"S": part}, "json": {"S": "1"}})
