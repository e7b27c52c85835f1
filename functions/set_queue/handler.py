"""PUT /queues/{queue}: change a queue's settings."""

from job_retry.api import Response, answer, create_app, read_queue_name, serve
from job_retry.reading import read_body
from job_retry.runtime import engine
from job_retry.schemas.queue import QueueBody
from job_retry.views import queue_view

app = create_app()


@app.put("/queues/<queue>")
def set_queue(queue: str) -> Response[str]:
    """Answer 200 with the queue."""
    body = read_body(app, QueueBody)
    record = engine().set_queue(read_queue_name(queue), body.changed)
    return answer(200, queue_view(record, engine().now()))


lambda_handler = serve(app)
