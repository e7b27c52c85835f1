"""POST /jobs: store a new job."""

from job_retry.api import Response, answer, create_app, read_header, serve
from job_retry.reading import read_body
from job_retry.runtime import engine
from job_retry.schemas.enqueue import EnqueueBody
from job_retry.views import enqueued_view

app = create_app()


@app.post("/jobs")
def enqueue_job() -> Response[str]:
    """Answer 201 with the job, or 200 with the one that its key stands for."""
    new = read_body(app, EnqueueBody).new_job(read_header(app, "idempotency-key"))
    return answer(*enqueued_view(engine().enqueue_once(new)))


lambda_handler = serve(app)
