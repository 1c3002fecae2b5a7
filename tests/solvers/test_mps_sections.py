"""Sections of MPS files read at once are what they are line by line, word for word."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import EdgeOptError
from edgeopt.solvers import LinearProgram, mps_format, mps_sections
from edgeopt.solvers.mps_sections import Words
from tests.draws import draws

NAMES = ["x", "y", "x2", "a_long_name_of_a_column", "a_long_name_of_a_columm", "R1", "COST", "é"]
NUMBERS = st.sampled_from(
    ["1", "-2.5", ".5", "+3.", "1e3", "2D2", "-0", "0.1", "12345678901234567", "1e400", "1_0",
     "nan", "-", ".", "1.2.3", "inf", "0.30000000000000004"]
)  # fmt: skip


@st.composite
def files(draw: st.DrawFn) -> str:
    """Draw an MPS file most lines of which have the usual form."""
    rows = draw(st.lists(st.sampled_from(["R1", "R2", "long_name_of_row", "R3"]), unique=True))
    lines = ["NAME", "ROWS", " N  COST", *[f" {draw(st.sampled_from('LGEN'))}  {r}" for r in rows]]
    lines.append("COLUMNS")
    known = ["COST", *rows]
    columns = draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=draw(st.booleans())))
    number = NUMBERS if draw(st.booleans()) else st.integers(-9, 9).map(str)
    for name in columns:
        marker = draw(st.sampled_from([""] * 6 + ["INTORG", "INTEND"]))
        if marker:
            lines.append(f"    M  'MARKER'  '{marker}'")
        used = draw(st.lists(st.sampled_from(known), min_size=1, unique=draw(st.booleans())))
        while used:
            pair = [used.pop() for _ in range(min(len(used), draw(st.integers(1, 2))))]
            entries = "  ".join(f"{row}  {draw(number)}" for row in pair)
            lines.append(f"    {name}  {entries}{draw(st.sampled_from(['', '', '', ' ', ' $ x']))}")
            if draw(st.integers(0, 9)) == 0:
                lines.append(draw(st.sampled_from(["* a comment", "", "\t", " odd"])))
    lines.append("RHS")
    lines += [
        f"    {draw(st.sampled_from(['S', 'S', 'T', '']))}  {row}  {draw(number)}"
        for row in draw(st.lists(st.sampled_from(known), max_size=3))
    ]
    lines.append("BOUNDS")
    for name in draw(st.lists(st.sampled_from(columns), max_size=3)):
        kind = draw(st.sampled_from(["UP", "LO", "FX", "FR", "MI", "PL", "BV", "UI", "XX"]))
        value = "" if kind in ("FR", "MI", "PL", "BV") else draw(number)
        lines.append(f" {kind}  {draw(st.sampled_from(['B', 'B', 'C']))}  {name}  {value}")
    return "\n".join([*lines, "ENDATA"])


def outcome(path: Any) -> Any:
    """Return what a file says, or what is wrong with it."""
    try:
        program = LinearProgram.read(path)
    except EdgeOptError as error:
        return str(error)
    return [
        list(program.row_names), list(program.column_names), program.matrix.toarray().tolist(),
        *(getattr(program, part).tolist()
          for part in ("cost", "lower", "upper", "row_lower", "row_upper", "integer")),
        program.offset,
    ]  # fmt: skip


@settings(max_examples=draws(1000))
@given(text=files())
def test_a_section_at_once_is_its_lines(text: str, tmp_path_factory) -> None:
    path = tmp_path_factory.getbasetemp() / "drawn.mps"
    path.write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        at_once = outcome(path)
        patch.setattr(mps_sections, "FEW", 0)
        in_arrays = outcome(path)
        patch.setattr(mps_format._Mps, "_at_once", lambda self, section, begin: begin)
        assert outcome(path) == at_once == in_arrays


@settings(max_examples=draws(300))
@given(
    texts=st.lists(
        st.one_of(
            st.from_regex(r"[+-]?[0-9]{1,17}(\.[0-9]{0,17})?", fullmatch=True),
            st.from_regex(r"[+-]?\.[0-9]{1,16}", fullmatch=True),
            st.integers(10**14, 10**17).map(str),
            st.integers(10**14, 10**15 - 1).map(lambda n: f"{n // 1000}.{n % 1000:03d}"),
            st.floats(allow_nan=False, allow_infinity=False).map(repr),
        ),
        min_size=1,
    )
)
def test_numbers_are_rounded_as_python_does(texts: list[str]) -> None:
    words = Words.of(" ".join(texts))
    assert words is not None
    found = words.numbers(np.arange(len(texts)))
    assert found is not None
    expected = [float(text) for text in texts]
    assert found.tolist() == expected
    assert [math.copysign(1, one) for one in found] == [math.copysign(1, one) for one in expected]


def test_names_that_share_their_first_letters_are_told_apart() -> None:
    names = [f"a_name_with_number_{n:04d}_of_many" for n in range(300)] + ["a", "a_name_w"]
    words = Words.of(" ".join(reversed(names)))
    assert words is not None
    found = words.found(np.arange(len(names)), names)
    assert found is not None
    assert found.tolist() == list(range(len(names)))[::-1]
    assert words.found(np.arange(len(names)), names[1:]) is None
    assert Words.of("ünlike") is None
