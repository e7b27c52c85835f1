"""Handing over what was claimed: payloads, as many as one answer holds."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from job_retry.errors import StoreError
from job_retry.job import Job
from job_retry.json_text import encoded_size
from job_retry.parallel import run_all
from job_retry.store import JobStore

MAX_ANSWER_BYTES = 5_500_000
"""Payloads in one answer. Lambda's limit is 6 MB, with room for all the rest."""


def deliverable(
    store: JobStore, jobs: Sequence[Job], give_back: Callable[[Job], None]
) -> list[Job]:
    """Return claimed jobs with their payloads, as many as one answer holds.

    The others are given back at once: else they would wait for the end of a lease that
    nobody knows of, and lose an attempt.

    Args:
        store: where payloads stand that were not read along.
        jobs: just claimed.
        give_back: releases a job.

    Raises:
        StoreError: no payload at all could be read.
    """

    def with_payload(job: Job) -> Job | StoreError:
        try:
            return replace(job, payload=store.read_document(job.id, job.payload))
        except StoreError as error:
            return error

    outcomes = run_all(with_payload, jobs)
    room = MAX_ANSWER_BYTES
    kept: list[Job] = []
    for job, outcome in zip(jobs, outcomes, strict=True):
        if isinstance(outcome, Job):
            size = encoded_size(outcome.payload.text or "")
            room -= size if kept else 2 * size  # the first one stands there twice, as job too
            if room >= 0:
                kept.append(outcome)
                continue
        give_back(job)
    failures = [outcome for outcome in outcomes if isinstance(outcome, StoreError)]
    if failures and not kept:
        raise failures[0]
    return kept
