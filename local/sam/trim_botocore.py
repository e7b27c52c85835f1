"""Takes out of a built layer what botocore knows of services other than DynamoDB.

Making a client lists the folders of all services and parses one file with the addresses of all:
a tenth of a cold start's CPU time, and half of the layer. Addresses and signing regions of DynamoDB
come out the same.
"""

import json
import shutil
import sys
from pathlib import Path

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
    endpoints.write_text(json.dumps(known, separators=(",", ":")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
