"""``edgeopt generate`` and ``edgeopt template``: instances drawn, and as tables."""

from pathlib import Path
from typing import Annotated, Any

import typer

from edgeopt.cli import show
from edgeopt.cli.choose import (
    ForceOption,
    SeedOption,
    SettingsOption,
    SystemArgument,
    chosen_instance,
    chosen_system,
    parsed_settings,
)
from edgeopt.errors import OptionError
from edgeopt.writing import atomic_write, target_of


def generate(
    system: SystemArgument,
    out: Annotated[Path, typer.Option(help="File to write.")],
    settings: SettingsOption = None,
    seed: SeedOption = 0,
    force: ForceOption = False,
) -> None:
    """Draw an instance of a system and save it to a file."""
    from edgeopt.instances.csv_tables import is_zip
    from edgeopt.instances.instance import Instance
    from edgeopt.studies.progress import at_work

    record = chosen_system(system)
    ours = issubclass(record.instances.kind, Instance)  # others may be saved in another format
    if ours and out.suffix not in ("", ".nc") and not is_zip(out):
        raise OptionError(
            f"--out {out}: a file ends in .nc, or in .zip for tables; 'edgeopt template "
            f"{record.name}' writes tables to a folder"
        )
    draw = record.instances.generate
    if draw is None:
        raise OptionError(f"{record.name} has no generator of instances")
    chosen = parsed_settings(settings or (), draw)
    target_of(out, force=force)
    with at_work("drawing"):
        instance = draw(rng=seed, **chosen)
        if is_zip(out):
            instance.save(out)
        else:
            with atomic_write(out, force=force) as draft:
                instance.save(draft)
    show.note(f"{out}: {instance!r}, fingerprint {instance.fingerprint()}")


def template(
    system: SystemArgument,
    out: Annotated[Path, typer.Option(help="Folder to write.")],
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Instance whose tables are written: a built-in instance of the system, or a file; "
            "by default a small one.",
        ),
    ] = None,
    seed: SeedOption = 0,
    force: ForceOption = False,
) -> None:
    """Write an instance as a folder of tables, one CSV file per field, for data of your own."""
    record = chosen_system(system)
    if source is not None:
        instance = chosen_instance(record, source, None, seed, option="--from").instance
    else:
        make = record.instances.template or record.instances.random_small
        if make is None:
            raise OptionError(f"{record.name} has no small instance; name one with --from")
        instance = with_example_labels(make(seed))
    if not callable(getattr(instance, "to_folder", None)):
        raise OptionError(f"{type(instance).__name__} cannot be written as tables")
    instance.to_folder(out, force=force)
    show.note(f"{out}: {instance!r}, fingerprint {instance.fingerprint()}")
    show.note(f"Change the tables, then: edgeopt study {record.name} --instance {out}")


def with_example_labels(instance: Any) -> Any:
    """Return the instance with a label such as ``server-1`` for each entry that has no name."""
    if not hasattr(instance, "with_labels"):
        return instance
    missing = {axis: n for axis, n in instance.axes.items() if axis not in instance.labels}
    return instance.with_labels(
        {axis: [f"{axis}-{place}" for place in range(1, n + 1)] for axis, n in missing.items()}
    )
