"""What the functions tell their operators: metrics of each verb, a log line of each death.

Payloads, results and errors are the users' own and are never logged.
"""

from threading import Lock

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from job_retry.job import Job, Status
from job_retry.transitions import Action

logger = Logger()
# The queue's own wherever it is called from: a worker that calls it in its own process may have
# metrics of its own, and the alarms are to hear of its jobs' deaths too.
metrics = EphemeralMetrics(namespace="JobRetry", service="job-retry")
_one_at_a_time = Lock()

_METRICS = {
    Action.ENQUEUE: "JobsEnqueued",
    Action.CLAIM: "JobsClaimed",
    Action.COMPLETE: "JobsCompleted",
    Action.FAIL: "RunsFailed",
    Action.EXPIRE: "LeasesExpired",
    Action.RELEASE: "JobsReleased",
    Action.CANCEL: "JobsCancelled",
    Action.REQUEUE: "JobsRequeued",
    Action.DELETE: "JobsDeleted",
}  # a heartbeat is no news


def observe(action: Action, job: Job) -> None:
    """Count what was done to a job, and say so where it died."""
    name = _METRICS.get(action)
    if name is not None:
        _count(name)
    if job.status is Status.DEAD and action in (Action.FAIL, Action.EXPIRE):
        _count("JobsDied")
        logger.warning(
            "job is dead",
            job_id=job.id,
            queue=job.queue,
            job_type=job.job_type,
            attempts=job.attempts,
        )


def flush() -> None:
    """Write the invocation's metrics to the log, where CloudWatch reads them."""
    if metrics.metric_set:
        metrics.flush_metrics()


def _count(name: str) -> None:
    with _one_at_a_time:  # a batch counts from several threads, and a full set is written out
        metrics.add_metric(name=name, unit=MetricUnit.Count, value=1)
