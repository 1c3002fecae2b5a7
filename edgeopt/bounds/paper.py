"""The form that all claims of one paper share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from edgeopt.bounds.claim import Claim
from edgeopt.bounds.verdict import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from edgeopt.bounds.claim import Measurement
    from edgeopt.bounds.verdict import Relation

__all__ = ["Paper"]


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
        family: Mapping[str, Callable[[], Any]],
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
            family=family,
            **fields,
        )
