"""``{gallery}``: a card per system, with the picture that its live page shows at first.

``python docs/_extensions/gallery.py FOLDER`` writes the pictures to files, for the README.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.parsers.rst import Directive

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SYSTEMS = ("rescue", "idn", "oinc", "edr", "tapfinger")


def drawn(system: str) -> dict[str, str]:
    """Return the title of a system, the sentence of its first view, and the picture."""
    from edgeopt.studies import find_system
    from edgeopt.studies.live import instance_of
    from edgeopt.studies.view import view

    record = find_system(system)
    shown = view(instance_of(record))
    return {"title": record.title, "text": shown.text, "svg": shown.svg}


class Gallery(Directive):
    """One card per system."""

    def run(self) -> list[nodes.Node]:
        from html import escape

        from kept import kept

        cards = []
        for system in SYSTEMS:
            made = kept(["gallery", system], lambda system=system: drawn(system))
            cards.append(
                f'<a class="card-of-system" href="{system}.html">{made["svg"]}'
                f"<p><strong>{escape(made['title'])}</strong></p></a>"
            )
        return [nodes.raw("", f'<div class="gallery">{"".join(cards)}</div>', format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("gallery", Gallery)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def main(folder: str) -> None:
    for system in SYSTEMS:
        path = Path(folder) / f"{system}.svg"
        path.write_text(drawn(system)["svg"] + "\n", encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main(sys.argv[1])
