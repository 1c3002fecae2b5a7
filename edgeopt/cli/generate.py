"""``edgeopt generate``: draw an instance and save it."""

import ast
import difflib
import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgeopt.cli import show
from edgeopt.cli.choose import ForceOption, SeedOption, SystemArgument, chosen_system
from edgeopt.errors import OptionError
from edgeopt.writing import placed, target_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def generate(
    system: SystemArgument,
    out: Annotated[Path, typer.Option(help="File to write.")],
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="A parameter of the instance; can be repeated."
        ),
    ] = None,
    seed: SeedOption = 0,
    force: ForceOption = False,
) -> None:
    """Draw an instance of a system and save it to a file."""
    record = chosen_system(system)
    draw = record.instances.generate
    if draw is None:
        raise OptionError(f"{record.name} has no generator of instances")
    known = {
        name: parameter
        for name, parameter in inspect.signature(draw).parameters.items()
        if name != "rng"
    }
    chosen = _settings(settings or (), known)
    target_of(out, force=force)
    try:
        inspect.signature(draw).bind(rng=seed, **chosen)
    except TypeError as error:
        raise OptionError(f"--set: {error}") from None
    instance = draw(rng=seed, **chosen)
    with placed(out, force=force) as draft:
        instance.save(draft)
    show.note(f"{out}: {instance!r}, fingerprint {instance.fingerprint()}")


def _settings(given: "Sequence[str]", known: "Mapping[str, inspect.Parameter]") -> dict[str, Any]:
    """Parse ``name=value``, each value as the kind of thing that the default is."""
    chosen = {}
    for setting in given:
        name, equals, text = setting.partition("=")
        if not equals:
            raise OptionError(f"--set {setting}: write it as name=value")
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
            raise OptionError(f"--set {setting}: no parameter {name}; {hint}")
        chosen[name] = _value(setting, text, known[name])
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
        words = re.findall(r"[\"'](\w+)[\"']", inspect.formatannotation(parameter.annotation))
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
