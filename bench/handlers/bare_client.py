"""The least that talks to DynamoDB: one client of boto3, one call."""

import os
from typing import Any

import boto3

client = boto3.client("dynamodb", endpoint_url=os.environ["DYNAMODB_ENDPOINT_URL"])


def lambda_handler(_event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Read a queue's record."""
    key = {"pk": {"S": "queue"}, "sk": {"S": "claimed"}}
    client.get_item(TableName=os.environ["CONTROL_TABLE"], Key=key)
    return {"statusCode": 200}
