"""Claims and errata with their verdicts: tables of a system, and numbers in sentences."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from fill.markdown import code, sentence, table

if TYPE_CHECKING:
    from fill.markdown import Asked


@cache
def known(system: str | None = None) -> dict[str, Any]:
    """Claims by identifier; plugins are not asked again for every one that a page names."""
    from edgeopt.bounds import claims

    return claims(system)


@cache
def found(system: str) -> dict[str, dict[str, str]]:
    """Verdicts on all claims of a system by identifier, each on its named instances."""
    from edgeopt_papers.claims import stored_verdicts

    from edgeopt.studies.wording import number

    stored = stored_verdicts(system)
    assert stored is not None
    return {
        verdict.claim: {
            "verdict": verdict.words,
            "measured": number(verdict.measured, 4),
            "guaranteed": number(verdict.guaranteed, 4),
            "instance": verdict.instance,
        }
        for verdict in stored.verdicts.values()
    }


@cache
def wrong(system: str) -> dict[str, dict[str, str]]:
    """Errata of a system by identifier, as texts; ``measured`` is the true value."""
    from edgeopt_papers.claims import errata

    from edgeopt.studies.wording import number

    return {
        one.id: {
            "source": one.source.number,
            "published": one.published,
            "corrected": one.corrected,
            "why": one.why,
            "conversion": one.conversion,
            "instance": one.example,
            "relation": one.relation.value,
            "guaranteed": number(one.published_value, 4),
            "mended": number(one.corrected_value, 4),
            "measured": number(one.true_value, 4),
        }
        for one in errata(system).values()
    }


def anchor(name: str) -> str:
    return "claim-" + name.replace(".", "-").replace("_", "-")


def about(name: str, source: str, statement: str) -> str:
    """A claim in a cell, to which links may point: source, statement, identifier."""
    target = f'<a id="{anchor(name)}"></a>'
    return f"{target}**{source}**<br>{sentence(statement)}<br>{code(name)}"


def of_claim(name: str) -> str:
    claim = known()[name]
    return about(name, claim.source.number, claim.statement)


def claims(asked: Asked) -> str:
    """The claims of a system that hold."""
    [system] = asked.arguments
    rows = [
        [
            of_claim(name),
            verdict["verdict"],
            verdict["measured"],
            claim.relation.value,
            verdict["guaranteed"],
            code(verdict["instance"]),
        ]
        for name, claim in known(system).items()
        if not claim.corrected_by
        for verdict in [found(system)[name]]
    ]
    headings = ["claim", "verdict", "measured", "relation", "claimed", "tightest instance"]
    return table(headings, rows, left=2)


def refuted(asked: Asked) -> str:
    """The false claims of a system, each with a small counterexample and what corrects it."""
    [system] = asked.arguments
    rows = []
    for name, claim in known(system).items():
        if not claim.corrected_by:
            continue
        verdict = found(system)[name]
        counterexample = (
            f"{verdict['measured']}; claimed: {claim.relation.value} {verdict['guaranteed']}"
            f"<br>{code(verdict['instance'])}"
        )
        instead = "<br>".join(f"[{code(one)}](#{anchor(one)})" for one in claim.corrected_by)
        rows.append([of_claim(name), counterexample, instead])
    return table(["false claim", "small counterexample", "corrected by"], rows, left=3)


def errata(asked: Asked) -> str:
    """Published formulas of a paper that are wrong, beside the corrected ones."""
    [system] = asked.arguments
    doubtful = sum(bool(one["conversion"]) for one in wrong(system).values())
    read = (
        "The paper was read as text that a program made of its pages, which can lose a stroke, a "
        f"hat or a sign. {doubtful or 'None'} of {len(wrong(system))} errata could come of that"
        f"{', and say so' if doubtful else ''}."
    )
    rows = [
        [
            about(name, one["source"], one["published"]),
            "<br>".join(
                [sentence(one["corrected"]), sentence(one["why"])]
                + [f"Perhaps of the conversion. {sentence(one['conversion'])}"]
                * bool(one["conversion"])
            ),
            sentence(one["instance"]),
            one["guaranteed"],
            one["mended"],
            f"{one['relation']} {one['measured']}",
        ]
        for name, one in wrong(system).items()
    ]
    values = ["published value", "corrected value", "true value"]
    return f"{read}\n\n{table(['published', 'corrected', 'example', *values], rows, left=3)}"


def finding(asked: Asked) -> str:
    """The result of a claim, or of the example of an erratum, in a few words."""
    [name] = asked.arguments
    system = name.split(".")[0]
    if name in wrong(system):
        one = wrong(system)[name]
        right = f"{one['relation']} {one['measured']}".removeprefix("equal ")
        said = f"{one['guaranteed']} as printed; correct: {right}"
    else:
        claim, verdict = known()[name], found(system)[name]
        said = (
            f"{verdict['measured']} on {code(verdict['instance'])}; "
            f"claimed: {claim.relation.value} {verdict['guaranteed']}"
        )
    return f"([{name}](#{anchor(name)}): {said})"


def measured(asked: Asked) -> str:
    """The measured number of a claim, or the true one of an erratum."""
    [name] = asked.arguments
    system = name.split(".")[0]
    return (wrong(system) | found(system))[name]["measured"]


def count(asked: Asked) -> str:
    """How many ``systems``, ``claims``, ``refuted``, ``errata`` or ``policies``; of one, or all."""
    from edgeopt.studies import find_system, systems
    from edgeopt.studies.registry import policies

    what, *chosen = asked.arguments
    numbers = {
        "systems": lambda name: 1,
        "policies": lambda name: len(policies(find_system(name))),
        "errata": lambda name: len(wrong(name)),
        "claims": lambda name: len(known(name)),
        "refuted": lambda name: sum(bool(one.corrected_by) for one in known(name).values()),
    }
    if what not in numbers:
        raise ValueError(f"count: {what!r} is unknown")
    return str(sum(numbers[what](name) for name in chosen or systems()))
