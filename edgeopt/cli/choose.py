"""Options that several commands have, and the system and instance that they choose."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from edgeopt.errors import OptionError

if TYPE_CHECKING:
    from edgeopt.studies import Source, System

SystemArgument = Annotated[
    str,
    typer.Argument(
        help="System: rescue, idn, oinc, edr, tapfinger, or one from an installed package."
    ),
]
InstanceOption = Annotated[
    str | None,
    typer.Option(
        help="Named source of the system (rescue: tables, paper; idn: topology_1_common, "
        "topology_1, ...; oinc: drawn, calibrated, swinging, physical, tables; edr: drawn, "
        "quiet, tables; tapfinger: several, single, mixed, pointer, tables), or an instance file."
    ),
]
DataOption = Annotated[
    Path | None, typer.Option(help="Folder of raw data to build the instance from.")
]
SeedOption = Annotated[
    int, typer.Option(min=0, help="Seed of the instance, if it is drawn, and of the scenarios.")
]
DrawsOption = Annotated[
    int,
    typer.Option(min=1, help="Number of instances to draw, with consecutive seeds from --seed."),
]
ForceOption = Annotated[
    bool,
    typer.Option(
        "--force", help="Overwrite a file, or write to a folder that edgeopt did not create."
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print a JSON document to standard output.")
]


class Chosen(NamedTuple):
    """An instance, what to call it, where its data come from, and whether others can be drawn."""

    name: str
    instance: Any
    provenance: tuple[str, ...]
    drawn: bool = False


def chosen_system(name: str) -> System:
    """Return the record of a system; the error lists the known ones."""
    from edgeopt.studies import find_system

    return find_system(name)


def chosen_instance(record: System, wanted: str | None, data: Path | None, seed: int) -> Chosen:
    """Return the instance that the options choose."""
    if data is not None:
        if wanted is not None:
            raise OptionError("--instance and --data cannot be used together")
        return _from_raw(record, data, seed)
    sources = record.instances.sources
    if wanted is None:
        wanted = next(iter(sources))
    if wanted in sources:
        return _from_source(wanted, sources[wanted], seed)
    path = Path(wanted)
    if not path.is_file():
        raise OptionError(
            f"--instance {wanted}: neither a file nor a source of {record.name}; "
            f"choose from {', '.join(sources)}"
        )
    return Chosen(path.name, record.instances.load(path), (f"{path.name}, an instance file",))


def chosen_instances(
    record: System, wanted: str | None, data: Path | None, seed: int, draws: int
) -> list[Chosen]:
    """Return the instances that the options choose, one per seed."""
    if draws == 1:
        return [chosen_instance(record, wanted, data, seed)]
    sources = record.instances.sources
    name = next(iter(sources)) if wanted is None else wanted
    if data is not None or name not in sources or not sources[name].seeded:
        raise OptionError(
            f"--draws {draws}: {name if data is None else 'raw data'} cannot be drawn repeatedly"
        )
    drawn = (chosen_instance(record, name, None, seed + more) for more in range(draws))
    return [
        Chosen(f"{name} {seed + more}", one.instance, one.provenance)
        for more, one in enumerate(drawn)
    ]


def _from_source(name: str, source: Source, seed: int) -> Chosen:
    instance = source.make(rng=seed) if source.seeded else source.make()
    return Chosen(name, instance, (f"{name}: {source.title}", *source.provenance()), source.seeded)


def _from_raw(record: System, data: Path, seed: int) -> Chosen:
    from_raw = record.instances.from_raw
    if from_raw is None:
        raise OptionError(f"--data: {record.name} does not read raw data")
    if not data.is_dir():
        raise OptionError(f"--data {data}: no such folder")
    return Chosen("data", from_raw(data, rng=seed), (f"raw data from {data}",))
