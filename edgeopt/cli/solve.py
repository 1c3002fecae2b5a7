"""``edgeopt solve``: a bound on what policies can reach. ``edgeopt solvers``: the solvers."""

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

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
from edgeopt.errors import CertificateError, OptionError
from edgeopt.writing import atomic_write, target_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeopt.solvers import Certificate
    from edgeopt.studies import System


def solve(
    system: SystemArgument,
    instance: InstanceOption = None,
    data: DataOption = None,
    seed: SeedOption = 0,
    bound: Annotated[
        str | None,
        typer.Option(help="Which bound of the system to compute; an unknown name lists them."),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(help="How to solve for the default bound; an unknown name lists the methods."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File for the plan (.csv or .nc).")] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(help="File for the proof of the bound, which edgeopt verify checks."),
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Solve the offline problem of an instance: the best plan found, and a proven bound.

    Studies set policies beside the reference bound of their system. Where another bound is solved
    for by default, the output names the option that computes the reference bound.
    """
    from edgeopt.studies.progress import at_work

    record = chosen_system(system)
    offline = record.offline
    usual = offline.solved or offline.reference
    name = usual if bound is None else bound
    if name not in offline.bounds:
        raise OptionError(f"--bound {name}: unknown; {record.name} has {', '.join(offline.bounds)}")
    entry = offline.bounds[name]
    if name != usual or offline.solve is None:
        for option, given in (("--method", method), ("--out", out)):
            if given is not None:
                raise OptionError(f"{option}: {entry.phrase} of {record.name} does not take it")
    if method is not None and method not in offline.methods:
        raise OptionError(
            f"--method {method}: unknown; {record.name} has {', '.join(offline.methods) or 'none'}"
        )
    if out is not None:
        _check_writable(record, out, force=force)
    if certificate is not None:
        target_of(certificate, force=force)
    chosen = chosen_instance(record, instance, data, seed)
    if entry.offered is not None and not entry.offered(chosen.instance):
        raise OptionError(f"--bound {name}: {entry.phrase} is not computed for this instance")
    with at_work(f"bound {entry.label}"):
        if name == usual and offline.solve is not None:
            options = {} if method is None else {"method": method}
            benchmark = offline.solve(chosen.instance, **options)
        else:
            benchmark = entry.compute(chosen.instance)
        if certificate is not None:
            _certificate(record, name, chosen.instance, benchmark).save(certificate)
    if out is not None and offline.export is not None:
        with atomic_write(out, force=force) as draft:
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
                "benchmark": {"name": name, "bounds": entry.scope, **benchmark.record()},
            }
        )
        return
    _print(record, name, chosen.name, benchmark)
    if out is not None:
        show.note(f"Plan: {out}")
    if certificate is not None:
        show.note(f"Certificate: {certificate}; edgeopt verify {certificate} proves it again.")


def _certificate(record: "System", name: str, instance: Any, benchmark: Any) -> "Certificate":
    """Return the certificate of a bound, that of its plan or that of the system's live page."""
    from edgeopt.studies.live import certificate_of_plan

    entry = record.offline.bounds[name]
    case: Any = SimpleNamespace(
        instance=instance, benchmark=benchmark, label=entry.label, objective=record.objective
    )
    make: Callable[[Any], Callable[[], Certificate]] = certificate_of_plan
    if name == record.offline.reference and record.live is not None:
        make = record.live.certificate
    try:
        return make(case)()
    except CertificateError as error:
        raise OptionError(f"--certificate: {entry.phrase} of {record.name} has {error}") from None


def _print(record: "System", name: str, instance: str, benchmark: Any) -> None:
    from edgeopt.studies.wording import capitalised, duration, number, power

    entry, objective = record.offline.bounds[name], record.objective
    reference, side = record.offline.reference, "most" if objective.sense == "max" else "least"
    show.note(
        f"{capitalised(entry.label)} of {record.name}, instance {instance}: at {side} "
        f"{objective.amount(benchmark.bound, 6)}, proven in {duration(benchmark.seconds)}; the "
        f"best plan found has {objective.amount(benchmark.value, 6)}."
    )
    print()
    method = getattr(getattr(benchmark.plan, "solution", None), "options", {}).get("method")
    show.facts(
        [
            ("best plan", number(benchmark.value, 8)),
            ("proven bound", number(benchmark.bound, 8)),
            ("relative gap", power(benchmark.gap)),
            ("solver", benchmark.solver),
            *([("method", method)] if method else []),
            ("status", benchmark.status),
        ]
    )
    print()
    show.note(f"{capitalised(entry.phrase)} bounds {entry.scope}.")
    if name == reference:
        show.note("It is the reference bound, by which studies divide the values of policies.")
    else:
        other = record.offline.bounds[reference]
        show.note(
            f"The reference bound of studies is {other.phrase} (--bound {reference}); it bounds "
            f"{other.scope}."
        )


def _check_writable(record: "System", out: Path, *, force: bool) -> None:
    """Fail before the solve if its plan cannot be written."""
    suffixes = record.offline.suffixes
    if record.offline.export is None:
        raise OptionError(f"--out: {record.name} does not write plans")
    if out.suffix not in suffixes:
        raise OptionError(f"--out {out}: the name must end in {' or '.join(suffixes)}")
    target_of(out, force=force)


def solvers(as_json: JsonOption = False) -> None:
    """List the solvers, how to install those that are not, and the problems that they take."""
    from edgeopt.solvers.registry import backends

    found: list[dict[str, Any]] = [
        {
            "name": backend.name,
            "installed": backend.installed,
            "version": backend.version if backend.installed else None,
            "fault": backend.fault,
            "problems": list(backend.problems),
            "install": backend.install,
            "tested": backend.tested,
            "default for": backend.default_for,
        }
        for backend in backends()
    ]
    if as_json:
        show.document(found)
        return
    ready = sum(one["installed"] and not one["fault"] for one in found)
    show.note(f"{ready} of {len(found)} solvers can be used.")
    show.facts((f"{one['name']} {_state(one)}", ", ".join(one["problems"])) for one in found)
    for one in found:
        for kind, reason in one["default for"].items():
            show.note(f"{one['name']} is the default for a {kind}: {reason}.")
    for tested in dict.fromkeys(one["tested"] for one in found if one["tested"]):
        names = ", ".join(one["name"] for one in found if one["tested"] == tested)
        show.note(f"{names}: tested {tested}.")
    for one in found:
        if one["fault"] is not None:
            show.note(f"{one['name']}: {one['fault']}")


def _state(solver: dict[str, Any]) -> str:
    """Return the version of a solver, or why there is none."""
    if not solver["installed"]:
        return f"({solver['install']})"
    return "cannot be loaded" if solver["fault"] else solver["version"] or ""
