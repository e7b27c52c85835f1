"""`python -m local`: the engine, the API and the schedules on this machine, until Ctrl-C."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

from botocore.exceptions import BotoCoreError, ClientError

from local.datalock import DataInUseError, lock_data
from local.engine import Engine, EngineError, why_no_dynoxide
from local.gateway import gateway
from local.lambdas import Lambdas
from local.schedules import Schedules
from local.server import PortInUseError, Server
from local.tables import LOCAL_CREDENTIALS, create_missing_tables, user_client
from local.template import (
    REPOSITORY,
    Function,
    TemplateError,
    load_template,
    read_functions,
    table_definitions,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

# The terminal is spared a line per call, unless the user's environment has this variable.
QUIET = {"POWERTOOLS_LOG_LEVEL": "WARNING"}

EXPECTED_ERRORS = (
    BotoCoreError,
    ClientError,
    DataInUseError,
    EngineError,
    PortInUseError,
    TemplateError,
)


def main() -> int:
    """Run until a signal; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m local", description=__doc__)
    parser.add_argument("--port", type=int, default=3000)
    parser.add_argument("--data", type=Path, default=REPOSITORY / ".local")
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    try:
        with contextlib.ExitStack() as running:
            _run(running, options.port, options.data)
    except EXPECTED_ERRORS as error:
        print(f"job-retry cannot start: {error}", file=sys.stderr)
        return 1


def _stop(_number: int, _frame: object) -> NoReturn:
    # Once is enough: the clean-up that follows is not to be interrupted.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop_already)
    raise SystemExit(0)


def _stop_already(_number: int, _frame: object) -> None:
    """Do nothing. SIG_IGN would not do: Python complains of a signal that came just before it."""


def _run(running: contextlib.ExitStack, port: int, data: Path) -> NoReturn:
    template = load_template()
    functions = read_functions(template)
    endpoint = os.environ.get("DYNAMODB_ENDPOINT_URL") or None
    engine = None
    if endpoint is None:
        running.enter_context(lock_data(data))
        engine = Engine(data=data)
        endpoint = engine.url
    _settle_credentials(endpoint, own=engine is not None)
    variables = QUIET | _own_variables(functions.values()) | {"DYNAMODB_ENDPOINT_URL": endpoint}

    lambdas = running.enter_context(Lambdas(functions, variables))
    server = Server(gateway(template, lambdas), port)
    running.callback(server.stop)
    if engine is not None:
        running.enter_context(engine)
    _prepare_tables(endpoint, _definitions(template, functions.values(), variables))
    server.start()
    schedules = Schedules(template, lambdas)
    running.callback(schedules.stop)
    schedules.start()
    _greet(server.url, endpoint, engine)
    _keep_alive(engine)


def _settle_credentials(endpoint: str, *, own: bool) -> None:
    """Keep the user's AWS account out of a local engine; leave it alone for a real table."""
    if _is_aws(endpoint):
        return
    if own:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            del os.environ[name]
    for name, value in LOCAL_CREDENTIALS.items():
        os.environ.setdefault(name, value)


def _is_aws(endpoint: str) -> bool:
    host = urlsplit(endpoint).hostname or ""
    return host.endswith((".amazonaws.com", ".amazonaws.com.cn"))


def _own_variables(functions: Iterable[Function]) -> dict[str, str]:
    """Return the functions' variables that the user has set, e.g. REQUIRE_LEASE_TOKEN=true."""
    names = {name for function in functions for name in function.environment}
    return {name: os.environ[name] for name in names if os.environ.get(name)}


def _definitions(
    template: dict[str, Any], functions: Iterable[Function], variables: dict[str, str]
) -> list[dict[str, Any]]:
    """Return the tables' definitions under the names that the functions will use."""
    definitions = table_definitions(template)
    for function in functions:
        for variable, table in function.environment.items():
            if table in definitions and variable in variables:
                definitions[table]["TableName"] = variables[variable]
    return list(definitions.values())


def _prepare_tables(endpoint: str, definitions: list[dict[str, Any]]) -> None:
    client = user_client(endpoint)
    if _is_aws(endpoint):  # in an account, tables are made by a deployment
        for definition in definitions:
            client.describe_table(TableName=definition["TableName"])
    else:
        create_missing_tables(client, definitions)


def _greet(url: str, endpoint: str, engine: Engine | None) -> None:
    if engine is None:
        where = f"Data: whatever {endpoint} keeps"
    elif engine.lasting and engine.data is not None:
        where = f"Data: {os.path.relpath(engine.data)}, in a DynamoDB engine on {endpoint}"
    else:
        where = f"Data: none is kept. {why_no_dynoxide()}; moto serves, one request at a time"
    print(f"job-retry is running on {url} (Ctrl-C stops it)\n{where}\n")
    print(f"Enqueue a job:\n  curl -sXPOST {url}/jobs -H 'Content-Type: application/json'", end="")
    print(""" -d '{"job_type": "hello"}'""", flush=True)


def _keep_alive(engine: Engine | None) -> NoReturn:
    while True:
        time.sleep(0.5)
        if engine is not None and engine.pid is None:
            engine.start()
            print("The engine had ended and was started again", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
