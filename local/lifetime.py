"""`python -m local.lifetime PARENT COMMAND…`: a command that the kernel ends with its parent.

A kill -9 of the parent runs none of its clean-up, so the child has to be tied to it beforehand.
Doing this in a program of its own, which then becomes the command, is safe in a process that has
threads, as `preexec_fn` is not.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Tie this process to its parent, then become the command."""
    parent, *command = sys.argv[1:]
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):  # it went before we were tied to it
        sys.exit(1)
    os.execv(command[0], command)  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    main()
