"""Answers that get lost on their way back: the write happens, and the SDK repeats the call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from botocore.exceptions import ReadTimeoutError
from botocore.httpsession import URLLib3Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from botocore.awsrequest import AWSPreparedRequest, AWSResponse
    from mypy_boto3_dynamodb import DynamoDBClient


class LostAnswer:
    """Loses the answer to one call of an operation, by a hook of botocore's.

    The request is really sent and carried out; then the client sees a timeout, as it would
    if the connection broke, and its own retries send the same request again.
    """

    def __init__(
        self,
        client: DynamoDBClient,
        operation: str,
        *,
        nth: int = 1,
        meanwhile: Callable[[], object] = lambda: None,
    ) -> None:
        """Lose the answer.

        Args:
            client: whose answers.
            operation: e.g. ``UpdateItem``.
            nth: which call of it, from 1.
            meanwhile: what others do before the call is repeated.
        """
        self.sent = 0
        self.lost = False
        self._nth = nth
        self._meanwhile = meanwhile
        self._events = client.meta.events
        self._name = f"before-send.dynamodb.{operation}"
        self._hook: Any = self._on_send  # botocore's types know of no answer from a hook

    def __enter__(self) -> Self:
        self._events.register(self._name, self._hook)
        return self

    def __exit__(self, *_: object) -> None:
        self._events.unregister(self._name, self._hook)
        assert self.lost, f"no answer was lost: {self.sent} calls of {self._name}"
        assert self.sent > self._nth, "the SDK did not repeat the call"

    def _on_send(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse | None:
        self.sent += 1
        if self.sent != self._nth or self.lost:
            return None
        answer = URLLib3Session().send(request)
        if answer.status_code != 200:  # an id that was drawn before: no write, nothing to lose
            self.sent -= 1
            return answer
        self.lost = True
        self._meanwhile()
        raise ReadTimeoutError(endpoint_url=request.url)
