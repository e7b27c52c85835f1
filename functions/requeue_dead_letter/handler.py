"""POST /dlq/{job_id}/requeue: give a dead job another chance."""

from job_retry.api import Response, answer, create_app, read_id, serve
from job_retry.reading import read_body
from job_retry.runtime import engine
from job_retry.schemas.requeue import RequeueBody
from job_retry.views import job_view

app = create_app()


@app.post("/dlq/<job_id>/requeue")
def requeue_dead_letter(job_id: str) -> Response[str]:
    """Answer 200 with the job."""
    body = read_body(app, RequeueBody)
    return answer(200, job_view(engine().requeue(read_id(job_id), **dict(body))))


lambda_handler = serve(app)
