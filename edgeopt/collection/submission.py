"""Submissions to the scoreboard: one file of a competitor's results, and what is wrong with it."""

from __future__ import annotations

import json
import sys
import tempfile
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

import edgeopt
from edgeopt.collection.certification import is_program_of
from edgeopt.collection.compare import ONLINE, wrong
from edgeopt.collection.comparison import OFFLINE
from edgeopt.collection.entries import OPTIMAL, edition, improvements, row_of, rows
from edgeopt.collection.measures import machine
from edgeopt.errors import CertificateError, EdgeOptError, OptionError
from edgeopt.reading import content_of
from edgeopt.solvers.certificates import read_certificate
from edgeopt.solvers.tolerance import relative_gap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from edgeopt.collection.comparison import Bench
    from edgeopt.solvers.certificates import Certificate

    Row = Mapping[str, Any]

FORMAT: Final = "edgeopt.submission/1"

NOISE: Final = 5.0
"""Standard errors by which a mean may pass a bound on its expectation."""

ROUNDING: Final = 1e-12
"""Share of the largest side of a linear program by which a vertex may violate rows."""

_TEXT, _NUMBER, _WHOLE = "a text", "a finite number", "a whole number"

HEAD: Final[Mapping[str, str]] = {
    "format": _TEXT, "edition": _TEXT, "competitor": _TEXT, "version": _TEXT, "source": _TEXT,
    "settings": "an object", "machine": "an object", "threads": _WHOLE, "results": "a list",
    "certificates": "an object",
}  # fmt: skip
"""What a submission has, and what each of it has to be."""

RESULTS: Final[Mapping[str, Mapping[str, str]]] = {
    OFFLINE: {"target": _NUMBER, "value": _NUMBER, "bound": _NUMBER, "seconds": _NUMBER},
    ONLINE: {
        "value": _NUMBER, "se": _NUMBER, "violated": _NUMBER, "seconds": _NUMBER,
        "scenarios": _WHOLE, "seed": _WHOLE, "bounds": "a text or empty",
    },
}  # fmt: skip
"""What a result has beside ``part``, ``instance`` and ``fingerprint``, or ``failed``, by part."""


def submissions(found: Bench) -> dict[str, dict[str, Any]]:
    """Return the submission of each competitor of a comparison, as the content of a JSON file."""
    facts = machine()
    names = found.results["competitor"].unique()
    return {name: _submission(found, name, facts) for name in names}


def _submission(found: Bench, competitor: str, facts: Mapping[str, str]) -> dict[str, Any]:
    from edgeopt.collection.jobs import scenarios_of

    results = []
    for row in found.results[found.results["competitor"] == competitor].to_dict("records"):
        fingerprint = row_of(row["instance"])["fingerprint"]
        one = {"part": row["part"], "instance": row["instance"], "fingerprint": fingerprint}
        wanted = RESULTS[row["part"]]
        if row["part"] == ONLINE:
            row |= {"scenarios": found.runs, "seed": scenarios_of(fingerprint)}
        if row["failed"]:
            one["failed"] = row["failed"]
            wanted = {name: wanted[name] for name in ("target",) if name in wanted}
        results.append(one | {name: row[name] for name in wanted})
    return {
        "format": FORMAT, "edition": edition(), "competitor": competitor,
        "version": edgeopt.__version__, "source": f"edgeopt {edgeopt.__version__}",
        "settings": {"time_limit": found.time_limit}, "machine": dict(facts), "threads": 1,
        "results": results,
        "certificates": {
            name: json.loads(text)
            for (name, who), text in found.certificates.items()
            if who == competitor
        },
    }  # fmt: skip


class Examined(NamedTuple):
    """What is wrong with a submission, and by what it improves on what is known."""

    results: int
    certificates: int
    faults: list[str]
    improved: list[str]


def read_submission(path: Path) -> dict[str, Any]:
    """Return the content of a submission, or raise."""
    try:
        content = json.loads(content_of(path).decode())
    except OSError as error:
        raise OptionError(f"{path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise OptionError(f"{path}: is no JSON document: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise OptionError(f"{path}: is no submission; format must be {FORMAT!r}")
    return content


def examined(content: Row, *, again: bool = False) -> Examined:
    """Examine a submission in full: form, data, bounds, certificates; if wanted, run it again."""
    faults = list(_misshapen(content, HEAD, "submission"))
    if faults:
        return Examined(0, 0, faults, [])
    if content["edition"] != edition():
        faults.append(f"edition: {content['edition']!r}; this one is {edition()!r}")
    proofs = {}
    for name, document in content["certificates"].items():
        try:
            proofs[name] = _proof(name, document)
        except EdgeOptError as error:
            faults.append(f"certificates: {name}: {error}")
    faults += _knowing(content)
    improved: list[str] = []
    known: set[tuple[Any, ...]] = set()
    for place, one in enumerate(content["results"]):
        where = f"results: {place}"
        found = list(_misplaced(one, where))
        if not found:
            where = f"results: {place}, {one['instance']}"
            key = (one["part"], one["instance"], one.get("target"))
            if key in known:
                found = [f"{where}: is there twice"]
            known.add(key)
        if not found and "failed" not in one:
            judged = _offline if one["part"] == OFFLINE else _online
            found = [f"{where}: {said}" for said in judged(one, proofs, improved)]
            if again and one["part"] == ONLINE and not found:
                found = [f"{where}: {said}" for said in _repeated(content, one)]
        faults += found
    faults += [
        f"certificates: {name}: no result of this instance is in the submission"
        for name in proofs
        if (OFFLINE, name) not in {key[:2] for key in known}
    ]
    return Examined(len(content["results"]), len(proofs), faults, list(dict.fromkeys(improved)))


def _knowing(content: Row) -> Iterator[str]:
    """Say where the competitor is a policy that knows the future, which is listed apart."""
    from edgeopt.studies import find_system

    systems = {
        rows()[one["instance"]]["system"]
        for one in content["results"]
        if isinstance(one, dict)
        and one.get("part") == ONLINE
        and str(one.get("instance")) in rows()
    }
    for name in systems:
        for entry in find_system(name).policies.entries:
            if entry.name == content["competitor"] and not entry.causal:
                yield f"competitor: {entry.name} knows the future; such policies are listed apart"


def _misshapen(row: Any, wanted: Mapping[str, str], where: str) -> Iterator[str]:
    """Say what is missing, unknown, or of another type."""
    if not isinstance(row, dict):
        yield f"{where}: must be an object"
        return
    for name in row.keys() - wanted.keys():
        yield f"{where}: {name!r} is unknown"
    for name, kind in wanted.items():
        if name not in row:
            yield f"{where}: {name} is missing"
        elif not _IS[kind](row[name]):
            yield f"{where}: {name} must be {kind}, got {row[name]!r:.80}"


_IS: Final[Mapping[str, Callable[[Any], bool]]] = {
    _TEXT: lambda one: isinstance(one, str) and bool(one),
    _WHOLE: lambda one: type(one) is int and one >= 0,
    _NUMBER: lambda one: type(one) in (int, float) and abs(one) <= sys.float_info.max,
    "a text or empty": lambda one: isinstance(one, str),
    "an object": lambda one: isinstance(one, dict),
    "a list": lambda one: isinstance(one, list),
}


def _misplaced(one: Any, where: str) -> Iterator[str]:
    """Say what is wrong with the form of a result, and whether its data are those of the entry."""
    base = dict.fromkeys(("part", "instance", "fingerprint"), _TEXT)
    if not isinstance(one, dict) or one.get("part") not in [*RESULTS]:
        yield f"{where}: part must be {' or '.join(RESULTS)}"
        return
    wanted: dict[str, str] = base | dict(RESULTS[one["part"]])
    if "failed" in one:
        wanted = base | {"failed": _TEXT} | {n: k for n, k in wanted.items() if n == "target"}
    faults = list(_misshapen(one, wanted, where))
    yield from faults
    if faults:
        return
    row = rows().get(one["instance"])
    if row is None:
        yield f"{where}: {one['instance']!r} is no instance of the collection"
    elif one["fingerprint"] != row["fingerprint"]:
        yield f"{where}: fingerprint is not that of {one['instance']}; other data were used"


def _proof(name: str, document: Any) -> Any:
    """Return a certificate of an instance, proven, or raise."""
    from edgeopt.collection.entries import load

    row = row_of(name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        try:
            made = read_certificate(path)
        except CertificateError as error:
            raise CertificateError(str(error).removeprefix(f"{path}: ")) from None
    if made.about.get("instance") != row["fingerprint"]:
        raise CertificateError("is about another instance")
    if not is_program_of(made.kind, made.data, row["system"], load(name)):
        raise CertificateError("its program is not that of the instance")
    return made


def _offline(one: Row, proofs: Mapping[str, Any], improved: list[str]) -> Iterator[str]:
    """Say what contradicts proofs, and what lacks one; note what improves on the entry."""
    row = row_of(one["instance"])
    sign = 1.0 if row["goal"] == "max" else -1.0
    gap = relative_gap(one["value"], one["bound"])
    if not 0 < one["target"] < 1:
        yield f"target must be between 0 and 1, got {one['target']:g}"
    elif gap > one["target"] * (1 + 1e-9):
        yield f"its gap {gap:.1e} is above its target {one['target']:g}; call it failed"
    if sign * (one["value"] - one["bound"]) > OPTIMAL * max(abs(one["value"]), abs(one["bound"])):
        yield f"its value {one['value']:.9g} is beyond its own bound {one['bound']:.9g}"
    if one["seconds"] < 0:
        yield "seconds must not be negative"
    better = improvements(row, one["value"], one["bound"])
    if not better:
        said = wrong(one, row)
        if said:
            yield said
        return
    proof = proofs.get(one["instance"])
    known = row["offline"]
    for name in better:
        mine, old = one[name], known["best" if name == "value" else "bound"]
        proves = None if proof is None else proof.objective if name == "value" else proof.bound
        if name == "value" and proof is not None and (proof.violation or 0.0) > _tolerated(proof):
            proves = None
        if proves is None or relative_gap(mine, proves) > OPTIMAL:
            yield (
                f"its {name} {mine:.9g} is better than the known {old:.9g}, and no certificate "
                "proves it; give one, or have it confirmed by a second solver"
            )
        else:
            improved.append(f"{one['instance']}: {name} {mine:.9g} instead of {old:.9g}")


def _tolerated(proof: Certificate) -> float:
    """Return by how much the point of a certificate may violate a row: by rounding, if at all."""
    if proof.kind != "linear-program":
        return 0.0
    sides = [abs(float(one)) for name in ("row_low", "row_high") for one in proof.data[name]]
    return ROUNDING * max((one for one in sides if isfinite(one)), default=0.0)


def _online(one: Row, _proofs: Mapping[str, Any], _improved: list[str]) -> Iterator[str]:
    """Say what contradicts the bound of the entry on what policies can reach, and its scenarios."""
    from edgeopt.collection.jobs import scenarios_of

    row = row_of(one["instance"])
    if one["seed"] != scenarios_of(row["fingerprint"]):
        yield f"its scenarios have another seed than {scenarios_of(row['fingerprint'])}"
    if one["scenarios"] < 2:
        yield "2 scenarios are the fewest"
    if min(one["se"], one["violated"], one["seconds"]) < 0:
        yield "se, violated and seconds must not be negative"
    bound, sign = row["online"]["bound"], 1.0 if row["goal"] == "max" else -1.0
    if bound is None or one["bounds"] != row["online"]["bounds"]:
        return  # no bound of the entry holds for it
    beyond = sign * (one["value"] - bound)
    if beyond > NOISE * one["se"] + 10 * OPTIMAL * abs(bound):
        yield (
            f"its mean {one['value']:.9g} is beyond {row['online']['bounds']} = {bound:.9g} by "
            f"more than {NOISE:g} standard errors"
        )


def _repeated(content: Row, one: Row) -> Iterator[str]:
    """Run a policy again, and say what differs."""
    from edgeopt.collection.jobs import online_job

    found = online_job(row_of(one["instance"]), content["competitor"], one["scenarios"]).compute()
    if found["failed"]:
        yield f"cannot be run again: {found['failed']}"
        return
    pairs = (("value", "mean"), ("se", "se"), ("violated", "violated"))
    for name, own in pairs:
        if not np.isclose(one[name], found[own], rtol=1e-9, atol=1e-12 * abs(found["mean"])):
            yield f"run again its {name} is {found[own]:.12g}, not {one[name]:.12g}"
