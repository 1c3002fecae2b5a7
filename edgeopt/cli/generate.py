"""``edgeopt generate``: draw an instance and save it."""

from pathlib import Path
from typing import Annotated

import typer

from edgeopt.cli import show
from edgeopt.cli.choose import (
    ForceOption,
    SeedOption,
    SettingsOption,
    SystemArgument,
    chosen_system,
    parsed_settings,
)
from edgeopt.errors import OptionError
from edgeopt.instances.csv_tables import is_zip
from edgeopt.instances.instance import Instance
from edgeopt.writing import placed, target_of


def generate(
    system: SystemArgument,
    out: Annotated[Path, typer.Option(help="File to write.")],
    settings: SettingsOption = None,
    seed: SeedOption = 0,
    force: ForceOption = False,
) -> None:
    """Draw an instance of a system and save it to a file."""
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
    instance = draw(rng=seed, **chosen)
    if is_zip(out):
        instance.save(out)
    else:
        with placed(out, force=force) as draft:
            instance.save(draft)
    show.note(f"{out}: {instance!r}, fingerprint {instance.fingerprint()}")
