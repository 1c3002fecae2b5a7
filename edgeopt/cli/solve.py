"""``edgeopt solve``: the offline benchmark of an instance. ``edgeopt solvers``: the solvers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgeopt.cli import show
from edgeopt.cli.choose import (
    DataOption,
    ForceOption,
    InstanceOption,
    JsonOption,
    SeedOption,
    SystemArgument,
    chosen_instance,
    chosen_system,
)
from edgeopt.errors import OptionError
from edgeopt.writing import placed, target_of

if TYPE_CHECKING:
    from edgeopt.solvers import Backend
    from edgeopt.studies import System


def solve(
    system: SystemArgument,
    instance: InstanceOption = None,
    data: DataOption = None,
    seed: SeedOption = 0,
    method: Annotated[
        str | None, typer.Option(help="How to solve it; an unknown name lists the methods.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File for the plan (.csv or .nc).")] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Solve the offline benchmark of an instance, with a proven gap."""
    from edgeopt.studies.wording import duration, number, power

    record = chosen_system(system)
    offline = record.offline
    if offline.solve is None:
        raise OptionError(f"{record.name} has no benchmark that can be solved by itself")
    if method is not None and method not in offline.methods:
        raise OptionError(
            f"--method {method}: unknown; {record.name} has {', '.join(offline.methods) or 'none'}"
        )
    if out is not None:
        _check_writable(record, out, force=force)
    chosen = chosen_instance(record, instance, data, seed)
    name = offline.solved or offline.reference
    benchmark = offline.solve(chosen.instance, **({} if method is None else {"method": method}))
    if out is not None and offline.export is not None:
        with placed(out, force=force) as draft:
            offline.export(benchmark, draft)
    if as_json:
        show.document(
            {
                "system": record.name,
                "instance": {
                    "name": chosen.name,
                    "fingerprint": chosen.instance.fingerprint(),
                    **record.instances.describe(chosen.instance),
                },
                "benchmark": {"name": name, **benchmark.record()},
            }
        )
        return
    label = offline.bounds[name].label
    show.table(
        f"{label} of {record.name}, instance {chosen.name}",
        ["", "value"],
        [
            ["objective", number(benchmark.value, 8)],
            ["proven bound", number(benchmark.bound, 8)],
            ["proven relative gap", power(benchmark.gap)],
            ["seconds", duration(benchmark.seconds)],
            ["solver", benchmark.solver],
            ["status", benchmark.status],
        ],
    )
    if out is not None:
        show.note(f"plan: {out}")


def _check_writable(record: "System", out: Path, *, force: bool) -> None:
    """Fail before the solve if its plan cannot be written."""
    suffixes = record.offline.suffixes
    if record.offline.export is None:
        raise OptionError(f"--out: {record.name} does not write plans")
    if out.suffix not in suffixes:
        raise OptionError(f"--out {out}: the name must end in {' or '.join(suffixes)}")
    target_of(out, force=force)


def solvers(as_json: JsonOption = False) -> None:
    """List the solvers, whether they are installed, and the problems that they take."""
    from edgeopt.solvers.registry import backends

    found = backends()
    faults = {backend.name: backend.fault for backend in found}
    if as_json:
        show.document(
            [
                {
                    "name": backend.name,
                    "installed": backend.installed,
                    "version": backend.version if backend.installed else None,
                    "fault": faults[backend.name],
                    "problems": list(backend.problems),
                }
                for backend in found
            ]
        )
        return
    show.table(
        "Solvers",
        ["solver", "version", "problems"],
        (
            [
                backend.name,
                _state(backend, faults[backend.name]),
                ", ".join(backend.problems),
            ]
            for backend in found
        ),
        left=3,
    )
    for name, fault in faults.items():
        if fault is not None:
            show.note(f"{name}: {fault}")


def _state(backend: "Backend", fault: str | None) -> str:
    """Return the version of a solver, or why there is none."""
    if not backend.installed:
        return "not installed"
    return "cannot be loaded" if fault else backend.version or ""
