"""One Lambda environment: calls a handler and says what CPU time that took.

Each line of the standard input is a list of events, each line of the original standard output
what they took. It runs on the functions' own Python and imports as little as Lambda's runtime
does, since all of it counts.
"""

import importlib
import json
import os
import sys
import time


class Context:
    """The Lambda context of a call."""

    function_name = "bench"
    function_version = "$LATEST"
    memory_limit_in_mb = 512
    invoked_function_arn = "arn:aws:lambda:local:local:function:bench"
    aws_request_id = "00000000-0000-0000-0000-000000000000"
    log_group_name = "local"
    log_stream_name = "local"

    def get_remaining_time_in_millis(self) -> int:
        """Return how long the call may still take."""
        return 29_000


def main() -> None:
    """Serve until the input closes; the module named on the command line has the handler."""
    outcomes = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # log lines are written, and go nowhere
    handler = importlib.import_module(sys.argv[1]).lambda_handler
    for line in sys.stdin:
        events = json.loads(line)
        began = time.process_time()
        answers = [handler(event, Context()) for event in events]
        ended = time.process_time()
        outcome = {"life_ms": ended * 1000, "events_ms": (ended - began) * 1000, "answers": answers}
        outcomes.write(json.dumps(outcome) + "\n")
        outcomes.flush()


if __name__ == "__main__":
    main()
