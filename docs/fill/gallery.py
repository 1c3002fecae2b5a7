"""``python docs/fill/gallery.py FOLDER``: pictures and badges of the README, as files.

A picture is what the live page of a system shows at first.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SYSTEMS = ("rescue", "idn", "oinc", "edr", "tapfinger")


def drawn(system: str) -> str:
    """Return the picture of the first view of a system."""
    from edgeopt.studies import find_system
    from edgeopt.studies.live import instance_of
    from edgeopt.studies.view import view

    record = find_system(system)
    return sized(view(instance_of(record)).svg)


def sized(svg: str) -> str:
    """A view as a file, as wide as its text is meant to be read."""
    return svg.replace('style="width:100%;max-width:30rem"', 'width="480"')


def badges() -> dict[str, str]:
    """Return what is drawn in a line of the README: version, Python, licence, claims."""
    import tomllib

    from edgeopt_papers.claims import stored_verdicts

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    stored = [found for system in SYSTEMS if (found := stored_verdicts(system)) is not None]
    found = [str(verdict.verdict) for one in stored for verdict in one.verdicts.values()]
    said = {
        "version": project["version"],
        "python": project["requires-python"].replace(">=", "") + "+",
        "licence": project["license"],
        "claims": f"{found.count('holds')} hold, {found.count('violated')} refuted",
    }
    return {name: _badge(name, text) for name, text in said.items()}


def _badge(name: str, text: str) -> str:
    """Draw a word and what it is, side by side."""
    left, right = (10 + round(6.6 * len(part)) for part in (name, text))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="{name}: {text}"><title>{name}: {text}</title>'
        f'<rect width="{left + right}" height="20" rx="3" fill="#24557a"/>'
        f'<path d="M3 0h{left - 3}v20H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" fill="#46505a"/>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" '
        f'font-size="11"><text x="{left / 2:g}" y="14" textLength="{left - 10}">{name}</text>'
        f'<text x="{left + right / 2:g}" y="14" textLength="{right - 10}">{text}</text></g></svg>'
    )


def main(folder: str) -> None:
    pictures = {system: drawn(system) for system in SYSTEMS}
    pictures |= {f"badge-{name}": svg for name, svg in badges().items()}
    for name, svg in pictures.items():
        path = Path(folder) / f"{name}.svg"
        path.write_text(svg + "\n", encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main(sys.argv[1])
