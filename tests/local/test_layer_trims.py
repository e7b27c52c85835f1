"""What the build takes out of the layer's packages, and puts off, is missed by nobody."""

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import aws_lambda_powertools
import botocore
import pytest

from local.template import REPOSITORY

PACKAGES = [
    "aws_lambda_powertools.event_handler",
    "aws_lambda_powertools.event_handler.openapi",
    "aws_lambda_powertools.utilities.data_classes",
]
NAMES = """
import importlib, json, sys
package = importlib.import_module(sys.argv[1])
named = {name: getattr(package, name) for name in package.__all__}
print(json.dumps({name: f"{each.__module__}.{each.__qualname__}" for name, each in named.items()}))
"""


def trim(script: str, layer: Path) -> None:
    subprocess.run([sys.executable, f"local/sam/{script}", layer], cwd=REPOSITORY, check=True)


def run(script: str, *arguments: str, path: Path) -> str:
    """Run a script in a fresh interpreter that finds packages here first; return what it says."""
    command = [sys.executable, "-c", script, *arguments]
    environment = {"PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture(scope="module")
def powertools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with Powertools as it is in the layer."""
    layer = tmp_path_factory.mktemp("layer")
    source = Path(aws_lambda_powertools.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(source, layer / "aws_lambda_powertools", ignore=ignored)
    trim("defer_imports.py", layer)
    return layer


@pytest.mark.parametrize("package", PACKAGES)
def test_all_names_are_there_on_demand(powertools: Path, package: str) -> None:
    site_packages = Path(aws_lambda_powertools.__file__).parents[1]
    named = json.loads(run(NAMES, package, path=powertools))
    assert named
    assert named == json.loads(run(NAMES, package, path=site_packages))


def test_only_what_is_asked_for_is_imported(powertools: Path) -> None:
    script = """
import sys
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, content_types
assert content_types.APPLICATION_JSON
print(*sorted({"asyncio", "ast", "aws_lambda_powertools.event_handler.appsync"} & set(sys.modules)))
"""
    assert "appsync" not in run(script, path=powertools)
    assert "asyncio" not in run(script, path=powertools)


def test_a_function_is_not_hidden_by_its_module(powertools: Path) -> None:
    script = """
import aws_lambda_powertools.utilities.data_classes.event_source
from aws_lambda_powertools.utilities.data_classes import event_source
print(callable(event_source))
"""
    assert run(script, path=powertools) == "True\n"


def test_what_is_not_there_is_said_so(powertools: Path) -> None:
    script = """
import aws_lambda_powertools.event_handler
print(hasattr(aws_lambda_powertools.event_handler, "Nothing"))
"""
    assert run(script, path=powertools) == "False\n"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data of botocore as it is in the layer."""
    source = Path(botocore.__file__).parent / "data"
    layer = tmp_path_factory.mktemp("layer")
    trimmed = layer / "botocore/data"
    trimmed.mkdir(parents=True)
    shutil.copy(source / "endpoints.json", trimmed)
    for service in ("dynamodb", "sqs"):
        shutil.copytree(source / service, trimmed / service)
    trim("trim_botocore.py", layer)
    return trimmed


def test_only_dynamodb_is_known(data: Path) -> None:
    assert [each.name for each in data.iterdir() if each.is_dir()] == ["dynamodb"]
    known = json.loads((data / "endpoints.json").read_text(encoding="utf-8"))
    assert {name for each in known["partitions"] for name in each["services"]} == {"dynamodb"}


def undocumented(model: Any) -> Any:
    """Return a model without its texts on what things are for."""
    if isinstance(model, list):
        return [undocumented(each) for each in model]
    if not isinstance(model, dict):
        return model
    texts = {name for name in model if name == "documentation" and isinstance(model[name], str)}
    return {name: undocumented(each) for name, each in model.items() if name not in texts}


def test_of_dynamodb_only_the_documentation_is_gone(data: Path) -> None:
    path = Path("dynamodb/2012-08-10")
    whole = (Path(botocore.__file__).parent / "data" / path / "service-2.json.gz").read_bytes()
    trimmed = (data / path / "service-2.json").read_text(encoding="utf-8")
    assert len(trimmed) < len(gzip.decompress(whole)) / 3
    assert json.loads(trimmed) == undocumented(json.loads(gzip.decompress(whole)))
