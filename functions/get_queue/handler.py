"""GET /queues/{queue}: a queue's settings."""

from job_retry.api import Response, answer, create_app, read_queue_name, serve
from job_retry.runtime import engine
from job_retry.views import queue_view

app = create_app()


@app.get("/queues/<queue>")
def get_queue(queue: str) -> Response[str]:
    """Answer 200 with the queue."""
    record = engine().queue(read_queue_name(queue))
    return answer(200, queue_view(record, engine().now()))


lambda_handler = serve(app)
