"""Recomputing from the data of a problem what a solver says about its own answer.

One module per kind of problem, each with the same four functions `primal_residual`,
`dual_residual`, `dual_bound` and `objective`.
"""
