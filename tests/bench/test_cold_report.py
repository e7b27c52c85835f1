"""The cold start bench says which bound holds, and fails where one does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench.cold_report import (
    BARE,
    BEGIN,
    CLAIM,
    COMPLETE,
    END,
    SDK_CLAIM,
    SDK_COMPLETE,
    USUAL,
    Measured,
    missed,
    render,
    write,
)

if TYPE_CHECKING:
    from pathlib import Path


def measured(*, claim: float = 150.0, warm: float = 1.2) -> Measured:
    return Measured(
        python="3.13.0",
        cold={BARE: [100.0] * 3, USUAL: [240.0] * 3, CLAIM: [claim] * 3},
        warm={
            CLAIM: [warm] * 3,
            SDK_CLAIM: [1.0] * 3,
            COMPLETE: [1.1] * 3,
            SDK_COMPLETE: [1.0] * 3,
        },
    )


def test_all_bounds_hold() -> None:
    assert missed(measured()) == []
    assert "missed" not in render(measured())


@pytest.mark.parametrize(
    ("figures", "reference", "cell"),
    [
        (measured(claim=161.0), BARE, "1.61 × | **missed** |"),
        (measured(warm=1.6), SDK_CLAIM, "1.60 × | **missed** |"),
    ],
)
def test_a_bound_is_missed(figures: Measured, reference: str, cell: str) -> None:
    assert [bound.reference for bound in missed(figures)] == [reference]
    assert cell in render(figures)


def test_rounds_are_compared_one_by_one_since_the_machine_drifts() -> None:
    drifting = Measured(
        "3.13.0", cold={CLAIM: [15.0, 150.0, 1500.0], BARE: [10.0, 100.0, 1000.0]}, warm={}
    )

    assert drifting.ratio("cold", CLAIM, BARE) == pytest.approx(1.5)


def test_the_page_gets_the_tables_between_its_markers(tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")

    write(page, "new")

    assert page.read_text(encoding="utf-8") == f"before\n{BEGIN}\nnew\n{END}\nafter\n"


def test_a_page_without_markers_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    page.write_text("before\n", encoding="utf-8")

    with pytest.raises(ValueError, match=BEGIN):
        write(page, "new")

    assert page.read_text(encoding="utf-8") == "before\n"
