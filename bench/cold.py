"""`python -m bench.cold`: what a function's cold start costs, and a warm request.

CPU time of the handlers as `sam build` left them, compiled by ``local/sam/build.sh``, beside
handlers that do less, or are written the usual way. All run on one engine and in turn.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.cold_process import (
    HANDLERS,
    PACKAGES,
    Handler,
    HandlerError,
    Probe,
    find_python,
    install_packages,
    python_version,
)
from bench.cold_report import (
    BARE,
    BARE_ON_LAYER,
    CLAIM,
    COMPLETE,
    SDK_CLAIM,
    SDK_COMPLETE,
    USUAL,
    Measured,
    missed,
    render,
    write,
)
from bench.cold_requests import Api
from local.engine import Engine
from local.tables import create_missing_tables, local_client
from local.template import REPOSITORY, load_template, read_functions, table_definitions

if TYPE_CHECKING:
    from collections.abc import Iterator

BUILD = REPOSITORY / ".aws-sam/build"
BATCH = 20  # requests of a warm process that are measured together
WARM_UP = 2  # batches that are not counted


class Bench:
    """The handlers, and one process of each function that is called for preparations."""

    def __init__(self, python: str, build: Path, endpoint_url: str, stack: ExitStack) -> None:
        """Measure what is in the build folder, against an engine."""
        template = load_template()
        layer = build / "CoreLayer/python"
        self._python = python
        self._stack = stack
        self._prepared: dict[str, Probe] = {}
        self._api = Api(template, self._call)
        functions = read_functions(template)
        self._environment = functions[CLAIM].environment | {"DYNAMODB_ENDPOINT_URL": endpoint_url}
        self._functions = {
            name: Handler("handler", (build / name, layer)) for name in self._api.functions
        }
        self._references = {
            BARE: Handler("bare_client", (HANDLERS, PACKAGES)),
            BARE_ON_LAYER: Handler("bare_client", (HANDLERS, layer)),
            USUAL: Handler("usual_claim", (HANDLERS, PACKAGES)),
        }
        self._warm = {
            CLAIM: self._functions[CLAIM],
            SDK_CLAIM: Handler("sdk_claim", (HANDLERS, layer)),
            COMPLETE: self._functions[COMPLETE],
            SDK_COMPLETE: Handler("sdk_complete", (HANDLERS, layer)),
        }

    def cold(self) -> Iterator[tuple[str, float]]:
        """Yield each handler and the CPU milliseconds to its first answer."""
        for name, handler in {**self._references, **self._functions}.items():
            event = self._api.event(CLAIM if name in self._references else name)
            with self._start(handler) as probe:
                yield name, probe.call([event]).life_ms
            if name in (BARE, BARE_ON_LAYER):
                self._call(CLAIM, event)  # it has left the job where it was

    def warm(self) -> Iterator[tuple[str, float]]:
        """Yield each handler of the comparison and its CPU milliseconds for one request."""
        for name, handler in self._warm.items():
            function = CLAIM if name in (CLAIM, SDK_CLAIM) else COMPLETE
            events = [self._api.event(function) for _ in range(BATCH)]
            yield name, self._kept(name, handler).call(events).events_ms / BATCH

    def _call(self, function: str, event: dict[str, Any]) -> Any:
        return self._kept(function, self._functions[function]).call([event]).answers[0]

    def _kept(self, name: str, handler: Handler) -> Probe:
        if name not in self._prepared:
            self._prepared[name] = self._stack.enter_context(self._start(handler))
        return self._prepared[name]

    def _start(self, handler: Handler) -> Probe:
        return Probe(self._python, handler, self._environment)


def measure(build: Path, rounds: int) -> Measured:
    """Run the bench.

    Raises:
        HandlerError: a handler is not there, or did not answer as it should.
    """
    missing = [name for name in read_functions(load_template()) if not (build / name).is_dir()]
    if missing:
        raise HandlerError(f"{build} lacks {', '.join(missing)}: make build")
    python = find_python()
    install_packages(python)
    cold: dict[str, list[float]] = defaultdict(list)
    warm: dict[str, list[float]] = defaultdict(list)
    with ExitStack() as stack:
        engine = stack.enter_context(Engine())
        definitions = table_definitions(load_template())
        create_missing_tables(local_client(engine.url), definitions.values())
        bench = Bench(python, build, engine.url, stack)
        for number in range(rounds):
            print(f"round {number + 1} of {rounds}", file=sys.stderr)
            for name, spent in bench.cold():
                cold[name].append(spent)
        for number in range(WARM_UP + rounds * 2):
            for name, spent in bench.warm():
                if number >= WARM_UP:
                    warm[name].append(spent)
    return Measured(python_version(python), cold, warm)


def main() -> int:
    """Measure, print the tables, and return 1 if a bound does not hold."""
    parser = argparse.ArgumentParser(prog="python -m bench.cold", description=main.__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--build", type=Path, default=BUILD, help="where `sam build` built it")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the tables in this page")
    options = parser.parse_args()
    try:
        measured = measure(options.build.resolve(), options.rounds)
    except HandlerError as error:
        print(error, file=sys.stderr)
        return 1
    text = render(measured)
    print(text)
    if options.write:
        write(options.write, text)
    return 1 if missed(measured) else 0


if __name__ == "__main__":
    sys.exit(main())
