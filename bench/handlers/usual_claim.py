"""A claim as such handlers are usually written: all of Powertools' core, and boto3's resource."""

import os
import time
import uuid
from typing import Annotated, Any

import boto3
from aws_lambda_powertools import Logger, Metrics, Tracer
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver
from aws_lambda_powertools.event_handler.openapi.params import Body
from aws_lambda_powertools.logging import correlation_paths
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext
from boto3.dynamodb.conditions import Attr, Key
from pydantic import BaseModel, Field

logger = Logger()
tracer = Tracer()
metrics = Metrics()
app = APIGatewayHttpResolver(enable_validation=True)
dynamodb = boto3.resource("dynamodb", endpoint_url=os.environ["DYNAMODB_ENDPOINT_URL"])
jobs = dynamodb.Table(os.environ["JOBS_TABLE"])


class ClaimRequest(BaseModel):
    """Which job a worker takes."""

    queue: str = Field("default", min_length=1, max_length=128)
    worker_id: str | None = Field(None, max_length=128)
    lease_seconds: int = Field(900, ge=1, le=43_200)


class ClaimAnswer(BaseModel):
    """What it was given."""

    claimed: bool
    job: dict[str, Any] | None = None


@app.post("/jobs/claim")
@tracer.capture_method
def claim_job(request: Annotated[ClaimRequest, Body()]) -> ClaimAnswer:
    """Lease the oldest job of a queue."""
    now = int(time.time() * 1000)
    waiting = jobs.query(
        IndexName="status-run_after-index",
        KeyConditionExpression=Key("status_lane").eq(f"queued#{request.queue}#0.0"),
        Limit=1,
    )
    for row in waiting["Items"]:
        answer = jobs.update_item(
            Key={"id": row["id"], "part": "job"},
            UpdateExpression=(
                "SET #status = :running, status_lane = :lane, run_after = :lease_end, "
                "attempts = attempts + :one, lease_token = :token, claimed_by = :worker"
            ),
            ConditionExpression=Attr("status").eq("queued"),
            ExpressionAttributeNames={"#status": "status"},
            ExpressionAttributeValues={
                ":running": "running",
                ":lane": f"running#{request.queue}#0.0",
                ":lease_end": now + request.lease_seconds * 1000,
                ":one": 1,
                ":token": str(uuid.uuid4()),
                ":worker": request.worker_id,
            },
            ReturnValues="ALL_NEW",
        )
        metrics.add_metric(name="JobsClaimed", unit=MetricUnit.Count, value=1)
        logger.info("claimed", job_id=str(row["id"]))
        return ClaimAnswer(claimed=True, job=answer["Attributes"])
    return ClaimAnswer(claimed=False)


@logger.inject_lambda_context(correlation_id_path=correlation_paths.API_GATEWAY_HTTP)
@tracer.capture_lambda_handler
@metrics.log_metrics(capture_cold_start_metric=True)
def lambda_handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Serve a request."""
    return app.resolve(event, context)
