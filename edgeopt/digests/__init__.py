"""Digests of code: a hash of modules and all that they import, without comments and docstrings.

The digest of a module covers its source and the modules of its package that it imports, directly or
not, but for those that only read, write and show numbers. It tells whether a number or a compiled
kernel was made by the present code.
"""

from __future__ import annotations

from edgeopt.digests.modules import changed, closure, digest, modules_within, systems

__all__ = ["changed", "closure", "digest", "modules_within", "systems"]
