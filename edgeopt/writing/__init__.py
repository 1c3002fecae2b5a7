"""Writing files: whole or not at all, and never over foreign files.

A file is written as a draft in its folder and then renamed, so that no reader finds a partial one.
Only regular files are replaced. A folder is written to if it is new, empty, or has the marker of
edgeopt. Drafts of killed processes are removed by the next process that writes there.
"""

from __future__ import annotations

from edgeopt.writing.files import atomic_write, printable, target_of, write_file
from edgeopt.writing.folders import Folder, checked_name

__all__ = [
    "Folder",
    "atomic_write",
    "checked_name",
    "printable",
    "target_of",
    "write_file",
]
