"""Values that nobody should hand to anything, and ways to spoil what is right."""

from __future__ import annotations

from collections import deque
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import scipy.sparse

if TYPE_CHECKING:
    from collections.abc import Callable


class Stubborn:
    """Refuses to become an array."""

    def __array__(self, dtype: object = None, copy: object = None) -> None:
        raise RuntimeError("not me")

    def __repr__(self) -> str:
        return "Stubborn()"


ANYTHING: Final[tuple[Any, ...]] = (
    None, "", "a", "1", "\x00", "=1+1", b"1", [], [[]], [None], ["a"], [[1], [2, 3]], (), {"a": 1},
    set(), object(), int, Stubborn(), np.ma.masked, 1j, date(2020, 1, 1), Decimal("1.5"),
    deque([1]), range(3), print, ..., np.array("a"), np.array([b"x"]), np.ones((2, 2), complex),
    np.array(["2020-01-01"], "datetime64[D]"), np.timedelta64(1, "s"), np.array([{}], dtype=object),
    np.ones(3, [("a", float)]), scipy.sparse.eye(3).tocsr(), np.ma.array([1.0, 2.0], mask=[0, 1]),
    np.ones((1,) * 12), np.empty(0), np.broadcast_to(1.0, (10**6, 10**6)),
)  # fmt: skip
"""No number in any shape; some are arrays that fit nowhere."""

NUMBERS: Final[tuple[Any, ...]] = (
    0, 1, -1, 2.5, -0.5, 10**6 + 0.5, 10**12, 10**30, -(10**30), 10**400, 2**31, 2**63, -(2**63),
    float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 5e-324, 1e-300, True, False, np.True_,
    np.float16(3), np.int8(-1), np.uint64(2**64 - 1), np.longdouble("1e400"), Fraction(1, 3),
)  # fmt: skip
"""Numbers that are too large, too small, of the wrong kind, or none."""


def spoiled(array: Any, draw: np.random.Generator) -> tuple[str, Any, bool]:
    """Spoil an array; return how, what came out, and whether it can be nothing but refused."""
    return SPOILERS[int(draw.integers(len(SPOILERS)))](np.array(array), draw)


def _entry(values: tuple[Any, ...], refused: bool) -> Callable[..., tuple[str, Any, bool]]:
    def spoil(array: Any, draw: np.random.Generator) -> tuple[str, Any, bool]:
        value = values[int(draw.integers(len(values)))]
        wide = array.astype(np.float64)
        if not wide.size:
            return "unchanged", array, False
        place = np.unravel_index(int(draw.integers(wide.size)), wide.shape)
        wide[place] = value
        return f"[{place}] = {value!r}", wide, refused

    return spoil


def _all(value: float) -> Callable[..., tuple[str, Any, bool]]:
    return lambda array, _: (f"all {value!r}", np.full(array.shape, value), False)


def _ragged(array: Any, draw: np.random.Generator) -> tuple[str, Any, bool]:
    if array.ndim < 2 or array.shape[0] < 1 or array.shape[1] < 1:
        return "in a list of lists", [[array.tolist()]], array.size > 0
    rows = array.tolist()
    rows[0] = rows[0][:-1] if draw.random() < 0.5 else [*rows[0], rows[0][0]]
    return "ragged", rows, False


def _shape(array: Any, draw: np.random.Generator) -> tuple[str, Any, bool]:
    way = int(draw.integers(5))
    if way == 0:
        return "transposed", array.T, False
    if way == 1:
        return "an axis more", array[None], False
    if way == 2 and array.ndim:
        return "cut", array[:-1], False
    if way == 3 and array.ndim:
        return "doubled", np.concatenate([array, array]), False
    return "flat", array.ravel(), False


def _masked(array: Any, draw: np.random.Generator) -> tuple[str, Any, bool]:
    mask = draw.random(array.shape) < 0.5
    return "masked", np.ma.array(array, mask=mask), bool(np.any(mask))


def _as(kind: Any) -> Callable[..., tuple[str, Any, bool]]:
    return lambda array, _: (f"as {kind}", array.astype(kind), array.size > 0)


def _times(array: Any, _: np.random.Generator) -> tuple[str, Any, bool]:
    return "as times", np.full(array.shape, np.datetime64("2020-01-01")), array.size > 0


def _huge(array: Any, _: np.random.Generator) -> tuple[str, Any, bool]:
    axes = max(1, array.ndim)
    return "huge", np.broadcast_to(1.0, (10 ** (15 // axes),) * axes), True


def _memory(array: Any, draw: np.random.Generator) -> tuple[str, Any, bool]:
    ways = (
        ("as a list", array.tolist()),
        ("in the order of Fortran", np.asfortranarray(array)),
        ("read-only", np.broadcast_to(array, array.shape)),
        ("of the other byte order", array.astype(array.dtype.newbyteorder())),
        ("unmasked", np.ma.array(array)),
        ("backwards twice", array[..., ::-1][..., ::-1] if array.ndim else array),
    )
    label, value = ways[int(draw.integers(len(ways)))]
    return f"same, {label}", value, False


SPOILERS: Final = (
    _entry((np.nan,), False), _entry((np.inf, -np.inf), False), _entry((-1.0, -0.5, -1e308), False),
    _entry((1e308, 1e200, 1e120), False), _entry((5e-324, 1e-300, 1e-200), False),
    _entry((2.0**63, 2.0**62, 1e9 + 0.5), False),
    _all(1e308), _all(1e155), _all(5e-324), _all(0.0), _all(-1.0), _all(1e18), _all(1.5),
    _ragged, _ragged, _shape, _shape, _masked, _masked, _memory, _memory, _memory,
    _as(complex), _as("U8"), _as(object), _as("S4"), _times,
    lambda array, _: ("sparse", scipy.sparse.csr_matrix(array) if array.ndim == 2 else [1j], True),
    lambda array, _: ("wrapped", [array, "a"], True),
    _huge,
)  # fmt: skip


def value_for(draw: np.random.Generator) -> Any:
    """Draw a hostile value of any sort."""
    pool = NUMBERS if draw.random() < 0.5 else ANYTHING
    return pool[int(draw.integers(len(pool)))]


def must_refuse(option: str, value: Any, right: Any) -> bool:
    """Return whether an option can take a value in no reading at all, by what is right for it."""
    truth = isinstance(value, bool | np.bool_)
    whole = isinstance(value, int | np.integer) and not truth
    whole = whole and not isinstance(value, np.timedelta64)  # which NumPy takes for an integer
    real = whole or isinstance(value, float | np.floating | Fraction)
    if option == "rng":
        return not (whole and value >= 0)
    if isinstance(right, bool):
        return not truth
    if isinstance(right, int):
        return not whole or abs(int(value)) >= 2**63
    if isinstance(right, float):
        return not real or not abs(value) < 1e300
    if isinstance(right, str):
        return not isinstance(value, str) or not value
    return isinstance(right, tuple) and (real or truth or isinstance(value, str | bytes))


def shown(value: Any) -> str:
    """Return a value on one line, cut."""
    try:
        text = " ".join(repr(value).split())
    except Exception as error:  # a foreign class may refuse
        text = f"({type(error).__name__})"
    return text if len(text) < 80 else f"{text[:77]}..."
