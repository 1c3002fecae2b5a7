"""What the package computes, written down before a change of its form and compared after it.

``python -m tests.record write FOLDER`` records the fingerprints of all sources and named instances,
the table of all claims, the solution of every source, the tables of the default studies and those
of all figures at ``--quick``; ``python -m tests.record compare OLD NEW`` lists what differs. Times,
versions and paths are left out. Parts and systems can be named, so that a part is written in
minutes; all of them take about an hour of one core.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgeopt_papers.claims.tightest import is_found

from edgeopt.bounds import claims
from edgeopt.bounds.claim import instance_label
from edgeopt.bounds.registry import offered
from edgeopt.studies import find_system

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SYSTEMS = ("rescue", "idn", "oinc", "edr", "tapfinger")
MASKED = re.compile(r"seconds|_us$|version|path|folder|host")
RENAMED = (
    (r"(?<=[.+_=])printed\b", "published"),
    (r'(?<=")printed(?=")', "published"),
    (r'(?<=")ours(?=")', "computed"),
    (r'(?<=")(printed)_(?=\w+":)', "published_"),
    (r'(?<=")exhibits(?=":)', "paper_figures"),
    (r'(?<=")differs(?=":)', "caveats"),
    (r'(?<=")notice(?=":)', "takeaway"),
    (r'(?<=")family(?=":)', "group"),
)
"""Words of the first edition and of the second, as they stand in a record."""

EQUAL = 1e-9
"""Relative difference up to which two numbers are the same."""


def _command(*words: str) -> Any:
    """Return what a command prints with ``--json``."""
    start = [sys.executable, "-c", "from edgeopt.cli.main import main; main()"]
    done = subprocess.run([*start, *words, "--json"], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"edgeopt {' '.join(words)}: {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout)


def fingerprints(system: str) -> Any:
    """Return those of all sources and of all instances on which claims are checked by default."""
    record = find_system(system)
    found: dict[str, set[str]] = defaultdict(set)
    for claim in offered(system):
        for name, build in claim.test_instances.items():
            if not is_found(name):  # another search may find another one
                found[name].add(instance_label(build()))
    named = {name: sorted(prints - {""}) for name, prints in sorted(found.items())}
    sources = {
        name: instance_label(source.make()) for name, source in record.instances.sources.items()
    }
    return {"sources": sources, "named": {name: prints for name, prints in named.items() if prints}}


def verdicts(system: str) -> Any:
    """Return the table of all claims, by their identifiers."""
    table = {row.pop("id"): row for row in _command("check", system)["claims"]}
    for name, claim in claims(system).items():
        table[name]["assumptions"] = [one.statement for one in claim.assumptions]
    return table


def solutions(system: str) -> Any:
    """Return what `edgeopt solve` prints of every source."""
    return {
        name: _command("solve", system, "--instance", name)
        for name in find_system(system).instances.sources
    }


def study(system: str) -> Any:
    """Return what the default study prints, by policy."""
    with tempfile.TemporaryDirectory() as folder:
        table = _command("study", system, "--out", f"{folder}/study")
    for one in table if isinstance(table, list) else [table]:  # one for each drawn instance
        one["policies"] = {f"{row['instance']} {row['policy']}": row for row in one["policies"]}
    return table


def figures(system: str) -> Any:
    """Return the tables of all figures, by kind and number."""
    with tempfile.TemporaryDirectory() as folder:
        found = _command("reproduce", system, "--quick", "--out", f"{folder}/figures")
    return {f"{one['kind']} {one['number']}": one for one in found["paper_figures"]}


PARTS: dict[str, Callable[[str], Any]] = {
    "fingerprints": fingerprints,
    "claims": verdicts,
    "solutions": solutions,
    "study": study,
    "figures": figures,
}


def masked(given: Any) -> Any:
    """Leave out what differs from run to run and from machine to machine."""
    if isinstance(given, dict):
        return {key: masked(one) for key, one in given.items() if not MASKED.search(key)}
    return [masked(one) for one in given] if isinstance(given, list) else given


def differences(old: Any, new: Any, place: str = "") -> Iterator[str]:
    """Say where two records differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            here = f"{place}/{key}"
            if key in old and key in new:
                yield from differences(old[key], new[key], here)
            else:
                yield f"{here}: only in the {'old' if key in old else 'new'} record"
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for at, pair in enumerate(zip(old, new, strict=True)):
            yield from differences(*pair, f"{place}[{at}]")
    elif not _equal(old, new):
        yield f"{place}: {old!r} -> {new!r}"


def _equal(old: Any, new: Any) -> bool:
    numbers = all(isinstance(one, int | float) for one in (old, new))
    if numbers and not isinstance(old, bool) and not isinstance(new, bool):
        return math.isclose(old, new, rel_tol=EQUAL, abs_tol=1e-300) or (old != old and new != new)
    return type(old) is type(new) and bool(old == new)


def write(folder: Path, systems: list[str], parts: list[str]) -> None:
    """Write a file per system and part."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in parts:
        for system in systems:
            text = json.dumps(masked(PARTS[part](system)), indent=1, ensure_ascii=False)
            (folder / f"{system}-{part}.json").write_text(text + "\n")
            print(f"{system} {part}: {len(text)} characters", flush=True)


def in_new_words(text: str) -> str:
    """Return a record under the names that things have now."""
    for old, new in RENAMED:
        text = re.sub(old, new, text)
    return text


def compare(old: Path, new: Path) -> int:
    """Print what differs in the files of two folders; return how many places do."""
    found = []
    names = sorted({path.name for folder in (old, new) for path in folder.glob("*.json")})
    for name in names:
        if not ((old / name).exists() and (new / name).exists()):
            found.append(f"{name}: only in one of the folders")
            continue
        pair = [json.loads(in_new_words((folder / name).read_text())) for folder in (old, new)]
        found += [f"{name}{place}" for place in differences(*pair)]
    print(*found, f"{len(names)} files, {len(found)} places differ", sep="\n")
    return len(found)


def main() -> int:
    """Write or compare."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("what", choices=["write", "compare"])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    given = parser.parse_args()
    if len(given.folders) != (1 if given.what == "write" else 2):
        parser.error("write takes one folder, compare two")
    if given.what == "compare":
        return int(compare(*given.folders) > 0)
    write(given.folders[0], given.systems, given.parts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
