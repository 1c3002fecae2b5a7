"""Measurement files in broken encodings, of wrong shapes, with times that go back."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from edgeopt.instances import Jobs, arrivals, look, traces
from edgeopt.instances.edr import data as edr
from edgeopt.instances.idn import data as idn
from edgeopt.instances.idn import data as measurements
from edgeopt.instances.idn import topology
from edgeopt.instances.oinc import data as oinc
from edgeopt.instances.rescue import data as rescue
from edgeopt.instances.tables import FOLDER
from edgeopt.instances.tapfinger import data as tapfinger
from edgeopt.instances.tapfinger import from_jobs
from edgeopt.instances.traces import series
from edgeopt.instances.traces.columns import read_accuracy, read_iteration_times
from tests.fuzz.driver import Case, check, count, source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

QUARTERS = [series.quarter_name(q) for q in range(84)]


def lists(path: Any, **columns: str) -> Any:
    """Return the arrays of a list of jobs, and instances made of it."""
    usual = {"arrival": "sent [min]", "start": "begun [min]", "cpu": "cores", "state": "state"}
    jobs = Jobs.read(path, **{**usual, **columns})
    made = from_jobs(jobs, capacity=[[8, 0]], slot_seconds=600)
    return jobs.arrival, jobs.seconds, jobs.cut, jobs.cpu, made.arrival, made.duration


READERS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "timestamps": (
        arrivals.read_timestamps,
        "TIMESTAMP,Tokens\n2023-11-16 18:17:03.9799600,1\n2023-11-16 18:17:04.0,2\n"
        "2023-11-16 18:18:00,3\n",
    ),
    "jobs": (
        lambda path: lists(path, end="ended [min]"),
        "sent [min],begun [min],ended [min],cores,state\n0,1,20,2,done\n5,,,1,Pending\n"
        "6,7.5,1e2,0.5,Running\n9,9,-999,3,Running\n",
    ),
    "dated jobs": (
        lambda path: lists(path, arrival="sent", start="begun", duration="took [s]"),
        "sent,begun,took [s],cores,state\n2024-01-31 10:00,2024-01-31 10:05:00.5,60,1,FAILED\n"
        "2024-02-01 10:00,NaT,,1,Pending\n2024-02-01 11:00,2024-02-01 11:00,1e3,1,Killed\n",
    ),
    "look": (look, "submit_time,end_time,gpu\n2024-01-31 10:00,2024-01-31 10:00,2\n0,1,2\n"),
    "points": (
        traces.read_points, "NAME,LATITUDE,LONGITUDE\nCafé,-37.8,144.9\n\"a, b\",-37.9,144.8\n",
    ),
    "price": (
        series.read_hourly_price,
        "date,hour,HOEP\n20/06/2016,1,0.5\n20/06/2016,2,-0.25\n20/06/2016,3,1e-3\n",
    ),
    "load": (
        series.read_hourly_load,
        "date_time,cleaned demand (MW)\n2023-06-19 00:00:00,9000\n2023-06-19 01:00:00,9100.5\n"
        "2023-06-19 02:00:00,9200\n",
    ),
    "passengers": (
        series.read_passengers,
        f"station NLC,AEI,{','.join(QUARTERS)}\n"
        + "".join(f"{code},{kind}{',3' * 84}\n" for code in (500, 501) for kind in "AEI"),
    ),
    "stations": (series.read_station_names, "tfl_nlc_id,name\n500,Acton Town\n501,Barbican\n"),
    "iterations": (
        read_iteration_times, "worker,time,batch_time_norm\n0,1,0.5\n0,2,0.6\n1,1,0.7\n",
    ),
    "accuracy": (
        read_accuracy,
        "model,fog,fog,snow\nseverity,1,2,1\nStandard,0.9,0.8,0.7\nB,1,0,0.5\n",
    ),
    "links": (
        topology.read_links,
        'graph [\n node [\n  id 0\n  label "a"\n ]\n node [\n  id 1\n  label "b"\n ]\n'
        " edge [\n  source 0\n  target 1\n  dist 12.5\n ]\n]\n",
    ),
}  # fmt: skip

CELLS = (
    "", " ", "nan", "inf", "-inf", "1e400", "-1", "1_000", "0x10", "1,5", '"', '""', "a", "\x00",
    "\uff11\uff12", "1e308", "-0", "None", "=1+1", "9" * 400, "x" * 200_000, "2016-13-45", "24:00",
    "2023-11-16T18:17:03Z", "99999-01-01", "31/12/9999", "0001-01-01 00:00:00", "NaT", "now",
)  # fmt: skip


def broken(text: str, draw: np.random.Generator) -> tuple[str, bytes, bool]:
    """Break a file; return how, its bytes, and whether they mean the same as before."""
    lines = text.splitlines()
    way = int(draw.integers(17))
    row = int(draw.integers(len(lines)))
    cells = lines[row].split(",")
    cell = int(draw.integers(len(cells)))
    if way == 0:
        return "a byte-order mark", b"\xef\xbb\xbf" + text.encode(), True
    if way == 1:
        return "CRLF", text.replace("\n", "\r\n").encode(), True
    if way == 2:
        code = ("utf-16", "utf-32", "utf-7", "cp037")[int(draw.integers(4))]
        return code, text.encode(code), False
    if way == 3:
        return "Latin-1", (text + "Café,é,é\n").encode("latin-1"), False
    if way == 4:
        content = bytearray(text.encode())
        content[int(draw.integers(len(content)))] = int(draw.integers(256))
        return "another byte", bytes(content), False
    if way == 5:
        return "cut", text.encode()[: int(draw.integers(len(text)))], False
    if way == 6:
        return "nothing", (b"", b"\n", b"\n\n\n", b"\xef\xbb\xbf", b"\x00")[row % 5], False
    if way == 7:
        del lines[row]
    elif way == 8:
        lines.insert(row, lines[row])
    elif way == 9:
        lines[1:] = lines[:0:-1]
    elif way == 10:
        lines = [",".join(line.split(",")[:-1]) for line in lines]
    elif way == 11:
        lines[0] = ",".join([lines[0].split(",")[0]] * len(lines[0].split(",")))
    elif way == 12:
        lines[row] += "," if draw.random() < 0.5 else ',"open'
    elif way == 13:
        return "old line ends", text.replace("\n", "\r").encode(), False
    elif way == 14:
        return "no line end at the end", text.rstrip("\n").encode(), True
    else:
        cells[cell] = CELLS[int(draw.integers(len(CELLS)))]
        lines[row] = ",".join(cells)
    return f"way {way} at {row},{cell}", ("\n".join(lines) + "\n").encode(), False


def same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return bool(one == other)
    if isinstance(one, tuple):
        return all(same(a, b) for a, b in zip(one, other, strict=True))
    return bool(np.array_equal(one, other))


def broken_files(name: str, folder: Path) -> Iterator[Case]:
    read, text = READERS[name]
    draw = source("traces", name)
    path = folder / (name + ".csv")
    path.write_bytes(text.encode())
    usual = read(path)
    for _ in range(count("traces", len(READERS) + 1)):
        how, content, right = broken(text, draw)
        path.write_bytes(content)
        yield Case(
            f"{name}: {how}: {content[:300]!r}",
            lambda: read(path),
            right=lambda found, right=right: not right or same(found, usual),
        )


@pytest.mark.parametrize("name", READERS)
def test_broken_files(name, tmp_path):
    check(broken_files(name, tmp_path))


TABLES = {
    "links": idn, "classifiers": idn, "requests": idn, "container_tasks": tapfinger, "drift": oinc,
    "run_lengths": rescue, "seconds": oinc, "sites": rescue, "stations": edr, "stretches": oinc,
    "testbed_tasks": tapfinger, "users": rescue, "week": edr,
}  # fmt: skip


def broken_tables(folder: Path) -> Iterator[Case]:
    draw = source("traces", "tables")
    for path in FOLDER.glob("*.csv"):
        shutil.copy(path, folder)
    for n in range(count("traces", len(READERS) + 1)):
        name = list(TABLES)[n % len(TABLES)]
        path = folder / f"{name}.csv"
        text = path.read_text(encoding="utf-8")
        how, content, right = broken(text, draw)
        path.write_bytes(content)
        module = rescue if name == "drift" and draw.random() < 0.5 else TABLES[name]
        usual = module.read_tables(FOLDER)
        yield Case(
            f"{name}.csv: {how}: {content[:200]!r}",
            lambda module=module: module.read_tables(folder),
            right=lambda found, usual=usual, right=right: not right or same(found, usual),
        )
        path.write_text(text, encoding="utf-8")


def test_broken_tables(tmp_path):
    check(broken_tables(tmp_path))


def test_broken_tables_of_models(tmp_path):
    results = "model,img_size,top1\n" + "".join(f"m{n}.a,224,{90 - n}\n" for n in range(10))
    speeds = "model,infer_img_size,infer_samples_per_sec,param_count\n" + "".join(
        f"m{n},224,{100 + n},{20 - n}\n" for n in range(10)
    )
    texts = {measurements._RESULTS: results, **dict.fromkeys(measurements._SPEEDS.values(), speeds)}
    draw = source("traces", "models")

    def cases() -> Iterator[Case]:
        for n in range(count("traces", 4 * len(READERS))):
            for name, text in texts.items():
                (tmp_path / name).write_text(text)
            name = list(texts)[n % 3]
            how, content, _ = broken(texts[name], draw)
            (tmp_path / name).write_bytes(content)
            yield Case(f"{name}: {how}", lambda: measurements.read_classifiers(tmp_path))

    check(cases())
