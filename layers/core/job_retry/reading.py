"""An HTTP request's body and query, checked.

Apart from ``api.py``, so that functions that read neither start without pydantic.
"""

from typing import TypeVar

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver

from job_retry import bodies
from job_retry.api import body_text, read_header
from job_retry.errors import JobRetryError
from job_retry.schemas.fields import Body

B = TypeVar("B", bound=Body)


def read_body(app: APIGatewayHttpResolver, model: type[B]) -> B:
    """Return the request's body, checked.

    Raises:
        MediaTypeError, InvalidJsonError, InvalidFieldError, TooLargeError: it is not
            acceptable.
    """
    return bodies.body_from(body_text(app, model.max_body), model)


def read_batch(
    app: APIGatewayHttpResolver, model: type[B], *, most: int
) -> list[B | JobRetryError]:
    """Return what is asked for each job of a batch, checked, or what is wrong with it.

    Args:
        app: the resolver that has the request.
        model: what stands for each job in the array ``jobs``.
        most: how many there may be.

    Raises:
        MediaTypeError, InvalidJsonError, InvalidFieldError, TooLargeError: the batch as a
            whole is not acceptable.
    """
    bodies.refuse_key_for_many(read_header(app, "idempotency-key"))
    return bodies.batch_from(body_text(app, bodies.MAX_BATCH_BODY), model, most=most)


def read_query(app: APIGatewayHttpResolver, model: type[B]) -> B:
    """Return the request's query string, checked.

    Raises:
        InvalidFieldError: it is not acceptable.
    """
    return bodies.query_from(app.current_event.query_string_parameters or {}, model)
