"""Batches of inference requests on one edge: a sixth system, from outside edgeopt."""
