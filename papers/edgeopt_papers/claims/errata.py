"""Formulas that a paper prints wrong, their corrections, and the numbers of a small example."""

from __future__ import annotations

from dataclasses import dataclass

from edgeopt.bounds.verdict import Relation, Source
from edgeopt.options import check_fields, check_kind, check_real
from edgeopt_papers import cases

TOLERANCE = 1e-6
"""Share of the larger number up to which a corrected one equals the true one."""


@dataclass(frozen=True, kw_only=True)
class Erratum:
    """A wrong formula or setting of a paper, and its correction.

    Parameters
    ----------
    id
        `system.name`.
    source
        Where it stands.
    published, corrected
        What is printed and what should be, in LaTeX or in one sentence.
    why
        What is wrong, in one sentence.
    conversion
        Why it could be damage of the text that the paper was read as, which a program made of its
        pages; empty where it could not, as in prose, or where the same is printed twice.
    example
        The smallest example, in words.
    published_value, corrected_value
        What both give on the example.
    true_value
        What is found there without either.
    relation
        How a right value stands to the true one: equal, or a bound from one side.

    Raises
    ------
    OptionError
        If a field has another type.
    """

    id: str
    source: Source
    published: str
    corrected: str
    why: str
    conversion: str
    example: str
    published_value: float
    corrected_value: float
    true_value: float
    relation: Relation = Relation.EQUAL

    def __post_init__(self) -> None:
        check_fields(self)
        check_kind("relation", self.relation, Relation)
        for name in ("published_value", "corrected_value", "true_value"):
            check_real(f"Erratum.{name}", getattr(self, name), "[-inf, inf]")
            object.__setattr__(self, name, float(getattr(self, name)))

    def agrees(self, value: float) -> bool:
        """Tell whether a value stands to the true one as a right value must.

        Parameters
        ----------
        value
            The value, such as `published_value` or `corrected_value`.
        """
        size = max(abs(value), abs(self.true_value))
        return self.relation.slack(value, self.true_value) >= -TOLERANCE * size


def errata(system: str) -> dict[str, Erratum]:
    """Return the errata of a system's paper, with their examples evaluated.

    Parameters
    ----------
    system
        Name of a built-in system.

    Returns
    -------
    dict
        The errata by identifier, in the order of the paper.

    Raises
    ------
    OptionError
        If the system is unknown.

    Examples
    --------
    >>> from edgeopt_papers.claims.errata import errata
    >>> found = errata("rescue")["rescue.radio.published"]
    >>> found.agrees(found.published_value), found.agrees(found.corrected_value)
    (False, True)
    """
    return cases.errata(system)
