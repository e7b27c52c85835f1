"""POST /jobs/{job_id}/complete: end a job with its result."""

from job_retry.api import Response, answer, create_app, read_id, serve
from job_retry.reading import read_body
from job_retry.runtime import engine
from job_retry.schemas.settle import CompleteBody
from job_retry.views import job_view

app = create_app()


@app.post("/jobs/<job_id>/complete")
def complete_job(job_id: str) -> Response[str]:
    """Answer 200 with the job."""
    body = read_body(app, CompleteBody)
    return answer(200, job_view(engine().complete(read_id(job_id), **dict(body))))


lambda_handler = serve(app)
