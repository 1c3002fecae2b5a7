"""Input that somebody changed: the same answer as the clean input, a refusal, or a note of it."""

from __future__ import annotations

import csv
import io
import shutil
import zipfile
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import networkx
import numpy as np
import pandas as pd
import pytest
import xarray

from edgeopt.instances import edr, idn, oinc, rescue, tapfinger
from edgeopt.instances.csv_tables import fields_of_tables
from edgeopt.instances.fields import Flags, Integers
from edgeopt.instances.idn import IdnInstance
from edgeopt.instances.labels import COUNTED, KNOWN
from edgeopt.instances.netcdf import Layout, write
from edgeopt.instances.numerals import number_of
from edgeopt.instances.tables import FOLDER
from edgeopt.instances.tapfinger import from_durations
from edgeopt.instances.units import factor
from tests.fuzz.driver import Case, check, count, source
from tests.fuzz.test_traces import TABLES, same

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MADE: dict[str, Callable[[int], Any]] = {
    "rescue": rescue.small,
    "logarithmic": lambda seed: rescue.generate(
        servers=2, devices=2, profiles=2, horizon=3, reserved=2, rng=seed
    ),
    "idn": idn.small,
    "edr": lambda seed: edr.generate(frames=3, slots=2, sites=2, tasks=2, types=2, rng=seed),
    "oinc": lambda seed: oinc.generate(slots=3, jobs=2, devices=2, sites=2, rng=seed),
    "tapfinger": tapfinger.small,
}
SEEDS = 3

WORDS = (
    "1,000", "1 000", "1.000,5", "1_000", "NA", "n/a", "N/A", "nan", "NaN", "null", "None", "#REF!",
    "#N/A", "#DIV/0!", "2024-01-05", "05.01.2024", "2024-01-05 10:00", "10:00", "slot 3", "--5",
    "\u00b2", "\u0663", "\uff11", "1e400", "-1e999", "1e-400", "12 ms", "3 %", "$4", "0x10", "~7",
    "<1", "?", "TBD", "1e", "1.2.3", "\u221e", "5\u00a0000", "1;2", "'3",
)  # fmt: skip
"""What spreadsheets, programs and people write where a number belongs, and none of it is one."""

ODD = (-999.0, -9999.0, -99999.0, 1e30, 9.96921e36, -1e30)
"""Numbers that stand for what is missing."""

SAME = {
    "TMAC/slot": ("GMAC/slot", "MAC/slot"), "TMAC": ("GMAC", "MAC"), "ms": ("s", "us", "min"),
    "s": ("ms", "min", "h"), "MB": ("GB", "B", "kB"), "percent": ("1", "%"), "Wh": ("kWh", "J"),
    "$/Wh": ("$/kWh", "$/MWh", "USD/MWh"), "GFLOP": ("TFLOP", "MFLOP"), "bit": ("B", "MB", "bits"),
    "GFLOP/s": ("TFLOP/s",), "bit/s": ("Mbit/s", "kB/s"), "W": ("mW", "kW"), "km": ("m",),
    "Gcycle": ("Mcycle", "cycles"), "Gcycle/s": ("Mcycle/s", "Gcycle/min"), "Mbit": ("kB", "bit"),
    "Mbit/s": ("kbit/s", "MB/s"), "Wh/GFLOP": ("J/GFLOP",),
}  # fmt: skip
"""Units that differ by a factor alone."""

OTHERS = ("parsec", "EUR", "K", "1/0", "", "kWh*kWh", "s s", "slot/s/slot", "dBm", "cd")
"""Units that no field has, or that measure something else."""


class Clean(NamedTuple):
    """An instance, its tables as arrays with labels, and its texts."""

    instance: Any
    tables: dict[str, xarray.DataArray]
    texts: dict[str, Any]
    fields: dict[str, Any]

    @property
    def kind(self) -> Any:
        """The class of the instance."""
        return type(self.instance)


@cache
def clean(system: str, seed: int) -> Clean:
    """Return an instance apart: what doors are handed."""
    made = MADE[system](seed)
    variables, texts = made._content()
    fields = dict(fields_of_tables(made))
    tables = {}
    for name, one in variables.items():
        if name in made._implied:
            continue
        values = np.asarray(one.values)
        kept = [n for n, axis in enumerate(one.dims) if not axis.startswith("any_")]
        axes = [one.dims[n] for n in kept]
        values = values.reshape([values.shape[n] for n in kept])
        labels = {
            axis: list(KNOWN.get(axis, ()))
            or list(range(COUNTED.get(axis, 0), COUNTED.get(axis, 0) + length))
            for axis, length in zip(axes, values.shape, strict=True)
        }
        tables[name] = xarray.DataArray(values, labels, axes, attrs={"units": one.unit})
    # A text per entry of an axis is an array of texts, or none.
    said = {
        name: tuple(text.split("\n")) if fields[name].texts else text
        for name, text in texts.items()
        if text and name in fields
    }
    return Clean(made, tables, said, fields)


# --- doors ---------------------------------------------------------------------------------


def sheets_of(one: Clean, tables: dict[str, xarray.DataArray]) -> dict[str, str]:
    """Write tables as files do."""
    sheets, settings = {}, [["name", "value", "unit"]]
    for name, text in one.texts.items():
        if one.fields[name].texts:
            axis = one.fields[name].axes[0]
            sheets[name] = written([[axis, "value"], *map(list, enumerate(text))])
        else:
            settings.append([name, text.replace("\n", "\\n"), ""])
    for name, table in tables.items():
        unit = table.attrs["units"]
        if not table.dims:
            settings.append([name, cell(table.item()), unit])
            continue
        head = "value" if unit == one.fields[name].unit == "1" else f"value [{unit}]"
        rows = [
            [*(table.indexes[axis][n] for axis, n in zip(table.dims, at, strict=True)), cell(value)]
            for at, value in np.ndenumerate(table.to_numpy())
            if value != one.fields[name].missing
        ]
        sheets[name] = written([[*table.dims, head], *rows])
    return {f"{name}.csv": text for name, text in {**sheets, "settings": written(settings)}.items()}


def cell(value: Any) -> Any:
    return value if isinstance(value, str) else repr(np.asarray(value).item())


def written(rows: list[list[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()


def folder(one: Clean, tables: dict[str, xarray.DataArray], where: Path) -> Any:
    where.mkdir(exist_ok=True)
    for path in where.glob("*.csv"):
        path.unlink()
    for name, text in sheets_of(one, tables).items():
        (where / name).write_text(text, encoding="utf-8")
    return one.kind.from_folder(where)


def archive(one: Clean, tables: dict[str, xarray.DataArray], where: Path) -> Any:
    path = where.with_suffix(".zip")
    with zipfile.ZipFile(path, "w") as packed:
        for name, text in sheets_of(one, tables).items():
            packed.writestr(name, text)
    return one.kind.load(path)


def arrays(one: Clean, tables: dict[str, xarray.DataArray], where: Path) -> Any:
    del where
    return one.kind.from_labelled({**one.texts, **tables})


def frames(one: Clean, tables: dict[str, xarray.DataArray], where: Path) -> Any:
    del where
    made = {}
    for name, table in tables.items():
        made[name] = table.to_series() if table.dims else table
        if table.dims and table.attrs:
            made[name].attrs |= table.attrs
    return one.kind.from_labelled({**one.texts, **made})


def lists(one: Clean, tables: dict[str, xarray.DataArray], where: Path) -> Any:
    del where
    return one.kind.from_labelled({
        **one.texts, **{name: table.to_numpy().tolist() for name, table in tables.items()}
    })  # fmt: skip


def netcdf(one: Clean, tables: dict[str, xarray.DataArray], where: Path) -> Any:
    """Write a file that carries the hash of its data, whatever they are."""
    layout = one.instance._layout()
    changed = {
        name: variable._replace(
            values=tables[name].to_numpy().reshape(np.shape(variable.values)),
            unit=tables[name].attrs["units"],
        )
        if name in tables
        else variable
        for name, variable in layout.variables.items()
    }
    path = where.with_suffix(".nc")
    write(path, Layout(layout.kind, layout.version, changed, layout.attributes))
    return one.kind.load(path)


TABLED = (folder, archive, arrays, frames)
DOORS = (*TABLED, lists, netcdf)
OFTEN = (*TABLED * 4, *(lists,) * 3, netcdf)  # writing a file of NetCDF takes longest


# --- changes -------------------------------------------------------------------------------


def numbers_of(one: Clean) -> list[str]:
    """Return the tables of numbers that have an entry."""
    return [name for name, table in one.tables.items() if table.size]


def picked(among: Any, draw: np.random.Generator) -> Any:
    return among[int(draw.integers(len(among)))]


def with_entry(table: xarray.DataArray, value: Any, draw: np.random.Generator) -> xarray.DataArray:
    """Return a table with another entry somewhere."""
    values = table.to_numpy().astype(object)
    values[picked(list(np.ndindex(values.shape)), draw)] = value
    return table.copy(data=values)


def alike(found: Any, wanted: Any) -> bool:
    """Return whether two instances are the same, but for the rounding of units."""
    for (name, one), (_, other) in zip(
        found._content()[0].items(), wanted._content()[0].items(), strict=True
    ):
        a, b = np.asarray(one.values), np.asarray(other.values)
        if a.shape != b.shape or not np.allclose(a, b, rtol=1e-9, atol=1e-300, equal_nan=True):
            return False
        assert name
    return bool(found._content()[1] == wanted._content()[1])


def noticed(found: Any, wanted: Any) -> bool:
    """Return whether an instance is the same, or says what is odd about it."""
    return bool(found == wanted) or bool(set(found.notes) - set(wanted.notes))


def words(system: str, where: Path) -> Iterator[Case]:
    draw = source("words", system)
    for n in range(count("words", len(MADE))):
        one, word = clean(system, n % SEEDS), picked(WORDS, draw)
        name = picked(numbers_of(one), draw)
        table, door = one.tables[name], picked((*TABLED, lists), draw)
        counted = [axis for axis in table.dims if axis in COUNTED]
        if 1 in (table.size, *table.shape) and "10:00" in word:  # then a time is a label
            word = "at ten"
        if counted and door is not lists and draw.random() < 0.4:
            axis = picked(counted, draw)
            labels = list(table.indexes[axis])
            labels[int(draw.integers(len(labels)))] = word
            changed = table.assign_coords({axis: np.array(labels, dtype=object)})
        else:
            axis, changed = "", with_entry(table, word, draw)
        yield Case(
            f"{system}: {door.__name__}: {name} {axis}: {word!r}",
            partial(door, one, {**one.tables, name: changed}, where),
            refused=True,
        )


def units(system: str, where: Path) -> Iterator[Case]:
    draw = source("units", system)
    for n in range(count("units", len(MADE))):
        one, door = clean(system, n % SEEDS), picked((*TABLED * 4, netcdf), draw)
        names = [name for name in numbers_of(one) if one.tables[name].attrs["units"] in SAME]
        if not names or draw.random() < 0.3:
            name, unit = picked(numbers_of(one), draw), picked(OTHERS, draw)
            own = one.tables[name].attrs["units"]
            changed = one.tables[name].assign_attrs(units=unit)
        else:
            name = picked(names, draw)
            own = one.tables[name].attrs["units"]
            unit = picked(SAME[own], draw)
            changed = (one.tables[name] / factor(name, unit, own)).assign_attrs(units=unit)
        yield Case(
            f"{system}: {door.__name__}: {name} in {unit!r}, not {own!r}",
            partial(door, one, {**one.tables, name: changed}, where),
            right=partial(alike, wanted=one.instance),
        )


def magnitudes(system: str, where: Path) -> Iterator[Case]:
    draw = source("magnitudes", system)
    for n in range(count("magnitudes", len(MADE))):
        one, door, value = clean(system, n % SEEDS), picked(OFTEN, draw), picked(ODD, draw)
        name = picked(numbers_of(one), draw)
        table = one.tables[name]
        if one.fields[name].usual is not None and draw.random() < 0.5:
            value = picked((1e3, 1e6, 1e-3) if name != "accuracy" else (1e-2,), draw)
            changed, how = table * value, "times"
        else:
            kind = object if one.fields[name].type in (Integers, Flags, int, bool) else np.float64
            changed, how = with_entry(table, value, draw).astype(kind), "with"
            changed = changed.astype(np.float64)
        changed.attrs = table.attrs
        yield Case(
            f"{system}: {door.__name__}: {name} {how} {value:g}",
            partial(door, one, {**one.tables, name: changed}, where),
            right=partial(noticed, wanted=one.instance),
        )


# --- doors of their own --------------------------------------------------------------------


def replaced(table: Any, value: Any, draw: np.random.Generator) -> Any:
    """Return a frame or series with another entry somewhere."""
    changed = table.astype(object)
    place = tuple(int(draw.integers(length)) for length in table.shape)
    if changed.ndim == 1:
        changed.iloc[place[0]] = value
    else:
        changed.iloc[place] = value
    return changed


def graph_cases() -> dict[str, Any]:
    """Return what an instance beside a graph is made of."""
    numbers = {"accuracy": [90.0, 80.0], "size": [6, 3], "delay": [3, 1], "capacity": [9, 9]}
    rows = {"slot": [0, 1, 1], "task": "t", "node": ["b", "b", "c"], "requests": [3, 2, 1]}
    return {
        "models": pd.DataFrame({"task": "t", **numbers}, ["m", "n"]),
        "requests": pd.DataFrame(rows),
        "budget": pd.Series({"b": 8.0, "c": 9.0, "d": 9.0}),
    }


def beside_a_graph(given: dict[str, Any]) -> IdnInstance:
    graph = networkx.path_graph(["a", "b", "c", "d"])
    networkx.set_edge_attributes(graph, given.get("latency", 2.0), "latency")
    tables = {name: table for name, table in given.items() if name != "latency"}
    return IdnInstance.from_graph(graph, repositories="a", **tables)


def duration_cases() -> dict[str, Any]:
    """Return what an instance of measured durations is made of."""
    rows = [(kind, cpu, 1, 30.0 / cpu) for kind in ("r", "s") for cpu in (1, 2)]
    table = pd.DataFrame(rows, columns=["kind", "cpu", "gpu", "s"])
    task = pd.Index(["x", "y"], name="task")
    return {
        "duration": table.set_index(["kind", "cpu", "gpu"])["s"],
        "minimum": pd.DataFrame({"cpu": 1, "gpu": 1}, ["r", "s"]).rename_axis(
            index="kind", columns="resource"
        ),
        "capacity": pd.DataFrame({"cpu": 2, "gpu": 1}, ["v"]).rename_axis(
            index="cluster", columns="resource"
        ),
        "kind": pd.Series(["r", "s"], task),
        "arrival": pd.Series([0, 2], task),
    }


def own_doors(where: Path) -> Iterator[Case]:
    """Put words into tables beside a graph, of durations, and into the reduced public ones."""
    draw = source("words", "own doors")
    for path in FOLDER.glob("*.csv"):
        shutil.copy(path, where)
    for n in range(count("words", len(MADE))):
        word = picked(WORDS, draw)
        if n % 3 < 2:
            make, door = ((graph_cases, beside_a_graph), (duration_cases, measured))[n % 3]
            given = make()
            name = picked([*given, "latency"][: len(given) + (n % 3 == 0)], draw)
            changed = word if name == "latency" else replaced(given[name], word, draw)
            if name == "models":  # whose tasks may be called by any name
                changed["task"] = "t"
            call, right = partial(door, {**given, name: changed}), None
            if name == "models" and (changed == given[name]).all(axis=None):
                continue
        else:
            name, module = picked(list(TABLES.items()), draw)
            lines = (FOLDER / f"{name}.csv").read_text(encoding="utf-8").splitlines()
            row = int(draw.integers(1, len(lines)))
            cells = lines[row].split(",")
            numeric = [k for k, text in enumerate(cells) if number_of(text) is not None]
            if not numeric:
                continue
            cells[picked(numeric, draw)] = f'"{word}"'
            lines[row] = ",".join(cells)
            text = "\n".join(lines) + "\n"
            call, right = partial(reduced, module, where, name, text), reduced_as_it_was(module)
        yield Case(f"{name}: {word!r}", call, refused=right is None, right=right)


def measured(given: dict[str, Any]) -> Any:
    return from_durations(given.pop("duration"), seconds=True, slot_seconds=10.0, **given)


def reduced(module: Any, where: Path, name: str, text: str) -> Any:
    """Read reduced tables, one of which somebody changed for a while."""
    path = where / f"{name}.csv"
    path.write_text(text, encoding="utf-8")
    try:
        return module.read_tables(where)
    finally:
        shutil.copy(FOLDER / path.name, where)


def reduced_as_it_was(module: Any) -> Callable[[Any], bool]:
    return lambda found: same(found, module.read_tables(FOLDER))


def test_changed_input_of_other_doors(tmp_path):
    assert beside_a_graph(graph_cases()).horizon == 2
    assert measured(duration_cases()).tasks == 2
    check(own_doors(tmp_path))


@pytest.mark.parametrize("change", [words, units, magnitudes])
@pytest.mark.parametrize("system", MADE)
def test_changed_input(system, change, tmp_path):
    check(change(system, tmp_path / "tables"))


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("system", MADE)
def test_clean_input_comes_through_all_doors(system, door, tmp_path):
    for seed in range(SEEDS):
        one = clean(system, seed)
        assert door(one, one.tables, tmp_path / "tables") == one.instance
