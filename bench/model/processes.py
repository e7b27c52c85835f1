"""Warm functions: which of them a request gets, and what each remembers."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING, Any

from bench.model.client import CONTROL, JOBS
from job_retry.dynamo import DynamoStore
from job_retry.engine import Engine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.model.client import ModelledDynamoDB
    from bench.model.world import World


class Processes:
    """The warm processes of one function, each with an engine of its own.

    Lambda gives a request to a process that is idle, or starts one. As many claims as are
    under way at once, so many processes there are: far fewer than workers. A worker meets
    another process each time, so what a process remembers is of the queue, not of a worker.
    """

    def __init__(self, world: World, client: ModelledDynamoDB, random: Random) -> None:
        self.started = 0
        self._world = world
        self._random = random
        # The SDK's protocol is the model's, not its class.
        self._store = DynamoStore(
            client,  # type: ignore[arg-type]
            jobs_table=JOBS,
            control_table=CONTROL,
            pause=world.sleep,
        )
        self._idle: list[Engine] = []

    def take(self) -> Engine:
        """Take an idle process, the one that was busy last; start one if there is none."""
        if self._idle:
            return self._idle.pop()
        self.started += 1
        return Engine(
            self._store, clock=self._world.clock, random=Random(self._random.getrandbits(64))
        )

    def give_back(self, engine: Engine) -> None:
        """Leave a process to the next request."""
        self._idle.append(engine)


@contextmanager
def world_for_threads(world: World) -> Iterator[None]:
    """Have the layer make its parallel calls as tasks of this world instead of threads.

    `run_all` is the only place where the layer starts a thread. Each module that imported
    it has a name of its own for it, and gets it back afterwards.
    """
    modules: list[Any] = [
        module for name, module in sys.modules.items() if name.startswith("job_retry")
    ]
    calls = {id(module): module.run_all for module in modules if hasattr(module, "run_all")}
    patched = [module for module in modules if id(module) in calls]
    for module in patched:
        module.run_all = world.run_all
    try:
        yield
    finally:
        for module in patched:
            module.run_all = calls[id(module)]
