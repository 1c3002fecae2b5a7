"""The form that all claims about inference delivery networks share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgeopt.bounds.claim import Claim
from edgeopt.bounds.idn.adversary import Adversary
from edgeopt.bounds.idn.evaluation import Evaluation
from edgeopt.bounds.verdict import Source
from edgeopt.instances.idn import IdnInstance

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from edgeopt.bounds.claim import Measurement
    from edgeopt.bounds.verdict import Relation

__all__ = ["EXACT", "PAPER", "claim"]

PAPER = "Si Salem et al.: Toward Inference Delivery Networks"

EXACT = 1e-9
"""Relative tolerance of identities and inequalities that solve no program."""


def claim(
    id: str,
    statement: str,
    number: str,
    measure: Callable[[Any], Measurement],
    relation: Relation,
    family: Mapping[str, Callable[[], Any]],
    **rest: Any,
) -> Claim:
    """Build a claim about a network, with or without an adversary, measured on its `Evaluation`.

    Parameters
    ----------
    id
        Identifier without the leading `idn.`.
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
    fields: dict[str, Any] = {
        "instance_type": (IdnInstance, Adversary),
        "view": Evaluation,
        "tolerance": EXACT,
    } | rest
    return Claim(
        id=f"idn.{id}",
        statement=statement,
        source=Source(PAPER, number),
        measure=measure,
        relation=relation,
        family=family,
        **fields,
    )
