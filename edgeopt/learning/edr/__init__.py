"""Learning of EDR's policies: what they see, episodes to learn from, and two learners.

:mod:`~edgeopt.learning.edr.rounds` and :mod:`~edgeopt.learning.edr.rows` say what a
policy sees and does with it, in NumPy. :mod:`~edgeopt.learning.edr.macro` and
:mod:`~edgeopt.learning.edr.micro` train, and need the extra ``rl``.
"""

from __future__ import annotations

from edgeopt.learning.edr.policy import RlBoth, RlRouting, RlTraining

__all__ = ["RlBoth", "RlRouting", "RlTraining"]
