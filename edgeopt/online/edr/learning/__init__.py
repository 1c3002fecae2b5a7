"""Learning of EDR's policies: what they see, episodes to learn from, and two learners.

:mod:`~edgeopt.online.edr.learning.rounds` and :mod:`~edgeopt.online.edr.learning.rows` say what a
policy sees and does with it, in NumPy. :mod:`~edgeopt.online.edr.learning.macro` and
:mod:`~edgeopt.online.edr.learning.micro` train, and need the extra ``rl``.
"""
