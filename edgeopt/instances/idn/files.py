"""How an IDN instance is laid out in a labelled file, and its fingerprint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from edgeopt.instances import labelled
from edgeopt.instances.labelled import Layout

if TYPE_CHECKING:
    import os

    from edgeopt.instances.idn.instance import IdnInstance

__all__ = ["layout", "load"]

KIND: Final = "idn"
VERSION: Final = 1
_PAIR: Final = ("node", "model")
_TYPE: Final = "request_type"
_LAYOUT: Final = (
    ("edges", ("edge", "end"), "1", "nodes that an undirected edge joins"),
    ("latency", ("edge",), "ms", "round-trip latency"),
    ("size", _PAIR, "MB", "memory that a model takes"),
    ("delay", _PAIR, "ms", "time to serve a request"),
    ("capacity", _PAIR, "1/slot", "requests served per slot"),
    ("accuracy", ("model",), "percent", "accuracy"),
    ("task", ("model",), "1", "task of a model"),
    ("budget", ("node",), "MB", "memory of a node"),
    ("repository", _PAIR, "1", "1: permanent model"),
    ("request_task", (_TYPE,), "1", "task of a request type"),
    ("path", (_TYPE, "position"), "1", "nodes from entry to repository, then -1"),
    ("requests", ("slot", _TYPE), "1/slot", "requests"),
    ("alpha", (), "ms/percent", "cost of inaccuracy"),
)
_OPTIONAL: Final = (
    ("tier", ("node",), "1", "tier of a node, 0: cloud"),
    ("cost", (_TYPE, "position", "model"), "ms", "cost of serving a request"),
)
_SEPARATOR: Final = "\n"


def layout(instance: IdnInstance) -> Layout:
    """Lay an instance out as labelled arrays and texts."""
    variables = labelled.gather(instance, (*_LAYOUT, *_OPTIONAL))
    attributes = {}
    if instance.names is not None:
        attributes["names"] = _SEPARATOR.join(instance.names)
    return Layout(KIND, VERSION, variables, attributes)


def load(path: str | os.PathLike[str]) -> IdnInstance:
    """Read an instance; see `IdnInstance.load`."""
    from edgeopt.instances.idn.instance import IdnInstance

    data = labelled.read(path, KIND, VERSION)
    fields: dict[str, Any] = {name: data.array(name) for name, *_ in _LAYOUT}
    fields |= {name: data.arrays.get(name) for name, *_ in _OPTIONAL}
    if "names" in data.attributes:
        fields["names"] = tuple(data.text("names").split(_SEPARATOR))
    return IdnInstance(**fields)
