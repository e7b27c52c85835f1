"""The calls to DynamoDB that a claim makes once the queue is known, and nothing else."""

import json
import os
import time
from typing import Any

import boto3

client = boto3.client("dynamodb", endpoint_url=os.environ["DYNAMODB_ENDPOINT_URL"])


def lambda_handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Query the queue, lease its first job."""
    queue = json.loads(event["body"])["queue"]
    rows = client.query(
        TableName=os.environ["JOBS_TABLE"],
        IndexName="status-run_after-index",
        KeyConditionExpression="status_lane = :status_lane",
        ExpressionAttributeValues={":status_lane": {"S": f"queued#{queue}#0.0"}},
        ScanIndexForward=True,
        Limit=25,
        ProjectionExpression="id, job_type, run_after",
    )
    client.update_item(
        TableName=os.environ["JOBS_TABLE"],
        Key={"id": rows["Items"][0]["id"], "part": {"S": "job"}},
        UpdateExpression=(
            "SET #status = :running, status_lane = :status_lane, run_after = :now + lease_ms, "
            "run_lease_ms = lease_ms, attempts = attempts + :one, lease_token = :lease_token, "
            "claimed_by = :claimed_by, last_attempted_at = :now, updated_at = :now"
        ),
        ConditionExpression="#status = :queued AND run_after <= :now",
        ExpressionAttributeNames={"#status": "status"},
        ExpressionAttributeValues={
            ":queued": {"S": "queued"},
            ":running": {"S": "running"},
            ":status_lane": {"S": f"running#{queue}#0.0"},
            ":now": {"N": str(time.time_ns() // 1_000_000)},
            ":one": {"N": "1"},
            ":lease_token": {"S": "0123456789abcdef0123456789abcdef"},
            ":claimed_by": {"S": "bench"},
        },
        ReturnValues="ALL_NEW",
        ReturnValuesOnConditionCheckFailure="ALL_OLD",
    )
    return {"statusCode": 200}
