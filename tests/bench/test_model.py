"""The modelled DynamoDB: time, lag, capacity, and the same run each time."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from bench.contention.bounds import check
from bench.contention.measures import Result
from bench.contention.plan import recommended_lanes
from bench.contention.report import markdown_table, put_between_markers
from bench.contention.scenario import Run, Scenario
from bench.model.chance import Lognormal
from bench.model.client import CONTROL, JOBS, ModelledDynamoDB
from bench.model.world import World
from job_retry import parallel, taking

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bench.model.expressions import Item


def an_item(number: int, *, status: str = "queued", run_after: int = 0) -> Item:
    return {
        "id": {"N": str(number)},
        "part": {"S": "job"},
        "status": {"S": status},
        "status_lane": {"S": f"{status}#q#0.0"},
        "run_after": {"N": str(run_after)},
        "job_type": {"S": "t"},
    }


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def client(world: World) -> ModelledDynamoDB:
    return ModelledDynamoDB(world, Random(1))


def rows(client: ModelledDynamoDB, status: str = "queued", **more: Any) -> list[int]:
    answer = client.query(
        TableName=JOBS,
        IndexName="status-run_after-index",
        KeyConditionExpression="status_lane = :status_lane",
        ExpressionAttributeValues={":status_lane": {"S": f"{status}#q#0.0"}},
        **{"Limit": 100, **more},
    )
    return [int(item["id"]["N"]) for item in answer["Items"]]


def played(world: World, call: Callable[[], object], seconds: float = 100.0) -> None:
    """Do something as a task and let time go by."""
    world.spawn(call)
    world.run(seconds)


# -- time ----------------------------------------------------------------------------------


def test_tasks_take_turns_in_the_order_of_time(world: World) -> None:
    told: list[tuple[str, float]] = []

    def walk(name: str, step: float) -> None:
        for _ in range(2):
            world.sleep(step)
            told.append((name, world.now))

    world.spawn(walk, "slow", 3.0)
    world.spawn(walk, "fast", 2.0)
    world.run(10.0)
    assert told == [("fast", 2.0), ("slow", 3.0), ("fast", 4.0), ("slow", 6.0)]


def test_calls_at_once_take_as_long_as_the_longest(world: World) -> None:
    def wait(seconds: float) -> float:
        world.current().calls += int(seconds)
        world.sleep(seconds)
        return seconds

    told: list[Any] = []

    def parent() -> None:
        told.extend([world.run_all(wait, [1.0, 5.0, 2.0]), world.now, world.current().calls])

    played(world, parent)
    assert told == [[1.0, 5.0, 2.0], 5.0, 5]


def test_an_error_comes_when_all_have_ended(world: World) -> None:
    ended: list[float] = []

    def wait(seconds: float) -> None:
        world.sleep(seconds)
        ended.append(seconds)
        if seconds < 2:  # the quick one
            raise ValueError

    def parent() -> None:
        with pytest.raises(ValueError):  # noqa: PT011 - raised bare above
            world.run_all(wait, [1.0, 5.0])
        assert ended == [1.0, 5.0]

    played(world, parent)
    assert ended == [1.0, 5.0]


def test_drawn_times_have_their_median_and_tail() -> None:
    random = Random(1)
    drawn = sorted(Lognormal(0.004, 0.015).draw(random) for _ in range(20_000))
    assert drawn[10_000] == pytest.approx(0.004, rel=0.05)
    assert drawn[19_800] == pytest.approx(0.015, rel=0.10)


# -- the index -------------------------------------------------------------------------------


def test_the_index_shows_a_write_later_and_in_order(world: World, client: ModelledDynamoDB) -> None:
    seen: list[list[int]] = []

    def go() -> None:
        client.put_item(TableName=JOBS, Item=an_item(1, run_after=5))
        world.sleep(1.0)
        seen.append(rows(client))
        for run_after in range(20):  # the last write is what is shown in the end
            client.put_item(TableName=JOBS, Item=an_item(1, run_after=run_after))
        client.put_item(TableName=JOBS, Item=an_item(2, run_after=18))
        world.sleep(1.0)
        seen.append(rows(client))

    played(world, go)
    assert seen == [[1], [2, 1]]


def test_a_write_is_not_shown_at_once(world: World) -> None:
    late = 0
    for seed in range(20):
        world = World()
        client = ModelledDynamoDB(world, Random(seed))
        seen: list[int] = []

        def go(client: ModelledDynamoDB = client, seen: list[int] = seen) -> None:
            client.put_item(TableName=JOBS, Item=an_item(1))
            seen.extend(rows(client))

        played(world, go)
        late += not seen
    assert 10 <= late <= 20  # the lag is mostly longer than a call


def test_pages_go_on_behind_a_row_in_both_directions(
    world: World, client: ModelledDynamoDB
) -> None:
    for number, run_after in [(1, 10), (2, 10), (3, 20), (4, 30)]:
        client.jobs.put_at_once(an_item(number, run_after=run_after))
    seen: list[list[int]] = []

    def go() -> None:
        behind = {**an_item(2, run_after=10)}
        seen.append(rows(client, Limit=2))
        seen.append(rows(client, ExclusiveStartKey=behind))
        seen.append(rows(client, ExclusiveStartKey=behind, ScanIndexForward=False))
        seen.append(rows(client, ScanIndexForward=False, Limit=3))

    played(world, go)
    assert seen == [[1, 2], [3, 4], [1], [4, 3, 2]]


def test_a_row_moves_to_the_partition_of_its_new_state(
    world: World, client: ModelledDynamoDB
) -> None:
    seen: list[list[int]] = []

    def go() -> None:
        client.put_item(TableName=JOBS, Item=an_item(1))
        client.put_item(TableName=JOBS, Item=an_item(1, status="running"))
        world.sleep(5.0)
        seen.extend([rows(client), rows(client, "running")])

    played(world, go)
    assert seen == [[], [1]]


# -- what is paid --------------------------------------------------------------------------


def test_a_move_costs_a_unit_in_each_partition(world: World, client: ModelledDynamoDB) -> None:
    spent: list[int] = []

    def go() -> None:
        for item in (an_item(1), an_item(1, status="running"), an_item(1, status="running")):
            client.put_item(TableName=JOBS, Item=item)
            spent.append(client.counts["write_units"])

    played(world, go)
    assert spent == [2, 5, 6]  # new in both; out of one key and into another; not shown


def test_a_failed_condition_costs_its_unit_and_shows_the_item(
    world: World, client: ModelledDynamoDB
) -> None:
    client.jobs.put_at_once(an_item(1))

    def go() -> None:
        with pytest.raises(ClientError) as caught:
            client.put_item(
                TableName=JOBS, Item=an_item(1), ConditionExpression="attribute_not_exists(id)"
            )
        assert caught.value.response["Error"]["Code"] == "ConditionalCheckFailedException"
        assert caught.value.response["Item"] == an_item(1)  # type: ignore[typeddict-item]
        client.counts["seen"] += 1

    played(world, go)
    assert client.counts == Counter(seen=1, lost=1, write_units=1)


def test_a_full_partition_of_the_index_holds_up_the_table(
    world: World, client: ModelledDynamoDB
) -> None:
    done: list[int] = []

    def put(number: int) -> None:
        while number not in done:
            with suppress(ClientError):  # refused four times: the caller asks again
                client.put_item(TableName=JOBS, Item=an_item(number))
                done.append(number)

    for number in range(2000):
        world.at(number / 2000, lambda number=number: world.spawn(put, number))  # type: ignore[misc]
    world.run(1.0)
    assert client.counts["throttles"] > 0
    # 2,000 jobs in a second at one key of the index: it takes 1,000, and a tenth saved up
    assert 900 <= len(client.jobs.items) <= 1100
    world.run(20.0)
    assert len(done) == 2000  # the SDK's repetitions bring the rest in


def test_who_is_throttled_four_times_is_told(world: World, client: ModelledDynamoDB) -> None:
    client.index.partitions["queued#q#0.0"].writes.spend(1_000_000)

    def go() -> None:
        with pytest.raises(ClientError) as caught:
            client.put_item(TableName=JOBS, Item=an_item(1))
        assert caught.value.response["Error"]["Code"] == "ThrottlingException"
        assert world.current().calls == 4
        client.counts["told"] += 1

    played(world, go)
    assert (client.counts["told"], client.jobs.items) == (1, {})


def test_the_control_table_counts_too(world: World, client: ModelledDynamoDB) -> None:
    key = {"pk": {"S": "queue"}, "sk": {"S": "q"}}

    def go() -> None:
        for _ in range(2):
            client.update_item(
                TableName=CONTROL,
                Key=key,
                UpdateExpression="ADD n :one",
                ExpressionAttributeValues={":one": {"N": "1"}},
            )
        client.counts["n"] = int(client.get_item(TableName=CONTROL, Key=key)["Item"]["n"]["N"])

    played(world, go)
    assert client.counts["n"] == 2


def test_what_it_does_not_know_is_an_error(world: World, client: ModelledDynamoDB) -> None:
    with pytest.raises(TypeError):
        client.put_item(TableName=JOBS, Item=an_item(1), ReturnItemCollectionMetrics="SIZE")
    del world


# -- runs ----------------------------------------------------------------------------------

SMALL = Scenario(workers=8, lanes=2, warm_seconds=0.5, seconds=1.0)


def test_the_same_seed_gives_the_same_run() -> None:
    assert Run(SMALL).play() == Run(SMALL).play()
    assert vars(taking)["run_all"] is parallel.run_all  # the layer's own again
    assert Run(SMALL).play() != Run(replace(SMALL, seed=2)).play()


def test_one_worker_is_hindered_by_nobody() -> None:
    result = Run(replace(SMALL, workers=1, lanes=1, seconds=5.0)).play()
    assert result.jobs_per_second > 10
    assert result.round_trips < 2.1
    assert result.throttled == 0.0


def test_a_stream_is_worked_off() -> None:
    result = Run(replace(SMALL, lanes=1, arrivals=40.0, seconds=5.0)).play()
    assert result.jobs_per_second == pytest.approx(40.0, rel=0.2)
    assert result.waited_ms_p50 is not None


# -- what is made of the figures -----------------------------------------------------------


def test_lanes_follow_from_the_rate() -> None:
    rates = [1.0, 250.0, 251.0, 1000.0, 10_000.0, 14_000.0]
    assert [recommended_lanes(rate) for rate in rates] == [1, 1, 2, 4, 64, 64]


def a_result(workers: int, lanes: int, **more: Any) -> Result:
    fields: dict[str, Any] = dict.fromkeys(Result.__dataclass_fields__, 0.0)
    return Result(**(fields | {"load": "full", "workers": workers, "lanes": lanes} | more))


def test_a_bound_that_does_not_hold_is_named() -> None:
    good = [
        a_result(100, 8),
        *(a_result(1000, lanes, jobs_per_second=490.0 * lanes) for lanes in (1, 2, 4, 8, 16)),
        a_result(1000, 64, jobs_per_second=14_000.0, round_trips=2.1, lost_per_claim=0.03),
    ]
    assert all(bound.holds for bound in check(good))
    bad = [replace(each, lost_per_claim=0.06) if each.workers == 100 else each for each in good]
    assert [str(bound) for bound in check(bad) if not bound.holds] == [
        "FAILS  0.060 ≤ 0.05 failed writes per claim at 100 workers and the recommended 8 lanes"
    ]


def test_the_table_stands_between_its_markers(tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    page.write_text("a\n<!-- bench-claim -->\nold\n<!-- /bench-claim -->\nb\n", encoding="utf-8")
    table = markdown_table([a_result(1000, 64)])
    assert put_between_markers(page, table)
    assert put_between_markers(page, table)
    assert page.read_text(encoding="utf-8") == (
        f"a\n<!-- bench-claim -->\n{table}\n<!-- /bench-claim -->\nb\n"
    )
    assert "| **64** |" in table
    page.write_text("no place", encoding="utf-8")
    assert not put_between_markers(page, table)
