"""GET /dlq: a page of dead jobs."""

from job_retry.api import Response, answer, create_app, serve
from job_retry.reading import read_query
from job_retry.runtime import engine
from job_retry.schemas.lists import DeadLettersQuery
from job_retry.views import list_view

app = create_app()


@app.get("/dlq")
def list_dead_letters() -> Response[str]:
    """Answer 200 with the page."""
    request = read_query(app, DeadLettersQuery).request()
    return answer(200, list_view(request, engine().list_jobs(request)))


lambda_handler = serve(app)
