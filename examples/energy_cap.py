"""A cap on energy in the evening: what each policy costs, which caps it exceeds, what it drops."""

# start of the energy example
import numpy as np

from edgeopt import study
from edgeopt.instances.edr import generate

day = generate(sites=10, tasks=12, frames=24, rng=7)  # or EdrInstance(...) from your own arrays
evening = (np.arange(24) >= 17) & (np.arange(24) < 21)
capped = day.replace(cap=np.where(evening, 0.3, np.inf))  # Wh per hour
found = study(capped, ["saddle_point", "lyapunov", "scenario+shed"])
print(found.table[["policy", "value", "ratio", "violated", "late", "unserved"]].to_string())
# end of the energy example
