"""What training leaves in the package: weights of policies, and series that take long to compute.

``make learners`` makes all of them anew, ``edgeopt reproduce --train`` the series of figures.
"""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from edgeopt import processes
from edgeopt.digests import digest
from edgeopt.errors import InputError, OptionError
from edgeopt.writing import write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pandas as pd


class Series(NamedTuple):
    """A table that training made.

    Attributes
    ----------
    table
        Its rows.
    command
        By which it is made anew.
    code
        Digest of the modules that made it.
    """

    table: pd.DataFrame
    command: str
    code: str


@dataclass(frozen=True)
class Release:
    """A file of the package that training makes.

    Parameters
    ----------
    name
        For ``make learners``: ``"oinc-curves"``.
    path
        The file: ``.safetensors`` or ``.csv``.
    command
        By which a user makes the same.
    make
        ``make(folder)`` trains, with what it needs to go on after an interruption in the folder;
        it returns the rows of a table, or the path of a checkpoint.
    code
        Modules whose digest a table carries, with all that they import.
    alone
        Modules of those whose imports do not count.
    """

    name: str
    path: Path
    command: str
    make: Callable[[Path], pd.DataFrame | Path]
    code: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()

    @cached_property
    def digest(self) -> str:
        """The digest of the code as it is now."""
        return digest(frozenset(self.code), alone=frozenset(self.alone))

    def write(self, folder: Path, path: Path | None = None) -> Path:
        """Train, and write the file, by default the one in the package."""
        made, target = self.make(folder), self.path if path is None else path
        if isinstance(made, Path):
            return write_file(target, made.read_bytes())
        text = io.StringIO()
        text.write(f"# {self.command}\n# code {self.digest}\n")
        made.to_csv(text, index=False, lineterminator="\n")
        return write_file(target, text.getvalue().encode())

    def read(self, path: Path | None = None) -> Series:
        """Return the table, by default the one in the package."""
        import pandas as pd

        source = self.path if path is None else path
        with source.open(encoding="utf-8", newline="") as file:
            first, second = (file.readline().rstrip("\n") for _ in range(2))
            if not (first.startswith("# ") and second.startswith("# code ")):
                raise InputError(source.name, "two lines with command and digest are missing")
            table = pd.read_csv(file)
        return Series(table, first.removeprefix("# "), second.removeprefix("# code "))

    @property
    def said(self) -> str:
        """How the table was made, in a sentence."""
        series = self.read()
        same = "" if series.code == self.digest else ", by an earlier state of the code"
        return f"The series comes with the package{same}; `{series.command}` makes it anew."


def weights(path: Path, system: str, learner: str, *, seed: int = 0, **options: str) -> Release:
    """Return the release of a policy that a learner of a system trains with its default schedule.

    Several releases of a learner differ in its options, as on the command line.
    """

    def made(folder: Path) -> Path:
        from edgeopt.learning import train
        from edgeopt.studies.learners import find_learner
        from edgeopt.studies.registry import find_system

        entry = find_learner(find_system(system), learner)
        one = entry.make(seed=seed, updates=entry.updates, **options)
        return train(one, folder, updates=entry.updates, every=entry.every).path

    said = "".join(f" --{name} {value}" for name, value in options.items())
    command = f"edgeopt train {system} {learner}{said} --seeds {seed}"
    return Release(f"{system}-{path.stem}", path, command, made)


def releases() -> dict[str, Release]:
    """Return all releases of all systems by name."""
    from edgeopt.studies.registry import find_system, systems

    return {one.name: one for system in systems() for one in find_system(system).releases}


def make(names: Sequence[str], folder: Path, *, workers: int = 2) -> Iterator[Path]:
    """Make releases anew, all if none is named, and yield the files as they are written.

    What was interrupted goes on if the folder is the same.
    """
    known = releases()
    for name in names:
        if name not in known:
            raise OptionError(
                f"nothing released is called {name!r}; choose from {', '.join(known)}"
            )
    chosen = [known[name] for name in names or known]
    with processes.pool(workers, ordered=False) as run:
        yield from run((_write, (one.name, folder / one.name)) for one in chosen)


def _write(name: str, folder: Path) -> Path:
    return releases()[name].write(folder)


def main() -> None:
    """Make the releases that are named on the command line, or all."""
    for path in make(sys.argv[2:], Path(sys.argv[1])):
        print(path, flush=True)


if __name__ == "__main__":
    main()
