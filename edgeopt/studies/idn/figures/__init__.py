"""The figures and tables of the evaluation of inference delivery networks.

Source: Si Salem, Castellano, Neglia, Pianese, Araldo: Toward Inference Delivery Networks:
Distributing Machine Learning With Optimality Guarantees, section VI.
"""

from __future__ import annotations

from edgeopt.studies.idn.figures.gains import FIGURES
from edgeopt.studies.idn.figures.inputs import FIGURE_4, FIGURE_5, TABLE_II

__all__ = ["PAPER_FIGURES"]

PAPER_FIGURES = (TABLE_II, FIGURE_4, FIGURE_5, *FIGURES)
"""In the order of the paper."""
