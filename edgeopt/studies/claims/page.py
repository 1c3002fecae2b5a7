"""The check of claims as one self-contained HTML page, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgeopt.bounds.verdict import Finding
from edgeopt.errors import OptionError
from edgeopt.studies.claims.written_out import digits
from edgeopt.studies.pages import rendering
from edgeopt.studies.pages.rendering import in_html
from edgeopt.studies.registry import find_system
from edgeopt.studies.wording import plural
from edgeopt.writing import Folder

if TYPE_CHECKING:
    from pathlib import Path

    from edgeopt.studies.claims.checked import Checked, CheckedClaim


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
        systems=[_system(name, claims) for name, claims in checked.by_system.items()],
    )


def title_of(system: str) -> str:
    """Return the title of a system, or its name if no system is called so."""
    try:
        return find_system(system).title
    except OptionError:
        return system


def _system(name: str, claims: list[CheckedClaim]) -> dict[str, Any]:
    rows = [_row(one) for one in claims]
    true = [one for one in claims if not one.known_false]
    held = sum(one.verdict.verdict is Finding.HOLDS for one in true)
    false = [row for row in rows if row["one"].refuted]
    said = f"{plural(held, 'claim')} of {len(true)} {'holds' if held == 1 else 'hold'}"
    papers = dict.fromkeys(one.claim.source.paper for one in claims)
    return {
        "name": name,
        "title": title_of(name),
        "paper": "; ".join(papers),
        "summary": f"{said}; {len(false)} known to be false are refuted.",
        "rows": rows,
        "published": [row for row in false if row["one"].published],
        "readings": [row for row in false if not row["one"].published],
    }


def _row(one: CheckedClaim) -> dict[str, Any]:
    verdict = one.verdict
    return {
        "one": one,
        "id": verdict.claim,
        "short": verdict.claim.partition(".")[2],
        "source": verdict.source.number,
        "statement": in_html(one.claim.statement),
        "verdict": verdict,
        "finding": verdict.verdict.value,
        "tone": one.tone,
        "relation": one.relation,
        "slack": one.slack,
        "refutation": one.refutation if one.refuted else None,
    }
