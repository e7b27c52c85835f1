"""Without a network in between: for programs that have job-retry's core layer and its tables."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from job_retry_client.errors import JobQueueError, NoAnswerError, error_of
from job_retry_client.json_text import load
from job_retry_client.models import Job, TransactItems
from job_retry_client.transports.base import Answer

if TYPE_CHECKING:
    from job_retry_client.transports.base import Request

_NEEDS_CORE = "in-process: needs job-retry's core layer; attach it, or reach the queue by its URL"


class InProcessTransport:
    """Reach the queue by its tables, whose names JOBS_TABLE and CONTROL_TABLE hold.

    Args:
        engine: of the core layer; by default the process's own.

    Raises:
        JobQueueError: the core layer is not here, or the names of the tables.
    """

    def __init__(self, engine: Any = None) -> None:
        try:
            from job_retry import in_process, runtime  # noqa: PLC0415 - a layer that may be absent
            from job_retry.settings import SettingsError  # noqa: PLC0415
        except ImportError as error:
            raise JobQueueError(_NEEDS_CORE) from error
        self._call = in_process.call
        try:
            self._engine = engine or runtime.engine()
        except SettingsError as error:
            raise JobQueueError(str(error)) from error

    def send(self, request: Request) -> Answer:
        """Ask, once.

        Raises:
            NoAnswerError: DynamoDB refused, or could not be asked.
        """
        try:
            answer = self._call(
                request.operation.method,
                request.operation.route,
                engine=self._engine,
                path=request.parameters,
                query=request.query,
                body=request.body or "",
                idempotency_key=request.idempotency_key,
            )
        except Exception as error:
            # what has no answer of its own: a missing permission, a missing table
            raise NoAnswerError(f"{type(error).__name__}: {error}", was_sent=True) from error
        return Answer(answer.status, answer.body, answer.retry_after_seconds)

    def flush(self) -> None:
        """Write the metrics of what was done."""
        from job_retry.observability import flush  # noqa: PLC0415 - as above

        flush()

    def transact(self, body: str) -> TransactItems:
        """Return a job's writes for a transaction, given what ``POST /jobs`` takes.

        Raises:
            AnswerError: the job is not acceptable.
        """
        from job_retry import transact  # noqa: PLC0415 - as above
        from job_retry.errors import JobRetryError  # noqa: PLC0415
        from job_retry.problems import problem_of  # noqa: PLC0415
        from job_retry.settings import Settings  # noqa: PLC0415
        from job_retry.views import job_view  # noqa: PLC0415

        settings = Settings.from_environment(os.environ)
        try:
            prepared = transact.transact_job(
                body,
                engine=self._engine,
                jobs_table=settings.jobs_table,
                control_table=settings.control_table,
            )
        except JobRetryError as error:
            problem = problem_of(error)
            raise error_of(int(str(problem["status"])), problem) from error
        job = Job.from_answer(load(job_view(prepared.job)))
        return TransactItems(job, tuple(prepared.entries))
