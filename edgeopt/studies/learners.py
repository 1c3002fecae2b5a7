"""Learners of a system, and policies that run what was trained."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from edgeopt.errors import InputError, OptionError
from edgeopt.options import check_kind, check_whole
from edgeopt.representation import compact_repr
from edgeopt.studies.entries import Part, PolicyEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from edgeopt.learning import Checkpoint, Learner
    from edgeopt.studies.system import System


@compact_repr
@dataclass(frozen=True)
class LearnerEntry(Part):
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

    Raises
    ------
    OptionError
        If a number is not positive, or an option has no choice.

    Examples
    --------
    >>> from edgeopt.studies import find_system
    >>> for entry in find_system("oinc").learners:
    ...     print(entry.name, entry.updates, entry.heading)
    ...
    insertion 600 Mean reward of a slot (s)
    sac-d 12000 Mean reward of a slot (s)
    """

    name: str
    title: str
    make: Callable[..., Learner]
    updates: int
    every: int
    heading: str
    options: Mapping[str, Sequence[str]] = field(default_factory=dict)
    references: Callable[[Any], Mapping[str, float]] = lambda _: {}

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("LearnerEntry.updates", self.updates, 1)
        check_whole("LearnerEntry.every", self.every, 1)
        for name, choices in self.options.items():
            if not choices:
                raise OptionError(f"LearnerEntry.options: {name} has no choice")


LEARNED: Final = "learned"
"""Name of the learned policy that a record recommends, and of others after a colon."""


@compact_repr
@dataclass(frozen=True)
class Learned(Part):
    """The learned policies of a system: ``learned``, ``learned:NAME`` and ``learned:PATH``.

    Parameters
    ----------
    default
        Name of the entry that ``learned`` means.
    folder
        With the checkpoints that come with the package, ``NAME.safetensors``.
    policy
        ``policy(checkpoint)`` returns the policy that runs a checkpoint.
    checkpoints
        ``checkpoints(policy)`` returns those that a policy runs, none if nothing in it was trained.

    Raises
    ------
    OptionError
        If the folder is no path.

    Examples
    --------
    >>> from edgeopt.studies import find_system
    >>> learned = find_system("tapfinger").learned
    >>> learned.default, sorted(learned.shipped)
    ('imitation', ['several', 'single', 'unknown'])
    """

    default: str
    folder: Path
    policy: Callable[[Checkpoint], Any]
    checkpoints: Callable[[Any], Sequence[Checkpoint]]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_kind("Learned.folder", self.folder, Path)

    @property
    def shipped(self) -> dict[str, Path]:
        """The files that come with the package, by name."""
        return {path.stem: path for path in sorted(self.folder.glob("*.safetensors"))}


def is_learned(name: str) -> bool:
    """Tell whether a name of a policy is ``learned`` or begins with ``learned:``."""
    return name.partition(":")[0] == LEARNED


def learned_entry(system: System, name: str) -> PolicyEntry:
    """Return the entry of a learned policy; what it runs is read and checked now."""
    learned = system.learned
    if learned is None:
        raise OptionError(f"policy {name!r}: {system.name} has no learned policy")
    entry = next(one for one in system.policies.entries if one.name == learned.default)
    if name == LEARNED:
        return replace(entry, name=name, group="Learned")
    from edgeopt.learning import Checkpoint

    wanted = name.partition(":")[2]
    path = learned.shipped.get(wanted) or _file(system, learned, wanted)
    read = Checkpoint.load(path, system=system.name)
    try:
        policy = learned.policy(read)
    except InputError as error:
        raise InputError(str(path), f"cannot be run by {system.name}: {error}") from None
    # A whole path would leave no room for a picture.
    short = wanted if wanted in learned.shipped else "/".join(_named(path).parts[-2:])
    return PolicyEntry(
        name, "Learned", partial(given, policy), variant=short, default=False,
        learned=True, edition=entry.edition,
    )  # fmt: skip


def _named(path: Path) -> Path:
    """Return what a checkpoint is known by: its folder, unless the file has a name of its own."""
    from edgeopt.learning.training import POLICY

    return path.resolve().parent if path.name == POLICY else path


def given(policy: Any, _instance: Any, _benchmarks: Any) -> Any:
    """Make a policy that is an object already; bound to it, as a lambda cannot be pickled."""
    return policy


def _file(system: System, learned: Learned, wanted: str) -> Path:
    """Return the checkpoint that a path names, or that lies in the folder that it names."""
    from edgeopt.learning.training import POLICY

    path = Path(wanted)
    if wanted and path.is_dir():
        if not (path / POLICY).is_file():
            inner = [str(one.parent) for one in sorted(path.glob(f"*/{POLICY}"))[:3]]
            hint = f"choose from {', '.join(inner)}" if inner else "name a file"
            raise OptionError(f"policy {LEARNED}:{wanted}: the folder has no {POLICY}; {hint}")
        return path / POLICY
    if not wanted or not path.exists():
        known = ", ".join(learned.shipped)
        raise OptionError(
            f"policy {LEARNED}:{wanted}: {system.name} has no such checkpoint, and there is no "
            f"such file; choose from {known}, or name a {POLICY}"
        )
    return path


def origins(system: System, policy: Any) -> list[str]:
    """Say of each checkpoint that a policy runs where it comes from."""
    return [] if system.learned is None else list(map(_origin, system.learned.checkpoints(policy)))


def _origin(one: Checkpoint) -> str:
    seeds = ", ".join(map(str, one.seeds.get("learner", ()))) or "unknown"
    done = f"{one.updates}" if not one.stopped else f"{one.updates} of {one.planned}"
    return (
        f"{one.learner}, {one.count:,} weights, seed {seeds}, {done} updates, "
        f"fingerprint {one.fingerprint()[:16]}"
    )


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
