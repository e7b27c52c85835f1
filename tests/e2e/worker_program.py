"""A worker as a user would write it, which tells its standard output what its handlers do.

Its arguments are the queue's address and how many jobs it works on before its handlers hang.
"""

import sys
import threading

from job_retry_client import JobContext, JobQueue, Worker

address, works_on = sys.argv[1], int(sys.argv[2])
worker = Worker(JobQueue.connect(address), concurrency=10, lease_seconds=2, grace_seconds=1)
count = threading.Semaphore(works_on)
lock = threading.Lock()


def tell(what: str, context: JobContext) -> None:
    """Write a line at once, so that it is there even after a kill."""
    with lock:
        print(what, context.job.id, flush=True)


@worker.handler("quick")
def work(context: JobContext) -> int:
    """Work on a job, or hang."""
    tell("begin", context)
    if not count.acquire(blocking=False):
        tell("hang", context)
        threading.Event().wait()
    tell("end", context)
    return context.payload


@worker.handler("slow")
def work_slowly(context: JobContext) -> str:
    """Work for as many seconds as the payload says."""
    tell("begin", context)
    context.wait(context.payload)
    tell("end", context)
    return "done"


print(worker.run())
