"""A claim of your own: it holds where you looked, and a search finds where it does not."""

# start of the claim example
from functools import partial

from edgeopt.bounds import Claim, Measurement, Relation, Source, check, search
from edgeopt.bounds.search import Parameter, ParameterSpace
from edgeopt.instances.rescue import RescueInstance, small, tight
from edgeopt.models.rescue import solve_p1_lp
from edgeopt.online.rescue import RescuePlus, policy_value


def earned(instance):
    plan = solve_p1_lp(instance)
    return Measurement(policy_value(instance, RescuePlus(plan=plan)), 0.6 * plan.bound)


claim = Claim(
    id="mine.sixty",
    statement="Without reserved work, RESCUE+ earns 60 % of OPT(LP).",
    source=Source("My notes", "page 1"),
    measure=earned,
    relation=Relation.AT_LEAST,
    instance_type=RescueInstance,
    test_instances={f"seed {seed}": partial(small, seed, reserved=False) for seed in range(5)},
)
[verdict] = check(claim)
print("on five drawn instances:", verdict.verdict)

rare = ParameterSpace(
    "rare", (Parameter("eps", 0.05, 0.95),), lambda numbers: tight(numbers["eps"])
)
found = search(claim, rare, budget=100)
print(found.name, found.verdict.verdict)
print(f"earned {found.verdict.measured:.3f} instead of {found.verdict.guaranteed:.3f}")
# end of the claim example
