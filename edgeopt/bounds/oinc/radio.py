"""What the radio of the paper's evaluation carries, in three readings of its numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from edgeopt.bounds.claim import Measurement
from edgeopt.bounds.oinc.statement import claim
from edgeopt.bounds.verdict import Relation
from edgeopt.instances.oinc import link_rates
from edgeopt.instances.radio import (
    decibel_to_ratio,
    small_cell_loss_decibel,
    transmission_seconds,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeopt.instances.oinc.channel import Channel

__all__ = ["CLAIMS", "Link"]


@dataclass(frozen=True)
class Link:
    """A device and a site.

    Parameters
    ----------
    channel
        How the formulas of the radio are read, see `link_rates`.
    kilometres
        Distance.
    milliwatt
        Transmission power.
    megahertz
        Bandwidth.
    megabit
        Data of a request.
    """

    channel: Channel
    kilometres: float = 0.15
    milliwatt: float = 100.0
    megahertz: float = 3.0
    megabit: float = 6.4

    def rate(self) -> float:
        """Return the rate with the whole band, Mbit/s."""
        return float(link_rates(self.channel, self.kilometres, self.milliwatt, self.megahertz))

    def seconds(self) -> float:
        """Return how long a request takes to be sent with the whole band, s."""
        return self.megabit / self.rate()


def _within_a_slot(link: Link, **other: Any) -> Measurement:
    """Compare with a slot what the link takes, or what it would take with some numbers changed."""
    return Measurement(replace(link, **other).seconds(), 1.0)


def _ten_times_wider(link: Link) -> Measurement:
    return _within_a_slot(
        link, channel="physical", megahertz=10.0 * link.megahertz, megabit=link.megabit / 8.0
    )


def _bytes(link: Link, bits: float) -> Measurement:
    """Divide the data in MB by the rate in Mbit/s, with so many bits to a byte."""
    megabyte, rate = link.megabit / 8.0, link.rate()
    return Measurement(bits * megabyte / rate, float(transmission_seconds(megabyte, 1e6 * rate)))


def _gain(link: Link, *, as_loss: bool) -> Measurement:
    """Compare the power that is received with what is sent."""
    loss = float(small_cell_loss_decibel(link.kilometres))
    return Measurement(float(decibel_to_ratio(-loss)) if as_loss else loss, 1.0)


_LINK = {"instance_type": Link, "view": lambda link: link}
_NEAR = {
    f"Link('{channel}')": lambda channel=channel: Link(channel)
    for channel in ("printed", "physical", "literal")
}
_FAR = {
    "Link('physical', 0.45, 80, 2, 12.8)": lambda: Link("physical", 0.45, 80.0, 2.0, 12.8),
}


def _only(channel: str) -> dict[str, Callable[[], Link]]:
    name = f"Link('{channel}')"
    return {name: _NEAR[name]}


CLAIMS = (
    claim(
        "radio.printed",
        "The nearest device sends the least data with the most power over the widest band within a "
        "slot, with noise of -40 dBm/Hz.",
        "Section V-A, wireless links",
        _within_a_slot,
        Relation.AT_MOST,
        _only("printed"),
        counterexample="Link('printed')",
        corrected_by=("oinc.radio.thermal",),
        **_LINK,
    ),
    claim(
        "radio.thermal",
        "It does so with thermal noise of -174 dBm/Hz.",
        "Section V-A, wireless links, corrected",
        lambda link: _within_a_slot(link, channel="physical"),
        Relation.AT_MOST,
        _NEAR,
        **_LINK,
    ),
    claim(
        "radio.everywhere",
        "Every device sends its data within a slot over bands of 2 to 3 MHz, with thermal noise; "
        "the farthest with most data is measured.",
        "Section V-A, wireless links",
        _within_a_slot,
        Relation.AT_MOST,
        _FAR,
        counterexample="Link('physical', 0.45, 80, 2, 12.8)",
        corrected_by=("oinc.radio.wide",),
        **_LINK,
    ),
    claim(
        "radio.wide",
        "Every device does so over ten times the band, if the data are Mbit and not MB.",
        "Section V-A, wireless links, corrected",
        _ten_times_wider,
        Relation.AT_MOST,
        {**_NEAR, **_FAR},
        **_LINK,
    ),
    claim(
        "radio.bits",
        "A request takes 8 d / r seconds to be sent, d in MB and r in Mbit/s.",
        "Section III-B, transmission latency, corrected",
        lambda link: _bytes(link, 8.0),
        Relation.EQUAL,
        {**_NEAR, **_FAR},
        **_LINK,
    ),
    claim(
        "radio.bits.printed",
        "A request takes d / r seconds to be sent, d in MB and r in Mbit/s.",
        "Section III-B, transmission latency",
        lambda link: _bytes(link, 1.0),
        Relation.EQUAL,
        _only("physical"),
        counterexample="Link('physical')",
        corrected_by=("oinc.radio.bits",),
        **_LINK,
    ),
    claim(
        "radio.gain",
        r"No more power is received than sent, with a path loss of $140.7 + 36.7 \log_{10} r + 4$ "
        "dB.",
        "Section V-A, wireless links, corrected",
        lambda link: _gain(link, as_loss=True),
        Relation.AT_MOST,
        {**_NEAR, **_FAR},
        **_LINK,
    ),
    claim(
        "radio.gain.printed",
        "No more power is received than sent, with this number as the gain, as it is called. It "
        "grows with the distance.",
        "Section V-A, wireless links",
        lambda link: _gain(link, as_loss=False),
        Relation.AT_MOST,
        _only("literal"),
        counterexample="Link('literal')",
        corrected_by=("oinc.radio.gain",),
        **_LINK,
    ),
)
