"""What comes from outside: every field's bounds, nothing converted, nothing unknown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from job_retry.claiming import ClaimRequest
from job_retry.clock import MAX_MOMENT, MAX_SECONDS
from job_retry.errors import InvalidFieldError, TooLargeError
from job_retry.job import NewJob, Status
from job_retry.json_text import MAX_DOCUMENT_BYTES, JsonText
from job_retry.listing import ListRequest
from job_retry.schemas.claim import ClaimBody
from job_retry.schemas.enqueue import EnqueueBody, EnqueueItem
from job_retry.schemas.fields import MAX_PROGRESS_BYTES, Body
from job_retry.schemas.lists import DeadLettersQuery, ListQuery
from job_retry.schemas.requeue import RequeueBody
from job_retry.schemas.settle import CompleteBody, FailBody, HeartbeatBody, ReleaseBody
from tests.unit.builders import T0

YEAR = 365 * 24 * 3600

NEEDED: dict[type[Body], dict[str, Any]] = {
    EnqueueBody: {"job_type": "mail"},
    EnqueueItem: {"job_type": "mail"},
    ClaimBody: {},
    CompleteBody: {},
    FailBody: {"error": "boom"},
    HeartbeatBody: {},
    ReleaseBody: {},
    RequeueBody: {},
    ListQuery: {},
    DeadLettersQuery: {},
}


def read(model: type[Body], **given: Any) -> Any:
    return model.model_validate(NEEDED[model] | given)


def refused(model: type[Body], **given: Any) -> set[str]:
    """Return the fields that a refusal names."""
    with pytest.raises(ValidationError) as caught:
        read(model, **given)
    return {".".join(map(str, each["loc"])) for each in caught.value.errors()}


# -- numbers -----------------------------------------------------------------------------

BOUNDS = [
    (EnqueueBody, "max_attempts", 1, 1000),
    (EnqueueBody, "backoff_seconds", 0, 604_800),
    (EnqueueBody, "priority", 0, 9),
    (EnqueueBody, "lease_seconds", 1, 43_200),
    (EnqueueBody, "max_backoff_seconds", 0, YEAR),
    (ClaimBody, "lease_seconds", 1, 43_200),
    (ClaimBody, "max_jobs", 1, 25),
    (FailBody, "retry_in_seconds", 0, YEAR),
    (HeartbeatBody, "lease_seconds", 1, 43_200),
    (ReleaseBody, "delay_seconds", 0, YEAR),
]


@pytest.mark.parametrize(("model", "field", "low", "high"), BOUNDS)
def test_an_integer_has_its_bounds(model: type[Body], field: str, low: int, high: int) -> None:
    for inside in (low, low + 1, high - 1, high):
        assert getattr(read(model, **{field: inside}), field) == inside
    for outside in (low - 1, high + 1, -(2**63), 2**63, 10**30):
        assert refused(model, **{field: outside}) == {field}


@pytest.mark.parametrize(("model", "field", "low", "high"), BOUNDS)
@pytest.mark.parametrize("junk", [1.5, 1.0, 1e15, "5", "", True, False, [1], {}, float("inf")])
def test_an_integer_is_an_integer(
    model: type[Body], field: str, low: int, high: int, junk: object
) -> None:
    del low, high
    assert refused(model, **{field: junk}) == {field}


@pytest.mark.parametrize("field", ["max_attempts", "backoff_seconds", "priority", "queue"])
def test_what_has_a_default_is_left_out_not_null(field: str) -> None:
    assert refused(EnqueueBody, **{field: None}) == {field}


@pytest.mark.parametrize("jitter", [0, 1, 0.0, 1.0, 0.5, 5e-324])
def test_jitter_is_a_share(jitter: float) -> None:
    assert read(EnqueueBody, jitter=jitter).jitter == jitter


@pytest.mark.parametrize("junk", [-0.1, 1.1, -5e-324, "0.5", True, [], float("nan"), float("inf")])
def test_anything_else_is_no_share(junk: object) -> None:
    assert refused(EnqueueBody, jitter=junk) == {"jitter"}


# -- names -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "x" * 128, "-", ".", "0"])
def test_a_queue_s_name(name: str) -> None:
    assert read(EnqueueBody, queue=name).queue == name
    assert read(ClaimBody, queue=name).request().queues == [name]
    assert read(ListQuery, queue=name).queue == name


@pytest.mark.parametrize(
    "junk",
    [
        "",
        "x" * 129,
        "a b",
        "a/b",
        "a:b",
        "a#b",
        "a\n",
        "\n",
        "é",
        "a\x00",
        "𝟙",
        "\ud800",
        5,
        [],
        {},
    ],
)
def test_what_is_no_queue_s_name(junk: object) -> None:
    assert refused(EnqueueBody, queue=junk) == {"queue"}
    assert refused(ClaimBody, queue=junk) == {"queue"}
    assert refused(ClaimBody, queues=["good", junk]) == {"queues.1"}
    assert refused(ListQuery, queue=junk) == {"queue"}
    assert refused(DeadLettersQuery, queue=junk) == {"queue"}


@pytest.mark.parametrize("name", ["a", "mail:send/v2.1_x-y", ":", "/", "x" * 128])
def test_a_job_type(name: str) -> None:
    assert read(EnqueueBody, job_type=name).job_type == name
    assert read(ClaimBody, job_types=[name]).request().job_types == {name}


@pytest.mark.parametrize("junk", ["", "x" * 129, "a b", "a#b", "a\n", "é", "\ud800", None, 5, True])
def test_what_is_no_job_type(junk: object) -> None:
    assert refused(EnqueueBody, job_type=junk) == {"job_type"}
    assert refused(ClaimBody, job_types=[junk]) == {"job_types.0"}


def test_a_job_has_a_type() -> None:
    with pytest.raises(ValidationError, match="job_type"):
        EnqueueBody.model_validate({})


@pytest.mark.parametrize("name", ["w", "x" * 128, "host é 😀/1 #2", "é" * 128])
def test_a_worker_may_call_itself_what_it_likes(name: str) -> None:
    assert read(ClaimBody, worker_id=name).request().worker_id == name


@pytest.mark.parametrize(
    "junk", ["", "x" * 129, "x" * 1000, "a\nb", "a\n", "\x00", "\x7f", "\x85", "\ud800", 5, []]
)
def test_but_not_anything(junk: object) -> None:
    assert refused(ClaimBody, worker_id=junk) == {"worker_id"}


@pytest.mark.parametrize("model", [CompleteBody, FailBody, HeartbeatBody, ReleaseBody])
def test_a_lease_token_is_a_short_text(model: type[Body]) -> None:
    for token in ("t", "x" * 128, None):
        assert read(model, lease_token=token).lease_token == token
    junk: list[object] = ["", "x" * 129, 5, True, [], "\ud800"]
    for each in junk:
        assert refused(model, lease_token=each) == {"lease_token"}


# -- moments -----------------------------------------------------------------------------

TIMED = [EnqueueBody, ReleaseBody, RequeueBody]


@pytest.mark.parametrize("model", TIMED)
@pytest.mark.parametrize(
    ("given", "moment"),
    [
        ("2030-01-01T00:00:00Z", T0),
        ("2030-01-01T02:00:00+02:00", T0),
        ("2030-01-01T00:00:00.45Z", T0 + 450),
        ("1999-12-31T23:59:59Z", 946_684_799_000),
        ("9999-12-31T23:59:59.999Z", MAX_MOMENT),
        (T0, T0),
        (MAX_SECONDS, MAX_SECONDS),
        (MAX_MOMENT, MAX_MOMENT),
        (None, None),
    ],
)
def test_a_moment(model: type[Body], given: object, moment: int | None) -> None:
    assert read(model, run_after=given).run_after == moment


@pytest.mark.parametrize("model", TIMED)
@pytest.mark.parametrize(
    "junk",
    [
        "2030-01-01T00:00:00",
        "2030-02-30T00:00:00Z",
        "2030-01-01",
        "tomorrow",
        "",
        "1893456000000",
        "0001-01-01T00:00:00Z",
        "1969-12-31T23:59:59Z",
        "9999-12-31T23:59:59.999-01:00",
        1_893_456_000,  # seconds
        0,
        1,
        -1,
        MAX_SECONDS - 1,
        MAX_MOMENT + 1,
        10**30,
        float(T0),
        True,
        [],
        {},
        float("inf"),
    ],
)
def test_what_is_no_moment(model: type[Body], junk: object) -> None:
    assert refused(model, run_after=junk) == {"run_after"}


def test_seconds_are_told_from_milliseconds() -> None:
    with pytest.raises(ValidationError, match="looks like seconds"):
        read(EnqueueBody, run_after=1_893_456_000)


# -- documents ---------------------------------------------------------------------------

DOCUMENTS = [
    (EnqueueBody, "payload", MAX_DOCUMENT_BYTES),
    (CompleteBody, "result", MAX_DOCUMENT_BYTES),
    (HeartbeatBody, "progress", MAX_PROGRESS_BYTES),
]


def document(size: int, character: str) -> JsonText:
    """Return a JSON string of so many bytes."""
    many, rest = divmod(size - 2, len(character.encode()))
    return JsonText(f'"{character * many}{"x" * rest}"')


@pytest.mark.parametrize(("model", "field", "limit"), DOCUMENTS)
@pytest.mark.parametrize("character", ["x", "é", "€", "😀"])
def test_a_document_s_size_is_counted_in_bytes(
    model: type[Body], field: str, limit: int, character: str
) -> None:
    text = document(limit, character)
    assert len(text.encode()) == limit
    assert getattr(read(model, **{field: text}), field) == text
    with pytest.raises(TooLargeError, match=f"{field} is {limit + 1:,} bytes") as caught:
        read(model, **{field: document(limit + 1, character)})
    assert caught.value.field == field


@pytest.mark.parametrize(("model", "field", "limit"), DOCUMENTS)
def test_a_document_stays_text(model: type[Body], field: str, limit: int) -> None:
    del limit
    assert field in model.json_texts
    for text in ("null", "1.0", "[]", r'"\ud800"', "7" * 1000):
        assert getattr(read(model, **{field: JsonText(text)}), field) == text


def test_what_is_not_said_is_null() -> None:
    assert read(EnqueueBody).payload == "null"
    assert read(CompleteBody).result == "null"
    assert read(HeartbeatBody).progress is None


@pytest.mark.parametrize("error", ["", "boom", "é" * 100_000, "a\x00b"])
def test_an_error_is_any_text(error: str) -> None:
    assert read(FailBody, error=error).error == error


def test_an_error_that_utf_8_cannot_carry_is_mended() -> None:
    assert read(FailBody, error="a\ud800b").error == "a?b"


@pytest.mark.parametrize("junk", [None, 5, True, [], {}, float("inf")])
def test_an_error_is_a_text(junk: object) -> None:
    assert refused(FailBody, error=junk) == {"error"}


def test_a_failure_has_an_error() -> None:
    with pytest.raises(ValidationError, match="error"):
        FailBody.model_validate({})


# -- strictness --------------------------------------------------------------------------


@pytest.mark.parametrize("model", NEEDED)
@pytest.mark.parametrize("name", ["unknown", "", "Queue", "id", "status ", "json_texts", "a.b"])
def test_nothing_unknown_is_let_pass(model: type[Body], name: str) -> None:
    assert refused(model, **{name: "mail"}) == {name}


@pytest.mark.parametrize("model", NEEDED)
@given(
    name=st.text(max_size=10),
    value=st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just([{}]),
)
def test_nothing_but_a_refusal_comes_of_junk(model: type[Body], name: str, value: object) -> None:
    for field in [name, *model.model_fields]:
        try:
            read(model, **{field: value})
        except (ValidationError, InvalidFieldError, TooLargeError):
            continue


@pytest.mark.parametrize("model", NEEDED)
def test_a_request_does_not_change(model: type[Body]) -> None:
    for name in model.model_fields:
        with pytest.raises(ValidationError):
            setattr(read(model), name, None)


def test_a_name_that_utf_8_cannot_carry_is_refused() -> None:
    with pytest.raises(ValidationError):
        read(EnqueueBody, **{"\ud800": 1})


@pytest.mark.parametrize(
    ("model", "given"),
    [
        (ClaimBody, {"queue": "a", "queues": ["b"]}),
        (FailBody, {"retry": False, "retry_in_seconds": 0}),
        (ReleaseBody, {"run_after": T0, "delay_seconds": 0}),
        (ListQuery, {"cursor": "c", "page": 2}),
        (DeadLettersQuery, {"cursor": "c", "page": 2}),
    ],
)
def test_two_ways_to_say_one_thing_are_refused(model: type[Body], given: dict[str, Any]) -> None:
    with pytest.raises(InvalidFieldError) as caught:
        read(model, **given)
    assert [name for name, _ in caught.value.fields] == list(given)[1:]
    for name, value in given.items():
        assert read(model, **{name: value})


@pytest.mark.parametrize("model", [EnqueueBody, EnqueueItem])
def test_a_time_without_a_key_is_refused(model: type[Body]) -> None:
    with pytest.raises(InvalidFieldError) as caught:
        read(model, unique_for_seconds=5)
    assert caught.value.field == "unique_for_seconds"
    assert read(model, unique_for_seconds=5, unique_key="k").unique_for_seconds == 5


@pytest.mark.parametrize("junk", ["false", 0, 1, None, "yes"])
def test_retry_is_true_or_false(junk: object) -> None:
    assert refused(FailBody, retry=junk) == {"retry"}


# -- as the engine takes it --------------------------------------------------------------


def test_the_defaults_of_enqueue() -> None:
    assert read(EnqueueBody).new_job() == NewJob(
        job_type="mail",
        queue="default",
        payload="null",
        max_attempts=None,  # left to the queue
        backoff_seconds=None,
        run_after=None,
        priority=0,
        lease_seconds=None,
        max_backoff_seconds=None,
        jitter=None,
    )


def test_all_of_enqueue() -> None:
    asked: dict[str, Any] = {
        "job_type": "mail",
        "queue": "q",
        "payload": JsonText("[1]"),
        "max_attempts": 1,
        "backoff_seconds": 0,
        "run_after": T0,
        "priority": 9,
        "lease_seconds": 1,
        "max_backoff_seconds": 0,
        "jitter": 0.0,
    }
    assert read(EnqueueBody, **asked).new_job() == NewJob(**asked)


def test_a_job_of_a_batch_names_its_own_key() -> None:
    new = read(EnqueueItem, idempotency_key="r1").new_job()
    assert new == NewJob(job_type="mail", idempotency_key="r1")
    assert read(EnqueueItem, idempotency_key=None).new_job() == NewJob(job_type="mail")
    assert refused(EnqueueItem, idempotency_key="a\n") == {"idempotency_key"}
    assert refused(EnqueueBody, idempotency_key="r1") == {"idempotency_key"}


def test_null_where_nothing_is_wished() -> None:
    nothing = dict.fromkeys(["run_after", "lease_seconds", "max_backoff_seconds", "jitter"])
    assert read(EnqueueBody, **nothing).new_job() == NewJob(job_type="mail")


def test_the_defaults_of_claim() -> None:
    assert read(ClaimBody).request() == ClaimRequest(queues=["default"])


def test_all_of_claim() -> None:
    body = read(
        ClaimBody,
        queues=["b", "a", "b"],
        worker_id="w",
        job_types=["x", "y", "x"],
        lease_seconds=5,
        max_jobs=10,
    )
    assert body.request() == ClaimRequest(
        queues=["b", "a"],
        worker_id="w",
        job_types=frozenset({"x", "y"}),
        lease_seconds=5,
        max_jobs=10,
    )


def test_how_many_names_a_claim_may_give() -> None:
    assert len(read(ClaimBody, queues=[f"q{n}" for n in range(10)]).request().queues) == 10
    assert refused(ClaimBody, queues=[f"q{n}" for n in range(11)]) == {"queues"}
    assert refused(ClaimBody, queues=[]) == {"queues"}
    assert refused(ClaimBody, queues="default") == {"queues"}
    assert len(read(ClaimBody, job_types=[f"t{n}" for n in range(100)]).request().job_types) == 100
    assert refused(ClaimBody, job_types=[f"t{n}" for n in range(101)]) == {"job_types"}
    assert refused(ClaimBody, job_types=[]) == {"job_types"}


# -- query strings: all is text ----------------------------------------------------------


def test_the_defaults_of_a_list() -> None:
    assert read(ListQuery).request() == ListRequest()
    assert read(DeadLettersQuery).request() == ListRequest(status=Status.DEAD)


def test_all_of_a_list() -> None:
    asked = {"queue": "q", "job_type": "t", "page": "3", "per_page": "100", "order": "asc"}
    expected = ListRequest(queue="q", job_type="t", page=3, per_page=100, newest_first=False)
    assert read(ListQuery, **asked).request() == expected
    for status in Status:
        listed = read(ListQuery, status=str(status)).request()
        assert listed == ListRequest(status=status)
    assert read(DeadLettersQuery, cursor="c", order="desc").request() == ListRequest(
        status=Status.DEAD, cursor="c"
    )


@pytest.mark.parametrize("junk", ["", "QUEUED", "failed", "queued,dead", "0", "queued "])
def test_an_unknown_status_is_refused_with_those_there_are(junk: str) -> None:
    with pytest.raises(ValidationError, match="queued, running, completed, dead, cancelled"):
        read(ListQuery, status=junk)


def test_dead_letters_have_one_status() -> None:
    assert refused(DeadLettersQuery, status="queued") == {"status"}


@pytest.mark.parametrize("model", [ListQuery, DeadLettersQuery])
@pytest.mark.parametrize(
    ("field", "good", "junk"),
    [
        (
            "page",
            ["1", "2", "007", "999999999"],
            ["0", "-1", "1.0", "", " 1", "٣", "9" * 10],
        ),
        ("per_page", ["1", "100"], ["0", "101", "-1", "x", "", "1_0", "+5"]),
        ("order", ["asc", "desc"], ["", "ASC", "up"]),
        ("cursor", ["", "x" * 1024], ["x" * 1025]),
    ],
)
def test_a_list_s_fields(model: type[Body], field: str, good: list[str], junk: list[str]) -> None:
    for each in good:
        assert read(model, **{field: each})
    for each in junk:
        assert refused(model, **{field: each}) == {field}
