"""IDN as studies see it.

Si Salem, Castellano, Neglia, Pianese, Araldo: Toward Inference Delivery Networks: Distributing
Machine Learning With Optimality Guarantees.
"""

from __future__ import annotations

from edgeopt.studies.idn.record import SYSTEM, changing

__all__ = ["SYSTEM", "changing"]
