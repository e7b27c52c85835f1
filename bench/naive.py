"""The design to beat: one item a job, and an index with everything for each question.

Indexes on status, queue, run_after and created_at, projecting all attributes. Every change
of a job is then written once for the table and up to twice for each index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

TABLE = "NaiveJobs"
_INDEXED = {"status": "S", "queue": "S", "run_after": "N", "created_at": "N"}


class NaiveQueue:
    """Just enough of a queue to be billed for."""

    def __init__(self, client: DynamoDBClient) -> None:
        self._client = client
        types: Any = [
            {"AttributeName": name, "AttributeType": kind}
            for name, kind in {"id": "S", **_INDEXED}.items()
        ]
        client.create_table(
            TableName=TABLE,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=types,
            GlobalSecondaryIndexes=[
                {
                    "IndexName": f"by-{name}",
                    "KeySchema": [{"AttributeName": name, "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
                for name in _INDEXED
            ],
        )

    def live(self, payload: str) -> None:
        """Enqueue, claim and complete one job."""
        self._client.put_item(
            TableName=TABLE,
            Item={
                "id": {"S": "1"},
                "status": {"S": "queued"},
                "queue": {"S": "default"},
                "run_after": {"N": "1"},
                "created_at": {"N": "1"},
                "job_type": {"S": "send_welcome_email"},
                "payload": {"S": payload},
                "attempts": {"N": "0"},
            },
        )
        for status, moment in (("running", "2"), ("completed", "3")):
            self._client.update_item(
                TableName=TABLE,
                Key={"id": {"S": "1"}},
                UpdateExpression="SET #s = :s, run_after = :now, attempts = :one",
                ExpressionAttributeNames={"#s": "status"},
                ExpressionAttributeValues={
                    ":s": {"S": status},
                    ":now": {"N": moment},
                    ":one": {"N": "1"},
                },
            )
