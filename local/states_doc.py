"""Writes docs/states.md from the transition table.

Run it as ``PYTHONPATH=layers/core python -m local.states_doc``.

What an action writes is found by running its decision on an example, and is told as the
API shows it. A field or a value that has no words here stops the page from being made.
"""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

from job_retry import decisions, ids
from job_retry.clock import to_rfc3339
from job_retry.errors import LeaseLostError, WrongStatusError
from job_retry.job import Document, Job, NewJob, Status
from job_retry.lanes import QueueRecord
from job_retry.transitions import TRANSITIONS, Action, Guard, Transition, sources
from job_retry.views import job_view

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PATH = Path(__file__).parent.parent / "docs/states.md"

_PAGE: Final = """\
<!-- Made by local/states_doc.py from job_retry/transitions.py. Do not edit. -->

# The states of a job

A job is always in one of five states. This page is the whole of what can happen to it;
whatever is not here is refused, and then nothing is changed.

```mermaid
stateDiagram-v2
{picture}
```

## States

{states}

## Actions

In any other state than the action's own, the answer is 409 with the code given here.

{actions}

## What each action does

The fields are those of a job as the API shows it. `updated_at` becomes now each time. Where the
backoff of an expired lease is 0, `run_after` is again what it was before the claim.

{transitions}

## Rules that hold everywhere

- `run_after` means the same in every state: before this moment nothing will happen to the
  job by itself. Queued, it may be claimed from then on; running, its lease ends then;
  ended, it is when it ended.
- Every claim makes a fresh `lease_token`. Whoever gives one that no longer holds the job
  gets 409 `{lease_lost}`, and nothing is changed.
- A lease is as long as the claim says, else as the job's `lease_seconds`; a heartbeat renews
  it by the length it names, else by the lease's own.
- The same `complete`, `fail` or `release` sent again, with the same token and body, gets
  200 and the job: a client that lost the answer simply asks again.
- Lists and claims show the first {inline_error_bytes} bytes of `last_error`, a single job and
  its history the first {max_error_bytes}.
- `fail` takes `retry_in_seconds` in place of the formula, and `retry: false` to go straight
  to dead. `max_backoff_seconds` and `jitter` only shorten the formula's wait, and no wait is
  longer than 365 days.
"""

_STATES: Final = {
    Status.QUEUED: "Waits for `run_after`. From then on a worker's claim moves it; until then, "
    "and after, a person may cancel it.",
    Status.RUNNING: "Leased to a worker, which completes it, fails it or gives it back. Where the "
    "worker says nothing until the lease ends, the queue takes the job up again by itself.",
    Status.COMPLETED: "Done. Nothing moves it; a person may delete it.",
    Status.DEAD: "A dead letter: out of retries. A person requeues or deletes it.",
    Status.CANCELLED: "Will not run. Nothing moves it; a person may delete it.",
}

_REQUESTS: Final = {
    Action.ENQUEUE: ("a producer", "`POST /jobs`"),
    Action.CLAIM: ("a worker", "`POST /jobs/claim`"),
    Action.HEARTBEAT: ("a worker", "`POST /jobs/{id}/heartbeat`"),
    Action.COMPLETE: ("a worker", "`POST /jobs/{id}/complete`"),
    Action.FAIL: ("a worker", "`POST /jobs/{id}/fail`"),
    Action.EXPIRE: (
        "the queue",
        "none: every minute, when a claim finds nothing due, every two seconds of claims that do",
    ),
    Action.RELEASE: ("a worker", "`POST /jobs/{id}/release`"),
    Action.CANCEL: ("a person", "`POST /jobs/{id}/cancel`"),
    Action.REQUEUE: ("a person", "`POST /dlq/{id}/requeue`"),
    Action.DELETE: ("a person", "`DELETE /jobs/{id}`"),
}

# Guards as a caller knows them. What a caller need not know has no words.
_GUARDS: Final = {
    Guard.NEW: None,  # the queue draws ids until one is new
    Guard.DUE: "`run_after` ≤ now",
    Guard.LEASE: "still the same lease",
    Guard.LEASE_END: "no heartbeat since",
    Guard.FAILURES: "no run has ended since",
}

# The example: every number in it is another, so that a value tells where it came from.
_CLAIMED, _NOW, _GIVEN = 1_893_456_100_000, 1_893_456_200_000, 1_893_999_999_000
_LEASE_SECONDS, _BACKOFF_SECONDS, _ATTEMPTS = 700, 30, 3
_NEW_ID = ids.new_id(_NOW, Random(0))  # noqa: S311 - the page comes out the same each time
_TEXT, _EARLIER = "given", "earlier"
_NO_CHANCE = Random(0)  # noqa: S311 - as the id
_BACKOFF_MS = _BACKOFF_SECONDS * 2 ** (_ATTEMPTS - 1) * 1000

_WORDS: Final = {
    ("attempts", _ATTEMPTS + 1): "`attempts` + 1",
    ("attempts", _ATTEMPTS - 1): "`attempts` − 1",
    ("attempts", 0): "0",
    ("claimed_by", _TEXT): "`worker_id`",
    ("last_error", _TEXT): "`error`, cut at 4 KB",
    ("last_error", decisions.LEASE_EXPIRED): f"“{decisions.LEASE_EXPIRED}”",
    ("lease_token", _TEXT): "fresh",
    ("lease_token", None): "void",
    ("progress", _TEXT): "as given",
    ("result", _TEXT): "as given",
    ("id", _NEW_ID): "new",
}
_MOMENTS: Final = {
    to_rfc3339(_NOW): "now",
    to_rfc3339(_NOW + _LEASE_SECONDS * 1000): "now + lease",
    to_rfc3339(_NOW + _BACKOFF_MS): "now + `backoff_seconds` · 2^(`attempts` − 1)",
    to_rfc3339(_GIVEN): "as given, or now",
    None: "null",
}
_SAID_ONCE: Final = frozenset({"status", "updated_at"})  # by another column, and above the table


def page() -> str:
    """Return docs/states.md."""
    return _PAGE.format(
        picture="\n".join(f"    {_picture(edge)}" for edge in TRANSITIONS),
        states=_table(
            ["state", "who moves a job out of it", "by"],
            ([f"**{status}**", _STATES[status], _ways_out(status)] for status in Status),
        ),
        actions=_table(
            ["action", "by", "request", "from", "otherwise"],
            (_action_row(action) for action in Action),
        ),
        transitions=_table(
            ["action", "from", "to", "when", "condition", "writes"],
            (_transition_row(edge) for edge in TRANSITIONS),
        ),
        lease_lost=LeaseLostError.code,
        inline_error_bytes=decisions.INLINE_ERROR_BYTES,
        max_error_bytes=decisions.MAX_ERROR_BYTES,
    )


def main() -> None:
    """Write the page."""
    PATH.write_text(page(), encoding="utf-8")


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _picture(edge: Transition) -> str:
    """Draw an edge; mermaid reads some characters of a label as its own."""
    cause = edge.cause.replace("<", "below").replace(":", "")
    return f"{edge.source or '[*]'} --> {edge.target or '[*]'}: {edge.action} ({cause})"


def _ways_out(status: Status) -> str:
    ways = [
        edge.action for edge in TRANSITIONS if edge.source is status and edge.target is not status
    ]
    return ", ".join(dict.fromkeys(ways))


def _action_row(action: Action) -> list[str]:
    who, request = _REQUESTS[action]
    allowed = sources(action)
    refused = _refusal(action) if allowed and action not in (Action.CLAIM, Action.EXPIRE) else "–"
    return [
        f"**{action}**",
        who,
        request,
        ", ".join(status for status in Status if status in allowed) or "–",
        refused,
    ]


def _refusal(action: Action) -> str:
    return f"`{WrongStatusError(action, sources(action), _example(Status.QUEUED)).code}`"


def _transition_row(edge: Transition) -> list[str]:
    guards = [words for guard in Guard if guard in edge.guards and (words := _GUARDS[guard])]
    return [
        f"**{edge.action}**",
        edge.source or "–",
        edge.target or "gone",
        edge.cause,
        ", ".join(guards) or "–",
        _writes(edge),
    ]


def _writes(edge: Transition) -> str:
    if edge.action is Action.DELETE:
        return "the job, its payload, its result and its history are removed"
    if edge.source is None:
        shown = _shown(_enqueued())
        asked = {each.name for each in fields(NewJob)} - {"run_after"}
        changed = {name for name in shown if shown[name] is not None} - asked
        attempt = False
    else:
        change = _DECISIONS[edge.action](_before(edge))
        if change is None or change.transition != edge:
            message = f"the example does not take the edge {edge}"
            raise ValueError(message)
        before, shown = _shown(change.before), _shown(change.after)
        changed = {name for name in shown if shown[name] != before[name]}
        attempt = change.attempt is not None
    told = [
        f"{name} = {_words(name, shown[name])}" for name in shown if name in changed - _SAID_ONCE
    ]
    return "; ".join(told + ["an entry in `history`"] * attempt)


def _words(name: str, value: Any) -> str:
    words = _WORDS.get((name, value)) or _MOMENTS.get(value)
    if words is None:
        message = f"no words for {name} = {value!r}: add them to {__name__}"
        raise ValueError(message)
    return words


def _shown(job: Job) -> dict[str, Any]:
    """Return a job as the API shows it; only a claim shows the token."""
    shown: dict[str, Any] = json.loads(job_view(job))
    return shown | ({"lease_token": job.lease_token} if job.last_attempted_at else {})


def _enqueued() -> Job:
    return decisions.enqueue(
        NewJob(job_type="any", run_after=_GIVEN),
        QueueRecord(name="default"),
        job_id=_NEW_ID,
        lane=0,
        enqueue_token=_TEXT,
        now=_NOW,
    )


def _example(status: Status, *, max_attempts: int = _ATTEMPTS + 1) -> Job:
    """Return a job in a state, which has run before."""
    leased = status in (Status.RUNNING, Status.DEAD, Status.COMPLETED)
    return Job(
        id=_NEW_ID,
        queue="any",
        job_type="any",
        status=status,
        priority=0,
        lane=0,
        payload=Document(4, "null"),
        attempts=_ATTEMPTS,
        max_attempts=max_attempts,
        backoff_seconds=_BACKOFF_SECONDS,
        lease_seconds=_LEASE_SECONDS,
        run_after=_NOW - 1,
        updated_at=_CLAIMED,
        enqueue_token=_TEXT,
        last_attempted_at=_CLAIMED,
        claimed_by=_EARLIER if leased else None,
        lease_token=_EARLIER if leased else None,
        run_lease_seconds=_LEASE_SECONDS,
        last_error=_EARLIER,
    )


def _before(edge: Transition) -> Job:
    if edge.source is None:
        raise ValueError(edge)
    exhausted = edge.target is Status.DEAD
    return _example(edge.source, max_attempts=_ATTEMPTS if exhausted else _ATTEMPTS + 1)


_DECISIONS: Final[dict[Action, Callable[[Job], decisions.Change | None]]] = {
    Action.CLAIM: lambda job: decisions.claim(
        job, lease_token=_TEXT, worker_id=_TEXT, lease_seconds=None, now=_NOW
    ),
    Action.HEARTBEAT: lambda job: decisions.heartbeat(
        job, lease_token=None, lease_seconds=None, progress=json.dumps(_TEXT), now=_NOW
    ),
    Action.COMPLETE: lambda job: decisions.complete(
        job, lease_token=None, result=json.dumps(_TEXT), now=_NOW
    ),
    Action.FAIL: lambda job: decisions.fail(
        job,
        lease_token=None,
        error=_TEXT,
        retry_in_seconds=None,
        retry=True,
        now=_NOW,
        random=_NO_CHANCE,
    ),
    Action.EXPIRE: lambda job: decisions.expire(job, now=_NOW, random=_NO_CHANCE),
    Action.RELEASE: lambda job: decisions.release(
        job, lease_token=None, run_after=_GIVEN, delay_seconds=None, now=_NOW
    ),
    Action.CANCEL: lambda job: decisions.cancel(job, fingerprint="", now=_NOW),
    Action.REQUEUE: lambda job: decisions.requeue(job, run_after=_GIVEN, fingerprint="", now=_NOW),
}

if __name__ == "__main__":
    main()
