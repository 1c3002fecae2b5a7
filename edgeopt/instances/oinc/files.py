"""How an OINC instance is laid out in a labelled file, and its fingerprint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from edgeopt.instances import labelled
from edgeopt.instances.labelled import Layout

if TYPE_CHECKING:
    import os

    from edgeopt.instances.oinc.instance import OincInstance

__all__ = ["layout", "load"]

KIND: Final = "oinc"
VERSION: Final = 1
_REQUEST: Final = ("slot", "device")
_LAYOUT: Final = (
    ("speed", ("site",), "Gcycle/s", "CPU of a site"),
    ("rate", (*_REQUEST, "site"), "Mbit/s", "rate with the whole band"),
    ("active", _REQUEST, "1", "1: device has a request"),
    ("request_size", _REQUEST, "Mbit", "data of a request"),
    ("request_work", _REQUEST, "Gcycle", "computation of a request"),
    ("slo", _REQUEST, "s", "longest latency of a request"),
    ("arrival", ("job",), "1", "slot in which a job arrives"),
    ("work", ("job",), "Gcycle", "computation of a job"),
    ("deadline", ("job",), "s", "time by which a job should be complete"),
    ("weight", ("job",), "1", "weight of a completion time"),
    ("request_weight", ("slot",), "1", "weight of the latencies in a slot"),
    ("latency_scale", (), "s", "latency that counts as 1"),
    ("completion_scale", (), "s", "completion time that counts as 1"),
    ("refusal_latency", (), "s", "latency that a refused request counts with"),
)
_OPTIONAL: Final = (("job_kind", ("job",), "1", "kind of a job"),)
_TEXTS: Final = ("names", "kinds")
_SEPARATOR: Final = "\n"


def layout(instance: OincInstance) -> Layout:
    """Lay an instance out as labelled arrays and texts."""
    variables = labelled.gather(instance, (*_LAYOUT, *_OPTIONAL))
    attributes = {"origin": instance.origin}
    for name in _TEXTS:
        texts = getattr(instance, name)
        if texts is not None:
            attributes[name] = _SEPARATOR.join(texts)
    return Layout(KIND, VERSION, variables, attributes)


def load(path: str | os.PathLike[str]) -> OincInstance:
    """Read an instance; see `OincInstance.load`."""
    from edgeopt.instances.oinc.instance import OincInstance

    data = labelled.read(path, KIND, VERSION)
    fields: dict[str, Any] = {name: data.array(name) for name, *_ in _LAYOUT}
    fields |= {name: data.arrays.get(name) for name, *_ in _OPTIONAL}
    fields["origin"] = data.text("origin")
    for name in _TEXTS:
        if name in data.attributes:
            fields[name] = tuple(data.text(name).split(_SEPARATOR))
    return OincInstance(**fields)
