"""How a RESCUE instance is laid out in a labelled file, and its fingerprint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances import labelled
from edgeopt.instances.labelled import Layout, Variable
from edgeopt.instances.rescue.profit import LogProfit, ProfitModel
from edgeopt.instances.rescue.reserved import ReservedTasks

if TYPE_CHECKING:
    import os

    from edgeopt.instances.labelled import Labelled
    from edgeopt.instances.rescue.instance import RescueInstance

__all__ = ["layout", "load"]

KIND: Final = "rescue"
VERSION: Final = 1
_AXES: Final = ("slot", "device", "server", "profile", "duration")


def layout(instance: RescueInstance) -> Layout:
    """Lay an instance out as labelled arrays and texts."""
    tasks = instance.reserved
    variables = {
        "arrival": Variable(("slot", "device"), instance.arrival, "1", "arrival probability"),
        "duration": Variable(
            ("profile", "duration"), instance.duration, "1", "probability of 1, 2, ... slots"
        ),
        "capacity": Variable(("server", "slot"), instance.capacity, "TMAC/slot", "capacity"),
        "reserved_server": Variable(("task",), tasks.server, "1", "server of a reserved task"),
        "reserved_start": Variable(("task",), tasks.start, "slot", "first slot of its window"),
        "reserved_end": Variable(("task",), tasks.end, "slot", "last slot of its window"),
        "reserved_demand": Variable(("task",), tasks.demand, "TMAC", "work it needs"),
    }
    attributes: dict[str, str] = {"arrivals": instance.arrivals, "beyond": instance.beyond}
    profit = instance.profit
    if isinstance(profit, ProfitModel):
        attributes["profit_model"] = type(profit).__name__
        _add_parameters(profit, variables, attributes)
    else:
        dims = tuple(
            axis if n == whole else f"any_{axis}"
            for axis, n, whole in zip(_AXES, profit.shape, instance.shape, strict=True)
        )
        variables["profit"] = Variable(dims, profit, "profit", "profit of a run of that duration")
    return Layout(KIND, VERSION, variables, attributes)


def _add_parameters(
    model: ProfitModel, variables: dict[str, Variable], attributes: dict[str, str]
) -> None:
    for name, value in model.parameters().items():
        if isinstance(value, str):
            attributes[f"profit_{name}"] = value
            continue
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            raise InstanceError(
                f"profit.{name}",
                "parameters of a saved profit model must be numbers, texts or arrays of numbers",
                value=type(value).__name__,
            )
        own = tuple(f"profit_{name}_{axis}" for axis in range(array.ndim))
        dims = model.dimensions.get(name, own)
        unit = model.units.get(name, "1")
        variables[f"profit_{name}"] = Variable(dims, array, unit, f"profit model: {name}")


def load(
    path: str | os.PathLike[str], profit_models: tuple[type[ProfitModel], ...] = ()
) -> RescueInstance:
    """Read an instance; see `RescueInstance.load`."""
    from edgeopt.instances.rescue.instance import RescueInstance

    data = labelled.read(path, KIND, VERSION)
    tasks = ReservedTasks(
        *(data.array(f"reserved_{name}") for name in ("server", "start", "end", "demand"))
    )
    known = "profit_model" in data.attributes
    profit = _profit_model(data, profit_models) if known else data.array("profit")
    arrivals: Any = data.text("arrivals")
    beyond: Any = data.text("beyond")
    return RescueInstance(
        arrival=data.array("arrival"),
        duration=data.array("duration"),
        capacity=data.array("capacity"),
        reserved=tasks,
        profit=profit,
        arrivals=arrivals,
        beyond=beyond,
    )


def _profit_model(data: Labelled, profit_models: tuple[type[ProfitModel], ...]) -> ProfitModel:
    name = data.text("profit_model")
    known: tuple[type[ProfitModel], ...] = (LogProfit, *profit_models)
    models = {model.__name__: model for model in known}
    if name not in models:
        raise InstanceError(
            "profit_model",
            f"is none of {', '.join(sorted(models))}; pass the class as load(path, "
            f"profit_models=({name},))",
            value=name,
        )
    prefix = "profit_"
    parameters: dict[str, Any] = {
        key.removeprefix(prefix): value.item() if value.ndim == 0 else value
        for key, value in data.arrays.items()
        if key.startswith(prefix)
    }
    for key, value in data.attributes.items():
        if key.startswith(prefix) and key != "profit_model":
            parameters[key.removeprefix(prefix)] = value
    try:
        return models[name](**parameters)
    except TypeError as error:
        raise InstanceError("profit_model", f"cannot be rebuilt: {error}", value=name) from error
