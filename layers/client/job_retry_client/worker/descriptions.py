"""An exception as text: for the lists of jobs, which show its beginning, and a job's history."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from traceback import StackSummary, TracebackException
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PACKAGE = str(Path(__file__).parent.parent)
_SHOWN_LINES = 20  # of a traceback
_SHOWN_FRAMES = 12  # of all tracebacks of a chain, but 3 of each
_LONGEST_LINE = 300
_MOST_CHARACTERS = 3_500  # the queue keeps 4 KB
_LONGEST_MESSAGE = 1_000
_LONGEST_MESSAGES = 360  # together, where there are several: lists have 512 bytes for all
_MOST_LOOKED_AT = 100  # exceptions of a chain or a group
_MOST_NOTES = 3


def describe(error: BaseException) -> str:
    """Tell an exception, what is behind it, and the last lines of the tracebacks.

    The first line is the exception's. Then there is a line for each of its causes or members,
    unless they are too many, and its notes.
    """
    behind = reasons_of(error)
    head = "\n".join([_line(error, _share(behind) if behind else _LONGEST_MESSAGE), *behind])
    room = _MOST_CHARACTERS - len(head) - 1  # for the line's end
    try:
        shown = _chain_text(error, room) if behind else _frames_text(error, room)
    except BaseException:  # noqa: BLE001 - an exception of the handler's own may raise anything
        shown = ""
    return f"{head}\n{shown}" if shown else head


def reasons_of(error: BaseException) -> list[str]:
    """Tell in a line each what an exception was caused by, consists of and has for notes."""
    try:
        found = list(islice(_behind(error), _MOST_LOOKED_AT))
        notes = [note for each in (error, *(one for _, one in found)) for note in _notes(each)]
    except BaseException:  # noqa: BLE001 - as above
        return []
    shown, left_out = found, 0
    if len(found) > 3:  # noqa: PLR2004 - the last is where it began
        shown, left_out = [found[0], *found[-2:]], len(found) - 3
    longest = _share([*shown, *notes[:_MOST_NOTES]])
    lines = [f"{how} {_line(each, longest)}" for how, each in shown]
    if left_out:
        lines.insert(1, f"… {left_out} more …")
    return [*lines, *(f"note: {note[:longest]}" for note in notes[:_MOST_NOTES])]


def text_of(error: BaseException) -> str:
    """Return an exception's text; that it raises something itself is part of it."""
    try:
        return str(error)
    except BaseException as another:  # noqa: BLE001 - the handler's own code again
        return f"its text cannot be told: {type(another).__name__}"


def _line(error: BaseException, longest: int) -> str:
    name = type(error).__name__
    message = text_of(error)[:longest]
    return f"{name}: {message}" if message else name


def _share(others: Sequence[object]) -> int:
    return _LONGEST_MESSAGES // (1 + len(others))


def _behind(error: BaseException) -> Iterator[tuple[str, BaseException]]:
    """Yield what an exception comes from, each followed by what that comes from, and how."""
    seen = {id(error)}
    waiting = _next_to(error)
    while waiting:
        how, found = waiting.pop(0)
        if id(found) not in seen:
            seen.add(id(found))
            yield how, found
            waiting = [*_next_to(found), *waiting]


def _next_to(error: BaseException) -> list[tuple[str, BaseException]]:
    found = [("of these,", each) for each in _members(error)]
    if error.__cause__ is not None:
        found.append(("caused by", error.__cause__))
    elif error.__context__ is not None and not error.__suppress_context__:
        found.append(("while handling", error.__context__))
    return found


def _members(error: BaseException) -> list[BaseException]:
    """Return those of a group; Python 3.10 has none, but there are packages that do."""
    members = getattr(error, "exceptions", ())
    if not isinstance(members, (list, tuple)):
        return []
    return [each for each in members[:_MOST_LOOKED_AT] if isinstance(each, BaseException)]


def _notes(error: BaseException) -> list[str]:
    notes = getattr(error, "__notes__", ())
    return [each for each in notes if isinstance(each, str)] if isinstance(notes, list) else []


def _frames_text(error: BaseException, room: int) -> str:
    """Return the last frames, that is, the innermost."""
    told = _traceback(error, _SHOWN_LINES)
    lines = "".join(told.stack.format()).splitlines()
    return "\n".join(lines[-_SHOWN_LINES:])[-room:]


def _chain_text(error: BaseException, room: int) -> str:
    """Return what Python prints, a few frames of each; where it began comes first."""
    number = 1 + sum(1 for _ in islice(_behind(error), _MOST_LOOKED_AT))
    told = _traceback(error, max(3, _SHOWN_FRAMES // number))
    lines = "".join(told.format()).splitlines()
    return "\n".join(each[:_LONGEST_LINE] for each in lines)[:room]


def _traceback(error: BaseException, frames: int) -> TracebackException:
    """Return what there is to be printed, without this package's own frames: they tell nothing."""
    made = TracebackException(type(error), error, error.__traceback__, limit=-frames, compact=True)
    waiting: list[TracebackException | None] = [made]
    while waiting:
        told = waiting.pop()
        if told is not None:
            theirs = [each for each in told.stack if not each.filename.startswith(_PACKAGE)]
            told.stack = StackSummary.from_list(theirs)
            waiting += [
                told.__cause__,
                told.__context__,
                *(getattr(told, "exceptions", None) or ()),
            ]
    return made
