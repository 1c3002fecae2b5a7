"""One file for each solver or library of solvers, each with its own literal status map."""
