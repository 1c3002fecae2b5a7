"""``edgeopt verify``: certificates, proven anew."""

from math import isinf
from pathlib import Path
from typing import Annotated, Any

import typer

from edgeopt.cli import show
from edgeopt.cli.choose import JsonOption, SeedOption, chosen_instance, chosen_system
from edgeopt.errors import OptionError

_PROGRAMS = (".mps", ".lp")


def verify(
    files: Annotated[
        list[str], typer.Argument(help="Certificates: files of `certificate().save`.")
    ],
    instance: Annotated[
        str | None,
        typer.Option(
            help="The instance that they should be about: a file, a folder or .zip of tables, a "
            "built-in instance of the system, or for any linear program its .mps or .lp file. The "
            "program in a certificate is then compared with that of the instance."
        ),
    ] = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> int:
    """Verify certificates in exact arithmetic.

    The exit code is 0 if all are proven, 1 if one is refused or about something else than the
    instance, and 2 if one cannot be read. A copy of edgeopt/checker.py does the same without
    edgeopt, except for the comparison with an instance.
    """
    from edgeopt.studies.progress import progress_bar

    found = []
    with progress_bar(len(files)) as step:
        for name in files:
            step(name, 0)
            found.append(_verified(name, instance, seed))
            step(name)
    if as_json:
        show.document([{"file": name, **one} for name, one in zip(files, found, strict=True)])
    else:
        for name, one in zip(files, found, strict=True):
            show.note(f"{name}: {_said(one)}")
    return max(int(one["code"]) for one in found)


def _verified(name: str, instance: str | None, seed: int) -> dict[str, Any]:
    """Return what a file proves, and whether its program is that of an instance."""
    from edgeopt import checker

    if not Path(name).is_file():  # a pipe may never say anything, a device never end
        found = "is no regular file" if Path(name).exists() else "no such file"
        return {"code": 2, "reason": found}
    try:
        content, data = checker.opened(name)
        sense, bound, point = checker.examine(content, data)
        objective, violation = (None, None) if point is None else map(float, point[:2])
        proven = float(bound)
    except checker.ProofError as error:
        return {"code": error.args[0], "reason": error.args[1]}
    except OverflowError:
        return {"code": 2, "reason": "numbers beyond 1e308"}
    said = {
        "code": 0,
        "kind": content["kind"],
        "about": content["about"],
        "sense": sense,
        "bound": proven,
        "objective": objective,
        "violation": violation,
    }
    if point is not None and point[2]:
        said["misses"] = point[2]
    if instance is None:
        return said
    same = _is_of(content["kind"], data, instance, seed)
    if not same:
        said |= {"code": 1, "reason": f"its program is not that of {instance}"}
    return {**said, "instance": same}


def _is_of(kind: str, data: Any, instance: str, seed: int) -> bool:
    """Tell whether a program is that of an instance."""
    if "." not in kind:  # of no system
        from edgeopt.solvers import LinearProgram
        from edgeopt.solvers.certificates import same_program
        from edgeopt.solvers.exact_proofs import data_of

        if Path(instance).suffix not in _PROGRAMS:
            raise OptionError(
                f"--instance {instance}: a linear program can be compared with a file of one, "
                f"{' or '.join(_PROGRAMS)}; certificates of a system with its instances"
            )
        return same_program(data_of(LinearProgram.read(Path(instance))), data)
    from edgeopt.collection.certification import is_program_of

    record = chosen_system(kind.partition(".")[0])
    chosen = chosen_instance(record, instance, None, seed).instance
    return is_program_of(kind, data, record.name, chosen)


def _said(found: dict[str, Any]) -> str:
    """Return a line that says what was found."""
    if found["code"] == 2:
        return f"cannot be read: {found['reason']}"
    if "bound" not in found:
        return f"refused: {found['reason']}"
    most = found["violation"]
    broken = f"violates nothing by more than {most!r}" if most else "violates nothing"
    side = "at least" if found["sense"] == "min" else "at most"
    said = f"proven: the optimum is {side} {found['bound']!r}"
    if isinf(found["bound"]) and most is None:
        said = "proven: no point satisfies the rows and bounds"
    elif isinf(found["bound"]):
        said = f"proven: there is no best value; its point, on a ray of better ones, {broken}"
    elif "misses" in found:
        said += f"; its point {found['misses']}, so it proves no value"
    elif found["objective"] is not None:
        said += f"; its point has {found['objective']!r} and {broken}"
    if found.get("instance"):
        said += "; the program is that of the instance"
    elif "reason" in found:
        said += f"; refused: {found['reason']}"
    return said
