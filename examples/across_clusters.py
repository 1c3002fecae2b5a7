"""Learning tasks on several clusters: one scheduler with its gap, then a comparison of four."""

# start of the cluster example
from edgeopt_papers.tapfinger.claims import flow_gap

from edgeopt import study
from edgeopt.instances.tapfinger import generate
from edgeopt.online import simulate
from edgeopt.online.tapfinger import ReservationSpt, TapFingerEnvironment

instance = generate(tasks=60, rng=7)  # or from_durations(...), TapFingerInstance(...)
run = simulate(TapFingerEnvironment(instance), ReservationSpt(), runs=1)
print(f"{run.mean_flow_time()[0]:.2f} slots, gap {flow_gap(run).relative:.1%}")
found = study(instance, ["rollout", "optimus", "tiresias+elastic", "min"], runs=4)
print(found.comparison("over_instances")[["policy", "mean", "gap", "bound"]].to_string())
# end of the cluster example
