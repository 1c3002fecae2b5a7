"""Looking for the instance that leaves a claim the least room."""

from __future__ import annotations

from edgeopt.bounds.search.family import Family, Parameter
from edgeopt.bounds.search.found import Found, rebuild
from edgeopt.bounds.search.method import search
from edgeopt.bounds.search.registry import families

__all__ = ["Family", "Found", "Parameter", "families", "rebuild", "search"]
