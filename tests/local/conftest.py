"""A small project with one function, to try the local run's parts on."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import pytest

from local.gateway import gateway
from local.lambdas import Lambdas
from local.server import Server
from local.template import load_template, read_functions
from tests.http.api import Api

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TEMPLATE = """
    Parameters:
      Greeting: {Type: String, Default: "true"}
      NoDefault: {Type: String}
    Globals:
      Function:
        Handler: handler.lambda_handler
        Timeout: 1
        Environment: {Variables: {GREETING: !Ref Greeting, TABLE: !Ref Jobs, FLAG: true}}
    Resources:
      Jobs:
        Type: AWS::DynamoDB::Table
        DeletionPolicy: Retain
        Properties:
          BillingMode: PAY_PER_REQUEST
          AttributeDefinitions: [{AttributeName: id, AttributeType: "N"}]
          KeySchema: [{AttributeName: id, KeyType: HASH}]
          StreamSpecification: {StreamViewType: NEW_IMAGE}
          TimeToLiveSpecification: {AttributeName: expires_at, Enabled: true}
          SSESpecification: {SSEEnabled: true}
      EchoFunction:
        Type: AWS::Serverless::Function
        Properties:
          CodeUri: echo/
          Role: !GetAtt Role.Arn
          Environment: {Variables: {OWN: here}}
          Events:
            One: {Type: HttpApi, Properties: {Method: post, Path: "/jobs/{job_id}"}}
            Claim: {Type: HttpApi, Properties: {Method: POST, Path: /jobs/claim}}
            List: {Type: HttpApi, Properties: {Method: GET, Path: "/api:job-retry/jobs"}}
            Often: {Type: Schedule, Properties: {Schedule: rate(5 minutes)}}
            Daily: {Type: ScheduleV2, Properties: {ScheduleExpression: rate(1 day), Input: "{}"}}
"""

# What the body says is what the function does.
HANDLER = """
    import json, os, time

    def lambda_handler(event, context):
        body = event.get("body", "")
        if body == "raise":
            raise ValueError("secret")
        if body == "crash":
            os._exit(1)
        if body == "hang":
            time.sleep(60)
        if body == "large":
            return {"statusCode": 200, "body": "x" * 6_300_000}
        if body == "nonsense":
            return {"statusCode": "high"}
        if body.startswith("wait for"):
            while not os.path.exists(body.removeprefix("wait for ")):
                time.sleep(0.01)
        if body.startswith("create"):
            open(body.removeprefix("create "), "x").close()
        print("a print is not an outcome")
        print(json.dumps({"_aws": "nor are metrics"}))
        return {"event": event, "pid": os.getpid(), "environment": dict(os.environ)}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The project's folder."""
    (tmp_path / "echo").mkdir()
    (tmp_path / "template.yaml").write_text(textwrap.dedent(TEMPLATE))
    (tmp_path / "echo/handler.py").write_text(textwrap.dedent(HANDLER))
    return tmp_path


@pytest.fixture
def template(project: Path) -> dict[str, Any]:
    """The project's template."""
    return load_template(project / "template.yaml")


@pytest.fixture
def lambdas(project: Path, template: dict[str, Any]) -> Iterator[Lambdas]:
    """The project's functions."""
    with Lambdas(read_functions(template, project), {"GREETING": "hello"}) as running:
        yield running


@pytest.fixture
def echo(template: dict[str, Any], lambdas: Lambdas) -> Iterator[Api]:
    """A client of the project's API."""
    server = Server(gateway(template, lambdas))
    server.start()
    yield Api(server.url)
    server.stop()
