"""A guard around a policy of your own: no reserved task fails any more."""

# start of the guard example
from own_policy import Selective

import edgeopt
from edgeopt.instances.rescue import generate
from edgeopt.online.rescue import Guarded, exact_value

instance = generate(horizon=50, rng=7)
study = edgeopt.study(instance, [Selective(), Guarded(Selective()), "offers"], runs=100)
print(study.table[["policy", "value", "violated", "bound", "gap"]])

# Exactly, on a small instance: every history of the policy, with all that it has learnt.
tiny = generate(
    servers=2, devices=2, profiles=2, horizon=6, reserved=2, rng=3, longest=3, shortest=1
)
for policy in (Selective(), Guarded(Selective())):
    print(policy.name, f"is worth {exact_value(tiny, policy):.6f}")
# end of the guard example
