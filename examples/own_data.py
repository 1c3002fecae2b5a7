"""A list of jobs becomes an instance, and policies are compared on it."""

# start of the data example
import pandas as pd

from edgeopt import study
from edgeopt.instances import Jobs, tapfinger

log = pd.DataFrame(
    {
        "sent": ["2024-03-01 09:02", "2024-03-01 09:15", "2024-03-01 09:21", "2024-03-01 10:40"],
        "lasted [min]": [84.0, 31.0, float("nan"), 142.0],
        "cores": [4, 2, 8, 4],
        "gpus": [1, 0, 1, 1],
        "phase": ["Succeeded", "Failed", "Pending", "Succeeded"],
    }
)  # or the path of a CSV file
columns = {"arrival": "sent", "duration": "lasted [min]", "cpu": "cores", "gpu": "gpus"}
jobs = Jobs.read(log, state="phase", **columns)
instance = tapfinger.from_jobs(jobs, capacity=[[8, 2], [4, 0]], slot_seconds="10 min")
print(*instance.notes, sep="\n")
found = study(instance, ["reservation", "tiresias"], runs=2, claims=False)
print(found.table[["policy", "value", "gap"]].to_string(index=False))
# end of the data example
