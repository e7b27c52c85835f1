"""The DynamoDB engine of the local run: dynoxide, or moto where dynoxide has no build.

`python -m local.engine --host 0.0.0.0 --port 8000 --data DIR` serves it on its own.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self

from local.ports import free_port, port_is_taken
from local.tables import create_missing_tables, local_client
from local.template import REPOSITORY, load_template, table_definitions

if TYPE_CHECKING:
    from types import TracebackType

DYNOXIDE = REPOSITORY / "local/engine/node_modules/@dynoxide/linux-x64/dynoxide"
START_SECONDS = 30
STOP_SECONDS = 5


class EngineError(Exception):
    """The engine did not start."""


def why_no_dynoxide() -> str | None:
    """Return why dynoxide cannot run here, or None when it can."""
    if DYNOXIDE.exists():
        return None
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        return f"dynoxide has no build for {platform.system()} on {platform.machine()}"
    if shutil.which("npm") is None:
        return "dynoxide is not installed, since npm was not found"
    return "dynoxide is not installed (npm ci --prefix local/engine)"


class Engine:
    """One engine process: started by `start`, ended by `stop` or with this process.

    Start it from a thread that lives as long as it should: to the kernel, the parent of a
    process is the thread that made it.
    """

    def __init__(
        self, *, host: str = "127.0.0.1", port: int | None = None, data: Path | None = None
    ) -> None:
        """Serve on this address; keep the data in this folder, or in memory."""
        self.host = host
        self.port = port or free_port()
        self.data = data
        self.lasting = data is not None and why_no_dynoxide() is None
        self._process: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """The endpoint URL for clients on this machine."""
        return f"http://{'127.0.0.1' if self.host == '0.0.0.0' else self.host}:{self.port}"  # noqa: S104

    @property
    def pid(self) -> int | None:
        """The id of the engine's process, while it runs."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def start(self) -> None:
        """Start the process, again if it has ended, and wait until it answers."""
        self.stop()
        if port_is_taken(self.host, self.port):
            message = f"the engine did not start: port {self.port} is in use"
            raise EngineError(message)
        if self.data is not None:
            self.data.mkdir(parents=True, exist_ok=True)
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop
        # Its own session: Ctrl-C is for the process that started it, which then stops it in order.
        self._process = subprocess.Popen(
            self._command(),
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=self._output,
            stderr=self._output,
            start_new_session=True,
        )
        try:
            self._wait_for_answer(self._process, self._output)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the process; the data stays."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.communicate(timeout=STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.communicate()
            self._process = None
        if self._output is not None:
            self._output.close()
            self._output = None

    def _wait_for_answer(self, process: subprocess.Popen[bytes], output: IO[bytes]) -> None:
        deadline = time.monotonic() + START_SECONDS
        # Another program may have taken the port meanwhile: ours then fails to bind, and ends.
        while not self._answers() or process.poll() is not None:
            if process.poll() is not None:
                output.seek(0)
                lines = output.read().decode(errors="replace").strip().splitlines()
                reason = lines[-1].removeprefix("error: ") if lines else "it ended without a word"
                message = f"the engine did not start: {reason}"
                raise EngineError(message)
            if time.monotonic() > deadline:
                message = f"the engine did not answer on {self.url} within {START_SECONDS} s"
                raise EngineError(message)
            time.sleep(0.02)

    def _command(self) -> list[str]:
        if why_no_dynoxide() is not None:
            return [sys.executable, "-m", "local.moto_engine", self.host, str(self.port)]
        address = ["--host", self.host, "--port", str(self.port)]
        storage = ["--db-path", str(self.data / "dynamodb.sqlite")] if self.data else []
        tied = [sys.executable, "-m", "local.lifetime", str(os.getpid())]
        return [*tied, str(DYNOXIDE), "serve", *address, *storage]

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(self.url, timeout=1):  # noqa: S310 - always http
                pass
        except urllib.error.HTTPError:
            pass
        except OSError:
            return False
        return True


def main() -> int:
    """Serve the engine with the template's tables until Ctrl-C or SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m local.engine", description=main.__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--data", type=Path, help="where to keep the data (default: memory)")
    options = parser.parse_args()
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    engine = Engine(host=options.host, port=options.port, data=options.data)
    try:
        engine.start()
        definitions = table_definitions(load_template())
        create_missing_tables(local_client(engine.url), definitions.values())
        print(f"DynamoDB engine on {engine.url} with {', '.join(definitions)}", flush=True)
        while not stopped.wait(0.5):
            if engine.pid is None:
                print("the engine ended", file=sys.stderr)
                return 1
    except EngineError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        engine.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
