"""POST /jobs/batch: store up to 100 new jobs."""

from job_retry.api import Response, answer, create_app, serve
from job_retry.batching import answer_each, batch_view
from job_retry.reading import read_batch
from job_retry.runtime import engine
from job_retry.schemas.enqueue import EnqueueItem
from job_retry.views import enqueued_briefly_view

app = create_app()


@app.post("/jobs/batch")
def enqueue_jobs() -> Response[str]:
    """Answer 200 with what became of each job, in order."""
    enqueue = engine().enqueue_once  # once, before the threads that call it
    items = read_batch(app, EnqueueItem, most=100)
    outcomes = answer_each(lambda item: enqueue(item.new_job()), items)
    return answer(200, batch_view(outcomes, enqueued_briefly_view))


lambda_handler = serve(app)
