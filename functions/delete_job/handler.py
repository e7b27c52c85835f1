"""DELETE /jobs/{job_id}: drop an ended job and all that belongs to it."""

from job_retry.api import Response, create_app, no_content, read_id, serve
from job_retry.runtime import engine

app = create_app()


@app.delete("/jobs/<job_id>")
def delete_job(job_id: str) -> Response[str]:
    """Answer 204."""
    engine().delete(read_id(job_id))
    return no_content()


lambda_handler = serve(app)
