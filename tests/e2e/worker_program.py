"""A worker as a user would write it, which tells what its handlers do.

Its arguments are the queue's address, the name of the queue, and the number of jobs that it
works on before its handlers hang.
"""

import sys
import threading
import time

from job_retry_client import JobContext, JobQueue, Worker

address, name, works_on = sys.argv[1], sys.argv[2], int(sys.argv[3])
worker = Worker(JobQueue.connect(address), name, concurrency=10, lease_seconds=2, grace_seconds=1)
may_work = threading.Semaphore(works_on)
one_at_a_time = threading.Lock()


def tell(what: str, context: JobContext) -> None:
    """Write a line at once, so that it is there even after a kill."""
    with one_at_a_time:
        print(what, context.job.id, flush=True)


@worker.handler("quick")
def work(context: JobContext) -> None:
    """Work on a job, or hang."""
    tell("begin", context)
    if not may_work.acquire(blocking=False):
        tell("hang", context)
        threading.Event().wait()
    tell("end", context)


@worker.handler("slow")
def work_slowly(context: JobContext) -> None:
    """Work for as many seconds as the payload says, whatever happens meanwhile."""
    tell("begin", context)
    time.sleep(context.payload)
    tell("end", context)


print("counts", dict(worker.run()), flush=True)
