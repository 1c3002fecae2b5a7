"""A log is a scenario: what other policies would have done with what came."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.rescue import RescueInstance
from edgeopt.online.rescue.environment import RescueEnvironment
from edgeopt.online.session.log import read_log
from edgeopt.options import check_kind, generator

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

_NOBODY: Final = 2.0
"""Coin of a step in which nothing arrives: above all probabilities."""


def scenario_of(
    log: Iterable[str] | str, instance: RescueInstance, *, rng: int | np.random.Generator = 0
) -> NDArray[np.float64]:
    """Return the scenario of a session's log, for any policy in `RescueEnvironment`.

    What arrived, the coins, and how long runs took are those of the log. Durations of tasks that
    were not run, or whose end the log does not say, are drawn: see `durations_seen`. A run that a
    failure ended counts as one whose end is not known.

    Parameters
    ----------
    log
        The lines, or all of them as one text.
    instance
        Its horizon holds all slots of the log.
    rng
        Seed or generator of what is drawn.

    Returns
    -------
    Shape [T, S, 3], as `RescueEnvironment.scenarios` draws them.

    Raises
    ------
    OptionError
        If it is not the log of a `RescueDesk`, or an arrival is impossible in the instance.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.online.rescue import PickConfigs, RescueEnvironment
    >>> from edgeopt.online.session import RescueDesk, Session, scenario_of
    >>> instance = generate(horizon=20, rng=7)
    >>> session = Session(PickConfigs(guarded=True), RescueDesk(instance))
    >>> decision = session.take({"event": "task", "slot": 3, "device": 0})
    >>> scenario = scenario_of(session.log.getvalue(), instance)
    >>> arrival = RescueEnvironment(instance).episode(scenario).observe()
    >>> arrival.slot, arrival.device
    (3, 0)
    """
    check_kind("instance", instance, RescueInstance)
    environment = RescueEnvironment(instance)
    rows = _rows_of(log)
    scenario = generator(rng).random((instance.horizon, environment.steps, 3))
    scenario[:, :, 0] = _NOBODY
    coins = np.random.default_rng(rows[0]["seed"]).spawn(1)[0]
    began: dict[int, tuple[int, int, int]] = {}
    for number, row in enumerate(rows[1:], 2):
        event = row.get("event", {})
        if event.get("event") == "task":
            slot, device = event["slot"], event["device"]
            step = device if environment.steps > 1 else 0
            low, high = _span(environment, slot, device, number)
            if scenario[slot, step, 0] != _NOBODY:
                raise OptionError(f"log, line {number}: a second task in slot {slot}")
            coin = event["coin"] if "coin" in event else coins.random()
            scenario[slot, step, :2] = low + 0.5 * (high - low), coin
            if row["decision"] is not None:
                began[row["decision"]["server"]] = slot, step, row["decision"]["profile"]
        elif event.get("event") == "finished" and event["server"] in began:
            slot, step, profile = began.pop(event["server"])
            distribution = environment.duration_cumulative[profile]
            duration = event["slot"] - slot
            low = distribution[duration - 2] if duration > 1 else 0.0
            if duration <= distribution.size and distribution[duration - 1] > low:
                scenario[slot, step, 2] = low + 0.5 * (distribution[duration - 1] - low)
    return scenario


def durations_seen(log: Iterable[str] | str) -> tuple[int, int]:
    """Return of how many runs a log says how long they took, and how many have begun.

    Parameters
    ----------
    log
        Lines of the log of a session, or its path.

    Returns
    -------
    Runs whose duration is known, and runs that have begun.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.online.rescue import PickConfigs
    >>> from edgeopt.online.session import RescueDesk, Session, durations_seen
    >>> session = Session(PickConfigs(), RescueDesk(generate(horizon=20, rng=7)))
    >>> placement = session.take({"event": "task", "slot": 3, "device": 0})
    >>> session.take({"event": "finished", "slot": 9, "server": placement.server})
    >>> durations_seen(session.log.getvalue())
    (1, 1)
    """
    seen = begun = 0
    for row in _rows_of(log)[1:]:
        begun += row.get("decision") is not None
        seen += row.get("event", {}).get("event") == "finished"
    return seen, begun


def _rows_of(log: Iterable[str] | str) -> list[dict[str, Any]]:
    rows, _ = read_log(log)
    if not str(rows[0].get("desk")).startswith("RescueDesk("):
        raise OptionError(f"log: is one of {rows[0].get('desk')}; a scenario needs a RescueDesk")
    return rows


def _span(
    environment: RescueEnvironment, slot: int, device: int, number: int
) -> tuple[float, float]:
    """Return the coins with which the task of a device arrives in a slot."""
    instance = environment.instance
    if slot >= instance.horizon or device >= instance.devices:
        raise OptionError(
            f"log, line {number}: slot {slot}, device {device} lies beyond the instance of "
            f"{instance.horizon} slots and {instance.devices} devices"
        )
    cumulative = environment.arrival_cumulative[slot]
    low, high = (cumulative[device - 1] if device else 0.0), cumulative[device]
    if environment.steps > 1:
        low, high = 0.0, instance.arrival[slot, device]
    if not high > low:
        raise OptionError(
            f"log, line {number}: a task of device {device} has probability 0 in slot {slot}"
        )
    return float(low), float(high)
