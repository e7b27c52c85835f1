"""Checks that each module of a folder has bytecode that Python uses without looking at dates."""

import importlib.util
import sys
from pathlib import Path

# The second word of a .pyc file: its bytecode is tied to a hash of the source, which nobody checks.
UNCHECKED_HASH = (0b01).to_bytes(4, "little")


def main() -> int:
    """Check the folder named on the command line."""
    sources = sorted(Path(sys.argv[1]).rglob("*.py"))
    bad = [source for source in sources if not has_unchecked_bytecode(source)]
    for source in bad:
        print(f"no lasting bytecode: {source}", file=sys.stderr)
    if bad or not sources:
        return 1
    print(f"bytecode compiled: {len(sources)} modules of {Path(sys.argv[1]).parent.name}")
    return 0


def has_unchecked_bytecode(source: Path) -> bool:
    """Return whether this module's bytecode is there and of the unchecked kind."""
    compiled = Path(importlib.util.cache_from_source(str(source)))
    return compiled.exists() and compiled.read_bytes()[4:8] == UNCHECKED_HASH


if __name__ == "__main__":
    sys.exit(main())
