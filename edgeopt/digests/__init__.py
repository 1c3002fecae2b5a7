"""One kind of code digest: what modules compute with, without comments and docstrings.

The digest of a module covers its source and the modules of its package that it imports, directly or
not. It tells whether a number, or a compiled kernel, is of the code that is there.
"""

from __future__ import annotations

from edgeopt.digests.modules import changed, closure, digest, modules_within, systems

__all__ = ["changed", "closure", "digest", "modules_within", "systems"]
