"""Each function may do to the tables what it does, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.template.stack import folder_of, resources, statements

JOBS = "jobs"
INDEX = "index"
CONTROL = "control"
# A transaction needs the permissions of its parts, not one of its own.
ENQUEUE = {
    JOBS: {"GetItem", "PutItem", "DeleteItem"},
    CONTROL: {"GetItem", "UpdateItem", "PutItem"},
}
COMPLETE = {
    JOBS: {"GetItem", "UpdateItem", "PutItem", "DeleteItem"},
    CONTROL: {"UpdateItem", "DeleteItem"},
}
FAIL = {JOBS: {"GetItem", "UpdateItem", "PutItem"}, CONTROL: {"UpdateItem", "DeleteItem"}}
LIST = {JOBS: {"BatchGetItem"}, INDEX: {"Query"}, CONTROL: {"Query", "GetItem"}}
NEED = {
    "enqueue_job": ENQUEUE,
    "enqueue_jobs": ENQUEUE,
    "list_jobs": LIST,
    "get_job": {JOBS: {"Query"}},
    "claim_jobs": {
        JOBS: {"GetItem", "BatchGetItem", "UpdateItem", "PutItem"},
        INDEX: {"Query"},
        CONTROL: {"GetItem", "UpdateItem", "DeleteItem"},
    },
    "complete_job": COMPLETE,
    "complete_jobs": COMPLETE,
    "fail_job": FAIL,
    "fail_jobs": FAIL,
    "heartbeat_job": {JOBS: {"GetItem", "UpdateItem"}},
    "release_job": {JOBS: {"GetItem", "UpdateItem"}},
    "cancel_job": {JOBS: {"GetItem", "UpdateItem"}, CONTROL: {"UpdateItem", "DeleteItem"}},
    "delete_job": {JOBS: {"GetItem", "Query", "DeleteItem", "BatchWriteItem"}},
    "list_dead_letters": LIST,
    "requeue_dead_letter": {JOBS: {"GetItem", "UpdateItem"}, CONTROL: {"GetItem", "PutItem"}},
    "get_queue": {CONTROL: {"GetItem"}},
    "set_queue": {CONTROL: {"GetItem", "UpdateItem"}},
    "expire_leases": {
        JOBS: {"GetItem", "UpdateItem", "PutItem"},
        INDEX: {"Query"},
        CONTROL: {"Query", "GetItem", "UpdateItem", "DeleteItem"},
    },
}
# What a worker does that goes to the tables itself.
IN_PROCESS = (
    "enqueue_job",
    "get_job",
    "claim_jobs",
    "complete_job",
    "fail_job",
    "heartbeat_job",
    "release_job",
    "cancel_job",
    "requeue_dead_letter",
)


def place(resource: Any) -> str:
    """Return which table or index a policy's resource is."""
    match resource:
        case {"Fn::GetAtt": ["JobsTable", "Arn"]}:
            return JOBS
        case {"Fn::Sub": "${JobsTable.Arn}/index/status-run_after-index"}:
            return INDEX
        case {"Fn::GetAtt": ["ControlTable", "Arn"]}:
            return CONTROL
    pytest.fail(f"a policy names something else than one table or index: {resource}")


def granted(policies: list[dict[str, Any]]) -> dict[str, set[str]]:
    """Return the actions on each table and index that these policies allow."""
    found: dict[str, set[str]] = {}
    for actions, resource in statements(policies):
        assert place(resource) not in found, "one statement for each resource"
        assert all(action.startswith("dynamodb:") for action in actions)
        found[place(resource)] = {action.removeprefix("dynamodb:") for action in actions}
    return found


@pytest.mark.parametrize("folder", NEED)
def test_a_function_may_do_what_it_needs(template: dict[str, Any], folder: str) -> None:
    functions = resources(template, "AWS::Serverless::Function").values()
    [function] = [function for function in functions if folder_of(function) == folder]
    assert granted(function["Policies"]) == NEED[folder]


def test_a_worker_at_the_tables_may_do_what_its_functions_would(template: dict[str, Any]) -> None:
    policy = resources(template, "AWS::IAM::ManagedPolicy")["InProcessPolicy"]
    together: dict[str, set[str]] = {}
    for folder in IN_PROCESS:
        for where, actions in NEED[folder].items():
            together[where] = together.get(where, set()) | actions
    assert granted([policy["PolicyDocument"]]) == together


def test_every_function_is_in_the_table_of_needs(template: dict[str, Any]) -> None:
    functions = resources(template, "AWS::Serverless::Function").values()
    assert {folder_of(function) for function in functions} == set(NEED)


def test_policies_are_written_out_action_by_action(template: dict[str, Any]) -> None:
    for name, function in resources(template, "AWS::Serverless::Function").items():
        for policy in function["Policies"]:
            assert set(policy) == {"Version", "Statement"}, f"{name}: no ready-made policies"
            for statement in policy["Statement"]:
                assert set(statement) == {"Effect", "Action", "Resource"}, name
                assert statement["Effect"] == "Allow", name
        for actions, _ in statements(function["Policies"]):
            assert not any("*" in action for action in actions), name
