"""POST /jobs/complete: end up to 25 jobs with their results."""

from job_retry.api import Response, answer, create_app, serve
from job_retry.batching import answer_each, batch_view
from job_retry.reading import read_batch
from job_retry.runtime import engine
from job_retry.schemas.settle import CompleteItem
from job_retry.views import settled_view

app = create_app()


@app.post("/jobs/complete")
def complete_jobs() -> Response[str]:
    """Answer 200 with what became of each job, in order."""
    complete = engine().complete  # once, before the threads that call it
    items = read_batch(app, CompleteItem, most=25)
    outcomes = answer_each(lambda item: complete(item.id, **item.settlement()), items)
    return answer(200, batch_view(outcomes, settled_view))


lambda_handler = serve(app)
