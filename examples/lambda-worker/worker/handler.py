"""The worker: a function for each type of job, and what Lambda calls."""

from job_retry_client import JobContext, JobQueue, Worker

worker = Worker(JobQueue.connect("in-process:"))


@worker.handler("send_welcome_email")
def send_welcome_email(context: JobContext) -> dict[str, str]:
    """Send the mail (here is where you do), and say to whom in the job's result.

    A job may run twice, so do what is harmless to repeat.
    """
    return {"sent_to": str(context.payload["user_id"])}


lambda_handler = worker.lambda_handler()
