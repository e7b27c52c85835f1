"""A queue in memory whose requests can be held, broken and counted, and workers on it."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import Future
from threading import Condition, Event, Thread
from typing import TYPE_CHECKING, Any

from job_retry_client import Job, JobContext, JobQueue
from tests.client.fakes import answer, job, problem, results

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from job_retry_client import Worker
    from job_retry_client.transports.base import Answer, Request

PATIENCE_SECONDS = 60
"""After which a test that waits for something has failed."""

VERBS = {
    "/jobs/claim": "claim",
    "/jobs/complete": "complete",
    "/jobs/fail": "fail",
    "/jobs/{job_id}/release": "release",
    "/jobs/{job_id}/heartbeat": "heartbeat",
}

LEASE_LOST = problem(409, "lease_lost")


class FakeClock:
    """A clock that a test moves; in seconds."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        """Return the moment it stands at."""
        return self.now


class Gate:
    """Where threads wait until a test lets them go on.

    Attributes:
        arrived: how many came here.
    """

    def __init__(self) -> None:
        self._changed = Condition()
        self._open = Event()
        self.arrived = 0

    def wait(self) -> None:
        """Wait, in a thread of the worker's."""
        with self._changed:
            self.arrived += 1
            self._changed.notify_all()
        assert self._open.wait(PATIENCE_SECONDS)

    def wait_for_arrivals(self, number: int = 1) -> None:
        """Wait, in the test, until so many threads have come."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.arrived >= number, PATIENCE_SECONDS)

    def open(self) -> None:
        """Let all go on, those to come as well."""
        self._open.set()


class FakeQueue:
    """A queue as workers see it. Its clock stands still: what is due later never comes.

    Attributes:
        jobs: as the API shows them, by id.
        requests: verb and body of each, in order.
        before: is called with verb and body before a request is done; what it returns is the
            answer, and what it raises is raised, in place of that.
        after: likewise once it is done.
        retry_after_seconds: of a claim that finds nothing.
        lanes_unseen: whether such a claim has not looked at all lanes.
    """

    def __init__(self, retry_after_seconds: float = 0.001) -> None:
        self._changed = Condition()
        self.jobs: dict[int, dict[str, Any]] = {}
        self.later: set[int] = set()
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.before: Callable[[str, dict[str, Any]], Answer | None] = lambda _verb, _body: None
        self.after: Callable[[str, dict[str, Any]], Answer | None] = lambda _verb, _body: None
        self.retry_after_seconds = retry_after_seconds
        self.lanes_unseen = False

    @property
    def client(self) -> JobQueue:
        """A client of it."""
        return JobQueue(self)

    def add(self, job_type: str = "mail", number: int = 1, **more: Any) -> list[int]:
        """Enqueue jobs, and return their ids."""
        with self._changed:
            first = len(self.jobs) + 1
            ids = list(range(first, first + number))
            self.jobs |= {each: job(id=each, job_type=job_type, **more) for each in ids}
            return ids

    def send(self, request: Request) -> Answer:
        """Do what is asked."""
        verb = VERBS[request.operation.route]
        body = json.loads(request.body or "{}")
        body |= {name: int(given) for name, given in request.parameters.items()}
        with self._changed:
            self.requests.append((verb, body))
            self._changed.notify_all()
        instead = self.before(verb, body)
        if instead is not None:
            return instead
        with self._changed:
            done = self._do(verb, body)
            self._changed.notify_all()
        return self.after(verb, body) or done

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait until something holds that requests make true."""
        with self._changed:
            assert self._changed.wait_for(condition, PATIENCE_SECONDS)

    def bodies(self, verb: str) -> list[dict[str, Any]]:
        """Return what requests of a kind said."""
        return [body for each, body in list(self.requests) if each == verb]

    def count(self, verb: str) -> int:
        """Return how many requests of a kind there were."""
        return len(self.bodies(verb))

    def statuses(self) -> Counter[str]:
        """Return how many jobs are in which status."""
        return Counter(each["status"] for each in self.jobs.values())

    def give_to_another(self, job_id: int) -> None:
        """Let another worker have a job."""
        with self._changed:
            self.jobs[job_id]["lease_token"] = "another's"  # noqa: S105 - of a lease

    # ----------------------------------------------------------------------------------

    def _do(self, verb: str, body: dict[str, Any]) -> Answer:
        match verb:
            case "claim":
                return self._claim(body)
            case "complete" | "fail":
                return results(*(self._settle(verb, each) for each in body["jobs"]))
            case _:
                settled = self._settle(verb, body | {"id": body["job_id"]})
                return answer(settled) if isinstance(settled, dict) else settled

    def _claim(self, body: dict[str, Any]) -> Answer:
        types = body.get("job_types")
        queues = body.get("queues") or [body["queue"]]
        found = [
            each
            for each in self.jobs.values()
            if each["status"] == "queued"
            and each["id"] not in self.later
            and each["queue"] in queues
            and (types is None or each["job_type"] in types)
        ][: body["max_jobs"]]
        for each in found:
            each["status"] = "running"
            each["attempts"] += 1
            each["lease_token"] = f"{each['id']}/{each['attempts']}"
            each["lease_seconds"] = body.get("lease_seconds", each["lease_seconds"])
        shown = [dict(each) for each in found]
        if not shown:
            nothing = {"jobs": [], "retry_after_seconds": self.retry_after_seconds}
            return answer(nothing | ({"lanes_unseen": True} if self.lanes_unseen else {}))
        return answer({"jobs": shown})

    def _settle(self, verb: str, body: dict[str, Any]) -> dict[str, Any] | Answer:
        found = self.jobs[body["id"]]
        asked = {name: value for name, value in body.items() if name != "lease_token"}
        if found.get("settled") == [verb, body.get("lease_token"), asked]:
            return found  # asked before, and the answer was lost
        if found.get("lease_token") != body.get("lease_token"):
            return LEASE_LOST
        if found["status"] != "running":
            return problem(409, "not_running", job_status=found["status"])
        if verb == "heartbeat":
            found["progress"] = body.get("progress")
            return found
        if verb == "complete":
            found |= {"status": "completed", "result": body.get("result")}
        elif verb == "fail":
            is_dead = not body["retry"] or found["attempts"] >= found["max_attempts"]
            found |= {"status": "dead" if is_dead else "queued", "last_error": body["error"]}
            self.later.add(found["id"])
        else:
            found |= {"status": "queued", "attempts": found["attempts"] - 1}
            if body.get("delay_seconds"):
                self.later.add(found["id"])
        found["settled"] = [verb, body.get("lease_token"), asked]
        return found


def held(gate: Gate, *verbs: str) -> Callable[[str, object], None]:
    """Return a queue's behaviour: requests of these kinds, or all, wait at a gate."""

    def wait(verb: str, _body: object) -> None:
        if verb in verbs or not verbs:
            gate.wait()

    return wait


class Running:
    """Something that runs in a thread of its own until it ends by itself."""

    def __init__(self, call: Callable[[], Mapping[str, int] | None]) -> None:
        self._future: Future[Mapping[str, int] | None] = Future()

        def run() -> None:
            try:
                self._future.set_result(call())
            except BaseException as error:  # noqa: BLE001 - `end` raises it
                self._future.set_exception(error)

        Thread(target=run, daemon=True).start()

    def end(self) -> Mapping[str, int]:
        """Wait for the end, and return what came of it; or raise what it raised."""
        return self._future.result(PATIENCE_SECONDS) or {}


def run(worker: Worker, *, until_idle: bool = True) -> Running:
    """Let a worker run beside the test."""
    return Running(lambda: worker.run(until_idle=until_idle))


def a_context(job_id: int = 7, **fields: Any) -> JobContext:
    """Return a run of a claimed job that can report nothing."""
    shown = job(id=job_id, status="running", attempts=1, lease_token=f"{job_id}/1", **fields)
    return JobContext(Job.from_answer(shown), lambda _context, _progress: None)
