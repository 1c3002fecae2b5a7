"""Readers of public measurement files; the first bad entry is named by file, column and line.

Each reader checks what it reads. Errors point to ``file:column[line]``, the header being line 1.
"""

from __future__ import annotations

from edgeopt.instances.traces.columns import (
    Fields,
    Rule,
    read_columns,
    read_fields,
    read_points,
    read_rows,
)

__all__ = [
    "Fields",
    "Rule",
    "read_columns",
    "read_fields",
    "read_points",
    "read_rows",
]
