"""Pictures of small studies, drawn anew whenever the documentation is built."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgeopt.studies import find_system, study
from edgeopt.studies.pictures.canvas import draw, entitle, standalone_svg

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FOLDER = "pictures"


def draw_all(app: Sphinx) -> None:
    """Run every study that the settings name and write its pictures beside the pages."""
    folder = Path(app.srcdir) / FOLDER
    folder.mkdir(exist_ok=True)
    for name, (source, runs, policies, pictures) in app.config.study_pictures.items():
        record = find_system(name)
        wanted = [picture for picture in record.pictures if picture.name in pictures]
        paths = {picture.name: folder / f"{name}-{picture.name}.svg" for picture in wanted}
        if all(path.exists() for path in paths.values()):
            continue
        instance = record.sources[source].make()
        plain = replace(record, claims="")
        case = study({source: instance}, policies, system=plain, runs=runs).cases[0]
        for picture in wanted:
            figure = draw(picture, case)
            entitle(figure, picture.title(case))
            paths[picture.name].write_text(standalone_svg(figure), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the setting and draw before pages are read."""
    app.add_config_value("study_pictures", {}, "env")
    app.connect("builder-inited", draw_all)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
