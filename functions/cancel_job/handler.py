"""POST /jobs/{job_id}/cancel: take a waiting job out for good."""

from job_retry.api import Response, answer, create_app, read_id, read_no_body, serve
from job_retry.runtime import engine
from job_retry.views import job_view

app = create_app()


@app.post("/jobs/<job_id>/cancel")
def cancel_job(job_id: str) -> Response[str]:
    """Answer 200 with the job."""
    read_no_body(app)
    return answer(200, job_view(engine().cancel(read_id(job_id))))


lambda_handler = serve(app)
