"""Results of a check of many claims: verdicts with the tightest instance, and refutations."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from edgeopt.bounds.registry import claims
from edgeopt.bounds.verdict import ROOM, Finding, Relation, in_json, verdict_of_claim, worst_verdict
from edgeopt.representation import compact_repr
from edgeopt.studies.claims.counterexample import refutation
from edgeopt.studies.files import SCHEMA, plain
from edgeopt.studies.wording import plural
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from edgeopt.bounds import Claim, Verdict
    from edgeopt.studies.claims.counterexample import Refutation

ROUNDING: Final = 1e-12
"""Slack below this share of the numbers is not shown."""


@in_html
@compact_repr
@dataclass(frozen=True, eq=False)
class CheckedClaim:
    """A claim with its verdicts.

    Parameters
    ----------
    claim
        The claim.
    named
        Verdicts on its named instances, in their order.
    drawn
        Verdicts on drawn instances, in the order of their seeds.
    undrawn
        Why there are none of those; empty if none were to be drawn.

    Examples
    --------
    >>> from edgeopt.studies import check_all
    >>> [found] = check_all("rescue.routing.published").claims
    >>> found.verdict.verdict.value, found.known_false, found.refuted
    ('violated', True, True)
    """

    claim: Claim
    named: tuple[Verdict, ...]
    drawn: tuple[Verdict, ...] = ()
    undrawn: str = ""

    @cached_property
    def verdict(self) -> Verdict:
        """The verdict on the instance with the least slack; on all named ones it may be loose."""
        several = (*self.named, *self.drawn)
        if {one.instance for one in self.named} >= self.claim.test_instances.keys():
            return verdict_of_claim(several)
        return worst_verdict(several)

    @property
    def slack(self) -> float:
        """Its slack, 0 where that is rounding."""
        found = self.verdict
        size = max(abs(found.measured), abs(found.guaranteed))
        rounding = math.isfinite(size) and abs(found.slack) <= ROUNDING * size
        return 0.0 if rounding else found.slack

    @property
    def relation(self) -> str:
        """Relation of measured to guaranteed: ``"at least"``, ``"at most"``, ``"exactly"``."""
        equal = self.claim.relation is Relation.EQUAL
        return "exactly" if equal else self.claim.relation.value

    @property
    def known_false(self) -> bool:
        """Whether it is listed with what corrects it, and so expected to be violated."""
        return bool(self.claim.corrected_by)

    @property
    def published(self) -> bool:
        """Whether the paper states it like this, although it is false."""
        return self.claim.id.endswith(".published")

    @property
    def broken(self) -> bool:
        """Whether it should hold and is violated."""
        return self.verdict.verdict is Finding.VIOLATED and not self.known_false

    @property
    def refuted(self) -> bool:
        """Whether it is known to be false, and violated."""
        return self.verdict.verdict is Finding.VIOLATED and self.known_false

    @property
    def decided(self) -> bool:
        """Whether it applies to any instance."""
        return self.verdict.verdict is not Finding.VACUOUS

    @property
    def tone(self) -> str:
        """How to colour the verdict: ``"good"``, ``"expected"``, ``"bad"`` or ``"soft"``."""
        if self.verdict.verdict is Finding.VIOLATED:
            return "expected" if self.known_false else "bad"
        holds = self.verdict.verdict is Finding.HOLDS
        return "good" if holds and not self.known_false else "soft"

    @property
    def drawn_in_words(self) -> str:
        """Verdicts on the drawn instances: ``"18 hold, 2 vacuous"``, or why there are none."""
        if not self.drawn:
            return self.undrawn
        counts = {finding: count for finding, count in _tally(self.drawn).items() if count}
        if set(counts) == {"vacuous"}:
            [(reason, _)] = Counter(verdict.reason for verdict in self.drawn).most_common(1)
            return f"all vacuous: {reason}"
        words = {"holds": "hold", "violated": "violated", "vacuous": "vacuous"}
        return ", ".join(f"{count} {words[finding]}" for finding, count in counts.items())

    @cached_property
    def refutation(self) -> Refutation | None:
        """The smallest named instance that violates the claim; a drawn one if no named one does."""
        return refutation(self.claim, self.named, self.drawn)

    def as_dict(self) -> dict[str, Any]:
        """Return the claim and what was found in plain types for a JSON document."""
        record: dict[str, Any] = {
            **self.verdict.as_dict(),
            "statement": self.claim.statement,
            "relation": self.claim.relation.value,
            "instance": self.verdict.instance,
            "reason": self.verdict.reason,
            "known_false": self.known_false,
            "corrected_by": list(self.claim.corrected_by),
            "named": _tally(self.named),
            "drawn": _tally(self.drawn),
            "undrawn": self.undrawn,
            "counterexample": None,
        }
        if self.known_false and (found := self.refutation) is not None:
            record["counterexample"] = {
                "instance": found.verdict.instance,
                "words": found.words,
                "size": found.size,
                "numbers": dict(found.numbers),
                "measured": in_json(found.verdict.measured),
                "guaranteed": in_json(found.verdict.guaranteed),
            }
        return record


@in_html
@compact_repr
@dataclass(frozen=True, eq=False)
class Checked:
    """Results of a check of claims.

    Parameters
    ----------
    claims
        The claims with their verdicts, in the requested order.
    instances
        Instances that were drawn for each system.
    seed
        Seed of the first of them; the others follow.
    workers
        Processes.
    seconds
        Wall-clock time.
    titles
        Titles of the systems by name.

    Examples
    --------
    >>> from edgeopt.studies import check_all
    >>> found = check_all("rescue.theorem2*")
    >>> found.counts["hold"], found.counts["published_refuted"], found.broken
    (3, 1, ())
    """

    claims: tuple[CheckedClaim, ...]
    instances: int
    seed: int
    workers: int
    seconds: float
    titles: Mapping[str, str] = field(default_factory=dict)

    @property
    def broken(self) -> tuple[CheckedClaim, ...]:
        """Claims that should hold and are violated."""
        return tuple(one for one in self.claims if one.broken)

    @property
    def by_system(self) -> dict[str, list[CheckedClaim]]:
        """Claims by the first part of their identifiers."""
        groups: dict[str, list[CheckedClaim]] = {}
        for one in self.claims:
            groups.setdefault(one.claim.id.split(".")[0], []).append(one)
        return groups

    @property
    def table(self) -> pd.DataFrame:
        """One row per claim; counts of named and drawn instances by verdict."""
        import pandas as pd

        return pd.DataFrame(
            {
                "claim": one.claim.id,
                "source": str(one.claim.source),
                "verdict": one.verdict.verdict.value,
                "measured": one.verdict.measured,
                "guaranteed": one.verdict.guaranteed,
                "slack": one.verdict.slack,
                "factor": one.verdict.factor,
                "instance": one.verdict.instance,
                "known_false": one.known_false,
                **{f"named_{finding}": count for finding, count in _tally(one.named).items()},
                **{f"drawn_{finding}": count for finding, count in _tally(one.drawn).items()},
            }
            for one in self.claims
        )

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of claims by outcome; every claim is counted once."""
        true = [one for one in self.claims if not one.known_false]
        false = [one for one in self.claims if one.known_false]
        refuted = [one for one in false if one.refuted]
        return {
            "hold": sum(one.verdict.verdict is Finding.HOLDS for one in true),
            "loose": sum(one.verdict.verdict is Finding.LOOSE for one in true),
            "vacuous": sum(one.verdict.verdict is Finding.VACUOUS for one in true),
            "violated": len(self.broken),
            "published_refuted": sum(one.published for one in refuted),
            "forms_refuted": sum(not one.published for one in refuted),
            "not_refuted": len(false) - len(refuted),
        }

    def sentences(self) -> list[str]:
        """Sum up the results in words."""
        counts = self.counts
        held = plural(counts["hold"], "claim")
        said = [f"{held} {'holds' if counts['hold'] == 1 else 'hold'}{self._scope()}."]
        if counts["published_refuted"]:
            said.append(
                f"{plural(counts['published_refuted'], 'statement')} of the papers "
                f"{'fails' if counts['published_refuted'] == 1 else 'fail'} as published."
            )
        if counts["forms_refuted"]:
            said.append(
                f"{plural(counts['forms_refuted'], 'other plausible form')} "
                f"{'fails' if counts['forms_refuted'] == 1 else 'fail'} too."
            )
        if counts["loose"]:
            are, their = ("is", "its") if counts["loose"] == 1 else ("are", "their")
            said.append(
                f"{plural(counts['loose'], 'claim')} {are} loose: no change of {their} formula by "
                f"a factor of {ROOM:g} would be seen on any instance checked."
            )
        if counts["vacuous"]:
            said.append(f"{plural(counts['vacuous'], 'claim')} applied to no instance.")
        if counts["not_refuted"]:
            count = plural(counts["not_refuted"], "claim")
            said.append(f"{count} known to be false could not be refuted.")
        if counts["violated"]:
            names = ", ".join(one.claim.id for one in self.broken)
            said.append(f"Violated, but should hold: {names}.")
        elif counts["hold"]:
            said.append("No claim that should hold is violated.")
        return said

    def _scope(self) -> str:
        named = sum(len(one.named) for one in self.claims)
        text = f" on every instance checked: {named} checks on named ones"
        drawn = sum(len(one.drawn) for one in self.claims)
        return f"{text} and {drawn} on drawn ones" if self.instances else text

    def as_dict(self) -> dict[str, Any]:
        """Return everything in plain types, except what depends on the machine."""
        import edgeopt

        content = {
            "schema": SCHEMA,
            "version": edgeopt.__version__,
            "instances": self.instances,
            "seed": self.seed,
            "counts": self.counts,
            "claims": [one.as_dict() for one in self.claims],
        }
        found: dict[str, Any] = plain(content)
        return found

    def to_json(self, *, indent: int | None = 2) -> str:
        """Write one JSON document; infinite numbers are text, missing ones null.

        Parameters
        ----------
        indent
            Spaces per level; None writes one line.
        """
        return json.dumps(self.as_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    def page(self, out: str | Path, *, force: bool = False) -> Path:
        """Write one self-contained HTML page, and the JSON document.

        Parameters
        ----------
        out
            Directory to write to; made if it does not exist.
        force
            Whether to write to one that is not empty and that no check has made; files of the same
            names are replaced, others kept.

        Returns
        -------
        Path
            The page.

        Raises
        ------
        OutputError
            If the directory was made by another command, or cannot be written to.
        """
        from edgeopt.studies.claims import page

        return page.write(self, out, force=force)


def _tally(verdicts: Sequence[Verdict]) -> dict[str, int]:
    counted = Counter(verdict.verdict.value for verdict in verdicts)
    alone = (Finding.HOLDS, Finding.VIOLATED, Finding.VACUOUS)
    return {finding.value: counted[finding.value] for finding in alone}


def with_claims(verdicts: Iterable[Verdict]) -> list[CheckedClaim]:
    """Return the claims of verdicts on one instance each, in their order."""
    found = list(verdicts)
    known = claims({verdict.claim.partition(".")[0] for verdict in found})
    return [CheckedClaim(known[verdict.claim], (verdict,)) for verdict in found]
