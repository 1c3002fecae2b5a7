"""A primal-dual interior-point method for linear programs with a structure of their own.

The method sees a program only through `StandardForm`: how to apply the rows and their transpose,
and how to solve the normal equations. Whoever brings a program decides how its normal matrix is
assembled and factorised; the steps are the same for all.
"""

from edgeopt.solvers.interior_point.approach import approach
from edgeopt.solvers.interior_point.form import StandardForm
from edgeopt.solvers.interior_point.method import InteriorPoint, Point

__all__ = ["InteriorPoint", "Point", "StandardForm", "approach"]
