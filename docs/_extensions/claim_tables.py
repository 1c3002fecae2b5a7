"""Claims with their verdicts, checked by the build: directives for tables, roles for numbers.

``{claims} SYSTEM`` tabulates the claims of a system that stand, ``{refuted} SYSTEM`` those that are
known to be false, each with its smallest instance and with what holds instead, ``{errata} SYSTEM``
what its paper prints wrong. In a sentence ``{finding}`ID``` says what the check of a claim, or the
example of an erratum, came to, ``{measured}`ID``` and ``{guaranteed}`ID``` give its numbers, and
``{count}`claims SYSTEM``` counts.
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
def found(system: str) -> dict[str, dict[str, Any]]:
    """Verdicts on all claims of a system by identifier, each on the claim's own instances."""

    def compute() -> dict[str, dict[str, Any]]:
        from edgeopt.bounds import check, stored_verdicts
        from edgeopt.studies.wording import number

        stored = stored_verdicts(system)
        return {
            verdict.claim: {
                "verdict": str(verdict.verdict),
                "measured": number(verdict.measured, 4),
                "guaranteed": number(verdict.guaranteed, 4),
                "instance": verdict.instance,
            }
            for verdict in (stored.verdicts.values() if stored else check(system))
        }

    verdicts: dict[str, dict[str, Any]] = kept(["claims", system], compute)
    return verdicts


@cache
def wrong(system: str) -> dict[str, dict[str, Any]]:
    """Errata of a system by identifier, as texts; what is true counts as measured."""

    def compute() -> dict[str, dict[str, Any]]:
        from edgeopt.bounds import errata
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
    """A claim in a cell: where it stands, what it says, what it is called."""
    from edgeopt.bounds import claims

    claim = claims()[name]
    source = nodes.strong(claim.source.number, claim.source.number)
    return [
        paragraph(source, classes=["claim-source"]),
        paragraph(sentence(claim.statement)),
        paragraph(nodes.literal(name, name), classes=["claim-id"]),
    ]


def instance(name: str) -> nodes.literal:
    return nodes.literal(name, name)


class Claims(SphinxDirective):
    """Table of the claims of a system that stand."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        from edgeopt.bounds import claims

        system = self.arguments[0]
        chosen = [name for name, claim in claims(system).items() if not claim.corrected_by]
        verdicts = found(system)
        rows = [
            [
                about(name),
                verdicts[name]["verdict"],
                verdicts[name]["measured"],
                claims()[name].relation.value,
                verdicts[name]["guaranteed"],
                instance(verdicts[name]["instance"]),
            ]
            for name in chosen
        ]
        headings = ["claim", "verdict", "measured", "is", "claimed", "tightest instance"]
        ids = [anchor(name) for name in chosen]
        return [table(headings, rows, left=2, ids=ids, classes=["claims"])]


class Refuted(SphinxDirective):
    """Table of the statements that fail, with what holds instead."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        from edgeopt.bounds import claims

        system = self.arguments[0]
        chosen = {name: claim for name, claim in claims(system).items() if claim.corrected_by}
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
                            f"{verdict['measured']}, where it says {claim.relation.value} "
                            f"{verdict['guaranteed']}"
                        ),
                        paragraph(instance(verdict["instance"])),
                    ],
                    instead,
                ]
            )
        headings = ["statement", "smallest instance", "what holds instead"]
        ids = [anchor(name) for name in chosen]
        return [table(headings, rows, left=3, ids=ids, classes=["claims", "refuted"])]


class Errata(SphinxDirective):
    """Table of what a paper prints wrong, with what it should print."""

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
        headings = [
            "published",
            "corrected",
            "example",
            "printed gives",
            "corrected gives",
            "right",
        ]
        ids = [anchor(name) for name in found]
        return [table(headings, rows, left=3, ids=ids, classes=["claims", "errata"])]


def reference(name: str) -> nodes.reference:
    literal = nodes.literal(name, name)
    return nodes.reference("", "", literal, refid=anchor(name), internal=True)


class Finding(SphinxRole):
    """What the check of a claim or the example of an erratum came to, in a few words."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        from edgeopt.bounds import claims

        name = self.text
        system = name.split(".")[0]
        said: list[nodes.Node]
        if name in wrong(system):
            one = wrong(system)[name]
            right = f"{one['relation']} {one['measured']}".removeprefix("equal ")
            said = [nodes.Text(f"{one['guaranteed']} as printed, where {right} is right")]
        else:
            claim, verdict = claims()[name], found(system)[name]
            said = [
                nodes.Text(f"{verdict['measured']} on "),
                instance(verdict["instance"]),
                nodes.Text(f", {claim.relation.value} {verdict['guaranteed']} claimed"),
            ]
        link = nodes.reference("", name, refid=anchor(name), internal=True, classes=["finding"])
        return [nodes.Text("("), link, nodes.Text(": "), *said, nodes.Text(")")], []


class Number(SphinxRole):
    """The measured or the guaranteed number of a claim; of an erratum, the true or printed one."""

    def __init__(self, which: str) -> None:
        self.which = which

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        system = self.text.split(".")[0]
        verdict = (wrong(system) | found(system))[self.text]
        return [nodes.Text(verdict[self.which])], []


class Count(SphinxRole):
    """A count: ``systems``; ``claims``, ``refuted``, ``errata`` and ``policies``, of one or all."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        return [nodes.Text(str(count(*self.text.split())))], []


def count(what: str, system: str | None = None) -> int:
    from edgeopt.bounds import claims
    from edgeopt.studies import find_system, systems
    from edgeopt.studies.registry import policies

    if what == "systems":
        return len(systems())
    if what == "policies":
        chosen = systems() if system is None else [system]
        return sum(len(policies(find_system(name))) for name in chosen)
    if what == "errata":
        return sum(len(wrong(name)) for name in (systems() if system is None else [system]))
    known = claims(system).values()
    if what == "claims":
        return len(known)
    if what == "refuted":
        return sum(bool(claim.corrected_by) for claim in known)
    raise ValueError(f"count: {what} is nothing that can be counted")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("claims", Claims)
    app.add_directive("refuted", Refuted)
    app.add_directive("errata", Errata)
    app.add_role("finding", Finding())
    app.add_role("measured", Number("measured"))
    app.add_role("guaranteed", Number("guaranteed"))
    app.add_role("count", Count())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
