"""Random instances in the setting of the paper's evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

import numpy as np

from edgeopt.instances.edr.channel import BANDWIDTH, NOISE, draw_rates
from edgeopt.instances.edr.distribution import DAY, EdrDistribution, EdrHistory
from edgeopt.instances.edr.instance import EdrInstance
from edgeopt.instances.edr.random_parts import (
    calibrated_weights,
    capacity_for,
    draw_machines,
    draw_objectives,
    draw_power,
    draw_prices,
    draw_propagation,
    draw_tasks,
    reference,
    request_sizes,
)
from edgeopt.instances.validate import check_sizes, check_span
from edgeopt.options import check_choice, check_flag, check_real, check_room, generator

if TYPE_CHECKING:
    from edgeopt.arrays import Floats
    from edgeopt.instances.edr.channel import Reuse
    from edgeopt.instances.edr.random_parts import RoundsBound

Weights: TypeAlias = Literal["calibrated", "published"]
"""Weights of dollars and seconds: on one scale, or 1 and 1 as printed."""

EVENT_HOURS: Final = (16, 20)
"""Hours of the day in which all frames are capped, from the first to before the last."""

SIDE_KM: Final = 10.0  # side of the square in which 20 sites lie, km


def generate(
    *,
    rng: int | np.random.Generator = 0,
    sites: int = 20,
    tasks: int = 40,
    frames: int = 48,
    slots: int = 12,
    types: int = 4,
    reuse: Reuse = "group",
    accuracy: float = 0.02,
    rounds_bound: RoundsBound = "published",
    clients: int = 30,
    capable_share: float = 0.3,
    headroom: float = 3.0,
    capped: float | None = 0.1,
    cap_share: tuple[float, float] = (0.85, 1.0),
    weights: Weights = "calibrated",
    demand: float = 1.0,
    noise: float = NOISE,
    bandwidth: float = BANDWIDTH,
    distribution: bool = False,
    round_delay: Literal["sum", "max"] = "sum",
    power: Literal["site", "frame"] = "site",
    history: bool | Literal["channel"] = False,
) -> EdrInstance:
    """Draw a random instance in the paper's setting, with made-up series in place of its traces.

    Sites, demand, prices, caps, tasks, machines, delays and channels come from streams of their
    own: a setting of one of them leaves the others as they are.

    Parameters
    ----------
    rng
        Seed or generator; equal seeds give equal instances on one kind of processor only; see
        `Instance.rounded`.
    sites, tasks, frames, slots, types
        Numbers J, I (may be 0), T, D and N; frames of an hour, the first at midnight. The paper
        has 50 or 1000 sites, 100 to 500 tasks, 168 frames, 12 slots and 4 types.
    reuse
        Who disturbs whom on the air, see `draw_bands`.
    accuracy, rounds_bound
        What the rounds of a task follow from, see `rounds_needed`; 0.01 in the paper.
    clients
        Clients of a task, all sites if there are fewer.
    capable_share
        Share of the sites that can serve a type.
    headroom
        Capacity of a site in terms of the largest load that arrives at it (1 in the paper).
    capped
        Share of the frames other than hours 16 to 19 of each day that are capped as well; None: no
        frame is capped at all.
    cap_share
        Range of the caps, in terms of the energy that the frame would use if requests were served
        at average sites and tasks trained at an even rate.
    weights
        ``"calibrated"``: see `calibrated_weights`. ``"published"``: a dollar counts as a second.
    demand
        Factor on all requests.
    noise, bandwidth
        Power density of noise, dBm/Hz, and band of a link, Hz.
    distribution
        Whether the instance says how its channels and prices are drawn, for `informed_bound`. All
        other fields stay as they are.
    round_delay
        As in `EdrInstance`.
    power
        Whether the power of transmission is drawn once per ``"site"``, or anew in every
        ``"frame"``, in which case only power and rates differ.
    history
        Whether prices and caps of the day before are drawn by the same distribution, and with
        ``"channel"`` rates as well. All other fields stay as they are.

    Returns
    -------
    A validated instance whose ``origin`` says that it is drawn.

    Raises
    ------
    OptionError
        If an option is out of range.

    Notes
    -----
    Zhu et al., section V-A, prints the machines, the channel, the models, and where its traces are
    from. Chosen here: all series, windows, objectives, speeds, batches and the headroom.

    Examples
    --------
    >>> from edgeopt.instances.edr import generate
    >>> generate(sites=4, tasks=3, frames=6, slots=4, rng=7)
    EdrInstance(frames=6, slots=4, sites=4, tasks=3, types=4)
    """
    check_sizes(sites=sites, frames=frames, slots=slots, types=types)
    check_room("frames * slots * sites * sites", frames, slots, sites, sites)
    check_room("frames * slots * sites * types", frames, slots, sites, types)
    check_real("demand", demand, "[0, inf)")
    check_choice("power", power, ("site", "frame"))
    check_choice("history", history, (False, True, "channel"))
    check_flag("distribution", distribution)
    parent = generator(rng)
    streams = parent.spawn(9)
    place, asking, market, event, arriving, building, travelling, air, promising = streams
    side = SIDE_KM * np.sqrt(sites / 20)
    position = place.uniform(0.0, side, (sites, 2))
    kilometres = np.linalg.norm(position[:, None] - position[None], axis=2)
    shares = _cap_shares(event, frames, capped, cap_share)
    redrawn = frames if power == "frame" else 0
    channel: dict[str, Any] = {"reuse": reuse, "noise": noise, "bandwidth": bandwidth}
    draft = drafted(
        (arriving, building, travelling, air, promising),
        demand * _requests(asking, frames, slots, sites, types), kilometres, channel,
        tasks=tasks, clients=clients, accuracy=accuracy, rounds_bound=rounds_bound,
        capable_share=capable_share, headroom=headroom, redrawn=redrawn,
        price=draw_prices(market, frames), distribution=EdrDistribution(reuse, noise, bandwidth) if
        distribution else None, round_delay=round_delay, position=position,
    )  # fmt: skip
    if history:
        market, event, air, sending = parent.spawn(1)[0].spawn(4)
        rate = None
        if history == "channel":
            sent = draw_power(sending, (DAY, sites)) if redrawn else draft.power
            rate = draw_rates(air, sent, DAY, **channel)
        past = EdrHistory(
            draw_prices(market, DAY), _cap_shares(event, DAY, capped, cap_share), rate
        )
        draft = draft.replace(history=past)
    return finish(draft, shares, weights, _origin(capped, cap_share))


def drafted(
    streams: tuple[np.random.Generator, ...],
    requests: Floats,
    kilometres: Floats,
    channel: dict[str, Any],
    *,
    tasks: int,
    clients: int,
    accuracy: float,
    rounds_bound: RoundsBound,
    capable_share: float,
    headroom: float,
    redrawn: int = 0,
    **fields: Any,
) -> EdrInstance:
    """Draw what the paper's setting says beside requests and distances; nothing is capped yet.

    Streams are those of tasks, machines, delays, channels and objectives.
    """
    arriving, building, travelling, air, promising = streams
    frames, slots, sites, types = requests.shape
    size, work = request_sizes(types)
    machines = draw_machines(building, sites, types, capable_share, redrawn=redrawn)
    drawn = draw_tasks(
        arriving, tasks=tasks, frames=frames, sites=sites, clients=clients, accuracy=accuracy,
        rounds_bound=rounds_bound,
    )  # fmt: skip
    return EdrInstance(
        cap=np.full(frames, np.inf),
        **drawn,
        **machines._asdict(),
        request_size=size,
        request_work=work,
        capacity=capacity_for(requests, work, headroom),
        requests=requests,
        propagation=draw_propagation(travelling, kilometres, frames, slots),
        slo=draw_objectives(promising, frames, slots, types),
        rate=draw_rates(air, machines.power, frames, **channel),
        slot_seconds=3600 / slots,
        **fields,
    )


def finish(draft: EdrInstance, shares: Floats, weights: Weights, origin: str) -> EdrInstance:
    """Give an instance its caps, its weights and its origin."""
    check_choice("weights", weights, get_args(Weights))
    changes: dict[str, Any] = {"origin": origin}
    if weights == "calibrated":
        energy, delay = calibrated_weights(draft)
        changes |= {"energy_weight": energy, "delay_weight": delay}
    usual = reference(draft)
    cap = np.full(draft.frames, np.inf)
    asked = np.isfinite(shares)
    cap[asked] = shares[asked] * (usual.inference + usual.training)[asked]
    return draft.replace(cap=cap, **changes)


def _requests(
    generator: np.random.Generator, frames: int, slots: int, sites: int, types: int
) -> Floats:
    """Draw requests with peaks in the morning and the evening, in equal parts by type."""
    hour = (np.arange(frames) % 24)[:, None] + np.arange(slots) / slots
    morning, evening = np.exp(-(((hour - 8) / 2) ** 2)), np.exp(-(((hour - 18) / 2.5) ** 2))
    profile = 0.25 + 0.75 * (morning + evening)
    level = generator.uniform(8e3, 4e4, sites)
    slot = generator.uniform(0.8, 1.2, (frames, slots, sites))
    asked = profile[:, :, None] * level * slot / types
    return np.repeat(asked[..., None], types, axis=3)


def _cap_shares(
    generator: np.random.Generator,
    frames: int,
    capped: float | None,
    cap_share: tuple[float, float],
) -> Floats:
    check_span("cap_share", cap_share, "[0, inf)")
    check_real("capped", capped, "[0, 1]", none=True)
    least, most = cap_share
    if capped is None:
        return np.full(frames, np.inf)
    hour = np.arange(frames) % 24
    daily = (hour >= EVENT_HOURS[0]) & (hour < EVENT_HOURS[1])
    extra = generator.random(frames) < capped
    return np.where(daily | extra, generator.uniform(least, most, frames), np.inf)


def _origin(capped: float | None, cap_share: tuple[float, float]) -> str:
    caps = (
        "No frame is capped."
        if capped is None
        else f"Caps: hours 16 to 19 of each day and {100 * capped:g} % of the other frames, "
        f"{100 * cap_share[0]:g} to {100 * cap_share[1]:g} % of the energy of serving at average "
        "sites and training at an even rate."
    )
    return (
        "Drawn at random in the setting of Zhu et al.; sites, requests, prices, caps and arrivals "
        f"are made up in place of the paper's traces, and no number is measured. {caps}"
    )
