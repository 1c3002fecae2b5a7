"""Readers of public measurement files; the first bad entry is named by file, column and line.

Each reader checks what it reads. Errors point to ``file:column[line]``, the header being line 1.
"""

from __future__ import annotations

from edgeopt.instances.traces.columns import (
    Accuracy,
    Fields,
    IterationTimes,
    Rule,
    read_accuracy,
    read_columns,
    read_fields,
    read_points,
    read_rows,
)
from edgeopt.instances.traces.series import (
    read_hourly_load,
    read_hourly_price,
    read_passengers,
    read_station_names,
    week_of,
)

__all__ = [
    "Accuracy",
    "Fields",
    "IterationTimes",
    "Rule",
    "read_accuracy",
    "read_columns",
    "read_fields",
    "read_hourly_load",
    "read_hourly_price",
    "read_passengers",
    "read_points",
    "read_rows",
    "read_station_names",
    "week_of",
]
