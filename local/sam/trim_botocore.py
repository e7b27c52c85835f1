"""Takes out of a built layer what botocore knows of services other than DynamoDB, and its manual.

Making a client lists the folders of all services, parses one file with the addresses of all, and
DynamoDB's own model of which four fifths are documentation: more than a tenth of a cold start's CPU
time, and half of the layer. Addresses and signing regions of DynamoDB come out the same.
"""

import gzip
import json
import shutil
import sys
from pathlib import Path
from typing import Any

SERVICE = "dynamodb"


def main() -> int:
    """Trim the folder named on the command line, a layer's python/."""
    data = Path(sys.argv[1]) / "botocore" / "data"
    for folder in data.iterdir():
        if folder.is_dir() and folder.name != SERVICE:
            shutil.rmtree(folder)
    endpoints = data / "endpoints.json"
    known = json.loads(endpoints.read_text(encoding="utf-8"))
    for partition in known["partitions"]:
        services = partition["services"]
        partition["services"] = {SERVICE: services[SERVICE]} if SERVICE in services else {}
    _write(endpoints, known)
    for model in (data / SERVICE).glob("*/service-2.json.gz"):
        _write(
            model.with_suffix(""), _undocumented(json.loads(gzip.decompress(model.read_bytes())))
        )
        model.unlink()
    return 0


def _undocumented(model: Any) -> Any:
    if isinstance(model, list):
        return [_undocumented(each) for each in model]
    if not isinstance(model, dict):
        return model
    return {
        name: _undocumented(each)
        for name, each in model.items()
        if not (name == "documentation" and isinstance(each, str))
    }


def _write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, separators=(",", ":")), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
