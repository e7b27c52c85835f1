"""Jobs as the API shows them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from job_retry.clock import to_rfc3339
from job_retry.json_text import JsonText, encoded_size, render, render_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from job_retry.claiming import Taken
    from job_retry.job import Attempt, Document, Job
    from job_retry.lanes import QueueRecord
    from job_retry.listing import ListAnswer, ListRequest
    from job_retry.producing import Enqueued

_MAX_HISTORY_BYTES = 1_500_000
"""Of a history in one answer; with payload and result it stays below Lambda's 6 MB."""


def job_view(job: Job) -> JsonText:
    """Show a job; a document that stands apart and was not read gives way to its size."""
    return render(_fields(job))


def enqueued_view(enqueued: Enqueued) -> tuple[int, JsonText]:
    """Show what an enqueue came to, with its status: 201, or 200 for a duplicate."""
    if enqueued.is_duplicate:
        return 200, render(_fields(enqueued.job) | {"duplicate": True})
    return 201, job_view(enqueued.job)


def enqueued_briefly_view(enqueued: Enqueued) -> tuple[int, JsonText]:
    """Show the same without a payload that stands apart: a batch has room for many jobs."""
    job = enqueued.job
    brief = replace(job, payload=job.payload._replace(text=None)) if job.payload.part else job
    return enqueued_view(enqueued._replace(job=brief))


def settled_view(job: Job) -> tuple[int, JsonText]:
    """Show a job of a batch that was settled."""
    return 200, job_view(job)


def whole_job_view(job: Job, attempts: Sequence[Attempt]) -> JsonText:
    """Show a job with its history, oldest first; of a very long one, the latest part."""
    shown: list[JsonText] = []
    room = _MAX_HISTORY_BYTES
    for attempt in reversed(attempts):
        text = _attempt_view(attempt)
        room -= encoded_size(text)
        if room < 0:
            break
        shown.append(text)
    fields = _fields(job) | {"history": render_all(reversed(shown))}
    if attempts:
        fields["last_error"] = attempts[-1].error
    if len(shown) < job.failures:
        fields["history_omitted"] = job.failures - len(shown)
    return render(fields)


def claim_view(taken: Taken) -> JsonText:
    """Show what a claim brought, each job with its lease token, or when to come back."""
    jobs = [render(_fields(job) | {"lease_token": job.lease_token}) for job in taken.jobs]
    answer: dict[str, object] = {
        "claimed": bool(jobs),
        "job": jobs[0] if jobs else None,
        "jobs": render_all(jobs),
    }
    if not jobs:
        answer["retry_after_seconds"] = taken.retry_after_seconds
        if taken.lanes_unseen:
            answer["lanes_unseen"] = True
    return render(answer)


def list_view(request: ListRequest, answer: ListAnswer) -> JsonText:
    """Show a page; one that a cursor led to has no number."""
    numbered = request.cursor is None
    return render(
        {
            "items": render_all([job_view(job) for job in answer.jobs]),
            "page": request.page if numbered else None,
            "per_page": request.per_page,
            "next_page": request.page + 1 if numbered and answer.more else None,
            "next_cursor": answer.next_cursor,
        }
    )


def queue_view(record: QueueRecord, now: int) -> JsonText:
    """Show a queue's settings as they are at a moment; null is the API's default."""
    return render(
        {
            "queue": record.name,
            "priorities": sorted(record.priorities, reverse=True),
            "lanes": record.lanes,
            "lanes_from": to_rfc3339(record.lanes_from) if record.lanes_from else None,
            "lanes_write": record.lanes_write(now),
            "lanes_read": record.lanes_read,
            "lease_seconds": record.lease_seconds,
            "max_attempts": record.max_attempts,
            "backoff_seconds": record.backoff_seconds,
        }
    )


def _fields(job: Job) -> dict[str, object]:
    return {
        "id": job.id,
        "queue": job.queue,
        "job_type": job.job_type,
        "status": job.status,
        "priority": job.priority,
        **_document("payload", job.payload),
        "attempts": job.attempts,
        "max_attempts": job.max_attempts,
        "backoff_seconds": job.backoff_seconds,
        "max_backoff_seconds": job.max_backoff_seconds,
        "jitter": job.jitter,
        "lease_seconds": job.lease_seconds,
        "run_after": to_rfc3339(job.run_after),
        "created_at": to_rfc3339(job.created_at),
        "updated_at": to_rfc3339(job.updated_at),
        "claimed_at": _moment(job.claimed_at),
        "claimed_by": job.claimed_by,
        "lease_expires_at": _moment(job.lease_expires_at),
        "last_attempted_at": _moment(job.last_attempted_at),
        "last_error": job.last_error,
        "progress": None if job.progress is None else JsonText(job.progress),
        **_document("result", job.result),
        "completed_at": _moment(job.completed_at),
        "died_at": _moment(job.died_at),
        "cancelled_at": _moment(job.cancelled_at),
        **({"unique_key": job.unique.key.split("#", 2)[2]} if job.unique else {}),
    }


def _document(name: str, document: Document | None) -> dict[str, object]:
    if document is None:
        return {name: None}
    if document.text is None:
        return {f"{name}_bytes": document.size}
    return {name: JsonText(document.text)}


def _attempt_view(attempt: Attempt) -> JsonText:
    return render(
        {
            "attempt": attempt.attempt,
            "worker_id": attempt.worker_id,
            "started_at": to_rfc3339(attempt.started_at),
            "ended_at": to_rfc3339(attempt.ended_at),
            "error": attempt.error,
        }
    )


def _moment(moment: int | None) -> str | None:
    return None if moment is None else to_rfc3339(moment)
