"""``python docs/fill/full.py SYSTEM FOLDER COMMIT``: keep a run at full size for the pages.

The folder is that of `edgeopt reproduce SYSTEM --out FOLDER`, the commit that of its code. What was
kept of the system before is replaced.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from fill.markdown import FULL, shorter

LINE = ("what", "setting", "published", "computed", "low", "high", "spread", "finding", "percent",
        "verdict", "why")  # fmt: skip


def kept(figure: dict[str, Any]) -> dict[str, Any]:
    """Return what pages show of a figure of a run; a caveat may say the size of a full one."""
    found = {name: figure[name] for name in ("kind", "number", "title", "jobs")}
    lines = [{name: line[name] for name in LINE} for line in figure["published"]]
    size = [one for one in figure["caveats"] if one.startswith("A full run")]
    return found | {"size": " ".join(size), "lines": lines}


def main(system: str, folder: str, commit: str) -> None:
    """Write the table and the pictures."""
    run = json.loads((Path(folder) / "reproduction.json").read_text(encoding="utf-8"))
    if run["quick"] or run["system"] != system:
        raise SystemExit(f"{folder} has no run of {system} at full size")
    for old in FULL.glob(f"{system}*"):
        old.unlink()
    figures = [kept(one) for one in run["paper_figures"] if one["published"]]
    for one in figures:
        name = f"{one['kind']}-{one['number']}.svg".lower()
        drawn = (Path(folder) / name).read_text(encoding="utf-8")
        (FULL / f"{system}-{name}").write_text(shorter(drawn), encoding="utf-8")
    text = json.dumps({"commit": commit, "figures": figures}, indent=1, ensure_ascii=False)
    (FULL / f"{system}.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
