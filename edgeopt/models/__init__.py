"""Optimization models of every system: declared, as matrices, and solved."""
