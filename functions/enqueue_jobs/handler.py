"""POST /jobs/batch: store up to 100 new jobs."""

from aws_lambda_powertools.event_handler import Response

from job_retry.api import answer, create_app, read_batch, serve
from job_retry.batching import answer_each, batch_view
from job_retry.runtime import engine
from job_retry.schemas.enqueue import EnqueueBody
from job_retry.views import enqueued_briefly_view

app = create_app()


@app.post("/jobs/batch")
def enqueue_jobs() -> Response[str]:
    """Answer 200 with what became of each job, in order."""
    outcomes = answer_each(
        lambda body: engine().enqueue_once(body.new_job()), read_batch(app, EnqueueBody, most=100)
    )
    return answer(200, batch_view(outcomes, enqueued_briefly_view))


lambda_handler = serve(app)
