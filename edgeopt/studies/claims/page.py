"""The check of claims as one self-contained HTML page, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgeopt.bounds.verdict import Finding
from edgeopt.studies.claims.counterexample import digits
from edgeopt.studies.pages import rendering
from edgeopt.studies.wording import plural
from edgeopt.writing import Folder

if TYPE_CHECKING:
    from pathlib import Path

    from edgeopt.studies.claims.verdict_table import Checked, CheckedClaim


def write(checked: Checked, out: str | Path, *, force: bool = False) -> Path:
    """Write ``index.html`` and ``claims.json``."""
    folder = Folder(out, "check", force=force)
    page = folder.write("index.html", render(checked))
    folder.write("claims.json", checked.to_json() + "\n")
    return page


def render(checked: Checked) -> str:
    """Return the page as text."""
    return rendering.render(
        "claims.html.j2",
        checked=checked,
        digits=digits,
        sentences=checked.sentences(),
        counts=checked.counts,
        systems=[
            _system(name, checked.titles.get(name, name), claims)
            for name, claims in checked.by_system.items()
        ],
    )


def _system(name: str, title: str, claims: list[CheckedClaim]) -> dict[str, Any]:
    true = [one for one in claims if not one.known_false]
    held, loose = (
        sum(one.verdict.verdict is finding for one in true)
        for finding in (Finding.HOLDS, Finding.LOOSE)
    )
    false = [one for one in claims if one.refuted]
    return {
        "name": name,
        "title": title,
        "paper": "; ".join(dict.fromkeys(one.claim.source.paper for one in claims)),
        "summary": f"{held} of {plural(len(true), 'claim')} {'holds' if held == 1 else 'hold'}, "
        f"{loose} more {'is' if loose == 1 else 'are'} loose; "
        f"{len(false)} known to be false are refuted.",
        "claims": claims,
        "published": [one for one in false if one.published],
        "forms": [one for one in false if not one.published],
    }
