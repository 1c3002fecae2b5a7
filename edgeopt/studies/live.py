"""What can be moved on the live page of a system, and the instance that it gives."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgeopt.errors import CertificateError, OptionError
from edgeopt.studies.entries import Part

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from edgeopt.solvers import Certificate
    from edgeopt.studies.drawing import Lanes
    from edgeopt.studies.results import Case
    from edgeopt.studies.system import System


@dataclass(frozen=True)
class Slider(Part):
    """A number that can be moved.

    Parameters
    ----------
    name
        Keyword of the instance; without `change`, a parameter of the source that draws it.
    title
        What it is, with its unit.
    low, high, step
        Its range.
    start
        Where it is at first; with `change`, the number that changes nothing.
    change
        ``change(instance, number)`` returns the changed instance.
    """

    name: str
    title: str
    low: float
    high: float
    step: float
    start: float
    change: Callable[[Any, float], Any] | None = None


def certificate_of_plan(case: Case) -> Callable[[], Certificate]:
    """Return what makes the certificate of the plan with which the bound came."""
    made: Callable[[], Certificate] | None = getattr(case.benchmark.plan, "certificate", None)
    if made is None:
        raise CertificateError(f"no certificate: {case.label} comes without a proof in a file")
    return made


def uncertified(reason: str) -> Callable[[Case], Callable[[], Certificate]]:
    """Return a function that says why the bound of a system has no certificate."""

    def refuse(case: Case) -> Callable[[], Certificate]:
        raise CertificateError(f"no certificate: {reason}")

    return refuse


@dataclass(frozen=True)
class Live(Part):
    """How instances of a system are explored.

    Parameters
    ----------
    sliders
        What can be moved.
    policies
        Policies that are compared at first.
    source
        Source of instances that is used at first.
    fixed
        Further parameters of that source, which keep an instance small.
    certificate
        ``certificate(case)`` returns what makes the certificate of the bound that is shown, or
        raises a CertificateError that says why there is none.
    columns
        Maps an instance to a size in proportion to which a view takes time.
    most
        Size up to which a view is computed at every move: about a second.
    claim
        A published claim that fails, for which the page searches a counterexample.
    lanes
        ``lanes(case, policy)`` returns what every resource does in a run.
    bound
        Bound that is shown, by default the reference bound.
    runs
        Scenarios at first.
    """

    sliders: Sequence[Slider]
    policies: tuple[str, ...]
    source: str
    columns: Callable[[Any], float]
    most: float
    claim: str
    lanes: Callable[[Case, str], Lanes] | None = None
    bound: str = ""
    runs: int = 100
    fixed: Mapping[str, Any] = field(default_factory=dict)
    certificate: Callable[[Case], Callable[[], Certificate]] = certificate_of_plan


def live_of(record: System) -> Live:
    """Return how instances of a system are explored, if its record says so."""
    if record.live is None:
        raise OptionError(f"system {record.name}: its record has no sliders (System.live)")
    return record.live


def offered(record: System, source: str) -> list[Slider]:
    """Return the sliders that a source, or a file, has: a file's instance can only be changed."""
    taken = _parameters(record, source)
    return [one for one in live_of(record).sliders if one.change or one.name in taken]


def _parameters(record: System, source: str) -> Mapping[str, Any]:
    known = record.instances.sources
    if source not in known or not known[source].seeded:
        return {}
    return inspect.signature(known[source].make).parameters


def instance_of(record: System, source: str = "", rng: int = 0, **moved: float) -> Any:
    """Return the instance of a source of a system, or of a file, with sliders moved.

    Sliders that are not named are where they are at first; `rng` is the seed of a drawn instance.
    """
    live = live_of(record)
    source = source or live.source
    sliders = {one.name: one for one in offered(record, source)}
    for name in moved:
        if name not in sliders:
            raise OptionError(f"{source}: no slider {name!r}; it has {', '.join(sliders)}")
    sources = record.instances.sources
    if source in sources:
        one = sources[source]
        drawn: dict[str, Any] = {"rng": rng}
        taken = _parameters(record, source)
        drawn |= {name: value for name, value in live.fixed.items() if name in taken}
        for name, slider in sliders.items():
            if slider.change is None:
                drawn[name] = moved.get(name, slider.start)
        instance = one.make(**drawn) if one.seeded else one.make()
    elif Path(source).exists():
        instance = record.instances.load(Path(source))
    else:
        raise OptionError(
            f"instance {source!r}: neither a file, a folder nor a source of {record.name}; "
            f"choose from {', '.join(sources)}"
        )
    for name, slider in sliders.items():
        if slider.change is not None and moved.get(name, slider.start) != slider.start:
            instance = slider.change(instance, moved[name])
    return instance


def lines(record: System, source: str, rng: int, moved: Mapping[str, float], settings: Any) -> str:
    """Return three lines of Python that give a view."""
    numbers = "".join(f", {name}={value!r}" for name, value in moved.items())
    return (
        "from edgeopt.studies import find_system, live, view\n"
        f"instance = live.instance_of(find_system({record.name!r}), {source!r}, rng={rng}"
        f"{numbers})\n"
        f"shown = view.view(instance, view.{settings!r})"
    )
