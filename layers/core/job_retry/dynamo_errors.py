"""What DynamoDB's errors mean to the queue."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from job_retry.errors import StoreBusyError, StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_BUSY = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ThrottlingException",
        "ThrottlingError",
        # the SDK repeats a transaction that is still under way: its outcome is not known yet
        "TransactionInProgressException",
    }
)
_DOWN = frozenset({"InternalServerError", "InternalFailure", "ServiceUnavailable"})
# Nothing was written, and what the decision rested on may be gone. The same as a failed
# condition: look again, decide anew.
_IN_THE_WAY = frozenset({"TransactionConflict", "TransactionConflictException"})


class ConditionFailedError(Exception):
    """A conditional write did not happen.

    Attributes:
        item: what stood in its way, by ReturnValuesOnConditionCheckFailure=ALL_OLD, which
            spares a second read; None if there is no item, or it was in flux. Of a
            transaction, the item of its first write.
        failed: whether it was the first write's condition.
        others: the items of a transaction's other writes whose condition failed.
        others_failed: whether there are such; an item may be missing.
        in_flux: another transaction or write was at the item.
    """

    def __init__(
        self,
        item: Mapping[str, Any] | None,
        *,
        failed: bool = True,
        others: Sequence[Mapping[str, Any]] = (),
        others_failed: bool = False,
        in_flux: bool = False,
    ) -> None:
        super().__init__("condition failed")
        self.item = item
        self.failed = failed
        self.others = others
        self.others_failed = others_failed
        self.in_flux = in_flux


@contextmanager
def translated() -> Iterator[None]:
    """Raise this project's errors in place of the SDK's.

    Raises:
        ConditionFailedError: the item was not as the write expected.
        StoreBusyError: throttled, after the SDK's own retries.
        StoreUnavailableError: no answer, or DynamoDB failed.
    """
    try:
        yield
    except ClientError as error:
        raise _translate(error) from error
    except BotoCoreError as error:  # no connection, a timeout
        message = "DynamoDB did not answer"
        raise StoreUnavailableError(message) from error


def _translate(error: ClientError) -> Exception:
    response: Mapping[str, Any] = error.response
    code = response["Error"]["Code"]
    reasons = response.get("CancellationReasons", [])
    codes = {code, *(reason.get("Code", "None") for reason in reasons)}
    if code == "ConditionalCheckFailedException":
        return ConditionFailedError(response.get("Item"))
    if "ConditionalCheckFailed" in codes:
        first, *others = (reason.get("Code") == "ConditionalCheckFailed" for reason in reasons)
        return ConditionFailedError(
            reasons[0].get("Item"),
            failed=first,
            others=[reason["Item"] for reason in reasons[1:] if reason.get("Item")],
            others_failed=any(others),
        )
    if codes & _IN_THE_WAY:
        return ConditionFailedError(None, in_flux=True)
    if codes & _BUSY:
        return StoreBusyError("DynamoDB is throttling this table")
    if codes & _DOWN:
        return StoreUnavailableError("DynamoDB failed")
    return error
