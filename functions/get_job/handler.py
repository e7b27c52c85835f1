"""GET /jobs/{job_id}: a job with payload, result and history."""

from job_retry.api import Response, answer, create_app, read_id, serve
from job_retry.runtime import engine
from job_retry.views import whole_job_view

app = create_app()


@app.get("/jobs/<job_id>")
def get_job(job_id: str) -> Response[str]:
    """Answer 200 with the job."""
    job, attempts = engine().get(read_id(job_id))
    return answer(200, whole_job_view(job, attempts))


lambda_handler = serve(app)
