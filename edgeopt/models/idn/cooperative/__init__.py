"""The cooperative upper bound on every static placement, proven from capacity prices."""

from edgeopt.models.idn.cooperative.program import CooperativeProgram
from edgeopt.models.idn.cooperative.solve import solve_cooperative

__all__ = ["CooperativeProgram", "solve_cooperative"]
