"""The form that all claims of one paper share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from edgeopt.bounds.claim import Claim
from edgeopt.bounds.errata import Erratum
from edgeopt.bounds.verdict import Relation, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from edgeopt.bounds.claim import Measurement


@dataclass(frozen=True)
class Paper:
    """Where claims come from.

    Parameters
    ----------
    system
        Name of the system, which begins every identifier.
    title
        Authors and title.
    defaults
        Fields of `Claim` that most claims of the paper share.
    """

    system: str
    title: str
    defaults: Mapping[str, Any]

    def claim(
        self,
        id: str,
        statement: str,
        number: str,
        measure: Callable[[Any], Measurement],
        relation: Relation,
        test_instances: Mapping[str, Callable[[], Any]],
        **rest: Any,
    ) -> Claim:
        """Build a claim."""
        fields: dict[str, Any] = {**self.defaults, **rest}
        return Claim(
            id=f"{self.system}.{id}",
            statement=statement,
            source=Source(self.title, number),
            measure=measure,
            relation=relation,
            test_instances=test_instances,
            **fields,
        )

    def erratum(
        self,
        id: str,
        number: str,
        published: str,
        corrected: str,
        why: str,
        example: str,
        values: tuple[float, float, float],
        relation: Relation = Relation.EQUAL,
    ) -> Erratum:
        """Build an erratum from its printed, corrected and true value."""
        return Erratum(
            id=f"{self.system}.{id}",
            source=Source(self.title, number),
            published=published,
            corrected=corrected,
            why=why,
            example=example,
            published_value=values[0],
            corrected_value=values[1],
            true_value=values[2],
            relation=relation,
        )
