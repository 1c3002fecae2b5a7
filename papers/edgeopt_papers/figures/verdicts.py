"""How many published values and statements agree with the computed ones, in words and lists."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from edgeopt.studies.wording import capitalised, listed
from edgeopt_papers.figures.paper_figure import (
    AGREES,
    DIFFERS,
    JUDGED,
    NOT_COMPARABLE,
    NOT_JUDGED,
    UNRESOLVED,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from edgeopt_papers.figures.reproduce import Outcome

_WITHOUT = {
    NOT_COMPARABLE: "not comparable with what is computed",
    NOT_JUDGED: "shown, not judged",
}
"""Verdicts that are none, and how they are said."""


def settings_of(lines: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the settings in which lines are computed, in their order; one without a name alone."""
    named = dict.fromkeys(line["setting"] for line in lines if line["setting"])
    return list(named) or [""]


def statements(lines: Sequence[Mapping[str, Any]]) -> list[dict[str, Mapping[str, Any]]]:
    """Return for each published value or statement its line in every setting."""
    found: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for line in lines:
        found.setdefault((line["paper_figure"], line["what"]), {})[line["setting"]] = line
    return list(found.values())


def in_a_sentence(lines: Sequence[Mapping[str, Any]], *, quick: bool) -> str:
    """Say how many published statements agree, differ and are not judged, in every setting.

    A line without a setting counts in all of them.
    """
    settings = settings_of(lines)
    under = {name: [line for line in lines if line["setting"] in ("", name)] for name in settings}
    counts = {name: Counter(line["verdict"] for line in own) for name, own in under.items()}
    said = [
        capitalised(f"in the {name} setting {_judged(counts[name])}{_by_kind(own)}")
        if name
        else _judged(counts[name])
        for name, own in under.items()
        if any(counts[name][verdict] for verdict in JUDGED)
    ] or ["No published statement is judged"]
    if len(settings) > 1 and all(own[DIFFERS] for own in counts.values()):
        said.append("No single setting gives all of them")
    every = Counter(next(iter(one.values()))["verdict"] for one in statements(lines))
    more = [f"{every[verdict]} {words}" for verdict, words in _WITHOUT.items() if every[verdict]]
    if more:
        said.append(f"The others: {listed(more)}")
    if quick:
        said.append(
            "This was a quick run of few and small instances; a full one may judge otherwise"
        )
    return ". ".join(said) + "."


def _judged(counts: Mapping[str, int]) -> str:
    """Say how many statements of those that are judged agree, differ or are not resolved."""
    of = sum(counts[verdict] for verdict in JUDGED)
    more = f", {counts[UNRESOLVED]} not resolved" if counts[UNRESOLVED] else ""
    agree, differ = (
        word + "s" * (counts[verdict] == 1)
        for word, verdict in (("agree", AGREES), ("differ", DIFFERS))
    )
    return (
        f"{counts[AGREES]} of {of} published statements {agree} with what is computed, "
        f"{counts[DIFFERS]} {differ}{more}"
    )


def _by_kind(lines: Sequence[Mapping[str, Any]]) -> str:
    """Say how many statements about tables and about figures agree, where there are both."""
    judged = {
        kind: [
            line["verdict"] == AGREES
            for line in lines
            if line["verdict"] in JUDGED and line["paper_figure"].startswith(kind)
        ]
        for kind in ("table", "figure")
    }
    parts = [f"{sum(own)} of {len(own)} about {kind}s" for kind, own in judged.items()]
    return f" ({', '.join(parts)})" if all(judged.values()) else ""


class Reason(NamedTuple):
    """Why statements may differ, in its first sentence, and the figures with such statements."""

    said: str
    figures: list[Outcome]


def reasons(outcomes: Iterable[Outcome]) -> list[Reason]:
    """Return the reasons declared for statements that do not agree, those of most figures first.

    A statement without a reason of its own has those of its figure.
    """
    found: dict[str, list[Outcome]] = {}
    for one in outcomes:
        apart = [line for line in one.lines if line["verdict"] in (DIFFERS, UNRESOLVED)]
        own = [line["why"] for line in apart if line["why"]]
        whole = one.caveats if len(own) < len(apart) else ()
        for why in dict.fromkeys([*own, *whole]):
            found.setdefault(_first_sentence(why), []).append(one)
    given = [Reason(said, figures) for said, figures in found.items()]
    return sorted(given, key=lambda reason: -len(reason.figures))


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.!?])\s+(?=[A-Z])", text.strip(), maxsplit=1)[0]
