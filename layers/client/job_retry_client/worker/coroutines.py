"""The event loop in which coroutine handlers run, all of them in one."""

from __future__ import annotations

import asyncio
import logging
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from job_retry_client.worker.context import JobContext

CLEAN_UP_SECONDS = 2.0
"""That coroutines have after they were cancelled, before they are cancelled once more."""

_logger = logging.getLogger("job_retry_client.worker")


class EventLoop:
    """An event loop in a thread of its own, started when it is first needed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None

    def run(self, coroutine: Coroutine[Any, Any, Any], context: JobContext) -> Any:
        """Run a coroutine to its end and return its result; the calling thread waits."""
        if context.is_over:  # given up meanwhile, and the loop perhaps ended
            coroutine.close()
            raise asyncio.CancelledError
        with self._lock:  # or else the loop could end in between, and never run it
            future = asyncio.run_coroutine_threadsafe(coroutine, self._started())
        context.on_cancel(future.cancel)
        return future.result()

    def close(self, seconds: float) -> None:
        """Cancel the coroutines that still run, and end the loop once they have cleaned up.

        Args:
            seconds: that they have for it; the loop of those that take longer goes on.
        """
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(seconds)

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = Thread(target=_serve, args=(self._loop,), name="coroutines", daemon=True)
            self._thread.start()
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
    if left:
        # Handlers were cancelled when they were given up. A second time would break into what
        # they do to clean up, so at first only time is given.
        _, left = await asyncio.wait(left, timeout=CLEAN_UP_SECONDS)
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
