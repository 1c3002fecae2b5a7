"""What a file looks like, and which way leads in: what is said where one cannot be read."""

from __future__ import annotations

import csv
import io
import os
import re
import stat
import struct
import zipfile
from typing import TYPE_CHECKING, Final, NamedTuple

from edgeopt.errors import InstanceError
from edgeopt.instances.numerals import number_of
from edgeopt.instances.validate import path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

__all__ = ["look"]

_HEAD: Final = 2**16
"""Bytes of a file that are looked at."""

_LINES: Final = 50
"""Lines of a file and files of a folder that are looked at."""

_FEW: Final = 5

_TABLES: Final = "settings.csv"
_PUBLIC: Final = frozenset(
    ("alibaba_gpu_v2020", "azure_llm_2023", "cifar10c_robustness", "electricity_price", "eua",
     "london_underground", "model_zoo", "tapfinger", "topologies")
)  # fmt: skip
"""Folders of public files from which instances are made."""


class Look(NamedTuple):
    """What a file looks like.

    Attributes
    ----------
    what
        What it seems to be.
    door
        What reads it, or what to do first.
    form
        How it is written, such as ``"csv"``.
    """

    what: str
    door: str
    form: str = "other"

    def __str__(self) -> str:
        return f"it looks like {self.what}: {self.door}"


def look(path: str | os.PathLike[str]) -> Look:
    r"""Say what a file or folder looks like, and what reads it, from its first 64 KiB.

    Parameters
    ----------
    path
        The file or folder; nothing in it is run or unpacked.

    Returns
    -------
    What it is, and what reads it.

    Raises
    ------
    InstanceError
        If there is none, or it is neither a file nor a folder, or cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "log.csv")
    ...     _ = path.write_text("submit_time,end_time,gpu_num\n0,60,1\n")
    ...     print(look(path))
    it looks like a list of jobs (submit_time, end_time, gpu_num): Jobs.read(FILE,
    arrival='submit_time', end='end_time', gpu='gpu_num', units=...), then tapfinger.from_jobs or
    rescue.from_jobs
    """
    place = path_of(path)
    try:
        kind = os.stat(place).st_mode
    except (OSError, ValueError):
        raise InstanceError(str(place), "no such file or folder") from None
    try:
        if stat.S_ISDIR(kind):
            return _folder(place)
        if stat.S_ISREG(kind):
            with open(place, "rb") as file:
                head = file.read(_HEAD)
            return _packed(place, head) or _text(head.decode("utf-8-sig", "replace"))
    except OSError as error:
        raise InstanceError(str(place), f"cannot be read ({error.strerror})") from None
    raise InstanceError(str(place), "is neither a file nor a folder")


def hint(path: str | os.PathLike[str], form: str) -> str:
    """Return what an error adds of a file that was to be read in a form, if it is in another."""
    try:
        found = look(path)
    except InstanceError:
        return ""
    return "" if found.form == form else f"; {found}"


def _folder(folder: Path) -> Look:
    files = sorted(one.name for one in folder.iterdir() if not one.name.startswith("."))
    if _TABLES in files:
        what = "a folder of tables, as edgeopt template writes it"
        return Look(what, "--instance FOLDER", "folder")
    if _PUBLIC & set(files):
        return Look("a folder of public files", "--data FOLDER, or from_raw(FOLDER)", "folder")
    if not files:
        door = "edgeopt template SYSTEM --out FOLDER fills one"
        return Look("an empty folder", door, "folder")
    names = ", ".join(files[:_FEW]) + ", ..." * (len(files) > _FEW)
    for name in files[:_LINES]:
        if (folder / name).is_file() and (one := look(folder / name)).what.startswith("a list of"):
            return Look(f"a folder of other files ({names}), {name} {one.what}", one.door)
    return Look(
        f"a folder of other files ({names})",
        "give one of them; or edgeopt template SYSTEM --out DIR shows a folder that can be read",
        "folder",
    )


_MAGIC: Final[tuple[tuple[bytes, str, str], ...]] = (
    (b"\x89HDF", "a NetCDF file",
     "--instance FILE if edgeopt saved it, else xarray.open_dataset(FILE) and from_labelled"),
    (b"CDF", "a NetCDF file of the classic kind", "xarray.open_dataset(FILE) and from_labelled"),
    (b"\x1f\x8b", "a file packed by gzip", "unpack it first"),
    (b"\xfd7zXZ", "a file packed by xz", "unpack it first"),
    (b"(\xb5/\xfd", "a file packed by zstd", "unpack it first"),
    (b"\xff\xfe", "text in UTF-16", "save it in UTF-8"),
    (b"BZh", "a file packed by bzip2", "unpack it first"),
    (b"PAR1", "a table in Parquet", "pandas.read_parquet(FILE), then Jobs.read or from_labelled"),
    (b"\x80", "a pickle of Python", "it may run anything: ask for the data as tables"),
    (b"\xd0\xcf\x11\xe0", "a spreadsheet", "save its tables as CSV"),
    (b"version https://git-lfs", "a pointer of Git LFS, not the file itself", "git lfs pull"),
)  # fmt: skip
"""First bytes of files."""


def _packed(path: Path, head: bytes) -> Look | None:
    for start, what, door in _MAGIC:
        if head.startswith(start):
            return Look(what, door, "netcdf" if what == "a NetCDF file" else "other")
    if head.startswith(b"PK"):
        try:
            with zipfile.ZipFile(path) as archive:
                names = archive.namelist()
        except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error):
            return Look("a zip file that is damaged", "get it anew")
        if "[Content_Types].xml" in names:
            return Look("a spreadsheet", "save its tables as CSV")
        if any(name.rpartition("/")[2] == _TABLES for name in names):
            return Look("a zip file of tables, as edgeopt template writes them", "--instance FILE")
        return Look("a zip file of something else", "unpack it first")
    return Look("a binary file", "nothing reads it") if b"\x00" in head else None


def _text(text: str) -> Look:
    start = text.lstrip()
    if start.startswith("<"):
        return _markup(start)
    if re.search(r"^\s*graph\s*\[", text[:2000], re.MULTILINE):
        door = "IdnInstance.from_graph(networkx.read_gml(FILE, label='id'), latency=...)"
        return Look("a network in GML", door, "gml")
    if start[:1] in ("{", "["):
        return _json(start)
    lines = [line for line in text.splitlines() if line.strip()][:_LINES]
    if not lines:
        return Look("an empty file", "get it anew")
    mark = max("\t;,", key=lambda one: min(line.count(one) for line in lines[:_FEW]))
    rows = list(csv.reader(io.StringIO("\n".join(lines)), delimiter=mark))
    if not len(rows[0]) > 1 or any(len(row) != len(rows[0]) for row in rows[1:_FEW]):
        door = "make a table of it, with the names of its columns in the first line"
        return Look("text, not a table", door, "csv")
    reader = "FILE" if mark == "," else f"pandas.read_csv(FILE, sep={mark!r})"
    header = [one.strip() for one in rows[0]]
    form = "csv" if mark == "," else "other"
    if any(number_of(one) is not None for one in header):
        named = f"{reader.removesuffix(')')}, names=[...])"
        if mark == ",":
            named = "pandas.read_csv(FILE, names=[...])"
        door = f"name its columns, {named}, then Jobs.read or from_labelled"
        return Look(f"a table without a heading, of {len(header)} columns", door, form)
    return _table(header, rows[1:], reader)._replace(form=form)


def _markup(text: str) -> Look:
    found = re.search(r"<([A-Za-z][\w:]*)", re.sub(r"<[?!].*?>", "", text, flags=re.DOTALL))
    tag = found[1].lower() if found else ""
    if tag == "html":
        return Look("a web page, not the data that it shows", "get the file itself")
    if tag == "graphml":
        door = "IdnInstance.from_graph(networkx.read_graphml(FILE), latency=...)"
        return Look("a network in GraphML", door)
    return Look(f"XML ({tag})", "nothing reads it: make tables of it")


_NETWORKS: Final = (
    {"nodes", "links"}, {"nodes", "edges"}, {"entity", "link"}, {"networklink", "networkswitch"},
)  # fmt: skip
"""Keys of networks in JSON."""


def _json(text: str) -> Look:
    keys = list(dict.fromkeys(re.findall(r'"([^"\n]{1,60})"\s*:', text)))
    low = {one.lower() for one in keys}
    if any(one <= low for one in _NETWORKS):
        door = "IdnInstance.from_graph(networkx.node_link_graph(data), latency=...)"
        return Look("a network in JSON", door)
    parts = _parts_of_jobs(keys, None)
    if _are_jobs(parts):
        inner = re.search(r'"([^"\n]{1,60})"\s*:\s*\[\s*\{', text)
        further = f", {inner[1]!r}, [...]" if inner else ""
        door = _of_jobs(f"pandas.json_normalize(data{further})", parts, units=True)
        return Look(f"a list of jobs in JSON ({_some(parts.values())})", door)
    if "edgeopt" in low:
        return Look("a file of edgeopt itself", "edgeopt verify, compare or show reads it")
    said = _some(keys) or "no names"
    return Look(f"JSON ({said})", "make tables of it: from_labelled, Jobs.read or from_graph")


_WORDS: Final[dict[str, frozenset[str]]] = {
    "arrival": frozenset(
        ("submit", "submitted", "submission", "creation", "created", "create", "arrival",
         "arrived", "arrive", "gmt", "sent", "queued", "timestamp", "ts", "datetime", "date",
         "time", "when")
    ),
    "start": frozenset(("start", "started", "begin", "begun", "scheduled", "allocated")),
    "end": frozenset(("end", "ended", "finish", "finished", "deletion", "deleted", "completed")),
    "duration": frozenset(("duration", "runtime", "walltime", "elapsed", "lifetime")),
    "cpu": frozenset(("cpu", "cpus", "core", "cores", "ncpus")),
    "gpu": frozenset(("gpu", "gpus", "ngpus")),
    "state": frozenset(("state", "status", "phase")),
}  # fmt: skip
"""Words in the names of columns of job lists, by the part of a job."""

_LOOSE: Final = frozenset(("timestamp", "ts", "datetime", "date", "time", "when", "gmt"))
"""Words for a moment, which say of whom only together with others."""

_NO_MOMENT: Final = frozenset(("step", "batch", "iteration", "norm", "per", "util", "ms"))
"""Words that tell that a time is none of a clock."""


def _words_of(name: str) -> frozenset[str]:
    apart = re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower()
    return frozenset(re.findall(r"[a-z]+", apart))


def _parts_of_jobs(names: Sequence[str], is_time: Callable[[str], bool] | None) -> dict[str, str]:
    """Return which column may hold which part of a job."""
    found: dict[str, str] = {}
    left = [name for name in names if not _words_of(name) & _NO_MOMENT]
    for part in ("end", "start", "arrival", "duration", "cpu", "gpu", "state"):
        for name in left:
            words = _words_of(name) & _WORDS[part]
            alone = words <= _LOOSE
            if not words or (alone and is_time is not None and not is_time(name)):
                continue
            # A name that says who is meant beats one that says only that it is a time.
            if part not in found or (not alone and _words_of(found[part]) & _WORDS[part] <= _LOOSE):
                found[part] = name
        left = [name for name in left if name not in found.values()]
    if "arrival" not in found and "start" in found:
        found["arrival"] = found.pop("start")
    order = ("arrival", "start", "end", "duration", "cpu", "gpu", "state")
    return {part: found[part] for part in order if part in found}


def _are_jobs(parts: Collection[str]) -> bool:
    """Return whether columns say when jobs came, and how long or on what they ran."""
    return "arrival" in parts and len({"end", "duration", "cpu", "gpu"} & set(parts)) >= 1


def _of_jobs(reader: str, parts: dict[str, str], *, units: bool) -> str:
    if "end" in parts:
        parts = {part: name for part, name in parts.items() if part != "duration"}
    columns = ", ".join(f"{part}={name!r}" for part, name in parts.items())
    timed = "end" in parts or "duration" in parts
    then = ", then tapfinger.from_jobs or rescue.from_jobs" if timed else ""
    return f"Jobs.read({reader}, {columns}{', units=...' * units}){then}"


def _some(names: Collection[str]) -> str:
    listed = [name for name in names if name][:_FEW]
    return ", ".join(listed) + ", ..." * (len(names) > _FEW)


_WHEN: Final = re.compile(r"\d{4}-\d\d-\d\d|\d\d?[/.]\d\d?[/.]\d{4}")


def _table(header: list[str], rows: list[list[str]], reader: str) -> Look:
    column = {name: [row[n] for row in rows if n < len(row)] for n, name in enumerate(header)}

    def is_time(name: str) -> bool:
        cells = column[name]
        return bool(cells) and all(_WHEN.match(one.strip()) for one in cells if one.strip())

    words = frozenset().union(*map(_words_of, header))
    shown = _some(header)
    if re.fullmatch(r"value(\s*\[.*\])?", header[-1]):
        return Look(f"the table of a field ({shown})", "--instance FOLDER with all of its tables")
    parts = _parts_of_jobs(header, is_time)
    if _are_jobs(parts):
        bare = not all(
            is_time(parts[part]) for part in ("arrival", "start", "end") if part in parts
        )
        units = bare or "end" not in parts
        return Look(f"a list of jobs ({shown})", _of_jobs(reader, parts, units=units))
    if words & {"lat", "latitude"} and words & {"lon", "lng", "longitude"}:
        return Look(
            f"positions ({shown})",
            "edgeopt.instances.traces.read_points(FILE) gives them to your own generator",
        )
    if words & {"accuracy", "top", "map", "ap"} and words & {"model", "name"}:
        door = (
            "models= of IdnInstance.from_graph, a frame with task, accuracy, size, delay, capacity"
        )
        return Look(f"a table of models ({shown})", door)
    times = [name for name in header if is_time(name)]
    if times and ("hour" in words or _even(column[times[0]])):
        door = "its numbers, by slot, frame or hour, go into a table of the folder that edgeopt "
        door += "template SYSTEM --out DIR writes"
        return Look(f"a series by time ({shown})", door)
    if times:
        door = (
            f"Jobs.read({reader}, arrival={times[0]!r}); counts(...) of it gives requests by slot"
        )
        return Look(f"a log of what came when ({shown})", door)
    return Look(f"a table ({shown})", "name its axes and hand it to from_labelled")


def _even(cells: Sequence[str]) -> bool:
    """Return whether times are evenly spaced."""
    import pandas

    stamps = pandas.to_datetime(list(cells), errors="coerce", format="mixed", utc=True)
    steps = set(stamps.to_series().diff().dropna())
    return len(steps) == 1 and pandas.Timedelta(0) not in steps
