"""What each function is asked: a request that succeeds, and all that must be there before it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from local.events import Request, http_event, scheduled_event
from local.template import read_routes, read_schedules

if TYPE_CHECKING:
    from collections.abc import Callable

    Call = Callable[[str, dict[str, Any]], Any]
    """Calls a function by its name in the template with an event."""

PREFIX = "/api:job-retry"
JOB = {"job_type": "email.send", "payload": {"to": "someone@example.com", "template": "welcome"}}


@dataclass(frozen=True)
class Ask:
    """A request of a route."""

    parameters: dict[str, Any] = field(default_factory=dict)
    body: object = None
    query: str = ""


class Api:
    """The functions by their routes, called to prepare what is measured."""

    def __init__(self, template: dict[str, Any], call: Call) -> None:
        """Take the routes from the template; ``call`` runs a function."""
        self._call = call
        self._functions = {
            f"{route.method} {route.path}": route.function
            for route in read_routes(template)
            if not route.path.startswith(PREFIX)
        }
        self._scheduled = {each.function for each in read_schedules(template)}

    @property
    def routes(self) -> list[str]:
        """Every route once, like ``POST /jobs/{job_id}/complete``."""
        return list(self._functions)

    @property
    def functions(self) -> list[str]:
        """Every function, those of a route first."""
        return [*dict.fromkeys(self._functions.values()), *sorted(self._scheduled)]

    def event(self, function: str) -> dict[str, Any]:
        """Prepare, and return an event that the function will answer with a success."""
        if function in self._scheduled:
            return scheduled_event("bench")
        route = next(route for route, name in self._functions.items() if name == function)
        return self.request(route, REQUESTS[route](self))

    def request(self, route: str, ask: Ask) -> dict[str, Any]:
        """Return the event of a request."""
        method, path = route.split()
        given = {name: str(value) for name, value in ask.parameters.items()}
        return http_event(
            Request(
                method=method,
                path=path.format(**given),
                query=ask.query,
                headers=[("Host", "bench"), ("Content-Type", "application/json")],
                body=b"" if ask.body is None else json.dumps(ask.body).encode(),
                route=route,
                path_parameters=given,
            )
        )

    def ask(self, route: str, ask: Ask) -> Any:
        """Send a request that is not measured; return the answer's body."""
        answer = self._call(self._functions[route], self.request(route, ask))
        return json.loads(answer["body"])

    def enqueued(self, queue: str = "waiting") -> dict[str, Any]:
        """Return a new job; no queue but the one to be claimed from is ever claimed from."""
        job: dict[str, Any] = self.ask("POST /jobs", Ask(body={**JOB, "queue": queue}))
        return job

    def claimed(self) -> dict[str, Any]:
        """Return a job with its lease token."""
        self.enqueued("prepared")
        taken = self.ask("POST /jobs/claim", Ask(body={"queue": "prepared"}))
        job: dict[str, Any] = taken["job"]
        return job

    def dead(self) -> dict[str, Any]:
        """Return a dead letter."""
        dead: dict[str, Any] = self.ask(
            "POST /jobs/{job_id}/fail", _settled(self, error="it broke", retry=False)
        )
        return dead


def _settled(api: Api, **body: object) -> Ask:
    job = api.claimed()
    return Ask({"job_id": job["id"]}, {"lease_token": job["lease_token"], **body})


def _settled_together(api: Api, **body: object) -> Ask:
    jobs = [api.claimed() for _ in range(3)]
    return Ask(
        body={
            "jobs": [{"id": job["id"], "lease_token": job["lease_token"], **body} for job in jobs]
        }
    )


def _one_to_claim(api: Api) -> Ask:
    api.enqueued("claimed")
    return Ask(body={"queue": "claimed", "worker_id": "bench"})


def _ended(api: Api) -> Ask:
    job_id = api.enqueued()["id"]
    api.ask("POST /jobs/{job_id}/cancel", Ask({"job_id": job_id}))
    return Ask({"job_id": job_id})


REQUESTS: dict[str, Callable[[Api], Ask]] = {
    "POST /jobs": lambda _: Ask(body=JOB),
    "POST /jobs/batch": lambda _: Ask(body={"jobs": [JOB] * 10}),
    "GET /jobs": lambda _: Ask(query="queue=waiting&per_page=10"),
    "GET /jobs/{job_id}": lambda api: Ask({"job_id": api.enqueued()["id"]}),
    "POST /jobs/claim": _one_to_claim,
    "POST /jobs/complete": lambda api: _settled_together(api, result={"sent": True}),
    "POST /jobs/fail": lambda api: _settled_together(api, error="it broke"),
    "POST /jobs/{job_id}/complete": lambda api: _settled(api, result={"sent": True}),
    "POST /jobs/{job_id}/fail": lambda api: _settled(api, error="it broke"),
    "POST /jobs/{job_id}/heartbeat": lambda api: _settled(api, progress={"done": 1, "of": 3}),
    "POST /jobs/{job_id}/release": _settled,
    "POST /jobs/{job_id}/cancel": lambda api: Ask({"job_id": api.enqueued()["id"]}),
    "DELETE /jobs/{job_id}": _ended,
    "GET /dlq": lambda _: Ask(query="queue=prepared&per_page=10"),
    "POST /dlq/{job_id}/requeue": lambda api: Ask({"job_id": api.dead()["id"]}),
    "GET /queues/{queue}": lambda _: Ask({"queue": "waiting"}),
    "PUT /queues/{queue}": lambda _: Ask({"queue": "set"}, {"lease_seconds": 60}),
}
"""By route; each makes what it needs anew."""
