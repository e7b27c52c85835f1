"""POST /dlq/{id}/requeue."""

from job_retry.schemas.fields import Body, Moment


class RequeueBody(Body):
    """When the job is to run; at once, if nothing is said."""

    run_after: Moment | None = None
