"""The event loop in which coroutine handlers run, all of them in one."""

from __future__ import annotations

import asyncio
import logging
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from job_retry_client.worker.context import JobContext

_logger = logging.getLogger("job_retry_client.worker")


class EventLoop:
    """An event loop in a thread of its own, started when it is first needed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, coroutine: Coroutine[Any, Any, Any], context: JobContext) -> Any:
        """Run a coroutine to its end and return its result; the calling thread waits."""
        if context.is_over:  # given up meanwhile, and the loop perhaps ended
            coroutine.close()
            raise asyncio.CancelledError
        with self._lock:  # or else the loop could end in between, and never run it
            future = asyncio.run_coroutine_threadsafe(coroutine, self._started())
        context.on_cancel(future.cancel)
        return future.result()

    def close(self) -> None:
        """End the loop, and the coroutines that still run in it."""
        with self._lock:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._loop = None

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            Thread(target=_serve, args=(self._loop,), name="coroutines", daemon=True).start()
        return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    while not _is_stopped(loop):
        pass
    loop.run_until_complete(_cancel_all())
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


def _is_stopped(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        loop.run_forever()
    except (SystemExit, KeyboardInterrupt):  # of one coroutine; the others go on
        _logger.exception("a coroutine would have ended the event loop")
        return False
    return True


async def _cancel_all() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
