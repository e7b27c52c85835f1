"""Each function states its code, its policies and its events; all else is said once for all."""

from __future__ import annotations

from typing import Any

import pytest

from local.template import REPOSITORY
from tests.template.stack import folder_of, resources, translate

FUNCTION = "AWS::Serverless::Function"


def test_every_folder_has_its_function_and_every_function_its_folder(
    template: dict[str, Any],
) -> None:
    folders = {path.parent.name for path in (REPOSITORY / "functions").glob("*/handler.py")}
    named = {folder_of(function): name for name, function in resources(template, FUNCTION).items()}
    assert set(named) == folders
    for folder, name in named.items():
        assert name == folder.title().replace("_", "") + "Function"


def test_a_function_states_nothing_that_is_the_same_for_all(template: dict[str, Any]) -> None:
    for name, function in resources(template, FUNCTION).items():
        assert set(function) == {
            "FunctionName",
            "CodeUri",
            "VersionDescription",
            "Policies",
            "Events",
        }, name


def test_a_caller_knows_a_functions_name_by_the_stack_and_the_folder(
    template: dict[str, Any],
) -> None:
    for function in resources(template, FUNCTION).values():
        name = folder_of(function).replace("_", "-")
        assert function["FunctionName"] == {"Fn::Sub": f"${{AWS::StackName}}-{name}"}


def test_the_readme_says_how_long_a_stacks_name_may_be(template: dict[str, Any]) -> None:
    """Lambda takes names of 64 characters."""
    longest = max(len(folder_of(function)) for function in resources(template, FUNCTION).values())
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert f"at most {64 - len('-') - longest} characters" in " ".join(readme.split())


def test_every_function_has_the_layer_and_the_environment(template: dict[str, Any]) -> None:
    translated = translate(template)
    [core] = [
        name
        for name, layer in resources(translated, "AWS::Lambda::LayerVersion").items()
        if layer["LayerName"] == "job-retry-core"
    ]
    for name, function in resources(translated, "AWS::Lambda::Function").items():
        assert function["Layers"] == [{"Ref": core}], name
        assert function["Environment"]["Variables"] == {
            "JOBS_TABLE": {"Ref": "JobsTable"},
            "CONTROL_TABLE": {"Ref": "ControlTable"},
            "REQUIRE_LEASE_TOKEN": {"Ref": "RequireLeaseToken"},
            "DYNAMODB_ENDPOINT_URL": "",
            "PYDANTIC_DISABLE_PLUGINS": "__all__",
            "POWERTOOLS_SERVICE_NAME": "job-retry",
            "POWERTOOLS_METRICS_NAMESPACE": "JobRetry",
            "POWERTOOLS_LOG_LEVEL": {"Ref": "LogLevel"},
        }, name


@pytest.mark.parametrize("name", ["CoreLayer", "InProcessLayer"])
def test_the_layer_is_built_for_the_architecture_the_functions_run_on(
    template: dict[str, Any], name: str
) -> None:
    layer = template["Resources"][name]
    architecture = {"Ref": "Architecture"}
    assert layer["Metadata"] == {
        "BuildMethod": template["Globals"]["Function"]["Runtime"],
        "BuildArchitecture": architecture,
    }
    assert layer["Properties"]["CompatibleArchitectures"] == [architecture]
    assert template["Globals"]["Function"]["Architectures"] == [architecture]


def test_workers_have_the_same_layer_as_the_functions(template: dict[str, Any]) -> None:
    own, theirs = (template["Resources"][name] for name in ("CoreLayer", "InProcessLayer"))
    assert theirs["Properties"]["ContentUri"] == own["Properties"]["ContentUri"]


def test_the_layer_for_callers_is_built_from_its_folder(template: dict[str, Any]) -> None:
    layer = template["Resources"]["ClientLayer"]
    assert layer["Metadata"]["BuildMethod"] in layer["Properties"]["CompatibleRuntimes"]
    assert (REPOSITORY / layer["Properties"]["ContentUri"] / "requirements.txt").exists()


def test_a_parameter_that_changes_functions_publishes_them_anew(template: dict[str, Any]) -> None:
    """A published version is frozen: what is not in its description would not reach callers."""
    used = {
        parameter
        for parameter in template["Parameters"]
        if f"'{parameter}'" in str(template["Globals"])
    }
    # These two choose through conditions, which the text of Globals does not show.
    used |= {"SnapStart", "LogLevel"}
    for name, function in resources(template, FUNCTION).items():
        description = function["VersionDescription"]["Fn::Sub"]
        missing = {parameter for parameter in used if f"${{{parameter}}}" not in description}
        assert not missing, name


def test_a_changed_layer_publishes_the_functions_anew(template: dict[str, Any]) -> None:
    before = resources(translate(template), "AWS::Lambda::Version")
    changed = {**template, "Resources": {**template["Resources"]}}
    layer = changed["Resources"]["CoreLayer"]
    changed["Resources"]["CoreLayer"] = {
        **layer,
        "Properties": {**layer["Properties"], "Description": "changed"},
    }
    after = resources(translate(changed), "AWS::Lambda::Version")
    assert len(before) == len(after) == len(resources(template, FUNCTION))
    assert not set(before) & set(after)


def test_snapshots_are_off_unless_asked_for(template: dict[str, Any]) -> None:
    assert template["Parameters"]["SnapStart"]["Default"] == "false"
    assert template["Globals"]["Function"]["SnapStart"] == {
        "Fn::If": ["UseSnapStart", {"ApplyOn": "PublishedVersions"}, {"Ref": "AWS::NoValue"}]
    }


def test_leases_are_looked_after_every_minute(template: dict[str, Any]) -> None:
    [event] = template["Resources"]["ExpireLeasesFunction"]["Properties"]["Events"].values()
    assert event["Type"] == "Schedule"
    assert event["Properties"]["Schedule"] == "rate(1 minute)"


def test_every_parameter_has_a_default_and_one_sentence(template: dict[str, Any]) -> None:
    groups = template["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    grouped = [name for group in groups for name in group["Parameters"]]
    assert sorted(grouped) == sorted(template["Parameters"])
    for name, parameter in template["Parameters"].items():
        assert "Default" in parameter, name
        assert parameter["Description"].endswith("."), name
