"""What CloudFormation would make of the template: SAM's translation, with conditions evaluated."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from samtranslator.translator.transform import transform  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from collections.abc import Iterator

NO_VALUE = {"Ref": "AWS::NoValue"}


class NoManagedPolicies:
    """Stands in for the lookup of AWS's managed policies, which the template does not use."""

    def load(self) -> dict[str, str]:
        """Return no policies."""
        return {}


def translate(template: dict[str, Any], **parameters: str) -> dict[str, Any]:
    """Return the stack's template as CloudFormation gets it, for these parameters."""
    packaged = deepcopy(template)
    for name, resource in packaged["Resources"].items():
        for key in ("CodeUri", "ContentUri"):
            if key in resource.get("Properties", {}):
                resource["Properties"][key] = f"s3://bucket/{name}"
    translated: dict[str, Any] = transform(packaged, dict(parameters), NoManagedPolicies())
    return translated


def evaluate(template: dict[str, Any], value: Any, **parameters: str) -> Any:
    """Return the value with conditions decided and references to parameters replaced."""
    if isinstance(value, list):
        items = [evaluate(template, item, **parameters) for item in value]
        return [item for item in items if item != NO_VALUE]
    if not isinstance(value, dict):
        return value
    if set(value) == {"Fn::If"}:
        condition, yes, no = value["Fn::If"]
        chosen = yes if holds(template, condition, **parameters) else no
        return evaluate(template, chosen, **parameters)
    if set(value) == {"Ref"} and value["Ref"] in template["Parameters"]:
        return parameters.get(value["Ref"], template["Parameters"][value["Ref"]]["Default"])
    found = {key: evaluate(template, item, **parameters) for key, item in value.items()}
    if set(found) == {"Fn::Split"}:
        separator, text = found["Fn::Split"]
        return text.split(separator)
    return {key: item for key, item in found.items() if item != NO_VALUE}


def holds(template: dict[str, Any], name: str, **parameters: str) -> bool:
    """Return whether a condition of the template holds."""
    match evaluate(template, template["Conditions"][name], **parameters):
        case {"Fn::Equals": [left, right]}:
            return bool(left == right)
        case {"Fn::Not": [{"Fn::Equals": [left, right]}]}:
            return bool(left != right)
    message = f"condition {name} is of a form that these tests do not know"
    raise AssertionError(message)


def resources(template: dict[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    """Return the properties of each resource of a type, by logical id."""
    return {
        name: resource.get("Properties", {})
        for name, resource in template["Resources"].items()
        if resource["Type"] == kind
    }


def folder_of(function: dict[str, Any]) -> str:
    """Return the name of a function's folder, which is the name of the function for people."""
    return str(function["CodeUri"]).removeprefix("functions/").rstrip("/")


def statements(policies: list[dict[str, Any]]) -> Iterator[tuple[set[str], Any]]:
    """Yield each statement of these policies: its actions and its resource."""
    for policy in policies:
        for statement in policy["Statement"]:
            actions = statement["Action"]
            yield {actions} if isinstance(actions, str) else set(actions), statement["Resource"]
