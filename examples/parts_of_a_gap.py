"""How far schedulers are above what is proven, and which part of that is the bound's."""

# start of the gap example
from edgeopt.bounds import paired_ratio
from edgeopt.instances.tapfinger import generate
from edgeopt.models.tapfinger import best_list, flow_bound, scheduling_problem
from edgeopt.online import simulate
from edgeopt.online.tapfinger import FutureRollout, ReservationSpt, TapFingerEnvironment


def flow(policy, instance):
    """Return the sum of flow times of a run."""
    return simulate(TapFingerEnvironment(instance), policy, runs=1).weighted_flow_time()[0]


instances = [generate(rng=seed) for seed in range(100, 110)]  # several starts per slot
problems = [scheduling_problem(one) for one in instances]
bound = [flow_bound(one).value for one in instances]
plan = [best_list(problem).flow_time(problem) for problem in problems]
reservation = [flow(ReservationSpt(), one) for one in instances]
rollout = [flow(FutureRollout(), one) for one in instances]
for name, upper, lower in (
    ("reservation above the bound", reservation, bound),
    ("rollout above the bound", rollout, bound),
    ("- above plans that know everything", rollout, plan),
    ("- these above the bound", plan, bound),
    ("reservation above rollout", reservation, rollout),
):
    found = paired_ratio(upper, lower)
    ends = f"{found.low - 1:.1%} to {found.high - 1:.1%}"
    print(f"{name:36}{found.centre - 1:6.1%} ({ends})")
# end of the gap example
