"""How a TapFinger instance is laid out in a labelled file, and its fingerprint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from edgeopt.instances import labelled
from edgeopt.instances.labelled import Layout

if TYPE_CHECKING:
    import os

    from edgeopt.instances.tapfinger.instance import TapFingerInstance

__all__ = ["layout", "load"]

KIND: Final = "tapfinger"
VERSION: Final = 1
_LAYOUT: Final = (
    ("capacity", ("cluster", "resource"), "1", "CPU cores and GPUs of a cluster"),
    ("minimum", ("task_kind", "resource"), "1", "smallest bundle of a kind of task"),
    ("speed", ("cluster", "task_kind", "cpu", "gpu"), "1", "progress per slot at the start"),
    ("slowing", ("task_kind",), "1", "1: progress slows down"),
    ("arrival", ("task",), "1", "slot in which a task arrives"),
    ("kind", ("task",), "1", "kind of a task"),
    ("eligible", ("task", "cluster"), "1", "1: the task may run on the cluster"),
    ("weight", ("task",), "1", "weight of a flow time"),
    ("noise", (), "1", "most by which the progress of a slot differs from the law"),
    ("switching", (), "1", "part of a slot's progress when the bundle has changed"),
    ("pending", (), "1", "most tasks that a cluster chooses from"),
    ("single_start", (), "1", "1: a cluster starts at most one task per slot"),
    ("slot_seconds", (), "s", "length of a slot"),
)
_TEXTS: Final = ("names", "kinds")
_SEPARATOR: Final = "\n"


def layout(instance: TapFingerInstance) -> Layout:
    """Lay an instance out as labelled arrays and texts."""
    variables = labelled.gather(instance, _LAYOUT)
    attributes = {"origin": instance.origin}
    for name in _TEXTS:
        texts = getattr(instance, name)
        if texts is not None:
            attributes[name] = _SEPARATOR.join(texts)
    return Layout(KIND, VERSION, variables, attributes)


def load(path: str | os.PathLike[str]) -> TapFingerInstance:
    """Read an instance; see `TapFingerInstance.load`."""
    from edgeopt.instances.tapfinger.instance import TapFingerInstance

    data = labelled.read(path, KIND, VERSION)
    fields: dict[str, Any] = {name: data.array(name) for name, *_ in _LAYOUT}
    fields["origin"] = data.text("origin")
    for name in _TEXTS:
        if name in data.attributes:
            fields[name] = tuple(data.text(name).split(_SEPARATOR))
    return TapFingerInstance(**fields)
