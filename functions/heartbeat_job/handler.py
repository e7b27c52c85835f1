"""POST /jobs/{job_id}/heartbeat: renew a lease."""

from job_retry.api import Response, answer, create_app, read_id, serve
from job_retry.reading import read_body
from job_retry.runtime import engine
from job_retry.schemas.settle import HeartbeatBody
from job_retry.views import job_view

app = create_app()


@app.post("/jobs/<job_id>/heartbeat")
def heartbeat_job(job_id: str) -> Response[str]:
    """Answer 200 with the job."""
    body = read_body(app, HeartbeatBody)
    return answer(200, job_view(engine().heartbeat(read_id(job_id), **dict(body))))


lambda_handler = serve(app)
