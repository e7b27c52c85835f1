"""One run at a time on a data folder."""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class DataInUseError(Exception):
    """Another run uses the data folder."""


@contextlib.contextmanager
def lock_data(data: Path) -> Iterator[None]:
    """Hold the folder; the kernel lets go of it when this process ends, however it ends."""
    data.mkdir(parents=True, exist_ok=True)
    with (data / "lock").open("a+", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.seek(0)
            message = f"{os.path.relpath(data)} is in use by process {lock.read().strip()}"
            raise DataInUseError(message) from error
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield
