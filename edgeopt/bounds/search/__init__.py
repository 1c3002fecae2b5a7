"""Search for the instance that leaves a claim the least slack."""

from __future__ import annotations

from edgeopt.bounds.search.found import Found, rebuild
from edgeopt.bounds.search.method import search
from edgeopt.bounds.search.smallest import smallest
from edgeopt.bounds.search.space import Parameter, ParameterSpace, spaces

__all__ = ["Found", "Parameter", "ParameterSpace", "rebuild", "search", "smallest", "spaces"]
