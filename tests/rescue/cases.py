"""Tiny instances in which ties are the exception, beside those in which they are the rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from edgeopt.instances.rescue import small
from tests.strategies import rescue_instances

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from edgeopt.instances.rescue import RescueInstance


@st.composite
def cases(
    draw: DrawFn,
    *,
    reserved: bool | None = None,
    arrivals: str | None = None,
    beyond: str | None = None,
    **sizes: int,
) -> RescueInstance:
    """Draw an instance; None leaves reserved tasks, arrivals or the end of the horizon open.

    Two kinds: whole numbers that shrink well and tie often, some of them with profits scaled by
    uniform factors; and, unless sizes are asked for, three times as many with continuous random
    data, which are cheap to draw and seldom trivial.
    """
    if not sizes and draw(st.integers(0, 3)):
        return small(
            draw(st.integers(0, 2**32 - 1)),
            reserved=draw(st.booleans()) if reserved is None else reserved,
            arrivals=arrivals or draw(st.sampled_from(["exclusive", "independent"])),
            beyond=beyond or draw(st.sampled_from(["hold", "drop"])),
        )
    instance = draw(rescue_instances(reserved=reserved, arrivals=arrivals, beyond=beyond, **sizes))
    scale = draw(st.sampled_from(["each entry", "each stored entry", "none"]))
    if scale == "none":
        return instance
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = instance.shape if scale == "each entry" else instance.profit.shape
    return instance.replace(profit=instance.profit * rng.uniform(0.5, 1.5, shape))


def with_reserved(**options: Any) -> st.SearchStrategy[RescueInstance]:
    """Draw instances that hold reserved tasks."""
    return cases(reserved=True, **options).filter(lambda instance: len(instance.reserved) > 0)
