"""GET /jobs: a page of jobs, by status, queue and type."""

from job_retry.api import Response, answer, create_app, serve
from job_retry.reading import read_query
from job_retry.runtime import engine
from job_retry.schemas.lists import ListQuery
from job_retry.views import list_view

app = create_app()


@app.get("/jobs")
def list_jobs() -> Response[str]:
    """Answer 200 with the page."""
    request = read_query(app, ListQuery).request()
    return answer(200, list_view(request, engine().list_jobs(request)))


lambda_handler = serve(app)
