"""Rates of links between sites that reuse frequencies, and what clients and servers exchange."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

import numpy as np

from edgeopt.instances.radio import decibel_to_ratio, interference_watt, noise_watt, shannon_rate
from edgeopt.instances.validate import real_numbers, upload_seconds
from edgeopt.options import check_choice, check_real

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from edgeopt.arrays import Flags, Floats, Ints


Reuse: TypeAlias = Literal["group", "per_receiver", "none"]
"""Who disturbs a receiver; see `draw_bands`."""

NOISE: Final = -174.0  # power density of the noise, dBm/Hz
BANDWIDTH: Final = 25e3  # band of a link, Hz
_SHARE: Final = (0.1, 0.2)
_GAIN: Final = (-95.0, -90.0)


def draw_rates(
    generator: np.random.Generator,
    power: Floats,
    frames: int,
    *,
    reuse: Reuse = "group",
    noise: float = NOISE,
    bandwidth: float = BANDWIDTH,
) -> Floats:
    """Draw gains and bands of every frame and return the rates of the links.

    Gains lie uniformly in -95 to -90 dB, link by link. They are drawn from another stream than the
    bands: ``reuse`` changes who disturbs whom and nothing else. Powers have shape [J] or [T, J].
    """
    check_real("bandwidth", bandwidth, "(0, inf)")
    check_real("noise", noise, "[-400, 400]")
    gains, bands = generator.spawn(2)
    sites = power.shape[-1]
    power = np.broadcast_to(power, (frames, sites))
    rate = np.empty((frames, sites, sites))
    for frame in range(frames):
        gain = decibel_to_ratio(gains.uniform(*_GAIN, (sites, sites)))
        heard = draw_bands(bands, sites, reuse)
        rate[frame] = link_rates(power[frame], gain, heard, noise=noise, bandwidth=bandwidth)
    return rate


def draw_bands(generator: np.random.Generator, sites: int, reuse: Reuse) -> Flags:
    """Draw which sites send in the band of which receiver during a frame.

    A share of the sites, uniform in 10 to 20 %, rounded up, reuses a band; the others have one of
    their own. The paper leaves open whom a receiver hears.
    """
    check_choice("reuse", reuse, get_args(Reuse))
    heard = np.zeros((sites, sites), dtype=np.bool_)
    size = min(sites, math.ceil(generator.uniform(*_SHARE) * sites))
    if reuse == "group":
        group = generator.choice(sites, size, replace=False)
        heard[np.ix_(group, group)] = True
    elif reuse == "per_receiver":
        order = generator.random((sites, sites))
        np.fill_diagonal(order, np.inf)
        chosen = np.argpartition(order, size - 1, axis=0)[:size]
        np.put_along_axis(heard, chosen, True, axis=0)
    np.fill_diagonal(heard, False)
    return heard


def link_rates(
    power: Floats, gain: Floats, heard: Flags, *, noise: float = NOISE, bandwidth: float = BANDWIDTH
) -> Floats:
    r"""Return the rates of the links, :math:`B \log_2(1 + p_j h_{jk} / (N_0 B + I_k))`, bit/s.

    Powers, W, have shape [J]; gains from j to k and whether l sends in the band of k shape [J, J].
    Within a site rates are infinite. Zhu et al., section II, the wireless channel model.
    """
    received = power[:, None] * gain
    disturbance = noise_watt(noise, bandwidth) + interference_watt(received, heard)
    rate: Floats = shannon_rate(bandwidth, received / disturbance)
    np.fill_diagonal(rate, np.inf)
    return rate


def infinite_within_sites(_: Any, values: ArrayLike) -> Floats:
    """Return rates [frames, origins, targets] that are infinite from a site to itself."""
    rate = real_numbers("rate", values)
    if rate.ndim == 3 and rate.shape[1] == rate.shape[2]:
        sites = np.arange(rate.shape[1])
        rate[:, sites, sites] = np.inf
    return rate


def away_from(server: int, client: Flags) -> Ints:
    """Return the clients of a task other than its server."""
    clients = np.flatnonzero(client)
    return np.asarray(clients[clients != server])


def linked(away: Ints, server: int, rate: Floats) -> Flags:
    """Return whether a server and its clients reach each other, shape [S]."""
    up = (rate[:, away, server] > 0) & (rate[:, server, away] > 0)
    return np.asarray(up.all(axis=1))


def exchange_joules(size: float, away: Ints, server: int, power: Floats, rate: Floats) -> Floats:
    """Return the energy of exchanging a model both ways, J, shape [S].

    Rates have shape [S, J, J], powers [1 or S, J]. It is infinite where a link is missing.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        there = power[:, away] / rate[:, away, server]
        back = power[:, [server]] / rate[:, server, away]
        joules = (size * (there + back)).sum(axis=1)
    return np.where(linked(away, server, rate), joules, np.inf)


def exchange_seconds(
    size: float,
    away: Ints,
    server: int,
    rate: Floats,
    travel: Floats,
    round_delay: Literal["sum", "max"],
) -> Floats:
    """Return the delay of exchanging a model at rates and delays [S, J, J], s, shape [S].

    It is infinite where a link is missing.
    """
    there = upload_seconds(size, rate[:, away, server]) + travel[:, away, server]
    back = upload_seconds(size, rate[:, server, away]) + travel[:, server, away]
    both = there + back
    return np.asarray(both.max(axis=1, initial=0.0) if round_delay == "max" else both.sum(axis=1))
