"""The calls to DynamoDB that a complete makes, and nothing else."""

import json
import os
import time
from typing import Any

import boto3

client = boto3.client("dynamodb", endpoint_url=os.environ["DYNAMODB_ENDPOINT_URL"])


def lambda_handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Read the job, write its result."""
    key: Any = {"id": {"N": event["pathParameters"]["job_id"]}, "part": {"S": "job"}}
    body = json.loads(event["body"])
    now = {"N": str(time.time_ns() // 1_000_000)}
    client.get_item(TableName=os.environ["JOBS_TABLE"], Key=key, ConsistentRead=False)
    client.update_item(
        TableName=os.environ["JOBS_TABLE"],
        Key=key,
        UpdateExpression=(
            "SET #status = :status, #status_lane = :status_lane, #run_after = :run_after, "
            "#updated_at = :updated_at, #result = :result, #fingerprint = :fingerprint "
            "REMOVE #result_bytes, #result_part"
        ),
        ConditionExpression="#status = :status_read AND lease_token = :lease_token_read",
        ExpressionAttributeNames={
            "#status": "status",
            "#status_lane": "status_lane",
            "#run_after": "run_after",
            "#updated_at": "updated_at",
            "#result": "result",
            "#result_bytes": "result_bytes",
            "#result_part": "result_part",
            "#fingerprint": "fingerprint",
        },
        ExpressionAttributeValues={
            ":status_read": {"S": "running"},
            ":lease_token_read": {"S": body["lease_token"]},
            ":status": {"S": "completed"},
            ":status_lane": {"S": "completed#prepared#0.0"},
            ":run_after": now,
            ":updated_at": now,
            ":result": {"S": json.dumps(body["result"])},
            ":fingerprint": {"S": "0123456789abcdef01234567"},
        },
        ReturnValues="ALL_NEW",
        ReturnValuesOnConditionCheckFailure="ALL_OLD",
    )
    return {"statusCode": 200}
