"""POST /jobs/{job_id}/fail: end a run that failed, to be retried or dead."""

from job_retry.api import Response, answer, create_app, read_id, serve
from job_retry.reading import read_body
from job_retry.runtime import engine
from job_retry.schemas.settle import FailBody
from job_retry.views import job_view

app = create_app()


@app.post("/jobs/<job_id>/fail")
def fail_job(job_id: str) -> Response[str]:
    """Answer 200 with the job."""
    body = read_body(app, FailBody)
    return answer(200, job_view(engine().fail(read_id(job_id), **dict(body))))


lambda_handler = serve(app)
