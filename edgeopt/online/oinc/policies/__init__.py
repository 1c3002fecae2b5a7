"""Policies of OINC: the loop of parts, and baselines that treat both kinds of work together."""
