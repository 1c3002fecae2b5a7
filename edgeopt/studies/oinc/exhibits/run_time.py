"""Figure 11: how long the policies take to decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from edgeopt.studies.exhibits import Estimate, Exhibit, Printed, means, plays
from edgeopt.studies.exhibits.drawing import curves
from edgeopt.studies.oinc.exhibits.setting import ALL, DEVICES, OPEN, recipe
from edgeopt.studies.wording import listed, number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.studies.result import Case
    from edgeopt.studies.sweeps import Cell

__all__ = ["FIGURE_11", "run_time"]

_SEEDS: Final = (1, 5)
_SLOTS: Final = 200
"""Slots of the paper's run."""


def run_time(case: Case) -> dict[str, Any]:
    """Return the time that the one policy of a case takes for the decisions of 200 slots, s.

    It lives through the run once more: by then everything that is compiled is.
    """
    from edgeopt.online import simulate

    [policy] = case.policies.values()
    instance = case.instance
    environment = case.system.policies.environment(instance)
    again = simulate(environment, policy, rng=case.settings.seed, runs=1)
    return {"seconds": _SLOTS * again.seconds / instance.slots}


def _cells(quick: bool) -> list[Cell]:
    return [
        cell
        for devices in (DEVICES.few if quick else DEVICES.places)
        for seed in range(_SEEDS[0] if quick else _SEEDS[1])
        for cell in plays(
            "oinc", recipe(quick, seed, devices=devices), ALL, runs=2, at={"devices": devices},
            reading=run_time, bounded=False,
        )
    ]  # fmt: skip


def _rows(table: pd.DataFrame) -> pd.DataFrame:
    return means(table, ("seconds",), ("devices", "policy"))


def _draw(rows: pd.DataFrame) -> Figure:
    label = "decisions of 200 slots (s)"
    return curves(rows, "devices", {"seconds": label}, xlabel="devices", titles=ALL, logy=True)


def _at_most(rows: pd.DataFrame) -> dict[str, float]:
    """Return the run times at the largest number of devices, by policy."""
    last = rows[rows["devices"] == rows["devices"].max()]
    return dict(zip(last["policy"], last["seconds"], strict=True))


def _order(rows: pd.DataFrame) -> str:
    times = _at_most(rows)
    slower = [ALL[name] for name in times if times[name] > times["oinc"]]
    faster = [ALL[name] for name in times if times[name] < times["oinc"]]
    return "; ".join(
        f"{how} than {listed(names)}"
        for how, names in (("slower", faster), ("faster", slower))
        if names
    )


def _longest(rows: pd.DataFrame) -> Estimate:
    own = [row for row in rows.to_dict("records") if row["policy"] == "oinc"]
    longest = max(own, key=lambda row: float(row["seconds"]))
    return Estimate(*(float(longest[f"seconds{end}"]) for end in ("", "_low", "_high")))


def _notice(rows: pd.DataFrame) -> str:
    times = _at_most(rows)
    longest = max(times, key=lambda name: times[name])
    return (
        f"With {rows['devices'].max()} devices OINC decides 200 slots in "
        f"{number(times['oinc'], 2)} s; {ALL[longest]} takes longest, "
        f"{number(times[longest], 2)} s"
    )


FIGURE_11 = Exhibit(
    kind="figure",
    number="11",
    title="run time of the policies over the number of devices",
    cells=_cells,
    rows=_rows,
    columns={
        "devices": "Devices",
        "policy": "Policy",
        "seconds": "Decisions of 200 slots (s)",
    },
    draw=_draw,
    notice=_notice,
    printed=[
        Printed(
            what="OINC, decisions of 200 slots at most (s)",
            value="less than 5",
            ours=_longest,
        ),
        Printed(
            what="OINC",
            value="slightly slower than Kalmia; faster than all others",
            ours=_order,
            why="Ours is the order at the largest number of devices.",
        ),
    ],
    differs=(
        "The machine of the paper is not named; ours is the one that ran this, and its other work "
        "takes part in the times.",
        *OPEN,
    ),
    caption="Without the time that the simulation itself takes. Bands: 95 % intervals over the "
    "drawn instances.",
)
"""Run times over the number of devices."""
