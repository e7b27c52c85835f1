"""POST /jobs/{job_id}/cancel: take a waiting job out for good."""

from job_retry.api import Response, answer, create_app, read_body, read_id, serve
from job_retry.runtime import engine
from job_retry.schemas.fields import NoBody
from job_retry.views import job_view

app = create_app()


@app.post("/jobs/<job_id>/cancel")
def cancel_job(job_id: str) -> Response[str]:
    """Answer 200 with the job."""
    read_body(app, NoBody)
    return answer(200, job_view(engine().cancel(read_id(job_id))))


lambda_handler = serve(app)
