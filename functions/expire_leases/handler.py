"""Every minute: take up the jobs whose lease has ended."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from job_retry.observability import flush, logger
from job_retry.runtime import engine, warm_up

_TIME_TO_STOP_MS = 5_000

warm_up()


@logger.inject_lambda_context
def lambda_handler(_event: dict[str, Any], context: LambdaContext) -> dict[str, int]:
    """Return how many leases were taken up; what the time is too short for waits a minute."""
    try:
        expired = engine().expire_leases(
            may_go_on=lambda: context.get_remaining_time_in_millis() > _TIME_TO_STOP_MS
        )
    finally:
        flush()
    return {"expired": expired}
