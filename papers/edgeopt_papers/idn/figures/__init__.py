"""The figures and tables of the evaluation of inference delivery networks.

Source: Si Salem, Castellano, Neglia, Pianese, Araldo: Toward Inference Delivery Networks:
Distributing Machine Learning With Optimality Guarantees, section VI.
"""

from __future__ import annotations

from edgeopt_papers.idn.figures.gains import EVALUATIONS
from edgeopt_papers.idn.figures.hosts import FIGURE_5
from edgeopt_papers.idn.figures.inputs import FIGURE_4, TABLE_II
from edgeopt_papers.idn.figures.statements import TABLE_S1

__all__ = ["PAPER_FIGURES"]

PAPER_FIGURES = (
    TABLE_II,
    FIGURE_4,
    *(one.paper_figure for one in (FIGURE_5, *EVALUATIONS)),
    TABLE_S1,
)
"""In the order of the paper; Table S1 is not the paper's."""
