"""Inference every second and retraining jobs: one slot by itself, then four policies."""

# start of the retraining example
from edgeopt import study
from edgeopt.instances.oinc import generate
from edgeopt.models.oinc.slot import slot_problem, solve_slot
from edgeopt.online.oinc import Dedas, Oinc, Reservation

instance = generate(sites=6, devices=15, slots=60, jobs=6, rng=7)  # or OincInstance(...)
second = solve_slot(slot_problem(instance, slot=0, reserved=0.4))  # 40 % of each CPU is for jobs
print(f"{second.met.mean():.0%} of {second.site.size} requests in time")
mine = Oinc(retraining=Dedas(), reservation=Reservation(largest=0.8))
found = study(instance, ["oinc", "ekya", "kalmia", mine])
print(found.table[["policy", "latency", "completion", "requests_met", "jobs_met"]].to_string())
# end of the retraining example
