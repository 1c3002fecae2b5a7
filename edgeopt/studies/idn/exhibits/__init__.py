"""The figures and tables of the evaluation of inference delivery networks.

Source: Si Salem, Castellano, Neglia, Pianese, Araldo: Toward Inference Delivery Networks:
Distributing Machine Learning With Optimality Guarantees, section VI.
"""

from __future__ import annotations

from edgeopt.studies.idn.exhibits.allocation import FIGURE_5
from edgeopt.studies.idn.exhibits.gains import FIGURE_7A, FIGURE_7B
from edgeopt.studies.idn.exhibits.inputs import FIGURE_4, TABLE_II
from edgeopt.studies.idn.exhibits.loads import FIGURE_9
from edgeopt.studies.idn.exhibits.refreshes import FIGURE_8
from edgeopt.studies.idn.exhibits.weights import FIGURE_6, FIGURE_10

__all__ = ["EXHIBITS"]

EXHIBITS = (
    TABLE_II,
    FIGURE_4,
    FIGURE_5,
    FIGURE_6,
    FIGURE_7A,
    FIGURE_7B,
    FIGURE_8,
    FIGURE_9,
    FIGURE_10,
)
"""In the order of the paper."""
