"""What can be asked of the queue: the routes of its API, and the functions behind them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Operation:
    """A route of the API.

    Attributes:
        method: HTTP's.
        route: path with its parameters in braces.
        function: what the name of its Lambda function ends in.
    """

    method: str
    route: str
    function: str


ENQUEUE = Operation("POST", "/jobs", "enqueue-job")
ENQUEUE_MANY = Operation("POST", "/jobs/batch", "enqueue-jobs")
LIST = Operation("GET", "/jobs", "list-jobs")
GET = Operation("GET", "/jobs/{job_id}", "get-job")
CLAIM = Operation("POST", "/jobs/claim", "claim-jobs")
COMPLETE = Operation("POST", "/jobs/{job_id}/complete", "complete-job")
COMPLETE_MANY = Operation("POST", "/jobs/complete", "complete-jobs")
FAIL = Operation("POST", "/jobs/{job_id}/fail", "fail-job")
FAIL_MANY = Operation("POST", "/jobs/fail", "fail-jobs")
HEARTBEAT = Operation("POST", "/jobs/{job_id}/heartbeat", "heartbeat-job")
RELEASE = Operation("POST", "/jobs/{job_id}/release", "release-job")
CANCEL = Operation("POST", "/jobs/{job_id}/cancel", "cancel-job")
DELETE = Operation("DELETE", "/jobs/{job_id}", "delete-job")
DEAD_LETTERS = Operation("GET", "/dlq", "list-dead-letters")
REQUEUE = Operation("POST", "/dlq/{job_id}/requeue", "requeue-dead-letter")
GET_QUEUE = Operation("GET", "/queues/{queue}", "get-queue")
SET_QUEUE = Operation("PUT", "/queues/{queue}", "set-queue")
