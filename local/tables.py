"""Creates the template's tables on an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mypy_boto3_dynamodb import DynamoDBClient

# An engine on this machine takes any credentials, but the SDK insists on some.
LOCAL_CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
}


def local_client(endpoint_url: str) -> DynamoDBClient:
    """Return a client for an engine on this machine, whatever AWS settings the user has."""
    return boto3.client(
        "dynamodb",
        endpoint_url=endpoint_url,
        region_name=LOCAL_CREDENTIALS["AWS_REGION"],
        aws_access_key_id=LOCAL_CREDENTIALS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=LOCAL_CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        config=Config(max_pool_connections=50),
    )


def user_client(endpoint_url: str) -> DynamoDBClient:
    """Return a client with the AWS settings of the environment, which soon says so if it fails."""
    quick = Config(connect_timeout=3, retries={"total_max_attempts": 2})
    return boto3.client("dynamodb", endpoint_url=endpoint_url, config=quick)


def create_missing_tables(
    client: DynamoDBClient, definitions: Iterable[dict[str, Any]]
) -> list[str]:
    """Create the tables that are not there yet; return their names."""
    created = []
    for definition in definitions:
        try:
            client.create_table(**definition)
        except client.exceptions.ResourceInUseException:
            continue
        created.append(definition["TableName"])
    for name in created:
        client.get_waiter("table_exists").wait(
            TableName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 60}
        )
    return created
