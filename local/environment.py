"""`python3 local/environment.py local|dev`: the packages and the engine that make's targets need.

Standard library only: it runs before anything is installed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin/python"
ENGINE = ROOT / "local/engine"
DYNOXIDE = ENGINE / "node_modules/@dynoxide/linux-x64/dynoxide"


def main() -> None:
    """Bring .venv and the engine up to date; print a line only where there is work to do."""
    create_venv()
    has_dynoxide = install_engine()
    if sys.argv[1] == "dev":
        install("requirements-dev.txt")
        install("requirements-dev-alone.txt", "--no-deps")
    else:
        install("requirements-local.txt" if has_dynoxide else "requirements-moto.txt")


def create_venv() -> None:
    """Create .venv, or create it anew if its Python is another version or gone."""
    if importlib.util.find_spec("ensurepip") is None:
        give_up(
            f"job-retry needs Python's venv module, which {sys.executable} lacks; "
            "on Debian and Ubuntu: apt-get install python3-venv"
        )
    wanted = f"{sys.version_info.major}.{sys.version_info.minor}"
    ask = [str(VENV_PYTHON), "-c", "import sys; print('{}.{}'.format(*sys.version_info))"]
    try:
        found = subprocess.run(ask, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        found = ""
    if found != wanted:
        run("Creating .venv", [sys.executable, "-m", "venv", "--clear", str(VENV)])


def install(requirements: str, *options: str) -> None:
    """Install a requirements file, unless what it asks for is installed already."""
    if is_installed(requirements):
        return
    pip = [str(VENV_PYTHON), "-m", "pip", "install", "--disable-pip-version-check", *options]
    run(f"Installing {requirements} into .venv", [*pip, "-r", str(ROOT / requirements)])
    for name in included(requirements):
        stamp(name).write_text(fingerprint(name), encoding="ascii")


def is_installed(requirements: str) -> bool:
    """Tell whether the file was installed as it is now, by itself or in another."""
    return already(stamp(requirements), fingerprint(requirements))


def stamp(requirements: str) -> Path:
    """Return where it is noted that the file is installed."""
    return VENV / f"{requirements.replace('/', '-')}.installed"


def fingerprint(requirements: str) -> str:
    """Return a checksum of what the file asks for."""
    return checksum([ROOT / name for name in included(requirements)])


def install_engine() -> bool:
    """Fetch dynoxide, by its pinned checksum; return whether it can run here."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        return False
    noted = ENGINE / "node_modules/.installed"
    wanted = checksum([ENGINE / "package-lock.json"])
    if DYNOXIDE.exists() and already(noted, wanted):
        return True
    if shutil.which("npm") is None:
        return DYNOXIDE.exists()
    npm = ["npm", "ci", "--prefix", str(ENGINE), "--no-audit", "--no-fund"]
    run("Fetching the DynamoDB engine", npm)
    noted.write_text(wanted, encoding="ascii")
    return True


def included(requirements: str) -> list[str]:
    """Return a requirements file and those that it includes."""
    names = [requirements]
    for line in (ROOT / requirements).read_text(encoding="utf-8").splitlines():
        if line.startswith("-r "):
            names += included(line.removeprefix("-r ").strip())
    return names


def checksum(paths: list[Path]) -> str:
    """Return a checksum of the files' contents."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def already(noted: Path, wanted: str) -> bool:
    """Tell whether this checksum was noted there."""
    return noted.exists() and noted.read_text(encoding="ascii") == wanted


def run(what: str, command: list[str]) -> None:
    """Run a command; show what it printed only if it failed."""
    print(f"{what} …", flush=True)
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.stderr.write(done.stdout.decode(errors="replace"))
        give_up(f"{what} failed")


def give_up(reason: str) -> NoReturn:
    """End with one line and exit code 1."""
    sys.exit(reason)


if __name__ == "__main__":
    main()
