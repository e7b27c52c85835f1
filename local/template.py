"""Reads template.yaml: the one place that names functions, routes, tables and schedules."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

REPOSITORY = Path(__file__).resolve().parent.parent
DEFAULT_TEMPLATE = REPOSITORY / "template.yaml"

CREATE_TABLE_ARGUMENTS = (
    "AttributeDefinitions",
    "KeySchema",
    "LocalSecondaryIndexes",
    "GlobalSecondaryIndexes",
    "BillingMode",
    "ProvisionedThroughput",
)
SECONDS = {"minute": 60, "hour": 3600, "day": 86400}


class TemplateError(Exception):
    """The template holds something that the local run cannot carry out."""


class _CloudFormationLoader(yaml.SafeLoader):
    """YAML as CloudFormation reads it: its tags are functions, and dates stay text."""


_CloudFormationLoader.yaml_implicit_resolvers = {
    first: [rule for rule in rules if rule[0] != "tag:yaml.org,2002:timestamp"]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _construct_function(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    value: Any
    if isinstance(node, yaml.MappingNode):
        value = loader.construct_mapping(node, deep=True)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = loader.construct_scalar(node)  # type: ignore[arg-type]
    if suffix == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    return {suffix if suffix in {"Ref", "Condition"} else f"Fn::{suffix}": value}


_CloudFormationLoader.add_multi_constructor("!", _construct_function)


@dataclass(frozen=True, kw_only=True)
class Function:
    """One Lambda function of the template."""

    name: str
    source: Path
    module: str
    attribute: str
    environment: dict[str, str]
    timeout_seconds: int
    memory_mb: int


@dataclass(frozen=True, kw_only=True)
class Route:
    """One HTTP API route and the function that serves it."""

    method: str
    path: str
    function: str


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """One function that runs by itself, every so many seconds."""

    function: str
    name: str
    every_seconds: int
    input: str | None


def load_template(path: Path | None = None) -> dict[str, Any]:
    """Return the template as plain values, its tags spelled out: `!Ref X` is {"Ref": "X"}."""
    text = (path or DEFAULT_TEMPLATE).read_text(encoding="utf-8")
    loaded = yaml.load(text, Loader=_CloudFormationLoader)  # noqa: S506 - a SafeLoader
    if not isinstance(loaded, dict):
        message = f"{path or DEFAULT_TEMPLATE} is not a CloudFormation template"
        raise TemplateError(message)
    return loaded


def read_functions(template: dict[str, Any], root: Path = REPOSITORY) -> dict[str, Function]:
    """Return the template's functions by logical id, with Globals and parameters resolved."""
    common = template.get("Globals", {}).get("Function", {})
    found = {}
    for name, properties in _resources(template, "AWS::Serverless::Function").items():
        merged = common | properties
        variables = _variables(common) | _variables(properties)
        module, _, attribute = str(merged["Handler"]).rpartition(".")
        found[name] = Function(
            name=name,
            source=root / str(merged["CodeUri"]) / f"{module.replace('.', '/')}.py",
            module=module,
            attribute=attribute,
            environment={key: _text(resolve(template, value)) for key, value in variables.items()},
            timeout_seconds=int(resolve(template, merged.get("Timeout", 3))),
            memory_mb=int(resolve(template, merged.get("MemorySize", 128))),
        )
    return found


def read_routes(template: dict[str, Any]) -> list[Route]:
    """Return every HttpApi event of every function."""
    return [
        Route(
            method=str(properties["Method"]).upper(),
            path=str(properties["Path"]),
            function=function,
        )
        for function, _, kind, properties in _events(template)
        if kind == "HttpApi"
    ]


def read_schedules(template: dict[str, Any]) -> list[Schedule]:
    """Return every schedule of every function; only `rate(…)` is known here."""
    found = []
    for function, name, kind, properties in _events(template):
        if kind in {"Schedule", "ScheduleV2"}:
            expression = str(
                resolve(template, properties.get("Schedule", properties.get("ScheduleExpression")))
            )
            found.append(
                Schedule(
                    function=function,
                    name=name,
                    every_seconds=_seconds(expression),
                    input=properties.get("Input"),
                )
            )
    return found


def table_definitions(template: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the arguments of boto3's `create_table` for each table, by logical id.

    What CreateTable itself does not take (TTL, point-in-time recovery) is left out;
    `time_to_live` has the former. So is the stream, which nobody here would read.
    """
    return {
        name: {"TableName": name}
        | {
            key: resolve(template, properties[key])
            for key in CREATE_TABLE_ARGUMENTS
            if key in properties
        }
        for name, properties in _resources(template, "AWS::DynamoDB::Table").items()
    }


def time_to_live(template: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the TimeToLiveSpecification of each table that has one, by logical id."""
    return {
        name: resolve(template, properties["TimeToLiveSpecification"])
        for name, properties in _resources(template, "AWS::DynamoDB::Table").items()
        if "TimeToLiveSpecification" in properties
    }


def resolve(template: dict[str, Any], value: Any) -> Any:
    """Return the value with each Ref replaced: a parameter by its default, a table by its id."""
    if isinstance(value, list):
        return [resolve(template, item) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"Ref"}:
        return _resolve_ref(template, value["Ref"])
    if len(value) == 1 and next(iter(value)).startswith("Fn::"):
        message = f"the local run cannot resolve {next(iter(value))} ({value})"
        raise TemplateError(message)
    return {key: resolve(template, item) for key, item in value.items()}


def _resolve_ref(template: dict[str, Any], name: str) -> Any:
    if name in template.get("Parameters", {}):
        parameter = template["Parameters"][name]
        if "Default" not in parameter:
            message = f"parameter {name} has no Default, which the local run needs"
            raise TemplateError(message)
        return parameter["Default"]
    if template.get("Resources", {}).get(name, {}).get("Type") == "AWS::DynamoDB::Table":
        return name
    message = f"the local run cannot resolve Ref {name}: neither a parameter nor a table"
    raise TemplateError(message)


def _resources(template: dict[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    return {
        name: resource.get("Properties", {})
        for name, resource in template.get("Resources", {}).items()
        if resource.get("Type") == kind
    }


def _events(template: dict[str, Any]) -> list[tuple[str, str, str, dict[str, Any]]]:
    return [
        (function, name, event["Type"], event.get("Properties", {}))
        for function, properties in _resources(template, "AWS::Serverless::Function").items()
        for name, event in properties.get("Events", {}).items()
    ]


def _variables(properties: dict[str, Any]) -> dict[str, Any]:
    variables: dict[str, Any] = properties.get("Environment", {}).get("Variables", {})
    return variables


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _seconds(expression: str) -> int:
    match = re.fullmatch(r"rate\((\d+) (minute|hour|day)s?\)", expression)
    if match is None:
        message = f"the local run knows rate(…) schedules only, not {expression}"
        raise TemplateError(message)
    return int(match[1]) * SECONDS[match[2]]
