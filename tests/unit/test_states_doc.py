"""docs/states.md is what the transition table makes of it."""

import pytest

from job_retry.transitions import TRANSITIONS
from local import states_doc


def test_the_page_is_what_the_generator_makes() -> None:
    made = states_doc.page()
    assert states_doc.PATH.read_text(encoding="utf-8") == made, (
        "run: PYTHONPATH=layers/core python -m local.states_doc"
    )


def test_every_edge_is_drawn_once() -> None:
    arrows = [line.strip() for line in states_doc.page().splitlines() if " --> " in line]
    drawn = [tuple(arrow.partition(":")[0].split(" --> ")) for arrow in arrows]
    assert drawn == [(edge.source or "[*]", edge.target or "[*]") for edge in TRANSITIONS]


def test_a_label_has_no_character_that_mermaid_takes_for_its_own() -> None:
    for line in states_doc.page().splitlines():
        if " --> " in line:
            label = line.partition(": ")[2]
            assert not set(label) & set(":;<>#"), line


def test_a_value_without_words_stops_the_page() -> None:
    with pytest.raises(ValueError, match="no words for attempts = 77"):
        states_doc._words("attempts", 77)
