"""How the channels and prices of an instance are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from edgeopt.instances.edr.channel import BANDWIDTH, NOISE, draw_rates
from edgeopt.instances.edr.random_parts import draw_prices
from edgeopt.instances.fields import field
from edgeopt.instances.records import Record

if TYPE_CHECKING:
    import numpy as np

    from edgeopt.instances.edr.instance import EdrInstance


class EdrLaw(Record, prefix="law."):
    """The law of channels and prices of `generate`: frames are independent.

    Notes
    -----
    The paper gives the channel; the prices are those of `generate` in place of its traces.
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
