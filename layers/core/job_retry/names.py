"""What names look like: of queues and of keys, and of what a request calls its fields."""

import json
import re

QUEUE = re.compile(r"[A-Za-z0-9._-]{1,128}")
QUEUE_WORDS = "1 to 128 letters, digits, '.', '_' or '-'"

KEY = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,256}")
KEY_WORDS = "1 to 256 characters, none a control character"


def readable(name: str) -> str:
    """Return a field's name, or the JSON that was sent for one that is empty or no UTF-8."""
    if name.isascii():
        return name or '""'
    try:
        name.encode()
    except UnicodeEncodeError:
        return json.dumps(name)
    return name
