"""Batches of inference requests on one edge: a sixth system, in a package of its own."""
