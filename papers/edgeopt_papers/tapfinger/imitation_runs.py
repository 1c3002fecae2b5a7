"""What figures show of runs, and of imitations of which the networks do not come with the package.

Figures 9, 10, 14 and 15 are of other tasks than the simulations, and each kind of tasks needs a
network of its own. What these figures show of it is a table, which is made of their jobs: the
figures are imported when it is.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import InputError
from edgeopt.studies.tapfinger.policies import setting_of
from edgeopt_papers.releases import Release, weights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pandas as pd

    from edgeopt.learning import Checkpoint
    from edgeopt.studies.sweeps import Job

SERIES: Final = ("tasks_over_time", "cpu_over_time", "gpu_over_time")
"""One number per slot each: tasks in the system, CPU cores and GPUs in use per cluster."""

_SHARES: Final = {"p5": 0.05, "p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95}
SUMMARY: Final = ("mean", *_SHARES, "waiting", "cpu", "gpu", "makespan", "decision_ms")
"""One number each: slots to completion, tasks in the system, units in use per cluster, slots of the
run, milliseconds of decisions per slot."""

_TIMED: Final = "decision_ms"
"""What another machine would give otherwise: it is not in the table."""

TAUGHT: Final = ("pointer", "testbed", "containers")
"""Settings of training of these networks."""


def what_ran(run: Any) -> Mapping[str, Any]:
    """Return the numbers and the series of runs of a policy on an instance."""
    flow = np.asarray(run.flow_time).ravel()
    slots = np.maximum(1, np.asarray(run.end))
    used = np.asarray(run.used, dtype=float).mean(axis=2)
    tasks = np.asarray(run.accumulation, dtype=float)
    # Quantiles between slots are not defined where some tasks are never complete.
    method: Any = "linear" if np.isfinite(flow).all() else "inverted_cdf"
    every = dict(zip(SERIES, (tasks, used[..., 0], used[..., 1]), strict=True))
    inside = [float((one.sum(axis=1) / slots).mean()) for one in every.values()]
    return {
        "mean": float(flow.mean()),
        **{name: float(np.quantile(flow, q, method=method)) for name, q in _SHARES.items()},
        **dict(zip(("waiting", "cpu", "gpu"), inside, strict=True)),
        "makespan": float(slots.mean()),
        _TIMED: 1e3 * run.seconds / float(slots.sum()),
        **{name: one.mean(axis=0).tolist() for name, one in every.items()},
    }


def ran(networks: Mapping[str, Checkpoint]) -> Iterator[dict[str, Any]]:
    """Run networks by setting in the jobs of all figures that show them, and yield the rows."""
    from edgeopt.learning.tapfinger import LearnedScheduler
    from edgeopt.online import simulate
    from edgeopt.online.tapfinger import TapFingerEnvironment

    policies = {name: LearnedScheduler(one) for name, one in networks.items()}
    for job, series in _jobs():
        instance, runs = job.arguments[0].instance(), job.identity["runs"]
        name = setting_of(instance)
        run = simulate(TapFingerEnvironment(instance), policies[name], rng=0, runs=runs)
        found = dict(what_ran(run))
        yield {
            "instance": job.identity["instance"][:16],
            "runs": runs,
            "setting": name,
            "weights": networks[name].fingerprint()[:16],
            "information": policies[name].information,
            **{one: round(found[one], 6) for one in SUMMARY if one != _TIMED},
            **{one: _written(found[one]) if one in series else "" for one in SERIES},
        }


def _jobs() -> Iterator[tuple[Job, set[str]]]:
    """Yield the jobs of these figures, and the series that any of them shows of the same runs."""
    from edgeopt_papers.tapfinger.figures import PAPER_FIGURES

    shown: dict[tuple[str, int], tuple[Job, set[str]]] = {}
    for figure in PAPER_FIGURES:
        for quick in (True, False) if figure.series is SHOWN else ():
            for job in figure.listed(quick):
                key = job.identity["instance"], job.identity["runs"]
                shown.setdefault(key, (job, set()))[1].update(job.identity["series"])
    yield from shown.values()


def _written(series: list[float]) -> str:
    return " ".join(f"{one:.6g}" for one in np.round(series, 3))


def table(rows: Iterator[dict[str, Any]]) -> pd.DataFrame:
    """Return rows as a table."""
    import pandas as pd

    return pd.DataFrame(list(rows))


def _made(folder: Path) -> pd.DataFrame:
    """Train the networks in a folder, and run them."""
    from edgeopt.learning import Checkpoint

    networks = {}
    for name in TAUGHT:
        one = weights(folder / f"{name}.safetensors", "tapfinger", "imitation", setting=name)
        made = one.make(folder / name)
        assert isinstance(made, Path)
        networks[name] = Checkpoint.load(made, system="tapfinger")
    return table(ran(networks))


SHOWN: Final = Release(
    name="tapfinger-figures",
    path=Path(__file__).with_name("imitation_runs.csv"),
    command="make learners NAMES=tapfinger-figures",
    make=_made,
)
"""The table; it names the weights of every row."""


def joined(
    jobs: pd.DataFrame, known: pd.DataFrame, *, rows: Callable[[pd.DataFrame], pd.DataFrame]
) -> pd.DataFrame:
    """Add what the table knows of the imitation to the jobs of others, and return their `rows`.

    In every job it comes before the bound, which is last.
    """
    import pandas as pd

    found: dict[Any, Any] = {
        (one["instance"], one["runs"]): one for one in known.to_dict("records")
    }
    listed = []
    records: Any = jobs.to_dict("records")
    for job in records:
        key = job["instance"][:16], job["runs"]
        if key not in found:
            raise InputError(
                SHOWN.path.name,
                f"has no runs of the imitation on instance {key[0]}; make it anew by "
                f"`{SHOWN.command}`",
            )
        own: dict[str, Any] = {**found[key], "policy": "imitation", _TIMED: np.nan}
        # A table of several figures has the columns of all, empty where a figure lacks one.
        parts = [
            name
            for name in ("policy", "information", *SUMMARY, *SERIES)
            if isinstance(job.get(name), list | tuple | np.ndarray)
        ]
        own |= {
            one: [float(part) for part in str(own[one]).split()] for one in SERIES if one in parts
        }
        listed.append(job | {name: [*job[name][:-1], own[name], job[name][-1]] for name in parts})
    return rows(pd.DataFrame(listed))
