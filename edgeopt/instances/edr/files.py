"""How an EDR instance is laid out in a labelled file, and its fingerprint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from edgeopt.instances import labelled
from edgeopt.instances.labelled import Layout

if TYPE_CHECKING:
    import os

    from edgeopt.instances.edr.instance import EdrInstance

__all__ = ["layout", "load"]

KIND: Final = "edr"
VERSION: Final = 1
_SLOT: Final = ("frame", "slot")
_LINK: Final = ("origin", "target")
_LAYOUT: Final = (
    ("cap", ("frame",), "Wh", "energy that all sites may use in a frame"),
    ("price", ("frame",), "$/Wh", "price of energy"),
    ("arrival", ("task",), "1", "first frame of a task"),
    ("deadline", ("task",), "1", "last frame of a task, inclusive"),
    ("rounds", ("task",), "1", "training rounds needed"),
    ("client", ("task", "site"), "1", "1: site holds data of the task"),
    ("server", ("task",), "1", "site that aggregates"),
    ("local_steps", ("task",), "1", "local steps in a round"),
    ("step_work", ("task", "site"), "GFLOP", "computation of a local step"),
    ("aggregation_work", ("task",), "GFLOP", "computation of an aggregation"),
    ("model_size", ("task",), "bit", "size of a model"),
    ("request_size", ("request_type",), "bit", "size of a request"),
    ("request_work", ("request_type",), "GFLOP", "computation of a request"),
    ("energy_per_work", ("site",), "Wh/GFLOP", "energy of a computation"),
    ("capacity", ("site",), "GFLOP", "computation of a slot"),
    ("speed", ("site",), "GFLOP/s", "speed of serving a request"),
    ("capable", ("site", "request_type"), "1", "1: site can serve the type"),
    ("requests", (*_SLOT, "site", "request_type"), "1", "requests"),
    ("propagation", (*_SLOT, *_LINK), "s", "one-way propagation delay"),
    ("slo", (*_SLOT, "request_type"), "s", "longest delay of a request"),
    ("rate", ("frame", *_LINK), "bit/s", "rate of a link"),
    ("power", ("site",), "W", "transmission power"),
    ("energy_weight", (), "1/$", "cost of a dollar"),
    ("delay_weight", (), "1/s", "cost of a second of delay"),
    ("price_prior", (), "$/Wh", "price expected before the first one is known"),
    ("slot_seconds", (), "s", "length of a slot"),
)
_OPTIONAL: Final = (
    ("task_kind", ("task",), "1", "kind of a task"),
    ("position", ("site", "coordinate"), "km", "east and north of a site"),
)
_SEPARATOR: Final = "\n"


def layout(instance: EdrInstance) -> Layout:
    """Lay an instance out as labelled arrays and texts."""
    variables = labelled.gather(instance, (*_LAYOUT, *_OPTIONAL))
    attributes = {"round_delay": instance.round_delay, "origin": instance.origin}
    if instance.names is not None:
        attributes["names"] = _SEPARATOR.join(instance.names)
    return Layout(KIND, VERSION, variables, attributes)


def load(path: str | os.PathLike[str]) -> EdrInstance:
    """Read an instance; see `EdrInstance.load`."""
    from edgeopt.instances.edr.instance import EdrInstance

    data = labelled.read(path, KIND, VERSION)
    fields: dict[str, Any] = {name: data.array(name) for name, *_ in _LAYOUT}
    fields |= {name: data.arrays.get(name) for name, *_ in _OPTIONAL}
    fields |= {name: data.text(name) for name in ("round_delay", "origin")}
    if "names" in data.attributes:
        fields["names"] = tuple(data.text("names").split(_SEPARATOR))
    return EdrInstance(**fields)
