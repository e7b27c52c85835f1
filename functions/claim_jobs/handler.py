"""POST /jobs/claim: lease due jobs to a worker."""

from job_retry.api import Response, answer, create_app, serve
from job_retry.reading import read_body
from job_retry.runtime import engine
from job_retry.schemas.claim import ClaimBody
from job_retry.views import claim_view

app = create_app()


@app.post("/jobs/claim")
def claim_jobs() -> Response[str]:
    """Answer 200 with the jobs and their lease tokens, or when to come back."""
    taken = engine().claim(read_body(app, ClaimBody).request())
    return answer(200, claim_view(taken))


lambda_handler = serve(app)
