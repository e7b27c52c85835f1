"""JSON kept as text: what a caller sends comes back equal."""

import json
import math
import string
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from job_retry.errors import InvalidFieldError, InvalidJsonError
from job_retry.json_text import (
    MAX_DEPTH,
    JsonText,
    compact,
    encoded_size,
    members,
    render,
    render_all,
    value,
)

# lone surrogates, control characters and quotes as often as the rest
characters = st.sampled_from('"\\/\n\x00\x7f\ud800\udc00\u2028é😀') | st.characters()
texts = st.text(characters, max_size=8)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
finite = scalars.filter(lambda each: not (isinstance(each, float) and math.isinf(each)))
values = st.recursive(
    finite,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)


def of(text: str) -> str:
    """Return a value's text after a member of a body carried it."""
    return members(f'{{"it":{text}}}')["it"]


def same(one: Any, other: Any) -> bool:
    """Compare so that 1, 1.0 and True differ, and 0.0 from −0.0."""
    return json.dumps(one) == json.dumps(other)


# -- comes back equal --------------------------------------------------------------------


@given(values)
@example(-0.0)
@example(5e-324)
@example(1.7976931348623157e308)
@example({"": {"": []}})
@example("\ud800")
@example("\udc00\ud800")
@example("\u2028\u2029\x7f\x00")
def test_any_value_survives(sent: Any) -> None:
    assert same(json.loads(of(json.dumps(sent))), sent)


@given(values, st.sampled_from([None, 1, 3]))
def test_the_text_does_not_depend_on_who_wrote_it(sent: Any, indent: int | None) -> None:
    plain = json.dumps(sent)
    assert of(json.dumps(sent, indent=indent)) == of(plain)
    bare = json.dumps(sent, indent=indent, ensure_ascii=False)
    if not any("\ud800" <= each <= "\udfff" for each in bare):  # no body can carry these bare
        assert of(bare) == of(plain)


@given(values)
def test_compact_is_compact(sent: Any) -> None:
    once = compact(json.dumps(sent, indent=2))
    assert compact(once) == once
    shortest = json.dumps(sent, separators=(",", ":"), ensure_ascii=False)
    try:
        shortest.encode()
    except UnicodeEncodeError:
        once.encode()  # what stays escaped can be written
    else:
        assert once == shortest


@pytest.mark.parametrize(
    "number",
    [
        "0",
        "-0",
        "-0.0",
        "0.10",
        "1e5",
        "1E+5",
        "1.0",
        "1e-7",
        "1e400",
        "9007199254740993",
        "123456789012345678901234567890",
        "0.1000000000000000055511151231257827021181583404541015625",
        "7" * 5000,
        "-" + "7" * 5000,
        "0." + "3" * 5000,
    ],
)
def test_a_number_keeps_its_own_text(number: str) -> None:
    assert of(number) == number
    assert of(f'[{number}, {{"a": {number}}}]') == f'[{number},{{"a":{number}}}]'


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        (r'"\u0041\/\u00e9"', '"A/é"'),
        (r'"\ud83d\ude00"', '"😀"'),
        (r'"\u0000\u001f\b\n"', r'"\u0000\u001f\b\n"'),
        (r'"\"\\"', r'"\"\\"'),
        (r'"\ud800"', r'"\ud800"'),
        (r'"é\ud800"', r'"\u00e9\ud800"'),
        ('"  two  blanks  "', '"  two  blanks  "'),
        ('"a\u2028b"', '"a\u2028b"'),
        (' [ 1 ,\t"a b" ,\r\n{ "k" : null } ] ', '[1,"a b",{"k":null}]'),
        (r'{"\u0061" : 1}', '{"a":1}'),
    ],
)
def test_how_a_text_is_kept(written: str, kept: str) -> None:
    assert of(written) == kept
    of(written).encode()


def test_a_key_given_twice_inside_a_value_stays_so() -> None:
    assert of('{"a":1,"a":2}') == '{"a":1,"a":2}'


def test_a_member_given_more_than_once_is_refused() -> None:
    with pytest.raises(InvalidFieldError) as refused:
        members(r'{"a":1,"b":2,"\u0061":3,"c":[],"":0,"a":1,"":0}')
    assert refused.value.fields == [
        ("a", "is given more than once"),
        ('""', "is given more than once"),
    ]
    with pytest.raises(InvalidJsonError):  # that it is no JSON comes first
        members('{"a":1,"a":2')


@pytest.mark.parametrize("body", ["{}", " {} ", "\n{\t}\r\n"])
def test_an_empty_object_has_no_members(body: str) -> None:
    assert members(body) == {}


def test_members_may_stand_anyhow() -> None:
    assert members('\t{ "a" : [ 1 ] ,\n"" : "" , "é" : {} }\n') == {
        "a": "[1]",
        "": '""',
        "é": "{}",
    }


# -- depth -------------------------------------------------------------------------------


def nested(depth: int, *, left: str, right: str, core: str = "1") -> str:
    return left * depth + core + right * depth


NESTS = [
    {"left": "[", "right": "]"},
    {"left": '{"k":', "right": "}"},
    {"left": '[{"a[":', "right": "}]"},
    {"left": '[0, "]", ', "right": ' , "["]'},
]


@pytest.mark.parametrize("nest", NESTS, ids=lambda nest: nest["left"])
def test_depth_is_allowed_up_to_its_limit_and_no_further(nest: dict[str, str]) -> None:
    step = sum(nest["left"].count(bracket) for bracket in "[{") - nest["left"].count('a["')
    deepest = nested(MAX_DEPTH // step, **nest)
    assert of(deepest) == compact(deepest)
    for more in (1, 100, 10_000):
        with pytest.raises(InvalidFieldError, match=f"more than {MAX_DEPTH}") as refused:
            of(nested(MAX_DEPTH // step + more, **nest))
        assert refused.value.field == "it"


def test_the_limit_holds_for_each_member_by_itself() -> None:
    deepest = nested(MAX_DEPTH, left="[", right="]")
    body = f'{{"a":{deepest},"b":{deepest},"c":1}}'
    assert members(body) == {"a": deepest, "b": deepest, "c": "1"}
    with pytest.raises(InvalidFieldError) as refused:
        members(f'{{"a":1,"b":[{deepest}]}}')
    assert refused.value.field == "b"


def test_without_a_limit_the_parser_has_one() -> None:
    deep = nested(MAX_DEPTH + 100, left="[", right="]")
    assert members(f'{{"it":{deep}}}', math.inf) == {"it": deep}
    absurd = nested(200_000, left="[", right="]")
    with pytest.raises(InvalidFieldError) as refused:
        members(f'{{"it":{absurd}}}', math.inf)
    assert refused.value.field == "it"


def test_wide_is_not_deep() -> None:
    wide = "[" + ",".join(['{"a":[]}'] * 2000) + "]"
    assert of(wide) == wide


@pytest.mark.parametrize("text", ["[" * 600, "{" * 600 + "}" * 600, r"[{\"[" * 300, '\\"[' * 300])
def test_brackets_in_a_string_do_not_count(text: str) -> None:
    sent = json.dumps(text)
    assert of(sent) == sent
    assert of(f"[{sent},{{{sent}:1}}]") == f"[{sent},{{{sent}:1}}]"


@pytest.mark.parametrize("bracket", "[{")
def test_deep_nesting_outside_an_object_is_refused_too(bracket: str) -> None:
    with pytest.raises((InvalidFieldError, InvalidJsonError)):
        members(bracket * 100_000)


# -- what is no JSON ---------------------------------------------------------------------

BROKEN = [
    "",
    " ",
    "{",
    "}",
    "{]",
    '{"a"',
    '{"a":',
    '{"a":}',
    '{"a":1',
    '{"a":1,',
    '{"a":1,}',
    '{"a":1,,"b":2}',
    '{,"a":1}',
    '{"a" 1}',
    '{"a":1 "b":2}',
    '{"a":1}}',
    '{"a":1} x',
    '{"a":1}{"b":2}',
    "{}{}",
    "{a:1}",
    "{'a':1}",
    "{1:1}",
    '{"a":NaN}',
    '{"a":Infinity}',
    '{"a":-Infinity}',
    '{"a":[1,{"b":NaN}]}',
    "NaN",
    '{"a":nan}',
    '{"a":01}',
    '{"a":+1}',
    '{"a":1.}',
    '{"a":.5}',
    '{"a":1e}',
    '{"a":-}',
    '{"a":0x10}',
    '{"a":1_000}',
    '{"a":True}',
    '{"a":undefined}',
    '{"a":[1,]}',
    '{"a":[1 2]}',
    '{"a":[1}',
    '{"a":{"b":1]}',
    '{"a":"open}',
    '{"a":"\\x"}',
    '{"a":"\\u12"}',
    '{"a":"\\u12g4"}',
    '{"a":"line\nbreak"}',
    '{"a":"tab\tin it"}',
    '{"a":"nul\x00"}',
    '{"a\n":1}',
    '{"a\\q":1}',
    '{"a":1}//',
    '{/**/"a":1}',
    "\ufeff{}",
    "{}\x00",
    "\xa0{}",
    '{"a":1}\u2003',
    '{"a":١}',
    "[1",
    '"open',
    "job_type=mail",
]


@pytest.mark.parametrize("body", BROKEN)
def test_what_is_no_json_is_refused_as_that(body: str) -> None:
    with pytest.raises(InvalidJsonError, match=r"\w"):
        members(body)


@pytest.mark.parametrize("body", ["[]", "null", "1", '"text"', " true ", '[{"a":1}]', "7" * 5000])
def test_json_that_is_no_object_is_told_apart(body: str) -> None:
    with pytest.raises(InvalidFieldError, match="must be a JSON object") as refused:
        members(body)
    assert refused.value.field == "body"


def judged(body: str) -> dict[str, JsonText] | None:
    try:
        return members(body)
    except (InvalidJsonError, InvalidFieldError):
        return None


def standard(body: str) -> Any:
    """Return what the standard library makes of it, less NaN, infinities and repeated members."""
    last: list[tuple[str, Any]] = []  # of the outermost object, in the end

    def refuse(_: str) -> Any:
        raise ValueError

    def keep(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        last[:] = pairs
        return dict(pairs)

    try:
        found = json.loads(body, parse_constant=refuse, object_pairs_hook=keep)
    except (ValueError, RecursionError):
        return None
    return None if isinstance(found, dict) and len(found) < len(last) else found


@given(
    st.text()
    | st.text(alphabet='{}[]",:\\ 01.eE+-tfnu\n')
    | st.text(alphabet='{}[]",:a1 ').map(lambda inner: f'{{"a":{inner}}}')
)
def test_any_text_is_judged_as_the_standard_library_judges_it(body: str) -> None:
    expected = standard(body)
    got = judged(body)
    assert (got is not None) == isinstance(expected, dict)
    if got is not None:
        assert same({name: json.loads(text) for name, text in got.items()}, expected)


@given(st.dictionaries(texts, values, min_size=1, max_size=3), st.data())
def test_broken_json_of_every_kind_is_judged_alike(sent: dict[str, Any], data: Any) -> None:
    body = json.dumps(sent)
    at = data.draw(st.integers(0, len(body)))
    drop = data.draw(st.integers(0, 3))
    put = data.draw(st.sampled_from(["", *string.punctuation, "0", "e", "\n", "NaN", '\\"']))
    mutated = body[:at] + put + body[at + drop :]
    assert (judged(mutated) is not None) == isinstance(standard(mutated), dict)


# -- out again ---------------------------------------------------------------------------


@given(st.dictionaries(texts, values, max_size=3))
def test_what_was_taken_apart_is_put_together_again(sent: dict[str, Any]) -> None:
    assert same(json.loads(render(members(json.dumps(sent)))), sent)


def test_render_leaves_texts_as_they_are() -> None:
    fields = {"a": JsonText("1.0"), "b": "1.0", "c": None, "d": [1, {"e": True}], "f": 0.5}
    assert render(fields) == '{"a":1.0,"b":"1.0","c":null,"d":[1,{"e":true}],"f":0.5}'
    assert render({}) == "{}"


def test_render_all_makes_an_array() -> None:
    assert render_all([]) == "[]"
    assert render_all([JsonText("1"), JsonText('"a"')]) == '[1,"a"]'
    assert isinstance(render_all([]), JsonText)


@given(values)
def test_value_is_what_the_text_means(sent: Any) -> None:
    assert same(value(JsonText(json.dumps(sent))), sent)


def test_an_integer_too_long_for_python_is_no_error() -> None:
    # and no integer either, so that every integer field refuses it
    assert not isinstance(value(JsonText("7" * 5000)), int)


@given(texts)
def test_the_encoded_size_is_that_of_lambdas_answer(text: str) -> None:
    assert encoded_size(text) == len(json.dumps({"body": text})) - len('{"body": }')
