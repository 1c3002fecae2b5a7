"""The study as one HTML page that needs nothing else: no network, no file beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgeopt.studies import wording
from edgeopt.studies.pictures.canvas import draw, inline_svg, standalone_svg
from edgeopt.studies.summary import headlines, sentences

if TYPE_CHECKING:
    from pathlib import Path

    from edgeopt.studies.result import Case, Study

__all__ = ["render", "write"]


def write(study: Study, folder: Path) -> Path:
    """Write the page and, for other uses, the table, the JSON document and the pictures.

    Parameters
    ----------
    study
        What to show.
    folder
        Directory to write to; made if it does not exist.

    Returns
    -------
    Path
        The page.
    """
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    for number, case in enumerate(study.cases):
        suffix = f"-{number + 1}" if len(study.cases) > 1 else ""
        for picture in study.system.pictures:
            path = folder / "pictures" / f"{picture.name}{suffix}.svg"
            path.write_text(standalone_svg(draw(picture, case, titled=True)), encoding="utf-8")
    study.table.to_csv(folder / "table.csv", index=False)
    (folder / "study.json").write_text(study.to_json() + "\n", encoding="utf-8")
    page = folder / "index.html"
    page.write_text(render(study), encoding="utf-8")
    return page


def render(study: Study) -> str:
    """Return the page as text.

    Parameters
    ----------
    study
        What to show.
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("edgeopt.studies", "template"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {name: getattr(wording, name) for name in wording.__all__}
    return environment.get_template("page.html.j2").render(
        study=study,
        system=study.system,
        settings=study.settings,
        cases=[_shown(case, f"case{number}") for number, case in enumerate(study.cases)],
    )


def _shown(case: Case, key: str) -> dict[str, Any]:
    """Gather what the template shows of one case."""
    best = case.best(kept=True)
    return {
        "key": key,
        "case": case,
        "headlines": headlines(case),
        "summary": sentences(case),
        "notes": case.system.notes(case),
        "sizes": case.system.describe(case.instance),
        "rows": [
            {**row, "title": case.entries[row["policy"]].title}
            for row in case.table.to_dict("records")
        ],
        "best": None if best is None else best["policy"],
        "pictures": [
            {
                "name": picture.name,
                "title": picture.title(case),
                "caption": picture.caption,
                "svg": inline_svg(
                    draw(picture, case),
                    prefix=f"{key}-{picture.name}-",
                    label=picture.title(case),
                ),
            }
            for picture in case.system.pictures
        ],
    }
