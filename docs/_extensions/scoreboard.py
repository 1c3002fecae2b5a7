"""``{scoreboard} SYSTEM``: best known values of a system, its policies, and which replace which."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, ClassVar

from docutils import nodes
from shown import paragraph, table
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from sphinx.application import Sphinx


class Scoreboard(SphinxDirective):
    """Tables of a system: offline values, the first policies on every instance, and the front."""

    required_arguments = 1
    option_spec: ClassVar = {"first": int}

    def run(self) -> list[nodes.Node]:
        system, first = self.arguments[0], self.options.get("first", 3)
        return [*_values(system), *_policies(system, first), *_front(system)]


def _literal(text: str) -> nodes.Node:
    return nodes.literal(text, text)


def _values(system: str) -> list[nodes.Node]:
    from edgeopt.collection import entry, names

    rows = []
    for name in names(system):
        one = entry(name)
        proof = one.offline.certificate.get("kind", "none")
        rows.append([
            paragraph(_literal(name)), one.offline.status, one.offline.method, proof,
            paragraph(_literal(f"edgeopt bench --offline auto --instances {name} --out board")),
            f"{one.offline.best:.8g}", f"{one.offline.bound:.8g}", f"{one.offline.gap:.1e}",
        ])  # fmt: skip
    label = entry(names(system)[0]).offline.problem
    headings = ["instance", "status", "by", "certificate", "command", "best", "bound", "gap"]
    said = f"{label}: the best value known and the proven bound."
    return [
        table(headings, rows, left=5, classes=["made"]), paragraph(said, classes=["made-caption"])
    ]  # fmt: skip


def _policies(system: str, first: int) -> list[nodes.Node]:
    from edgeopt.collection import entry, names
    from edgeopt.collection.make import SCOREBOARD

    scores = json.loads(SCOREBOARD.read_text(encoding="utf-8"))["policies"]
    rows = []
    for name in names(system):
        one = entry(name)
        sign = -1.0 if one.goal == "max" else 1.0
        mine = [score for score in scores if score["instance"] == name and "failed" not in score]
        mine.sort(key=lambda score: (bool(score["violated"]), sign * score["mean"]))
        for score in mine[:first]:
            command = f"edgeopt bench --online {score['policy']} --instances {name} "
            command += f"--runs {one.online.scenarios} --out board"
            rows.append([
                paragraph(_literal(name)), paragraph(_literal(score["policy"])),
                paragraph(_literal(command)), f"{score['mean']:.6g}", f"{score['se']:.2g}",
                "none" if score["gap"] is None else f"{score['gap']:.3f}",
                f"{score['violated']:.3g}",
            ])  # fmt: skip
    headings = ["instance", "policy", "command", "mean", "error", "gap", "violations"]
    said = (
        f"The first {first} of the published policies and the recommended one on every instance; "
        "those that violate a constraint come after those that do not. The error is the standard "
        "error of the mean over scenarios; the gap is to the bound that is valid for the policy."
    )
    return [
        table(headings, rows, left=3, classes=["made"]), paragraph(said, classes=["made-caption"])
    ]  # fmt: skip


def _front(system: str) -> list[nodes.Node]:
    from edgeopt.collection.fronts import FRONTS

    found = [
        one for one in json.loads(FRONTS.read_text(encoding="utf-8")) if one["system"] == system
    ]
    rows = [
        [
            paragraph(_literal(one["policy"])), ", ".join(one["information"]) or "nothing",
            ", ".join(one["replaced_by"]) or "on the front",
            f"{one['gap']:.3g}", f"{one['violated']:.3g}", f"{one['microseconds']:.2g}",
        ]
        for one in sorted(found, key=lambda one: float(one["gap"]))
    ]  # fmt: skip
    headings = ["policy", "must know", "replaced by", "gap", "violations", "microseconds"]
    said = (
        "All policies on held-out instances: mean gap to the reference bound, violations of a run, "
        "and processor time per decision. A policy is replaced by one that must know no more, is "
        "as good in everything, and better than noise in gap or time."
    )
    return [
        table(headings, rows, left=3, classes=["made"]), paragraph(said, classes=["made-caption"])
    ]  # fmt: skip


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("scoreboard", Scoreboard)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
