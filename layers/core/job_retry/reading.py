"""An HTTP request's body and query, checked.

Apart from ``api.py``, so that functions that read neither start without pydantic.
"""

from typing import TypeVar

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver

from job_retry import bodies
from job_retry.api import body_text, read_header
from job_retry.errors import InvalidFieldError, JobRetryError
from job_retry.schemas.fields import Body

B = TypeVar("B", bound=Body)

_MAX_BATCH_BODY = 6_000_000  # about what Lambda takes
_HEADER_OF_ONE = "is for one job; POST /jobs/batch takes an idempotency_key with each"


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
    if read_header(app, "idempotency-key") is not None:
        raise InvalidFieldError("Idempotency-Key", _HEADER_OF_ONE)
    return bodies.batch_from(body_text(app, _MAX_BATCH_BODY), model, most=most)


def read_query(app: APIGatewayHttpResolver, model: type[B]) -> B:
    """Return the request's query string, checked.

    Raises:
        InvalidFieldError: it is not acceptable.
    """
    return bodies.query_from(app.current_event.query_string_parameters or {}, model)
