"""Serving, INFIDA and its baselines."""
