"""Measured durations by label, in any order of rows and columns, as an instance and a study."""

# start of the data example
import pandas as pd

from edgeopt import study
from edgeopt.instances.tapfinger import from_durations

rows = [("vgg", 1, 80), ("bert", 2, 61), ("bert", 1, 120), ("vgg", 2, 42)]  # in any order
measured = pd.DataFrame(rows, columns=["kind", "cpu", "minutes"]).assign(gpu=0)
duration = measured.set_index(["kind", "cpu", "gpu"])["minutes"]
duration.attrs["units"] = "min"
least = pd.DataFrame({"cpu": 1, "gpu": 0}, ["bert", "vgg"]).rename_axis("kind", axis="index")
room = pd.DataFrame({"gpu": 0, "cpu": [2, 1]}, ["lab", "attic"]).rename_axis(
    "cluster", axis="index"
)
least.columns.name = room.columns.name = "resource"
tasks = pd.DataFrame({"arrival": [0, 0, 5], "kind": ["vgg", "bert", "bert"]}).rename_axis("task")
instance = from_durations(
    duration, seconds=True, slot_seconds=60, minimum=least, capacity=room, **tasks
)
found = study(instance, ["reservation", "min"], runs=2, claims=False)
print(found.table[["policy", "value", "gap"]].to_string(index=False))
# end of the data example
