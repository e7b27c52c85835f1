"""POST /jobs/{job_id}/release: give a claimed job back, without costing an attempt."""

from job_retry.api import Response, answer, create_app, read_id, serve
from job_retry.reading import read_body
from job_retry.runtime import engine
from job_retry.schemas.settle import ReleaseBody
from job_retry.views import job_view

app = create_app()


@app.post("/jobs/<job_id>/release")
def release_job(job_id: str) -> Response[str]:
    """Answer 200 with the job."""
    body = read_body(app, ReleaseBody)
    return answer(200, job_view(engine().release(read_id(job_id), **dict(body))))


lambda_handler = serve(app)
