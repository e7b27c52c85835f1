"""An exception as text."""

from __future__ import annotations

from job_retry_client import RetryIn
from job_retry_client.worker.descriptions import describe

KEPT_FOR_LISTS = 512


class UntellableError(Exception):
    """Its text raises something itself."""

    def __str__(self) -> str:
        raise KeyboardInterrupt


class OddError(Exception):
    """Nothing of it can be read."""

    def __getattribute__(self, name: str) -> object:
        raise SystemExit(name)


def raised(error: Exception, cause: Exception | None = None) -> Exception:
    """Return an exception with a traceback."""
    try:
        raise error from cause  # noqa: TRY301 - for the traceback
    except Exception as caught:  # noqa: BLE001 - any
        return caught


def load() -> None:
    raise KeyError("user_id")


def test_an_error_is_told_in_its_first_line_and_then_where() -> None:
    first, *rest = describe(raised(ValueError("no such user"))).splitlines()
    assert first == "ValueError: no such user"
    assert any("test_descriptions.py" in line for line in rest)
    assert any("raise error" in line for line in rest)


def test_of_a_long_traceback_the_end_is_told() -> None:
    def dive(depth: int) -> None:
        if depth == 0:
            raise ValueError("at the bottom")
        if depth % 2:
            dive(depth - 1)
        else:
            dive(depth - 1)

    try:
        dive(200)
    except ValueError as error:
        told = describe(error)
    assert len(told) <= 3_500
    assert len(told.splitlines()) <= 21
    assert 'raise ValueError("at the bottom")' in told.splitlines()[-1]


def test_a_long_message_leaves_room_for_the_traceback() -> None:
    told = describe(raised(ValueError("m" * 100_000)))
    assert len(told) <= 3_500
    assert "raise error" in told


def test_a_worker_says_nothing_of_itself() -> None:
    """Frames of the package tell nobody why a job failed."""
    try:
        RetryIn(-1)
    except ValueError as error:
        told = describe(error)
    assert "_whole_seconds" not in told
    assert "test_descriptions" in told


def test_the_cause_is_told_near_the_beginning_and_with_its_place() -> None:
    try:
        try:
            load()
        except KeyError as error:
            raise RuntimeError("cannot import") from error
    except RuntimeError as error:
        told = describe(error)
    first, second, *rest = told.splitlines()
    assert (first, second) == ("RuntimeError: cannot import", "caused by KeyError: 'user_id'")
    assert any('raise KeyError("user_id")' in line for line in rest)
    assert any("the direct cause of the following exception" in line for line in rest)
    assert any("raise RuntimeError" in line for line in rest)


def test_what_was_being_handled_is_told_unless_it_is_hidden() -> None:
    error = RuntimeError("cannot import")
    error.__context__ = raised(KeyError("user_id"))  # as ``raise`` in an except block does
    assert describe(error).splitlines()[1] == "while handling KeyError: 'user_id'"
    error.__suppress_context__ = True  # as ``from None`` does
    assert "while handling" not in describe(error)


def test_of_a_long_chain_the_beginning_and_the_end_are_told_for_lists() -> None:
    error = raised(OSError("the disk is full " + "x" * 2_000))
    for number in range(8):
        error = raised(RuntimeError(f"layer {number} " + "y" * 2_000), error)
    told = describe(error)
    beginning = told.encode()[:KEPT_FOR_LISTS].decode()
    assert beginning.startswith("RuntimeError: layer 7")
    assert "caused by RuntimeError: layer 6" in beginning
    assert "… 5 more …" in beginning
    assert "caused by OSError: the disk is full" in beginning
    assert len(told) <= 3_500


def test_the_members_of_a_group_are_told() -> None:
    members = [raised(ValueError(f"row {number}")) for number in range(3)]
    members[1] = raised(ValueError("row 1"), KeyError("name"))
    first, *rest = describe(raised(ExceptionGroup("import", members[:2]))).splitlines()
    assert first == "ExceptionGroup: import (2 sub-exceptions)"
    assert rest[:3] == [
        "of these, ValueError: row 0",
        "of these, ValueError: row 1",
        "caused by KeyError: 'name'",
    ]
    many = describe(raised(ExceptionGroup("import", [*members, ExceptionGroup("in", members)])))
    assert "of these, ValueError: row 2" in many.encode()[:KEPT_FOR_LISTS].decode()


def test_other_attributes_of_that_name_are_no_members() -> None:
    class ClientError(Exception):
        exceptions = {"a": 1}  # noqa: RUF012 - not ours

    class ListError(Exception):
        exceptions = ("text", ValueError)

    for kind in (ClientError, ListError):
        assert "of these" not in describe(raised(kind("x")))


def test_notes_are_told() -> None:
    error = ValueError("no number")
    error.add_note("in row 17")
    error.add_note("of contacts.csv")
    told = describe(raised(error)).splitlines()
    assert told[:3] == ["ValueError: no number", "note: in row 17", "note: of contacts.csv"]
    behind = describe(raised(RuntimeError("import"), error)).splitlines()
    assert behind[1:3] == ["caused by ValueError: no number", "note: in row 17"]


def test_a_chain_that_is_a_ring_has_an_end() -> None:
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    assert describe(one).splitlines()[:2] == ["ValueError: one", "caused by ValueError: other"]


def test_what_cannot_be_told_does_no_harm() -> None:
    odd = ValueError("odd")
    odd.__notes__ = 5  # type: ignore[assignment]
    for inner in (UntellableError(), odd):
        for error in (raised(inner), raised(ValueError("x"), inner)):
            assert type(error).__name__ in describe(error)
    group = describe(raised(ExceptionGroup("all", [UntellableError()])))
    assert "UntellableError: its text cannot be told: KeyboardInterrupt" in group
    assert describe(OddError()).startswith("OddError")
    assert describe(raised(ValueError("x"), OddError())).startswith("ValueError: x")
