"""An instance as a table: its fields with shapes, units and ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.writing.results import html_table

if TYPE_CHECKING:
    from edgeopt.instances.fields import Field
    from edgeopt.instances.records import Record


def table_of(record: Record) -> str:
    """Return the fields of a record as an HTML table, those of records in it too."""
    headings = ["field", "what it is", "unit", "shape", "values"]
    return html_table(repr(record), headings, _rows(record, ""), left=3)


def _rows(record: Record, prefix: str) -> list[list[str]]:
    rows: list[list[str]] = []
    for one in record._fields:
        value, name = getattr(record, one.name), f"{prefix}{one.name}"
        if value is None:
            continue
        if hasattr(value, "_fields") and hasattr(value, "_sizes"):
            rows += _rows(value, f"{name}.")
        else:
            rows.append([name, one.title, one.unit, *_said(one, value)])
    return rows


def _said(one: Field, value: Any) -> tuple[str, str]:
    """Return shape and range of a value."""
    if not isinstance(value, np.ndarray):
        several = isinstance(value, tuple)
        return (str(len(value)), ", ".join(map(str, value))) if several else ("", str(value))
    shape = " x ".join(map(str, value.shape))
    if not value.size or value.dtype.kind not in "biuf":
        return shape, ""
    if value.dtype.kind == "b":
        return shape, f"{np.count_nonzero(value)} of {value.size}"
    low, high = (f"{end:.6g}" for end in (np.nanmin(value), np.nanmax(value)))
    return shape, low if low == high else f"{low} to {high}"
