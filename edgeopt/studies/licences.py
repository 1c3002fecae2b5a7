"""Where the data of the small tables come from, in the words of their readme."""

from __future__ import annotations

from edgeopt.instances.tables import FOLDER

__all__ = ["licences"]


def licences(*sources: str) -> list[str]:
    """Return one line per source, with licence and citation."""
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    paragraphs = (" ".join(paragraph.split()) for paragraph in readme.split("\n\n"))
    named = {line.strip("*"): line.replace("**", "") for line in paragraphs if line[:2] == "**"}
    return [line for name, line in named.items() if name.startswith(sources)]
