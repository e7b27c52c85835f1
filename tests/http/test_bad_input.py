"""Whatever a client sends: a problem document with the right status, and nothing changed."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from tests.http.steps import (
    ROUTES,
    WITH_BODY,
    WITH_ID,
    Jobs,
    Route,
    named_fields,
    post_untyped,
    problem,
    why_no_problem,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.http.api import Answer, Api, LiveServer

YEAR_SECONDS = 365 * 24 * 3600
LISTS = [ROUTES["list"], ROUTES["dead_letters"]]
with_body = pytest.mark.parametrize("route", WITH_BODY, ids=lambda route: route.name)
with_id = pytest.mark.parametrize("route", WITH_ID, ids=lambda route: route.name)
lists = pytest.mark.parametrize("route", LISTS, ids=lambda route: route.name)


@pytest.fixture
def jobs(api: Api, queue: str) -> Jobs:
    """A queue of its own."""
    return Jobs(api, queue)


class Victim:
    """A job, or the lack of one, that a refused call must leave as it is."""

    def __init__(self, jobs: Jobs, route: Route) -> None:
        """Make what the route would change."""
        self._jobs = jobs
        self.body = dict(route.body or {})
        if route.name in ("enqueue", "claim"):
            self.body["queue"] = jobs.queue
        self._job = None
        if route.name != "enqueue":
            self._job = jobs.in_status(route.status or "queued")
        self.path = route.path
        if self._job is not None:
            self.path = route.path.replace("{id}", str(self._job["id"]))
        self._before = self._look()

    def check(self) -> None:
        """See that nothing changed, and that the victim was one: now the call does change it."""
        assert self._look() == self._before
        answer = self._jobs.api.post(self.path, self.body)
        assert answer.status in (200, 201), answer.body[:500]
        assert self._look() != self._before

    def _look(self) -> object:
        listed = self._jobs.list(per_page=100)
        return listed if self._job is None else (listed, self._jobs.get(self._job))


def all_refused(
    answers: Iterable[tuple[object, Answer]], *statuses: int, field: str | None = None
) -> None:
    """See that each is a problem document of one of these statuses, and names the field."""
    faults = []
    for sent, answer in answers:
        shown = ascii(sent)[:80]
        if fault := why_no_problem(answer):
            faults.append(f"{shown}: {fault}")
        elif answer.status not in statuses:
            faults.append(f"{shown}: {answer.status} {answer.body[:200]!r}")
        elif field is not None and named_fields(answer) != {field}:
            faults.append(f"{shown}: names {sorted(named_fields(answer))}")
    if faults:
        pytest.fail("\n".join(faults))


# -- broken JSON -----------------------------------------------------------------------

BROKEN = [
    "{",
    "}",
    "{]",
    "[",
    '"',
    '"\\',
    "{}{}",
    "{} x",
    "{},",
    "{}\x00",
    "\x00",
    "\x00{}",
    "{\x00}",
    "\ufeff{}",
    "\ufeff",
    "\u00a0",
    "\u00a0{}",
    "{}\u00a0",
    "\u2028",
    "\x0b",
    "\x0c",
    "\x1c",
    "\x85",
    "{\x0c}",
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    '{,"a":1}',
    '{"a":1,,"b":2}',
    '{"a":1 "b":2}',
    '{"a" 1}',
    '{"a"::1}',
    "{'a':1}",
    "{a:1}",
    "{1:1}",
    '{"a":01}',
    '{"a":1.}',
    '{"a":.5}',
    '{"a":+1}',
    '{"a":-}',
    '{"a":1e}',
    '{"a":0x1}',
    '{"a":1_000}',
    '{"a":١}',
    '{"a":tru}',
    '{"a":True}',
    '{"a":None}',
    '{"a":nulll}',
    '{"a":NaN}',
    '{"a":Infinity}',
    '{"a":-Infinity}',
    '{"a":[NaN]}',
    '{"a":"\n"}',
    '{"a":"\x00"}',
    '{"a":"\t"}',
    '{"a\n":1}',
    '{"a":"\\x"}',
    '{"a":"\\u12"}',
    '{"a":"\\u12g4"}',
    '{"a":"\\u+123"}',
    '{"a":"\\',
    '{"a":"b',
    '{"a":[1,]}',
    '{"a":[1 2]}',
    '{"a":[}',
    '{"a":{"b":1}',
    "// x\n{}",
    "/* x */{}",
    "{} // x",
    "nul",
    "undefined",
    "NaN",
    "a=1&b=2",
    "<a/>",
    "()",
    "--",
]


@with_body
def test_broken_json(jobs: Jobs, route: Route) -> None:
    victim = Victim(jobs, route)
    api = jobs.api
    answers = ((body, api.post(victim.path, body=body)) for body in BROKEN)
    all_refused(answers, 400)
    good = json.dumps(victim.body)
    cut = [good[:length] for length in range(1, len(good), 3)]
    tails = [good + tail for tail in ("}", "]", ",", '"', " 1", "\x00", "\ufeff", "\x0b")]
    answers = ((body, api.post(victim.path, body=body)) for body in cut + tails)
    all_refused(answers, 400)
    victim.check()


@with_body
def test_json_that_is_no_object(jobs: Jobs, route: Route) -> None:
    victim = Victim(jobs, route)
    bodies = ["[]", "[{}]", '"x"', '""', '"{}"', "1", "0", "-0.5e3", "true", "false", "null"]
    answers = ((body, jobs.api.post(victim.path, body=body)) for body in bodies)
    all_refused(answers, 422)
    victim.check()


@with_body
def test_bytes_that_are_no_text(jobs: Jobs, route: Route, server: LiveServer) -> None:
    victim = Victim(jobs, route)
    good = json.dumps(victim.body)
    bodies = [
        b"\xff",
        b"\xff\xfe",
        b"\x80\x81" + good.encode(),
        good.encode("utf-16"),
        good.encode("utf-16-le"),
        good.encode("utf-32"),
        good.encode("utf-8-sig"),
        good.encode() + b"\xc3",
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00",
        base64.b64encode(good.encode()),
        bytes(range(256)),
    ]
    answers = [(body, jobs.api.post(victim.path, body=body)) for body in bodies]
    # without a type, API Gateway hands the body on in base64
    answers += [(body, post_untyped(server.url, victim.path, body)) for body in bodies]
    in_string = good[:-1].encode() + (b"," if victim.body else b"") + b'"error":"\xff\xed\xa0\x80"}'
    answers.append((in_string, post_untyped(server.url, victim.path, in_string)))
    all_refused(answers, 400)
    victim.check()


@with_body
def test_bytes_in_a_string_that_are_no_text(jobs: Jobs, route: Route) -> None:
    victim = Victim(jobs, route)
    field = {"enqueue": "payload", "complete": "result", "heartbeat": "progress"}
    good = json.dumps({**victim.body, field.get(route.name, "worker_id"): "a?b"}).encode()
    junk = (b"\xff", b"\xc3", b"\xe2\x82", b"\xf0\x9f", b"\xed\xa0\x80", b"\xff\xef\xbf\xbd")
    answers = ((each, jobs.api.post(victim.path, body=good.replace(b"?", each))) for each in junk)
    all_refused(answers, 400)
    victim.check()


def test_a_replacement_character_may_be_sent(jobs: Jobs) -> None:
    text = '{"job_type":"t","queue":"%s","payload":"a\ufffdb"}' % jobs.queue  # noqa: UP031 - braces
    answer = jobs.api.post("/jobs", body=text.encode())
    assert (answer.status, answer.json["payload"]) == (201, "a\ufffdb")


@with_body
def test_a_body_without_a_type_is_read_as_json(
    jobs: Jobs, route: Route, server: LiveServer
) -> None:
    victim = Victim(jobs, route)
    answer = post_untyped(server.url, victim.path, json.dumps(victim.body).encode())
    assert answer.status in (200, 201), answer.body


@with_body
def test_another_content_type(jobs: Jobs, route: Route) -> None:
    victim = Victim(jobs, route)
    answers = (
        (
            given,
            jobs.api.post(victim.path, victim.body or {"a": 1}, headers={"content-type": given}),
        )
        for given in (
            "text/plain",
            "text/json",
            "text/html; charset=utf-8",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "application/xml",
            "application/javascript",
            "application/jsonx",
            "application/x-json",
            "application/octet-stream",
            "image/png",
            "json",
            "*/*",
            "application/json; charset=iso-8859-1",
            "application/json; charset=utf-16",
            "text/plain, application/json",
            "x" * 5000,
            "text/plain; \xe9",
        )
    )
    all_refused(answers, 415)
    victim.check()


@pytest.mark.parametrize(
    "given",
    [
        "application/json",
        "APPLICATION/JSON",
        "application/json; charset=utf-8",
        'application/json;charset="UTF-8"',
        "application/json ; charset=utf-8",
        "application/cloudevents+json",
    ],
)
def test_json_by_any_of_its_names(jobs: Jobs, given: str) -> None:
    body = {"job_type": "t", "queue": jobs.queue, "payload": "é"}
    text = json.dumps(body, ensure_ascii=False)
    answer = jobs.api.post("/jobs", body=text, headers={"content-type": given})
    assert answer.status == 201
    assert answer.json["payload"] == "é"


# -- fields ----------------------------------------------------------------------------

DIGITS = type("Digits", (), {"__repr__": lambda _self: "5,000 digits"})()
NO_INTEGER: list[object] = ["1", "", "x", 1.5, 1e9, 1e300, True, False, [], {}, [1], DIGITS]
NO_STRING: list[object] = [1, 0, 1.5, True, False, [], {}, ["a"], {"a": "b"}]
NO_NAME: list[object] = [
    *NO_STRING,
    "",
    " ",
    "a b",
    "a" * 129,
    "a" * 100_000,
    "é",
    "а",
    "ａ",
    "a\n",
    "\na",
    "a\x00",
    "\x00",
    "a#b",
    "a\\b",
    "a%20b",
    "a,b",
    "\ud800",
    "🎉",
]
NO_TOKEN: list[object] = [*NO_STRING, "", "a" * 129, "\ud800", "a" * 100_000]
NO_LEASE: list[object] = [*NO_INTEGER, 0, -1, 43_201, 10**30]
NO_DELAY: list[object] = [*NO_INTEGER, -1, YEAR_SECONDS + 1, 10**30]
NO_MOMENT: list[object] = ["2030-01-01", "", "x", "\ud800", 1893456000, -1, 1.5, True, [], {}]
NO_ATTEMPTS: list[object] = [*NO_INTEGER, 0, -1, 1001, None, 10**30]

BAD_FIELDS: dict[str, dict[str, list[object]]] = {
    "enqueue": {
        "job_type": [*NO_NAME, None],
        "queue": [*NO_NAME, None, "a/b", "a:b"],
        "max_attempts": NO_ATTEMPTS,
        "backoff_seconds": [*NO_INTEGER, None, -1, 604_801, 10**15],
        "priority": [*NO_INTEGER, None, -1, 10, 10**30],
        "run_after": NO_MOMENT,
        "lease_seconds": NO_LEASE,
        "max_backoff_seconds": NO_DELAY,
        "jitter": ["0.5", "", -0.1, 1.1, 2, -1, True, [], {}, 1e300, 10**400, DIGITS],
    },
    "claim": {
        "queue": [*NO_NAME, "a/b"],
        "queues": ["q", "", 1, {}, [], [1], [None], [[]], ["a b"], ["a", ""], ["a"] * 11, True],
        "worker_id": [*NO_STRING, "", "x" * 129, "x" * 1000, "a\x00", "a\n", "\ud800"],
        "job_types": ["t", "", 1, {}, [], [1], [None], ["a b"], ["a", ""], ["a"] * 101, True],
        "lease_seconds": NO_LEASE,
        "max_jobs": [*NO_INTEGER, None, 0, -1, 26],
    },
    "complete": {"lease_token": NO_TOKEN},
    "fail": {
        "error": [*NO_STRING, None],
        "lease_token": NO_TOKEN,
        "retry_in_seconds": NO_DELAY,
        "retry": [None, 0, 1, "false", "true", "", [], {}, 0.0],
    },
    "heartbeat": {"lease_token": NO_TOKEN, "lease_seconds": NO_LEASE},
    "release": {"lease_token": NO_TOKEN, "run_after": NO_MOMENT, "delay_seconds": NO_DELAY},
    "cancel": {},
    "requeue": {"run_after": NO_MOMENT},
}
UNKNOWN = [
    "id",
    "status",
    "attempts",
    "Queue",
    "queue ",
    "jobtype",
    "",
    " ",
    "\x00",
    "é",
    "🎉",
    "__class__",
    "json_texts",
    "model_config",
    "a.b",
    "0",
    "x" * 1000,
]


def encoded(body: object) -> str:
    """Write JSON, integers of any length too."""
    if isinstance(body, dict):
        members = (f"{json.dumps(name)}:{encoded(value)}" for name, value in body.items())
        return "{" + ",".join(members) + "}"
    return "1" + "0" * 5000 if body is DIGITS else json.dumps(body)


@pytest.mark.parametrize(
    ("route", "field"),
    [(ROUTES[name], field) for name, fields in BAD_FIELDS.items() for field in fields],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_a_bad_field_is_named(jobs: Jobs, route: Route, field: str) -> None:
    victim = Victim(jobs, route)
    sent = {name: value for name, value in victim.body.items() if field != "queues"}
    answers = (
        (value, jobs.api.post(victim.path, body=encoded({**sent, field: value})))
        for value in BAD_FIELDS[route.name][field]
    )
    all_refused(answers, 422, field=field)
    victim.check()


def test_every_field_is_in_the_table() -> None:
    documents = {"payload", "result", "progress"}  # any JSON will do
    known = {
        "enqueue": "job_type queue payload max_attempts backoff_seconds run_after priority "
        "lease_seconds max_backoff_seconds jitter",
        "claim": "queue queues worker_id job_types lease_seconds max_jobs",
        "complete": "result lease_token",
        "fail": "error lease_token retry_in_seconds retry",
        "heartbeat": "lease_token lease_seconds progress",
        "release": "lease_token run_after delay_seconds",
        "cancel": "",
        "requeue": "run_after",
    }
    for name, fields in known.items():
        assert BAD_FIELDS[name].keys() == set(fields.split()) - documents


@with_body
def test_an_unknown_field_is_named(jobs: Jobs, route: Route) -> None:
    victim = Victim(jobs, route)
    unknown = [*UNKNOWN, *(["lease_token"] if route.name in ("enqueue", "claim", "cancel") else [])]
    for value in (None, "x", {"a": [1]}):
        answers = {
            name: jobs.api.post(victim.path, {**victim.body, name: value}) for name in unknown
        }
        all_refused(answers.items(), 422)
        for name, answer in answers.items():
            assert [each["field"] for each in answer.json["errors"]] == [name[:100] or '""']
    for name in ("\ud800", "a\udfff"):
        answer = jobs.api.post(victim.path, {**victim.body, name: 1})
        all_refused([(name, answer)], 422, field=json.dumps(name))
    victim.check()


@pytest.mark.parametrize("name", ["enqueue", "fail"])
def test_a_missing_field_is_named(jobs: Jobs, name: str) -> None:
    victim = Victim(jobs, ROUTES[name])
    (needed,) = ROUTES[name].body or {}
    rest = {each: value for each, value in victim.body.items() if each != needed}
    answers: list[tuple[object, Answer]] = [
        (body, jobs.api.post(victim.path, body=body))
        for body in (None, "", " \r\n\t", "{}", " { } ")
    ]
    answers.append((rest, jobs.api.post(victim.path, rest)))
    all_refused(answers, 422, field=needed)
    victim.check()


def test_all_bad_fields_are_named_at_once(jobs: Jobs) -> None:
    body = {"job_type": 1, "queue": "a b", "max_attempts": 0, "priority": "9", "x": None}
    answer = jobs.api.post("/jobs", body)
    problem(answer, 422, "invalid_field")
    assert named_fields(answer) == body.keys()


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("enqueue", {"job_type": "t", "unique_for_seconds": 5}),
        ("claim", {"queue": "a", "queues": ["b"]}),
        ("fail", {"error": "e", "retry": False, "retry_in_seconds": 5}),
        ("release", {"run_after": "2030-01-01T00:00:00Z", "delay_seconds": 5}),
    ],
)
def test_fields_that_contradict_each_other(jobs: Jobs, name: str, body: dict[str, Any]) -> None:
    victim = Victim(jobs, ROUTES[name])
    answer = jobs.api.post(victim.path, body)
    all_refused([(body, answer)], 422, field=list(body)[-1])
    victim.check()


@with_body
def test_a_field_given_twice_is_named(jobs: Jobs, route: Route) -> None:
    victim = Victim(jobs, route)
    for name, value in {**victim.body, "x": 1, "payload": [], "lease_token": "l"}.items():
        member = f"{json.dumps(name)}:{json.dumps(value)}"
        rest = encoded({each: value for each, value in victim.body.items() if each != name})
        body = f"{rest[:-1]}{',' if len(rest) > len('{}') else ''}{member}, {member}}}"
        all_refused([(body, jobs.api.post(victim.path, body=body))], 422, field=name)
    victim.check()


# -- far too much ----------------------------------------------------------------------


@with_body
@pytest.mark.parametrize("depth", [10_000, 200_000])
def test_deep_nesting(jobs: Jobs, route: Route, depth: int) -> None:
    victim = Victim(jobs, route)
    deep = {
        "arrays": "[" * depth + "]" * depth,
        "objects": '{"a":' * depth + "1" + "}" * depth,
        "mixed": '[{"":' * depth + "[]" + "}]" * depth,
        "unclosed arrays": "[" * depth,
        "unclosed objects": '{"a":' * depth,
        "closed too often": "[" * depth + "]" * (depth + 1),
        "closed wrongly": "[" * depth + "}" * depth,
    }
    good = encoded(victim.body)[:-1] + ("," if victim.body else "")
    names = {"payload", "result", "progress", "error", "x"} - victim.body.keys()
    bodies = dict(deep)
    for kind, text in deep.items():
        for name in names if kind in ("arrays", "objects") else {"payload"}:
            bodies[f"{kind} in {name}"] = f'{good}"{name}":{text}}}'
    answers = ((kind, jobs.api.post(victim.path, body=body)) for kind, body in bodies.items())
    all_refused(answers, 400, 422)
    victim.check()


HUGE = {
    "a member again and again": ('"x":1,' * 250_000 + '"x":1', {413, 422}),
    "many unknown members": (",".join(f'"x{n:06}":0' for n in range(50_000)), {413, 422}),
    "an unknown member's long name": (f'"{"n" * 1_500_000}":1', {413, 422}),
    "an unknown member's long escaped name": ('"' + "\\u0001" * 300_000 + '":1', {413, 422}),
    "a long number": (f'"x":{"9" * 4_000_000}', {413, 422}),
    "many blanks": (" " * 5_000_000 + '"x":1', {413, 422}),
    "brackets, then a string without end": (
        '"x":[' + "[]," * 600 + '"' + '\\"' * 200_000,
        {400, 413},
    ),
    "brackets, then escapes outside of strings": (
        '"x":[' + "[]," * 600 + '\\"' * 200_000,
        {400, 413},
    ),
    "quotes and no end": ('"x":' + '"\\"' * 300_000, {400, 413}),
    "backslashes": ('"x":"' + "\\" * 400_001 + '"', {400, 413}),
}


@pytest.mark.parametrize(("members", "statuses"), HUGE.values(), ids=HUGE)
def test_a_huge_body(jobs: Jobs, members: str, statuses: set[int]) -> None:
    answer = jobs.api.post("/jobs", body=f'{{"job_type":"t","queue":"{jobs.queue}",{members}}}')
    all_refused([(members, answer)], *statuses)
    assert jobs.list()["items"] == []


@pytest.mark.parametrize("field", ["queues", "job_types"])
@pytest.mark.parametrize("element", ["1", '"a b"', "[]", '"\\ud800"'])
def test_a_huge_list(jobs: Jobs, field: str, element: str) -> None:
    body = f'{{"{field}":[{",".join([element] * 100_000)}]}}'
    all_refused([(field, jobs.api.post("/jobs/claim", body=body))], 413, 422)


@pytest.mark.parametrize("name", ["enqueue", "complete"])
@pytest.mark.parametrize("megabytes", [7, 12])
def test_a_body_larger_than_lambda_takes(jobs: Jobs, name: str, megabytes: int) -> None:
    victim = Victim(jobs, ROUTES[name])
    body = json.dumps({**victim.body, "payload": "x" * megabytes * 1_000_000})
    assert jobs.api.post(victim.path, body=body).status == 413  # API Gateway's own answer
    victim.check()


# -- where nothing is read -------------------------------------------------------------


@pytest.mark.parametrize("body", ["{}", '{"x":1}', "{", "x", "[" * 10_000])
def test_a_body_where_none_is_read_does_no_harm(jobs: Jobs, body: str) -> None:
    job = jobs.enqueue()
    for path in (f"/jobs/{job['id']}", f"/jobs?queue={jobs.queue}", f"/dlq?queue={jobs.queue}"):
        assert jobs.api.request("GET", path, body=body).status == 200
    problem(jobs.api.request("DELETE", f"/jobs/{job['id']}", body=body), 409, "not_ended")
    assert jobs.get(job)["status"] == "queued"


@pytest.mark.parametrize("body", [None, "", "{}", " {} ", "\n"])
@pytest.mark.parametrize(
    ("verb", "status"),
    [
        ("cancel", "queued"),
        ("requeue", "dead"),
        ("complete", "running"),
        ("heartbeat", "running"),
        ("release", "running"),
    ],
)
def test_no_body_where_none_is_needed(jobs: Jobs, verb: str, status: str, body: str | None) -> None:
    job = jobs.in_status(status)
    path = ROUTES[verb].path.replace("{id}", str(job["id"]))
    assert jobs.api.post(path, body=body).status == 200


# -- ids -------------------------------------------------------------------------------

NO_INTEGERS = [
    "x",
    "1.0",
    "1.5",
    "1e3",
    "+1",
    "--1",
    "-",
    "0x10",
    "1_000",
    "1,000",
    " 1",
    "1 ",
    "null",
    "true",
    "NaN",
    "١٢٣",
    "１",
    "²",
    "é",
    "🎉",
    "\x00",
    "1\x00",
    "'",
    '"',
    "' OR 1=1",
    "{id}",
    "<job_id>",
    "%",
    "%31",
    "\\",
    "#",
    "?",
    "\ufeff1",
    "a\nb",
    "x" * 5000,
]
NOT_FOUND = {"message": "Not Found"}  # API Gateway's own: two parts of a path are no id
NO_JOBS = [
    "0",
    "-1",
    "-0",
    "1",
    "007",
    str(2**53 - 1),
    str(2**53),
    str(2**63 - 1),
    str(2**63),
    str(2**64),
    str(-(2**63) - 1),
    "9" * 38,
    "9" * 39,
    "9" * 4300,
    "9" * 5000,
    "-" + "9" * 5000,
    "0" * 5000,
]


@with_id
def test_an_id_that_is_no_integer(jobs: Jobs, route: Route) -> None:
    paths = {given: route.path.replace("{id}", quote(given, safe="")) for given in NO_INTEGERS}
    raw = ["%ff", "%ed%a0%80", "%c3%28", "%00%ff", "%zz", "%", "%2", "..%2e", "%0a", "%0d%0ax"]
    paths |= {given: route.path.replace("{id}", given) for given in raw}
    answers = (
        (given, jobs.api.request(route.method, path, body=encoded(route.body)))
        for given, path in paths.items()
    )
    answers = ((given, answer) for given, answer in answers if answer.json != NOT_FOUND)
    all_refused(answers, 422, field="job_id")


@with_id
def test_an_id_that_no_job_has(jobs: Jobs, route: Route) -> None:
    answers = (
        (
            given,
            jobs.api.request(
                route.method, route.path.replace("{id}", given), body=encoded(route.body)
            ),
        )
        for given in NO_JOBS
    )
    all_refused(answers, 404)


@with_id
def test_an_id_next_to_a_jobs(jobs: Jobs, route: Route) -> None:
    job = jobs.in_status(route.status or "queued")
    before = jobs.get(job)
    for given in (f"{job['id']}.0", f"-{job['id']}", f"{job['id']}%2C", f"{job['id']}%20"):
        path = route.path.replace("{id}", given)
        answer = jobs.api.request(route.method, path, body=encoded(route.body))
        all_refused([(given, answer)], 404, 422)
    assert jobs.get(job) == before


def test_a_bad_id_and_a_bad_body(jobs: Jobs) -> None:
    for path in ("/jobs/x/complete", "/jobs/0/fail", "/dlq/x/requeue", "/jobs/x/cancel"):
        answers = ((body, jobs.api.post(path, body=body)) for body in ("{", "[]", '{"x":1}'))
        all_refused(answers, 400, 404, 422)


# -- query strings ---------------------------------------------------------------------

BAD_QUERIES = {
    "page": ["0", "-1", "1.5", "1e9", "x", "", " 1", "+1", "%2B1", "٣", "9" * 5000, "null", "0x1"],
    "per_page": ["0", "-1", "101", "1000000000", "x", "", "1.0", "9" * 5000],
    "order": ["up", "", "ASC", "asc,desc", "desc;", "1"],
    "status": ["nope", "", "QUEUED", "failed", "queued,dead", "queued dead", "1", "\x00"],
    "queue": ["", " ", "a b", "a#b", "a/b", "é", "\x00", "a" * 129, "%ff", "a,b"],
    "job_type": ["", " ", "a b", "a#b", "é", "\x00", "a" * 129, "%ff"],
    "cursor": ["", "x", "!!!", "e30", "W10", "bnVsbA", "\x00", "é", "🎉", "a" * 1025, "=", "===="],
    "x": ["", "1", "\x00", "x" * 5000],
    "": ["", "1"],
    "Page": ["1"],
    "limit": ["1"],
    "lease_token": ["x"],
    "\x00": ["1"],
    "é": ["1"],
    "%ff": ["1"],
}


@lists
@pytest.mark.parametrize("name", BAD_QUERIES, ids=ascii)
def test_a_bad_query_is_named(jobs: Jobs, route: Route, name: str) -> None:
    def written(text: str) -> str:
        return text if text == "%ff" else quote(text)

    answers = (
        (value, jobs.api.get(f"{route.path}?{written(name)}={written(value)}"))
        for value in BAD_QUERIES[name]
    )
    all_refused(answers, 422, field={"": '""', "%ff": "\ufffd"}.get(name, name))


@lists
@pytest.mark.parametrize(
    "query",
    [
        "page=1&page=2",
        "page=1&page=1",
        "per_page=1&per_page=1",
        "queue=a&queue=a",
        "order=asc&order=asc",
        "cursor=a&cursor=a",
        "x",
        "x&y&z",
        "queue",
        "=",
        "==",
        "queue=%",
        "queue=%zz",
        "queue=a%00",
        "page=1;per_page=1",
    ],
)
def test_a_strange_query(jobs: Jobs, route: Route, query: str) -> None:
    all_refused([(query, jobs.api.get(f"{route.path}?{query}"))], 422)


@lists
def test_a_page_beside_a_cursor_is_named(jobs: Jobs, route: Route) -> None:
    for query in ("page=2&cursor=a", "cursor=a&page=2"):
        all_refused([(query, jobs.api.get(f"{route.path}?{query}"))], 422, field="page")


@lists
def test_a_query_of_separators_alone_is_none(jobs: Jobs, route: Route) -> None:
    for query in (f"?&queue={jobs.queue}", f"?queue={jobs.queue}&&", f"?&&queue={jobs.queue}&"):
        assert jobs.api.get(f"{route.path}{query}").status == 200


# -- what is nowhere -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("PUT", "/jobs"),
        ("PATCH", "/jobs/1"),
        ("DELETE", "/jobs"),
        ("GET", "/jobs/1/complete"),
        ("GET", "/jobs/1/x"),
        ("POST", "/jobs/1/run"),
        ("POST", "/jobs/1/requeue"),
        ("DELETE", "/dlq/1"),
        ("GET", "/api:job-retry"),
        ("GET", "/api:other/jobs"),
        ("GET", "/jobsx"),
        ("GET", "/jobs/1%2Fx"),
    ],
)
def test_what_is_no_route_is_not_found(api: Api, method: str, path: str) -> None:
    assert api.request(method, path).status == 404
