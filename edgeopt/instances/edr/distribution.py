"""What is known of channels and prices beforehand: how they are drawn, and the day before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from edgeopt.instances.edr.channel import BANDWIDTH, NOISE, draw_rates, infinite_within_sites
from edgeopt.instances.edr.random_parts import draw_prices
from edgeopt.instances.fields import Floats, Usual, field
from edgeopt.instances.records import Record, rule
from edgeopt.instances.validate import NO_LINK, check_rates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.instances.edr.instance import EdrInstance


class EdrDistribution(Record, prefix="distribution."):
    """The distribution of channels and prices of `generate`: frames are independent.

    Notes
    -----
    The paper gives the channel; the prices are those of `generate` in place of its traces.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.edr import EdrDistribution, small
    >>> distribution = EdrDistribution(reuse="none")
    >>> redrawn = distribution.redrawn(small(1), np.random.default_rng(0))
    >>> redrawn.price.shape, float(redrawn.price.mean() / small(1).price.mean())
    ((2,), 1.1745974958778058e-05)
    """

    reuse: Literal["group", "per_receiver", "none"] = field(
        default="group", always=True, doc="Who disturbs whom on the air. As in `draw_bands`."
    )
    noise: float = field(
        unit="dBm/Hz", default=NOISE, always=True, doc="Power density of the noise."
    )
    bandwidth: float = field(
        unit="Hz", above=0, default=BANDWIDTH, always=True, doc="Band of a link."
    )

    def redrawn(self, instance: EdrInstance, generator: np.random.Generator) -> EdrInstance:
        """Return the instance with channels and prices that are drawn again."""
        market, air = generator.spawn(2)
        rate = draw_rates(
            air, instance.power, instance.frames,
            reuse=self.reuse, noise=self.noise, bandwidth=self.bandwidth,
        )  # fmt: skip
        return instance.replace(rate=rate, price=draw_prices(market, instance.frames))


PRICES: Final = Usual(3e-6, 5e-4, ("$/kWh", "$/MWh"))
"""Prices of energy, from 3 $/MWh on wholesale markets to 0.5 $/kWh of households."""

DAY: Final = 24
"""Frames of a day."""

_AXES: Final[Mapping[str, str | int]] = {"hour": DAY, "origin": "J", "target": "J"}


class EdrHistory(Record, prefix="history.", axes=_AXES):
    """The day before the first frame, hour by hour from midnight, as far as it is known.

    Notes
    -----
    The paper has no such day. A policy that looks at it knows more than one that does not.

    Examples
    --------
    >>> from edgeopt.instances.edr import EdrHistory
    >>> history = EdrHistory(price=[20.0] * 24)
    >>> history.price.shape
    (24,)
    """

    price: Floats | None = field(
        "hour", unit="$/Wh", usual=PRICES, default=None, doc="Price of energy."
    )
    cap_share: Floats | None = field(
        "hour", least=0, infinite=True, default=None,
        doc="Cap in terms of the energy of serving at average sites and of training at even rates. "
        "Infinity: no cap.",
    )  # fmt: skip
    rate: Floats | None = field(
        "hour", "origin", "target", unit="bit/s", least=0, infinite=True, default=None,
        message=NO_LINK, prepare=infinite_within_sites, missing=np.nan, rounds="up",
        doc="Rate of a link, 0 where there is none. Entries from a site to itself mean nothing and "
        "become infinite.",
    )  # fmt: skip

    @rule
    def _check_rates(self) -> None:
        """Check that rates are not too small to divide by."""
        if self.rate is not None:
            check_rates("history.rate", self.rate)


def known_or_none(_: Any, day: Any) -> Any:
    """Return what is known of a day, None where that is nothing."""
    parts = (day.price, day.cap_share, day.rate) if isinstance(day, EdrHistory) else (day,)
    return None if all(part is None for part in parts) else day
