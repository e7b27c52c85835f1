"""POST /jobs: store a new job."""

from aws_lambda_powertools.event_handler import Response

from job_retry.api import answer, create_app, read_body, serve
from job_retry.runtime import engine
from job_retry.schemas.enqueue import EnqueueBody
from job_retry.views import job_view

app = create_app()


@app.post("/jobs")
def enqueue_job() -> Response[str]:
    """Answer 201 with the job."""
    job = engine().enqueue(read_body(app, EnqueueBody).new_job())
    return answer(201, job_view(job))


lambda_handler = serve(app)
