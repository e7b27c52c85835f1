"""Every route, in both spellings, asks who is calling, whatever the parameters."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from typing import Any

import pytest

from local.template import read_routes
from tests.template.stack import evaluate, resources, translate

PREFIX = "/api:job-retry"
ROUTES = {
    "POST /jobs",
    "GET /jobs",
    "GET /jobs/{job_id}",
    "DELETE /jobs/{job_id}",
    "POST /jobs/batch",
    "POST /jobs/claim",
    "POST /jobs/complete",
    "POST /jobs/fail",
    "POST /jobs/{job_id}/complete",
    "POST /jobs/{job_id}/fail",
    "POST /jobs/{job_id}/heartbeat",
    "POST /jobs/{job_id}/release",
    "POST /jobs/{job_id}/cancel",
    "GET /dlq",
    "POST /dlq/{job_id}/requeue",
    "GET /queues/{queue}",
    "PUT /queues/{queue}",
}
BOTH_SPELLINGS = ROUTES | {route.replace(" ", f" {PREFIX}") for route in ROUTES}

JWT = {"JwtIssuer": "https://issuer.example", "JwtAudience": "queue,tools"}
CORS = {"CorsAllowOrigins": "https://one.example,https://two.example"}
VARIANTS = [
    pytest.param({}, "AWS_IAM", id="default"),
    pytest.param(CORS, "AWS_IAM", id="cors"),
    pytest.param(JWT, "Jwt", id="jwt"),
    pytest.param(JWT | CORS, "Jwt", id="jwt-cors"),
    pytest.param({"SnapStart": "true", "RequireLeaseToken": "true"}, "AWS_IAM", id="other"),
]


def api_body(template: dict[str, Any], parameters: dict[str, str]) -> dict[str, Any]:
    """Return the API's definition as API Gateway gets it."""
    translated = translate(template, **parameters)
    [api] = resources(translated, "AWS::ApiGatewayV2::Api").values()
    body: dict[str, Any] = evaluate(translated, api["Body"], **parameters)
    return body


def operations(body: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return each route's definition, by method and path."""
    return {
        f"{method.upper()} {path}": operation
        for path, methods in body["paths"].items()
        for method, operation in methods.items()
    }


def test_functions_answer_every_route_in_both_spellings(template: dict[str, Any]) -> None:
    routes = read_routes(template)
    assert len(routes) == len(BOTH_SPELLINGS)
    functions = {f"{route.method} {route.path}": route.function for route in routes}
    assert set(functions) == BOTH_SPELLINGS
    for route in ROUTES:
        assert functions[route] == functions[route.replace(" ", f" {PREFIX}")]


@pytest.mark.parametrize(("parameters", "scheme"), VARIANTS)
def test_no_route_is_open(
    template: dict[str, Any], parameters: dict[str, str], scheme: str
) -> None:
    body = api_body(template, parameters)
    found = operations(body)
    assert set(found) == BOTH_SPELLINGS
    for route, operation in found.items():
        assert operation["security"] == [{scheme: []}], route
        assert operation["x-amazon-apigateway-integration"]["type"] == "aws_proxy", route
    assert scheme in body["components"]["securitySchemes"]


def test_signatures_are_checked_by_iam(template: dict[str, Any]) -> None:
    schemes = api_body(template, {})["components"]["securitySchemes"]
    # An authoriser without an issuer would be refused, so there is none unless it is used.
    assert set(schemes) == {"AWS_IAM"}
    assert schemes["AWS_IAM"]["x-amazon-apigateway-authtype"] == "awsSigv4"


def test_tokens_are_checked_for_issuer_and_audience(template: dict[str, Any]) -> None:
    schemes = api_body(template, JWT)["components"]["securitySchemes"]
    assert schemes["Jwt"]["x-amazon-apigateway-authorizer"] == {
        "type": "jwt",
        "identitySource": "$request.header.Authorization",
        "jwtConfiguration": {
            "issuer": "https://issuer.example",
            "audience": ["queue", "tools"],
        },
    }


@pytest.mark.parametrize("parameters", [{}, JWT], ids=["default", "jwt"])
def test_a_route_that_is_forgotten_in_the_definition_is_not_open_either(
    template: dict[str, Any], parameters: dict[str, str]
) -> None:
    changed = deepcopy(template)
    del changed["Resources"]["HttpApi"]["Properties"]["DefinitionBody"]["paths"]["/dlq"]
    forgotten = operations(api_body(changed, parameters))["GET /dlq"]
    assert forgotten["security"] == [{"AWS_IAM": []}]


def test_there_is_no_other_way_in(template: dict[str, Any]) -> None:
    translated = translate(template)
    kinds = {resource["Type"] for resource in translated["Resources"].values()}
    assert not {kind for kind in kinds if kind.startswith("AWS::ApiGateway::")}
    assert "AWS::Lambda::Url" not in kinds
    for name, permission in resources(translated, "AWS::Lambda::Permission").items():
        assert permission["Principal"] in {"apigateway.amazonaws.com", "events.amazonaws.com"}, name
        assert "SourceArn" in permission, name


def test_web_pages_of_other_origins_may_not_call_unless_named(template: dict[str, Any]) -> None:
    assert "x-amazon-apigateway-cors" not in api_body(template, {})
    cors = api_body(template, CORS)["x-amazon-apigateway-cors"]
    assert cors["allowOrigins"] == ["https://one.example", "https://two.example"]
    assert set(cors["allowMethods"]) == {route.split()[0] for route in ROUTES}
    assert {"authorization", "content-type", "idempotency-key"} <= set(cors["allowHeaders"])


NEEDED = {
    "ProducerPolicy": {"POST /jobs", "POST /jobs/batch", "GET /jobs/*", "POST /jobs/*/cancel"},
    "WorkerPolicy": {
        "POST /jobs/claim",
        "POST /jobs/complete",
        "POST /jobs/fail",
        "POST /jobs/*/complete",
        "POST /jobs/*/fail",
        "POST /jobs/*/heartbeat",
        "POST /jobs/*/release",
    },
    "OperatorPolicy": {
        "GET /jobs",
        "GET /jobs/*",
        "POST /jobs/*/cancel",
        "DELETE /jobs/*",
        "GET /dlq",
        "POST /dlq/*/requeue",
        "GET /queues/*",
        "PUT /queues/*",
    },
}
ROUTE_ARN = re.compile(
    r"arn:\$\{AWS::Partition\}:execute-api:\$\{AWS::Region\}:\$\{AWS::AccountId\}:"
    r"\$\{HttpApi\}/\$default/(?P<method>[A-Z]+)(?P<path>/.*)"
)


def granted_routes(policy: dict[str, Any]) -> set[str]:
    """Return the routes that a managed policy allows, `*` standing for an id or a queue."""
    statement, _ = policy["PolicyDocument"]["Statement"]
    assert statement["Effect"] == "Allow"
    assert statement["Action"] == "execute-api:Invoke"
    routes = set()
    for resource in statement["Resource"]:
        match = ROUTE_ARN.fullmatch(resource["Fn::Sub"])
        assert match, resource
        routes.add(f"{match['method']} {match['path']}")
    return routes


def granted_functions(template: dict[str, Any], name: str) -> list[str]:
    """Return the functions whose alias a managed policy allows to invoke."""
    translated = translate(template)
    _, statement = resources(translated, "AWS::IAM::ManagedPolicy")[name]["PolicyDocument"][
        "Statement"
    ]
    assert statement["Effect"] == "Allow"
    assert statement["Action"] == "lambda:InvokeFunction"
    aliases = resources(translated, "AWS::Lambda::Alias")
    for resource in statement["Resource"]:
        assert aliases[resource["Ref"]]["Name"] == "live"
    return [aliases[resource["Ref"]]["FunctionName"]["Ref"] for resource in statement["Resource"]]


@pytest.mark.parametrize("name", NEEDED)
def test_a_role_gets_the_routes_it_needs_in_both_spellings(
    template: dict[str, Any], name: str
) -> None:
    policies = resources(template, "AWS::IAM::ManagedPolicy")
    needed = NEEDED[name]
    assert granted_routes(policies[name]) == needed | {
        route.replace(" ", f" {PREFIX}") for route in needed
    }


@pytest.mark.parametrize("name", NEEDED)
def test_a_role_may_invoke_just_the_functions_behind_its_routes(
    template: dict[str, Any], name: str
) -> None:
    behind = {
        route.function
        for route in read_routes(template)
        if re.sub(r"\{\w+\}", "*", f"{route.method} {route.path}") in NEEDED[name]
    }
    functions = granted_functions(template, name)
    assert len(functions) == len(behind)
    assert set(functions) == behind


def test_the_roles_together_reach_every_route_and_no_other(template: dict[str, Any]) -> None:
    policies = resources(template, "AWS::IAM::ManagedPolicy")
    assert set(policies) == {*NEEDED, "InProcessPolicy"}
    reached = set().union(*(granted_routes(policies[name]) for name in NEEDED))
    assert reached == {re.sub(r"\{\w+\}", "*", route) for route in BOTH_SPELLINGS}


LONGEST_FUNCTION = f"arn:aws-us-gov:lambda:ap-southeast-1:{'1' * 12}:function:{'n' * 64}:live"


def test_a_policy_is_no_longer_than_iam_takes(template: dict[str, Any]) -> None:
    """IAM takes 6,144 characters without blanks, names of accounts and regions filled in."""
    longest = {
        "AWS::Partition": "aws-us-gov",
        "AWS::Region": "ap-southeast-1",
        "AWS::AccountId": "1" * 12,
        "HttpApi": "a" * 10,
    }
    for name, policy in resources(template, "AWS::IAM::ManagedPolicy").items():
        text = json.dumps(policy["PolicyDocument"], separators=(",", ":"))
        for reference, value in longest.items():
            text = text.replace(f"${{{reference}}}", value)
        text = re.sub(r'\{"Ref":"\w+\.Alias"\}', json.dumps(LONGEST_FUNCTION), text)
        assert len(text) <= 6144, name
