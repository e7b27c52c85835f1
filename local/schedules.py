"""Runs the template's schedules."""

from __future__ import annotations

import json
import logging
import threading
from typing import TYPE_CHECKING, Any

from local.events import scheduled_event
from local.template import Schedule, read_schedules
from local.workers import InvocationError

if TYPE_CHECKING:
    from local.lambdas import Lambdas

log = logging.getLogger(__name__)


class Schedules:
    """Every schedule of a template: by itself after `start`, or by hand with `run_all`."""

    def __init__(self, template: dict[str, Any], lambdas: Lambdas) -> None:
        """Read the schedules; nothing runs yet."""
        self._schedules = read_schedules(template)
        self._lambdas = lambdas
        self._stopped = threading.Event()
        self._threads = [
            threading.Thread(target=self._repeat, args=(schedule,), name=schedule.name, daemon=True)
            for schedule in self._schedules
        ]

    def start(self) -> None:
        """Run each schedule now and then at its rate."""
        for thread in self._threads:
            thread.start()

    def run_all(self) -> None:
        """Run each schedule once."""
        for schedule in self._schedules:
            self._lambdas.invoke(schedule.function, _event(schedule))

    def stop(self) -> None:
        """End the schedules, once their calls have ended."""
        self._stopped.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    def _repeat(self, schedule: Schedule) -> None:
        while not self._stopped.is_set():
            try:
                self._lambdas.invoke(schedule.function, _event(schedule))
            except InvocationError as error:
                log.warning("%s", error)
            self._stopped.wait(schedule.every_seconds)


def _event(schedule: Schedule) -> dict[str, Any]:
    if schedule.input is None:
        return scheduled_event(schedule.name)
    event: dict[str, Any] = json.loads(schedule.input)
    return event
