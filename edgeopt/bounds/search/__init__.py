"""Looking for the instance that leaves a claim the least room."""

from __future__ import annotations

from edgeopt.bounds.search.family import Family, Parameter
from edgeopt.bounds.search.method import Found, search

__all__ = ["Family", "Found", "Parameter", "search"]
