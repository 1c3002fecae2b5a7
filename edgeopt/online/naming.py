"""How a policy or a part is called in tables and pictures."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["named"]


def named(title: str, options: DataclassInstance) -> str:
    """Return the title, and the options that are not what they are by default."""
    changed = [
        f"{field.name}={getattr(options, field.name)}"
        for field in fields(options)
        if getattr(options, field.name) != field.default
    ]
    return ", ".join([title, *changed])
