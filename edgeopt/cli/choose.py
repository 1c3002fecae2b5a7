"""Options that several commands have, and the system and instance that they choose."""

from __future__ import annotations

import ast
import difflib
import inspect
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from edgeopt import collection
from edgeopt.cli import complete
from edgeopt.collection.entries import rows
from edgeopt.errors import OptionError
from edgeopt.writing import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from edgeopt.studies import Source, System

SystemArgument = Annotated[
    str,
    typer.Argument(
        help="System: rescue, idn, oinc, edr, tapfinger, or one from an installed package.",
        autocompletion=complete.systems,
    ),
]
InstanceOption = Annotated[
    str | None,
    typer.Option(
        help="Built-in instance of the system (rescue: tables, paper; idn: topology_1_common, "
        "topology_1, ...; oinc: drawn, calibrated, swinging, physical, tables; edr: drawn, "
        "quiet, tables; tapfinger: several, single, mixed, pointer, tables), a named instance as "
        "edgeopt collection list shows them, an instance file, or a folder or .zip of tables as "
        "edgeopt template writes them.",
        autocompletion=complete.sources,
    ),
]
DataOption = Annotated[
    Path | None, typer.Option(help="Folder of raw data to build the instance from.")
]
SeedOption = Annotated[
    int, typer.Option(min=0, help="Seed of the instance, if it is drawn, and of the scenarios.")
]
DrawsOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Number of instances to draw, with consecutive seeds from --seed; the default depends "
        "on the system.",
    ),
]
ForceOption = Annotated[
    bool,
    typer.Option(
        "--force", help="Overwrite a file, or write to a folder that edgeopt did not create."
    ),
]
PortOption = Annotated[
    int | None, typer.Option(min=1, max=65535, help="Port; any free one by default.")
]
NoBrowserOption = Annotated[bool, typer.Option("--no-browser", help="Only print the address.")]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print a JSON document to standard output.")
]


SettingsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="A parameter of the drawn instance; can be repeated."
    ),
]


def separated(given: Sequence[str] | None) -> list[str] | None:
    """Return the names of an option that takes them comma-separated or repeated."""
    return None if given is None else [name for one in given for name in one.split(",") if name]


class Chosen(NamedTuple):
    """An instance, what to call it, where its data come from, and whether others can be drawn."""

    name: str
    instance: Any
    provenance: tuple[str, ...]
    drawn: bool = False


def chosen_system(name: str) -> System:
    """Return the record of a system, whatever its case; the error lists the known ones."""
    from edgeopt.studies import find_system, systems

    return find_system(name.lower() if name.lower() in systems() else name)


def chosen_instance(
    record: System,
    wanted: str | None,
    data: Path | None,
    seed: int,
    settings: Sequence[str] = (),
    *,
    option: str = "--instance",
    every_note: bool = False,
) -> Chosen:
    """Return the instance that the options choose; of several notes of a file say how many."""
    if data is not None:
        _refuse("--data", settings)
        if wanted is not None:
            raise OptionError("--instance and --data cannot be used together")
        return _from_raw(record, data, seed)
    sources = record.instances.sources
    if wanted is None:
        wanted = next(iter(sources))
    if wanted in sources:
        return _from_source(wanted, sources[wanted], seed, settings)
    if wanted in rows():
        return _from_collection(record, wanted, settings)
    path = Path(wanted)
    if not path.exists():
        raise OptionError(
            f"{option} {wanted}: neither a file, a folder, a named instance nor a source of "
            f"{record.name}; choose from {', '.join(sources)}"
        )
    _refuse(wanted, settings)
    kind = "a folder of tables" if path.is_dir() else "an instance file"
    instance = record.instances.load(path)
    notes = tuple(getattr(instance, "notes", ()))
    said: Sequence[str] = notes
    if len(notes) > 1 and not every_note:
        said = [f"{wanted}: {len(notes)} notes on what was read; edgeopt study prints them"]
    for note in said:
        print(f"edgeopt: {printable(note)}", file=sys.stderr)
    return Chosen(path.name, instance, (f"{path.name}, {kind}", *notes))


def chosen_instances(
    record: System,
    wanted: str | None,
    data: Path | None,
    seed: int,
    draws: int | None,
    settings: Sequence[str] = (),
) -> list[Chosen]:
    """Return the instances that the options choose, one per seed.

    Without `draws` there are as many as the record says, or one where none can be drawn.
    """
    sources = record.instances.sources
    name = next(iter(sources)) if wanted is None else wanted
    drawn = data is None and name in sources and sources[name].seeded
    if draws is None:
        draws = record.instances.draws if drawn else 1
    if draws == 1:
        return [chosen_instance(record, wanted, data, seed, settings, every_note=True)]
    if not drawn:
        raise OptionError(
            f"--draws {draws}: {name if data is None else 'raw data'} is one instance, and cannot "
            "be drawn; leave --draws out"
        )
    every = (chosen_instance(record, name, None, seed + more, settings) for more in range(draws))
    return [
        Chosen(f"{name} {seed + more}", one.instance, one.provenance)
        for more, one in enumerate(every)
    ]


def _from_source(name: str, source: Source, seed: int, settings: Sequence[str]) -> Chosen:
    if not source.seeded:
        _refuse(name, settings)
        return Chosen(name, source.make(), (f"{name}: {source.title}", *source.provenance()))
    taken = parsed_settings(settings, source.make, source.settings)
    instance = source.make(rng=seed, **taken)
    title = f"{source.title}, with {', '.join(settings)}" if settings else source.title
    return Chosen(name, instance, (f"{name}: {title}", *source.provenance()), True)


def _from_collection(record: System, name: str, settings: Sequence[str]) -> Chosen:
    row = rows()[name]
    if row["system"] != record.name:
        system = row["system"]
        raise OptionError(
            f"--instance {name}: is an instance of {system}; write {system} in place of "
            f"{record.name}"
        )
    _refuse(name, settings)
    said = f"{name}: named instance; data: {row['source']}; licence: {row['licence']}"
    return Chosen(name, collection.load(name), (said,))


def _refuse(name: str, settings: Sequence[str]) -> None:
    """Refuse parameters of an instance that is not drawn."""
    if settings:
        raise OptionError(f"--set {settings[0]}: {name} is not drawn, so it takes no parameters")


def _from_raw(record: System, data: Path, seed: int) -> Chosen:
    from_raw = record.instances.from_raw
    if from_raw is None:
        raise OptionError(f"--data: {record.name} does not read raw data")
    if not data.is_dir():
        from edgeopt.instances.formats import hint

        said = f"takes a folder{hint(data, 'folder')}" if data.exists() else "no such folder"
        raise OptionError(f"--data {data}: {said}")
    return Chosen("data", from_raw(data, rng=seed), (f"raw data from {data}",))


def parsed_settings(
    given: Sequence[str], make: Callable[..., Any], listing: Callable[..., Any] | None = None
) -> dict[str, Any]:
    """Parse ``name=value``, parameters of a function, each as the kind of thing its default is.

    `listing` is the function that lists what `make` hands on to it, where it hands on all.
    """
    taken = inspect.signature(make)
    listed = (taken if listing is None else inspect.signature(listing)).parameters
    known = {
        name: parameter
        for name, parameter in listed.items()
        if name not in {"rng", *getattr(listing, "keywords", ())}
        if parameter.kind is not parameter.VAR_KEYWORD
        if listing is None or parameter.kind is parameter.KEYWORD_ONLY
    }
    chosen: dict[str, Any] = {}
    for setting in given:
        name, equals, text = setting.partition("=")
        if not equals:
            raise OptionError(f"--set {setting}: write it as name=value")
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known) or 'none'}"
            raise OptionError(f"--set {setting}: no parameter {name}; {hint}")
        if name in chosen:
            raise OptionError(f"--set {setting}: {name} is set twice; keep one")
        chosen[name] = _value(setting, text, known[name])
    try:
        taken.bind(rng=0, **chosen)
    except TypeError as error:
        raise OptionError(f"--set: {error}") from None
    return chosen


def _value(setting: str, text: str, parameter: inspect.Parameter) -> Any:
    default = parameter.default
    if isinstance(default, str):
        return text
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        value = text
    if isinstance(default, bool):
        words = re.findall(r"[\"'](\w+)[\"']", str(parameter.annotation))
        if not isinstance(value, bool) and value not in words:
            *others, last = "True", "False", *words
            raise OptionError(f"--set {setting}: must be {', '.join(others)} or {last}")
        return value
    if isinstance(default, tuple):
        if not isinstance(value, tuple | list) or len(value) != len(default):
            raise OptionError(f"--set {setting}: must be several numbers, such as {default}")
        for one in value:
            if not isinstance(one, int | float) or isinstance(one, bool):
                raise OptionError(f"--set {setting}: {one!r} is no number; write {default}")
        return tuple(value)
    numeric = isinstance(default, int | float)
    if numeric and (not isinstance(value, int | float) or isinstance(value, bool)):
        raise OptionError(f"--set {setting}: must be a number, such as {default}")
    if parameter.annotation in ("int", int) and isinstance(value, float):
        raise OptionError(f"--set {setting}: must be a whole number, such as {default}")
    return value
