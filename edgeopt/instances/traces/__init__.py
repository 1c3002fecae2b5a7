"""Readers of public measurement files; the first bad entry is named by file, column and line.

Each reader checks what it reads. Errors point to ``file:column[line]``, the header being line 1.
"""

from __future__ import annotations

from edgeopt.instances.traces.columns import (
    Fields,
    Rule,
    read_columns,
    read_fields,
    read_rows,
)
from edgeopt.instances.traces.drift import Accuracy, read_accuracy
from edgeopt.instances.traces.passengers import Passengers, read_passengers, read_station_names
from edgeopt.instances.traces.points import read_points
from edgeopt.instances.traces.series import (
    HourlySeries,
    read_hourly_load,
    read_hourly_price,
    week_of,
)
from edgeopt.instances.traces.training import IterationTimes, read_iteration_times

__all__ = [
    "Accuracy",
    "Fields",
    "HourlySeries",
    "IterationTimes",
    "Passengers",
    "Rule",
    "read_accuracy",
    "read_columns",
    "read_fields",
    "read_hourly_load",
    "read_hourly_price",
    "read_iteration_times",
    "read_passengers",
    "read_points",
    "read_rows",
    "read_station_names",
    "week_of",
]
