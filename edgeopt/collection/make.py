"""Make the collection: copies, best known values, bounds, the scoreboard, and fronts of policies.

``python -m edgeopt.collection.make`` computes what is not kept in ``.collection`` yet, and writes
the results into the package. Values of others that are better stay.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
from fnmatch import fnmatchcase
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import edgeopt
from edgeopt.collection import fronts, jobs
from edgeopt.collection.entries import (
    CERTIFICATES,
    CLOSED,
    COPIES,
    FILE,
    LARGEST,
    LARGEST_PRICES,
    OPTIMAL,
    PARTS,
    certificate_of,
    copy_of,
    drawn,
    gap_of,
    read,
)
from edgeopt.collection.optima import ENUMERATED, PROBLEMS
from edgeopt.errors import CollectionError
from edgeopt.solvers.tolerance import relative_gap
from edgeopt.studies import find_system
from edgeopt.studies.sweeps import Store, compute_jobs
from edgeopt.writing import write_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Row = dict[str, Any]

SCOREBOARD: Final = FILE.with_name("scoreboard.json")
SCENARIOS: Final = {"s": 200, "m": 100, "l": 20}
"""Most scenarios on which policies are compared, by size."""

LIMIT: Final = 60.0
"""Seconds for an offline problem."""

BY: Final = "edgeopt"


def draw_all(rows: Sequence[Row]) -> None:
    """Draw all instances, write the copies of small ones, and complete the rows of new ones."""
    COPIES.mkdir(exist_ok=True)
    for row in rows:
        instance = drawn(row)
        parts = PARTS[row["system"]](instance)
        name = "-".join([row["system"], row["kind"], *(f"{a}{n}" for a, n in parts.items())])
        if row["name"] != name:
            raise CollectionError(f"{row['name']}: must be called {name}, by its dimensions")
        if row["fingerprint"] not in ("", instance.fingerprint()):
            raise CollectionError(f"{name}: its data have changed; other data need another name")
        row["fingerprint"], row["dimensions"] = instance.fingerprint(), parts
        place = copy_of(row)
        if not place.exists():
            instance.save(place)
            if place.stat().st_size > LARGEST:
                place.unlink()


def scenarios(row: Mapping[str, Any]) -> int:
    """Return the number of scenarios of policies, no more than studies of the system have."""
    return min(SCENARIOS[row["size"]], find_system(row["system"]).policies.runs)


def policies_of(row: Mapping[str, Any]) -> list[str]:
    """Return the policies of the scoreboard: all published ones, and the recommended one."""
    record = find_system(row["system"])
    names = [entry.name for entry in jobs.published(record)]
    return list(dict.fromkeys([jobs.recommended(record).name, *names]))


def offline_of(row: Row, found: Row, today: str) -> Row:
    """Return what is known of the offline problem now."""
    certificate = {
        name.removeprefix("certificate_"): text
        for name, text in found.items()
        if name.startswith("certificate_")
    }
    best, bound, method = found["value"], found["bound"], found["solver"]
    size = max(abs(best), abs(bound))
    status = _status(best, bound, certificate)
    if relative_gap(best, bound) <= OPTIMAL:
        second = found.get("second")
        agreed = second is not None and abs(second - best) <= OPTIMAL * size
        if status != "optimal" and (agreed or ENUMERATED in method):
            status = "optimal-solver"
        if agreed:
            method += f"; {found['second_solver']}"
    made = {
        "problem": PROBLEMS[row["system"]].label, "best": best, "bound": bound, "status": status,
        "method": method, "certificate": certificate, "by": BY, "date": today,
        "version": edgeopt.__version__,
    }  # fmt: skip
    old = row["offline"]
    if not old:
        return made
    sign = 1.0 if row["goal"] == "max" else -1.0
    if sign * (old["best"] - best) > OPTIMAL * size:
        return _with_tighter_bound(old, made, sign)
    same = abs(old["best"] - best) <= OPTIMAL * size
    if same and sign * (bound - old["bound"]) > OPTIMAL * size and status in ("closed", "open"):
        return dict(old)  # a search that had more time
    return made | ({"date": old["date"]} if same and old["status"] == status else {})


def _status(best: float, bound: float, certificate: Mapping[str, str]) -> str:
    """Return how well a value is proven, short of a second solver."""
    gap = relative_gap(best, bound)
    if gap <= OPTIMAL and "sha256" in certificate:
        return "optimal"
    return "open" if gap > CLOSED else "closed"


def _with_tighter_bound(old: Row, made: Row, sign: float) -> Row:
    """Keep a better value, with the bound that proves more."""
    size = max(abs(old["best"]), abs(made["bound"]))
    if sign * (old["bound"] - made["bound"]) <= OPTIMAL * size:
        return dict(old)
    if sign * (old["best"] - made["bound"]) > OPTIMAL * size:
        raise CollectionError(f"bound {made['bound']:.9g} excludes the value {old['best']:.9g}")
    status = _status(old["best"], made["bound"], made["certificate"])
    return old | {"bound": made["bound"], "certificate": made["certificate"], "status": status}


def online_of(row: Row, ran: Mapping[str, Row], bounds: Mapping[str, Row], today: str) -> Row:
    """Return the best policy: one without violations if there is one."""
    sign = 1.0 if row["goal"] == "max" else -1.0
    kept = {name: one for name, one in ran.items() if not one["failed"] and isfinite(one["mean"])}
    clean = {name: one for name, one in kept.items() if not one["violated"]} or kept
    name = max(clean, key=lambda each: sign * clean[each]["mean"])
    one = clean[name]
    bound = bounds.get(one["bound"])
    made = {
        "best": one["mean"], "se": one["se"], "policy": name,
        "bound": bound["bound"] if bound else None, "bounds": bound["label"] if bound else "",
        "scenarios": scenarios(row), "by": BY, "date": today,
    }  # fmt: skip
    old = row["online"]
    same = old and (old["policy"], old["scenarios"]) == (name, made["scenarios"])
    if same and abs(old["best"] - made["best"]) <= OPTIMAL * abs(made["best"]):
        made["date"] = old["date"]
    return made


def scores_of(row: Row, ran: Mapping[str, Row], bounds: Mapping[str, Row]) -> list[Row]:
    """Return a row of the scoreboard for each policy."""
    scores = []
    for name, one in ran.items():
        score = {"instance": row["name"], "policy": name}
        failed = one["failed"] or "" if isfinite(one.get("mean", 0.0)) else "some run never ends"
        if failed:
            scores.append(score | {"failed": failed})
            continue
        bound, gap = bounds.get(one["bound"]), None
        if bound is not None:
            gap = gap_of(row, one["mean"], bound["bound"])
        score |= {"mean": one["mean"], "se": one["se"], "violated": one["violated"], "gap": gap}
        scores.append(score)
    return scores


def make_offline(rows: Sequence[Row], how: Mapping[str, Any], folder: str, today: str) -> None:
    """Solve and prove all offline problems."""
    wanted = {row["name"]: jobs.best_job(row, jobs.GAP, LIMIT, folder) for row in rows}
    found = compute_jobs(list(wanted.values()), **how)
    for row in rows:
        row["offline"] = offline_of(row, found[wanted[row["name"]].key], today)
        _ship_certificate(row, Path(folder))


def _ship_certificate(row: Row, folder: Path) -> None:
    """Put a small certificate into the package, if it is the one that the entry names."""
    CERTIFICATES.mkdir(exist_ok=True)
    place = certificate_of(row)
    place.unlink(missing_ok=True)
    content = folder / place.name
    if not content.exists() or content.stat().st_size > LARGEST_PRICES:
        return
    packed = content.read_bytes()
    if hashlib.sha256(packed).hexdigest() == row["offline"]["certificate"].get("sha256"):
        write_file(place, packed)


def make_online(rows: Sequence[Row], how: Mapping[str, Any], today: str) -> list[Row]:
    """Run all policies, and return the rows of the scoreboard."""
    ran = {
        row["name"]: {n: jobs.online_job(row, n, scenarios(row)) for n in policies_of(row)}
        for row in rows
    }
    found = compute_jobs([job for each in ran.values() for job in each.values()], **how)
    bounds = {}
    for row in rows:
        used = {found[job.key]["bound"] for job in ran[row["name"]].values()} - {""}
        bounds[row["name"]] = {n: jobs.bound_job(row, n, scenarios(row)) for n in sorted(used)}
    found |= compute_jobs([job for each in bounds.values() for job in each.values()], **how)
    scores = []
    for row in rows:
        values = {name: found[job.key] for name, job in ran[row["name"]].items()}
        proven = {name: found[job.key] for name, job in bounds[row["name"]].items()}
        row["online"] = online_of(row, values, proven, today)
        scores += scores_of(row, values, proven)
    return scores


def main() -> None:
    """Make what is missing, and write it into the package.

    Names are those of offline problems; the scoreboard is made of all instances.
    """
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", help="of which, as patterns; by default of all")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--store", default=".collection", help="folder of finished jobs")
    parser.add_argument(
        "--only", choices=("offline", "online", "fronts"), help="leave the rest as it is"
    )
    given = parser.parse_args()
    document = read()
    rows: list[Row] = document["entries"]
    draw_all(rows)
    _write(FILE, document)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    folder = Path(given.store)
    how: dict[str, Any] = {"store": Store(folder / "jobs"), "workers": given.workers}
    if given.only in (None, "offline"):
        (folder / "certificates").mkdir(exist_ok=True)
        wanted = [row for row in rows if not given.names or _matches(row, given.names)]
        make_offline(wanted, how, str((folder / "certificates").resolve()), today)
        _write(FILE, document)
    if given.only in (None, "online"):
        scores = make_online(rows, how, today)
        _write(FILE, document)
        _write(SCOREBOARD, {"edition": document["edition"], "policies": scores})
    if given.only in (None, "fronts"):
        _write(fronts.FRONTS, fronts.make_fronts(how))


def _matches(row: Row, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(row["name"], pattern) for pattern in patterns)


def _write(path: Path, document: Any) -> None:
    write_file(path, json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


if __name__ == "__main__":
    main()
