"""Many calls at once, but not too many."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def mapped(
    function: Callable[[_Item], _Result], items: Iterable[_Item], workers: int
) -> Iterator[tuple[_Item, _Result]]:
    """Yield each item with what the function returns for it, in order.

    Args:
        function: called in threads.
        items: taken as the calls go on, in the caller's thread.
        workers: calls at a time.
    """
    begun: deque[tuple[_Item, Future[_Result]]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for item in items:
                begun.append((item, pool.submit(function, item)))
                if len(begun) == 2 * workers:
                    first, future = begun.popleft()
                    yield first, future.result()
            while begun:
                first, future = begun.popleft()
                yield first, future.result()
        finally:
            for _, future in begun:
                future.cancel()
