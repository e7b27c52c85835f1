"""Payload, result and progress come back equal, whatever JSON they are."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.http.api import Answer, Api, LiveServer
from tests.http.steps import Jobs, named_fields, problem, token

NUMBERS = [
    "0",
    "-0",
    "0.0",
    "-0.0",
    "0.1",
    "1e-7",
    "1.7976931348623157e308",
    "5e-324",
    "2.2250738585072014e-308",
    "0.30000000000000004",
    "1e23",
    "1E5",
    "1e+5",
    "123456789.123456789",
    "9007199254740993",
    "-9223372036854775809",
    "12345678901234567890",
    "-" + "98765432109876543210" * 5,
    "1e400",  # no double; a client may have decimals
]
STRINGS = [
    '""',
    '"\\u0000"',
    '"\\u0001\\b\\f\\n\\r\\t"',
    '"\\"\\\\\\/"',
    '"é\\u00e9 €\\u20ac 🎉\\ud83c\\udf89"',
    '"\u007f\u0080\u2028\u2029\ufeff\ufffe\uffff"',
    '"\\ud800"',
    '"\\udc00\\ud800"',
    '"é\\ud800🎉"',
    '"12"',
    '"NaN"',
    '"null"',
    '"  two  blanks : , { } [ ]  "',
    '"\\\\"',
    '"\\\\\\""',
]
OTHERS = [
    "null",
    "true",
    "false",
    "[]",
    "{}",
    '{"":""}',
    '{"":{"":[{"":null}]}}',
    '{" a ":1,"A":2,"a":3}',
    '{"\\ud800":"\\udfff","\\u0000":0,"é":1,"🎉":2}',
    '{"__proto__":1,"constructor":2,"toString":3}',
    '{"S":"x","N":"1","NULL":true,"M":{"B":"eA=="}}',  # as DynamoDB writes its own types
    '[null,[null,[]],{"a":[]}]',
    '[1,"1",1.0,true,{"1":1}]',
    "[" * 100 + "]" * 100,
    '{"a":' * 100 + "1" + "}" * 100,
]
SMALL = [*NUMBERS, *STRINGS, *OTHERS]
LARGE = [
    "7" * 5000,
    "-" + "7" * 5000,
    "0." + "3" * 5000,
    '{"n":[' + "9" * 5000 + "]}",
    "[" * 500 + "]" * 500,
    '{"a":[' * 200 + "1e-7" + "]}" * 200,
    json.dumps("x" * 399),  # about where a document gets an item of its own
    json.dumps("x" * 398),
    json.dumps("é" * 200, ensure_ascii=False),
    json.dumps("🎉" * 5000),
    json.dumps("\x00" * 5000),
    json.dumps([{"n": n, "": "é"} for n in range(5000)]),
]


@pytest.fixture
def jobs(api: Api, queue: str) -> Jobs:
    """A queue of its own."""
    return Jobs(api, queue)


def exact(text: str | bytes) -> Any:
    """Read JSON so that what differs for any client differs here: 1 and 1.0, −0.0 and 0.0."""
    return json.loads(
        text,
        parse_int=lambda digits: ("integer", digits),
        parse_float=lambda digits: ("double", float(digits).hex(), digits.lower()),
    )


def field(answer: Answer, *path: str | int) -> Any:
    """Return a part of an answer."""
    assert answer.status in (200, 201), answer.body[:500]
    found = exact(answer.body)
    for step in path:
        found = found[step]
    return found


def post(api: Api, path: str, name: str, text: str, more: str = "") -> Answer:
    """Send a document as it is written."""
    return api.post(path, body=f'{{{more} "{name}" : {text} }}')


@pytest.mark.parametrize("text", SMALL + LARGE, ids=lambda text: f"{ascii(text)[:40]}-{len(text)}")
def test_a_payload_and_a_result_come_back_equal(jobs: Jobs, text: str) -> None:
    api, value = jobs.api, exact(text)
    made = post(api, "/jobs", "payload", text, f'"job_type":"t","queue":"{jobs.queue}",')
    assert field(made, "payload") == value
    job_id = field(made, "id")[1]
    claimed = api.post("/jobs/claim", {"queue": jobs.queue})
    assert field(claimed, "job", "payload") == value
    assert field(claimed, "jobs", 0, "payload") == value

    lease = f'"lease_token": "{field(claimed, "job", "lease_token")}",'
    ended = post(api, f"/jobs/{job_id}/complete", "result", text, lease)

    assert field(ended, "status") == "completed"
    whole = api.get(f"/jobs/{job_id}")
    assert field(whole, "payload") == value
    assert field(whole, "result") == value
    again = post(api, f"/jobs/{job_id}/complete", "result", f"\n {text}\t", lease)
    assert field(again, "completed_at") == field(ended, "completed_at")


@pytest.mark.parametrize(
    "text",
    [text for text in SMALL if len(text) < 150],  # payload and result are small together
    ids=lambda text: f"{ascii(text)[:40]}-{len(text)}",
)
def test_small_documents_are_in_every_answer(jobs: Jobs, text: str) -> None:
    api, value = jobs.api, exact(text)
    made = post(api, "/jobs", "payload", text, f'"job_type":"t","queue":"{jobs.queue}",')
    job_id = field(made, "id")[1]
    api.post("/jobs/claim", {"queue": jobs.queue})
    beat = post(api, f"/jobs/{job_id}/heartbeat", "progress", text)
    assert field(beat, "progress") == value
    ended = post(api, f"/jobs/{job_id}/complete", "result", text)
    for name in ("payload", "progress", "result"):
        assert field(ended, name) == value
        assert field(api.get(f"/jobs/{job_id}"), name) == value
        assert field(api.get(f"/jobs?queue={jobs.queue}"), "items", 0, name) == value


@pytest.mark.parametrize("text", [LARGE[0][:1000], "[" * 500 + "]" * 500])
def test_a_long_progress_comes_back_equal(jobs: Jobs, text: str) -> None:
    job = jobs.in_status("running")
    beat = post(jobs.api, f"/jobs/{job['id']}/heartbeat", "progress", text)
    assert field(beat, "progress") == exact(text)
    assert field(jobs.api.get(f"/jobs/{job['id']}"), "progress") == exact(text)


_json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=())),  # lone surrogates too
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.text(st.characters(exclude_categories=())), inner, max_size=5)
    ),
    max_leaves=30,
)


@settings(max_examples=60)
@given(value=_json_values, ensure_ascii=st.booleans(), indent=st.sampled_from([None, 0, 3]))
def test_any_value_comes_back_equal(
    server: LiveServer, value: object, *, ensure_ascii: bool, indent: int | None
) -> None:
    api = Api(server.url)
    text = json.dumps(value, ensure_ascii=ensure_ascii, indent=indent)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character can only be written as an escape
        text = json.dumps(value, indent=indent)
    made = post(api, "/jobs", "payload", text, f'"job_type":"t","queue":"{uuid.uuid4()}",')
    assert field(made, "payload") == exact(text)
    assert field(api.get(f"/jobs/{field(made, 'id')[1]}"), "payload") == exact(text)


# -- what is no JSON -------------------------------------------------------------------


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("around", ["{}", "[{}]", '{{"a":[1,{{"b":{}}}]}}'])
def test_what_is_no_number_is_refused(jobs: Jobs, constant: str, around: str) -> None:
    api, text = jobs.api, around.format(constant)
    refused = post(api, "/jobs", "payload", text, f'"job_type":"t","queue":"{jobs.queue}",')
    problem(refused, 400, "invalid_json")
    assert jobs.list()["items"] == []
    job = jobs.in_status("running")
    before = jobs.get(job)
    problem(post(api, f"/jobs/{job['id']}/complete", "result", text), 400, "invalid_json")
    problem(post(api, f"/jobs/{job['id']}/heartbeat", "progress", text), 400, "invalid_json")
    assert jobs.get(job) == before


def test_nesting_is_accepted_to_a_depth_and_refused_beyond(jobs: Jobs) -> None:
    more = f'"job_type":"t","queue":"{jobs.queue}",'
    for left, right in (("[", "]"), ('{"a":[', "]}")):
        unit = left.count("[") + left.count("{")
        fits = 500 // unit
        text = left * fits + right * fits
        assert field(post(jobs.api, "/jobs", "payload", text, more), "payload") == exact(text)
        refused = post(jobs.api, "/jobs", "payload", f"[{text}]", more)
        problem(refused, 422, "invalid_field")
        assert named_fields(refused) == {"payload"}
    many = "[" + "[]," * 5000 + "[]]"  # wide is not deep
    assert field(post(jobs.api, "/jobs", "payload", many, more), "payload") == exact(many)
    in_a_string = json.dumps("[{" * 5000)
    made = post(jobs.api, "/jobs", "payload", in_a_string, more)
    assert field(made, "payload") == exact(in_a_string)


# -- where they are shown --------------------------------------------------------------


def test_left_out_documents_are_null(jobs: Jobs) -> None:
    job = jobs.enqueue()
    assert (job["payload"], job["result"], job["progress"]) == (None, None, None)
    job = jobs.claim()
    assert job["payload"] is None
    assert jobs.done("complete", job, **token(job))["result"] is None


def test_a_result_of_a_failed_run_is_nobodys(jobs: Jobs) -> None:
    job = jobs.in_status("running")
    jobs.done("fail", job, error="e", retry_in_seconds=0)
    assert jobs.get(job)["result"] is None


def test_large_documents_give_way_to_their_size_in_lists(jobs: Jobs) -> None:
    large, small = "é" * 5000, "small"
    for payload, result in ((large, small), (small, large), (large, large)):
        jobs.enqueue(payload=payload, priority=9)
        job = jobs.claim()
        assert job["payload"] == payload
        jobs.done("complete", job, **token(job), result=result)
        whole = jobs.get(job)
        assert (whole["payload"], whole["result"]) == (payload, result)
        (shown,) = (each for each in jobs.list()["items"] if each["id"] == job["id"])
        for name, document in (("payload", payload), ("result", result)):
            if document == small:
                assert shown[name] == small
                assert f"{name}_bytes" not in shown
            else:
                assert shown[f"{name}_bytes"] == 10_002
                assert name not in shown


def test_a_large_payload_is_in_every_claim(jobs: Jobs) -> None:
    payload = {"text": "x" * 20_000}
    jobs.enqueue(payload=payload)
    for _ in range(3):
        job = jobs.claim()
        assert job["payload"] == payload
        jobs.done("release", job, **token(job))
    jobs.done("fail", jobs.claim(), error="e", retry=False)
    jobs.done("requeue", job)
    assert jobs.claim()["payload"] == payload
    assert jobs.get(job)["payload"] == payload
