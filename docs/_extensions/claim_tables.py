"""Claims with their verdicts: directives for tables, roles for numbers.

The directive ``{claims} SYSTEM`` tabulates the claims of a system that hold, ``{refuted} SYSTEM``
the false ones with a small counterexample and correction, ``{errata} SYSTEM`` the errata of
its paper. In a sentence ``{finding}`ID``` gives the result of a claim or an erratum,
``{measured}`ID``` and ``{guaranteed}`ID``` its numbers, ``{count}`claims SYSTEM``` a count.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from docutils import nodes
from kept import kept
from shown import paragraph, sentence, table
from sphinx.util.docutils import SphinxDirective, SphinxRole

if TYPE_CHECKING:
    from sphinx.application import Sphinx


@cache
def known(system: str | None = None) -> dict[str, Any]:
    """Claims by identifier; plugins are not asked again for every one that a page names."""
    from edgeopt.bounds import claims

    return claims(system)


@cache
def found(system: str) -> dict[str, dict[str, Any]]:
    """Verdicts on all claims of a system by identifier, each on its named instances."""

    def compute() -> dict[str, dict[str, Any]]:
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

    verdicts: dict[str, dict[str, Any]] = kept(["claims", system], compute)
    return verdicts


@cache
def wrong(system: str) -> dict[str, dict[str, Any]]:
    """Errata of a system by identifier, as texts; ``measured`` is the true value."""

    def compute() -> dict[str, dict[str, Any]]:
        from edgeopt_papers.claims import errata

        from edgeopt.studies.wording import number

        return {
            one.id: {
                "source": one.source.number,
                "published": one.published,
                "corrected": one.corrected,
                "why": one.why,
                "instance": one.example,
                "relation": one.relation.value,
                "guaranteed": number(one.published_value, 4),
                "mended": number(one.corrected_value, 4),
                "measured": number(one.true_value, 4),
            }
            for one in errata(system).values()
        }

    texts: dict[str, dict[str, Any]] = kept(["errata", system], compute)
    return texts


def anchor(name: str) -> str:
    return "claim-" + name.replace(".", "-").replace("_", "-")


def about(name: str) -> list[nodes.Node]:
    """A claim in a cell: source, statement, identifier."""
    claim = known()[name]
    source = nodes.strong(claim.source.number, claim.source.number)
    return [
        paragraph(source, classes=["claim-source"]),
        paragraph(sentence(claim.statement)),
        paragraph(nodes.literal(name, name), classes=["claim-id"]),
    ]


def instance(name: str) -> nodes.literal:
    return nodes.literal(name, name)


class Claims(SphinxDirective):
    """Table of the claims of a system that hold."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        system = self.arguments[0]
        chosen = [name for name, claim in known(system).items() if not claim.corrected_by]
        verdicts = found(system)
        rows = [
            [
                about(name),
                verdicts[name]["verdict"],
                verdicts[name]["measured"],
                known()[name].relation.value,
                verdicts[name]["guaranteed"],
                instance(verdicts[name]["instance"]),
            ]
            for name in chosen
        ]
        headings = ["claim", "verdict", "measured", "relation", "claimed", "tightest instance"]
        ids = [anchor(name) for name in chosen]
        return [table(headings, rows, left=2, ids=ids, classes=["claims"])]


class Refuted(SphinxDirective):
    """Table of the false claims, with their corrections."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        system = self.arguments[0]
        chosen = {name: claim for name, claim in known(system).items() if claim.corrected_by}
        verdicts = found(system)
        rows = []
        for name, claim in chosen.items():
            verdict = verdicts[name]
            instead: list[nodes.Node] = [
                paragraph(reference(other)) for other in claim.corrected_by
            ]
            rows.append(
                [
                    about(name),
                    [
                        paragraph(
                            f"{verdict['measured']}; claimed: {claim.relation.value} "
                            f"{verdict['guaranteed']}"
                        ),
                        paragraph(instance(verdict["instance"])),
                    ],
                    instead,
                ]
            )
        headings = ["false claim", "small counterexample", "corrected by"]
        ids = [anchor(name) for name in chosen]
        return [table(headings, rows, left=3, ids=ids, classes=["claims", "refuted"])]


class Errata(SphinxDirective):
    """Table of the errata of a paper: published and corrected formulas."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        found = wrong(self.arguments[0])
        rows = [
            [
                [
                    paragraph(nodes.strong(one["source"], one["source"]), classes=["claim-source"]),
                    paragraph(sentence(one["published"])),
                    paragraph(nodes.literal(name, name), classes=["claim-id"]),
                ],
                [paragraph(sentence(one["corrected"])), paragraph(sentence(one["why"]))],
                [paragraph(sentence(one["instance"]))],
                one["guaranteed"],
                one["mended"],
                f"{one['relation']} {one['measured']}",
            ]
            for name, one in found.items()
        ]
        values = ["published value", "corrected value", "true value"]
        headings = ["published", "corrected", "example", *values]
        ids = [anchor(name) for name in found]
        return [table(headings, rows, left=3, ids=ids, classes=["claims", "errata"])]


def reference(name: str) -> nodes.reference:
    literal = nodes.literal(name, name)
    return nodes.reference("", "", literal, refid=anchor(name), internal=True)


class Finding(SphinxRole):
    """The result of a claim, or of the example of an erratum, in a few words."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        name = self.text
        system = name.split(".")[0]
        said: list[nodes.Node]
        if name in wrong(system):
            one = wrong(system)[name]
            right = f"{one['relation']} {one['measured']}".removeprefix("equal ")
            said = [nodes.Text(f"{one['guaranteed']} as printed; correct: {right}")]
        else:
            claim, verdict = known()[name], found(system)[name]
            said = [
                nodes.Text(f"{verdict['measured']} on "),
                instance(verdict["instance"]),
                nodes.Text(f"; claimed: {claim.relation.value} {verdict['guaranteed']}"),
            ]
        link = nodes.reference("", name, refid=anchor(name), internal=True, classes=["finding"])
        return [nodes.Text("("), link, nodes.Text(": "), *said, nodes.Text(")")], []


class Number(SphinxRole):
    """The measured or guaranteed number of a claim; the true or published one of an erratum."""

    def __init__(self, which: str) -> None:
        self.which = which

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        system = self.text.split(".")[0]
        verdict = (wrong(system) | found(system))[self.text]
        return [nodes.Text(verdict[self.which])], []


class Count(SphinxRole):
    """Count ``systems``, or ``claims``, ``refuted``, ``errata`` or ``policies`` of one or all."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        return [nodes.Text(str(count(*self.text.split())))], []


def count(what: str, system: str | None = None) -> int:
    from edgeopt.studies import find_system, systems
    from edgeopt.studies.registry import policies

    if what == "systems":
        return len(systems())
    if what == "policies":
        chosen = systems() if system is None else [system]
        return sum(len(policies(find_system(name))) for name in chosen)
    if what == "errata":
        return sum(len(wrong(name)) for name in (systems() if system is None else [system]))
    every = known(system).values()
    if what == "claims":
        return len(every)
    if what == "refuted":
        return sum(bool(claim.corrected_by) for claim in every)
    raise ValueError(f"count: {what!r} is unknown")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("claims", Claims)
    app.add_directive("refuted", Refuted)
    app.add_directive("errata", Errata)
    app.add_role("finding", Finding())
    app.add_role("measured", Number("measured"))
    app.add_role("guaranteed", Number("guaranteed"))
    app.add_role("count", Count())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
