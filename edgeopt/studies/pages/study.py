"""Views of a study: a self-contained HTML page, its JSON document, a picture, a notebook's cell."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from edgeopt.errors import OptionError
from edgeopt.studies.claims.verdict_table import with_claims
from edgeopt.studies.files import SCHEMA, csv_text, plain
from edgeopt.studies.pages import rendering
from edgeopt.studies.pages.instance import view_of
from edgeopt.studies.pictures import overview as first
from edgeopt.studies.pictures.canvas import entitle, inline_svg, shown, standalone_svg, svg
from edgeopt.studies.pictures.figure import draw, every_way
from edgeopt.studies.sentences import (
    ends_heading,
    findings,
    lead,
    of_checks,
    of_own_bounds,
    sentence,
    title,
)
from edgeopt.studies.wording import uncapitalised
from edgeopt.writing import Folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.studies.entries import Log, Picture
    from edgeopt.studies.results import Case, Study


def write(study: Study, out: str | Path, *, force: bool = False) -> Path:
    """Write the page and, for other uses, the table, the JSON document and the pictures.

    Every log of the system becomes a file too, ``NAME.csv`` with one block per policy, and
    every comparison one with a row per policy.
    """
    folder = Folder(out, "study", force=force)
    drawings = _drawings(study)
    page = folder.write("index.html", _render(study, drawings))
    for (number, name), one in drawings.items():
        suffix = "" if number is None or len(study.detailed) == 1 else f"-{number + 1}"
        folder.write(f"pictures/{name}{suffix}.svg", standalone_svg(one.svg, one.title))
    folder.write("table.csv", csv_text(study.table))
    for log in study.system.reporting.logs:
        folder.write(f"{log.name}.csv", csv_text(whole(study, log)))
    for comparison in study.comparisons:
        rows = study.comparison(comparison.name)
        folder.write(f"{comparison.name}.csv", csv_text(rows))
    folder.write("study.json", to_json(study) + "\n")
    return page


def whole(study: Study, log: Log) -> pd.DataFrame:
    """Join a log of all instances and policies, named in the first two columns."""
    import pandas as pd

    parts = []
    for case in study.cases:
        for policy in case.trajectories:
            rows = log.rows(case, policy)
            rows.insert(0, "policy", policy)
            rows.insert(0, "instance", case.name)
            parts.append(rows)
    return pd.concat(parts, ignore_index=True)


def document(case: Case) -> dict[str, Any]:
    """Return what is written of one instance."""
    system, settings, name = case.system, case.settings, case.system.offline.reference
    over = "runs on this instance"
    others = {key: b.record() for key, b in case.benchmarks.items() if key != name}
    return {
        "schema": SCHEMA,
        "system": system.name,
        "instance": {
            "name": case.name,
            "fingerprint": str(case.instance.fingerprint()),
            **system.instances.describe(case.instance),
        },
        "benchmark": {"name": name, **case.benchmark.record(), "others": others},
        "intervals": {"over": over, "runs": settings.runs, "confidence": settings.confidence},
        "policies": [{**row, "seed": settings.seed} for row in case.table.to_dict("records")],
        "bounds": {name: {"value": one.value, "label": one.label, "bounds": one.scope,
                          "checks": [check.name for check in one.checks]}
                   for name, one in case.bounds.items()},
        "checks": {policy: {name: asdict(one) | {"said": one.said} for name, one in found.items()}
                   for policy, found in case.judged.items()},
        "claims": [verdict.as_dict() for verdict in case.verdicts],
        **({"trained": case.trained} if case.trained else {}),
    }  # fmt: skip


def to_json(study: Study, indent: int | None = 2) -> str:
    """Write all instances of a study, one alone as an object."""
    records = [plain(document(case)) for case in study.cases]
    content = records[0] if len(records) == 1 else records
    return json.dumps(content, indent=indent, ensure_ascii=False, allow_nan=False)


def notebook(study: Study) -> str:
    """Return in HTML what a notebook shows: the first instance at a glance."""
    return view_of(study.cases[0])._repr_html_()


def pictures_of(case: Case) -> tuple[Picture, ...]:
    """Return the pictures of an instance, first that of the policies beside their bounds."""
    return (first.FIRST, *case.system.reporting.pictures)


def plot(case: Case, name: str) -> Figure:
    """Draw one picture of an instance, with its title."""
    pictures = {picture.name: picture for picture in pictures_of(case)}
    if name not in pictures:
        raise OptionError(
            f"picture {name!r} is unknown to {case.system.name}; choose from {', '.join(pictures)}"
        )
    return shown(draw(pictures[name], case, titled=True))


def overall(study: Study) -> Figure:
    """Draw the policies over all instances, with the title."""
    drawn = first.drawn(study.standings)
    entitle(drawn, title(study))
    return shown(drawn)


def render(study: Study) -> str:
    """Return the page as text."""
    return _render(study, _drawings(study))


OVERALL: Final = "overall"
"""File name of the picture over all instances, and prefix of what is in it."""


class _Drawing(NamedTuple):
    """A picture, drawn once for the page and for its own file."""

    title: str
    svg: str
    narrow: str = ""
    said: str = ""


_Drawings: TypeAlias = "dict[tuple[int | None, str], _Drawing]"
"""By the number of a case, or none for all of them together, and the name of a picture."""


def _drawings(study: Study) -> _Drawings:
    """Draw every picture."""
    drawn: _Drawings = {}
    for number, case in enumerate(study.detailed):
        for picture in pictures_of(case):
            made = every_way(picture, case)
            narrow = "" if made.narrow is None else svg(made.narrow)
            drawn[number, picture.name] = _Drawing(
                picture.title(case), svg(made.wide), narrow, made.said
            )
    if len(study.cases) > 1:
        drawn[None, OVERALL] = _Drawing(title(study), svg(first.drawn(study.standings)))
    return drawn


def _render(study: Study, drawings: _Drawings) -> str:
    return rendering.render(
        "page.html.j2",
        study=study,
        system=study.system,
        settings=study.settings,
        overall=_overall(study, drawings) if len(study.cases) > 1 else None,
        cases=[_shown(case, number, drawings) for number, case in enumerate(study.detailed)],
        # Of one instance they say what its table says.
        comparisons=[
            (comparison, study.comparison(comparison.name).to_dict("records"))
            for comparison in (study.comparisons if len(study.cases) > 1 else ())
        ],
        files=[
            ("table.csv", "the table"),
            *((f"{log.name}.csv", uncapitalised(log.title)) for log in study.system.reporting.logs),
            *((f"{one.name}.csv", uncapitalised(one.title)) for one in study.comparisons),
            ("study.json", "all of it"),
        ],
        recipe=recipe(study),
    )


def recipe(study: Study) -> str:
    """Write the lines of Python that make a study again."""
    system, settings = study.system, study.settings
    first_line, names = next(iter(settings.provenance), ""), [case.name for case in study.cases]
    source = first_line.partition(":")[0]
    known = system.instances.sources.get(source)
    instance = "instance  # the one that was studied"
    if known is not None and first_line == f"{source}: {known.title}":
        make = f"find_system({system.name!r}).instances.sources[{source!r}].make"
        seeds = range(settings.seed, settings.seed + len(names))
        every = [f"{source} {seed}" for seed in seeds]
        instance = f"{make}({f'rng={settings.seed}' * known.seeded})"
        if names == every:
            named = f'f"{source} {{seed}}": {make}(rng=seed)'
            instance = f"{{{named} for seed in range({seeds.start}, {seeds.stop})}}"
    elif ": named instance;" in first_line:
        instance = f"edgeopt.collection.load({source!r})"
    chosen = list(study.cases[0].entries)
    usual = [one.name for one in system.policies.entries if one.default]
    policies = "" if sorted(chosen) == sorted(usual) else f", {chosen}"
    runs = "'auto'" if settings.most else settings.runs
    loads = ", edgeopt.collection" if "collection" in instance else ""
    needs = "from edgeopt.studies import find_system" if "find_system" in instance else ""
    return "\n".join(filter(None, (
        f"import edgeopt{loads}" + (f"; {needs}" if needs else ""),
        f"instance = {instance}",
        f"edgeopt.study(instance{policies}, runs={runs}, rng={settings.seed}).page('report')",
    )))  # fmt: skip


def _overall(study: Study, drawings: _Drawings) -> dict[str, Any]:
    """Gather what the template shows of several instances together."""
    best = study.standings.first
    return {
        **_summary(study, OVERALL, drawings[None, OVERALL]),
        "best": None if best is None else best.policy,
    }


def _summary(
    compared: Case | Study, key: str, wide: _Drawing, bounds: Mapping[str, float] | None = None
) -> dict[str, Any]:
    """Gather the words, and the first picture for wide and for narrow windows."""
    found, answer = compared.standings, sentence(compared)
    narrow = svg(first.drawn(found, narrow=True, bounds=bounds))
    drawing = wide._replace(narrow=narrow, said=first.said(found))
    return {
        "key": key,
        "sentence": answer,
        "more": lead(compared).removeprefix(answer).strip(),
        "findings": findings(compared),
        "picture": {
            "name": first.FIRST.name,
            "title": first.heading(found),
            "caption": first.caption(found),
            **_inline(f"{key}-{first.FIRST.name}", drawing),
        },
    }


def _inline(key: str, one: _Drawing) -> dict[str, str]:
    """Return the elements for wide and for narrow windows."""
    said = one.said or one.title
    narrow = inline_svg(one.narrow, prefix=f"{key}-narrow-", label=said) if one.narrow else ""
    return {"svg": inline_svg(one.svg, prefix=f"{key}-", label=said), "narrow": narrow}


def _shown(case: Case, number: int, drawings: _Drawings) -> dict[str, Any]:
    """Gather what the template shows of one case."""
    key = f"case{number}"
    best = case.winner
    summary = _summary(case, key, drawings[number, first.FIRST.name], first.bounds_of(case))
    return {
        **summary,
        "case": case,
        "information": any(case.information.values()),
        "ends": ends_heading(case),
        "apart": len(case.causal) < len(case.entries),
        # Where the same benchmark bounds all policies, one column says it.
        "own_bounds": bool((case.table["bound"] != case.system.offline.reference).any()),
        "claims": with_claims(case.verdicts),
        "checks": [*of_own_bounds(case), *of_checks(case)],
        "rows": [{**row, "title": case.title(row)} for row in case.rows.values()],
        "compiled": all(trajectory.compiled for trajectory in case.trajectories.values()),
        "references": [
            case.entries[name].title for name in dict.fromkeys(case.references.values())
        ],
        "best": None if best is None else best["policy"],
        "pictures": [
            summary["picture"],
            *(
                {
                    "name": picture.name,
                    "title": one.title,
                    "caption": picture.caption,
                    **_inline(f"{key}-{picture.name}", one),
                }
                for picture in case.system.reporting.pictures
                for one in [drawings[number, picture.name]]
            ),
        ],
    }
