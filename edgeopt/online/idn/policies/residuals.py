"""How INFIDA rounds a node, what that proves, and rows that its allocations keep."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.errors import InputError, OptionError
from edgeopt.online.idn.kernels import Rows
from edgeopt.online.mirror_ascent import Limited
from edgeopt.options import finite_vector, listed, real_array
from edgeopt.rounding.kernels import BERNOULLI, DROP, HALF

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgeopt.arrays import Flags as Bools
    from edgeopt.arrays import Floats
    from edgeopt.instances.idn import IdnInstance
    from edgeopt.models.idn.gain import Pairs
    from edgeopt.online.mirror_ascent import MirrorMap
    from edgeopt.rounding import Rounding


class Residual(NamedTuple):
    """What becomes of the last fractional entry of a node."""

    rule: int
    fitting: bool  # whether models are left out that exceed a budget alone
    refill: bool  # whether the rest of the budget is filled


RESIDUAL: Final = {
    "bernoulli": Residual(BERNOULLI, False, False),
    "drop": Residual(DROP, True, False),
    "fill": Residual(DROP, True, True),
    "half": Residual(HALF, True, True),
    "reserve": Residual(BERNOULLI, True, True),
}

PSI: Final = 1.0 - 1.0 / math.e
"""What dependent rounding keeps of a concave gain."""


def residual_of(rounding: str | Rounding) -> Residual:
    """Return what becomes of the last entry; a rounding of one's own sees to that itself."""
    return RESIDUAL[rounding if isinstance(rounding, str) else "bernoulli"]


class Guarantee(NamedTuple):
    """What is proven of a policy.

    Attributes
    ----------
    share
        Of the gain of the best fixed placement.
    why
        What holds of the budgets, in words.

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.online.idn import Infida
    >>> guarantee = Infida().guarantee(small(1))
    >>> round(guarantee.share, 3), guarantee.why
    (0.632, 'budgets may be exceeded by part of one model')
    """

    share: float
    why: str


def guarantee_of(residual: str | Rounding, kept: float, keep: str | None = None) -> Guarantee:
    """Say what is proven of a way to round.

    `kept` is the least share of a budget that it fills, `keep` how further rows are kept, if any.
    """
    if keep == "always":
        return Guarantee(0.0, "no constant share: models are dropped to keep the rows")
    if keep is not None:
        share, why = guarantee_of(residual, kept)
        return Guarantee(share, f"{why}; of what fills the budgets and keeps the rows on average")
    if not isinstance(residual, str):
        promised = set(getattr(residual, "keeps", ()))
        if not {"marginals", "correlation"} <= promised:
            return Guarantee(
                0.0, "nothing is proven: the rounding does not promise marginals and correlation"
            )
        within = "within the budgets" if "budget" in promised else "budgets may be exceeded"
        return Guarantee(PSI, f"{within}, if the rounding keeps what it promises")
    if residual in ("drop", "fill"):
        return Guarantee(0.0, "no constant share: a model that is dropped may be worth most")
    if residual == "bernoulli":
        return Guarantee(PSI, "budgets may be exceeded by part of one model")
    if residual == "half":
        return Guarantee(PSI / 2, "within the budgets")
    better = "; residual='half' proves more" if kept < 0.5 else ""
    return Guarantee(kept * PSI, f"within the budgets, c = {kept:.3f}{better}")


def rounded(rounding: Rounding, pairs: Pairs, point: Floats, rng: np.random.Generator) -> Bools:
    """Round node by node by a rounding of one's own, shape [C]."""
    deployed = np.zeros(point.size, dtype=np.bool_)
    for v in np.flatnonzero(np.diff(pairs.first)):
        mine = slice(pairs.first[v], pairs.first[v + 1])
        found = np.asarray(rounding(point[mine].copy(), pairs.size[mine].copy(), rng=rng))
        if found.shape != deployed[mine].shape or not np.isin(found, (0, 1)).all():
            raise OptionError(
                f"residual: at node {v} the rounding must return {deployed[mine].size} decisions "
                f"of 0 or 1, not {found!r}"
            )
        deployed[mine] = found
    return deployed


Row = tuple[tuple[tuple[float, ...], ...], float]
"""Entries [node, model] and the limit, as numbers that can be compared."""


def checked_rows(rows: Any, keep: str, residual: str | Rounding) -> tuple[Row, ...]:
    """Return the rows of a network, plain numbers."""
    found = []
    for place, pair in enumerate(listed("rows", rows)):
        name = f"rows[{place}]"
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise OptionError(f"{name}: must be (array [node, model], limit)")
        entries = real_array(name, pair[0])
        [limit] = finite_vector(f"{name}, limit", np.atleast_1d(pair[1]), (1,))
        if entries.ndim != 2 or not np.isfinite(entries).all():
            raise OptionError(f"{name}: must be a finite array [node, model]")
        if keep == "always" and ((entries < 0.0).any() or limit < 0.0):
            raise OptionError(f"{name}: keep='always' drops models, so no number may be negative")
        if residual in ("drop", "fill", "half", "reserve") and (entries < 0.0).any():
            raise OptionError(
                f"{name}: residual={residual!r} deploys less on average than it should; with "
                "entries below 0 use 'bernoulli'"
            )
        found.append((tuple(map(tuple, entries.tolist())), float(limit)))
    return tuple(found)


def limited_nodes(
    nodes: MirrorMap, pairs: Pairs, instance: IdnInstance, rows: Sequence[Row]
) -> Limited:
    """Put the nodes under rows; what repositories host counts as well."""
    shape = instance.size.shape
    for place, (entries, _) in enumerate(rows):
        if np.shape(entries) != shape:
            raise InputError(
                f"rows[{place}]", f"must have shape {shape}", value=f"shape {np.shape(entries)}"
            )
    matrix = np.array([entries for entries, _ in rows]).reshape(len(rows), -1)
    limit = np.array([limit for _, limit in rows]) - matrix @ instance.empty.ravel()
    try:
        return Limited(nodes, matrix[:, pairs.place], limit)
    except InputError as why:
        raise OptionError(f"{why}; INFIDA fills the budgets of all nodes") from None


def kernel_rows(limited: Limited | None, count: int, keep: str) -> Rows:
    """Return rows for compiled code; none if there are none."""
    if limited is None:
        return Rows(np.zeros((0, count)), np.zeros(0), np.zeros(count, dtype=np.bool_), False)
    # A budget is not refilled by what may exceed a row.
    barred = np.asarray((limited.rows > 0.0).any(axis=0))
    return Rows(limited.rows, limited.limit, barred, keep == "always")
