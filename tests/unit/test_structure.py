"""Imports point one way: functions → api and bodies → engine → store → the pure modules."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
CORE = REPOSITORY / "layers/core/job_retry"
MODULES = {
    ".".join(path.relative_to(CORE).with_suffix("").parts): path for path in CORE.rglob("*.py")
}
HANDLERS = sorted(REPOSITORY.glob("functions/*/*.py"))

PURE = {
    "lanes",
    "job",
    "transitions",
    "decisions",
    "backoff",
    "errors",
    "ids",
    "clock",
    "names",
    "paths",
    "json_text",
    "unique",
}
SDK = {"botocore", "mypy_boto3_dynamodb"}


def imports(path: Path) -> Iterator[str]:
    """Yield every module that a file imports, inside functions too, with the name imported."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def packages(path: Path) -> set[str]:
    return {name.partition(".")[0] for name in imports(path)} - {"__future__"}


def own(path: Path) -> set[str]:
    """Return the modules of job_retry that a file imports."""
    names = [name.split(".")[1:] for name in imports(path) if name.startswith("job_retry.")]
    joined = {".".join(name[:size]) for name in names for size in range(1, len(name) + 1)}
    return joined & set(MODULES)


def test_there_is_something_to_look_at() -> None:
    assert set(MODULES) >= PURE | {"engine", "dynamo", "api", "schemas.fields"}
    assert len(HANDLERS) >= 13


@pytest.mark.parametrize("path", HANDLERS, ids=lambda path: path.parent.name)
def test_a_function_imports_the_layer_alone(path: Path) -> None:
    assert packages(path) <= {"job_retry", "aws_lambda_powertools", "typing", "http"}


@pytest.mark.parametrize("name", sorted(PURE))
def test_a_pure_module_knows_the_standard_library_and_its_like(name: str) -> None:
    assert packages(MODULES[name]) <= sys.stdlib_module_names | {"job_retry"}
    assert own(MODULES[name]) <= PURE


@pytest.mark.parametrize("name", sorted(MODULES))
def test_each_library_has_its_place(name: str) -> None:
    used = packages(MODULES[name])
    if not name.startswith("dynamo"):
        assert not used & SDK
    if not (name.startswith("schemas.") or name == "bodies"):
        assert "pydantic" not in used
    if name not in {"api", "reading", "observability"}:
        assert "aws_lambda_powertools" not in used


OTHERS = sorted(name for name in MODULES if name != "runtime" and not name.startswith("dynamo"))


@pytest.mark.parametrize("name", OTHERS)
def test_only_the_runtime_chooses_the_store(name: str) -> None:
    assert not {each for each in own(MODULES[name]) if each.startswith("dynamo")}


ENGINE = {"engine", "deciding", "producing", "working", "operating"}
ENGINE |= {"claiming", "delivery", "expiry", "listing", "queues"}


@pytest.mark.parametrize("name", sorted(ENGINE))
def test_the_engine_knows_nothing_of_its_edges(name: str) -> None:
    edges = {"api", "runtime", "settings", "views", "bodies", "observability", "memory", "items"}
    reached = own(MODULES[name])
    assert not reached & edges
    assert not {each for each in reached if each.startswith("schemas")}


@pytest.mark.parametrize("path", [*MODULES.values(), *HANDLERS], ids=lambda path: str(path)[-40:])
def test_what_makes_a_cold_start_slow_is_nowhere(path: Path) -> None:
    dotted = set(imports(path))
    assert not {name for name in dotted if "racer" in name or ".parser" in name}
    assert "boto3" not in packages(path)


WITHOUT_BODY = ["get_job", "get_queue", "cancel_job", "delete_job", "expire_leases"]
NEEDLESS = [(name, "pydantic") for name in WITHOUT_BODY]
NEEDLESS += [("claim_jobs", "boto3"), ("claim_jobs", "job_retry.listing")]


@pytest.mark.parametrize(("name", "module"), NEEDLESS)
def test_a_function_starts_without_what_it_does_not_need(name: str, module: str) -> None:
    script = f"import sys, handler; sys.exit({module!r} in sys.modules)"
    path = [f"functions/{name}", "layers/core"]
    environment = {"PYTHONPATH": ":".join(str(REPOSITORY / each) for each in path)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, check=False)
    assert done.returncode == 0


CHECKING = sorted(name for name in MODULES if name == "bodies" or name.startswith("schemas"))


@pytest.mark.parametrize("name", CHECKING)
def test_what_is_asked_is_checked_without_http(name: str) -> None:
    assert not own(MODULES[name]) & {"api", "reading", "problems", "runtime", "observability"}


@pytest.mark.parametrize("path", HANDLERS, ids=lambda path: path.parent.name)
def test_a_function_reads_no_environment_and_catches_nothing(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)]
    assert "os" not in packages(path)
