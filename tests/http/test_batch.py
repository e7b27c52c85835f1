"""Many jobs in one request: an answer for each, in order, whatever becomes of the others."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.http.api import Api
from tests.http.steps import PREFIX, Job, Jobs, expect, named_fields, problem, together, token

if TYPE_CHECKING:
    from tests.http.api import Answer
    from tests.http.conftest import MakeServer

PATHS = {"enqueue": "/jobs/batch", "complete": "/jobs/complete", "fail": "/jobs/fail"}
MOST = {"/jobs/batch": 100, "/jobs/complete": 25, "/jobs/fail": 25}
LARGE = "x" * 100_000
every_path = pytest.mark.parametrize("path", MOST)


@pytest.fixture
def jobs(api: Api, queue: str) -> Jobs:
    """A queue of its own."""
    return Jobs(api, queue)


def batch(jobs: Jobs, verb: str, items: list[Any]) -> list[dict[str, Any]]:
    """Send a batch that is acceptable as a whole, and return its results."""
    answer = expect(jobs.api.post(jobs.prefix + PATHS[verb], {"jobs": items}), 200)
    assert answer.keys() == {"results"}
    results: list[dict[str, Any]] = answer["results"]
    assert len(results) == len(items)
    for result in results:
        if result["status"] < 300:
            assert result.keys() == {"status", "job"}, result
        else:
            assert result.keys() == {"status", "problem"}, result
            assert result["problem"]["status"] == result["status"]
            texts = ("type", "title", "detail", "code")
            assert all(isinstance(result["problem"][name], str) for name in texts)
    return results


def statuses(results: list[dict[str, Any]]) -> list[int]:
    """Return the status of each result."""
    return [result["status"] for result in results]


def new(jobs: Jobs, **fields: object) -> dict[str, object]:
    """Return a job of this queue, to be enqueued."""
    return {"job_type": "t", "queue": jobs.queue, **fields}


def enqueue_many(jobs: Jobs, count: int, **fields: object) -> list[Job]:
    """Enqueue jobs whose payload is their number."""
    items = [new(jobs, payload=number, **fields) for number in range(count)]
    return [result["job"] for result in batch(jobs, "enqueue", items)]


def claim_many(jobs: Jobs, count: int) -> list[Job]:
    """Claim so many jobs in one request."""
    taken: list[Job] = jobs.ask(max_jobs=count)["jobs"]
    assert len(taken) == count
    return taken


def settling(job: Job, **fields: object) -> dict[str, object]:
    """Return what is said of a claimed job in a batch."""
    return {"id": job["id"], **token(job), **fields}


def refused(results: list[dict[str, Any]], at: int) -> tuple[int, str, set[str]]:
    """Return the status, code and named fields of a refusal in a batch."""
    problem = results[at]["problem"]
    fields = {each["field"] for each in problem.get("errors", [])}
    return results[at]["status"], problem["code"], fields


# -- enqueue ---------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", ["", PREFIX])
@pytest.mark.parametrize("count", [1, 2, 100])
def test_a_batch_is_enqueued_in_order(api: Api, queue: str, prefix: str, count: int) -> None:
    jobs = Jobs(api, queue, prefix)
    items = [new(jobs, payload={"n": number}, priority=number % 10) for number in range(count)]
    results = batch(jobs, "enqueue", items)
    assert statuses(results) == [201] * count
    made = [result["job"] for result in results]
    assert [job["payload"]["n"] for job in made] == list(range(count))
    assert [job["priority"] for job in made] == [number % 10 for number in range(count)]
    assert len({job["id"] for job in made}) == count
    listed = jobs.list(per_page=100)["items"]
    assert {job["id"]: job for job in listed} == {job["id"]: job for job in made}


def test_a_job_of_a_batch_is_as_one_enqueued_alone(jobs: Jobs) -> None:
    fields = {
        "payload": [1.0, "é", None],
        "max_attempts": 7,
        "backoff_seconds": 1,
        "run_after": "2031-01-01T00:00:00+01:00",
        "priority": 9,
        "lease_seconds": 60,
        "max_backoff_seconds": 90,
        "jitter": 0.5,
        "unique_for_seconds": 60,
    }
    alone = jobs.enqueue(unique_key="a", **fields)
    [result] = batch(jobs, "enqueue", [new(jobs, unique_key="b", **fields)])
    differing = {"id", "created_at", "updated_at", "unique_key"}
    assert result["job"].keys() == alone.keys()
    assert {name for name in alone if alone[name] != result["job"][name]} <= differing


def test_the_jobs_of_a_batch_may_go_to_different_queues(jobs: Jobs, queue: str) -> None:
    queues = [f"{queue}-{number % 3}" for number in range(9)]
    results = batch(jobs, "enqueue", [{"job_type": "t", "queue": each} for each in queues])
    assert [result["job"]["queue"] for result in results] == queues
    for number in range(3):
        assert len(Jobs(jobs.api, f"{queue}-{number}").list()["items"]) == 3


def test_a_large_payload_is_not_sent_back_but_kept(jobs: Jobs) -> None:
    results = batch(jobs, "enqueue", [new(jobs, payload=LARGE), new(jobs, payload="small")])
    first, second = (result["job"] for result in results)
    assert "payload" not in first
    assert first["payload_bytes"] == len(LARGE) + 2
    assert second["payload"] == "small"
    assert jobs.get(first)["payload"] == LARGE


def test_what_is_refused_does_not_keep_the_others_back(jobs: Jobs) -> None:
    items: list[object] = [
        new(jobs, payload="a"),
        new(jobs, priority=10),
        new(jobs, payload="b"),
        {"queue": jobs.queue},
        new(jobs, unknown=1),
        new(jobs, payload=f"{LARGE}{LARGE}{LARGE}"),
        new(jobs, max_attempts=0, jitter=2),
        new(jobs, payload="c"),
    ]
    results = batch(jobs, "enqueue", items)
    assert statuses(results) == [201, 422, 201, 422, 422, 413, 422, 201]
    assert refused(results, 1) == (422, "invalid_field", {"priority"})
    assert refused(results, 3) == (422, "invalid_field", {"job_type"})
    assert refused(results, 4) == (422, "invalid_field", {"unknown"})
    assert refused(results, 5) == (413, "too_large", {"payload"})
    assert refused(results, 6) == (422, "invalid_field", {"max_attempts", "jitter"})
    assert {job["payload"] for job in jobs.list()["items"]} == {"a", "b", "c"}


@pytest.mark.parametrize("item", [None, 1, "x", True, [], [{"job_type": "t"}], {}])
def test_an_element_that_is_no_job(jobs: Jobs, item: object) -> None:
    results = batch(jobs, "enqueue", [new(jobs), item, new(jobs)])
    assert statuses(results) == [201, 422, 201]
    assert len(jobs.list()["items"]) == 2


def test_all_may_be_refused(jobs: Jobs) -> None:
    assert statuses(batch(jobs, "enqueue", [new(jobs, priority=-1)] * 100)) == [422] * 100
    assert jobs.list()["items"] == []


def test_one_key_many_times_in_a_batch_makes_one_job(jobs: Jobs) -> None:
    same = new(jobs, unique_key="k", payload=1)
    results = batch(jobs, "enqueue", [same] * 20)
    assert sorted(statuses(results)) == [200] * 19 + [201]
    assert len({result["job"]["id"] for result in results}) == 1
    for result in results:
        assert result["job"].get("duplicate", False) is (result["status"] == 200)
    assert len(jobs.list()["items"]) == 1


def test_a_key_that_is_reused_in_a_batch(jobs: Jobs) -> None:
    first = jobs.enqueue(unique_key="k", payload=1)
    items = [new(jobs, unique_key="k", payload=n) for n in (1, 2)]
    results = batch(jobs, "enqueue", items)
    assert statuses(results) == [200, 409]
    assert results[0]["job"] == {**first, "duplicate": True}
    assert results[1]["problem"]["code"] == "key_reused"
    assert results[1]["problem"]["job_id"] == first["id"]


def test_batches_at_the_same_moment(jobs: Jobs) -> None:
    calls = [partial(enqueue_many, jobs, 20)] * 4
    made = [job["id"] for some in together(calls) for job in some]
    assert len(set(made)) == 80
    assert {job["id"] for job in jobs.list(per_page=100)["items"]} == set(made)


# -- idempotency_key -------------------------------------------------------------------


def test_a_repeated_batch_finds_its_jobs(jobs: Jobs) -> None:
    items = [new(jobs, payload=number, idempotency_key=f"r{number}") for number in range(3)]
    made = batch(jobs, "enqueue", items)
    assert statuses(made) == [201] * 3
    assert not any("idempotency_key" in result["job"] for result in made)
    found = batch(jobs, "enqueue", [*items, new(jobs, payload=3, idempotency_key="r3")])
    assert statuses(found) == [200] * 3 + [201]
    for first, second in zip(made, found, strict=False):
        assert second["job"] == {**first["job"], "duplicate": True}
    assert len(jobs.list()["items"]) == 4


def test_a_key_of_a_batch_that_is_reused(jobs: Jobs) -> None:
    [first] = batch(jobs, "enqueue", [new(jobs, payload=1, idempotency_key="r1")])
    items = [
        new(jobs, payload=2, idempotency_key="r1"),
        new(jobs, payload=1, idempotency_key="r1", job_type="other"),
        new(jobs, payload=2, idempotency_key="r2"),
    ]
    results = batch(jobs, "enqueue", items)
    assert statuses(results) == [409, 409, 201]
    for result in results[:2]:
        assert result["problem"]["code"] == "key_reused"
        assert result["problem"]["job_id"] == first["job"]["id"]


def test_a_key_in_a_batch_is_the_header_of_one_job(jobs: Jobs) -> None:
    item = new(jobs, idempotency_key="r1")
    [made] = batch(jobs, "enqueue", [item])
    sent = {"content-type": "application/json", "Idempotency-Key": "r1"}
    alone = expect(jobs.api.post("/jobs", new(jobs), headers=sent), 200)
    assert alone == {**made["job"], "duplicate": True}
    problem(jobs.api.post("/jobs", item), 422, "invalid_field")  # the header is the way there


def test_a_key_in_a_batch_is_remembered_for_a_day(make_server: MakeServer, queue: str) -> None:
    server = make_server()
    jobs = Jobs(Api(server.url), queue)
    item = new(jobs, idempotency_key="r1")
    [first] = batch(jobs, "enqueue", [item])
    jobs.done("complete", jobs.claim())
    server.advance(24 * 3600 - 10)
    [found] = batch(jobs, "enqueue", [item])
    assert (found["status"], found["job"]["status"]) == (200, "completed")
    server.advance(10)
    [second] = batch(jobs, "enqueue", [item])
    assert second["status"] == 201
    assert second["job"]["id"] != first["job"]["id"]


def test_a_batch_may_leave_keys_out(jobs: Jobs) -> None:
    items = [new(jobs), new(jobs, idempotency_key=None), new(jobs, idempotency_key="r1")]
    for made in (3, 2):
        results = batch(jobs, "enqueue", items)
        assert statuses(results).count(201) == made
    assert len(jobs.list()["items"]) == 5


def test_both_keys_of_a_job_in_a_batch(jobs: Jobs) -> None:
    item = new(jobs, idempotency_key="r1", unique_key="k")
    [first] = batch(jobs, "enqueue", [item])
    others = [item, new(jobs, idempotency_key="r1"), new(jobs, unique_key="k")]
    for result in batch(jobs, "enqueue", others):
        assert result["status"] == 200
        assert result["job"]["id"] == first["job"]["id"]


@pytest.mark.parametrize("key", ["", "a" * 257, "a\n", "\x00", "a\x7f", "\ud800", 1, True, [], {}])
def test_junk_keys_in_a_batch(jobs: Jobs, key: object) -> None:
    results = batch(jobs, "enqueue", [new(jobs), new(jobs, idempotency_key=key)])
    assert statuses(results) == [201, 422]
    assert refused(results, 1)[2] == {"idempotency_key"}


def test_the_same_batch_twenty_times_at_once(jobs: Jobs) -> None:
    items = [new(jobs, payload=number, idempotency_key=f"r{number}") for number in range(10)]
    answers = together([partial(batch, jobs, "enqueue", items)] * 20)
    for number in range(10):
        results = [answer[number] for answer in answers]
        assert sorted(statuses(results)) == [200] * 19 + [201]
        assert len({result["job"]["id"] for result in results}) == 1
    assert sorted(job["payload"] for job in jobs.list()["items"]) == list(range(10))


# -- claim many ------------------------------------------------------------------------


def test_up_to_25_are_claimed_at_once(jobs: Jobs) -> None:
    made = enqueue_many(jobs, 30)
    taken = claim_many(jobs, 25)
    rest = jobs.ask(max_jobs=25)["jobs"]
    assert len({job["lease_token"] for job in [*taken, *rest]}) == 30
    assert {job["id"] for job in [*taken, *rest]} == {job["id"] for job in made}
    problem(jobs.send("claim", queue=jobs.queue, max_jobs=26), 422)


# -- complete --------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", ["", PREFIX])
def test_25_are_completed(api: Api, queue: str, prefix: str) -> None:
    jobs = Jobs(api, queue, prefix)
    enqueue_many(jobs, 25)
    taken = claim_many(jobs, 25)
    items = [settling(job, result={"n": job["payload"]}) for job in taken]
    results = batch(jobs, "complete", items)
    assert statuses(results) == [200] * 25
    assert [result["job"]["id"] for result in results] == [job["id"] for job in taken]
    for job, result in zip(taken, results, strict=True):
        assert result["job"]["status"] == "completed"
        assert result["job"]["result"] == {"n": job["payload"]}
        assert jobs.get(job) == {**result["job"], "history": []}
    assert statuses(batch(jobs, "complete", items)) == [200] * 25  # asked again


def test_a_completed_job_of_a_batch_is_as_one_completed_alone(jobs: Jobs) -> None:
    jobs.enqueue()
    job = jobs.claim()
    [result] = batch(jobs, "complete", [settling(job, result=1)])
    assert result["job"] == jobs.done("complete", job, result=1, **token(job))


def test_completions_of_all_kinds(jobs: Jobs) -> None:
    enqueue_many(jobs, 4)
    good, bare, wrong, large = claim_many(jobs, 4)
    dead = jobs.in_status("dead")
    items: list[object] = [
        settling(good, result="r"),
        {"id": bare["id"]},
        {"id": wrong["id"], "lease_token": "0" * 32},
        {"id": dead["id"]},
        {"id": 1},
        {"id": 0},
        {"id": "x"},
        {"lease_token": "x"},
        settling(wrong, error="e"),
        settling(large, result=f"{LARGE}{LARGE}{LARGE}"),
        None,
    ]
    results = batch(jobs, "complete", items)
    assert statuses(results) == [200, 200, 409, 409, 404, 422, 422, 422, 422, 413, 422]
    assert results[2]["problem"]["code"] == "lease_lost"
    assert results[2]["problem"]["job_id"] == wrong["id"]
    assert results[2]["problem"]["job_status"] == "running"
    assert results[3]["problem"]["code"] == "not_running"
    assert results[4]["problem"]["code"] == "not_found"
    assert [refused(results, at)[2] for at in range(5, 9)] == [{"id"}, {"id"}, {"id"}, {"error"}]
    for untouched in (wrong, large):
        assert jobs.get(untouched)["status"] == "running"
        jobs.done("complete", untouched, **token(untouched))


def test_large_results(jobs: Jobs) -> None:
    enqueue_many(jobs, 25)
    taken = claim_many(jobs, 25)
    results = batch(jobs, "complete", [settling(job, result=LARGE) for job in taken])
    assert statuses(results) == [200] * 25
    assert results[0]["job"]["result_bytes"] == len(LARGE) + 2
    assert jobs.get(taken[24])["result"] == LARGE


def test_the_same_completion_twice_in_a_batch_is_one(jobs: Jobs) -> None:
    jobs.enqueue()
    job = jobs.claim()
    results = batch(jobs, "complete", [settling(job, result="r")] * 5)
    assert statuses(results) == [200] * 5
    assert all(result == results[0] for result in results)
    assert jobs.get(job)["result"] == "r"


def test_two_results_for_one_job_in_a_batch(jobs: Jobs) -> None:
    jobs.enqueue()
    job = jobs.claim()
    results = batch(jobs, "complete", [settling(job, result=number) for number in range(5)])
    assert sorted(statuses(results)) == [200, 409, 409, 409, 409]
    assert jobs.get(job)["result"] == statuses(results).index(200)


# -- fail ------------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", ["", PREFIX])
def test_25_are_failed(api: Api, queue: str, prefix: str) -> None:
    jobs = Jobs(api, queue, prefix)
    enqueue_many(jobs, 25)
    taken = claim_many(jobs, 25)
    results = batch(jobs, "fail", [settling(job, error=f"e{job['payload']}") for job in taken])
    assert statuses(results) == [200] * 25
    for job, result in zip(taken, results, strict=True):
        shown = result["job"]
        assert (shown["id"], shown["status"]) == (job["id"], "queued")
        assert shown["last_error"] == f"e{job['payload']}"
        assert [each["error"] for each in jobs.get(job)["history"]] == [shown["last_error"]]


def test_failures_of_all_kinds(jobs: Jobs) -> None:
    enqueue_many(jobs, 5)
    later, dead, bare, wrong, good = claim_many(jobs, 5)
    items: list[object] = [
        settling(later, error="e", retry_in_seconds=60),
        settling(dead, error="e", retry=False),
        {"id": bare["id"], "error": "e"},
        {"id": wrong["id"], "lease_token": "0" * 32, "error": "e"},
        settling(wrong, error="e", retry=False, retry_in_seconds=1),
        settling(wrong),
        settling(good, error="x" * 100_000),
        {"id": 1, "error": "e"},
    ]
    results = batch(jobs, "fail", items)
    assert statuses(results) == [200, 200, 200, 409, 422, 422, 200, 404]
    assert [results[at]["job"]["status"] for at in (0, 1, 2)] == ["queued", "dead", "queued"]
    assert len(results[6]["job"]["last_error"].encode()) <= 4096
    after = jobs.get(wrong)
    assert (after["status"], after["history"]) == ("running", [])
    assert [job["id"] for job in jobs.dead_letters()["items"]] == [dead["id"]]


def test_the_same_failure_twice_in_a_batch_counts_once(jobs: Jobs) -> None:
    jobs.enqueue()
    job = jobs.claim()
    results = batch(jobs, "fail", [settling(job, error="e")] * 5)
    assert statuses(results) == [200] * 5
    after = jobs.get(job)
    assert (after["attempts"], len(after["history"])) == (1, 1)


def test_two_errors_for_one_job_in_a_batch(jobs: Jobs) -> None:
    jobs.enqueue()
    job = jobs.claim()
    results = batch(jobs, "fail", [settling(job, error=f"e{number}") for number in range(5)])
    assert sorted(statuses(results)) == [200, 409, 409, 409, 409]
    assert len(jobs.get(job)["history"]) == 1


def test_tokens_may_be_required(make_server: MakeServer, queue: str) -> None:
    server = make_server(REQUIRE_LEASE_TOKEN="true")
    jobs = Jobs(Api(server.url), queue)
    enqueue_many(jobs, 2)
    first, second = claim_many(jobs, 2)
    results = batch(jobs, "complete", [settling(first), {"id": second["id"]}])
    assert statuses(results) == [200, 422]
    assert refused(results, 1)[2] == {"lease_token"}
    results = batch(jobs, "fail", [{"id": second["id"], "error": "e"}])
    assert refused(results, 0) == (422, "invalid_field", {"lease_token"})
    assert jobs.get(second)["status"] == "running"


# -- what is wrong with one alone ------------------------------------------------------

MEMBER = {"/jobs/batch": "payload", "/jobs/complete": "result", "/jobs/fail": "error"}
SAME_ALONE = {
    "/jobs/batch": "/jobs",
    "/jobs/complete": "/jobs/{}/complete",
    "/jobs/fail": "/jobs/{}/fail",
}
FAULTS = {
    "/jobs/batch": ['"unique_for_seconds": 5', '"job_type": "a"', '"payload": 1, "payload": 2'],
    "/jobs/complete": ['"result": 1, "result": 1', '"": 1'],
    "/jobs/fail": ['"retry": false, "retry_in_seconds": 5', '"error": "f"', r'"\ud800": 1'],
}


@every_path
def test_a_fault_of_one_job_is_answered_as_if_it_were_alone(jobs: Jobs, path: str) -> None:
    depths = (501, 600, 800)
    deep = [f'"{MEMBER[path]}": {"[" * depth}{"]" * depth}' for depth in depths]
    for fault in [*deep, *FAULTS[path]]:
        good, bad = item_for(jobs, path), item_for(jobs, path)
        text = f"{json.dumps(bad)[:-1]}, {fault}}}"
        answer = expect(jobs.api.post(path, body=f'{{"jobs": [{json.dumps(good)}, {text}]}}'), 200)
        first, second = answer["results"]
        assert first["status"] in (200, 201)
        job_id = bad.pop("id", None)
        alone = f"{json.dumps(bad)[:-1]}, {fault}}}"
        single = jobs.api.post(SAME_ALONE[path].format(job_id), body=alone)
        assert second == {"status": 422, "problem": problem(single, 422, "invalid_field")}
    kept = len(deep + FAULTS[path]) * (1 if path == "/jobs/batch" else 2)
    assert len(jobs.list(per_page=100)["items"]) == kept


# -- what is refused as a whole --------------------------------------------------------


def item_for(jobs: Jobs, path: str) -> dict[str, object]:
    """Return an element that would be acted on."""
    if path == "/jobs/batch":
        return new(jobs)
    jobs.enqueue()
    job = jobs.claim()
    return settling(job, **({"error": "e"} if path == "/jobs/fail" else {}))


class Untouched:
    """A queue in which a refused batch must leave everything as it is."""

    def __init__(self, jobs: Jobs, path: str) -> None:
        """Prepare what the batch would change."""
        self.item = item_for(jobs, path)
        self._jobs = jobs
        self._path = path
        self._before = jobs.list(per_page=100)

    def check(self) -> None:
        """See that nothing changed, and that the batch would have changed it."""
        assert self._jobs.list(per_page=100) == self._before
        answer = self._jobs.api.post(self._path, {"jobs": [self.item]})
        assert answer.json["results"][0]["status"] in (200, 201)
        assert self._jobs.list(per_page=100) != self._before


@every_path
def test_bad_batches(jobs: Jobs, path: str) -> None:
    untouched = Untouched(jobs, path)
    item = untouched.item
    bodies: list[dict[str, object]] = [
        {},
        {"jobs": []},
        {"jobs": None},
        {"jobs": item},
        {"jobs": "x"},
        {"jobs": 1},
        {"jobs": True},
        {"jobs": [item] * (MOST[path] + 1)},
    ]
    for body in bodies:
        answer = jobs.api.post(path, body)
        problem(answer, 422, "invalid_field")
        assert named_fields(answer) == {"jobs"}, body
    untouched.check()


@every_path
def test_a_batch_has_no_other_field(jobs: Jobs, path: str) -> None:
    untouched = Untouched(jobs, path)
    for name in ("queue", "Jobs", "lease_token", "", "x" * 1000):
        answer = jobs.api.post(path, {"jobs": [untouched.item], name: "x"})
        problem(answer, 422, "invalid_field")
        assert len(answer.json["errors"]) == 1
        assert answer.json["errors"][0]["field"] == (name[:100] or '""')
    untouched.check()


@every_path
def test_a_batch_that_is_no_object(jobs: Jobs, path: str) -> None:
    untouched = Untouched(jobs, path)
    for body in ([untouched.item], "x", 1, True):
        problem(jobs.api.post(path, body), 422)
    problem(jobs.api.post(path), 422)
    problem(jobs.api.post(path, body=""), 422)
    untouched.check()


@every_path
def test_a_batch_with_its_jobs_twice(jobs: Jobs, path: str) -> None:
    untouched = Untouched(jobs, path)
    text = json.dumps({"jobs": [untouched.item]})
    answer = jobs.api.post(path, body=f"{text[:-1]}, {text[1:]}")
    problem(answer, 422, "invalid_field")
    assert named_fields(answer) == {"jobs"}
    untouched.check()


@every_path
def test_a_batch_that_is_no_json(jobs: Jobs, path: str) -> None:
    untouched = Untouched(jobs, path)
    text = json.dumps(untouched.item)
    for body in (
        f'{{"jobs": [{text}}}',
        f'{{"jobs": [{text},]}}',
        f'{{"jobs": [{text} {text}]}}',
        f'{{"jobs": [{text}, NaN]}}',
        f'{{"jobs": [{text}]',
        f'{{"jobs": [{text}]}} x',
    ):
        problem(jobs.api.post(path, body=body), 400, "invalid_json")
    typed = jobs.api.post(path, {"jobs": []}, headers={"content-type": "text/plain"})
    problem(typed, 415)
    untouched.check()


@every_path
def test_absurd_depth(jobs: Jobs, path: str) -> None:
    untouched = Untouched(jobs, path)
    text, member, depth = json.dumps(untouched.item), MEMBER[path], 100_000
    for opened, closed in (("[", "]"), ('{"a":', "}")):
        deep = f"{opened * depth}1{closed * depth}"
        for bad in (deep, f'{text[:-1]}, "{member}": {deep}}}'):
            answer = jobs.api.post(path, body=f'{{"jobs": [{text}, {bad}]}}')
            problem(answer, 422, "invalid_field")
    untouched.check()


@every_path
def test_six_megabytes(jobs: Jobs, path: str) -> None:
    untouched = Untouched(jobs, path)
    text = json.dumps(untouched.item)
    for filler in (" " * 6_000_000, f'{text}, "{"x" * 6_000_000}",'):
        answer = jobs.api.post(path, body=f'{{"jobs": [{filler}{text}]}}')
        assert answer.status == 413
    untouched.check()


@every_path
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_a_batch_is_posted(jobs: Jobs, path: str, method: str) -> None:
    answer: Answer = jobs.api.request(method, path, body=None)
    assert answer.status in (404, 422)  # "batch" is no id
    assert jobs.list()["items"] == []
