"""The cold start bench asks every function something."""

from __future__ import annotations

import json

from bench.cold_requests import REQUESTS, Api, Ask
from local.template import load_template, read_functions


def refuse(_function: str, _event: object) -> object:
    raise AssertionError


def test_every_route_has_its_request() -> None:
    assert set(REQUESTS) == set(Api(load_template(), refuse).routes)


def test_every_function_is_measured() -> None:
    template = load_template()

    assert set(Api(template, refuse).functions) == set(read_functions(template))


def test_a_request_becomes_the_event_that_api_gateway_sends() -> None:
    api = Api(load_template(), refuse)

    event = api.request("POST /jobs/{job_id}/complete", Ask({"job_id": 7}, {"result": 1}))

    assert event["rawPath"] == "/jobs/7/complete"
    assert event["pathParameters"] == {"job_id": "7"}
    assert json.loads(event["body"]) == {"result": 1}


def test_what_a_request_needs_is_prepared_by_the_functions_themselves() -> None:
    called = []
    job = {"id": 7, "lease_token": "held"}

    def call(function: str, _event: object) -> object:
        called.append(function)
        return {"statusCode": 200, "body": json.dumps({**job, "job": job})}

    event = Api(load_template(), call).event("FailJobFunction")

    assert called == ["EnqueueJobFunction", "ClaimJobsFunction"]
    assert event["rawPath"] == "/jobs/7/fail"
    assert json.loads(event["body"])["lease_token"] == job["lease_token"]
