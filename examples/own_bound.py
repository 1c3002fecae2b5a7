"""A linear program by name, and what its solution proves."""

# start of the bound example
from edgeopt.solvers import LinearProgram, solve

build = LinearProgram.build()
build.columns("flow", {"depot": 2, "town": 3}, cost=[[4, 6, 9], [5, 3, 8]])
build.rows("supply", {"depot": 2}, {"flow": 1}, upper=[20, 45])
build.rows("demand", {"town": 3}, {"flow": 1}, lower=[10, 25, 15])
solution = solve(build.program())
print(solution.objective, "is optimal: no plan costs less than", solution.bound)
print("one unit more for town 1 costs", solution.dual("demand[town=1]"))
# end of the bound example
