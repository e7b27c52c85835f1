"""A worker in Python.

    JOB_RETRY_URL=http://127.0.0.1:3000 python examples/python-worker/worker.py

It works until Ctrl-C or SIGTERM. `job-retry worker run worker:worker` does the same.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

from job_retry_client import Discard, JobContext, JobQueue, RetryIn, Worker

logger = logging.getLogger("mail")
ADDRESSES = {42: "ada@example.org", 43: "bob@busy.example"}  # your database
worker = Worker(JobQueue.connect(), concurrency=10)


@worker.handler("send_welcome_email")
def send_welcome_email(context: JobContext) -> dict[str, str]:
    """Send a mail; what is returned becomes the job's result."""
    address = ADDRESSES.get(context.payload["user_id"])
    if address is None:
        raise Discard("no such user")  # dead at once: no retry would help
    if address.endswith("@busy.example"):
        raise RetryIn(60, "the server asked for a minute")
    return {"sent_to": address}


@worker.handler("import_contacts")
async def import_contacts(context: JobContext) -> int:
    """Import many contacts, show how far it is, and end early where it must."""
    contacts = context.payload["contacts"]
    for number, _contact in enumerate(contacts, start=1):
        await asyncio.sleep(0)
        if number % 100 == 0:  # in a thread, since it waits for the queue
            await asyncio.to_thread(context.report_progress, {"done": number, "of": len(contacts)})
        if context.lease_lost:
            break  # somebody else is at it
    return len(contacts)


@worker.middleware
def log_time(context: JobContext, call_next: Callable[[JobContext], Any]) -> Any:
    """Say how long each run took."""
    began = time.monotonic()
    try:
        return call_next(context)
    finally:
        took = time.monotonic() - began
        logger.info("job %d (%s): %.3f s", context.job.id, context.job.job_type, took)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    worker.run()
