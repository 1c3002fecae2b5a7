"""How every file is written: whole or not at all, and never in place of what is not edgeopt's.

A file is written as a draft beside its place and then renamed, so that nobody ever meets half of
one. Only a regular file may be replaced. A folder is written to if it is new, empty, or bears the
marker that edgeopt leaves in its own. The draft of a process that has been killed is removed by
the next one that writes there.
"""

from __future__ import annotations

from edgeopt.writing.files import placed, printable, target_of, write_file
from edgeopt.writing.folders import MARKER, Folder, checked_name

__all__ = ["MARKER", "Folder", "checked_name", "placed", "printable", "target_of", "write_file"]
