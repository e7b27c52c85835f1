"""The template's functions, callable by name."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Self

from local.template import REPOSITORY
from local.workers import WorkerPool

if TYPE_CHECKING:
    from types import TracebackType

    from local.template import Function


class Lambdas:
    """Functions and the workers that run them."""

    def __init__(self, functions: dict[str, Function], variables: dict[str, str]) -> None:
        """Run the functions with their own environment, changed by these variables."""
        self.clock_offset_ms: int | None = None
        self._functions = functions
        self._pools: dict[frozenset[tuple[str, str]], WorkerPool] = {}
        self._pool_of: dict[str, WorkerPool] = {}
        for function in self._functions.values():
            environment = _environment(function, variables)
            pool = self._pools.setdefault(frozenset(environment.items()), WorkerPool(environment))
            self._pool_of[function.name] = pool

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def invoke(self, name: str, event: dict[str, Any]) -> Any:
        """Call one function in a worker; return its result or raise InvocationError."""
        return self._pool_of[name].invoke(self._functions[name], event, self.clock_offset_ms)

    def close(self) -> None:
        """End all workers, at once."""
        for pool in self._pools.values():
            pool.close()


def _environment(function: Function, variables: dict[str, str]) -> dict[str, str]:
    # As on Lambda, the layer is on the path; the worker itself is in the repository.
    path = os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "layers/core")])
    return {**os.environ, "PYTHONPATH": path, **function.environment, **variables}
