"""What is moved on a page, the address that keeps it, and what it shows; without a framework."""

from __future__ import annotations

import io
import tempfile
import zipfile
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from edgeopt.errors import CertificateError, EdgeOptError
from edgeopt.studies import find_system, systems
from edgeopt.studies.live import Slider, instance_of, lines, live_of, offered
from edgeopt.studies.pages.instance import View
from edgeopt.studies.view import ViewSettings, view
from edgeopt.studies.wording import capitalised

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from edgeopt.solvers import Certificate
    from edgeopt.studies.system import System

SEED: Final = Slider("seed", "seed", 0, 99, 1, 0)
_MOST_RUNS: Final = 500

_QUICK: Final = 0.3
"""Share of the largest size that is computed at every move from which progress is told."""


BESIDE: Final = """
@media (min-width: 900px) {
  div:has(> .marimo-cell) { display: grid; grid-template-columns: 19rem minmax(0, 1fr);
    column-gap: 2.5rem; align-items: start; grid-auto-flow: row; }
  .marimo-cell { grid-column: 2; }
  .marimo-cell.marimo-cell:has(marimo-slider) { grid-column: 1; grid-row: 1 / span 99; }
  #App > div { padding: 0 2rem 2rem; }
}
#App div:has(> #view) { margin: 0; }
"""
"""Style of the page: in wide windows sliders stand beside what they change."""


@dataclass(frozen=True)
class Moved:
    """The state of a page.

    Parameters
    ----------
    source
        Source of the instance, or a file.
    numbers
        Where the sliders of the instance are.
    runs, seed
        Number of scenarios, and the seed of instance and scenarios.
    policies
        Names of those that are compared.
    """

    source: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    runs: int = 2
    seed: int = 0
    policies: tuple[str, ...] = ()

    @property
    def settings(self) -> ViewSettings:
        """What the view compares."""
        return ViewSettings(self.policies, self.runs, self.seed)

    def address(self) -> dict[str, str]:
        """Return the state as parameters of an address."""
        said = {name: f"{value:g}" for name, value in self.numbers.items()}
        more = {"runs": str(self.runs), "seed": str(self.seed)}
        return {**said, **more, "policies": ",".join(self.policies)}


def chosen(command: Mapping[str, Any], address: Mapping[str, Any]) -> tuple[System, str]:
    """Return system and source of a page: those of the command, or another system by address."""
    first = str(command.get("system", "rescue"))
    name = str(address.get("system", first))
    record = find_system(name if name in systems() else first)
    record = record if record.live else find_system(first)
    source = str(command.get("instance", "")) if record.name == first else ""
    return record, source or live_of(record).source


def sliders(record: System, source: str) -> list[Slider]:
    """Return all sliders of a page: those of the instance, scenarios and seed."""
    start = live_of(record).runs
    step = 1 if start <= 10 else 10
    most = max(10 * start, 20) if step == 1 else _MOST_RUNS
    runs = Slider("runs", "scenarios", max(2, step), most, step, start)
    return [*offered(record, source), runs, SEED]


def policies(record: System) -> dict[str, str]:
    """Return the policies that can be compared, names by title."""
    from edgeopt.studies import registry

    return {entry.title: entry.name for entry in registry.policies(record)}


def moved_to(record: System, source: str, address: Mapping[str, str]) -> Moved:
    """Return the state that an address keeps; what it leaves out or has wrong is as at first."""
    numbers = {one.name: one.start for one in sliders(record, source)}
    for one in sliders(record, source):
        with suppress(ValueError, KeyError, TypeError):
            number = float(address[one.name])
            if one.low <= number <= one.high:
                numbers[one.name] = number
    known = policies(record).values()
    asked = set(str(address.get("policies", "")).split(",")) & set(known)
    wanted = asked or set(live_of(record).policies)
    return of_numbers(record, source, numbers, [name for name in known if name in wanted])


def of_numbers(record: System, source: str, numbers: Mapping[str, float], names: Any) -> Moved:
    """Return the state of sliders and chosen policies."""
    given = {
        one.name: int(numbers[one.name]) if float(one.step).is_integer() else numbers[one.name]
        for one in sliders(record, source)
    }
    runs, seed = int(given.pop("runs")), int(given.pop("seed"))
    return Moved(source, given, runs, seed, tuple(names) or live_of(record).policies)


def drawn(record: System, moved: Moved) -> Any:
    """Return the instance, or the text that says why there is none."""
    try:
        return instance_of(record, moved.source, moved.seed, **moved.numbers)
    except EdgeOptError as error:
        return str(error)


def size(record: System, instance: Any) -> float:
    """Return the size of an instance, 1 if a view of it takes about a second."""
    live = live_of(record)
    return 0.0 if isinstance(instance, str) else live.columns(instance) / live.most


def slow(record: System, instance: Any) -> bool:
    """Tell whether progress should be told."""
    return size(record, instance) > _QUICK


def shown(instance: Any, moved: Moved) -> View:
    """Return the view of an instance, or of the text that says why there is none."""
    return View(instance) if isinstance(instance, str) else view(instance, moved.settings)


def certificate(shown: View) -> tuple[Callable[[], bytes] | None, str]:
    """Return what packs the certificate of the bound that is shown, or why there is none."""
    if shown.case is None:
        return None, ""
    try:
        make = live_of(shown.case.system).certificate(shown.case)
    except CertificateError as error:
        return None, f"{capitalised(shown.case.reference)} has {error}."
    return partial(_packed, make), ""


def _packed(make: Callable[[], Certificate]) -> bytes:
    """Return an archive of a certificate and the program that checks it."""
    packed = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(packed, "w") as archive:
        make().save(Path(folder, "certificate.json"), checker=True)
        for path in sorted(Path(folder).iterdir()):
            archive.write(path, path.name, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def stamp(instance: Any, moved: Moved) -> str:
    """Say in a line what is shown."""
    numbers = ", ".join(f"{name} {value:g}" for name, value in moved.numbers.items())
    what = "no instance" if isinstance(instance, str) else f"instance {instance.fingerprint()[:12]}"
    policies = "1 policy" if len(moved.policies) == 1 else f"{len(moved.policies)} policies"
    return f"{what} ({numbers}), {moved.runs} scenarios, seed {moved.seed}, {policies}"


def python(record: System, moved: Moved) -> str:
    """Return three lines of Python that give the view."""
    return lines(record, moved.source, moved.seed, moved.numbers, moved.settings)
