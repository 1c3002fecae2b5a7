"""Learners of a system, and their training from several seeds."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgeopt.errors import OptionError
from edgeopt.options import check_choice, check_fields, check_whole
from edgeopt.writing import Folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from edgeopt.learning import Learner, Training
    from edgeopt.studies.pages.training import Trainings
    from edgeopt.studies.system import System


@dataclass(frozen=True)
class LearnerEntry:
    """A learner of a system, and how it is trained by default.

    Parameters
    ----------
    name, title
        On the command line, and for people.
    make
        ``make(seed=, updates=, **options)`` returns a learner before its first update; it alone may
        need the extra ``rl``.
    updates, every
        Updates of the schedule, and between two evaluations.
    heading
        Of the figure by which evaluations are judged, with its unit: ``"Mean flow time (slots)"``.
    options
        Choices of `make` by name, the default first.
    references
        ``references(learner)`` returns figures on the validation seeds by title, of other policies
        and of bounds.
    signed
        Whether the figure may be negative.

    Raises
    ------
    OptionError
        If a number is not positive, or an option has no choice.
    """

    name: str
    title: str
    make: Callable[..., Learner]
    updates: int
    every: int
    heading: str
    options: Mapping[str, Sequence[str]] = field(default_factory=dict)
    references: Callable[[Any], Mapping[str, float]] = lambda _: {}
    signed: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        check_whole("LearnerEntry.updates", self.updates, 1)
        check_whole("LearnerEntry.every", self.every, 1)
        for name, choices in self.options.items():
            if not choices:
                raise OptionError(f"LearnerEntry.options: {name} has no choice")


def find_learner(system: System, name: str | None) -> LearnerEntry:
    """Return a learner of a system, by default its first one."""
    if not system.learners:
        raise OptionError(f"{system.name} has no learner")
    if name is None:
        return system.learners[0]
    for entry in system.learners:
        if entry.name == name:
            return entry
    known = ", ".join(entry.name for entry in system.learners)
    raise OptionError(f"{system.name} has no learner {name!r}; choose from {known}")


def trained(
    system: System,
    learner: str | None = None,
    *,
    seeds: Sequence[int] = (0, 1, 2),
    updates: int | None = None,
    minutes: float | None = None,
    out: str | Path,
    force: bool = False,
    options: Mapping[str, str] | None = None,
    report: Callable[[int, Mapping[str, float | None]], None] | None = None,
) -> Trainings:
    """Train a learner of a system from several seeds, one after the other, and write a page.

    A training that was interrupted goes on where it was, if it is started again with the same
    folder and settings.
    """
    from edgeopt.learning import train
    from edgeopt.studies.pages.training import Trainings, write

    entry = find_learner(system, learner)
    chosen = dict(options or {})
    for name, value in chosen.items():
        if name not in entry.options:
            known = ", ".join(entry.options) or "none"
            raise OptionError(f"{system.name} {entry.name} takes no --{name}; it takes: {known}")
        check_choice(f"--{name}", value, entry.options[name])
    if not seeds or len(set(seeds)) < len(seeds):
        raise OptionError(f"--seeds {', '.join(map(str, seeds))}: name at least one, each once")
    for seed in seeds:
        check_whole("--seeds", seed, 0)
    folder = Folder(out, "train", force=force)
    planned = entry.updates if updates is None else updates
    check_whole("--updates", planned, 1)
    found: dict[int, Training] = {}
    references: Mapping[str, float] = {}
    for seed in seeds:
        made = entry.make(seed=seed, updates=planned, **chosen)
        folder.begin()
        references = references or entry.references(made)
        found[seed] = train(
            made,
            Path(out) / f"seed-{seed}",
            updates=planned,
            every=min(entry.every, planned),
            minutes=minutes,
            report=None if report is None else partial(report, seed),
        )
    result = Trainings(system, entry, found, references)
    write(result, folder)
    return result
