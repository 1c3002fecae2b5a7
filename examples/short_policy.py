"""The shortest policy: three methods, compared with published ones."""

# start of the short policy
import edgeopt
from edgeopt.instances.rescue import generate
from edgeopt.online.rescue import Placement


class FirstIdle:
    """Accept every task on the first idle server, with the first profile."""

    name = "first idle server"

    def start(self, instance):
        return None  # nothing to remember

    def decide(self, state, arrival, rng):
        idle = arrival.idle.nonzero()[0]
        return (Placement(int(idle[0]), profile=0) if idle.size else None), state

    def learn(self, state, arrival, decision, finished):
        return state


study = edgeopt.study(generate(horizon=50, rng=7), [FirstIdle(), "rescue+guard"], runs=100)
print(study.table[["policy", "value", "gap", "violated"]].to_string(index=False))
# end of the short policy
