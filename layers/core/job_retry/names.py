"""What names look like: of queues and of keys."""

import re

QUEUE = re.compile(r"[A-Za-z0-9._-]{1,128}")
QUEUE_WORDS = "1 to 128 letters, digits, '.', '_' or '-'"

KEY = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,256}")
KEY_WORDS = "1 to 256 characters, none a control character"
