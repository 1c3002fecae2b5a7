"""The form that all claims about RESCUE share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgeopt.bounds.claim import Claim
from edgeopt.bounds.rescue.evaluation import Evaluation
from edgeopt.bounds.verdict import Source
from edgeopt.instances.rescue import RescueInstance

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from edgeopt.bounds.claim import Measurement
    from edgeopt.bounds.verdict import Relation

__all__ = ["EXACT", "PAPER", "claim"]

PAPER = (
    "Huang, Liu, Shan: RESCUE: Opportunistic Online Scheduling of Model Retraining on "
    "Underutilized Edges"
)

EXACT = 1e-7
"""Relative tolerance of identities between recursions that solve no LP."""


def claim(
    id: str,
    statement: str,
    number: str,
    measure: Callable[[Any], Measurement],
    relation: Relation,
    family: Mapping[str, Callable[[], Any]],
    **rest: Any,
) -> Claim:
    """Build a claim about `RescueInstance`, measured on its `Evaluation`.

    Parameters
    ----------
    id
        Identifier without the leading `rescue.`.
    statement
        The statement in LaTeX.
    number
        Where it stands in the paper.
    measure, relation, family
        See `Claim`.
    **rest
        Further fields of `Claim`.

    Returns
    -------
    Claim
        The claim.
    """
    fields: dict[str, Any] = {"instance_type": RescueInstance, "view": Evaluation} | rest
    return Claim(
        id=f"rescue.{id}",
        statement=statement,
        source=Source(PAPER, number),
        measure=measure,
        relation=relation,
        family=family,
        **fields,
    )
