"""The loop of training: updates, evaluations on seeds kept apart, and going on after a stop."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from edgeopt.errors import InputError, OptionError, OutputError
from edgeopt.learning.checkpoint import (
    FORMAT,
    Checkpoint,
    finite,
    flattened,
    nested,
    read_arrays,
    versions,
    write_arrays,
)
from edgeopt.options import check_real, check_whole
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

POLICY: Final = "policy.safetensors"
"""The file with what was learnt."""

RESUME: Final = "resume.safetensors"
"""The file with what is needed to go on: weights, optimiser, buffers, generators."""

Row = dict[str, float | None]
"""An evaluation: the updates before it, their gradient steps, and figures."""


class Learner(Protocol):
    """What :func:`train` needs of a learner.

    Attributes
    ----------
    system, learner
        Names, for the checkpoint.
    figure
        The figure of an evaluation by which the best weights are chosen.
    sense
        Whether it is to be small, ``"min"``, or large, ``"max"``.
    steps
        Gradient steps of the policy so far, for a learner whose updates take several; without it,
        each update counts as one.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from edgeopt.learning import train
    >>> class Mean:
    ...     system, learner, figure, sense = "toy", "mean", "error", "min"
    ...     value = 0.0
    ...     def update(self): self.value += 0.5 * (1.0 - self.value)
    ...     def evaluate(self): return {"error": abs(1.0 - self.value)}
    ...     def weights(self): return {"value": np.array([self.value])}
    ...     def about(self): return {}
    ...     def state(self): return {"value": self.value}
    ...     def restore(self, state): self.value = state["value"]
    ...
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     training = train(Mean(), folder, updates=4, every=2)
    ...
    >>> training.best["error"], training.checkpoint.weights["value"]
    (0.0625, array([0.9375]))
    """

    system: str
    learner: str
    figure: str
    sense: Literal["min", "max"]

    def update(self) -> None:
        """Do one update: a turn of playing and learning, of which the schedule has a number."""

    def evaluate(self) -> Mapping[str, float]:
        """Return figures on validation seeds; leaves all generators of training as they were."""

    def weights(self) -> Mapping[str, NDArray[Any]]:
        """Return copies of the weights with which the policy runs."""

    def about(self) -> Mapping[str, Any]:
        """Return ``settings``, ``features``, ``seeds`` and ``instances`` of the checkpoint."""

    def state(self) -> dict[str, Any]:
        """Return nested dicts of copied arrays and JSON values from which training goes on."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up such a state."""


@compact_repr
@dataclass(frozen=True)
class Training:
    """What came out of a training.

    Attributes
    ----------
    checkpoint
        The weights of the best evaluation, with the whole curve.
    rows
        The evaluations, each with ``updates``, gradient ``steps``, ``seconds`` of processor time,
        and figures.
    figure
        Name of the figure by which evaluations are judged.
    path
        The file of the checkpoint.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from edgeopt.learning import train
    >>> class Mean:
    ...     system, learner, figure, sense = "toy", "mean", "error", "min"
    ...     value = 0.0
    ...     def update(self): self.value += 0.5 * (1.0 - self.value)
    ...     def evaluate(self): return {"error": abs(1.0 - self.value)}
    ...     def weights(self): return {"value": np.array([self.value])}
    ...     def about(self): return {}
    ...     def state(self): return {"value": self.value}
    ...     def restore(self, state): self.value = state["value"]
    ...
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     training = train(Mean(), folder, updates=4, every=2)
    ...
    >>> [row["error"] for row in training.rows], training.path.name
    ([1.0, 0.25, 0.0625], 'policy.safetensors')
    """

    checkpoint: Checkpoint
    rows: Sequence[Row]
    figure: str
    path: Path

    @property
    def best(self) -> Row:
        """The evaluation that the weights are of."""
        return next(row for row in self.rows if row["updates"] == self.checkpoint.kept)

    @property
    def seconds(self) -> float:
        """Processor time of updates and evaluations, s."""
        return float(self.rows[-1]["seconds"] or 0.0) if self.rows else 0.0


@dataclass
class _Progress:
    """Where a training stands."""

    done: int
    seconds: float
    rows: list[Row]
    best: float | None
    weights: Mapping[str, NDArray[Any]]


def train(
    learner: Learner,
    out: str | os.PathLike[str],
    *,
    updates: int,
    every: int,
    minutes: float | None = None,
    report: Callable[[Row], None] | None = None,
) -> Training:
    """Train until a number of updates, and keep the weights of the best evaluation.

    After every evaluation the state is written to ``resume.safetensors`` in the folder. A training
    that was killed and is called again with the same settings goes on there, and ends with the same
    bytes in ``policy.safetensors`` as one that was not, on one machine with one thread.

    Parameters
    ----------
    learner
        The learner, as it is before its first update.
    out
        Folder, made if it does not exist.
    updates
        Updates of the schedule; fixes the result.
    every
        Updates between two evaluations.
    minutes
        Processor time after which to stop early, in minutes; the checkpoint then says how many of
        its updates were done.
    report
        Called with the row of every evaluation.

    Returns
    -------
    Training
        Checkpoint, curve and path.

    Raises
    ------
    OptionError
        If the folder holds the state of a training with other settings.
    InputError
        If that state is damaged.
    OutputError
        If the folder or a file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from edgeopt.learning import train
    >>> class Mean:
    ...     system, learner, figure, sense = "toy", "mean", "error", "min"
    ...     value = 0.0
    ...     def update(self): self.value += 0.5 * (1.0 - self.value)
    ...     def evaluate(self): return {"error": abs(1.0 - self.value)}
    ...     def weights(self): return {"value": np.array([self.value])}
    ...     def about(self): return {}
    ...     def state(self): return {"value": self.value}
    ...     def restore(self, state): self.value = state["value"]
    ...
    >>> seen = []
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     training = train(Mean(), folder, updates=4, every=2, report=seen.append)
    ...
    >>> [row["updates"] for row in seen], training.best["error"]
    ([0, 2, 4], 0.0625)
    """
    check_whole("updates", updates, 1)
    check_whole("every", every, 1)
    check_real("minutes", minutes, "(0, inf)", none=True)
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder} cannot be made: {error.strerror or error}") from None
    plan = {
        "system": learner.system, "learner": learner.learner, "updates": updates, "every": every,
        **learner.about(),
    }  # fmt: skip
    plan = {name: list(part) if isinstance(part, tuple) else part for name, part in plan.items()}
    progress = _taken_up(learner, folder / RESUME, plan)
    if progress is None:
        progress = _Progress(0, 0.0, [], None, learner.weights())
        _evaluate(learner, progress, report)
    while progress.done < updates:
        began = time.process_time()
        learner.update()
        progress.done += 1
        progress.seconds += time.process_time() - began
        late = minutes is not None and progress.seconds >= 60.0 * minutes
        if progress.done % every == 0 or progress.done == updates:
            _evaluate(learner, progress, report)
            _keep(learner, progress, folder / RESUME, plan)
        elif late:
            # What goes on later must not know of the evaluation that a stop adds.
            _keep(learner, progress, folder / RESUME, plan)
            _evaluate(learner, progress, report)
        if late:
            break
    curve = [{name: row[name] for name in row if name != "seconds"} for row in progress.rows]
    checkpoint = Checkpoint(
        weights=progress.weights, system=learner.system, learner=learner.learner,
        updates=progress.done, planned=updates, kept=_kept(progress, learner.figure), curve=curve,
        **learner.about(),
    )  # fmt: skip
    path = checkpoint.save(folder / POLICY)
    return Training(checkpoint, progress.rows, learner.figure, path)


def _evaluate(learner: Learner, progress: _Progress, report: Callable[[Row], None] | None) -> None:
    """Add an evaluation, and keep the weights if they are the best."""
    began = time.process_time()
    found = {name: finite(value) for name, value in learner.evaluate().items()}
    progress.seconds += time.process_time() - began
    row: Row = {
        "updates": progress.done, "steps": getattr(learner, "steps", progress.done),
        "seconds": progress.seconds, **found,
    }  # fmt: skip
    progress.rows.append(row)
    value = found[learner.figure]
    sign = 1.0 if learner.sense == "max" else -1.0
    if value is not None and (progress.best is None or sign * (value - progress.best) > 0.0):
        progress.best, progress.weights = value, learner.weights()
    if report is not None:
        report(row)


def _kept(progress: _Progress, figure: str) -> int:
    """Return the updates before the best evaluation, 0 if none has a finite figure."""
    best = (row for row in progress.rows if row[figure] == progress.best is not None)
    return int(next(best, progress.rows[0])["updates"] or 0)


def _keep(learner: Learner, progress: _Progress, path: Path, plan: Mapping[str, Any]) -> None:
    """Write what is needed to go on."""
    arrays, rest = flattened({"learner": learner.state(), "weights": dict(progress.weights)})
    record = {
        "format": FORMAT, "plan": plan, "versions": versions(), "done": progress.done,
        "seconds": progress.seconds, "rows": progress.rows, "best": progress.best, "rest": rest,
    }  # fmt: skip
    write_arrays(path, arrays, record)


def _taken_up(learner: Learner, path: Path, plan: Mapping[str, Any]) -> _Progress | None:
    """Restore a state that was kept, if there is one."""
    if not path.exists():
        return None
    arrays, record = read_arrays(path, "the state of a training")
    if record.get("format") != FORMAT:
        raise InputError(str(path), f"has format {record.get('format')!r}, not {FORMAT}")
    differing = sorted(name for name in plan if record["plan"].get(name) != plan[name])
    if differing:
        raise OptionError(
            f"{path} is the state of another training; {', '.join(differing)} differ: choose "
            "another folder, or remove that file"
        )
    tree = nested(arrays, record["rest"])
    learner.restore(tree["learner"])
    return _Progress(
        record["done"], record["seconds"], record["rows"], record["best"], tree["weights"]
    )
