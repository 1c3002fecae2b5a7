"""What training leaves in the package: weights of policies, and series that take long to compute.

``make learners`` makes all of them anew, ``edgeopt reproduce --train`` the series of figures.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import shutil
import sys
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from edgeopt import processes
from edgeopt.errors import EdgeOptError, InputError, OptionError
from edgeopt.studies.wording import duration
from edgeopt.writing import write_file
from edgeopt_papers import cases
from edgeopt_papers.provenance import Stamp, differences, stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    import pandas as pd

    from edgeopt.studies.progress import Step


class Series(NamedTuple):
    """A table that training made.

    Attributes
    ----------
    table
        Its rows.
    command
        By which it is made anew.
    stamp
        Version and commit of the code that made it.
    """

    table: pd.DataFrame
    command: str
    stamp: Stamp


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
    """

    name: str
    path: Path
    command: str
    make: Callable[[Path], pd.DataFrame | Path]

    def file_in(self, folder: Path) -> Path:
        """Return the file of this name in a folder."""
        return folder / f"{self.name}{self.path.suffix}"

    def write(self, folder: Path, path: Path | None = None) -> Path:
        """Train, and write the file, by default the one in the package where it differs."""
        made, target = self.make(folder), self.path if path is None else path
        if isinstance(made, Path):
            return write_file(target, made.read_bytes())
        if path is None and target.exists():
            present = self.read().table.to_dict("list")
            if not list(differences(present, made.to_dict("list"))):
                return target
        text = io.StringIO()
        text.write(f"# {self.command}\n# {stamp()}\n")
        made.to_csv(text, index=False, lineterminator="\n")
        return write_file(target, text.getvalue().encode())

    def read(self, path: Path | None = None) -> Series:
        """Return the table, by default the one in the package."""
        import pandas as pd

        source = self.path if path is None else path
        with source.open(encoding="utf-8", newline="") as file:
            first, second = (file.readline().rstrip("\n") for _ in range(2))
            made = re.fullmatch(r"# edgeopt (\S+?)(?:, commit (\S+))?", second)
            if not first.startswith("# ") or made is None:
                raise InputError(source.name, "two lines with command and version are missing")
            table = pd.read_csv(file)
        return Series(table, first.removeprefix("# "), Stamp(made[1], made[2] or ""))

    def made_by_this_code(self, path: Path) -> bool:
        """Tell whether a file has the table, made by the present version and commit."""
        try:
            return self.read(path).stamp == stamp()
        except (OSError, ValueError):
            return False

    @property
    def said(self) -> str:
        """How the table of the package was made, in a sentence."""
        series = self.read()
        return (
            f"The series comes with the package, made with {series.stamp}; `{series.command}` "
            "makes it anew."
        )


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

    said = "".join(f" --set {name}={value}" for name, value in options.items())
    command = f"edgeopt train {system} {learner}{said} --seeds {seed}"
    return Release(f"{system}-{path.stem}", path, command, made)


def releases() -> dict[str, Release]:
    """Return all releases of all systems by name."""
    from edgeopt.studies.registry import systems

    return {one.name: one for system in systems() for one in cases.releases(system)}


def chosen(names: Sequence[str]) -> list[Release]:
    """Return releases by name, all if none is named."""
    known = releases()
    for name in names:
        if name not in known:
            raise OptionError(
                f"nothing released is called {name!r}; choose from {', '.join(known)}"
            )
    return [known[name] for name in dict.fromkeys(names or known)]


TIMES: Final = Path(__file__).with_name("processor_time.csv")
"""What making each release takes: a row of `Times` each."""

_CLOSE: Final = 1.25
"""Ratio of two times up to which the present row stays."""


class Times(NamedTuple):
    """What making a release takes.

    Attributes
    ----------
    name
        Of the release.
    seeds
        From which its networks, if any, are trained, or instances drawn.
    seconds
        Processor time.
    whole
        Whether this was measured over all of it; otherwise over parts, of which there are several.
    """

    name: str
    seeds: int
    seconds: float
    whole: bool


def times(path: Path | None = None) -> dict[str, Times]:
    """Return what making each release took, by name."""
    with (path or TIMES).open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file)
    return {
        name: Times(name, int(seeds), float(seconds), whole == "True")
        for name, seeds, seconds, whole in rows
    }


def remember(name: str, seconds: float, path: Path | None = None) -> None:
    """Keep what making a release took, where the present row is of parts or far from it."""
    known = times(path)
    row = known.get(name)
    if row is None or (row.whole and 1 / _CLOSE <= seconds / row.seconds <= _CLOSE):
        return
    known[name] = row._replace(seconds=round(seconds, 1), whole=True)
    text = io.StringIO()
    rows = ((one.name, one.seeds, f"{one.seconds:g}", one.whole) for one in known.values())
    csv.writer(text, lineterminator="\n").writerows([Times._fields, *rows])
    write_file(path or TIMES, text.getvalue().encode())


def foretold(wanted: Sequence[Release], workers: int) -> Iterator[str]:
    """Yield lines that say how long each release takes, and all by some processes."""
    known = times()
    rows = [known[one.name] for one in wanted if one.name in known]
    for row in rows:
        yield f"{row.name}: about {duration(row.seconds)} of processor time"
    if len(rows) > 1:
        whole = sum(row.seconds for row in rows)
        least = max(whole / workers, *(row.seconds for row in rows))
        by = f"{workers} processes" if workers > 1 else "one process"
        yield f"together: {duration(whole)}, at best within {duration(least)} by {by}"


class Made(NamedTuple):
    """A file that was made, the processor time that it took, s, and whether it was made at once."""

    name: str
    path: Path
    seconds: float
    whole: bool


def make(
    wanted: Sequence[Release],
    folder: Path,
    *,
    into: Path | None = None,
    workers: int = 2,
    say: bool = False,
) -> Iterator[Made]:
    """Train releases, several at a time, the longest first, and yield their files when finished.

    What a training needs to go on after an interruption is in a folder of the same name in
    `folder`. Files go into the package, or with `into` to that folder. With `say`, a line is
    printed when a training begins.
    """
    import_module("edgeopt.learning.networks")  # says what to install if there is no PyTorch
    known = times()
    longest = sorted(wanted, key=lambda one: -known[one.name].seconds if one.name in known else 0.0)
    with processes.pool(workers, ordered=False) as run:
        yield from run((_make, (one, folder / one.name, into, say)) for one in longest)


def _make(one: Release, folder: Path, into: Path | None, say: bool) -> Made:
    import_module("edgeopt.learning.networks").torch.set_num_threads(1)
    began = time.process_time()
    goes_on = folder.exists() and any(folder.iterdir())
    if say:
        print(f"{one.name}: {'goes on' if goes_on else 'begins'}", flush=True)
    path = one.write(folder, None if into is None else one.file_in(into))
    return Made(one.name, path, time.process_time() - began, not goes_on)


def anew(wanted: Collection[Release], folder: Path, *, workers: int, step: Step) -> dict[str, Path]:
    """Train series into ``NAME.csv`` of a folder, where this code has not done so yet.

    Returned are the files by the name of the release.
    """
    paths = {one.name: one.file_in(folder) for one in wanted}
    missing = [one for one in wanted if not one.made_by_this_code(paths[one.name])]
    for made in make(missing, folder, into=folder, workers=workers):
        step(made.name)
    return paths


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the releases that are named on the command line, or all; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m edgeopt_papers.releases", description=main.__doc__
    )
    parser.add_argument("folder", type=Path, help="what is needed to go on after an interruption")
    parser.add_argument("names", nargs="*", help="releases; by default all")
    parser.add_argument("--workers", type=int, default=2, help="processes, of one thread each")
    given = parser.parse_args(arguments)
    try:
        wanted = chosen(given.names)
        for line in foretold(wanted, given.workers):
            print(line, flush=True)
        for made in make(wanted, given.folder, workers=given.workers, say=True):
            if made.whole:
                remember(made.name, made.seconds)
            # The next training of this release is to be a new one.
            shutil.rmtree(given.folder / made.name, ignore_errors=True)
            print(f"{made.name}: {made.path}, {duration(made.seconds)} of processor time")
    except EdgeOptError as error:
        print(f"edgeopt: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted; the same command goes on", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    from edgeopt_papers import releases as made  # workers find it by this name

    sys.exit(made.main())
