"""Recomputing what a solver claims of its answer from the data of the problem.

One module per kind of problem, each with the same four functions `primal_residual`,
`dual_residual`, `dual_bound` and `objective`.
"""
